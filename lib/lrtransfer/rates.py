"""The statistic of a rate sweep, shared by all chapters: best rate, spread over seeds, drift with size.

A sweep trains the same network at many learning rates and several seeds. ``best_lr`` turns its losses into
one best rate with an uncertainty and says when the grid was too short to tell; ``drift`` turns the best rates
of several sizes into one slope, ``shift`` those of two into one difference. All work in log2 of the rate: "one octave"
is a factor of two. ``mean_curve`` is the curve of a sweep with its band, for figures.
"""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lrtransfer.numerics.arguments import positive, refuse
from lrtransfer.numerics.fits import mean_and_error, power_law

Array = NDArray[np.float64]


class OnEdgeWarning(UserWarning):
    """The best rate lies at the edge of what was searched, so the sweep bounds it and does not measure it."""


@dataclass(frozen=True)
class BestLR:
    """The best rate of a sweep; all rates in the unit of the rates searched.

    Attributes
    ----------
    lr
        the optimum of the mean log loss
    low, high
        ``lr`` divided and multiplied by 2**s, with s the standard error over seeds, in octaves
    on_edge
        True when the grid does not resolve the optimum (see ``best_lr``); ``lr`` is then only a bound
    seeds
        how many there were, 0 where that is not known
    halves
        the optima of every half of the seeds (``halves_of``), from which errors are taken
    """

    lr: float
    low: float
    high: float
    on_edge: bool
    seeds: int = field(default=0, repr=False, compare=False)
    halves: tuple[float, ...] = field(default=(), repr=False, compare=False)

    @property
    def spread(self) -> float:
        """s, the standard error of log2 of ``lr`` over seeds."""
        return float(np.log2(self.high / self.lr))


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
    """

    slope: float
    slope_error: float
    total: float
    on_edge: bool


@cache
def halves_of(seeds: int) -> tuple[tuple[int, ...], ...]:
    """Every choice of seeds with ``seeds // 2`` of them left out; above 11 seeds 200 such choices, always the same.

    Parameters
    ----------
    seeds
        how many seeds there are

    Returns
    -------
    tuple of tuples
        the indices of the seeds that are kept, ``seeds - seeds // 2`` a choice.
    """
    kept = seeds - seeds // 2
    if math.comb(seeds, kept) <= 500:
        return tuple(itertools.combinations(range(seeds), kept))
    random = np.random.default_rng(0)
    return tuple(tuple(int(k) for k in random.permutation(seeds)[:kept]) for _ in range(200))


def half_error(values: ArrayLike, seeds: int) -> float:
    """Standard error of a statistic of all seeds, from its values for every half of ``halves_of``.

        error = sqrt((n - d) / d * mean of (v - mean v)^2),    n seeds, d = n // 2 of them left out

    For a mean over seeds that is its usual standard error. Unlike the spread of the seeds' own values it also knows
    what a statistic that jumps does, such as the place of a minimum among noisy points.

    Parameters
    ----------
    values
        v, the statistic for each half, (halves,)
    seeds
        n

    Returns
    -------
    float
        the error in the unit of ``values``; inf for one seed.

    References
    ----------
    The delete-d jackknife, Shao and Wu, Ann. Statist. 17 (1989) 1176.
    """
    left = seeds // 2
    if left == 0:
        return math.inf
    return float(np.sort(np.asarray(values, dtype=float)).std()) * math.sqrt((seeds - left) / left)


def _vertex(x: Array, y: Array) -> float | None:
    """Minimum of the parabola through three points, x increasing; None when it does not open upwards."""
    left, right = (y[1] - y[0]) / (x[1] - x[0]), (y[2] - y[1]) / (x[2] - x[1])
    bend = (right - left) / (x[2] - x[0])  # half the second derivative
    if not bend > 0:
        return None
    # The chord's slope is the tangent at the chord's midpoint; from there walk to slope zero.
    return float((x[0] + x[1]) / 2 - left / (2 * bend))


def curve_minimum(x: Array, y: Array) -> tuple[float, bool]:
    """Where one curve is lowest, and whether the grid leaves that unresolved: what ``best_lr`` does to a mean curve.

    The vertex of the parabola through the lowest point and its neighbours, with the special cases of ``best_lr``.

    Parameters
    ----------
    x
        (points,), increasing, three at least
    y
        (points,), inf where a run diverged, finite somewhere

    Returns
    -------
    place : float
        in the unit of x
    on_edge : bool
        whether the place is only that of a point at the end of the grid or at the border of divergence.
    """
    lowest = y.min()
    first = int(np.argmin(y))
    last = first  # the last of the tied points that follow the first without a gap
    while last + 1 < y.size and y[last + 1] == lowest:
        last += 1
    before = y[first - 1] if first > 0 else np.inf
    after = y[last + 1] if last + 1 < y.size else np.inf
    if np.isfinite(before) and np.isfinite(after):
        if last - first >= 2:  # a flat floor: three points of it say nothing, its middle is the fair answer
            return float((x[first] + x[last]) / 2), False
        # Two tied points need no case of their own: the vertex then is the middle between them.
        near = slice(first - 1, first + 2)
        vertex = _vertex(x[near], y[near])
        return (float(x[first]) if vertex is None else vertex), False
    # One neighbour is missing (end of the grid) or diverged. At the end of the grid nothing more is known. At
    # the border of divergence the three finite points on the other side still decide, if their parabola turns
    # back before the last of them: an interpolation, not an extrapolation.
    if first == last and 0 < first < y.size - 1 and (np.isfinite(before) or np.isfinite(after)):
        near = slice(first - 2, first + 1) if np.isfinite(before) else slice(first, first + 3)
        if near.start >= 0 and near.stop <= y.size and np.isfinite(y[near]).all():
            vertex = _vertex(x[near], y[near])
            if vertex is not None and x[near][0] <= vertex <= x[near][2]:
                return vertex, False
    edge = last if np.isfinite(before) else first
    return float(x[edge]), True


def best_lr(lrs: ArrayLike, losses: ArrayLike) -> BestLR:
    """Best learning rate of a sweep: the vertex of a parabola through the mean log loss near its minimum.

    With x = log2 lr and y = mean over seeds of ln loss (the log of the geometric mean), the parabola through
    the lowest point and its two neighbours has its vertex where the slopes of the two chords, taken at the
    chords' midpoints, interpolate to zero. The vertex is never further than half a grid step from the lowest
    point.

    Parameters
    ----------
    lrs
        the rates searched, (lrs,), positive and increasing, at least three; any spacing
    losses
        losses at those rates, (lrs, seeds), positive; ``inf`` marks a run that diverged. A rate at which any seed
        diverged has an infinite mean: it is never the best, nor a point of the parabola

    Returns
    -------
    BestLR
        ``low`` and ``high`` are lr / 2**s and lr * 2**s, s the standard error of log2 ``lr`` over seeds, by
        ``half_error`` from the optima of every half of the seeds, each found as above; zero for a single seed. A half
        whose optimum is at the edge enters with that edge.

    Raises
    ------
    ValueError
        for rates or losses other than these, NaN, zero or negative losses (their log is not finite: add a floor
        first), or when no rate kept every seed finite.

    Warns
    -----
    OnEdgeWarning
        where the minimum is on the first or last rate and so unresolved: ``lr`` is that rate and ``on_edge`` True. The
        same holds where the neighbour of the minimum diverged, unless the parabola through the minimum and the two
        points on its other side turns back between them.

    Notes
    -----
    A floor of three or more equal means counts at its middle.
    """
    rates = positive("lrs", lrs)
    if rates.ndim != 1 or rates.size < 3 or not (np.diff(rates) > 0).all():
        raise refuse("lrs", lrs, "a list of at least three increasing rates")
    table = positive("losses", losses, infinite=True)
    if table.ndim != 2 or table.shape[0] != rates.size or table.shape[1] == 0:
        raise ValueError(
            f"losses of shape {table.shape} is not allowed: losses must have shape (lrs, seeds) = "
            f"({rates.size}, at least 1)."
        )
    curves = np.log(table)  # (lrs, seeds); log(inf) = inf without a warning
    # Sorting makes the sum, and so the result, independent of the order of the seeds to the last bit.
    mean = np.sort(curves, axis=1).mean(axis=1)
    if not np.isfinite(mean).any():
        raise ValueError(
            "losses is not allowed: at every rate some seed diverged; "
            "losses must stay finite for all seeds at one rate or more, so search lower rates."
        )
    x = np.log2(rates)
    centre, on_edge = curve_minimum(x, mean)
    parts = [
        curve_minimum(x, np.sort(curves[:, list(half)], axis=1).mean(axis=1))[0] for half in halves_of(table.shape[1])
    ]
    spread = half_error(parts, table.shape[1]) if table.shape[1] > 1 else 0.0
    if on_edge:
        warnings.warn(
            f"the best rate {2**centre:.3g} is at the edge of what was searched "
            f"({rates[0]:.3g} to {rates[-1]:.3g}, or the border of divergence): extend or refine the rates.",
            OnEdgeWarning,
            stacklevel=2,
        )
    return BestLR(
        lr=float(2**centre),
        low=float(2 ** (centre - spread)),
        high=float(2 ** (centre + spread)),
        on_edge=on_edge,
        seeds=table.shape[1],
        halves=tuple(float(2**part) for part in parts),
    )


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
    value = float(np.log2(last.lr) - np.log2(first.lr))
    if first.seeds == last.seeds > 0:
        return value, half_error(np.log2(last.halves) - np.log2(first.halves), last.seeds)
    if 1 in (first.seeds, last.seeds):
        return value, math.inf
    return value, math.hypot(first.spread, last.spread)


@dataclass(frozen=True)
class MeanCurve:
    """Loss against rate over seeds; all arrays (kept,), of the rates at which no seed diverged.

    Attributes
    ----------
    lrs
        those rates
    middle
        geometric mean of the losses
    low, high
        ``middle`` divided and multiplied by exp(s), with s the standard error of the mean log loss (equal to
        ``middle`` for one seed)
    """

    lrs: Array
    middle: Array
    low: Array
    high: Array

    def at(self, lr: float) -> float:
        """Mean loss at a rate between those of the curve, by interpolation of logarithms; its ends hold beyond."""
        return float(np.exp(np.interp(np.log(lr), np.log(self.lrs), np.log(self.middle))))


def mean_curve(lrs: ArrayLike, losses: ArrayLike) -> MeanCurve:
    """The curve of a sweep, and a band of one standard error, for a figure.

    Parameters
    ----------
    lrs
        (lrs,), positive
    losses
        (lrs, seeds) or (lrs,), positive, inf where a run diverged

    Returns
    -------
    MeanCurve
        empty where at every rate some seed diverged.

    Raises
    ------
    ValueError
        for other values or shapes.
    """
    rates, table = positive("lrs", lrs), positive("losses", losses, infinite=True)
    if rates.ndim != 1 or table.ndim not in (1, 2) or table.shape[0] != rates.size or not table.size:
        raise refuse("losses", losses, f"of shape ({rates.size}, seeds), a row for every rate")
    logs = np.log(table.reshape(rates.size, -1))
    keep = np.isfinite(logs).all(axis=1)
    middle, error = mean_and_error(logs[keep])
    if logs.shape[1] == 1:
        error = np.zeros_like(middle)  # nothing to draw a band from
    return MeanCurve(rates[keep], np.exp(middle), np.exp(middle - error), np.exp(middle + error))


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
    return Drift(fit.slope, error, float(np.log2(rates[-1]) - np.log2(rates[0])), on_edge)
