"""Residual networks that grow: blocks are added in stages, as copies, at zero or at random, and everything trains on.

A network of L blocks starts with L / S of them; each of the S stages takes the same number of steps, and between two
stages L / S blocks are put on top: copies of the top L / S, blocks whose output is zero, or freshly drawn ones. The
branch multiplier is that of the grown network from the start, so that growth changes nothing that is there. "full"
trains all L blocks for as many steps. Seeds share weights and minibatches across rates, ways and depths.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from lrtransfer.images.dataset import Dataset
from lrtransfer.numerics.arguments import choice, refuse
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.random import stream
from lrtransfer.synthesis.network import Batch, Blocks, finite_or_inf, quick

if TYPE_CHECKING:
    from torch import Tensor

WAYS = ("full", "copy", "zero", "random")


def train_grown(
    net: Blocks,
    way: str,
    lrs: Array,
    seeds: Sequence[int],
    data: Dataset,
    *,
    stages: int = 4,
    steps: int = 10,
    batch: int = 64,
    points: int = 600,
) -> Array:
    """Final losses on the first ``points`` training images, (rates, seeds); inf where a run overflowed.

    Parameters
    ----------
    net
        the grown network, trained on cross-entropy
    way
        "full", or how new blocks start: "copy", "zero", "random"
    lrs
        base rates, (rates,), the same in all stages
    seeds
        one start and one order of minibatches each
    data
        images with labels
    stages, steps
        how many stages, a divisor of the depth, and how many steps in each
    batch, points
        images in a minibatch, and in the evaluation
    """
    import torch

    choice("way", way, WAYS)
    if net.depth % stages:
        raise refuse("stages", stages, f"a divisor of the depth, {net.depth}")
    share, rates = net.depth // stages, torch.tensor(lrs, dtype=torch.float32)
    x, y = torch.tensor(data.train_x), torch.tensor(data.train_y)
    found = []
    with quick():
        for seed in seeds:
            order = stream(seed, 3)
            runs = Batch(net, [seed] * len(lrs), x.shape[1], data.classes, blocks=None if way == "full" else share)
            for stage in range(stages):
                if stage and way != "full":
                    runs.grow(way, share)
                for _ in range(steps):
                    rows = torch.from_numpy(order.permutation(len(y))[:batch])
                    runs.step(_repeated(x[rows], len(lrs)), _repeated(y[rows], len(lrs)), rates)
            held = _repeated(x[:points], len(lrs)), _repeated(y[:points], len(lrs))
            found.append(finite_or_inf(runs.losses(*held)))
    return np.array(found).T


def _repeated(part: Tensor, runs: int) -> Tensor:
    """The same points for every run, without a copy: (R, ...)."""
    return part.expand(runs, *part.shape)
