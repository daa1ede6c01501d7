"""Shapes of one budget: networks from wide to deep with the same number of weights, at one rate and at their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lrtransfer.numerics.arguments import refuse
from lrtransfer.numerics.estimates import Estimate
from lrtransfer.residual.experiments.families import FamilyResult
from lrtransfer.residual.experiments.measures import gain

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Shapes:
    """Result of ``compare_shapes``, for every budget and shape.

    ``common``: the base rate all share. ``at_common``, ``at_own``: log losses there and at each shape's best rate on
    its grid, (budgets, shapes, seeds). ``cost``: rise of the log loss by the common rate, at the worst shape.
    ``deeper``: fall of the log loss at the common rate from the widest shape to the deepest, one a budget.
    ``larger``: the same from the smallest budget to the largest, one a shape.
    """

    common: float
    at_common: Array
    at_own: Array
    cost: Estimate
    deeper: tuple[Estimate, ...]
    larger: tuple[Estimate, ...]


def compare_shapes(budgets: Sequence[Sequence[FamilyResult]]) -> Shapes:
    """What one common rate costs, and what depth and weights bring at that rate.

    ``budgets``: for every budget the families of its shapes, from wide to deep, of one size and with one list of seeds;
    equally many shapes each. The common rate is the point of the first grid below the geometric mean of the best rates:
    above an optimum the loss rises faster than below.

    Raises ``ValueError`` where a shape was not trained at the common rate. Source: Fig. B.1 of the paper.
    """
    shapes = [trial for trials in budgets for trial in trials]
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
    own = np.array([[trial.lowest_logs[0] for trial in trials] for trials in budgets])
    at_common = np.reshape(logs, own.shape)
    costs = [gain(a, b) for ones, owns in zip(at_common, own, strict=True) for a, b in zip(ones, owns, strict=True)]
    return Shapes(
        common=common,
        at_common=at_common,
        at_own=own,
        cost=max(costs, key=lambda found: found.value),
        deeper=tuple(gain(one[0], one[-1]) for one in at_common),
        larger=tuple(gain(small, large) for small, large in zip(at_common[0], at_common[-1], strict=True)),
    )
