"""The window of rates in which balance wins, from dense runs: its edges with their errors.

``gains``     by how much balance wins over split rates, draw by draw
``edges_of``  where the mean of such gains changes sign, with the error of the place
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.interpolate import PchipInterpolator

from lrtransfer.layers.balance import crossings
from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.estimates import Estimate, mean_and_error


def gains(losses: ArrayLike) -> Array:
    """By how much balanced rates win, within each draw: (L(-split) + L(split)) / 2 - L(0).

    Parameters
    ----------
    losses
        Shape (..., 3), of ``balance_runs``: at -split, 0 and split.

    Returns
    -------
    array
        Shape (...), in the unit of the loss; positive where balance is the better, inf where a run diverged.

    Raises
    ------
    ValueError
        Naming ``losses`` where the last axis has another length, or holds NaN.

    Source: this book.
    """
    table = arguments.number("losses", losses)
    if table.ndim == 0 or table.shape[-1] != 3:
        raise arguments.refuse("losses", table.shape, "of shape (..., 3) (the value is its shape)")
    lost = np.asarray(~np.isfinite(table).all(axis=-1))
    kept = np.where(lost[..., None], 0.0, table)
    return np.where(lost, np.inf, (kept[..., 0] + kept[..., 2]) / 2 - kept[..., 1])


def edges_of(x: ArrayLike, values: ArrayLike) -> list[Estimate]:
    """Where the mean over draws of sampled curves changes sign, each place with its standard error.

    The place is that of ``crossings``, on the line through the two samples beside it. Its error has two parts, added
    in squares: the error of the mean there over the slope of that line, sd(y) / sqrt(draws) / |dy/dx|; and what the
    curve's bend between samples does, taken as the distance from the zero of the monotone cubic through all samples.

    Parameters
    ----------
    x
        Shape (n,): increasing, two or more.
    values
        Shape (draws, n), two draws or more, finite; a curve a draw.

    Returns
    -------
    list of Estimate
        One a sign change, increasing; in the unit of x.

    Raises
    ------
    ValueError
        For an argument out of its range, which it names.

    Source: this book; the cubic is that of Fritsch and Carlson, SIAM Journal on Numerical Analysis 17 (1980) 238.
    """
    at, table = arguments.finite("x", x), arguments.finite("values", values)
    if table.ndim != 2 or len(table) < 2 or table.shape[1:] != at.shape:
        raise arguments.refuse("values", table.shape, f"of shape (draws >= 2, {at.size}) (the value is its shape)")
    mean = table.mean(axis=0)
    places = crossings(at, mean)
    smooth = PchipInterpolator(at, mean).roots(extrapolate=False)
    found = []
    for place in places:
        k = min(int(np.searchsorted(at, place, side="right")) - 1, at.size - 2)
        share = (place - at[k]) / (at[k + 1] - at[k])
        _, error = mean_and_error(table[:, k] + share * (table[:, k + 1] - table[:, k]))
        slope = (mean[k + 1] - mean[k]) / (at[k + 1] - at[k])
        bend = np.abs(smooth - place).min() if smooth.size else 0.0
        found.append(Estimate(float(place), float(np.hypot(error / slope, bend)), len(table)))
    return found
