"""Finite networks against their limit: distances, and the best rate of a task that can be fitted exactly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lrtransfer.numerics.estimates import mean_and_error
from lrtransfer.residual.theory.control_variates import controlled_mean, initial_controls
from lrtransfer.residual.theory.fitting import at_infinite_width, fitting_lr, fitting_rates
from lrtransfer.residual.theory.gaps import depth_gaps, doubling_gaps, wide_gaps, width_gaps
from lrtransfer.residual.theory.linear_limit import best_theory_lr, linear_limit
from lrtransfer.residual.theory.trained_ensemble import train_ensemble


def test_the_mean_approaches_the_limit_as_one_over_the_width():
    found = width_gaps(0.06, 1.0, 4, 5, {8: 2000, 16: 1000, 32: 1000})
    assert found.mean.shape == (6,)
    for gap, power, next_order in (
        (found.output, -1, 0.05),
        (found.kernel, -1, 0.1),
        (found.one_kernel, -0.5, 0.05),
    ):
        assert (gap.errors > 0).all() and gap.rate.error < 0.15  # the test has power: the two powers are told apart
        assert abs(gap.rate.slope - power) < 4 * gap.rate.error + next_order  # of 1/N, at width 8
    # A limit of the wrong depth is not approached: the same means miss it by far more than their errors.
    wrong = linear_limit(0.06, 1.0, 1, 5)
    assert np.abs(found.mean - wrong).max() > 10 * found.output.errors[-1]


@pytest.mark.parametrize("branch", [0.0, 0.5])
def test_controls_have_mean_zero_at_every_width(branch):
    run = train_ensemble([0.1, 0.2], 1.0, 5, 3, 0, draws=4000, branch=branch)
    controls = initial_controls(run, branch)
    mean, error = mean_and_error(controls)
    assert (np.abs(mean) < 4 * error).all() and (error < 0.05).all()
    plain = train_ensemble(0.1, 1.0, 5, 3, 0, draws=4000, centred=False, branch=branch)
    np.testing.assert_allclose(controls[1], plain.f[0], rtol=1e-9, atol=1e-12)


def test_a_controlled_mean_is_unbiased_and_knows_its_error():
    """Normal draws of unequal spread: 500 repeats know the spread of a mean to 3%; HC3 is a few per cent too large."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal((500, 2, 40))
    values = 3 + x[:, 0] - 2 * x[:, 1] + 0.3 * (1 + np.abs(x[:, 0])) * rng.standard_normal((500, 40))
    found = np.array([controlled_mean(v, c) for v, c in zip(values, x, strict=True)])
    spread = found[:, 0].std(ddof=1)
    assert abs(found[:, 0].mean() - 3) < 4 * spread / np.sqrt(500)
    assert 0.9 < found[:, 1].mean() / spread < 1.25
    assert spread < 0.4 * mean_and_error(values)[1].mean()  # 1 + 4 of the variance is gone, of 5.25


def test_a_controlled_mean_of_a_diverged_run_is_inf():
    assert controlled_mean([1.0, np.inf, 2.0, 3.0], np.zeros((1, 4))) == (np.inf, np.inf)
    exact, error = controlled_mean([1.0, 3.0, 5.0, 7.0], [[0.0, 1.0, 2.0, 3.0]])
    assert exact == pytest.approx(1, abs=1e-13) and error == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_stored_networks_approach_very_wide_ones(activation):
    lr = {"relu": 0.2, "tanh": 0.8}[activation]
    found = wide_gaps(lr, 1.0, 2, 3, {8: 2000, 16: 1000, 32: 500}, activation=activation, neurons=4000, wide_draws=10)
    assert found.f.shape == found.f_error.shape == (3, 4)
    assert found.output.rate.error < 0.35
    assert abs(found.output.rate.slope + 1) < 3 * found.output.rate.error
    assert found.output.values[0] > 5 * found.output.errors[0]


def test_coupled_depths_have_the_law_of_each_and_a_small_difference():
    """A linear network: its means over draws are the limit's up to O(1/N), here 4/N of the gap (measured at N = 16)."""
    n, depths, steps, draws = 32, (2, 4, 8, 16), 3, 400
    gaps = doubling_gaps(0.05, 1.0, n, depths, steps, draws=draws, activation="linear")
    exact = np.array([linear_limit(0.05, 1.0, L, steps)[1:].mean() for L in depths])
    assert (np.abs(gaps["output"].values - np.diff(exact)) < 4 * gaps["output"].errors + 5 * np.diff(exact) / n).all()
    own = [train_ensemble(0.05, 1.0, n, L, steps, draws=draws).f[1:].mean(axis=0) for L in depths[1:3]]
    apart = mean_and_error(own[1] - own[0])[1]
    assert gaps["output"].errors[1] < apart / 2
    coupled = train_ensemble(0.05, 1.0, n, 4, steps, draws=draws, seed=1, finest=16).f[-1]
    plain = train_ensemble(0.05, 1.0, n, 4, steps, draws=draws).f[-1]
    (one, one_error), (other, other_error) = mean_and_error(coupled), mean_and_error(plain)
    assert abs(one - other) < 4 * np.hypot(one_error, other_error)
    np.testing.assert_array_equal(
        train_ensemble(0.05, 1.0, n, 4, steps, draws=3, finest=4).f, train_ensemble(0.05, 1.0, n, 4, steps, draws=3).f
    )


