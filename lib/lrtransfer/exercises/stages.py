"""Answers of the Stages chapter."""

from __future__ import annotations

import math
from functools import partial

import numpy as np
from scipy.optimize import minimize_scalar

from lrtransfer import stages
from lrtransfer.exercises.answers import Answer, Slip, sealed
from lrtransfer.numerics.arrays import Array
from lrtransfer.stages.functional import convex

SIDES = ("too early", "too late")
FAIR = ("equal learning rates", "each method at its own best rate")


def _push(before: float, now: float, beta: float) -> float:
    """What a copy adds to Nesterov's start, for numbers."""
    copied = (1 + beta * (now / before - 1)) * now
    return copied - (now + beta * (now - before))


def _best_step(kappa: float) -> float:
    modes = np.diag(np.geomspace(1 / kappa, 1, 6))
    found = minimize_scalar(
        lambda step: float(stages.additive_floor(modes, scale=1.0, step=step)), bounds=(0.5, 1.99), method="bounded"
    )
    return float(found.x)


def _annealed_power() -> float:
    variance, course, shrink = np.zeros(6), [], (1 - np.geomspace(0.1, 1, 6)) ** 2
    for t in range(1, 2001):
        variance = shrink * (variance + 1 / t**2)
        course.append(variance.sum())
    return float(stages.power_law(np.arange(1000, 2001), course[999:]).slope)


def _edge() -> float:
    """By runs: teacher diag(2, 1), covariance diag(1, 0.1), started next to the teacher."""
    teacher, covariance = np.diag([2.0, 1.0]), np.diag([1.0, 0.1])
    start, low, high = teacher + 1e-6, 0.1, 2.0
    for _ in range(12):
        middle = (low + high) / 2
        away = stages.last_layer_descent(teacher, covariance, 2000, step=middle, start=start)
        low, high = (middle, high) if away.max() < 1 and away[-1] < away[0] else (low, middle)
    return low


def _stages(kappa: float, fall: float) -> Array:
    """Stages that shrink the distance by so much in the long run: at zero, as a plain copy, with the best factor."""
    factors = stages.contraction([0.0, 1.0, float(stages.default_beta(kappa))], kappa)
    return np.log(fall) / np.log(factors)


ANSWERS = {
    "stages.1": Answer(
        "the powers of T of the quadratic's loss, with their signs: at zero, and with the growing factor",
        lambda: [convex.fit_exponent(convex.power_law_losses(name, 1000), 100).slope for name in ("zero", "schedule")],
        tolerance=0.05,
        slips=(Slip(lambda: [-1.0, -1.0], "The growing factor changes the order, a constant one does not."),),
    ),
    "stages.2": Answer(
        "the comparison that says what the copy is worth", partial(sealed, "stages.2", FAIR, "eabb9f81"), options=FAIR
    ),
    "stages.3": Answer(
        "the perturbation from 2 to 2.5 with factor 0.8",
        lambda: _push(2.0, 2.5, 0.8),
        tolerance=0.001,
        slips=(Slip(lambda: 0.8 * 0.5, "That is the momentum term, which both methods share."),),
    ),
    "stages.4": Answer(
        "the best step in units of 1/L for condition numbers 10 and 100",
        lambda: [_best_step(10.0), _best_step(100.0)],
        tolerance=0.01,
        slips=(Slip(lambda: [2 / 1.1, 2 / 1.01], "Those steps make gradient descent fastest, not the floor lowest."),),
    ),
    "stages.5": Answer(
        "the power of t (with its sign)",
        _annealed_power,
        tolerance=0.02,
        slips=(Slip(lambda: -1.0, "The variance goes with the square of the scale."),),
    ),
    "stages.6": Answer(
        "the largest stable step for teacher diag(2, 1) and covariance diag(1, 0.1)",
        _edge,
        tolerance=0.005,
        slips=(Slip(lambda: 2.0, "That is the edge of the step in function space, 2/L."),),
    ),
    "stages.7": Answer(
        "when the rule ends the warm-up of a far teacher", partial(sealed, "stages.7", SIDES, "ea198a77"), options=SIDES
    ),
    "stages.8": Answer(
        "the number of seeds if the paired difference scatters by 0.02 nats",
        lambda: math.ceil((3 * 20 / 5) ** 2),
        tolerance=0.001,
    ),
    "stages.9": Answer(
        "the stages that shrink the distance a thousandfold at condition number 100: at zero, copy, best factor",
        lambda: _stages(100.0, 1e-3),
        tolerance=0.01,
        slips=(Slip(lambda: _stages(100.0, 1e-3) / 2, "That is for the loss, the square of the distance."),),
    ),
}
"""By number, in the order of the page."""
