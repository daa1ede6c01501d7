"""What a transferred rate takes for granted: how the best one moves with batch, updates, warm-up and Adam's epsilon.

``read_conditions`` reads it off the record residual-conditions. ``OCTAVES`` are its numbers for those who have the
package without the book's records, such as ``lrtransfer transfer``; a test holds the two together.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from lrtransfer.numerics.estimates import Estimate
from lrtransfer.numerics.jackknife import half_error
from lrtransfer.rates import BestLR, bounded, moved, trend
from lrtransfer.residual.recorded import best_of, read
from lrtransfer.sweeps.sweep import CurveResult

# By optimiser and condition: octaves of best rate by every factor of two in the batch or in the updates; for "warmup",
# octaves from none to one over half of the updates. Value, standard error over seeds; inf where it is only a bound.
OCTAVES: dict[tuple[str, str], tuple[float, float]] = {
    ("sgd", "batch"): (0.33, 0.04),
    ("sgd", "steps"): (0.10, math.inf),
    ("sgd", "warmup"): (0.07, 0.33),
    ("adam", "batch"): (0.25, 0.03),
    ("adam", "steps"): (-0.41, 0.05),
    ("adam", "warmup"): (0.43, 0.13),
}


@dataclass(frozen=True)
class Condition:
    """Best rates while one thing changes.

    Attributes
    ----------
    optimiser
        "sgd" or "adam"
    name
        "batch", "steps", "warmup" or "width"
    values
        what changes: images a minibatch, updates, share of the updates in which the rate warms up, or N
    best
        the best rate at each
    epsilon
        Adam's, for "width"
    """

    optimiser: str
    name: str
    values: tuple[float, ...]
    best: tuple[BestLR, ...]
    epsilon: float | None = None

    @property
    def moved(self) -> Estimate:
        """log2 of the last best rate over the first, paired by seed; a bound where one of the two is."""
        return moved(self.best[0], self.best[-1])

    @property
    def octaves(self) -> Estimate:
        """Octaves of best rate by a factor of two, all values counting alike; for "warmup", what ``moved`` is."""
        if self.name == "warmup":
            return self.moved
        return trend(self.best, self.values)

    def beyond(self, other: Condition) -> Estimate:
        """How much more the best rate moves here than in ``other``, from first to last, in octaves and by seed.

        Parameters
        ----------
        other
            of the same seeds

        Returns
        -------
        Estimate
            of ``moved`` less that of the other.
        """
        halves = [np.log2(np.divide(c.best[-1].halves, c.best[0].halves)) for c in (self, other)]
        error = half_error(halves[0] - halves[1], self.best[0].seeds)
        a, b = (each.between or (each.value, each.value) for each in (self.moved, other.moved))
        is_bound = any(best.on_edge for c in (self, other) for best in (c.best[0], c.best[-1]))
        value = self.moved.value - other.moved.value
        return bounded(value, error, self.best[0].seeds, (a[0] - b[1], a[1] - b[0]), is_bound)


def read_conditions(*, folder: str | Path | None = None) -> tuple[Condition, ...]:
    """Every condition of the record residual-conditions.

    Parameters
    ----------
    folder
        where the records are; results/ of the repository by default

    Returns
    -------
    tuple of Condition
        SGD before Adam; batch, steps, warmup, then Adam's width by epsilon. () without the record: an installed package
        has none, and has ``OCTAVES``.

    Raises
    ------
    DamagedRecord
        a ``ValueError``, for one that was changed by hand or made with other settings.
    """
    kept = read("conditions", folder=folder)
    return conditions_of(kept[1]) if kept else ()


def conditions_of(results: Sequence[CurveResult]) -> tuple[Condition, ...]:
    """The conditions among trained curves, such as those of the settings file ``conditions``.

    Parameters
    ----------
    results
        trained curves of one width and depth with different batches, steps and warm-ups, and of other widths with
        different ``adam_epsilon``

    Returns
    -------
    tuple of Condition
        of two values or more each.
    """
    sizes = {(r.settings.width, r.settings.depth) for r in results if r.settings.optimiser == "sgd"}
    found = []
    for optimiser in ("sgd", "adam"):
        mine = [r for r in results if r.settings.optimiser == optimiser and _size(r) in sizes]
        usual = {field: Counter(getattr(r.settings, field) for r in mine).most_common(1) for field in _FIELDS}
        for field, name in _FIELDS.items():
            held = [other for other in _FIELDS if other != field]
            rows = [r for r in mine if all(getattr(r.settings, other) == usual[other][0][0] for other in held)]
            found.append(_condition(optimiser, name, field, rows))
    over_width = [r for r in results if r.settings.optimiser == "adam" and _size(r) not in sizes]
    for epsilon in sorted({r.settings.adam_epsilon for r in over_width}):
        rows = [r for r in over_width if r.settings.adam_epsilon == epsilon]
        found.append(_condition("adam", "width", "width", rows, epsilon))
    return tuple(one for one in found if len(one.best) > 1)


_FIELDS = {"batch": "batch", "steps": "steps", "warmup_steps": "warmup"}


def _size(result: CurveResult) -> tuple[int, int]:
    return result.settings.width, result.settings.depth


def _condition(
    optimiser: str, name: str, field: str, rows: Sequence[CurveResult], epsilon: float | None = None
) -> Condition:
    best = {}
    for row in rows:
        value = getattr(row.settings, field)
        found = best_of(row)
        if found is not None:
            best[value / row.settings.steps if name == "warmup" else value] = found
    return Condition(optimiser, name, tuple(sorted(best)), tuple(best[value] for value in sorted(best)), epsilon)
