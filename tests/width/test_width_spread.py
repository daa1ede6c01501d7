"""The statistics behind Fig. 2."""

import math
import warnings

import numpy as np
import pytest

from lrtransfer.rates import OnEdgeWarning
from lrtransfer.width import (
    break_probability,
    break_slopes,
    coefficient_draws,
    exact_argmin,
    grid_argmin,
    limit_lr,
    scaling_exponent,
    shows_break,
    sweep_error,
    synthetic_data,
)
from lrtransfer.width.breaks import shares_over_offsets, shares_over_seeds

WIDTHS = 2 ** np.arange(7, 14)


@pytest.fixture(scope="module")
def pool():
    X, y = synthetic_data(seed=0)
    return X, y, coefficient_draws(WIDTHS, X, y, 3, seeds=range(300))


def test_synthetic_data_has_the_papers_settings():
    X, y = synthetic_data(seed=1)
    assert X.shape == (1000, 1) and y.shape == (1000,)
    left = y - X @ np.linalg.lstsq(X, y, rcond=None)[0]
    assert left.var() == pytest.approx(0.01, rel=4 * math.sqrt(2 / 1000))  # four errors of a variance
    assert synthetic_data(20, 3, 0.0, seed=2)[0].shape == (20, 3)


def test_grid_argmin_is_the_grid_point_of_lowest_loss(pool):
    X, y, coefficients = pool
    lrs = np.linspace(0.0, 1.0, 21)
    theta = np.polynomial.polynomial.polyval(lrs, coefficients[0, :5, :, 0].T)  # (5, R)
    losses = ((X[:, 0, None, None] * theta - y[:, None, None]) ** 2).mean(axis=0)
    assert (grid_argmin(coefficients[0, :5], X, y, lrs) == lrs[losses.argmin(axis=1)]).all()
    assert grid_argmin(coefficients[0, :5], X, y, lrs, average=True) == lrs[losses.mean(axis=0).argmin()]


def test_a_fine_grid_finds_the_exact_optimum(pool):
    X, y, coefficients = pool
    lrs = np.linspace(0.0, 4 * limit_lr(X, y, 3), 20001)
    exact, grid = exact_argmin(coefficients[3:, :50], X, y), grid_argmin(coefficients[3:, :50], X, y, lrs)
    assert np.abs(exact - grid).max() <= lrs[1]  # from 2^10 on the loss has one minimum and is close to a parabola


def test_optima_at_the_end_of_the_interval_are_counted_in_one_warning(pool):
    X, y, coefficients = pool
    inside = exact_argmin(coefficients[:2], X, y)  # of 600 draws, none at an end: warnings are errors here
    for high in np.quantile(inside, [0.2, 0.9]):
        with pytest.warns(OnEdgeWarning) as caught:
            cut = exact_argmin(coefficients[:2], X, y, (0.0, high))
        assert len(caught) == 1 and str(caught[0].message).startswith(f"{(cut == high).sum()} of 600 ")
        assert 0 < (cut == high).sum() < 600
        assert caught[0].filename == __file__


def test_optima_at_the_end_of_the_grid_are_counted_in_one_warning(pool):
    X, y, coefficients = pool
    best = limit_lr(X, y, 3)
    for lrs in (best * np.array([0.8, 1.0, 1.2]), best * np.array([1.2, 0.8, 1.0])):
        with pytest.warns(OnEdgeWarning) as caught:
            found = grid_argmin(coefficients[0], X, y, lrs)
        edge = ((found < best) | (found > best)).sum()
        assert len(caught) == 1 and str(caught[0].message).startswith(f"{edge} of 300 ") and edge > 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert grid_argmin(coefficients[-1], X, y, lrs, average=True) == best  # one optimum, inside the grid


def test_exact_optima_show_no_break_and_a_coarse_grid_does(pool):
    X, y, coefficients = pool
    best = limit_lr(X, y, 3)
    exact = exact_argmin(coefficients, X, y)
    fit = scaling_exponent(WIDTHS[3:], exact[3:] - best)
    assert abs(fit.slope + 0.5) < 4 * fit.error and fit.error < 0.03
    # eta_inf on a grid of spacing eta_inf / 4: beyond n = 1024 the scatter is below half a cell and dies like
    # erfc
    grid = grid_argmin(coefficients, X, y, best * np.arange(1, 17) / 4)
    early, late = break_slopes(WIDTHS, sweep_error(grid, best))
    assert abs(early + 0.5) < 0.15 and late < -0.8
    # eta_inf a quarter of a cell off: the error stops falling instead
    off = grid_argmin(coefficients, X, y, best * (np.arange(1, 17) / 4 + 1 / 16))
    assert break_slopes(WIDTHS, sweep_error(off, best))[1] > -0.35


