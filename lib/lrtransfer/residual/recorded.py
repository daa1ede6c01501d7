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
from lrtransfer.residual.networks.settings import NetworkSettings, as_dict, from_dict
from lrtransfer.sweeps.recorder import Recipe, Sitting, recorded
from lrtransfer.sweeps.run import run
from lrtransfer.sweeps.settings_file import read_sweep
from lrtransfer.sweeps.store import Store
from lrtransfer.sweeps.sweep import CurveResult, Sweep

NAMES = {
    "mnist": "residual MLPs on 4000 MNIST images over depth (to 48) and width",
    "patches": "convolutional residual networks on colour patches over depth",
    "digits-seeds": "residual MLPs on digits over depth with 36 seeds, branches times 1/sqrt(L)",
    "digits-widths": "residual MLPs on digits over width in the standard parametrisation",
}

# Fields that came after the first records. At their default they change nothing, and a record of before holds.
LATER = ("adam_epsilon", "block_rate")


def sweep_recipe(name: str, what: str, sweep: Sweep) -> Recipe:
    """The record residual-NAME of a sweep: settings of every curve, and its final losses (rates, seeds).

    Parameters
    ----------
    name
        NAME
    what
        a line for people
    sweep
        what is trained

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
    return Recipe(f"residual-{name}", what, settings, make, packages=("numpy", "torch"))


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
    return sweep_recipe(name, NAMES[choice("name", name, tuple(NAMES))], read_sweep(name))


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


def optima_by(results: Sequence[CurveResult], vary: str) -> dict[str, tuple[list[int], list[BestLR]]]:
    """Best rates against depth or width, by parametrisation.

    Of the curves of a parametrisation those count whose other size is shared by most, and that have a best rate.

    Parameters
    ----------
    results
        trained curves
    vary
        "depth" or "width"

    Returns
    -------
    dict
        by parametrisation: the sizes, increasing, and the ``BestLR`` of each.

    Raises
    ------
    ValueError
        for another ``vary``.
    """
    other = {"depth": "width", "width": "depth"}[choice("vary", vary, ("depth", "width"))]
    found: dict[str, tuple[list[int], list[BestLR]]] = {}
    for name in dict.fromkeys(r.settings.parametrisation for r in results):
        mine = [r for r in results if r.settings.parametrisation == name]
        held = Counter(getattr(r.settings, other) for r in mine)
        fixed = max(
            held, key=lambda size: len({getattr(r.settings, vary) for r in mine if getattr(r.settings, other) == size})
        )
        pairs = {getattr(r.settings, vary): r.best() for r in mine if getattr(r.settings, other) == fixed}
        kept = [(size, best) for size, best in sorted(pairs.items()) if best is not None]
        found[name] = ([size for size, _ in kept], [best for _, best in kept])
    return found
