"""Answers of the Residual chapter."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from lrtransfer import residual
from lrtransfer.exercises.answers import Answer, Slip, sealed
from lrtransfer.numerics.arrays import Array

WHERE = ("below the best rate", "near the largest stable rate", "equally everywhere")


def _stream(depth: int) -> float:
    """Mean square of the last stream over the first, at the exponent 1/2."""
    kernel = residual.relu_profile(1.0, depth=depth).H
    return float(kernel[-1] / kernel[0])


def _knobs(shift: float, optimiser: str) -> Array:
    """Exponents of L that undo a factor L^-shift on the branches: of the first weights, and of the rate.

    With W = L^shift V the network in V is the one before. A gradient in W is L^-shift times that in V, so a step of
    gradient descent in V needs L^(2 shift) times the rate in W; Adam's steps have no size of the gradient in them.
    """
    return np.array([shift, 2 * shift if optimiser == "sgd" else shift])


def _octaves() -> Array:
    kernels = [residual.linear_ntk(np.array([3, 24]), a) for a in (0.5, 0.0, 1.0)]
    return np.array([-np.log2(kernel[1] / kernel[0]) for kernel in kernels])


def _shares() -> Array:
    parts = [float(residual.relu_ntk(1.0, layers=(name,))) for name in ("read_in", "hidden", "readout")]
    return np.array(parts) / sum(parts)


def _adam_exponent(branch: float) -> float:
    """L blocks move the stream by L^-branch each, in one direction: L^(1 - branch) is what the rate must undo."""
    blocks, size = 16, 16.0**-branch
    return -math.log(blocks * size) / math.log(blocks)


def _seeds(scatter: float) -> int:
    return math.ceil(2 * (3 * scatter / 0.5) ** 2)


ANSWERS = {
    "residual.2": Answer(
        "where common random numbers help", partial(sealed, "residual.2", WHERE, "406b2b1c"), options=WHERE
    ),
    "residual.3": Answer(
        "the ratio for 16 blocks at the exponent 1/2",
        lambda: _stream(16),
        tolerance=0.001,
        slips=(
            Slip(lambda: math.exp(0.5), "That is the limit of infinite depth."),
            Slip(lambda: (1 + 1 / 16) ** 16, "The units are ReLU: half of the mean square is passed on."),
        ),
    ),
    "residual.4": Answer(
        "the exponents of L: of the standard deviation, of SGD's rate, of Adam's rate",
        lambda: [*_knobs(0.5, "sgd"), _knobs(0.5, "adam")[1]],
        tolerance=0.001,
        absolute=0.001,
        slips=(Slip(lambda: [0.5, 0.5, 0.5], "The gradient brings the multiplier a second time."),),
    ),
    "residual.6": Answer(
        "the exponent c of the factor L^c on the blocks' rate, for branches times 1/sqrt(L)",
        lambda: _adam_exponent(0.5),
        tolerance=0.001,
        absolute=0.001,
        slips=(
            Slip(lambda: 0.0, "At the plain rate Adam needs branches times 1/L."),
            Slip(lambda: 0.5, "The rate must fall with depth."),
        ),
    ),
    "residual.7": Answer(
        "the move of 1/K from 3 to 24 blocks in octaves, for branches times 1/sqrt(L), 1 and 1/L",
        _octaves,
        tolerance=0.01,
        slips=(Slip(lambda: -_octaves(), "The rate is one over the kernel."),),
    ),
    "residual.8": Answer("the shares of read-in, blocks and read-out", _shares, tolerance=0.001),
    "residual.9": Answer(
        "the number of seeds for a scatter of 0.4 octaves",
        lambda: _seeds(0.4),
        tolerance=0.001,
        slips=(Slip(lambda: math.ceil((3 * 0.4 / 0.5) ** 2), "Both depths have an error."),),
    ),
}
"""By number, in the order of the page."""
