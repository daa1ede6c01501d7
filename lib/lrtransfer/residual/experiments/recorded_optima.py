"""Best rates of the recorded sweeps, read like those of a family that was trained here."""

from __future__ import annotations

import math
from dataclasses import dataclass

from lrtransfer.numerics.estimates import Estimate
from lrtransfer.rates import BestLR, drift
from lrtransfer.residual.experiments.readings import move
from lrtransfer.residual.recorded import optima_by, read


@dataclass(frozen=True)
class RecordedOptima:
    """Best rates at increasing ``sizes``, from a record."""

    sizes: tuple[int, ...]
    best: tuple[BestLR, ...]

    @property
    def moved(self) -> Estimate:
        """log2 of the last best rate over the first, paired by seed; error inf if one is on an edge."""
        return move(self.best[0], self.best[-1])

    @property
    def trend(self) -> Estimate:
        """Octaves of rate per octave of size, its error inf if any best rate is on an edge; three sizes or more."""
        found = drift(list(self.best), self.sizes)
        return Estimate(found.slope, math.inf if found.on_edge else found.slope_error, self.best[0].seeds)


def recorded_optima(name: str, vary: str) -> dict[str, RecordedOptima]:
    """Best rates of results/residual-NAME against ``vary``, "depth" or "width", by parametrisation; {} without record.

    Raises ``DamagedRecord``, a ``ValueError``, for a record that was changed or made with other settings.
    """
    kept = read(name)
    lines = optima_by(kept[1], vary) if kept else {}
    return {word: RecordedOptima(tuple(sizes), tuple(best)) for word, (sizes, best) in lines.items() if len(best) > 1}
