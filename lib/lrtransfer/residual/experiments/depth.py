"""The opening experiment: residual MLPs over depth, in the three parametrisations that the first figure compares."""

from __future__ import annotations

from dataclasses import replace

from lrtransfer._check import choice
from lrtransfer.presets import PRESETS
from lrtransfer.residual.experiments.families import Family
from lrtransfer.residual.settings import ResidualMLP


def _rows(
    network: ResidualMLP, depths: tuple[int, ...], seeds: int, octaves: float, grids: dict[str, tuple[float, float]]
) -> tuple[Family, ...]:
    """One family for each parametrisation in ``grids``, which has its lowest and highest log2 rate."""
    return tuple(
        Family(name, replace(network, parametrisation=name), "depth", depths, (grid,), octaves, seeds)
        for name, grid in grids.items()
    )


# Every grid holds all optima of its row, from the deepest network's to the border of divergence of the
# shallowest. smoke and book: no best rate on an edge, by best_lr. full: the ends checked with two seeds and
# coarser rates at depths 48 (all three) and 3 (sp). sp's rates fall with the width too, so its grid moves
# with the width.
_FAMILIES = {
    "smoke": _rows(
        ResidualMLP(width=16, steps=20, batch=64, eval_points=300),
        depths=(2, 4, 8),
        seeds=2,
        octaves=1.0,
        grids={"sp": (-6, 4), "mup": (-5, 5), "mup_sqrt_depth": (-2, 5)},
    ),
    "book": _rows(
        ResidualMLP(width=64, steps=40),
        depths=(3, 6, 12, 24),
        seeds=5,
        octaves=0.5,
        grids={"sp": (-11, 1), "mup": (-8, 3), "mup_sqrt_depth": (-2, 4)},
    ),
    "full": _rows(
        ResidualMLP(width=256, steps=40),
        depths=(3, 6, 12, 24, 48),
        seeds=10,
        octaves=0.25,
        grids={"sp": (-21, 1), "mup": (-18, 3), "mup_sqrt_depth": (-2, 4)},
    ),
}


def depth_families(preset: str = "book") -> tuple[Family, ...]:
    """What the opening figure trains: one family over depth for each of sp, mup and mup_sqrt_depth, so named.

    ``preset``: "smoke", "book" or "full", which differ in width, depths and grids and so are no ``plan``.
    Raises ``ValueError`` for another preset. Source: Fig. 1 of the paper, in small.
    """
    return _FAMILIES[choice("preset", preset, PRESETS)]
