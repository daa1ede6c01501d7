"""One network at several sizes, each trained at several values of one hyperparameter: the unit of every figure."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lrtransfer.numerics.arguments import choice, refuse
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.estimates import Estimate, mean_and_error
from lrtransfer.numerics.jackknife import half_error
from lrtransfer.page.scale import runs_folder
from lrtransfer.rates import BestLR, Drift, bounded, drift, size_beyond, trend
from lrtransfer.residual.experiments.readings import gain_at_best, move
from lrtransfer.residual.networks.optima import best_trained
from lrtransfer.residual.networks.settings import NetworkSettings
from lrtransfer.residual.networks.training import train_sweep

if TYPE_CHECKING:
    from lrtransfer.residual.experiments.recorded_optima import RecordedOptima
    from lrtransfer.sweeps.store import Store

SWEPT = ("lr", "momentum", "weight_decay", "gamma0")


@dataclass(frozen=True)
class Family:
    """One network at several sizes and several values of one hyperparameter.

    ``name``: what tells the family from the others of its figure. ``network``: the settings; the field ``vary``,
    "depth" or "width", is replaced by each of ``sizes``, increasing. ``windows``: the lowest and highest log2 of
    the hyperparameter, one pair for all sizes or one a size, in steps of ``octaves``. ``seeds``: how many.

    ``swept``: the hyperparameter. "lr" is the base rate. For the others the base rate is ``lr``, and x = 2**window
    means: "momentum" m = 1 - 1/x (so that x is the factor by which momentum lengthens a small step),
    "weight_decay" lambda = x, "gamma0" gamma_0 = x.
    """

    name: str
    network: NetworkSettings
    vary: str
    sizes: tuple[int, ...]
    windows: tuple[tuple[float, float], ...]
    octaves: float = 1.0
    seeds: int = 3
    swept: str = "lr"
    lr: float = 1.0

    def __post_init__(self) -> None:
        choice("vary", self.vary, ("depth", "width"))
        choice("swept", self.swept, SWEPT)
        if len(self.windows) not in (1, len(self.sizes)):
            raise refuse("windows", self.windows, f"one pair, or one for each of the {len(self.sizes)} sizes")

    def values(self, i: int) -> Array:
        """What is swept at the size number ``i``: rates, or the x of the hyperparameter; increasing."""
        low, high = self.windows[i if len(self.windows) > 1 else 0]
        return np.asarray(2.0 ** np.arange(low, high + self.octaves / 2, self.octaves))

    @property
    def grids(self) -> tuple[Array, ...]:
        """``values`` of every size."""
        return tuple(self.values(i) for i in range(len(self.sizes)))

    @property
    def letter(self) -> str:
        """The symbol of what varies, L or N."""
        return {"depth": "L", "width": "N"}[self.vary]

    def settings(self, i: int) -> NetworkSettings:
        """The network of size number ``i``, at the swept hyperparameter's own value in ``network``."""
        return replace(self.network, **{self.vary: self.sizes[i]})  # type: ignore[arg-type]


@dataclass(frozen=True)
class FamilyResult:
    """What training a ``family`` gave.

    ``losses``: for every size an array (values, seeds) of final losses in nats, inf where a run diverged.
    ``best``: for every size the best value (``best_trained``: edges, and values at which nothing was learned, flagged).
    """

    family: Family
    losses: tuple[Array, ...]
    best: tuple[BestLR, ...]

    @property
    def drift(self) -> Drift:
        """Octaves of the best value per octave of size; needs three sizes."""
        return drift(list(self.best), self.family.sizes)

    @property
    def moved(self) -> Estimate:
        """log2 of the best value at the last size over that at the first, octaves; a bound if one is on an edge."""
        return move(self.best[0], self.best[-1])

    @property
    def trend(self) -> Estimate:
        """The slope of ``drift`` with its error, a bound if any best value is on an edge."""
        return trend(self.best, self.family.sizes)

    @property
    def on_edge(self) -> bool:
        """Whether any best value is only a bound."""
        return any(b.on_edge for b in self.best)

    @property
    def lowest_logs(self) -> Array:
        """Log losses of every seed at the best value on every size's grid, (sizes, seeds)."""
        logs = [np.log(table) for table in self.losses]  # inf where diverged
        return np.array([one[int(np.argmin(np.sort(one, axis=1).mean(axis=1)))] for one in logs])

    def lowest(self) -> tuple[Array, Array]:
        """Mean log loss at the best value on every size's grid and its standard error over seeds, (sizes,) each."""
        return mean_and_error(self.lowest_logs)

    def gained(self, first: int, last: int) -> Estimate:
        """Fall of the lowest log loss from size number ``first`` to ``last``; a bound where one is on an edge."""
        return gain_at_best(self.best, self.lowest_logs, first, last)


