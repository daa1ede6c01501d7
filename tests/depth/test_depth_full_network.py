"""The networks with L separate weights against everything that was derived with equal ones."""

from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lrtransfer import depth as d

ARCHS = ("chain", "residual1", "residual2")
archs = st.sampled_from(ARCHS)


def at_minimum(depth, r, arch):
    """The weight of equal layers whose total weight is r."""
    phi = r ** (1 / depth)
    return {
        "chain": phi,
        "residual1": math.sqrt(depth) * (phi - 1),
        "residual2": math.sqrt(depth * (phi - 1)),
    }[arch]


def loss_of(weights, mu_yx, mu_xx, arch):
    depth = len(weights)
    factor = {
        "chain": weights,
        "residual1": 1 + weights / math.sqrt(depth),
        "residual2": 1 + weights**2 / depth,
    }[arch]
    return 0.5 * mu_xx * (np.prod(factor) - mu_yx / mu_xx) ** 2


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 12), st.floats(1.05, 5.0), st.floats(0.2, 5.0), archs)
def test_sharpness_is_the_top_eigenvalue_and_the_rest_vanish(depth, r, mu_xx, arch):
    hessian = d.full_hessian(np.full(depth, at_minimum(depth, r, arch)), mu_yx=r * mu_xx, mu_xx=mu_xx, arch=arch)
    values = np.linalg.eigvalsh(hessian)
    s = d.sharpness(depth, r, mu_xx, arch)
    # The residual a - r is L roundings of r, not 0, and multiplies curvatures of order S: 1e-13 covers both.
    # Block two at r near 1 takes sqrt(phi - 1), which costs a factor 1 / (phi - 1) < 300 here.
    slack = 1e-13 * (300 if arch == "residual2" else 1)
    assert values[-1] == pytest.approx(s, rel=slack)
    assert np.abs(values[:-1]).max(initial=0.0) <= 300 * slack * s


@pytest.mark.parametrize("arch", ARCHS)
@pytest.mark.parametrize("depth", [1, 2, 5])
def test_orders_of_substitution(depth, arch):
    r, mu_xx = 1.7, 1.3
    w = at_minimum(depth, r, arch)
    mu_yx = r * mu_xx
    orders = d.substitution_orders(depth, r, mu_xx, arch)
    h = 1e-4 * max(w, 1.0)
    every, one = np.ones(depth), np.eye(depth)[0]

    def second(direction):  # the central difference's own error is h^2 f''''/12, about 1e-7 of f'' here
        points = [loss_of(np.full(depth, w) + k * h * direction, mu_yx, mu_xx, arch) for k in (-1, 0, 1)]
        return (points[0] - 2 * points[1] + points[2]) / h**2

    assert orders.substituted_first == pytest.approx(second(every), rel=1e-5)
    assert orders.substituted_last == pytest.approx(second(one), rel=1e-5)
    hessian = d.full_hessian(np.full(depth, w), mu_yx=mu_yx, mu_xx=mu_xx, arch=arch)
    assert orders.substituted_last == pytest.approx(hessian[0, 0], rel=1e-12)
    up, down = (
        d.full_gradient_descent(1.0, np.full(depth, w + k * h), 1, mu_yx=mu_yx, mu_xx=mu_xx, arch=arch) for k in (1, -1)
    )
    slope = ((up[0] - up[1]) - (down[0] - down[1])) / (2 * h)  # of the true gradient along equal weights
    assert orders.right == pytest.approx(slope[0], rel=1e-6)


def test_curvature_of_the_plotted_curve_is_l_squared():
    orders = d.substitution_orders([1, 2, 4, 6, 8, 10], 1.0)
    np.testing.assert_array_equal(orders.substituted_first, [1, 4, 16, 36, 64, 100])
    np.testing.assert_array_equal(orders.right, [1, 2, 4, 6, 8, 10])
    np.testing.assert_allclose(orders.substituted_last, 1.0, rtol=1e-15)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 12), st.floats(1.05, 4.0), st.floats(0.1, 0.9), st.floats(0.2, 1.9), archs)
def test_equal_weights_stay_equal_and_follow_the_reduced_map(depth, r, start, inverse, arch):
    lr = inverse * d.max_stable_lr(depth, r, arch=arch)
    init = start if arch == "chain" else start * at_minimum(depth, r, arch)
    reduced = d.gradient_descent(lr, depth, 15, mu_yx=r, init=init, arch=arch)
    full = d.full_gradient_descent(float(lr), np.full(depth, reduced[0]), 15, mu_yx=r, arch=arch)
    # products over the other layers are taken in another order: a few L 2^-53 a step, over a mild transient
    np.testing.assert_allclose(full, np.broadcast_to(reduced[:, None], full.shape), rtol=0, atol=1e-11)


