"""What the recorded networks that grow, and those with uneven rates, say: drifts, losses and signs, with errors."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.numerics.estimates import HOLDS, Estimate
from lrtransfer.numerics.jackknife import half_error
from lrtransfer.rates import BestLR, OnEdgeWarning, best_lr, bounded, moved

ROUNDING = 2e-6  # twice the spacing of single precision near 1, over a quarter, the square of the split
VALLEY, HILL, UNRESOLVED = "valley", "hill", "not resolved"


def quiet_best(lrs: ArrayLike, losses: ArrayLike) -> BestLR:
    """``rates.best_lr`` without its warning: ``on_edge`` says the same."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OnEdgeWarning)
        return best_lr(lrs, losses)


def octaves_apart(first: BestLR, second: BestLR) -> Estimate:
    """log2 of the rate ``first`` over ``second``, of the same seeds: paired by halves of them."""
    return moved(second, first)


def apart_on_average(first: Sequence[BestLR], second: Sequence[BestLR]) -> Estimate:
    """``octaves_apart`` on average over sizes: rates ``first`` over ``second``, a pair a size, of the same seeds."""
    halves = np.mean([np.log2(a.halves) - np.log2(b.halves) for a, b in zip(first, second, strict=True)], axis=0)
    each = [moved(b, a) for a, b in zip(first, second, strict=True)]
    ends = np.mean([one.between or (one.value, one.value) for one in each], axis=0)
    is_bound = any(best.on_edge for best in (*first, *second))
    value = float(np.mean([one.value for one in each]))
    return bounded(value, half_error(halves, first[0].seeds), first[0].seeds, (ends[0], ends[1]), is_bound)


def slope(best: Sequence[BestLR], sizes: ArrayLike, less: Sequence[BestLR] | None = None) -> Estimate:
    """Octaves of the best rate an octave of size, by least squares; less that of other networks of the same seeds.

    Parameters
    ----------
    best
        one a size
    sizes
        depths
    less
        best rates of the others, one a size; None for none

    Returns
    -------
    Estimate
        with its error by halves of the seeds.
    """
    x = np.log2(np.asarray(sizes, dtype=float))
    lever = (x - x.mean()) / ((x - x.mean()) ** 2).sum()
    table = np.log2([[one.lr, *one.halves] for one in best])
    if less is not None:
        table = table - np.log2([[one.lr, *one.halves] for one in less])
    values = lever @ table
    is_bound = any(one.on_edge for one in (*best, *(less or ())))
    unknown = (-np.inf, np.inf)  # ``rates.trend`` bounds a slope; that of a difference has not been needed
    return bounded(float(values[0]), half_error(values[1:], best[0].seeds), best[0].seeds, unknown, is_bound)


def loss_gap(first: ArrayLike, second: ArrayLike) -> Estimate:
    """Log loss of ``first`` less that of ``second``, each at its own best rate of the grid, paired by seed.

    Both are (rates, seeds); the best rate has the least mean log loss.
    """
    logs = [np.log(np.asarray(losses, dtype=float)) for losses in (first, second)]
    own = [table[int(np.argmin(table.mean(axis=1)))] for table in logs]
    return Estimate.paired(*own)


def shape(curvature: Estimate) -> str:
    """What a curvature along the split says of equal rates: "valley", "hill" or "not resolved".

    Losses in single precision carry no curvature below ``ROUNDING``: there nothing is resolved.
    """
    if abs(curvature.value) < ROUNDING:
        return UNRESOLVED
    if curvature.outcome(">=", 0.0) == HOLDS:
        return VALLEY
    return HILL if curvature.outcome("<=", 0.0) == HOLDS else UNRESOLVED


def at_step(course: Estimate, place: int) -> Estimate:
    """The entry ``place`` of an estimate of arrays."""
    return Estimate(float(course.value[place]), float(course.error[place]), course.seeds)