def test_breaks_by_chance_need_few_seeds(pool):
    X, y, coefficients = pool
    exact, best = exact_argmin(coefficients, X, y), limit_lr(X, y, 3)
    few, many = (break_probability(WIDTHS, exact, best, seeds=k, replicas=2000) for k in (1, 30))
    assert few > 0.05 and many < 0.01
    lucky = break_probability(WIDTHS, exact, best, seeds=30, statistic="abs_mean", replicas=2000)
    assert lucky > 0.05  # averaging before taking the distance does not help


def test_shares_of_breaks_over_offsets_and_seeds(pool):
    X, y, coefficients = pool
    best, offsets = limit_lr(X, y, 3), 4
    found = shares_over_offsets(coefficients, X, y, widths=WIDTHS, target=best, spacing=0.15, offsets=offsets)
    count = finite = 0
    for o in (-0.375, -0.125, 0.125, 0.375):
        swept = grid_argmin(coefficients, X, y, best * (1 + 0.15 * (np.arange(-6, 20) + o)))
        early, late = break_slopes(WIDTHS, sweep_error(swept, best))
        count += bool(shows_break(early, late))
        finite += bool(shows_break(early, late)) and math.isfinite(late)
    assert (found.any, found.finite) == (count / offsets, finite / offsets)
    exact = exact_argmin(coefficients, X, y)
    on_limit = grid_argmin(coefficients, X, y, best * (1 + 0.15 * np.arange(-6, 21)))
    options = dict(widths=WIDTHS, seeds=200, replicas=200)
    none, most = (shares_over_seeds(o, best, rng=np.random.default_rng(0), **options) for o in (exact, on_limit))
    assert none.any == none.finite == 0.0 and most.any > 0.7 and most.finite <= most.any


def test_break_slopes_of_power_laws():
    n = np.array([128.0, 512, 1024, 4096, 8192])
    error = np.where(n <= 1024, n**-0.5, 1024**0.5 / n)
    early, late = break_slopes(n, error)
    assert early == pytest.approx(-0.5) and late == pytest.approx(-1.0)
    assert break_slopes(n, np.append(error[:-1], 0.0))[1] == -math.inf


def test_sweep_error_statistics():
    values = np.array([[1.0, 3.0], [2.0, 2.0]])
    assert sweep_error(values, 2.0, "rms").tolist() == [1.0, 0.0]
    assert sweep_error(values, 2.0, "mean_abs").tolist() == [1.0, 0.0]
    assert sweep_error(values, 2.0, "abs_mean").tolist() == [0.0, 0.0]


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: synthetic_data(0, seed=0), "m"),
        (lambda: synthetic_data(noise_variance=-1.0, seed=0), "noise_variance"),
        (lambda: grid_argmin(np.ones((2, 4, 1)), np.ones((1, 1)), [1.0], []), "lrs"),
        (lambda: grid_argmin(np.ones((2, 4, 2)), np.ones((1, 1)), [1.0], [0.1]), "coefficients"),
        (lambda: exact_argmin(np.ones((2, 4, 1)), np.ones((1, 1)), [1.0], (1.0, 0.0)), "interval"),
        (lambda: sweep_error([1.0], 1.0, "median"), "statistic"),
        (lambda: break_slopes([1, 2], [1.0, 1.0, 1.0]), "errors"),
        (lambda: break_slopes([1, 2, 3], [1.0, 1.0, 1.0], at=3), "at"),
        (lambda: break_probability([1, 2, 3], np.ones(3), 1.0, seeds=1), "optima"),
        (lambda: break_probability([1, 2, 3], np.ones((3, 2)), 1.0, seeds=0), "seeds"),
    ],
)
def test_bad_input_names_the_argument(call, name):
    with pytest.raises(ValueError, match=f"^{name} = "):
        call()
