"""Recorded sweeps of this room: shipped settings files, trained on one machine and kept under results/residual-NAME/.

``lrtransfer record residual-NAME`` trains the settings file NAME again; its runs are kept in a store until the record
is written, so that it can be stopped and goes on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from lrtransfer.numerics.arguments import choice
from lrtransfer.rates import BestLR
from lrtransfer.residual.networks.miniature import miniature
from lrtransfer.residual.networks.optima import best_trained
from lrtransfer.residual.networks.settings import NetworkSettings, as_dict, from_dict
from lrtransfer.sweeps.recorder import Recipe, Sitting, recorded
from lrtransfer.sweeps.run import run
from lrtransfer.sweeps.settings_file import read_sweep
from lrtransfer.sweeps.store import Store
from lrtransfer.sweeps.sweep import Curve, CurveResult, Sweep

# What each is, and minutes on one core: from a timed slice of every curve, or from the record.
NAMES: dict[str, tuple[str, float]] = {
    "mnist": ("residual MLPs on 4000 MNIST images over depth (to 48) and width", 7),
    "patches": ("convolutional residual networks on colour patches over depth", 1),
    "digits-seeds": ("residual MLPs on digits over depth with 36 seeds, branches times 1/sqrt(L)", 1),
    "digits-widths": ("residual MLPs on digits over width in the standard parametrisation", 3),
    "conditions": ("best rates of a residual MLP over batches, updates, warm-up and Adam's epsilon", 3),
    "schedules": ("residual MLPs on MNIST, 300 updates with warm-up, with and without a cosine, over depth", 3),
    "shapes": ("residual MLPs on MNIST, wide against deep at two budgets, 300 updates with a cosine", 3),
    "sp-widths": ("residual MLPs on digits over width in the standard parametrisation, ten updates", 3),
    "conv-seeds": ("convolutional networks on digits in the standard parametrisation, 3 and 24 blocks, 24 seeds", 1),
    "resnet-seeds": ("ResNets on digits with BatchNorm, LayerNorm and neither, 2 and 10 blocks, 24 seeds", 3),
    "conv-widths": ("convolutional residual networks on digits, 8 to 128 channels", 2),
    "ways": ("residual MLPs on digits, six ways to scale the blocks under SGD and Adam, to 48 of them", 4),
    "hyperparameters": ("momentum, gamma_0 and weight decay at a fixed rate over depth, to 3000 updates", 6),
    "normalisation": ("ResNets with BatchNorm, LayerNorm and neither over depth and width, 312 updates", 100),
    "hyperparameters-seeds": ("momentum and gamma_0 on fine grids, 3 and 24 blocks, 32 seeds, 300 updates", 4),
    "schedules-seeds": ("an MLP under warm-up, a transformer under a cosine, ends of their depths, 96 seeds", 15),
    "vit-scaled": ("vision transformers over depth, LayerNorm, branches times 1/sqrt(L), 600 updates", 51),
    "vit-bare": ("the same without LayerNorm", 51),
    "vit-unscaled": ("the same with LayerNorm, branches not scaled", 51),
    "vit-widths": ("branches times 1/sqrt(L) with LayerNorm and without, over width", 53),
    "vit-cosine": ("LayerNorm, branches times 1/sqrt(L), a cosine after the warm-up, over depth", 51),
    "vit-rates": ("branches times 1/sqrt(L), the blocks' rate over sqrt(L), with LayerNorm and without", 102),
    "vit-inverse": ("LayerNorm, branches times 1/L, over depth", 51),
    "benefit": ("best loss over depth, convolutions for twenty epochs and transformers from three blocks", 145),
}
# Fields that came after the first records. At their default they change nothing, and a record of before holds.
LATER = ("adam_epsilon", "block_rate")


def sweep_recipe(name: str, what: str, sweep: Sweep, minutes: float | None = None) -> Recipe:
    """The record residual-NAME of a sweep: settings of every curve, and its final losses (rates, seeds).

    Parameters
    ----------
    name
        NAME
    what
        a line for people
    sweep
        what is trained
    minutes
        about how long that takes on one core

    Returns
    -------
    Recipe
        it keeps its runs in a store, so that a recording that was stopped goes on.
    """
    curves = [{"settings": _described(c.settings), "lrs": list(c.lrs)} for c in sweep.curves]

    def make(sitting: Sitting) -> dict[str, Any]:
        with Store(sitting.folder / "runs.sqlite") as kept:
            results = run(sweep, kept, device=sitting.device)
            keys = sweep.keys
            devices = sorted({row.device for row in kept.rows() if row.key in keys})
        return {"losses": [result.losses[-1] for result in results], "devices": devices}

    settings = {"title": sweep.title, "seeds": list(sweep.seeds), "curves": curves}
    return Recipe(f"residual-{name}", what, settings, make, ("numpy", "torch"), minutes)


def _described(settings: NetworkSettings) -> dict[str, Any]:
    """Every field of the settings, None as "none"; of ``LATER`` only those that are not at their default."""
    plain = {field.name: field.default for field in fields(settings)}
    return {
        name: "none" if value is None else value
        for name, value in as_dict(settings).items()
        if name not in LATER or value != plain[name]
    }


@cache
def recipe(name: str) -> Recipe:
    """The recipe of a settings file.

    Parameters
    ----------
    name
        one of ``NAMES``

    Returns
    -------
    Recipe

    Raises
    ------
    ValueError
        for another name.
    """
    what, minutes = NAMES[choice("name", name, tuple(NAMES))]
    return sweep_recipe(name, what, read_sweep(name), minutes)


def small(sweep: Sweep) -> Sweep:
    """A sweep in miniature: every curve's network at width 8 and few blocks, two updates, three rates, two seeds.

    Parameters
    ----------
    sweep
        such as ``read_sweep`` gives

    Returns
    -------
    Sweep
        with as many curves, at one width and batch.
    """
    depths = sorted({curve.settings.depth for curve in sweep.curves})
    curves = []
    for curve in sweep.curves:
        lrs = curve.lrs if len(curve.lrs) < 3 else (2.0**-9, 2.0**-8, 2.0**-7)
        curves.append(Curve(miniature(curve.settings, 1 + depths.index(curve.settings.depth)), lrs))
    return Sweep(tuple(curves), sweep.seeds[:2], title=sweep.title)


RECIPES = tuple(recipe(name) for name in NAMES)


def read(name: str, *, folder: str | Path | None = None) -> tuple[dict[str, Any], tuple[CurveResult, ...]] | None:
    """The record residual-NAME and its curves, of which only the final losses were kept.

    Parameters
    ----------
    name
        NAME, one of ``NAMES``
    folder
        where the records are; results/ of the repository by default

    Returns
    -------
    tuple of dict and tuple of CurveResult, or None
        None if there is no such record.

    Raises
    ------
    DamagedRecord
        a ``ValueError``, for one that was changed by hand or made with other settings.
    """
    return curves_of(recipe(name), folder=folder)


def curves_of(
    made_by: Recipe, *, folder: str | Path | None = None
) -> tuple[dict[str, Any], tuple[CurveResult, ...]] | None:
    """``read`` for any recipe of ``sweep_recipe``.

    Parameters
    ----------
    made_by
        the recipe
    folder
        as in ``read``

    Returns
    -------
    tuple of dict and tuple of CurveResult, or None
        as ``read``.

    Raises
    ------
    DamagedRecord
        as ``read`` does.
    """
    entry = recorded(made_by, folder=folder)
    if entry is None:
        return None
    seeds = np.array(entry["settings"]["seeds"])
    return entry, tuple(
        CurveResult(from_dict(curve["settings"]), np.array(curve["lrs"]), seeds, np.array(losses)[None])
        for curve, losses in zip(entry["settings"]["curves"], entry["numbers"]["losses"], strict=True)
    )


def lines_of(results: Sequence[CurveResult], vary: str, **only: Any) -> dict[str, list[tuple[CurveResult, BestLR]]]:
    """Curves against depth or width, by parametrisation, with their best rates.

    Of the curves of a parametrisation those count whose other size is shared by most, and that have a best rate.

    Parameters
    ----------
    results
        trained curves
    vary
        "depth" or "width"
    **only
        fields of the settings and the value that a curve must have to count, such as ``schedule="warmup"``

    Returns
    -------
    dict
        by parametrisation: curves of increasing size, and the ``best_of`` each.

    Raises
    ------
    ValueError
        for another ``vary``.
    """
    other = {"depth": "width", "width": "depth"}[choice("vary", vary, ("depth", "width"))]
    chosen = [r for r in results if all(getattr(r.settings, field) == value for field, value in only.items())]
    found: dict[str, list[tuple[CurveResult, BestLR]]] = {}
    for name in dict.fromkeys(r.settings.parametrisation for r in chosen):
        mine = [r for r in chosen if r.settings.parametrisation == name]
        held = Counter(getattr(r.settings, other) for r in mine)
        fixed = max(
            held, key=lambda size: len({getattr(r.settings, vary) for r in mine if getattr(r.settings, other) == size})
        )
        by_size = {getattr(r.settings, vary): r for r in mine if getattr(r.settings, other) == fixed}
        pairs = ((by_size[size], best_of(by_size[size])) for size in sorted(by_size))
        found[name] = [(result, best) for result, best in pairs if best is not None]
    return found


def optima_by(results: Sequence[CurveResult], vary: str, **only: Any) -> dict[str, tuple[list[int], list[BestLR]]]:
    """Best rates against depth or width, by parametrisation: ``lines_of`` without the curves.

    Parameters
    ----------
    results, vary, **only
        as there

    Returns
    -------
    dict
        by parametrisation: the sizes, increasing, and the ``BestLR`` of each.

    Raises
    ------
    ValueError
        as there.
    """
    return {
        name: ([getattr(result.settings, vary) for result, _ in line], [best for _, best in line])
        for name, line in lines_of(results, vary, **only).items()
    }


def best_of(result: CurveResult) -> BestLR | None:
    """``best_trained`` of a trained curve.

    Parameters
    ----------
    result
        of a residual network

    Returns
    -------
    BestLR or None
        as there.
    """
    return best_trained(result.settings, result.lrs, result.losses[-1])


def listing(*, folder: str | Path | None = None) -> list[tuple[str, str, str, str]]:
    """Every record of this room: its settings file, what it is, when it was made and how long that took.

    Parameters
    ----------
    folder
        where the records are; results/ of the repository by default

    Returns
    -------
    list of tuple of str
        name, what, date and duration; for one that is not there "not recorded", and about how long it takes.

    Raises
    ------
    DamagedRecord
        as ``read`` does.
    """
    rows = []
    for made_by in RECIPES:
        entry = recorded(made_by, folder=folder)
        made = ("not recorded", made_by.takes)
        if entry is not None:
            made = (entry["date"], f"{entry['seconds'] / 60:.1f} min")
        rows.append((made_by.name.removeprefix("residual-"), made_by.what, *made))
    return rows
