"""The transformers grown in stages that are recorded under results/: how they are made, and where they are read.

``lrtransfer record stages-transformer`` takes about an hour and a half of one core, ``stages-transformer-short`` ten
minutes.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from lrtransfer.numerics.arguments import choice
from lrtransfer.stages.transformer.experiments import STAGES_PRESETS, StageComparison, StagesPreset, compare_starts
from lrtransfer.stages.transformer.settings import StagedTransformer
from lrtransfer.stages.transformer.text import topics
from lrtransfer.sweeps.recorder import Recipe, Sitting, recorded

RECORD, SHORT = "stages-transformer", "stages-transformer-short"
PRESETS = {RECORD: "full", SHORT: "short"}
"""The recorded experiments, and the preset of each."""


def comparison_recipe(name: str, what: str, row: StagesPreset) -> Recipe:
    """The record of ``compare_starts``: its result, and how long the text is.

    Parameters
    ----------
    name
        of the folder under results/
    what
        the record in a few words
    row
        the settings of ``compare_starts``

    Returns
    -------
    Recipe
        how ``lrtransfer record`` makes it.
    """

    def make(sitting: Sitting) -> dict[str, Any]:
        result = compare_starts(row, device=sitting.device, store=sitting.folder / "runs", progress=sitting.tell)
        text = topics()
        numbers = {key: value for key, value in asdict(result).items() if key not in ("settings", "preset")}
        return numbers | {
            "text": {"train": len(text.train), "held_out": len(text.held_out), "symbols": text.vocabulary}
        }

    return Recipe(name, what, row, make, packages=("numpy", "torch"))


RECIPES = (
    comparison_recipe(RECORD, "a transformer grown in stages, five starts, eight seeds", STAGES_PRESETS["full"]),
    comparison_recipe(SHORT, "a smaller one in eight short stages, 32 seeds", STAGES_PRESETS["short"]),
)


def read_record(name: str = RECORD, *, folder: str | Path | None = None) -> StageComparison | None:
    """The recorded comparison as ``compare_starts`` returned it.

    Parameters
    ----------
    name
        "stages-transformer" or "stages-transformer-short"
    folder
        where the record is; its place under results/ by default

    Returns
    -------
    StageComparison or None
        None where only the package is installed.

    Raises
    ------
    DamagedRecord
        a ``ValueError``, for a record that was changed by hand or made with other settings.
    """
    choice("name", name, tuple(PRESETS))
    return comparison_of(next(each for each in RECIPES if each.name == name), PRESETS[name], folder=folder)


def comparison_of(recipe: Recipe, preset: str, *, folder: str | Path | None = None) -> StageComparison | None:
    """``read_record`` for any recipe of ``comparison_recipe``.

    Parameters
    ----------
    recipe
        the recipe
    preset
        the name its settings go by
    folder
        as in ``read_record``

    Returns
    -------
    StageComparison or None
        None where only the package is installed.

    Raises
    ------
    DamagedRecord
        as ``read_record`` does.
    """
    entry = recorded(recipe, folder=folder)
    if entry is None:
        return None
    numbers: dict[str, Any] = {key: entry["numbers"].get(key) for key in StageComparison.__dataclass_fields__}
    for key in ("lrs", "selection", "chosen", "steps", "stage", "curves", "final", "betas", "swept", "sweep"):
        numbers[key] = np.array(numbers[key])
    for key in ("tuned", "methods", "seeds"):
        numbers[key] = tuple(numbers[key])
    settings = StagedTransformer(**entry["settings"]["transformer"])
    return StageComparison(**numbers | {"preset": preset, "settings": settings})
