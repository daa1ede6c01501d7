"""Residual networks on targets of several scales: their losses over rates and depths, from linear teachers.

The target is y = s v.x / |v| with x standard normal in D dimensions, so that the slope of the best linear fit along
the teacher's direction is s: what the Depth chapter calls r. A small s leaves the features where they are, a large
one moves them: with one output the dynamics depend on the rate and on gamma_0 s alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.random import stream
from lrtransfer.synthesis.network import Batch, Blocks, finite_or_inf, quick


@dataclass(frozen=True)
class Family:
    """Networks that differ in depth alone, and the rates at which they are trained.

    Attributes
    ----------
    name
        in words
    layers, branch
        matrices in a block, and the exponent a of the branch multiplier L^-a
    depths, scales
        L, and the scales s of the target
    low, per_octave, count
        the lowest rate is 2^low at s = 1, with so many rates an octave, and so many in all
    slope
        how the lowest rate falls with the scale: by ``slope`` octaves for an octave of s
    """

    name: str
    layers: int
    branch: float
    depths: tuple[int, ...]
    scales: tuple[float, ...]
    low: float
    per_octave: int
    count: int
    slope: float = 1.3

    def lrs(self, scale: float) -> Array:
        """The rates (rates,) for a target of scale s."""
        low = self.low - self.slope * np.log2(scale)
        return np.asarray(2.0 ** (low + np.arange(self.count) / self.per_octave))


def teacher(seed: int, scale: float, points: int, dim: int) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Inputs (P, D) and targets (P,) of a seed: y = s v.x / |v|, the same inputs and direction at every scale."""
    random = stream(seed, 5)
    direction = random.standard_normal(dim)
    x = random.standard_normal((points, dim))
    y = scale * (x @ direction) / np.linalg.norm(direction)
    return x.astype(np.float32), y.astype(np.float32)


def train_scale(
    net: Blocks, scale: float, lrs: Array, seeds: Sequence[int], *, steps: int, points: int, dim: int
) -> Array:
    """Losses after full-batch descent, in units of s^2, (rates, seeds); inf where a run overflowed.

    In these units the loss of the zero function is 1/2 on average, and one floor serves targets of all scales.
    """
    import torch

    found, rates = [], torch.tensor(lrs, dtype=torch.float32)
    with quick():
        for seed in seeds:  # the rates of a seed fit in the cache
            x, y = (torch.from_numpy(part).expand(len(lrs), *part.shape) for part in teacher(seed, scale, points, dim))
            batch = Batch(net, [seed] * len(lrs), dim)
            for _ in range(steps):
                batch.step(x, y, rates)
            found.append(finite_or_inf(batch.losses(x, y)) / scale**2)
    return np.array(found).T
