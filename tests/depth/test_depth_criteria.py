"""The loss after a finite run: sweeps in units of a rule, and lucky rates."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lrtransfer import depth as d


def test_sweep_against_independent_losses():
    # loss after 30 steps at x = 1; runs that have not converged, so that rounding is far below the ten digits
    expected = {
        ("chain", 0.5, "agnostic", 128): 0.0007467995864691344,
        ("chain", 0.5, "agnostic", 4): 1.4030160939934418e-09,
        ("chain", 2.0, "agnostic", 2): 0.015372428605099806,
        ("residual2", 4.0, "exact", 8): 4.453220878610023,
        ("residual2", 4.0, "agnostic", 64): 4.484714787293682,
    }
    for (arch, r, rule, depth), value in expected.items():
        assert d.sweep(1.0, depth, r, arch, rule) == pytest.approx(value, rel=1e-7)


def test_sweep_is_one_array_program():
    x, depth, r = np.linspace(0.1, 1.5, 5)[:, None, None], np.array([2, 8])[:, None], np.array([0.5, 2.0])
    losses = d.sweep(x, depth, r)
    assert losses.shape == (5, 2, 2)
    assert losses[3, 1, 0] == d.sweep(x[3, 0, 0], 8, 0.5)


def test_lucky_rates():
    lucky = d.landing_lrs(2, 0.5)
    # roots in x of w_k(x) = r^(1/2), by mpmath with 80 digits; ours are as good as the sign of a distance,
    # within a unit 2^-52 of r over its slope in x, which is 0.26, 0.16, 0.045 and 0.0033 here
    expected = [1.58264972185977, 1.19928971795938, 1.05068777355527, 1.00443239919578]
    np.testing.assert_allclose(lucky.x, expected, rtol=0, atol=1e-13)
    assert lucky.step.tolist() == [2, 3, 4, 5]
    for arch, r, depth in (("chain", 0.5, 2), ("chain", 2.0, 8), ("residual2", 2.0, 2)):
        lucky = d.landing_lrs(depth, r, arch)
        assert len(lucky.x) >= 4 and (lucky.x > 1).all()
        path = d.gradient_descent(
            lucky.x * d.max_stable_lr(depth, r, arch=arch),
            depth,
            30,
            mu_yx=r,
            init=d.criteria.DEFAULT_INIT[arch],
            arch=arch,
        )
        gap = np.abs(d.total_weight(path, depth, arch) - r)
        # the rate is a float, so the landing misses by its rounding, stretched by the run before it
        assert (gap[lucky.step, np.arange(lucky.x.size)] < 1e-11).all()
        assert (gap[lucky.step - 1, np.arange(lucky.x.size)] > 1e-5).all()


def test_the_rule_itself():
    assert d.criteria.rule_lr(0.5, 4, 2.0) == 0.5 * d.max_stable_lr(4, 2.0)
    assert d.criteria.rule_lr(0.5, 4, 2.0, rule="agnostic") == 0.125


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: d.sweep(1.0, 2, 0.5, rule="best"), "rule = 'best'"),
        (lambda: d.sweep(0.0, 2, 0.5), "x = 0.0"),
        (lambda: d.sweep(1.0, math.inf, 0.5), "depth = inf"),
        (lambda: d.sweep([1.0, 2.0], [2, 3, 4], 0.5), r"x of shape \(2,\), depth of shape \(3,\)"),
        (lambda: d.sweep([1.0, 2.0], 2, 0.5, init=[0.1] * 3), r"x of shape \(2,\), init of shape \(3,\)"),
        (lambda: d.criteria.rule_lr([1.0, 2.0], 2, [0.5] * 3), r"x of shape \(2,\), r of shape \(3,\)"),
        (lambda: d.landing_lrs(2, [0.5]), r"r of shape \(1,\)"),
        (lambda: d.landing_lrs(2, 0.5, high=[2.0]), r"high of shape \(1,\)"),
        (lambda: d.landing_lrs(2, 0.5, init=[0.1]), r"init of shape \(1,\)"),
        (lambda: d.landing_lrs(2, 0.5, high=1.0), "high = 1.0"),
    ],
)
def test_refusals_name_the_argument_and_the_value(call, named):
    with pytest.raises(ValueError, match=named):
        call()
