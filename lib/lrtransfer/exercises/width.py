"""Answers of the Width chapter."""

from __future__ import annotations

import numpy as np

from lrtransfer import width
from lrtransfer.exercises.answers import Answer, Slip
from lrtransfer.numerics.arrays import Array

ONE = np.ones((1, 1)), np.ones(1)
"""One input, one target, both one."""


def _second_moment(target: float, squared_norm: float, d: int) -> float:
    """The limit of n E phi_2^2 at two layers and one sample, (y |x|^2)^2 E f^2 with E f^2 = |x|^2 / d."""
    limit = width.limit_lr(np.full((1, d), np.sqrt(squared_norm / d)), np.array([target]), 1)
    kernel = 1 / limit  # |x|^2 / d
    return float((target * kernel) ** 2 * target**2 * kernel)


def _left_over() -> float:
    X, y = np.sqrt(3.0) * np.diag(np.sqrt([1.0, 2.0, 3.0])), np.ones(3)  # K = diag(1, 2, 3)
    return float(width.training_loss(width.optimal_lr(np.inf, X, y, 2, seed=0), np.inf, X, y, 2, 1, seed=0)[1])


def _coarsest() -> float:
    ratio = np.linspace(0.5, 2.0, 601)
    return float(ratio[np.argmax(width.grid_rms(ratio, 1.0) > 1.05)])


def _ends(q: float) -> Array:
    """The limit of NTP's rate from starts along either input, m = 2, L = 3, d = 2."""
    X = np.sqrt(2.0) * np.diag([1.0, q])
    return np.sort(width.sp_limit_lr(X, np.zeros(2), 3, np.eye(2)))


def _relative(layers: int) -> float:
    return float(width.limit_spread(*ONE, layers) / width.limit_lr(*ONE, layers))


def _power_of_depth() -> float:
    """The local power of L in the width that is needed, carried on in 1/L to infinite depth."""
    power = np.diff(np.log2([_relative(2**k) ** 2 for k in (7, 8, 9)]))
    return float(2 * power[1] - power[0])


def _two_step_rate() -> float:
    """Best rate of two steps at L = 1 for eigenvalues 1 and 1/4 of Sigma / d with equal parts of the loss."""
    # Inputs of the lengths 1 and 1/2 along the axes, in units in which Sigma / d has these eigenvalues.
    X, y = 2.0 * np.diag([1.0, 0.5]), np.ones(2)
    rates = np.linspace(1.0, 2.0, 100_001)
    misfit = width.two_step_form(rates, X, y, 1) @ X.T - y
    return float(rates[np.argmin((misfit**2).sum(axis=1))])


def _product_moments(count: int) -> Array:
    """q'(W_1'W_2'W_2W_1)^k q at infinite width, k = 1 .. count."""
    low, middle, high = (width.Rotated(np.inf) for _ in range(3))
    first, second = width.LazyGaussian(middle, low, seed=0), width.LazyGaussian(high, middle, seed=1)
    start = v = low.fresh(np.random.default_rng(0), 1)[0]
    moments = []
    for _ in range(count):
        v = first.rmatvec(second.rmatvec(second.matvec(first.matvec(v))))
        moments.append(float(start @ v[: len(start)]))
    return np.array(moments)


ANSWERS = {
    "width.1": Answer(
        "the limit for target 3 and one input of squared norm 2 in four dimensions",
        lambda: _second_moment(3.0, 2.0, 4),
        tolerance=0.001,
        slips=(Slip(lambda: _second_moment(3.0, 2.0, 1), "That leaves out the dimension of the input."),),
    ),
    "width.2": Answer(
        "the loss after one step at the best rate, for K = diag(1, 2, 3) and y = (1, 1, 1)",
        _left_over,
        tolerance=0.01,
        slips=(
            Slip(lambda: 0.5, "That is the loss before the step."),
            Slip(lambda: 2 * _left_over(), "The loss carries the factor 1/2."),
            Slip(lambda: 3 * _left_over(), "The loss is a mean over the samples."),
        ),
    ),
    "width.3": Answer("the coarsest spacing, in units of c / sqrt(n)", _coarsest, tolerance=0.03),
    "width.4": Answer(
        "the smallest and the largest limit for q = 2 at L = 3",
        lambda: _ends(2.0),
        tolerance=0.001,
        slips=(Slip(lambda: 3 * _ends(2.0), "Each of the layers trains."),),
    ),
    "width.5": Answer(
        "the power of the depth with which the width must grow when the depth is large",
        _power_of_depth,
        tolerance=0.02,
        slips=(Slip(lambda: 1.0, "That is the power at small depth."),),
    ),
    "width.6": Answer(
        "the width for one per cent at three hidden layers, and the spacing of (b) in units of the limit's rate",
        lambda: [100 * _relative(3) ** 2, 2 * _relative(3) / np.sqrt(1000.0)],
        tolerance=0.02,
    ),
    "width.7": Answer(
        "the best rate for the eigenvalues 1 and 1/4 with equal parts of the loss",
        _two_step_rate,
        tolerance=0.002,
        slips=(Slip(lambda: 20 / 17, "That is the best rate of one step."),),
    ),
    "width.8": Answer(
        "the first four moments for the product of two square matrices",
        lambda: _product_moments(4),
        tolerance=0.02,
        slips=(Slip(lambda: [1, 2, 5, 14], "Those are the moments for one matrix."),),
    ),
}
"""By number, in the order of the page."""
