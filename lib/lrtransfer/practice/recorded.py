"""The language model's sweeps that are recorded under results/: what is trained, and where it is read.

``lrtransfer record practice-width`` takes about three minutes of one core, ``practice-depth`` and ``practice-moves`` as
long each.
"""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from lrtransfer import rates as statistic
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.estimates import Estimate
from lrtransfer.numerics.jackknife import half_error
from lrtransfer.practice.settings import LanguageModel
from lrtransfer.practice.sweep import rate_sweep
from lrtransfer.rates import BestLR, OnEdgeWarning, best_lr
from lrtransfer.sweeps.recorder import Recipe, Sitting, recorded


@dataclass(frozen=True)
class Trained:
    """One curve of the language model.

    Attributes
    ----------
    settings
        what was trained
    lrs
        its rates (rates,)
    losses
        final held-out losses (rates, seeds), nats a character, inf where a run diverged
    """

    settings: LanguageModel
    lrs: Array
    losses: Array

    @cached_property
    def best(self) -> BestLR:
        """The best rate; ``on_edge`` where it is on the edge of the rates."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OnEdgeWarning)
            return best_lr(self.lrs, self.losses)

    def at(self, lr: float) -> Array:
        """Losses (seeds,) at a rate between its own, by straight lines through log loss on log rate."""
        x = np.log2(self.lrs)
        return np.array([np.exp(np.interp(np.log2(lr), x, np.log(column))) for column in self.losses.T])


def moved(first: Trained, last: Trained) -> Estimate:
    """Octaves from the best rate of one curve to that of another, paired by seed.

    Parameters
    ----------
    first, last
        curves of the same seeds

    Returns
    -------
    Estimate
        log2 of the last best rate over the first; a bound where one of the two is.
    """
    return statistic.moved(first.best, last.best)


def further(base: Trained, one: Trained, other: Trained) -> Estimate:
    """How much further the best rate moves from a base to one curve than to another, paired by seed.

    Parameters
    ----------
    base, one, other
        curves of the same seeds

    Returns
    -------
    Estimate
        the size of the one move less that of the other, in octaves; a bound where a best rate is one.
    """
    a, b = moved(base, one), moved(base, other)
    start, *ends = (np.log2(each.best.halves) for each in (base, one, other))
    error = half_error(np.abs(ends[0] - start) - np.abs(ends[1] - start), a.seeds)
    is_bound = any(each.best.on_edge for each in (base, one, other))
    return statistic.bounded(abs(a.value) - abs(b.value), error, a.seeds, statistic.size_beyond(a, b), is_bound)


Curves = tuple[tuple[str, LanguageModel, tuple[int, int]], ...]
BASE = LanguageModel()
WIDTHS: Curves = (
    ("base", BASE, (-8, -3)),
    ("sp 64", LanguageModel(width=64), (-8, -4)),
    ("sp 128", LanguageModel(width=128), (-9, -5)),
    ("groups 64", LanguageModel(width=64, scaling="groups"), (-7, -3)),
    ("groups 128", LanguageModel(width=128, scaling="groups"), (-8, -4)),
)
"""Width at the base's depth: a name, what is trained, the first and the last power of two of its rates.

The powers were chosen on seed 100, which is not among ``SEEDS``.
"""
DEPTHS: Curves = (
    ("sp x 8", LanguageModel(depth=8), (-8, -4)),
    ("groups x 8", LanguageModel(depth=8, scaling="groups", branch=1.0), (-8, -4)),
)
"""Depth at the base's width."""
MOVED: Curves = (
    ("twice the batch", LanguageModel(batch=16), (-8, -4)),
    ("twice the steps", LanguageModel(steps=300), (-8, -4)),
    ("no warm-up", LanguageModel(warmup=0.0), (-8, -4)),
    ("epsilon 1e-3", LanguageModel(epsilon=1e-3), (-7, -3)),
)
"""The base with one thing changed."""
SEEDS = (0, 1, 2)


def recipe(name: str, what: str, curves: Curves, seeds: tuple[int, ...]) -> Recipe:
    """The record of some curves: their final losses (rates, seeds).

    Parameters
    ----------
    name, what
        of the record, and a line for people
    curves, seeds
        what is trained

    Returns
    -------
    Recipe
        it keeps its runs in a store, so that a recording that was stopped goes on.
    """
    settings = {
        "seeds": list(seeds),
        "curves": [{"name": n, "settings": asdict(s), "powers": list(powers)} for n, s, powers in curves],
    }

    def make(sitting: Sitting) -> dict[str, Any]:
        from lrtransfer.practice.language import functions, weights

        found: dict[str, Any] = {"losses": [], "weights": []}
        for done, (curve, what_is, powers) in enumerate(curves):
            build, train = functions(what_is)
            store = sitting.folder / "runs.sqlite"
            losses = rate_sweep(
                build, train, rates(powers), seeds, store=store, name=f"{curve}: {what_is}", progress=False
            )
            found["losses"].append(losses)
            found["weights"].append(weights(what_is))
            sitting.tell((done + 1) / len(curves))
        return found

    return Recipe(name, what, settings, make, packages=("numpy", "torch"))


def rates(powers: tuple[int, int]) -> Array:
    """All powers of two between two exponents, both included."""
    return np.exp2(np.arange(powers[0], powers[1] + 1.0))


RECIPES = (
    recipe("practice-width", "a character transformer over width, sp against groups", WIDTHS, SEEDS),
    recipe("practice-depth", "the same over depth", DEPTHS, SEEDS),
    recipe("practice-moves", "the same at its base size with another batch, length, warm-up and so on", MOVED, SEEDS),
)


def read_language_model(*, folder: str | Path | None = None) -> dict[str, Trained]:
    """The recorded sweeps of the language model by the names of their curves, of those of its records that are there.

    Parameters
    ----------
    folder
        where the records are; their place under results/ by default

    Returns
    -------
    dict of str to Trained
        empty where only the package is installed.

    Raises
    ------
    DamagedRecord
        a ``ValueError``, for a record that was changed by hand or made with other settings.
    """
    found: dict[str, Trained] = {}
    for made_by in RECIPES:
        found |= trained_of(made_by, folder=folder) or {}
    return found


def trained_of(made_by: Recipe, *, folder: str | Path | None = None) -> dict[str, Trained] | None:
    """``read_language_model`` for one recipe of ``recipe``; None without its record."""
    entry = recorded(made_by, folder=folder)
    if entry is None:
        return None
    return {
        curve["name"]: Trained(LanguageModel(**curve["settings"]), rates(curve["powers"]), np.array(losses, float))
        for curve, losses in zip(entry["settings"]["curves"], entry["numbers"]["losses"], strict=True)
    }
