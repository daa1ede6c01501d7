"""Two layers on the circle, against dense gradient descent, other quadratures and the known values."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from lrtransfer.layers import (
    QuadratureWarning,
    balance_course,
    balance_curvature,
    expected_loss,
    expected_loss_with_error,
    loss_course,
    two_layer_losses,
)
from lrtransfer.layers import quadrature as rules
from lrtransfer.layers.circle import angle_losses
from lrtransfer.layers.dense import two_layer_descent
from lrtransfer.numerics.random import haar_orthogonal

RATES = st.floats(0.0, 1.5)  # in units of h^(3/2); above 1 some modes no longer settle


@pytest.mark.parametrize("h", [2, 3, 4])
def test_moments_of_haar_matrices(h):
    """E tr Q^k is 1 for even and 0 for odd k, also for k far above h (where moments of the group differ)."""
    rng = np.random.default_rng(0)
    angles = np.array([np.angle(np.linalg.eigvals(haar_orthogonal(h, rng))) for _ in range(4000)])
    for k in (1, 2, 5, 8):
        traces = np.cos(k * angles).sum(axis=1)
        expected = 1 if k % 2 == 0 else 0
        spread = traces.std() / np.sqrt(traces.size)
        assert abs(traces.mean() - expected) < 4 * spread  # 12 comparisons at 4 standard errors


@pytest.mark.parametrize("h", [5, 24])
def test_every_draw_is_the_map_at_the_eigenvalues(h):
    """Draw by draw: dense gradient descent equals the average of |e|^2 over the spectrum of one matrix."""
    rng = np.random.default_rng(1)
    w1, w2, m = (haar_orthogonal(h, rng) for _ in range(3))
    lr1, lr2 = 0.4 * h**1.5, 0.7 * h**1.5
    dense = two_layer_descent(w1, w2, m / np.sqrt(h), m / np.sqrt(h), lr1, lr2, 6)
    z = np.linalg.eigvals(w1.T @ m @ w2.T)
    kappa = np.array([[lr1], [lr2]]) / h**1.5
    reduced = angle_losses(kappa[:1], kappa[1:], z[None], h, 6, False, True).mean(axis=2)[:, 0]
    np.testing.assert_allclose(dense, reduced, rtol=1e-12)  # rounding: 1e-15 an entry over h^2 entries, 6 steps


@pytest.mark.parametrize("units", [(0.3, 0.8), (0.6, 0.6), (1.1, 0.2)])
def test_mean_over_draws(units):
    h, draws = 16, 1500
    lr1, lr2 = (u * h**1.5 for u in units)
    dense = two_layer_losses(lr1, lr2, h, 6, draws=draws, seed=7)
    error = dense.std(axis=1, ddof=1) / np.sqrt(draws)
    difference = dense.mean(axis=1) - loss_course(lr1, lr2, h, 6)
    assert (np.abs(difference) < 4 * error).all()
    assert (error < 0.01 * dense.mean(axis=1) + 1e-4).all()  # sharp enough to notice a mistake


def test_quadrature_numbers():
    """Late spikes: 256 equispaced angles give .00440 and 512 give .00245 instead."""
    assert float(expected_loss(1000**1.4, 1000**1.4, 1000, 32)) == pytest.approx(5.05e-4, abs=5e-7)
    assert float(expected_loss(1000**1.3, 1000**1.3, 1000, 64)) == pytest.approx(5.0148e-4, abs=5e-9)


@pytest.mark.parametrize(("alpha", "steps"), [(1.4, 32), (1.1, 60), (1.3, 64)])
def test_late_loss_against_another_quadrature(alpha, steps):
    """scipy's adaptive rule in log s, the modes' map written out for one angle."""
    h, kappa = 1000, 1000 ** (alpha - 1.5)

    def f(s: float) -> float:
        z = complex(-np.cos(s), np.sin(s))
        w = complex(h**-0.25)
        for _ in range(steps):
            w += kappa * (z - w * w) * w.conjugate()
        return abs(z - w * w) ** 2

    points = np.linspace(np.log(1e-16), np.log(np.pi), 30)
    flat = sum(
        quad(lambda u: f(np.exp(u)) * np.exp(u), low, high, epsabs=1e-15, epsrel=1e-11, limit=200)[0]
        for low, high in itertools.pairwise(points)
    )
    reference = ((h - 1) * flat / np.pi + (f(0.0) + f(np.pi)) / 2) / h
    loss = expected_loss_with_error(h**alpha, h**alpha, h, steps)
    assert float(loss.value) == pytest.approx(reference, rel=1e-8)
    assert float(loss.error) < 1e-6 * float(loss.value)


@pytest.mark.parametrize("h", [2, 30, 1000, 10**6])
def test_grid_agrees_with_the_exact_rule(h, monkeypatch):
    """Doubling stops early; the rule that is exact for every degree must agree, also at chaotic rates."""
    rates = np.linspace(0, 2.6 * h**1.5, 24)
    fast = expected_loss_with_error(rates[:, None], rates, h, 8)
    monkeypatch.setattr(rules, "TOLERANCE", -1.0)
    exact = expected_loss_with_error(rates[:, None], rates, h, 8)
    assert exact.nodes > 3**7
    assert (np.isfinite(fast.value) == np.isfinite(exact.value)).all()
    settled = np.isfinite(exact.value)
    off = np.abs(fast.value[settled] - exact.value[settled])
    assert (off <= fast.error[settled]).all()
    assert (off <= 1e-6 * exact.value[settled] + 1e-20).all()


def test_both_rules_agree(monkeypatch):
    h, rates = 500, np.linspace(0.05, 0.9, 9) * 500**1.5
    trapezoid = expected_loss(rates[:, None], rates, h, 8)
    curvature = balance_curvature([1.0, 1.2, 1.4], h, 8)
    monkeypatch.setattr(rules, "EXACT_STEPS", 0)
    np.testing.assert_allclose(expected_loss(rates[:, None], rates, h, 8), trapezoid, rtol=1e-8)
    np.testing.assert_allclose(balance_curvature([1.0, 1.2, 1.4], h, 8), curvature, rtol=1e-7)


def test_signs_at_width_1000():
    signs = {
        1.0: "----+",
        1.1: "--+++",
        1.2: "-++++",
        1.3: "-++++",
        1.4: "-+++-",
        1.45: "-++--",
        1.5: "-+---",
    }
    course = balance_course(list(signs), 1000, 8)
    for column, (alpha, expected) in enumerate(signs.items()):
        found = "".join("+" if c > 0 else "-" for c in course.curvature[[1, 2, 3, 4, 8], column])
        assert found == expected, alpha
    assert (np.abs(course.curvature[1:]) > 1e4 * course.curvature_error[1:]).all()  # no sign is noise


@pytest.mark.parametrize(("signal_only", "threshold"), [(False, 200), (True, 257)])
def test_width_needed_at_the_critical_exponent(signal_only, threshold):
    def curvature(h: int) -> float:
        return float(balance_curvature(1.5, h, 2, signal_only))

    assert curvature(threshold) > 0 > curvature(threshold - 1)


@pytest.mark.parametrize("signal_only", [False, True])
@pytest.mark.parametrize("steps", [1, 2, 4, 12])
def test_curvature_is_the_second_derivative(signal_only, steps):
    """Fourth-order differences with step d: truncation d^4, measured below 1e-6 relative at d = 0.01."""
    h, alpha, d = 300, 1.25, 0.01
    deltas = d * np.arange(-2, 3)
    rate = h**alpha
    losses = expected_loss(rate * (1 + deltas), rate * (1 - deltas), h, steps, signal_only)
    difference = np.dot([-1, 16, -30, 16, -1], losses) / (12 * d * d)
    assert float(balance_curvature(alpha, h, steps, signal_only)) == pytest.approx(difference, rel=3e-6)


@settings(deadline=None, max_examples=40)
@given(k1=RATES, k2=RATES, h=st.integers(2, 5000), steps=st.integers(0, 8), signal_only=st.booleans())
def test_layers_may_be_exchanged(k1, k2, h, steps, signal_only):
    lr1, lr2 = k1 * h**1.5, k2 * h**1.5
    one, other = (
        expected_loss(lr1, lr2, h, steps, signal_only),
        expected_loss(lr2, lr1, h, steps, signal_only),
    )
    assert float(one) == pytest.approx(float(other), rel=1e-6, abs=1e-20)  # each holds to 1e-6


@settings(deadline=None, max_examples=30)
@given(k=RATES, h=st.integers(2, 5000), steps=st.integers(0, 20))
def test_one_frozen_layer_is_linear_regression(k, h, steps):
    """With one trained layer e shrinks by 1 - kappa / sqrt(h) a step, whatever z is."""
    expected = (1 + 1 / h) * (1 - k / np.sqrt(h)) ** (2 * steps)
    assert float(expected_loss(0, k * h**1.5, h, steps)) == pytest.approx(expected, rel=1e-6, abs=1e-20)


def test_balanced_rates_never_learn_the_saddle():
    h = 1000
    losses = loss_course(h**1.2, h**1.2, h, 400)
    assert (losses >= 1 / (2 * h)).all()
    assert losses[-1] == pytest.approx(1 / (2 * h), rel=1e-6)
    split = loss_course(1.2 * h**1.2, 0.8 * h**1.2, h, 400)
    assert split[-1] < 1e-12


def test_course_is_every_single_step():
    h, rates = 200, np.array([100.0, 900.0, 2500.0])
    course = loss_course(rates[:, None], rates, h, 12)
    assert course.shape == (13, 3, 3)
    for t in (0, 1, 5, 12):
        np.testing.assert_allclose(course[t], expected_loss(rates[:, None], rates, h, t), rtol=1e-7)
    balance = balance_course([1.1, 1.3], h, 12)
    assert balance.loss.shape == balance.curvature.shape == (13, 2)
    for t in (1, 4, 12):
        np.testing.assert_allclose(balance.curvature[t], balance_curvature([1.1, 1.3], h, t), rtol=1e-6)
        equal = h ** np.array([1.1, 1.3])
        np.testing.assert_allclose(balance.loss[t], expected_loss(equal, equal, h, t), rtol=1e-7)


def test_divergence_is_inf_and_never_nan():
    losses = loss_course([1.0, 1e6, 1e9, 1e300], [1.0, 1.0, 1e9, 1e300], 100, 40)
    assert not np.isnan(losses).any()
    assert np.isinf(losses[-1, 1:]).all() and np.isfinite(losses[:, 0]).all()
    once = np.isinf(losses)
    assert (once[1:] >= once[:-1]).all()  # a run that diverged stays diverged
    curvature = balance_curvature([1.2, 3.0, 500.0], 100, 12)
    assert np.isfinite(curvature[0]) and (curvature[1:] == np.inf).all()
    # the saddle's derivative grows like (1 + kappa)^(2t) and overflows while the loss is fine
    long = balance_course(1.5, 1000, 700)
    assert long.curvature[-1] == -np.inf and np.isfinite(long.loss).all()


def test_an_error_above_the_promise_warns(monkeypatch):
    """Above the critical scale the modes oscillate for long; too few angles must be reported."""
    rate = 1.1 * 1000**1.5
    full = expected_loss_with_error(rate, rate, 1000, 40)
    monkeypatch.setattr(rules, "MAX_NODES", 400)
    with pytest.warns(QuadratureWarning, match="do not settle"):
        poor = expected_loss_with_error(rate, rate, 1000, 40)
    assert float(poor.error) > 1e-6 * float(poor.value)
    assert float(full.error) < 1e-6 * float(full.value)


def test_shapes_and_empty_grids():
    assert expected_loss(1.0, 1.0, 10, 3).shape == ()
    assert expected_loss(np.ones((2, 1)), np.ones(3), 10, 3).shape == (2, 3)
    assert expected_loss(np.ones(0), 1.0, 10, 3).shape == (0,)
    assert expected_loss(np.ones(0), 1.0, 10, 30).shape == (0,)
    assert balance_curvature([[1.0]], 10, 3).shape == (1, 1)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ((-1.0, 1.0, 10, 1), "lr1"),
        ((1.0, np.nan, 10, 1), "lr2"),
        ((1.0, np.inf, 10, 1), "lr2"),
        ((1.0, 1.0, 1, 1), "h"),
        ((1.0, 1.0, 2.5, 1), "h"),
        ((1.0, 1.0, 10, -1), "steps"),
        ((1.0, 1.0, 10, 1.5), "steps"),
        ((np.ones(2), np.ones(3), 10, 1), "lr2"),
    ],
)
def test_bad_input_is_named(arguments, name):
    with pytest.raises(ValueError, match=rf"^{name} = "):
        expected_loss(*arguments)


def test_bad_exponent_is_named():
    with pytest.raises(ValueError, match=r"^alpha = "):
        balance_curvature(np.nan, 10, 1)


def test_the_hill_of_one_step_in_closed_form():
    """-2 kappa^2 dL/d(kappa_1 kappa_2), of which every term is a hill while kappa_1 + kappa_2 <= sqrt(h)."""
    for h in (4, 100, 10**6):
        kappa = np.array([1e-3, 0.3, 1.0, 0.5 * h**0.5])
        fourth = (1 + 1 / h) ** 2 + 2 / h * (1 + 1 / h)
        slope = 4 / h * (1 + 1 / h) * (1 - 2 * kappa / h**0.5) + 2 / h * kappa**2 * fourth
        bend = balance_curvature(1.5 + np.log(kappa) / np.log(h), h, 1)
        np.testing.assert_allclose(bend, -2 * kappa**2 * slope, rtol=1e-9)
        split, rate = np.linspace(0, 1, 9), h**1.5
        assert (np.diff(expected_loss(rate * (1 + split), rate * (1 - split), h, 1)) < 0).all()
