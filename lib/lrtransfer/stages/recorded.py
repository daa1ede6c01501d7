"""The runs of the chapter that are recorded under results/: how they are made, and where they are read.

``lrtransfer record stages-transformer`` takes about an hour and a half of one core, ``stages-transformer-starts`` and
``stages-transformer-factors`` twenty minutes each, ``stages-transformer-short`` and ``stages-transformer-starts-short``
ten, ``stages-transformer-still`` two, ``stages-far`` ten.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lrtransfer.numerics.arguments import choice
from lrtransfer.numerics.arrays import Array
from lrtransfer.stages.linear.many_digits import in_enough_digits
from lrtransfer.stages.linear.problems import problem
from lrtransfer.stages.transformer.experiments import STAGES_PRESETS, StageComparison, StagesPreset, compare_starts
from lrtransfer.stages.transformer.settings import LATER, StagedTransformer
from lrtransfer.stages.transformer.text import topics
from lrtransfer.sweeps.recorder import Recipe, Sitting, recorded

RECORD, SHORT = "stages-transformer", "stages-transformer-short"
STILL = "stages-transformer-still"
STARTS, STARTS_SHORT = "stages-transformer-starts", "stages-transformer-starts-short"
SCALARS = "stages-transformer-factors"
STARTS_SEEDS = tuple(range(1, 9))  # the eight of RECORD
FAR = "stages-far"
PRESETS = {RECORD: "full", SHORT: "short", STARTS: "full", SCALARS: "full", STARTS_SHORT: "short", STILL: "short"}
"""The recorded comparisons of starts, and the preset of each."""


def comparison_recipe(name: str, what: str, row: StagesPreset, **more: Any) -> Recipe:
    """The record of ``compare_starts``: its result, and how long the text is.

    Parameters
    ----------
    name
        of the folder under results/
    what
        the record in a few words
    row
        the settings of ``compare_starts``
    more
        its ``methods`` and ``stacking_lr``, where they are not the default

    Returns
    -------
    Recipe
        how ``lrtransfer record`` makes it.
    """

    def make(sitting: Sitting) -> dict[str, Any]:
        result = compare_starts(
            row, device=sitting.device, store=sitting.folder / "runs", progress=sitting.tell, **more
        )
        text = topics()
        numbers = {key: value for key, value in asdict(result).items() if key not in ("settings", "preset")}
        return numbers | {
            "text": {"train": len(text.train), "held_out": len(text.held_out), "symbols": text.vocabulary}
        }

    return Recipe(name, what, asdict(row) | more if more else row, make, packages=("numpy", "torch"))


@dataclass(frozen=True)
class FarSettings:
    """Stacking at ``kappa`` and ``sigma``, on problems 0 .. ``problems`` - 1 of ``small`` and of ``large`` dimensions.

    The small ones are followed until the excess is ``until`` times its start, for ``longest`` stages at most; the large
    ones for ``stages``. ``digits`` are those tried first, for the small and for the large.
    """

    kappa: float = 1000.0
    sigma: float = 50.0
    small: int = 4
    large: int = 20
    problems: int = 10
    stages: int = 400
    longest: int = 50_000
    until: float = 1e-3
    digits: tuple[int, int] = (100, 600)


@dataclass(frozen=True)
class FarRun:
    """One recorded course of stacking: ``log10`` of its excess over the start at some ``stages``, the last among them.

    Attributes
    ----------
    seed
        of the problem
    peak, at
        largest log10 over all stages, and that stage
    end
        the last stage
    digits
        that it was computed with
    """

    seed: int
    stages: NDArray[np.int64]
    log10: Array
    peak: float
    at: int
    end: int
    digits: int


@dataclass(frozen=True)
class FarRuns:
    """The recorded courses in ``small`` and in ``large`` dimensions."""

    small: tuple[FarRun, ...]
    large: tuple[FarRun, ...]


def far_run(d: int, seed: int, stages: int, until: float | None, digits: int, settings: FarSettings) -> dict[str, Any]:
    """One course as the record has it: the fields of ``FarRun``, some 200 stages of it."""
    exact = in_enough_digits(*problem(settings.kappa, settings.sigma, d, seed), stages, digits=digits, until=until)
    end = len(exact.log10) - 1
    kept = sorted({*range(0, end, max(1, end // 200)), int(exact.log10.argmax()), end})
    return {
        "seed": seed,
        "stages": kept,
        "log10": [round(float(exact.log10[t]), 4) for t in kept],
        "peak": round(exact.peak, 4),
        "at": int(exact.log10.argmax()),
        "end": end,
        "digits": exact.digits,
    }


def far_recipe(settings: FarSettings, name: str = FAR) -> Recipe:
    """The record of Fig. 5 where double precision ends."""

    def make(sitting: Sitting) -> dict[str, Any]:
        s = settings
        found: dict[str, list[Any]] = {"small": [], "large": []}
        for seed in range(s.problems):
            for size, d, stages, until, digits in (
                ("small", s.small, s.longest, s.until, s.digits[0]),
                ("large", s.large, s.stages, None, s.digits[1]),
            ):
                course = partial(far_run, d, seed, stages, until, digits, s)
                found[size].append(sitting.part(f"{size}-{seed}", course))
            sitting.tell((seed + 1) / s.problems)
        return found

    return Recipe(
        name, "stacking far from the identity, in as many digits as it needs", settings, make, ("numpy", "flint")
    )


def read_far(*, folder: str | Path | None = None) -> FarRuns | None:
    """The recorded courses far from the identity; None where only the package is installed.

    Raises ``DamagedRecord``, a ``ValueError``, for a record that was changed by hand or made with other settings.
    """
    return far_runs_of(next(each for each in RECIPES if each.name == FAR), folder=folder)


def far_runs_of(recipe: Recipe, *, folder: str | Path | None = None) -> FarRuns | None:
    """``read_far`` for any recipe of ``far_recipe``."""
    entry = recorded(recipe, folder=folder)
    if entry is None:
        return None
    numbers = entry["numbers"]
    small, large = (tuple(_far_run(row) for row in numbers[size]) for size in ("small", "large"))
    return FarRuns(small, large)


def _far_run(row: dict[str, Any]) -> FarRun:
    return FarRun(**row | {"stages": np.array(row["stages"]), "log10": np.array(row["log10"], dtype=float)})


RECIPES = (
    comparison_recipe(RECORD, "a transformer grown in stages, five starts, eight seeds", STAGES_PRESETS["full"]),
    comparison_recipe(SHORT, "a smaller one in eight short stages, 32 seeds", STAGES_PRESETS["short"]),
    comparison_recipe(
        STARTS,
        "the same transformer, seeds and rate: a silent copy, and a Nesterov start",
        replace(STAGES_PRESETS["full"], lrs=(2e-3,), swept=(), seeds=STARTS_SEEDS),
        methods=("silent", "nesterov 0.9"),
    ),
    comparison_recipe(
        SCALARS,
        "the same transformer, seeds and rate: two more readings of the factor",
        replace(STAGES_PRESETS["full"], lrs=(2e-3,), swept=()),
        methods=("beta 0.9, given", "beta 0.9, parent's"),
        stacking_lr=2e-3,
    ),
    comparison_recipe(
        STARTS_SHORT,
        "the same short stages and seeds, five more starts",
        STAGES_PRESETS["short"],
        methods=LATER,
        stacking_lr=4e-3,
    ),
    comparison_recipe(
        STILL,
        "the same short stages, seeds and rate: the skip without the move",
        replace(STAGES_PRESETS["short"], lrs=(4e-3,), swept=()),
        methods=("still 0.9",),
    ),
    far_recipe(FarSettings()),
)


def read_record(name: str = RECORD, *, folder: str | Path | None = None) -> StageComparison | None:
    """The recorded comparison as ``compare_starts`` returned it.

    Parameters
    ----------
    name
        one of ``PRESETS``, such as "stages-transformer"
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
