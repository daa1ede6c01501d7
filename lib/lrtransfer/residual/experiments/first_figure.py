"""The opening experiment: residual MLPs over depth, in the three parametrisations that the first figure compares."""

from __future__ import annotations

from dataclasses import replace

from lrtransfer.numerics.arguments import choice
from lrtransfer.page.scale import PRESETS
from lrtransfer.residual.experiments.families import Family
from lrtransfer.residual.networks.settings import ResidualMLP

# Number of seeds; octaves between the rates; lowest and highest log2 of them, one pair for all depths or one a depth.
Sweep = tuple[int, float, tuple[tuple[float, float], ...]]


def _rows(network: ResidualMLP, depths: tuple[int, ...], sweeps: dict[str, Sweep]) -> tuple[Family, ...]:
    """One family for each parametrisation in ``sweeps``."""
    return tuple(
        Family(name, replace(network, parametrisation=name), "depth", depths, windows, octaves, seeds)
        for name, (seeds, octaves, windows) in sweeps.items()
    )


# Every grid holds all optima of its row and reaches beyond the shallowest network's border of divergence. Unscaled
# branches move by octaves, which few seeds show; whether scaled ones stay within one takes more. smoke, book: no best
# rate on an edge, by best_lr. full: the ends checked with two seeds and coarser rates at depths 48 (all three) and 3
# (sp). sp's rates fall with the width too, so its grid moves with the width.
_FAMILIES = {
    "smoke": _rows(
        ResidualMLP(width=16, steps=20, batch=64, eval_points=300),
        depths=(2, 4, 8),
        sweeps={"sp": (2, 1.0, ((-6, 4),)), "mup": (2, 1.0, ((-5, 5),)), "mup_sqrt_depth": (2, 1.0, ((-2, 5),))},
    ),
    "book": _rows(
        ResidualMLP(width=64, steps=40),
        depths=(3, 6, 12, 24),
        sweeps={
            "sp": (6, 1.0, ((-3.5, 0.5), (-5, 0), (-7, 0), (-11, 0))),
            "mup": (6, 1.0, ((-2, 3), (-3, 2), (-5, 2), (-9, 2))),
            "mup_sqrt_depth": (9, 0.5, ((0, 3),)),
        },
    ),
    "full": _rows(
        ResidualMLP(width=256, steps=40),
        depths=(3, 6, 12, 24, 48),
        sweeps={
            "sp": (10, 0.25, ((-21, 1),)),
            "mup": (10, 0.25, ((-18, 3),)),
            "mup_sqrt_depth": (30, 0.25, ((-2, 4),)),
        },
    ),
}


def depth_families(preset: str = "book") -> tuple[Family, ...]:
    """What the opening figure trains: one family over depth for each of sp, mup and mup_sqrt_depth, so named.

    ``preset``: "smoke", "book" or "full", which differ in width, depths and grids and so are no ``plan``.
    Raises ``ValueError`` for another preset. Source: Fig. 1 of the paper, in small.
    """
    return _FAMILIES[choice("preset", preset, PRESETS)]
