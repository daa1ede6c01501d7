"""Answers of the page *Your own network*."""

from __future__ import annotations

from functools import partial

from lrtransfer.exercises.answers import Answer, Slip, sealed
from lrtransfer.practice.rules import rule

FOUND = ("the old losses", "new losses, and the old ones are lost", "new losses, and the old ones stay")


def _octaves() -> list[float]:
    """Factors of the block matrices' rate and decay from width 256 to 2048 and depth 6 to 24, and the multiplier."""
    rate = rule("block", "adam", fan_in=8, fan_out=8, depth=4).lr
    return [rate, 1 / rate, 4.0**-1]


ANSWERS = {
    "practice.1": Answer(
        "the factors of the block matrices' rate and of their decay, and the multiplier of the branches",
        _octaves,
        tolerance=0.001,
        slips=(
            Slip(lambda: [1 / 8, 1, 1 / 4], "Decay is multiplied by the rate, and their product should not change."),
            Slip(lambda: [1 / 32, 32, 1 / 4], "With this multiplier the depth leaves Adam's rates alone."),
        ),
    ),
    "practice.3": Answer(
        "the multiplier of a tied head at width 1024, for a base of width 64",
        lambda: 64 / 1024,
        tolerance=0.001,
        slips=(Slip(lambda: (64 / 1024) ** 0.5, "That suits random weights; after an update all terms agree."),),
    ),
    "practice.4": Answer(
        "the power of the depth in the output's change, branches times one over its root",
        lambda: 0.5,
        tolerance=0.05,
        slips=(Slip(lambda: 1.0, "That leaves out the multiplier of the branches."),),
    ),
    "practice.5": Answer(
        "the power of the batch in the output's change, SGD on a sum",
        lambda: 1.0,
        tolerance=0.05,
        slips=(Slip(lambda: 0.5, "That is how noise adds; the gradient of a sum is a sum of terms that agree."),),
    ),
    "practice.7": Answer(
        "what the second training is handed", partial(sealed, "practice.7", FOUND, "8e8d3b7b"), options=FOUND
    ),
}
"""By number, in the order of the page."""
