"""The norm-driven schedule beside uniform rates, on common seeds: three layers, and two layers of many outputs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.layers.relu import train_three_layers
from lrtransfer.layers.schedule import SCHEDULES, LayerRun, two_layer_schedule
from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.estimates import Estimate
from lrtransfer.numerics.overflow import or_inf


@dataclass(frozen=True)
class ScheduleRuns:
    """The schedules of ``schedule.SCHEDULES`` on common seeds: schedule on the first axis, seed on the second.

    train_loss, test_loss (2, seeds, steps + 1); norm_difference (2, seeds, steps + 1): |W_1|_F - |W_2|_F;
    sharpness (2, seeds), at the end
    """

    train_loss: Array
    test_loss: Array
    norm_difference: Array
    sharpness: Array

    @property
    def relative_difference(self) -> Array:
        """The size of the norm difference over that at the start, without unit: (2, seeds, steps + 1)."""
        return np.abs(self.norm_difference) / np.abs(self.norm_difference[..., :1])

    def difference(self, values: Array) -> Estimate:
        """The norm-driven schedule less the uniform one, paired by seed; values (2, seeds)."""
        return Estimate.paired(values[1], values[0])


def _side_by_side(runs: list[list[LayerRun]]) -> ScheduleRuns:
    norms = np.array([[run.norms for run in row] for row in runs])
    with np.errstate(invalid="ignore"):  # inf - inf: a run that diverged
        difference = norms[..., 0] - norms[..., 1]
    return ScheduleRuns(
        np.array([[run.train_loss for run in row] for row in runs]),
        np.array([[run.test_loss for run in row] for row in runs]),
        np.where(np.isnan(difference), np.inf, difference),
        np.array([[run.sharpness for run in row] for row in runs]),
    )


def schedule_runs(
    h: int,
    lr: float,
    steps: int,
    *,
    seeds: Sequence[int],
    activation: str = "relu",
    noise: float = 0.0,
    initialisation: str = "orthogonal",
    split: float = 0.0,
    scale: float = 1.0,
) -> ScheduleRuns:
    """Train with uniform rates and with the norm-driven schedule, one run of each a seed, sharpness included.

    Parameters
    ----------
    h, lr, steps, activation, noise, initialisation, split, scale
        As in ``train_three_layers``.
    seeds
        At least two.

    Returns
    -------
    ScheduleRuns
        The two schedules of ``schedule.SCHEDULES`` on the first axis of everything.

    Raises
    ------
    ValueError
        For an argument out of its range, which it names.

    Source: arXiv 2606.00340, experiments with the layer-wise scheduler.
    """
    if len(seeds) < 2:
        raise arguments.refuse("seeds", list(seeds), "at least two seeds")
    options = dict(activation=activation, noise=noise, initialisation=initialisation, split=split, scale=scale)
    return _side_by_side(
        [
            [
                train_three_layers(h, lr, steps, seed=seed, schedule=schedule, sharpness=True, **options)  # type: ignore[arg-type]
                for seed in seeds
            ]
            for schedule in SCHEDULES
        ]
    )


def two_layer_schedule_runs(h: int, lr: float, steps: int, *, seeds: Sequence[int], scale: float) -> ScheduleRuns:
    """``schedule_runs`` for the two-layer network with h outputs, from Gaussian weights.

    Parameters
    ----------
    h, lr, steps, scale
        As in ``two_layer_schedule``.
    seeds
        At least two.

    Returns
    -------
    ScheduleRuns
        Training and test loss are one and the same.

    Raises
    ------
    ValueError
        For an argument out of its range, which it names.

    Source: arXiv 2606.00340, experiments with the layer-wise scheduler.
    """
    if len(seeds) < 2:
        raise arguments.refuse("seeds", list(seeds), "at least two seeds")
    return _side_by_side(
        [
            [two_layer_schedule(h, lr, steps, seed=s, schedule=name, scale=scale, sharpness=True) for s in seeds]
            for name in SCHEDULES
        ]
    )


def conserved_drift(
    power: ArrayLike, h: int, lr: float, steps: int, *, seed: int, schedule: str, initialisation: str = "gaussian"
) -> Array:
    """How far |W_1|_F^p - |W_2|_F^p is at the end of a run from its value at the start, relative to that.

    Parameters
    ----------
    power
        The powers p, > 0; shapes broadcast.
    h, lr, steps, seed, schedule, initialisation
        As in ``train_three_layers``.

    Returns
    -------
    array
        The shape of ``power``, without unit, inf where the run diverged; under the flow 0 at p = 2 for "uniform", at
        p = 3 for "norm".

    Raises
    ------
    ValueError
        For an argument out of its range, which it names.

    Source: this book.
    """
    p = arguments.positive("power", power)
    norms = train_three_layers(h, lr, steps, seed=seed, schedule=schedule, initialisation=initialisation).norms
    with np.errstate(all="ignore"):
        start, end = (row[0] ** p - row[1] ** p for row in (norms[0], norms[-1]))
        return or_inf(np.abs((end - start) / start))
