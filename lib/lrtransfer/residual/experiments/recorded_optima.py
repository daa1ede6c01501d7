"""Best rates of the recorded sweeps, read like those of a family that was trained here."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.estimates import Estimate, mean_and_error
from lrtransfer.page.checks import Check
from lrtransfer.rates import BestLR, drift
from lrtransfer.residual.experiments.readings import gain, move
from lrtransfer.residual.recorded import lines_of, read
from lrtransfer.sweeps.sweep import CurveResult


@dataclass(frozen=True)
class RecordedOptima:
    """Best rates at increasing ``sizes``, from a record.

    ``lowest_logs``: log losses of every seed at the best rate on every size's grid, (sizes, seeds).
    """

    sizes: tuple[int, ...]
    best: tuple[BestLR, ...]
    lowest_logs: Array

    @property
    def moved(self) -> Estimate:
        """log2 of the last best rate over the first, paired by seed; error inf if one is on an edge."""
        return move(self.best[0], self.best[-1])

    @property
    def trend(self) -> Estimate:
        """Octaves of rate per octave of size, its error inf if any best rate is on an edge; three sizes or more."""
        found = drift(list(self.best), self.sizes)
        return Estimate(found.slope, math.inf if found.on_edge else found.slope_error, self.best[0].seeds)

    def lowest(self) -> tuple[Array, Array]:
        """Mean log loss at the best rate on every size's grid and its standard error over seeds, (sizes,) each."""
        return mean_and_error(self.lowest_logs)

    def gained(self, first: int, last: int) -> Estimate:
        """Fall of the lowest log loss from size number ``first`` to ``last``, paired by seed."""
        return gain(*self.lowest_logs[[first, last]])


def recorded_optima(name: str, vary: str, **only: Any) -> dict[str, RecordedOptima]:
    """Best rates of results/residual-NAME against ``vary``, "depth" or "width", by parametrisation; {} without record.

    ``only``: fields of the settings that a curve must have, such as ``schedule="warmup"``.
    Raises ``DamagedRecord``, a ``ValueError``, for a record that was changed or made with other settings.
    """
    kept = read(name)
    lines = lines_of(kept[1], vary, **only) if kept else {}
    return {
        word: RecordedOptima(
            tuple(getattr(result.settings, vary) for result, _ in line),
            tuple(best for _, best in line),
            np.array([_lowest(result) for result, _ in line]),
        )
        for word, line in lines.items()
        if len(line) > 1
    }


def _lowest(result: CurveResult) -> Array:
    logs = np.log(result.losses[-1])
    return np.asarray(logs[int(np.argmin(logs.mean(axis=1)))])


def recorded_check(
    what: str, found: RecordedOptima | None, name: str, relation: str, octaves: float, *, ours: bool = False
) -> Check:
    """The check that a recorded best rate moves, from the first size to the last, "within" or "<=" so many octaves.

    ``found``: from ``recorded_optima(name, ...)``, or None where there is no record: the check is then not resolved,
    and says which command would decide it.
    """
    if found is None:
        return not_recorded(what, name, ours=ours)
    ends = f"{found.sizes[0]} to {found.sizes[-1]}, {found.best[0].seeds} seeds"
    return Check.of(
        found.moved, f"{what}, recorded, {ends}: change of log2 of the best value", relation, octaves, ours=ours
    )


def not_recorded(what: str, name: str, *, ours: bool = False) -> Check:
    """A check that waits for results/residual-NAME: not resolved, with the command that would decide it."""
    told = f"{what}: not recorded yet; `lrtransfer record residual-{name}` decides it"
    return Check(told, np.inf, 0, relation="<=", undecided=True, ours=ours)
