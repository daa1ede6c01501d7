"""The opening experiment: what each preset trains, in one table, and the function that trains it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from lrtransfer._check import choice
from lrtransfer.residual.training import ResidualMLP, final_losses


@dataclass(frozen=True)
class DepthPreset:
    """A depth sweep: the network but for its depth and parametrisation, the depths, the seeds and the rates.

    ``grids``: for every parametrisation the lowest and highest log2 rate; ``octaves``: the step between
    rates.
    """

    network: ResidualMLP
    depths: tuple[int, ...]
    seeds: int
    octaves: float
    grids: dict[str, tuple[float, float]]


# Every grid holds all optima of its row, from the deepest network's to the border of divergence of the
# shallowest. smoke and book: no best rate on an edge, by best_lr. full: the ends checked with two seeds and
# coarser rates at depths 48 (all three) and 3 (sp). sp's rates fall with the width too, so its grid moves
# with the width.
DEPTH_PRESETS = {
    "smoke": DepthPreset(
        ResidualMLP(width=16, steps=20, batch=64, eval_points=300),
        depths=(2, 4, 8),
        seeds=2,
        octaves=1.0,
        grids={"sp": (-6, 4), "mup": (-5, 5), "mup_sqrt_depth": (-2, 5)},
    ),
    "book": DepthPreset(
        ResidualMLP(width=64, steps=40),
        depths=(3, 6, 12, 24),
        seeds=5,
        octaves=0.5,
        grids={"sp": (-11, 1), "mup": (-8, 3), "mup_sqrt_depth": (-2, 4)},
    ),
    "full": DepthPreset(
        ResidualMLP(width=256, steps=40),
        depths=(3, 6, 12, 24, 48),
        seeds=10,
        octaves=0.25,
        grids={"sp": (-21, 1), "mup": (-18, 3), "mup_sqrt_depth": (-2, 4)},
    ),
}


@dataclass(frozen=True)
class DepthCurves:
    """One parametrisation: ``lrs`` (lrs,) and final ``losses`` (depths, lrs, seeds), inf where diverged."""

    parametrisation: str
    lrs: NDArray[np.float64]
    losses: NDArray[np.float64]


@dataclass(frozen=True)
class DepthSweep:
    """Result of ``depth_sweep``: ``depths`` (depths,) and the curves of every parametrisation."""

    preset: str
    depths: NDArray[np.int64]
    curves: tuple[DepthCurves, ...]


def depth_sweep(
    preset: str = "book", *, device: str = "auto", progress: Callable[[int, int], None] | None = None
) -> DepthSweep:
    """Final loss against the rate, for residual MLPs of several depths in sp, mup and mup_sqrt_depth.

    ``preset``: "smoke", "book" or "full", a row of ``DEPTH_PRESETS``. ``device``: as in ``train_sweep``.
    ``progress(done, total)`` is called after every depth of every parametrisation.

    On one CPU thread smoke takes half a second and book 26 s of processor time, once torch and the images are
    loaded. On a shared machine set OMP_NUM_THREADS=1: with two threads on two busy cores book had used ten
    times that without finishing.

    Returns ``DepthSweep``; ``best_lr(curve.lrs, curve.losses[i])`` is the best rate at ``depths[i]``.
    Raises ``ValueError`` for an unknown preset or device. Source: Fig. 1 of the paper, in small.
    """
    row = DEPTH_PRESETS[choice("preset", preset, tuple(DEPTH_PRESETS))]
    total, curves = len(row.grids) * len(row.depths), []
    for place, (name, (low, high)) in enumerate(row.grids.items()):
        lrs = 2.0 ** np.arange(low, high + row.octaves / 2, row.octaves)  # (lrs,)
        losses = np.empty((len(row.depths), lrs.size, row.seeds))
        for i, depth in enumerate(row.depths):
            network = replace(row.network, depth=depth, parametrisation=name)
            losses[i] = final_losses(network, lrs, range(row.seeds), device=device)
            if progress is not None:
                progress(place * len(row.depths) + i + 1, total)
        curves.append(DepthCurves(name, lrs, losses))
    return DepthSweep(preset, np.array(row.depths), tuple(curves))
