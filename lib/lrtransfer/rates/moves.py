"""How the best rate moves with size: between two sizes, and as one slope over several."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.numerics.arguments import count, entries, flag, kind, number, one, positive, refuse
from lrtransfer.numerics.estimates import Estimate, size_range
from lrtransfer.numerics.fits import power_law
from lrtransfer.numerics.jackknife import half_error
from lrtransfer.rates.best import BestLR


@dataclass(frozen=True)
class Drift:
    """How the best rate moves with size, from a straight line through log2 rate against log2 size.

    Attributes
    ----------
    slope
        octaves of rate per octave of size; 0 means that the rate transfers, -1 that it falls like 1/size
    slope_error
        standard error of the slope over seeds; without seeds, from the scatter of the points about the line (see
        ``drift``)
    total
        log2 of the last best rate over the first, no fit involved
    on_edge
        True when any of the best rates was at the edge of its sweep; the slope then is not a measurement
    between
        the least and the largest slope that the best rates allow, as ``BestLR.octaves`` bounds them
    """

    slope: float
    slope_error: float
    total: float
    on_edge: bool
    between: tuple[float, float] = (-math.inf, math.inf)


def shift(first: BestLR, last: BestLR) -> tuple[float, float]:
    """log2 of the best rate ``last`` over ``first``, and its standard error over seeds.

    With equally many seeds the error is that of the difference, by ``half_error``: seeds that share weights and
    minibatches are compared with themselves, and for others the pairing does no harm. Otherwise the two spreads
    count as independent.

    Parameters
    ----------
    first, last
        results of ``best_lr`` at two sizes

    Returns
    -------
    value, error : float
        in octaves; the error of one seed is inf: it is not known.
    """
    for name, best in (("first", first), ("last", last)):
        kind(name, best, BestLR, "a result of best_lr")
    value = float(np.log2(last.lr) - np.log2(first.lr))
    if first.seeds == last.seeds > 0:
        return value, half_error(np.log2(last.halves) - np.log2(first.halves), last.seeds)
    if 1 in (first.seeds, last.seeds):
        return value, math.inf
    return value, math.hypot(first.spread, last.spread)


def moved(first: BestLR, last: BestLR) -> Estimate:
    """``shift`` as an estimate, a bound where a best rate is on an edge.

    Parameters
    ----------
    first, last
        as in ``shift``

    Returns
    -------
    Estimate
        in octaves; with ``between`` where an end is only bounded, the error inf where nothing bounds the move.
    """
    (value, error), seeds = shift(first, last), max(1, min(first.seeds, last.seeds))
    ends = last.octaves[0] - first.octaves[1], last.octaves[1] - first.octaves[0]
    return bounded(value, error, seeds, ends, first.on_edge or last.on_edge)


def trend(best_lrs: Sequence[BestLR], sizes: ArrayLike) -> Estimate:
    """The slope of ``drift`` as an estimate, a bound where a best rate is on an edge.

    Parameters
    ----------
    best_lrs, sizes
        as in ``drift``, results of ``best_lr``

    Returns
    -------
    Estimate
        octaves of rate per octave of size; as ``moved`` has it where best rates are only bounded.

    Raises
    ------
    ValueError
        as ``drift`` does.
    """
    for best in entries("best_lrs", best_lrs, "a list of results of best_lr"):
        kind("best_lrs", best, BestLR, "a list of results of best_lr")
    found = drift(list(best_lrs), sizes)
    seeds = max(1, min(best.seeds for best in best_lrs))
    return bounded(found.slope, found.slope_error, seeds, found.between, found.on_edge)


def size_beyond(one: Estimate, other: Estimate) -> tuple[float, float]:
    """The least and the largest that the size of one number, less that of another, can be.

    Parameters
    ----------
    one, other
        measured or bounded numbers

    Returns
    -------
    tuple of float
        equal where both were measured; for ``bounded``.
    """
    for name, estimate in (("one", one), ("other", other)):
        kind(name, estimate, Estimate, "an Estimate")
    a, b = (size_range(*(e.between or (e.value, e.value))) for e in (one, other))
    return a[0] - b[1], a[1] - b[0]


def bounded(value: float, error: float, seeds: int, between: tuple[float, float], is_bound: bool) -> Estimate:
    """An estimate of what was measured, or of what is only bounded.

    Parameters
    ----------
    value, error, seeds
        as in ``Estimate``
    between
        the least and the largest that the number can be
    is_bound
        whether it was not measured

    Returns
    -------
    Estimate
        without ``between`` where it was measured; with the error inf where nothing bounds it.
    """
    value, error = one("value", number("value", value)), one("error", number("error", error))
    seeds, ends = count("seeds", seeds), number("between", between)
    if ends.shape != (2,) or ends[0] > ends[1]:
        raise refuse("between", between, "a pair (least, largest)")
    if not flag("is_bound", is_bound):
        return Estimate(value, error, seeds)
    return Estimate(value, math.inf if np.isinf(between).all() else error, seeds, between)


def drift(best_lrs: Sequence[BestLR] | ArrayLike, sizes: ArrayLike) -> Drift:
    """Change of the best rate with size, in octaves per octave.

    Least squares for y = a + slope x with y = log2 lr and x = log2 size; all sizes count alike, with the weights
    k_i = (x_i - X) / I, I = sum (x_i - X)^2, X the mean of x. The standard error of slope = sum k_i y_i is

        ``half_error`` of the slopes of all halves      results of ``best_lr`` with equally many seeds, two or more
        sqrt(sum (k_i s_i)^2), s_i the spreads          other results of ``best_lr``
        sqrt(sum e^2 / (n - 2) / I), e the residuals    where there is no spread: plain rates, or one seed

    The first two say how far other seeds would move the slope of these sizes; only the last asks whether the points
    lie on a line, and of three sizes it has a single degree of freedom.

    Parameters
    ----------
    best_lrs
        the best rates, (sizes,): results of ``best_lr`` or plain positive rates
    sizes
        depths or widths, (sizes,), positive and increasing, at least three

    Returns
    -------
    Drift
        the slope with its error, without unit.

    Raises
    ------
    ValueError
        for other shapes or values.
    """
    octaves = np.log2(positive("sizes", sizes))
    if octaves.ndim != 1 or octaves.size < 3 or not (np.diff(octaves) > 0).all():
        raise refuse("sizes", sizes, "a list of at least three increasing sizes")
    entries = list(best_lrs) if isinstance(best_lrs, Sequence) else best_lrs
    given = list(entries) if isinstance(entries, list) else []
    found = [entry for entry in entries if isinstance(entry, BestLR)] if isinstance(entries, list) else []
    if isinstance(entries, list):
        entries = [entry.lr if isinstance(entry, BestLR) else entry for entry in entries]
    rates = positive("best_lrs", entries)
    if rates.shape != octaves.shape:
        raise refuse("best_lrs", best_lrs, f"as many rates as there are sizes, {octaves.size}")
    fit = power_law(sizes, rates)  # the base of the logarithms drops out of the slope and its error
    error, draws, lever = fit.error, {entry.seeds for entry in found}, octaves - octaves.mean()
    lever /= lever @ lever
    if len(found) == octaves.size and draws != {1}:
        if len(draws) == 1 and draws != {0}:
            error = half_error(lever @ np.log2([entry.halves for entry in found]), found[0].seeds)
        elif any(entry.spread > 0 for entry in found):
            error = float(np.linalg.norm(lever * [entry.spread for entry in found]))
    on_edge = any(entry.on_edge for entry in found)
    between = (fit.slope, fit.slope)
    if on_edge:
        at = [entry.octaves if isinstance(entry, BestLR) else (math.log2(entry),) * 2 for entry in given]
        low, high = (sum(k * at[i][side if k > 0 else 1 - side] for i, k in enumerate(lever) if k) for side in (0, 1))
        between = (float(low), float(high))
    return Drift(fit.slope, error, float(np.log2(rates[-1]) - np.log2(rates[0])), on_edge, between)
