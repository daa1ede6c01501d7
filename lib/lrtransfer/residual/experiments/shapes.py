"""Shapes of one budget: networks from wide to deep with the same number of weights, at one rate and at their own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.numerics.arguments import refuse
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.estimates import Estimate
from lrtransfer.rates import bounded
from lrtransfer.residual.experiments.families import Family, FamilyResult
from lrtransfer.residual.experiments.readings import gain
from lrtransfer.residual.recorded import best_of, read


@dataclass(frozen=True)
class Shapes:
    """Result of ``compare_shapes``, for every budget and shape; ``off`` and ``costs`` in one list, budget by budget.

    Attributes
    ----------
    common : float
        The base rate all share.
    at_common, at_own : array (budgets, shapes, seeds)
        Log losses there, and at the rate that is best for the other seeds.
    off : tuple of Estimate
        log2 of each shape's best rate over the common one; a bound where it is on an edge.
    costs : tuple of Estimate
        Mean of ``at_common`` less ``at_own``, over seeds.
    deeper : tuple of Estimate
        Fall of the log loss at the common rate from the widest shape to the deepest, one a budget.
    larger : tuple of Estimate
        The same from the smallest budget to the largest, one a shape.
    """

    common: float
    at_common: Array
    at_own: Array
    off: tuple[Estimate, ...]
    costs: tuple[Estimate, ...]
    deeper: tuple[Estimate, ...]
    larger: tuple[Estimate, ...]


def left_out(losses: ArrayLike) -> Array:
    """Log loss of every seed at the rate that is best, in mean log loss, for the other seeds.

    The lowest point of a mean curve is lowest partly by the luck of the seeds in it; a seed that had no part in the
    choice has no such luck.

    Parameters
    ----------
    losses : array_like (rates, seeds)
        Positive, inf where a run diverged; two seeds or more.

    Returns
    -------
    array (seeds,)
        inf where the seed diverged at the rate chosen by the others.

    Raises
    ------
    ValueError
        For a single seed.
    """
    logs = np.log(np.asarray(losses, dtype=float))
    if logs.ndim != 2 or logs.shape[1] < 2:
        raise refuse("losses", logs.shape, "of shape (rates, seeds) with two seeds or more (the value is its shape)")
    seeds = range(logs.shape[1])
    return np.array([logs[int(np.argmin(np.delete(logs, seed, axis=1).mean(axis=1))), seed] for seed in seeds])


def compare_shapes(budgets: Sequence[Sequence[FamilyResult]], common: float | None = None) -> Shapes:
    """What one common rate costs, and what depth and weights bring at that rate.

    The common rate is the point of the first grid below the geometric mean of the best rates, unless one is given:
    above an optimum the loss rises faster than below.

    Parameters
    ----------
    budgets : sequence of sequences of FamilyResult
        For every budget its shapes, from wide to deep, each a family of one size; equally many shapes each, and one
        list of seeds for all.
    common : float or None
        A common rate chosen beforehand, on other seeds.

    Returns
    -------
    Shapes
        Rates, losses and what follows from them.

    Raises
    ------
    ValueError
        Where a shape was not trained at the common rate.

    Source: Fig. B.1 of the paper.
    """
    shapes = [trial for trials in budgets for trial in trials]
    if common is None:
        centre = np.mean([np.log2(trial.best[0].lr) for trial in shapes])
        grid = shapes[0].family.values(0)
        common = float(grid[int(np.searchsorted(np.log2(grid), centre)) - 1])
    logs = []
    for trial in shapes:
        rates = trial.family.values(0)
        nearest = int(np.argmin(np.abs(rates - common)))
        if not np.isclose(rates[nearest], common):
            raise refuse("budgets", trial.family.name, f"shapes that were trained at the common rate {common:.3g} too")
        logs.append(np.log(trial.losses[0][nearest]))
    own = [left_out(trial.losses[0]) for trial in shapes]
    best = [trial.best[0] for trial in shapes]
    shape = (len(budgets), len(budgets[0]), -1)
    at_common = np.reshape(logs, shape)
    return Shapes(
        common=common,
        at_common=at_common,
        at_own=np.reshape(own, shape),
        off=tuple(
            bounded(
                math.log2(b.lr / common),
                b.spread,
                max(1, b.seeds),
                (b.octaves[0] - math.log2(common), b.octaves[1] - math.log2(common)),
                b.on_edge,
            )
            for b in best
        ),
        costs=tuple(gain(there, here) for there, here in zip(logs, own, strict=True)),
        deeper=tuple(gain(one[0], one[-1]) for one in at_common),
        larger=tuple(gain(small, large) for small, large in zip(at_common[0], at_common[-1], strict=True)),
    )


def recorded_shapes() -> list[list[FamilyResult]]:
    """The shapes of results/residual-shapes, each a family of one size, by budget from wide to deep; [] without record.

    Raises ``DamagedRecord``, a ``ValueError``, for a record that was changed or made with other settings.
    """
    kept = read("shapes")
    by_budget: dict[int, list[FamilyResult]] = {}
    for result in kept[1] if kept else ():
        s, logs = result.settings, np.log2(result.lrs)
        window = (float(logs[0]), float(logs[-1]))
        step = float(logs[1] - logs[0])
        name = f"N = {s.width}, L = {s.depth}"
        family = Family(name, s, "depth", (s.depth,), (window,), step, result.seeds.size)
        best = best_of(result)
        if best is not None:
            shape = FamilyResult(family, (result.losses[-1],), (best,))
            by_budget.setdefault(round(math.log2(s.width**2 * s.depth)), []).append(shape)
    return [sorted(by_budget[size], key=lambda shape: shape.family.sizes[0]) for size in sorted(by_budget)]