@settings(max_examples=20, deadline=None)
@given(
    st.lists(st.floats(0.2, 1.5), min_size=2, max_size=6),
    st.lists(st.booleans(), min_size=6, max_size=6),
    archs,
)
def test_flow_conserves(weights, signs, arch):
    w0 = np.where(signs[: len(weights)], weights, -np.array(weights))
    path = d.gradient_flow_full([0.0, 0.3, 1.0, 4.0], w0, mu_yx=1.8, mu_xx=1.2, arch=arch)
    assert path.shape == (4, len(weights))
    np.testing.assert_array_equal(path[0], w0)
    kept = d.conserved(path, arch)
    # The integrator's relative tolerance is 1e-12 a step, some tens of steps; ln|w| divides its error by |w|.
    np.testing.assert_allclose(kept, np.broadcast_to(kept[0], kept.shape), rtol=0, atol=1e-9)
    assert np.abs(path[-1] - w0).max() > 1e-3 or abs(loss_of(w0, 1.8, 1.2, arch)) < 1e-2  # something moved


def test_a_wrong_quantity_is_not_conserved():
    path = d.gradient_flow_full([0.0, 1.0], [0.5, 1.0, 1.5], mu_yx=2.0, arch="residual2")
    for other in ("chain", "residual1"):
        drift = d.conserved(path, other)
        assert np.abs(drift[1] - drift[0]).max() > 0.05
    discrete = d.full_gradient_descent(0.2, [0.5, 1.0, 1.5], 3, mu_yx=2.0)
    drift = d.conserved(discrete)
    assert np.abs(drift[-1] - drift[0]).max() > 1e-3  # descent with a finite step conserves it only roughly


def test_flow_of_unequal_weights_is_the_limit_of_descent():
    w0 = np.array([0.4, 0.9, 0.7])
    exact = d.gradient_flow_full([2.0], w0, mu_yx=1.5, arch="residual1")[0]
    errors = [
        np.abs(d.full_gradient_descent(2.0 / n, w0, n, mu_yx=1.5, arch="residual1")[-1] - exact).max()
        for n in (200, 400)
    ]
    assert errors[0] / errors[1] == pytest.approx(2.0, rel=0.02)  # Euler's method is of first order


def test_divergence_and_missing_torch(monkeypatch):
    path = d.full_gradient_descent(50.0, [0.9, 1.2], 30, mu_yx=2.0)
    assert np.isinf(path[-1]).all() and not np.isnan(path).any()
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match="pip install torch"):
        d.full_hessian([1.0], mu_yx=1.0)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: d.full_gradient_descent(0.1, [[1.0]], 2, mu_yx=1.0), "weights0 ="),
        (lambda: d.full_gradient_descent(-0.1, [1.0], 2, mu_yx=1.0), "lr = -0.1"),
        (lambda: d.full_hessian([1.0], mu_yx=0.5, arch="residual2"), "mu_yx / mu_xx = 0.5"),
        (lambda: d.gradient_flow_full([2.0, 1.0], [1.0], mu_yx=1.0), "t ="),
        (lambda: d.full_gradient_descent([0.1, 0.2], [1.0], 2, mu_yx=1.0), r"lr of shape \(2,\)"),
        (lambda: d.gradient_flow_full([1.0], [1.0], mu_yx=1.0, lr=[0.1]), r"lr of shape \(1,\)"),
        (lambda: d.full_hessian([1.0], mu_yx=[0.5]), r"mu_yx of shape \(1,\)"),
        (lambda: d.full_gradient_descent(0.1, [1.0], 2, mu_yx=1e308, mu_xx=1e-10), "mu_yx / mu_xx = inf"),
        (lambda: d.conserved([1e200, 1e200]), "weights = 1e\\+200"),
        (lambda: d.conserved([0.0, 1.0], "residual2"), "weights = 0.0"),
        (lambda: d.substitution_orders(math.inf, 2.0), "depth = inf"),
    ],
)
def test_refusals_name_the_argument_and_the_value(call, named):
    with pytest.raises(ValueError, match=named):
        call()


def test_what_overflows_is_inf_or_refused():
    assert np.isposinf(d.full_hessian(np.full(4, 1e100), mu_yx=1.0)).all()
    for size in (1e120, 1e300):
        with pytest.raises(ValueError, match=r"^weights0 = "):
            d.gradient_flow_full([0.0, 1.0], np.full(3, size), mu_yx=1.0)
