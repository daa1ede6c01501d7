"""The recorded runs of the synthesis: how they are made. ``results`` reads them.

``lrtransfer record synthesis-NAME`` makes one of them again.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from functools import partial
from typing import Any

import numpy as np

from lrtransfer.images.catalogue import load
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.random import stream
from lrtransfer.sweeps.recorder import Recipe, Sitting
from lrtransfer.synthesis.growing import WAYS, train_grown
from lrtransfer.synthesis.network import Blocks
from lrtransfer.synthesis.scales import Family, teacher, train_scale
from lrtransfer.synthesis.splits import PATTERNS, pattern, split_course, split_losses

MINUTES = 3.0  # of one core, for the longest of these records
DIGITS = 5  # significant digits of a recorded loss


def rounded(values: Array) -> list[Any]:
    """An array as lists, to ``DIGITS`` significant digits."""
    return np.vectorize(lambda v: float(f"{v:.{DIGITS}g}"), otypes=[float])(values).tolist()


@dataclass(frozen=True)
class ScaleSettings:
    """What the records ``synthesis-scales`` and ``synthesis-scales-two`` depend on; trial runs had the seeds 0 to 3."""

    width: int = 32
    steps: int = 40
    points: int = 64
    dim: int = 16
    seeds: tuple[int, ...] = tuple(range(100, 110))
    families: tuple[Family, ...] = (
        Family("one layer a block", 1, 0.5, (2, 4, 8, 24), (0.25, 1.0, 4.0, 16.0), -1.6, 4, 18, 1.4),
        Family("branches not scaled", 1, 0.0, (2, 4, 8, 16), (1.0, 4.0), -9.5, 2, 23),
    )


TWO_LAYERS = ScaleSettings(
    families=(Family("two layers a block", 2, 0.5, (2, 4, 8, 24), (0.25, 1.0, 4.0, 16.0), -1.6, 4, 18, 1.4),)
)


def scale_recipe(settings: ScaleSettings, name: str = "synthesis-scales") -> Recipe:
    """The record of targets of several scales."""

    def make(sitting: Sitting) -> dict[str, Any]:
        s, losses = settings, []
        cells = [(f, scale, depth) for f in s.families for scale in f.scales for depth in f.depths]
        for done, (family, scale, depth) in enumerate(cells):
            net = Blocks(width=s.width, depth=depth, branch=family.branch, layers=family.layers)

            def compute(family: Family = family, scale: float = scale, net: Blocks = net) -> list[Any]:
                train = partial(train_scale, steps=s.steps, points=s.points, dim=s.dim)
                return rounded(train(net, scale, family.lrs(scale), s.seeds))

            losses.append(sitting.part(f"cell{done}", compute))
            sitting.tell((done + 1) / len(cells))
        return {"losses": losses}

    what = "residual networks on targets of several scales, over rates and depths"
    return Recipe(name, what, asdict(settings), make, packages=("numpy", "torch"), minutes=MINUTES)


@dataclass(frozen=True)
class GrowthSettings:
    """What ``synthesis-growth`` depends on; seeds other than those it was tried out with, 0 to 2."""

    width: int = 32
    stages: int = 4
    steps: int = 10
    batch: int = 64
    points: int = 600
    data: str = "digits"
    seeds: tuple[int, ...] = tuple(range(200, 212))
    branches: tuple[float, ...] = (0.5, 0.0)
    depths: tuple[tuple[int, ...], ...] = ((4, 8, 16, 24), (4, 8, 12, 16))
    octaves: tuple[tuple[float, float], ...] = ((-1.5, 3.0), (-6.0, 1.5))

    def lrs(self, branch: float) -> Array:
        """The rates (rates,) for an exponent of the branch multiplier, half an octave apart."""
        low, high = self.octaves[self.branches.index(branch)]
        return np.asarray(2.0 ** np.arange(low, high + 0.25, 0.5))

    @property
    def cells(self) -> list[tuple[float, int, str]]:
        """Exponent, depth and way of every sweep."""
        rows = zip(self.branches, self.depths, strict=True)
        return [(branch, depth, way) for branch, depths in rows for depth in depths for way in WAYS]


def growth_recipe(settings: GrowthSettings, name: str = "synthesis-growth") -> Recipe:
    """The record of networks that grow, and of those trained at full depth."""

    def make(sitting: Sitting) -> dict[str, Any]:
        s, losses, data = settings, [], load(settings.data)
        train = partial(train_grown, stages=s.stages, steps=s.steps, batch=s.batch, points=s.points)
        for done, (branch, depth, way) in enumerate(s.cells):
            net = Blocks(width=s.width, depth=depth, branch=branch, loss="cross-entropy")
            run = partial(train, net, way, s.lrs(branch), s.seeds, data)
            losses.append(sitting.part(f"cell{done}", lambda run=run: rounded(run())))  # type: ignore[misc]
            sitting.tell((done + 1) / len(s.cells))
        return {"losses": losses}

    what = "residual networks on digits, grown in stages and trained at full depth, over rates and depths"
    return Recipe(name, what, asdict(settings), make, packages=("numpy", "torch"), minutes=MINUTES)


@dataclass(frozen=True)
class SplitSettings:
    """What ``synthesis-splits`` depends on; seeds other than those it was tried out with, 0 to 15.

    ``cases``: activation and loss, base rate, depths, number of seeds.
    """

    width: int = 32
    split: float = 0.5
    points: int = 64
    dim: int = 16
    images: int = 128
    steps: tuple[int, ...] = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32)
    first_seed: int = 300
    cases: tuple[tuple[str, str, float, tuple[int, ...], int], ...] = (
        ("linear", "square", 0.05, (2, 8), 160),
        ("linear", "square", 0.2, (2, 8), 160),
        ("relu", "square", 0.2, (2, 8), 160),
        ("relu", "square", 0.5, (2, 8), 160),
        ("relu", "cross-entropy", 0.25, (8,), 64),
        ("relu", "cross-entropy", 1.0, (8,), 64),
    )

    @property
    def cells(self) -> list[tuple[str, str, float, int, int, str]]:
        """Activation, loss, rate, depth, seeds and pattern of every course; of two blocks the patterns are one."""
        return [
            (activation, loss, lr, depth, seeds, name)
            for activation, loss, lr, depths, seeds in self.cases
            for depth in depths
            for name in PATTERNS[: 1 if depth == 2 else None]
        ]


def split_recipe(settings: SplitSettings, name: str = "synthesis-splits") -> Recipe:
    """The record of blocks that share a budget unevenly: the statistics of ``split_course``, without the runs."""

    def compute(activation: str, loss: str, lr: float, depth: int, seeds: int, pattern_name: str) -> dict[str, Any]:
        s, numbers = settings, range(settings.first_seed, settings.first_seed + seeds)
        net = Blocks(width=s.width, depth=depth, activation=activation, loss=loss)
        factors = 1 + np.array([[0.0], [s.split], [-s.split]]) * pattern(pattern_name, depth)
        if loss == "square":
            problems: list[Any] = [teacher(seed, 1.0, s.points, s.dim) for seed in numbers]
            outputs = 1
        else:
            data = load("digits")
            rows = [stream(seed, 3).permutation(len(data.train_y))[: s.images] for seed in numbers]
            problems, outputs = [(data.train_x[row], data.train_y[row]) for row in rows], data.classes
        losses = split_losses(net, lr, factors, problems, numbers, s.steps, outputs=outputs)
        course = split_course(losses, s.split)
        names = [one.name for one in fields(course)]
        return {key: [rounded(part) for part in getattr(course, key)] for key in names}

    def make(sitting: Sitting) -> dict[str, Any]:
        courses = []
        for done, cell in enumerate(settings.cells):
            courses.append(sitting.part(f"cell{done}", lambda cell=cell: compute(*cell)))  # type: ignore[misc]
            sitting.tell((done + 1) / len(settings.cells))
        return {"courses": courses}

    what = "residual networks whose blocks share a budget for the rate unevenly, step by step"
    return Recipe(name, what, asdict(settings), make, packages=("numpy", "torch"), minutes=MINUTES)


RECIPES = (
    scale_recipe(ScaleSettings()),
    scale_recipe(TWO_LAYERS, "synthesis-scales-two"),
    growth_recipe(GrowthSettings()),
    split_recipe(SplitSettings()),
)
