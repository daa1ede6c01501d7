"""Answers of the Synthesis page."""

from __future__ import annotations

import numpy as np

from lrtransfer import depth
from lrtransfer.exercises.answers import Answer, Slip
from lrtransfer.numerics.arrays import Array


def _moves(arch: str) -> float:
    return float(np.log2(depth.transfer_lr(1.0, 4, 32, 4.0, arch)))


def _spread(pair: tuple[int, int]) -> float:
    return 0.1 * float(depth.fit_transfer(pair, [1.0, 1.0], arch="residual1").amplification(24))


def _copied() -> Array:
    factor, blocks = 4.0 ** (1 / 8), np.array([8, 9])
    kernels = blocks * factor ** (2 * (blocks - 1)) / 8
    return np.array([factor**9, kernels[1] / kernels[0]])


ANSWERS = {
    "synthesis.1": Answer(
        "the largest rate at which the mode settles for h = 400",
        lambda: depth.stability_edge(2, 400**0.5, 400**-2.0),
        tolerance=0.001,
        slips=(
            Slip(lambda: 4000.0, "That is the rate of fastest approach, not the edge."),
            Slip(lambda: 400.0**2, "That takes the sharpness at the start: the network grows."),
        ),
    ),
    "synthesis.2": Answer(
        "the blocks' share of K at depth 8 and at infinite depth",
        lambda: [8 / (3 * 8 + 2), 1 / 3],
        tolerance=0.005,
        slips=(Slip(lambda: [8 / 10, 1.0], "That counts layers: read-in and readout weigh as much as all blocks."),),
    ),
    "synthesis.3": Answer(
        "log2 of the factor on the rate by Eq. 31 and by Eq. 37",
        lambda: [_moves("residual1"), _moves("residual2")],
        tolerance=0.005,
        slips=(Slip(lambda: [_moves("residual1"), 3.0], "That leaves the data out of the second."),),
    ),
    "synthesis.4": Answer(
        "the error in octaves, tuned at 2 and 4, and at 2 and 8",
        lambda: [_spread((2, 4)), _spread((2, 8))],
        tolerance=0.01,
    ),
    "synthesis.5": Answer(
        "the output, and the factor on the sharpness",
        _copied,
        tolerance=0.005,
        slips=(Slip(lambda: [16.0, 2.0], "That copies the whole network."),),
    ),
    "synthesis.6": Answer(
        "the factor on the edge, and that on the slowest direction's speed",
        lambda: [float(depth.momentum_edge(4, 0.8)) / 2, 1 / (1 - 0.8)],
        tolerance=0.02,
        slips=(
            Slip(lambda: [5.0, 5.0], "The sharpest direction alternates: it does not gain what the slow one does."),
        ),
    ),
}
"""By number, in the order of the page."""
