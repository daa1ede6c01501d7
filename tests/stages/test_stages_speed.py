"""How fast runs fall: the theorem against roots and runs, and what is read off curves against loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lrtransfer import stages as s
from lrtransfer.stages.functional.convex import strongly_convex_losses


@given(st.floats(0.0, 1.0), st.floats(1.01, 1e4))
def test_contraction_is_the_largest_root_of_all_modes(beta, kappa):
    largest = 0.0
    for h in np.geomspace(1 / kappa, 1, 9):
        roots = np.roots([1.0, -(1 + beta) * (1 - h), beta * (1 - h)])
        largest = max(largest, np.abs(roots).max())
    # near the double root the roots are only good to the square root of the rounding error
    assert s.contraction(beta, kappa) == pytest.approx(largest, rel=1e-6)


def test_contraction_is_least_at_the_theorems_beta():
    kappa = np.array([2.0, 10.0, 1000.0])
    star = s.default_beta(kappa)
    np.testing.assert_allclose(s.contraction(star, kappa), 1 - 1 / np.sqrt(kappa), rtol=1e-7)  # a double root
    grid = np.linspace(0, 1, 401)[:, None]
    assert (s.contraction(grid, kappa) >= 1 - 1 / np.sqrt(kappa) - 1e-7).all()
    np.testing.assert_allclose(s.contraction(0.0, kappa), 1 - 1 / kappa, rtol=1e-14)
    np.testing.assert_allclose(s.contraction(1.0, kappa), np.sqrt(1 - 1 / kappa), rtol=1e-14)


@pytest.mark.parametrize("beta", [0.0, 0.3, 0.9, 1.0])
def test_contraction_is_what_runs_show(beta):
    kappa, late = 20.0, 400
    path = strongly_convex_losses("stacking", kappa, 2 * late, d=5, beta=beta)
    seen = s.windowed_rate(path, window=late // 2, lag=late)
    # oscillation: the windows hold 14 periods or more, their ends are 1 / 28 of that; measured below 1 per cent
    assert seen == pytest.approx(-2 * np.log(s.contraction(beta, kappa)), rel=0.02)


def test_strongly_convex_losses_take_any_momentum():
    betas, kappas = np.array([0.0, 0.4, 1.0]), np.array([[4.0], [30.0]])
    grid = strongly_convex_losses("stacking", kappas, 12, d=3, beta=betas)
    assert grid.shape == (13, 2, 3)
    for i, kappa in enumerate(kappas[:, 0]):
        for j, beta in enumerate(betas):
            h = np.geomspace(1 / kappa, 1, 3)
            before = error = np.ones(3)
            for t in range(13):
                assert grid[t, i, j] == pytest.approx((h * error**2).sum() / 2, rel=1e-11)
                before, error = error, (1 - h) * (error + beta * (error - before))
    plain = strongly_convex_losses("zero", 4.0, 12, d=3, beta=0.7)  # which only "stacking" uses
    np.testing.assert_array_equal(plain, strongly_convex_losses("zero", 4.0, 12, d=3))


def test_first_below_by_hand():
    curves = np.array([[8.0, 8.0, 8.0, 8.0], [4.0, 9.0, 8.0, 0.1], [1.0, 7.0, 8.0, 9.0], [3.0, 0.7, np.inf, 0.1]])
    np.testing.assert_array_equal(s.first_below(curves, 0.5), [2, 3, np.inf, 1])  # 4 is not below half of 8
    np.testing.assert_array_equal(s.first_below(curves, 0.5, start=[20.0, 2.0, 2.0, 0.1]), [0, 3, np.inf, np.inf])
    assert s.first_below([4.0, 3.0, 1.0], 0.5) == 2


@given(st.floats(1e-3, 0.5), st.integers(1, 20), st.integers(1, 20))
def test_windowed_rate_of_an_exponential(rate, window, lag):
    t = np.arange(45.0)
    curve = 3 * np.exp(-rate * t) * (1.5 + np.cos(2 * np.pi * t / lag))  # whose period the lag is
    assert s.windowed_rate(curve, window, lag) == pytest.approx(rate, rel=1e-9)


def test_windowed_rate_takes_the_windows_it_says():
    curve = np.array([9.0, 5.0, 7.0, 2.0, 1.0, 3.0])
    assert s.windowed_rate(curve, 2, 3) == pytest.approx(np.log((5 + 7) / (1 + 3)) / 3, rel=1e-14)
    assert s.windowed_rate(np.stack([curve, 2 * curve], axis=1), 2, 3).shape == (2,)


def test_late_rates_are_those_of_runs():
    kappas = np.array([4.0, 30.0])
    for method, low, high, power in (("gd", 2, 4, 1.0), ("stacking", 40, 80, 0.5), ("nesterov", 40, 80, 0.5)):
        seen = s.late_rates(method, kappas, 0.5, d=5, seed=3)
        for kappa, rate in zip(kappas, seen, strict=True):
            path = s.run(method, *s.problem(kappa, 0.5, 5, 3), int(high * kappa**power)).excess
            at = int(low * kappa**power)
            assert rate == pytest.approx(-np.log(path[-1] / path[at]) / (len(path) - 1 - at), rel=1e-9)
    ideal = -2 * np.log1p(-1 / kappas)
    assert (s.late_rates("gd", kappas) > ideal * (1 - 1e-9)).all()  # the slowest mode comes last


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: s.contraction(1.5, 4.0), "beta = 1.5"),
        (lambda: s.contraction([0.5, -0.5], 4.0), "beta = -0.5"),
        (lambda: s.contraction(0.5, 0.5), "kappa = 0.5"),
        (lambda: strongly_convex_losses("stacking", 4.0, 3, beta=[0.2, 1.2]), "beta = 1.2"),
        (lambda: s.first_below([1.0, np.nan], 0.5), "curves"),
        (lambda: s.first_below(1.0, 0.5), "curves = 1.0"),
        (lambda: s.first_below([1.0, 0.5], 0.0), "level = 0.0"),
        (lambda: s.windowed_rate([1.0, 0.5, 0.2], 2, 2), "too short for window = 2 and lag = 2"),
        (lambda: s.windowed_rate([1.0, 0.5, 0.0], 1, 1), "curves = 0.0"),
        (lambda: s.windowed_rate([1.0, 0.5], 0, 1), "window = 0"),
        (lambda: s.late_rates("zero", [4.0]), "method = 'zero'"),
        (lambda: s.late_rates("gd", 4.0), "kappas = 4.0"),
        (lambda: s.late_rates("gd", [1.0]), "kappas = 1.0"),
    ],
)
def test_refusals_name_the_argument_and_the_value(call, named):
    with pytest.raises(ValueError, match=named):
        call()


@given(st.floats(0.1, 0.9), st.floats(1e-3, 10.0))
def test_decay_rate_of_a_power(rate, first):
    t = np.arange(200)
    with np.errstate(under="ignore"):
        run = first * np.exp(-rate * t)
    assert s.decay_rate(np.stack([run, run], axis=1), high=0.1, low=1e-8) == pytest.approx(rate, rel=1e-9)


def test_rates_against_kappa():
    """Per-stage decay of the excess loss: 2/kappa for descent, about 2/sqrt(kappa) for the other two."""
    kappas = np.geomspace(30, 300, 4)
    teacher, covariance = s.problem(kappas, 0.3, 6)
    for method, exponent, stages in (("gd", -1, 6000), ("stacking", -0.5, 500), ("nesterov", -0.5, 500)):
        loss = s.excess_loss(method, teacher, covariance, stages)
        rates = s.decay_rate(loss, high=1e-6, low=1e-14)
        # the factor t of the double root of 1 - 1/s bends the momentum methods by a few per cent
        assert s.power_law(kappas, rates).slope == pytest.approx(exponent, abs=0.05)
        assert (rates > 2 * np.log(1 / s.rate(kappas)) * 0.8).all() or method == "gd"
    assert s.power_law([1, 10, 100], [2, 200, 20000]).slope == pytest.approx(2, abs=1e-12)
