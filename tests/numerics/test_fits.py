"""Means and power laws: exact on powers, the least squares of others, errors that are the spread of repeated fits."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import linregress, sem

from lrtransfer.numerics.estimates import in_errors, mean_and_error
from lrtransfer.numerics.fits import line, power_by_seed, power_law

# Logarithms of numbers up to 20^3, rounded to 1e-15 of themselves, over differences of logarithms of 0.4 and more.
ROUNDING = 1e-12
SIZES = np.array([2.0, 3, 7, 20])


@settings(max_examples=30, deadline=None)
@given(st.floats(-3, 3), st.floats(0.1, 10))
def test_a_power_is_found_exactly(slope, factor):
    for errors in (None, SIZES):  # any weights will do
        fit = power_law(SIZES, factor * SIZES**slope, errors)
        assert fit.slope == pytest.approx(slope, abs=ROUNDING)
        assert fit.intercept == pytest.approx(math.log(factor), abs=ROUNDING)
    assert power_law(SIZES, factor * SIZES**slope).error == pytest.approx(0, abs=ROUNDING)


def test_without_errors_it_is_the_regression_of_scipy():
    values = np.exp(np.random.default_rng(3).normal(size=4))
    ours, theirs = power_law(SIZES, values), linregress(np.log(SIZES), np.log(values))
    found, expected = (ours.slope, ours.error, ours.intercept), (theirs.slope, theirs.stderr, theirs.intercept)
    np.testing.assert_allclose(found, expected, rtol=ROUNDING)


def test_with_errors_it_is_the_weighted_fit_of_numpy():
    rng = np.random.default_rng(4)
    values, relative = np.exp(rng.normal(size=4)), rng.uniform(0.1, 1, 4)
    fit = power_law(SIZES, values, relative * values)
    (slope, intercept), covariance = np.polyfit(np.log(SIZES), np.log(values), 1, w=1 / relative, cov="unscaled")
    found, expected = (fit.slope, fit.error, fit.intercept), (slope, math.sqrt(covariance[0, 0]), intercept)
    np.testing.assert_allclose(found, expected, rtol=ROUNDING)


def test_tiny_errors_do_not_overflow():
    values, spread = [1.0, 2.0, 5.0], np.array([0.1, 0.2, 0.3])
    plain, tiny = power_law([1, 2, 3], values, spread), power_law([1, 2, 3], values, 1e-200 * spread)
    assert tiny.slope == pytest.approx(plain.slope, rel=ROUNDING)
    assert tiny.error == pytest.approx(1e-200 * plain.error, rel=ROUNDING)


@pytest.mark.parametrize("stated", [True, False])
def test_the_error_is_the_spread_of_repeated_fits(stated):
    rng, repeats = np.random.default_rng(0), 2000
    tables = np.exp(0.05 * rng.standard_normal((repeats, 4))) / SIZES
    fits = [power_law(SIZES, values, 0.05 * values if stated else None) for values in tables]
    spread, claimed = np.std([fit.slope for fit in fits]), math.sqrt(np.mean([fit.error**2 for fit in fits]))
    # 2000 draws know a spread to 1 / sqrt(4000) = 1.6%, and a variance of two degrees of freedom to 1 / sqrt(2000),
    # its root to 1.1%: four standard errors of both together.
    assert abs(spread / claimed - 1) < 0.08


def test_a_line_takes_many_curves_at_once():
    rng = np.random.default_rng(5)
    x, y, weights = np.log(SIZES), rng.normal(size=(4, 2, 3)), rng.uniform(0.1, 1, 4)
    slope, intercept, information = line(x, y, weights)
    for i in np.ndindex(2, 3):
        expected, covariance = np.polyfit(x, y[(slice(None), *i)], 1, w=np.sqrt(weights), cov="unscaled")
        np.testing.assert_allclose([slope[i], intercept[i]], expected, rtol=1e-11)  # numpy's, by a decomposition
        assert 1 / information == pytest.approx(covariance[0, 0], rel=ROUNDING)


@settings(max_examples=30, deadline=None)
@given(st.floats(-3, 3), st.lists(st.floats(0.1, 10), min_size=2, max_size=4))
def test_seeds_of_one_exponent_have_no_spread(exponent, constants):
    mean, error = power_by_seed(SIZES, np.array(constants) * SIZES[:, None] ** exponent)
    assert mean == pytest.approx(exponent, abs=ROUNDING)
    assert error == pytest.approx(0, abs=ROUNDING)


def test_seeds_are_fitted_one_by_one():
    values = np.exp(np.random.default_rng(6).normal(size=(4, 2, 5)))  # sizes, layers, seeds
    mean, error = power_by_seed(SIZES, values)
    for layer in range(2):
        slopes = [power_law(SIZES, values[:, layer, seed]).slope for seed in range(5)]
        assert mean[layer] == pytest.approx(np.mean(slopes), rel=ROUNDING)
        assert error[layer] == pytest.approx(np.std(slopes, ddof=1) / math.sqrt(5), rel=ROUNDING)


@pytest.mark.parametrize("bad", [math.inf, math.nan, 0.0])
def test_one_value_that_is_no_measurement_spoils_its_own_exponent_only(bad):
    values = np.tile(SIZES[:, None, None], (1, 2, 3))
    values[1, 0, 0] = bad
    np.testing.assert_allclose(power_by_seed(SIZES, values), [[math.inf, 1], [math.inf, 0]], atol=ROUNDING)


def test_the_slope_of_one_seed_has_no_known_error():
    np.testing.assert_allclose(power_by_seed(SIZES, SIZES[:, None]), [1, math.inf], atol=ROUNDING)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_mean_and_error_are_those_of_scipy(axis):
    values = np.random.default_rng(7).normal(size=(4, 3, 5))
    mean, error = mean_and_error(values, axis=axis)
    np.testing.assert_allclose(mean, values.mean(axis=axis), rtol=ROUNDING)
    np.testing.assert_allclose(error, sem(values, axis=axis), rtol=ROUNDING)


def test_a_single_draw_and_a_diverged_one_are_not_known():
    np.testing.assert_array_equal(mean_and_error([[1.0], [math.inf]]), [[1, math.inf], [math.inf, math.inf]])
    np.testing.assert_array_equal(mean_and_error([[1.0, 1.0], [2.0, -math.inf]]), [[1, math.inf], [0, math.inf]])
    assert mean_and_error([1e300, -1e300]) == (0, math.inf)  # no warning: the square is beyond double precision


@settings(max_examples=30, deadline=None)
@given(st.floats(-1e3, 1e3), st.floats(1e-3, 1e3), st.floats(1e-2, 1e2))
def test_a_difference_in_errors_has_no_unit(difference, error, unit):
    found = in_errors(unit * difference, unit * error)
    assert found == pytest.approx(difference / error, rel=ROUNDING)
    assert in_errors(-difference, error) == -in_errors(difference, error)


def test_what_is_not_resolved_is_zero_errors_away():
    np.testing.assert_array_equal(in_errors([0.0, 0.0, 3.0, 3.0], [0.0, math.inf, math.inf, 2.0]), [0, 0, 0, 1.5])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: power_law([1, 2], [1, 2]), "sizes = .* at least three"),
        (lambda: power_law([1, 1, 2], [1, 1, 1]), "sizes = .* at least three different"),
        (lambda: power_law([0, 1, 2], [1, 1, 1]), "sizes = 0"),
        (lambda: power_law([1, 2, 3], [1, 0, 1]), "values = 0"),
        (lambda: power_law([1, 2, 3], [1, 1]), "values = .* 3"),
        (lambda: power_law([1, 2, 3], [1, 1, 1], [1, 1]), "standard_errors = .* 3"),
        (lambda: power_law([1, 2, 3], [1, 1, 1], [1, 0, 1]), "standard_errors = 0"),
        (lambda: power_law([1, 2, 3], [1, 1, 1], [1e-200, 1, 1]), "standard_errors = .* a million"),
        (lambda: mean_and_error(1.0), "values = 1.0"),
        (lambda: mean_and_error(np.ones((2, 0))), "values = .* one draw at least"),
        (lambda: mean_and_error([1.0, math.nan]), "values = .* without NaN"),
        (lambda: in_errors(1.0, 0.0), "error = 0.0"),
        (lambda: in_errors([1.0, 0.0], [1.0, -2.0]), "error = -2.0"),
        (lambda: in_errors(0.0, math.nan), "error = nan"),
        (lambda: power_by_seed([2, 2], np.ones((2, 1))), "sizes = .* at least two"),
        (lambda: power_by_seed([1, 2], np.ones(2)), r"values = \(2,\)"),
        (lambda: power_by_seed([1, 2], np.ones((3, 1))), r"values = \(3, 1\)"),
        (lambda: power_by_seed([1, 2], np.ones((2, 0))), r"values = \(2, 0\)"),
    ],
)
def test_bad_arguments_are_refused_by_name(call, words):
    with pytest.raises(ValueError, match=words):
        call()
