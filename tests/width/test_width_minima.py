"""Several best rates: all roots for one input, local minima of the loss after several steps."""

import math

import numpy as np
import pytest

from lrtransfer import width
from lrtransfer.width import (
    coefficient_draws,
    lowest_minima,
    one_step_coefficients,
    optimal_lr,
    shows_break,
    synthetic_data,
    tied_lrs,
    training_loss,
)

ONE = np.ones((1, 1)), np.ones(1)


@pytest.mark.parametrize("layers", [1, 2, 3, 5])
def test_tied_rates_are_the_sign_changes_of_a_fine_grid(layers):
    X, y = np.array([[1.0], [-2.0], [0.5]]), np.array([0.3, -1.5, 1.0])
    slope = X[:, 0] @ y / (X[:, 0] @ X[:, 0])
    grid = np.linspace(0.0, 50.0, 400_001)
    several = 0
    for c in coefficient_draws([24], X, y, layers, seeds=range(40))[0]:
        off = np.polynomial.polynomial.polyval(grid, c[:, 0]) - slope
        changes = np.flatnonzero(off[:-1] * off[1:] < 0)
        found = tied_lrs(c, X, y, 50.0)
        assert found.size == changes.size  # no two roots of these draws share a cell of the grid
        assert ((grid[changes] <= found) & (found <= grid[changes + 1])).all()
        np.testing.assert_array_equal(found, tied_lrs(c, X, y)[: found.size])
        several += found.size > 1
    assert several > 0 or layers == 1


def test_the_smallest_tied_rate_is_the_optimum():
    for seed in range(20):
        found = tied_lrs(one_step_coefficients(64, *ONE, 3, seed=seed), *ONE, 4 / 3)
        if found.size:
            assert optimal_lr(64, *ONE, 3, seed=seed) == pytest.approx(found[0], rel=1e-11)


@pytest.mark.parametrize("parametrisation", ["mup", "sp"])
def test_lowest_minima_are_those_of_a_fine_scan(parametrisation):
    X, y = synthetic_data(200, 5, seed=2)
    n = math.inf if parametrisation == "mup" else 256
    options = dict(seed=1, parametrisation=parametrisation)
    high = 4.0 if parametrisation == "mup" else 5.0 / n
    found = lowest_minima(n, X, y, 3, steps=3, count=3, interval=(0.0, high), points=401, **options)
    lrs = np.linspace(0.0, high, 20_001)
    losses = training_loss(lrs, n, X, y, 3, 3, **options)[-1]
    floor = np.sum((y - X @ np.linalg.lstsq(X, y, rcond=None)[0]) ** 2) / 400
    inner = np.flatnonzero((losses[1:-1] < losses[:-2]) & (losses[1:-1] <= losses[2:])) + 1
    inner = inner[np.argsort(losses[inner])][:3]
    assert inner.size == 3
    np.testing.assert_allclose(found.lr, lrs[inner], atol=lrs[1])  # a spacing of the fine scan
    assert (found.excess <= losses[inner] - floor + 1e-12).all()  # a refined minimum is no higher, up to rounding
    again = training_loss(found.lr, n, X, y, 3, 3, **options)[-1] - floor
    np.testing.assert_allclose(found.excess, again, rtol=1e-6, atol=1e-12)  # the floor's rounding


def test_the_lowest_minimum_is_the_optimum_and_missing_ones_are_inf():
    X, y = synthetic_data(50, 3, seed=0)
    found = lowest_minima(512, X, y, 2, steps=2, count=6, seed=3)
    assert found.lr.shape == found.excess.shape == (6,)
    assert found.lr[0] == pytest.approx(optimal_lr(512, X, y, 2, steps=2, seed=3), rel=1e-6)
    there = np.isfinite(found.lr)
    assert there[0] and not there[-1]
    assert (np.isfinite(found.excess) == there).all() and (np.diff(found.excess[there]) >= 0).all()
    # up to half the optimum the loss falls to the very end: no local minimum
    none = lowest_minima(512, X, y, 2, steps=2, seed=3, interval=(0.0, found.lr[0] / 2))
    assert np.isinf(none.lr).all() and np.isinf(none.excess).all()


def test_a_break_needs_both_slopes():
    early, late = np.array([-0.5, -0.71, -0.31, -0.5, -0.5]), np.array([-0.81, -1.0, -math.inf, -0.79, 0.0])
    assert shows_break(early, late).tolist() == [True, False, True, False, False]


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: tied_lrs(np.ones((2, 3, 1)), *ONE), "coefficients"),
        (lambda: tied_lrs(np.ones((3, 2)), np.eye(2), [1.0, 1.0]), "coefficients"),
        (lambda: tied_lrs(np.ones((3, 1)), *ONE, 0.0), "high"),
        (lambda: lowest_minima(8, *ONE, 2, steps=0, seed=0), "steps"),
        (lambda: lowest_minima(8, *ONE, 2, steps=1, count=0, seed=0), "count"),
        (lambda: lowest_minima(8, *ONE, 2, steps=1, points=2, seed=0), "points"),
        (lambda: lowest_minima(8, *ONE, 2, steps=1, interval=(1.0, 0.5), seed=0), "interval"),
        (lambda: lowest_minima(8, *ONE, 2, steps=1, parametrisation="mf", seed=0), "parametrisation"),
        (lambda: shows_break(math.nan, -1.0), "early"),
    ],
)
def test_bad_input_names_the_argument(call, name):
    with pytest.raises(ValueError, match=f"^{name} = "):
        call()


@pytest.mark.parametrize("bad", ["no", 1, None])
def test_flags_are_flags(bad):
    X, y = width.synthetic_data(5, 2, seed=0)
    draws = width.coefficient_draws([8], X, y, 2, seeds=range(2))
    with pytest.raises(ValueError, match=r"^average = "):
        width.exact_argmin(draws, X, y, average=bad)
    with pytest.raises(ValueError, match=r"^average = "):
        width.grid_argmin(draws, X, y, [0.1, 0.2], average=bad)
    with pytest.raises(ValueError, match=r"^coordinates = "):
        width.one_step_coefficients(8, X, y, 2, seed=0, coordinates=bad)
