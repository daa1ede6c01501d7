"""What the chapter reads off its runs: moves and gains with errors over common seeds, distances of curves."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.numerics.arguments import choice, refuse
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.estimates import Estimate
from lrtransfer.numerics.fits import power_by_seed
from lrtransfer.rates import BestLR, bounded
from lrtransfer.rates import moved as move
from lrtransfer.residual.networks.coordinates import CoordinateCheck


def widest(best: Sequence[BestLR]) -> Estimate:
    """Octaves between the smallest and the largest of several best values; inf error where one is on an edge."""
    ordered = sorted(best, key=lambda b: b.lr)
    found = move(ordered[0], ordered[-1])
    return Estimate(found.value, math.inf, found.seeds) if any(b.on_edge for b in best) else found


def gain(before: ArrayLike, after: ArrayLike) -> Estimate:
    """Mean fall of the log losses of common seeds, from ``before`` (seeds,) to ``after`` (seeds,).

    Seeds are numbered alike everywhere: of the longer list the first are compared. Where runs diverged nothing is
    known: the error is inf.
    """
    common = min(np.size(before), np.size(after))
    first, last = (np.asarray(logs, dtype=float)[:common] for logs in (before, after))
    if not np.isfinite([first, last]).all():
        return Estimate(0.0, math.inf, first.size)
    return Estimate.of(first - last)


def gain_at_best(best: Sequence[BestLR], logs: Array, first: int, last: int) -> Estimate:
    """``gain`` between the lowest losses of two sizes; where a best value is on an edge its loss is only a bound.

    ``best``: of every size. ``logs``: log losses at it, (sizes, seeds). A lowest loss on an edge could only be lower:
    that of the last size bounds the gain from below, that of the first from above.
    """
    found = gain(logs[first], logs[last])
    edges = best[first].on_edge, best[last].on_edge
    ends = -math.inf if edges[0] else found.value, math.inf if edges[1] else found.value
    return bounded(found.value, found.error, found.seeds, ends, any(edges))


def between_depths(curves: ArrayLike) -> Array:
    """Root mean square distance of the depths' log losses from their mean over depths, for every seed.

    ``curves``: losses (depths, evaluations, seeds), positive, inf where a run diverged. Returns (evaluations, seeds),
    inf there. Raises ValueError for a NaN.
    """
    logs = np.log(np.asarray(curves, dtype=float))
    if np.isnan(logs).any():
        raise refuse("curves", curves, "losses without NaN")
    sound = np.isfinite(logs).all(axis=0)
    return np.where(sound, np.where(sound, logs, 0.0).std(axis=0), np.inf)


def changes_of(check: CoordinateCheck, layer: str) -> Array:
    """Changes of one watched layer of a coordinate check, (sizes, seeds).

    Raises ``ValueError`` for a layer that was not watched.
    """
    return check.changes[:, check.layers.index(choice("layer", layer, check.layers))]


def exponent_of(check: CoordinateCheck, layer: str) -> Estimate:
    """The power of the size with which one watched layer of a coordinate check moves, over its seeds.

    Raises ``ValueError`` for a layer that was not watched.
    """
    k = check.layers.index(choice("layer", layer, check.layers))
    return Estimate(check.exponents[k], check.errors[k], check.changes.shape[-1])


def power_of(sizes: ArrayLike, values: ArrayLike) -> Estimate:
    """The power of the size in values (sizes, seeds), fitted to every seed (``fits.power_by_seed``)."""
    return Estimate(*power_by_seed(sizes, values), np.shape(values)[-1])


def beyond(found: Estimate, expected: float) -> Estimate:
    """A measured number less the one expected, with its error."""
    return Estimate(found.value - expected, found.error, found.seeds)