def test_depth_gaps_fall_as_one_over_the_depth():
    gaps = depth_gaps(0.02, 1.0, [20, 40, 80], 12)
    assert set(gaps) == {"output", "H at the top", "G at the bottom"}
    for gap in gaps.values():
        assert np.allclose(gap[:-1] / gap[1:], 2, atol=0.08)  # halving, with a 1/L correction of a few per cent


@given(st.floats(-3, 3), st.floats(0.2, 3))
def test_the_fitting_rate_of_a_straight_crossing_is_exact(at, slope):
    lrs = 2.0 ** np.arange(at - 2.03, at + 2, 0.125)
    outputs = 1 + slope * (np.log2(lrs) - at)  # linear in log lr: interpolation has no error
    assert np.isclose(fitting_lr(lrs, outputs), 2.0**at, rtol=1e-9)
    assert np.isclose(fitting_lr(lrs, -2 * outputs, target=-2.0), 2.0**at, rtol=1e-9)


def test_the_fitting_rate_is_the_first_zero_and_knows_a_turn():
    lrs = np.arange(1.0, 8.0)
    twice = [0.0, 0.5, 1.5, 0.5, 1.5, 0.5, 0.0]  # crosses between 2 and 3, again later
    turn = [0.0, 0.5, 0.9, 0.6, 1.4, 2.0, 3.0]  # turns back at 3 before it gets there
    never = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    above = [1.5, 1.6, 1.7, 1.8, 1.9, 2.0, np.inf]
    found = fitting_lr(lrs, np.array([twice, turn, never, above]).T)
    assert np.isclose(found[0], np.sqrt(6))
    assert np.isclose(found[1], 3, rtol=1e-14)
    assert np.isinf(found[2:]).all()


def test_the_fitting_rate_of_the_limit_is_the_best_theory_lr():
    lrs = 2.0 ** np.arange(-5, -1, 1 / 32)
    best = float(best_theory_lr(6, 0.5, 4))
    found = fitting_lr(lrs, linear_limit(lrs, 1.0, 6, 4)[-1])
    # One grid step: f comes so close to the target again within 3% of the rate that interpolation cannot halve it.
    assert abs(np.log2(found / best)) < 1 / 32


@pytest.mark.parametrize("branch", [0.5, 0.0])
def test_networks_extrapolated_to_infinite_width_meet_the_prediction(branch):
    rates = fitting_rates((2, 4), (2, 4), branch, 4, {24: 40, 64: 20})
    assert rates.trained.shape == rates.error.shape == (2, 2)
    assert (rates.endless_error < 0.15).all()
    # 4 t-quantiles of 14 degrees of freedom have a chance of 1e-3; 0.05 octaves: order 1/(24 * 64), a scan of 1/24.
    assert (np.abs(rates.endless - rates.predicted) < 4 * rates.endless_error + 0.05).all()
    move, error = rates.trained_move
    assert abs(move - rates.theory_move) < 4 * error + 0.05


def test_a_straight_line_in_one_over_the_width_is_taken_to_its_end():
    widths = np.array([8, 16, 32])
    limit, error = at_infinite_width(widths, 2 - 3 / widths, np.array([0.1, 0.2, 0.1]))
    assert limit == pytest.approx(2, abs=1e-12)
    spread = [
        at_infinite_width(widths, np.random.default_rng(s).normal(0, [0.1, 0.2, 0.1]), np.array([0.1, 0.2, 0.1]))[0]
        for s in range(1000)
    ]
    assert np.std(spread) == pytest.approx(error, rel=0.1)  # 1000 draws know a spread to 2.2%
    assert np.isinf(at_infinite_width(widths, widths, np.array([0.1, np.inf, 0.1]))).all()


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: fitting_lr([1.0, 2.0], [0, 1]), "lrs"),
        (lambda: fitting_lr([1.0, 2.0, 4.0], [0, 1]), "outputs"),
        (lambda: fitting_rates((2, 4), (3,), 0.5, 4, {8: 6, 16: 6}), "depths"),
        (lambda: fitting_rates((4, 2), (2,), 0.5, 4, {8: 6, 16: 6}), "theory_depths"),
        (lambda: fitting_rates((2, 4), (2,), 0.5, 4, {8: 6}), "draws"),
        (lambda: fitting_rates((2, 4), (2,), 0.5, 4, {8: 1, 16: 1}), "draws"),
        (lambda: width_gaps(0.1, 1.0, 2, 3, {8: 1, 16: 9, 32: 9}), "draws"),
        (lambda: width_gaps(0.1, 1.0, 2, 0, {8: 9, 16: 9, 32: 9}), "steps"),
        (lambda: wide_gaps(0.1, 1.0, 2, 3, {8: 1}, activation="relu", neurons=50, wide_draws=2), "draws"),
        (lambda: doubling_gaps(0.1, 1.0, 4, (2, 4, 9, 16), 2, draws=4, activation="relu"), "depths"),
        (lambda: doubling_gaps(0.1, 1.0, 4, (2, 4, 8, 16), 2, draws=1, activation="relu"), "draws"),
        (lambda: train_ensemble(0.1, 1.0, 4, 3, 2, draws=2, finest=4), "finest"),
        (lambda: train_ensemble([[0.1], [0.2]], 1.0, 4, 3, 2, draws=3), "lr"),
        (lambda: controlled_mean([1.0, 2.0], [[0.0, 1.0]]), "values"),
        (lambda: controlled_mean([1.0, np.nan, 2.0], np.zeros((1, 3))), "values"),
        (lambda: controlled_mean([1.0, 2.0, 3.0], np.zeros((1, 2))), "controls"),
    ],
)
def test_bad_input_is_refused_by_name(call, name):
    with pytest.raises(ValueError, match=name):
        call()
