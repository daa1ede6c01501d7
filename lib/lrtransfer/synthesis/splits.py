"""Residual networks whose blocks share a budget for the rate unevenly: the loss after every step, against the split.

Block l trains at eta (1 + delta s_l), where the pattern s sums to zero over the blocks: the sum of the rates is that of
equal ones. Read-in and readout keep eta.

    "halves"      +1 in the lower half of the blocks, -1 in the upper
    "neighbours"  +1 and -1 in turn

Both are even: exchanging up and down exchanges delta and -delta in the law of a linear network, whose balanced point
is therefore stationary on average; nothing says so with ReLU.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lrtransfer.numerics.arguments import choice, count, refuse
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.estimates import Estimate
from lrtransfer.synthesis.network import Batch, Blocks, finite_or_inf, quick

PATTERNS = ("halves", "neighbours")


def pattern(name: str, depth: int) -> Array:
    """The pattern s (L,) by its name, see the module; L even."""
    choice("name", name, PATTERNS)
    if count("depth", depth, minimum=2) % 2:
        raise refuse("depth", depth, "even")
    if name == "halves":
        return np.repeat([1.0, -1.0], depth // 2)
    return np.tile([1.0, -1.0], depth // 2)


def split_losses(
    net: Blocks,
    lr: float,
    factors: Array,
    problems: Sequence[tuple[NDArray[np.float32], NDArray[np.generic]]],
    seeds: Sequence[int],
    steps: Sequence[int],
    *,
    outputs: int = 1,
) -> Array:
    """Training losses after given numbers of full-batch steps, (steps, splits, seeds); inf where a run overflowed.

    Parameters
    ----------
    net, lr
        the network and its base rate
    factors
        on the rates of the blocks, (splits, L)
    problems
        inputs (P, D) and targets or labels (P,) of every seed
    seeds
        of the weights
    steps
        after which steps the loss is measured, rising
    outputs
        of the network
    """
    import torch

    runs, found = len(factors), []
    rates, shares = torch.full((runs,), lr), torch.tensor(np.asarray(factors), dtype=torch.float32)
    with quick():
        for seed, pair in zip(seeds, problems, strict=True):
            x, y = (torch.tensor(part).expand(runs, *part.shape) for part in pair)
            batch = Batch(net, [seed] * runs, x.shape[2], outputs)
            row = []
            for t in range(max(steps) + 1):
                if t in steps:
                    row.append(finite_or_inf(batch.losses(x, y)))
                if t < max(steps):
                    batch.step(x, y, rates, shares)
            found.append(row)
    return np.moveaxis(np.array(found), 0, -1)


@dataclass(frozen=True)
class SplitCourse:
    """What an uneven split does after given steps, over seeds; each an ``Estimate`` of arrays (steps,).

    With l(delta) the log of a seed's loss:

    Attributes
    ----------
    loss
        l(0)
    curvature
        (l(d) + l(-d) - 2 l(0)) / d^2: positive where equal rates are better than the mean of the two splits
    tilt
        (l(d) - l(-d)) / (2 d): negative where the lower blocks want the larger rate
    upper, lower
        l(d) - l(0) and l(-d) - l(0)
    """

    loss: Estimate
    curvature: Estimate
    tilt: Estimate
    upper: Estimate
    lower: Estimate


def split_course(losses: Array, split: float) -> SplitCourse:
    """Statistics of ``split_losses`` at the splits 0, d and -d, (steps, 3, seeds): differences within each seed."""
    with np.errstate(invalid="ignore"):
        even, up, down = np.moveaxis(np.log(losses), 1, 0)
        parts = even, (up + down - 2 * even) / split**2, (up - down) / (2 * split), up - even, down - even
    return SplitCourse(*(Estimate.of(np.where(np.isnan(part), np.inf, part)) for part in parts))
