"""The argument checks shared by all engines: what they let through, and the sentences of their refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lrtransfer.numerics import arguments


def test_what_passes():
    np.testing.assert_array_equal(arguments.positive("r", [1, math.inf], infinite=True), [1.0, math.inf])
    np.testing.assert_array_equal(arguments.finite("t", [-1, 0.5]), [-1.0, 0.5])
    np.testing.assert_array_equal(arguments.number("w", [-math.inf, 0.0]), [-math.inf, 0.0])
    np.testing.assert_array_equal(arguments.integer("depth", [1, 2.0]), [1.0, 2.0])
    assert arguments.count("steps", np.int64(3)) == 3 and arguments.choice("arch", "a", ("a", "b")) == "a"
    for large in (2**53 + 1, np.int64(2**53 + 1), np.array(2**53 + 1), np.uint64(2**64 - 1), 2**70 + 1):
        assert arguments.seed("seed", large) == int(large)  # a float would round them
    assert arguments.count("seed", 7, maximum=7) == 7
    one = arguments.one("r", np.array(2.5))
    assert one == 2.5 and type(one) is float


def test_common_shape():
    assert arguments.broadcast(a=1.0, b=np.zeros(())) == ()
    assert arguments.broadcast(a=np.zeros((2, 1)), b=[1, 2, 3], c=0.5) == (2, 3)
    assert arguments.broadcast(a=np.zeros((0,)), b=np.zeros((1,))) == (0,)


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: arguments.positive("r", 0), "r = 0 is not allowed: r must be a positive number, and finite."),
        (
            lambda: arguments.positive("r", [1.0, -2.0]),
            "r = -2.0 is not allowed: r must be a positive number, and finite.",
        ),
        (lambda: arguments.positive("r", True), "r = True is not allowed: r must be a positive number, and finite."),
        (lambda: arguments.positive("r", [[1], [1, 2]]), "r = [[1], [1, 2]] is not allowed"),
        (
            lambda: arguments.finite("t", math.nan, minimum=0),
            "t = nan is not allowed: t must be a finite number, at least 0.",
        ),
        (lambda: arguments.number("w", math.nan), "w = nan is not allowed: w must be a number, not NaN."),
        (
            lambda: arguments.integer("depth", 1.5),
            "depth = 1.5 is not allowed: depth must be a whole number, at least 1.",
        ),
        (
            lambda: arguments.count("steps", [1]),
            "steps = [1] is not allowed: steps must be one whole number, at least 0.",
        ),
        (
            lambda: arguments.count("seed", 2**63, maximum=2**63 - 1),
            f"seed = {2**63} is not allowed",
        ),
        (lambda: arguments.count("d", 1, minimum=2), "d = 1 is not allowed: d must be a whole number, at least 2."),
        (
            lambda: arguments.count("steps", 10**9),
            "steps = 1000000000 is not allowed: steps must be a whole number, at least 0 and at most 100000000.",
        ),
        (
            lambda: arguments.integer("h", [4, 10**9], maximum=10**6),
            "h = 1000000000 is not allowed: h must be a whole number, at least 1 and at most 1,000,000.",
        ),
        (
            lambda: arguments.positive("r", np.ma.masked_array(2.0, True)),
            "r = masked_array(data=--,\n             mask=True,\n       fill_value=1e+20,\n            dtype=float64) "
            "is not allowed: r must be a positive number, and finite.",
        ),
        (lambda: arguments.count("d", True), "d = True is not allowed: d must be a whole number, at least 0."),
        (
            lambda: arguments.integer("depths", [True, 4]),
            "depths = [True, 4] is not allowed: depths must be a whole number, at least 1.",
        ),
        (
            lambda: arguments.finite("x", ((1.0, 2.0), (0.0, np.True_))),
            f"x = {((1.0, 2.0), (0.0, np.True_))!r} is not allowed: x must be a finite number.",
        ),
        (lambda: arguments.function("f", 3, "a function"), "f = 3 is not allowed: f must be a function."),
        (lambda: arguments.methods("s", "a", ("get",), "a store"), "s = 'a' is not allowed: s must be a store."),
        (lambda: arguments.methods("s", dict, ("get",), "a store"), "s = <class 'dict'> is not allowed"),
        (lambda: arguments.choice("arch", "c", ("a", "b")), "arch = 'c' is not allowed: arch must be one of 'a', 'b'."),
        (lambda: arguments.one("r", np.ones(3)), "r of shape (3,) is not allowed: r must be one number."),
        (lambda: arguments.one("r", np.ones(1)), "r of shape (1,) is not allowed: r must be one number."),
        (
            lambda: arguments.broadcast(depth=np.ones((4, 2)), tau=1.0, r=[1, 2, 3]),
            "depth of shape (4, 2), r of shape (3,) do not broadcast: along each axis, counted from the last, the "
            "lengths must be equal or 1.",
        ),
    ],
)
def test_refusals(call, sentence):
    with pytest.raises(ValueError) as refusal:
        call()
    assert str(refusal.value).startswith(sentence)
