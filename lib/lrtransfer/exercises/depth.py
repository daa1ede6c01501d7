"""Answers of the Depth chapter."""

from __future__ import annotations

import numpy as np

from lrtransfer import depth
from lrtransfer.depth import experiments
from lrtransfer.exercises.answers import Answer, Slip
from lrtransfer.numerics import fits
from lrtransfer.numerics.arrays import Array

UNITS = {"r": 2.0, "mu_xx": 1.0}
"""The data of depth.6 before the change of units."""


def _sharpest() -> float:
    return float(np.linalg.eigvalsh(depth.full_hessian(np.array([4.0, 1.0, 1.0, 0.25]), mu_yx=1.0))[-1])


def _drift_exponent() -> float:
    start, rates = np.array([0.6, 0.8, 1.0, 1.1]), 0.005 / 2.0 ** np.arange(3)
    paths = [depth.conserved(depth.full_gradient_descent(lr, start, round(4.8 / lr), mu_yx=2.0)) for lr in rates]
    return float(fits.power_law(rates, [np.abs(path[-1] - path[0]).max() for path in paths]).slope)


def _window() -> Array:
    targets = np.geomspace(0.02, 8, 801)
    reached = experiments.targets_reached(4, 128, targets)
    middle = int(np.argmin(np.abs(np.log(targets))))
    return np.array(
        [targets[middle - np.argmin(reached[middle::-1]) + 1], targets[middle + np.argmin(reached[middle:]) - 1]]
    )


def _unit_factor(size: int) -> float:
    after = depth.max_stable_lr(size, UNITS["r"] / 1000, mu_xx=1e6 * UNITS["mu_xx"])
    return float(after / depth.max_stable_lr(size, UNITS["r"], mu_xx=UNITS["mu_xx"]))


def _wait(alpha0: float) -> float:
    return float(depth.time_to_reach(0.5, alpha0, 4))


def _two_rates() -> Array:
    rule = depth.fit_transfer([2, 8], [0.2, 0.1])
    return np.array([np.sqrt(rule.rho), float(rule.lr(64))])


ANSWERS = {
    "depth.1": Answer(
        "the sharpness of the minimum with weights 4, 1, 1, 1/4, for second moment 1",
        _sharpest,
        tolerance=0.001,
        slips=(Slip(lambda: depth.sharpness(4, 1.0), "That is the balanced minimum."),),
    ),
    "depth.2": Answer("the power of the rate with which the drift goes to zero", _drift_exponent, 0.05),
    "depth.3": Answer(
        "the rate for 64 blocks",
        lambda: depth.transfer_lr(0.1, 8, 64, 2.0, arch="residual1"),
        tolerance=0.001,
        slips=(
            Slip(lambda: 0.1, "That is the constant rule, which does not know the data."),
            Slip(lambda: depth.transfer_lr(0.1, 8, 64, 2.0), "That is the rule of the chain, not of this network."),
        ),
    ),
    "depth.4": Answer(
        "the coefficient of the cube at depth 6",
        lambda: depth.flip_coefficient(6),
        tolerance=0.001,
        slips=(Slip(lambda: depth.flip_coefficient(4), "That is the coefficient at depth 4."),),
    ),
    "depth.5": Answer("the smallest and the largest such target around 1", _window, tolerance=0.05),
    "depth.6": Answer(
        "the factor at depth 3",
        lambda: _unit_factor(3),
        tolerance=0.001,
        slips=(
            Slip(lambda: 1e-6, "That is what the second moment of the input alone does: the target changes too."),
            Slip(lambda: 1e2, "That is the factor for the units of before."),
        ),
    ),
    "depth.7": Answer(
        "the factor by which the wait at depth 4 grows",
        lambda: _wait(1e-5) / _wait(1e-3),
        tolerance=0.02,
        slips=(Slip(lambda: 100.0, "That is the factor of an infinitely deep network."),),
    ),
    "depth.8": Answer(
        "the target r, and the rate at depth 64",
        _two_rates,
        tolerance=0.01,
        slips=(
            Slip(lambda: _two_rates() ** np.array([2, 1]), "The constant of the fit is the square of the target."),
            Slip(lambda: [_two_rates()[0], 0.1 / 8], "The rate is that of the rule 1/L, tuned at depth 8."),
        ),
    ),
    "depth.9": Answer(
        "the edge in 1/tau at depth 8 with momentum 0.9",
        lambda: depth.momentum_edge(8, 0.9),
        tolerance=0.01,
        slips=(Slip(lambda: 2.0, "That is the edge without momentum."),),
    ),
}
"""By number, in the order of the page."""
