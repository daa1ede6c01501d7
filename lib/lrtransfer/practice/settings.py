"""Settings of the language model of ``practice.language``: which network, which scaling, how long it is trained."""

from __future__ import annotations

from dataclasses import dataclass

from lrtransfer.numerics.arguments import choice

SCALINGS = ("sp", "groups")
BASE_WIDTH, BASE_DEPTH = 32, 2


@dataclass(frozen=True)
class LanguageModel:
    """A character model and its training, next to the base of ``BASE_WIDTH`` and ``BASE_DEPTH``.

    Attributes
    ----------
    width, depth, head_size
        of the stream, number of blocks, size of an attention head at every width
    scaling
        "sp": torch's first weights, one rate for all; "groups": ``initialise`` and ``parameter_groups``
    branch
        the exponent a of the branches' multiplier (depth / base depth)^-a, 0 for none
    steps, batch, length
        updates, windows in each, characters in a window
    warmup
        share of the steps in which the rate rises; it then falls to zero along a line
    weight_decay, epsilon
        of AdamW, the decay in units of the rate
    dropout
        share of every branch's entries that is dropped
    windows
        of held-out text, on which the final loss is measured
    """

    width: int = BASE_WIDTH
    depth: int = BASE_DEPTH
    scaling: str = "sp"
    branch: float = 0.0
    steps: int = 150
    batch: int = 8
    length: int = 32
    warmup: float = 0.1
    weight_decay: float = 0.0
    epsilon: float = 1e-8
    dropout: float = 0.0
    head_size: int = 16
    windows: int = 96

    def __post_init__(self) -> None:
        choice("scaling", self.scaling, SCALINGS)
