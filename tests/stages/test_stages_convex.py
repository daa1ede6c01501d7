"""Rates of descent and momentum on convex problems: closed forms, quadrature, bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import beta as beta_function

from lrtransfer.stages.functional.convex import (
    MOMENTA,
    exponential_rates,
    fit_exponent,
    logistic_losses,
    momenta,
    nesterov,
    power_law_losses,
    strongly_convex_losses,
)


def test_momenta():
    np.testing.assert_allclose(momenta("schedule", 6), [0, 0, 1 / 4, 2 / 5, 3 / 6, 4 / 7])
    assert momenta("zero", 3).tolist() == [0, 0, 0] and momenta("stacking", 2, 0.5).tolist() == [0.5, 0.5]
    for method, stages, beta in [("other", 3, 0.5), ("zero", -1, 0.5), ("stacking", 3, 1.0), ("stacking", 3, -0.1)]:
        with pytest.raises(ValueError, match=r"method|stages|beta"):
            momenta(method, stages, beta)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**31), st.sampled_from(MOMENTA), st.integers(1, 8))
def test_nesterov_is_stagewise_training_of_an_additive_ensemble(seed, method, stages):
    """F_t kept as the list f_1 .. f_t, each started at beta_t times the last, as the paper describes it."""
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((4, 4))
    curvature, target = a @ a.T / 20, rng.standard_normal(4)
    betas = momenta(method, stages, 0.8)
    ensemble = [np.zeros(4)]
    for t in range(stages):
        new = betas[t] * ensemble[-1]
        ensemble.append(new - 0.7 * curvature @ (sum(ensemble) + new - target))
    iterates = nesterov(lambda F: curvature @ (F - target), np.zeros(4), lr=0.7, betas=betas)
    np.testing.assert_allclose(iterates, np.cumsum(ensemble, axis=0), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("exponent", [0.5, 1.0, 1.7])
def test_power_law_of_descent_is_a_beta_function(exponent):
    t = np.arange(41)
    found = power_law_losses("zero", 40, exponent=exponent)
    np.testing.assert_allclose(found, beta_function(exponent, 2 * t + 1) / 2, rtol=1e-10)


@pytest.mark.parametrize("method", MOMENTA)
@pytest.mark.parametrize("exponent", [0.6, 1.0])
def test_power_law_against_adaptive_quadrature(method, exponent):
    """The substitution lambda = s^(1/a) takes the singular weight away."""
    betas = momenta(method, 7, 0.6)
    found = power_law_losses(method, 7, exponent=exponent, beta=0.6)

    def integrand(s, t):
        curvature = s ** (1 / exponent)
        before = now = 1.0
        for beta in betas[:t]:
            ahead = now + beta * (now - before)
            before, now = now, (1 - curvature) * ahead
        return now**2 / (2 * exponent)

    expected = [quad(integrand, 0, 1, args=(t,), epsabs=1e-13, epsrel=1e-12)[0] for t in range(8)]
    np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_power_law_limits():
    """1/(4T); (1 - beta)/(4T); 2/T^2 with a correction that falls like T^-1/2."""
    T = 1000
    assert power_law_losses("zero", T)[-1] * 4 * T == pytest.approx(1, rel=1 / T)
    assert power_law_losses("stacking", T, beta=0.9)[-1] * 4 * T == pytest.approx(0.1, rel=0.01)  # 10/T: a stage is ten
    curve = power_law_losses("schedule", T)
    short, long = (1 - curve[t] * t**2 / 2 for t in (250, 1000))
    assert 0 < long < 0.05 and short / long == pytest.approx(2, rel=0.1)
    # measured: 0.036 at T = 1000
    assert fit_exponent(power_law_losses("zero", T), 100).slope == pytest.approx(-1, abs=0.01)
    assert fit_exponent(curve, 100).slope == pytest.approx(-2, abs=0.05)


@pytest.mark.parametrize("exponent", [0.5, 0.75, 1.2])
def test_the_schedule_doubles_the_exponent(exponent):
    """Corrections fall like T^(exponent - 3/2): slow for 1.2, where 2.32 was measured at T = 400."""
    plain = fit_exponent(power_law_losses("zero", 400, exponent=exponent), 100).slope
    fast = fit_exponent(power_law_losses("schedule", 400, exponent=exponent), 100).slope
    assert plain == pytest.approx(-exponent, rel=0.01) and fast == pytest.approx(2 * plain, rel=0.05)


def test_worst_case_bounds_hold():
    """L|e|^2/(2(2T + 1)) for descent (Drori and Teboulle), 2L|e|^2/(T + 1)^2 for the schedule; |e|^2 = 1/(a - 1)."""
    t, a = np.arange(1, 201), 1.3
    size = 1 / (a - 1)
    assert (power_law_losses("zero", 200, exponent=a)[1:] <= size / (2 * (2 * t + 1))).all()
    assert (power_law_losses("schedule", 200, exponent=a)[1:] <= 2 * size / (t + 1) ** 2).all()


def test_logistic_loss_in_the_full_function_space():
    T = 2000
    assert logistic_losses("zero", T)[-1] * 4 * T == pytest.approx(1, rel=0.005)
    assert logistic_losses("schedule", T)[-1] * T**2 == pytest.approx(1, rel=0.005)
    margin, previous, losses = 0.0, 0.0, [np.log(2)]
    for t in range(30):
        ahead = margin + (max(t - 1, 0) / (t + 2)) * (margin - previous)
        margin, previous = ahead + 4 / (1 + np.exp(ahead)), margin
        losses.append(np.log1p(np.exp(-margin)))
    np.testing.assert_allclose(logistic_losses("schedule", 30), losses, rtol=1e-12)
    # a constant beta coasts: far below both early on, and then flat
    stacking = logistic_losses("stacking", 1000)
    assert stacking[100] < 1e-5 and stacking[500] / stacking[1000] == pytest.approx(1, rel=0.01)


def test_strongly_convex_losses():
    kappas = np.array([4.0, 50.0])
    descent = strongly_convex_losses("zero", kappas, 30)
    curvatures = kappas[:, None] ** np.linspace(-1, 0, 20)
    for t in (0, 1, 30):
        expected = (curvatures * (1 - curvatures) ** (2 * t)).sum(axis=1) / 2
        np.testing.assert_allclose(descent[t], expected, rtol=1e-12)
    fast = strongly_convex_losses("stacking", kappas, 400)
    at_end = np.log(fast[300] / fast[400]) / 100
    # (1 - 1/sqrt(kappa))^T (1 + c T): the double root at the smallest curvature leaves 2/T, 0.006 here
    np.testing.assert_allclose(at_end, -2 * np.log1p(-1 / np.sqrt(kappas)), atol=0.007)


def test_exponential_rates_against_kappa():
    kappas = np.array([10.0, 30.0, 100.0, 300.0, 1000.0])
    rates, fit = exponential_rates("zero", kappas)
    np.testing.assert_allclose(rates, -2 * np.log1p(-1 / kappas), rtol=0.04)  # measured: 2 to 3 per cent above
    assert fit.slope == pytest.approx(-1, abs=0.03)
    rates, fit = exponential_rates("stacking", kappas)
    np.testing.assert_allclose(rates, -2 * np.log1p(-1 / np.sqrt(kappas)), rtol=0.12)  # 9 to 10 below: the double root
    assert fit.slope == pytest.approx(-0.5, abs=0.05) and fit.error < 0.02


def test_exponents_of_pure_powers():
    t = np.arange(1, 65, dtype=float)
    curve = np.concatenate([[5.0], 3 * t**-1.5])
    fit = fit_exponent(curve, 4, 40)
    assert fit.slope == pytest.approx(-1.5) and fit.intercept == pytest.approx(np.log(3)) and fit.error < 1e-12


@pytest.mark.parametrize(
    "call",
    [
        lambda: power_law_losses("zero", -1), lambda: power_law_losses("zero", 5, exponent=0.0),
        lambda: logistic_losses("corrected", 5),
        lambda: strongly_convex_losses("zero", 0.5, 5), lambda: exponential_rates("schedule", [2, 3, 4]),
        lambda: exponential_rates("zero", [2, 3]),
        lambda: fit_exponent([1, 2, 3, 4], 1, 9), lambda: fit_exponent([1, 2, 0, 4], 1),
    ],
)  # fmt: skip
def test_rates_refuse(call):
    with pytest.raises(ValueError, match=r"must be|at least"):
        call()
