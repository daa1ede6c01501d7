"""The best rate of a sweep, with its spread over seeds, and a flag where the sweep was too short to tell."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.numerics.arguments import finite, number, positive, refuse
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.jackknife import half_error, halves_of


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
    between
        where ``on_edge``: the rates next to the lowest point, diverged ones included, 0 or inf where the grid ends. The
        mean curve, if it has one minimum, has it between them. (0, inf) says that nothing is known
    """

    lr: float
    low: float
    high: float
    on_edge: bool
    seeds: int = field(default=0, repr=False, compare=False)
    halves: tuple[float, ...] = field(default=(), repr=False, compare=False)
    between: tuple[float, float] = field(default=(0.0, math.inf), repr=False, compare=False)

    @property
    def spread(self) -> float:
        """s, the standard error of log2 of ``lr`` over seeds."""
        return float(np.log2(self.high / self.lr))

    @property
    def octaves(self) -> tuple[float, float]:
        """The least and the largest that log2 of the best rate can be: ``lr`` twice, or on an edge ``between``."""
        low, high = self.between if self.on_edge else (self.lr, self.lr)
        return math.log2(low) if low > 0 else -math.inf, math.log2(high)


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

    Raises
    ------
    ValueError
        naming the argument.
    """
    places, values = finite("x", x), number("y", y)
    if places.ndim != 1 or places.size < 3 or not (np.diff(places) > 0).all():
        raise refuse("x", x, "a list of at least three increasing numbers")
    if values.shape != places.shape or not np.isfinite(values.min()):
        raise refuse("y", y, f"a number for each of the {places.size} points of x, finite somewhere and never -inf")
    if not (np.diff(places) >= 1e-100 * np.abs(values[np.isfinite(values)]).max(initial=1.0)).all():
        raise refuse("x", x, "points further apart, beside the values of y")
    return _minimum(places, values)


def _minimum(x: Array, y: Array) -> tuple[float, bool]:
    """``curve_minimum`` of arguments that have passed their checks."""
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


def _neighbours(rates: Array, y: Array) -> tuple[float, float]:
    """The rates next to the lowest points of a curve, 0 and inf beyond the grid."""
    lowest = np.flatnonzero(y == y.min())
    last = lowest[0]
    while last + 1 in lowest:
        last += 1
    below = float(rates[lowest[0] - 1]) if lowest[0] > 0 else 0.0
    return below, float(rates[last + 1]) if last + 1 < y.size else math.inf


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
    centre, on_edge = _minimum(x, mean)
    parts = [_minimum(x, np.sort(curves[:, list(half)], axis=1).mean(axis=1))[0] for half in halves_of(table.shape[1])]
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
        between=_neighbours(rates, mean),
    )
