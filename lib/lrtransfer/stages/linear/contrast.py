"""The three sentences of Fig. 4, each on two axes: the loss at a stage, and the stages to a level.

    "no advantage"  zero over stacking at the smallest kappa: at most ``NO_ADVANTAGE``
    "much faster"   the same at kappa >= 100: at least ``MUCH_FASTER`` at each
    "mirrors"       stacking over Nesterov at every kappa: within a factor of ``MIRRORS``

On the axis of the loss the ratios are of mean squared errors, label noise included, at the stage where they are most;
on the axis of stages they are of the stages that the excess loss needs to a share of its start.

Source: "Stacking as Accelerated Gradient Descent", Sec. 4.2 and Fig. 4; the paper prints no thresholds, these are this
book's, and no sigma.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.estimates import FAILS, HOLDS, OPEN
from lrtransfer.stages.all_layers.comparison import Interval, log_interval
from lrtransfer.stages.linear.course import METHODS
from lrtransfer.stages.linear.speed import first_below

NO_ADVANTAGE, MUCH_FASTER, MIRRORS = 1.5, 2.0, 1.2
SENTENCES = ("no advantage", "much faster", "mirrors")
AXES = ("loss", "stages")
LARGEST = 1e12  # in place of an infinite ratio, as logarithms are averaged
ILL = 100.0  # condition numbers from here on are ill conditioned


@dataclass(frozen=True)
class Contrast:
    """Ratios by axis, (kappas, sigmas, seeds) each, and the condition numbers (kappas,).

    Attributes
    ----------
    kappas
        condition numbers
    gain
        zero over stacking; on the axis of the loss the largest from the second stage on
    mirror
        stacking over Nesterov; on the axis of the loss the larger over the smaller, largest over stages
    needed
        by method: stages to the level; one more than was run where it was not reached
    """

    kappas: Array
    gain: dict[str, Array]
    mirror: dict[str, Array]
    needed: dict[str, Array]

    def interval(self, sentence: str, axis: str) -> Interval:
        """Geometric means that the sentence is about and the ends of their intervals, (kappas it names, sigmas)."""
        arguments.choice("axis", axis, AXES)
        if arguments.choice("sentence", sentence, SENTENCES) == "mirrors":
            found = self.mirror[axis]
        else:
            small = self.kappas == self.kappas.min()
            found = self.gain[axis][small if sentence == "no advantage" else self.kappas >= ILL]
        return Interval(*map(np.exp, log_interval(found)))

    def verdicts(self, sentence: str, axis: str) -> list[str]:
        """For each sigma: "holds" where every interval is on the sentence's side, "fails" where one is on the other."""
        _, low, high = self.interval(sentence, axis)
        if sentence == "much faster":
            good, bad = (low >= MUCH_FASTER).all(axis=0), (high < MUCH_FASTER).any(axis=0)
        else:
            bound = MIRRORS if sentence == "mirrors" else NO_ADVANTAGE
            least = 1 / MIRRORS if sentence == "mirrors" else 0.0
            good = ((high <= bound) & (low >= least)).all(axis=0)
            bad = ((low > bound) | (high < least)).any(axis=0)
        return [
            HOLDS if g else FAILS if b else OPEN for g, b in zip(np.atleast_1d(good), np.atleast_1d(bad), strict=True)
        ]


def contrast(
    kappas: ArrayLike, courses: dict[str, Array], first: ArrayLike, *, noise: float, level: float, descent: ArrayLike
) -> Contrast:
    """Both axes of the courses of ``course_grid``.

    Parameters
    ----------
    kappas : array (kappas,)
        Of the courses.
    courses : dict of arrays (T + 1, kappas, sigmas, seeds)
        Excess losses over their start.
    first : array (kappas, sigmas, seeds)
        Those starts.
    noise : float
        What label noise adds to every loss, positive.
    level : float
        Of the excess, in units of its start.
    descent : array (kappas, seeds)
        Stages that plain descent needs to the level, from longer runs: they do not depend on sigma.
    """
    start, added = np.asarray(first, dtype=float), arguments.one("noise", arguments.positive("noise", noise))
    errors = {name: courses[name] * start + added for name in METHODS}
    last = len(courses["stacking"])
    needed = {name: np.minimum(first_below(courses[name], level), last) for name in METHODS}
    needed["gd"] = np.broadcast_to(np.asarray(descent, dtype=float)[:, None], start.shape)
    apart = np.minimum(errors["stacking"] / errors["nesterov"], LARGEST)
    return Contrast(
        arguments.finite("kappas", kappas),
        {"loss": (errors["gd"] / errors["stacking"])[2:].max(axis=0), "stages": needed["gd"] / needed["stacking"]},
        {"loss": np.maximum(apart, 1 / apart).max(axis=0), "stages": needed["stacking"] / needed["nesterov"]},
        needed,
    )