def further(worse: FamilyResult | RecordedOptima, better: FamilyResult | RecordedOptima) -> Estimate:
    """How much further the best value of ``worse`` moves than that of ``better``: |shift| - |shift|, in octaves.

    Both, trained here or recorded, draw the same seeds, so the error is that of the difference over halves of them; the
    signs are those of the two shifts. A bound where an end is on an edge.
    """
    value = abs(worse.moved.value) - abs(better.moved.value)
    draws = [trial.best[0].seeds for trial in (worse, better)]
    seeds, ends = min(draws), size_beyond(worse.moved, better.moved)
    is_bound = any(trial.best[place].on_edge for trial in (worse, better) for place in (0, -1))
    if draws[0] != draws[1]:
        return bounded(value, math.hypot(worse.moved.error, better.moved.error), seeds, ends, is_bound)
    moves = [
        math.copysign(1, trial.moved.value) * np.log2(np.divide(trial.best[-1].halves, trial.best[0].halves))
        for trial in (worse, better)
    ]
    return bounded(value, half_error(moves[0] - moves[1], seeds), seeds, ends, is_bound)


@cache
def train(family: Family) -> FamilyResult:
    """Train a family; equal families are trained once a session, so that figures share their runs.

    Where ``lrtransfer.page.scale`` keeps runs, they are taken from there and put there one group at a time.

    Raises ``ValueError`` where a run refuses its settings, or where at some size every value diverged.
    """
    losses = tuple(train_values(family, i, evaluations=False)[-1] for i in range(len(family.sizes)))
    best = tuple(best_trained(family.settings(i), family.values(i), table) for i, table in enumerate(losses))
    if None in best:
        raise refuse("family", family.name, "one with a rate that no seed diverges at, for every size")
    return FamilyResult(family, losses, tuple(found for found in best if found is not None))


def train_values(family: Family, i: int, *, evaluations: bool = True) -> Array:
    """Learning curves of size number ``i``, shape (evaluations, values, seeds).

    ``evaluations``: False measures after the last update only.
    """
    settings, x, seeds = family.settings(i), family.values(i), range(family.seeds)
    if not evaluations:
        settings = replace(settings, eval_every=0)
    store = _store(runs_folder("residual"))
    if family.swept == "lr":
        return train_sweep(settings, x, seeds, store=store)
    changed: Callable[[float], dict[str, Any]] = {
        "momentum": lambda v: {"momentum": 1 - 1 / v},
        "weight_decay": lambda v: {"weight_decay": v},
        "gamma0": lambda v: {"gamma0": v},
    }[family.swept]
    at = (replace(settings, **changed(float(v))) for v in x)
    return np.concatenate([train_sweep(one, [family.lr], seeds, store=store) for one in at], axis=1)


@cache
def _store(folder: Path | None) -> Store | None:
    """The open store of a session that keeps its runs."""
    if folder is None:
        return None
    from lrtransfer.sweeps.store import Store

    return Store(folder / "runs.sqlite")


def optimum_text(best: BestLR) -> str:
    """log2 of a best value with its standard error, and whether it is only a bound: on an edge, or untrained."""
    edge = " (bound)" if best.on_edge else ""
    return f"{math.log2(best.lr):.2f} ± {best.spread:.2f}{edge}"


def optima_row(result: FamilyResult, octaves: float = 1.0) -> list[str]:
    """A table's row: name, log2 of every best value, change from first to last, octaves per octave, and the verdict.

    The last entry says whether "moves by at most ``octaves``" holds, fails or is not resolved.
    """
    return [
        result.family.name,
        *(optimum_text(b) for b in result.best),
        str(result.moved),
        str(result.trend),
        result.moved.outcome("within", octaves),
    ]
