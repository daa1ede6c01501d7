"""Coordinate checks held against sweeps: what two small steps predict of the drift of the best rate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from lrtransfer.numerics.estimates import Estimate
from lrtransfer.residual.experiments.families import FamilyResult
from lrtransfer.residual.experiments.readings import exponent_of
from lrtransfer.residual.networks.coordinates import coordinate_check


@dataclass(frozen=True)
class CheckedFamily:
    """Exponent in L of the output's change by two small steps, and octaves of best rate per octave of depth.

    ``on_edge``: whether a best rate is only a bound; the error of ``slope`` is then inf.
    """

    exponent: Estimate
    slope: Estimate
    on_edge: bool

    @property
    def finite(self) -> bool:
        """Whether no network overflowed in the check."""
        return bool(np.isfinite([self.exponent.value, self.exponent.error]).all())


def checks_against_sweeps(trials: Mapping[str, FamilyResult], *, seeds: int, batch: int) -> dict[str, CheckedFamily]:
    """A coordinate check of every family over its own depths, at a 64th of the best rate of the largest.

    ``trials``: families over depth by name. ``seeds``, ``batch``: of the checks. Returns one ``CheckedFamily`` each.
    """
    found = {}
    for name, trial in trials.items():
        family, rate = trial.family, trial.best[-1].lr / 64
        seen = coordinate_check(
            family.network, family.sizes, vary="depth", lr=rate, steps=2, seeds=range(seeds), batch=batch
        )
        found[name] = CheckedFamily(exponent_of(seen, "f"), trial.trend, trial.on_edge)
    return found
