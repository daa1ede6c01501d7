"""Power laws by least squares on logarithms: one curve, or one a seed.

``line`` is the least squares; ``power_law`` fits one curve and takes the error of its slope from stated errors or from
the scatter about the line; ``power_by_seed`` takes it from the spread over seeds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.estimates import mean_and_error

_WIDEST = 1e6  # ratio of relative errors: beyond it the better points alone decide, to rounding


@dataclass(frozen=True)
class PowerLaw:
    """A power law ``value = exp(intercept) * size^slope``.

    Attributes
    ----------
    slope
        the exponent of the size, without unit
    error
        its standard error
    intercept
        log of the value at size 1
    """

    slope: float
    error: float
    intercept: float


def line(x: Array, y: Array, weights: Array | None = None) -> tuple[Array, Array, float]:
    """Weighted least squares for y = intercept + slope x along the first axis; its callers check the arguments.

        slope = sum w (x - X) (y - Y) / I,    intercept = Y - slope X,    I = sum w (x - X)^2

    with X and Y the weighted means.

    Parameters
    ----------
    x
        (points,), not all equal
    y
        (points, ...)
    weights
        w, (points,), positive; 1 by default

    Returns
    -------
    slope, intercept : ndarray
        (...) each
    information : float
        I, whose inverse is the variance of the slope where the weights are the inverse variances of y.
    """
    w = np.ones(x.size) if weights is None else weights
    centre = float(np.average(x, weights=w))
    middle = np.average(y, axis=0, weights=w)
    lever = w * (x - centre)
    information = float(lever @ (x - centre))
    slope = np.tensordot(lever, y - middle, axes=1) / information
    return slope, middle - slope * centre, information


def power_law(sizes: ArrayLike, values: ArrayLike, standard_errors: ArrayLike | None = None) -> PowerLaw:
    """Fit value = exp(intercept) * size^slope by least squares of log value on log size.

        error = sqrt(sum e^2 / (n - 2) / sum (x - mean x)^2),    e the residuals, x = log size,    or
        error = (sum w (x - X)^2)^(-1/2),    w = (value / standard error)^2,    X the weighted mean of x

    Parameters
    ----------
    sizes
        (n,), positive, three or more different ones
    values
        (n,), positive
    standard_errors
        (n,), positive, of the values, within a factor of a million relative to them: then the second formula, and
        points are weighted by w; without them the first, and points count alike

    Returns
    -------
    PowerLaw
        slope, its error and intercept.

    Raises
    ------
    ValueError
        naming the argument.
    """
    x, y = np.log(arguments.positive("sizes", sizes)), np.log(arguments.positive("values", values))
    if x.ndim != 1 or np.unique(x).size < 3:
        raise arguments.refuse("sizes", sizes, "a list of at least three different sizes")
    if y.shape != x.shape:
        raise arguments.refuse("values", values, f"as many values as there are sizes, {x.size}")
    if standard_errors is None:
        slope, intercept, information = line(x, y)
        left_over = y - y.mean() - slope * (x - x.mean())
        variance = float(left_over @ left_over) / (x.size - 2) / information
        return PowerLaw(float(slope), math.sqrt(variance), float(intercept))
    spread = arguments.positive("standard_errors", standard_errors)
    if spread.shape != x.shape:
        raise arguments.refuse("standard_errors", standard_errors, f"as many as there are sizes, {x.size}")
    logs = y - np.log(spread)  # of the root of the weights; the largest is divided out, as squares overflow
    if np.ptp(logs) > math.log(_WIDEST):
        raise arguments.refuse(
            "standard_errors", standard_errors, "within a factor of a million, relative to the values"
        )
    slope, intercept, information = line(x, y, np.exp(2 * (logs - logs.max())))
    return PowerLaw(float(slope), math.exp(-logs.max()) * information**-0.5, float(intercept))


def power_by_seed(sizes: ArrayLike, values: ArrayLike) -> tuple[Array, Array]:
    """Exponent of the size, fitted to every seed by least squares on logarithms.

    Parameters
    ----------
    sizes
        (n,), positive, two or more different ones
    values
        (n, ..., S), S seeds

    Returns
    -------
    mean, error : ndarray
        (...) each, over the seeds as in ``mean_and_error``, so the error of a single seed is inf; both are inf where a
        value is not positive and finite: a run overflowed, or nothing moved.

    Raises
    ------
    ValueError
        naming the argument.
    """
    x, given = np.log(arguments.positive("sizes", sizes)), np.asarray(values, dtype=float)
    if x.ndim != 1 or np.unique(x).size < 2:
        raise arguments.refuse("sizes", sizes, "a list of at least two different sizes")
    if given.ndim < 2 or given.shape[0] != x.size or not given.shape[-1]:
        allowed = f"of shape ({x.size}, ..., seeds) with a seed or more (the value is its shape)"
        raise arguments.refuse("values", given.shape, allowed)
    sound = np.isfinite(given) & (given > 0)
    slopes, _, _ = line(x, np.log(np.where(sound, given, 1.0)))  # (..., seeds)
    return mean_and_error(np.where(sound.all(axis=0), slopes, np.inf))
