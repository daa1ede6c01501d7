"""Runs with random layers at several steps, sums and compositions: their courses and the floors they settle on."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.stages.linear.random_init import random_run

COMPOSITIONS = ("additive", "residual")


@dataclass(frozen=True)
class NoiseCourses:
    """Excess losses of runs with random layers, ``settled`` stages to come down and as many again on the floor.

    Attributes
    ----------
    steps
        (n,), in units of 1/L
    excess
        (compositions, steps, stages + 1, draws), compositions in the order of ``COMPOSITIONS``
    settled
        the stage from which a run counts as settled
    """

    steps: Array
    excess: Array
    settled: int

    def mean(self, composition: str, step: float) -> Array:
        """Mean over the draws until the runs have settled.

        Parameters
        ----------
        composition
            of ``COMPOSITIONS``
        step
            one of ``steps``

        Returns
        -------
        ndarray
            excess loss, (settled,).
        """
        row = self.excess[COMPOSITIONS.index(arguments.choice("composition", composition, COMPOSITIONS))]
        return row[self.steps.tolist().index(step)].mean(axis=-1)[: self.settled]

    def floors(self, composition: str) -> Array:
        """Average over the settled stages of every run.

        Parameters
        ----------
        composition
            of ``COMPOSITIONS``

        Returns
        -------
        ndarray
            excess loss, (steps, draws).
        """
        row = self.excess[COMPOSITIONS.index(arguments.choice("composition", composition, COMPOSITIONS))]
        return row[:, self.settled : -1].mean(axis=1)


def noise_courses(
    teacher: ArrayLike, covariance: ArrayLike, steps: ArrayLike, *, scale: float, draws: int, seed: int = 0
) -> NoiseCourses:
    """``random_run`` from the identity at each step, additive and residual, 401 stages each.

    Parameters
    ----------
    teacher, covariance : arrays (d, d)
        One problem.
    steps : array (n,)
        In units of 1/L, above 0 and below 2.
    scale, draws
        As in ``random_run``.
    seed : int
        Of one stream that the runs draw from in turn.

    Returns
    -------
    NoiseCourses
    """
    sizes, rng = arguments.positive("steps", steps), np.random.default_rng(arguments.seed("seed", seed))
    excess = [
        [
            random_run(
                teacher, covariance, 401, scale=scale, draws=draws, composition=kind, step=float(s), seed=rng
            ).excess
            for s in sizes
        ]
        for kind in COMPOSITIONS
    ]
    return NoiseCourses(sizes, np.array(excess), 200)
