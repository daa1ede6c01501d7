"""Where the recorded runs of the synthesis are read, or a few small ones made in their place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.estimates import Estimate
from lrtransfer.sweeps.recorder import Recipe, record, recorded
from lrtransfer.synthesis.recorded import (
    RECIPES,
    GrowthSettings,
    ScaleSettings,
    SplitSettings,
    growth_recipe,
    scale_recipe,
    split_recipe,
)
from lrtransfer.synthesis.scales import Family
from lrtransfer.synthesis.splits import SplitCourse


def read_scales(
    recipes: Sequence[Recipe] = RECIPES[:2], *, folder: str | Path | None = None
) -> dict[str, dict[tuple[float, int], tuple[Array, Array]]] | None:
    """The records ``synthesis-scales`` and ``synthesis-scales-two``, or those of other recipes of ``scale_recipe``.

    Returns
    -------
    dict or None
        by the family's name, then by scale and depth: rates (rates,) and losses (rates, seeds) in units of s^2. None
        where only the package is installed. Raises ``DamagedRecord`` as ``sweeps.recorder.recorded`` does.
    """
    found = {}
    for recipe in recipes:
        entry = recorded(recipe, folder=folder)
        if entry is None:
            return None
        losses = iter(entry["numbers"]["losses"])
        for fields_of in entry["settings"]["families"]:
            family = Family(**fields_of)
            cells = [(scale, depth) for scale in family.scales for depth in family.depths]
            found[family.name] = {cell: (family.lrs(cell[0]), np.array(next(losses), dtype=float)) for cell in cells}
    return found


def read_growth(
    settings: GrowthSettings | None = None, *, folder: str | Path | None = None
) -> dict[tuple[float, int, str], tuple[Array, Array]] | None:
    """The record ``synthesis-growth``: by exponent, depth and way, rates (rates,) and losses (rates, seeds).

    None, and errors, as in ``read_scales``.
    """
    s = GrowthSettings() if settings is None else settings
    entry = recorded(growth_recipe(s), folder=folder)
    if entry is None:
        return None
    pairs = zip(s.cells, entry["numbers"]["losses"], strict=True)
    return {cell: (s.lrs(cell[0]), np.array(losses, dtype=float)) for cell, losses in pairs}


def read_splits(
    settings: SplitSettings | None = None, *, folder: str | Path | None = None
) -> dict[tuple[str, str, float, int, str], SplitCourse] | None:
    """The record ``synthesis-splits``: courses by activation, loss, rate, depth and pattern.

    None, and errors, as in ``read_scales``.
    """
    s = SplitSettings() if settings is None else settings
    entry = recorded(split_recipe(s), folder=folder)
    if entry is None:
        return None
    courses = {}
    for (activation, loss, lr, depth, seeds, name), kept in zip(s.cells, entry["numbers"]["courses"], strict=True):
        parts = {key: Estimate(np.array(pair[0]), np.array(pair[1]), seeds) for key, pair in kept.items()}
        courses[activation, loss, lr, depth, name] = SplitCourse(**parts)
    return courses


SMALL_SCALES = (
    scale_recipe(
        ScaleSettings(
            width=16,
            seeds=(0, 1),
            families=(
                Family("one layer a block", 1, 0.5, (2, 4, 8), (1.0, 4.0), -2.4, 2, 11),
                Family("branches not scaled", 1, 0.0, (2, 4, 8), (1.0, 4.0), -6.0, 2, 14),
            ),
        )
    ),
    scale_recipe(
        ScaleSettings(
            width=16,
            seeds=(0, 1),
            families=(Family("two layers a block", 2, 0.5, (2, 4, 8), (1.0, 4.0), -2.4, 2, 11),),
        ),
        "synthesis-scales-two",
    ),
)
SMALL_GROWTH = GrowthSettings(width=16, steps=8, seeds=(0, 1), depths=((4, 8, 12), (4, 8, 12)))
SMALL_SPLITS = SplitSettings(
    width=16,
    steps=(1, 2, 4, 8, 16),
    cases=tuple((activation, loss, lr, depths, 8) for activation, loss, lr, depths, _ in SplitSettings().cases),
)


def scales() -> tuple[dict[str, dict[tuple[float, int], tuple[Array, Array]]], str]:
    """``read_scales``, or where there is no record a few small runs made here; and a sentence that says which."""
    return recorded_or_made(lambda folder: read_scales(folder=folder), SMALL_SCALES, RECIPES[:2], read_scales)


def growth() -> tuple[dict[tuple[float, int, str], tuple[Array, Array]], str]:
    """``read_growth``, or a few small runs; as ``scales``."""
    made = (growth_recipe(SMALL_GROWTH),)
    return recorded_or_made(
        lambda folder: read_growth(folder=folder),
        made,
        RECIPES[2:3],
        lambda _, folder: read_growth(SMALL_GROWTH, folder=folder),
    )


def splits() -> tuple[dict[tuple[str, str, float, int, str], SplitCourse], tuple[int, ...], str]:
    """``read_splits``, or a few small runs, as ``scales``; between the two the steps at which losses were taken."""
    made = (split_recipe(SMALL_SPLITS),)
    found, words = recorded_or_made(
        lambda folder: read_splits(folder=folder),
        made,
        RECIPES[3:],
        lambda _, folder: read_splits(SMALL_SPLITS, folder=folder),
    )
    for settings in (SplitSettings(), SMALL_SPLITS):
        if len(settings.steps) == len(next(iter(found.values())).loss.value):
            return found, settings.steps, words
    raise AssertionError("the record has other steps than its settings")


def recorded_or_made(
    read: Callable[[Path | None], Any],
    small: Sequence[Recipe],
    recipes: Sequence[Recipe],
    read_small: Callable[..., Any],
) -> tuple[Any, str]:
    """What ``read`` finds in the records of ``recipes``, or ``read_small`` after ``small``; and which it was."""
    found = read(None)
    if found is not None:
        entries = [entry for recipe in recipes if (entry := recorded(recipe)) is not None]
        names = " and ".join(f"`{entry['name']}`" for entry in entries)
        seconds, last = sum(entry["seconds"] for entry in entries), entries[-1]
        return found, f"Recorded: {names}, {last['date']}, {seconds / 60:.1f} minutes on {last['machine']}."
    with TemporaryDirectory() as folder:
        for recipe in small:
            record(recipe, folder=folder, runs=Path(folder) / "runs", device="cpu")
        return read_small(small, folder=folder), "No record is at hand: what follows are a few small runs, made here."
