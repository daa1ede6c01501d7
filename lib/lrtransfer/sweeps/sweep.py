"""A sweep: settings, rates and seeds; where they come from (Python or a TOML file) and what comes out."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lrtransfer.numerics.arguments import choice, count, positive, refuse
from lrtransfer.numerics.arrays import Array
from lrtransfer.rates import BestLR, OnEdgeWarning, best_lr
from lrtransfer.sweeps.devices import PRECISIONS
from lrtransfer.sweeps.keys import HIGHEST_SEED, kind_of, run_keys
from lrtransfer.sweeps.task_registry import Run

_ALWAYS = ("width", "depth", "parametrisation")
LOWEST, HIGHEST = 1e-37, 1e38  # rates: within float32's normal numbers, which training uses
_FLOOR = 1e-12  # a loss of exactly 0 has no logarithm


@dataclass(frozen=True)
class Curve:
    """One curve of a sweep: a network and the rates to train it at.

    Attributes
    ----------
    settings
        of the network: an instance of a frozen dataclass
    lrs
        base rates, (lrs,), one or more, increasing, within 1e-37 to 1e38, for training is in float32

    Raises
    ------
    ValueError
        naming the field.
    """

    settings: Any
    lrs: tuple[float, ...]

    def __post_init__(self) -> None:
        kind_of(self.settings)
        rates = positive("lrs", self.lrs)
        if rates.ndim != 1 or rates.size == 0 or not (np.diff(rates) > 0).all():
            raise refuse("lrs", self.lrs, "a list of one or more increasing rates")
        outside = rates[(rates < LOWEST) | (rates > HIGHEST)]
        if outside.size:
            raise refuse("lrs", float(outside[0]), f"between {LOWEST:g} and {HIGHEST:g}: training is in float32")
        object.__setattr__(self, "lrs", tuple(rates.tolist()))


@dataclass(frozen=True)
class Sweep:
    """Everything to train: each curve's network at each of its rates, with each seed.

    ``len(sweep)`` counts runs; two curves may share runs, which are trained once.

    Attributes
    ----------
    curves
        one or more
    seeds
        different whole numbers from 0 to 2^63 - 1, shared by all curves
    precision
        "float32", or "bf16" (cuda only)
    title
        a line for people
    compile
        with torch.compile (cuda only); like the device, it changes results within rounding only and does not enter a
        run's key

    Raises
    ------
    ValueError
        naming the field.
    """

    curves: tuple[Curve, ...]
    seeds: tuple[int, ...]
    precision: str = "float32"
    title: str = ""
    compile: bool = False

    def __post_init__(self) -> None:
        if (
            not isinstance(self.curves, Sequence)
            or not self.curves
            or not all(isinstance(curve, Curve) for curve in self.curves)
        ):
            raise refuse("curves", self.curves, "a list of one or more Curve objects")
        if not isinstance(self.seeds, (Sequence, np.ndarray)) or isinstance(self.seeds, str):
            raise refuse("seeds", self.seeds, "one or more different whole numbers from 0")
        seeds = tuple(count("seeds", seed, maximum=HIGHEST_SEED) for seed in self.seeds)
        if not seeds or len(set(seeds)) < len(seeds):
            raise refuse("seeds", self.seeds, "one or more different whole numbers from 0")
        choice("precision", self.precision, PRECISIONS)
        if not isinstance(self.title, str):
            raise refuse("title", self.title, "a line of text")
        if not isinstance(self.compile, bool):
            raise refuse("compile", self.compile, "True or False")
        object.__setattr__(self, "curves", tuple(self.curves))
        object.__setattr__(self, "seeds", seeds)

    def __len__(self) -> int:
        """The number of different runs."""
        return len(self.keys)

    @property
    def keys(self) -> set[str]:
        """The names that a store gives the runs: ``run_key`` of each."""
        return {run.key for curve in self.curves for run in self.runs(curve)}

    def runs(self, curve: Curve) -> list[Run]:
        """The runs of a curve.

        Parameters
        ----------
        curve
            one of ``curves``

        Returns
        -------
        list of Run
            seeds changing fastest.
        """
        if curve not in self._runs:
            keys = run_keys(curve.settings, curve.lrs, self.seeds, precision=self.precision)
            places = itertools.product(curve.lrs, self.seeds)
            self._runs[curve] = [Run(curve.settings, *at, key) for at, key in zip(places, keys, strict=True)]
        return self._runs[curve]

    @cached_property
    def _runs(self) -> dict[Curve, list[Run]]:
        return {}


@dataclass(frozen=True)
class CurveResult:
    """A trained curve.

    Attributes
    ----------
    settings
        of the network
    lrs
        base rates, (lrs,)
    seeds
        (seeds,)
    losses
        (evaluations, lrs, seeds) in nats, inf from the evaluation at which a run had diverged; the last row is the
        final loss
    """

    settings: Any
    lrs: Array
    seeds: NDArray[np.int64]
    losses: Array

    def best(self) -> BestLR | None:
        """The best rate by the final losses; losses below 1e-12 count as 1e-12.

        Returns
        -------
        BestLR or None
            of ``rates.best_lr``; an optimum on the edge is flagged in it, without a warning. None with fewer than three
            rates or where every rate diverged.
        """
        final = np.maximum(self.losses[-1], _FLOOR)  # (lrs, seeds)
        if self.lrs.size < 3 or not np.isfinite(final).all(axis=1).any():
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OnEdgeWarning)
            return best_lr(self.lrs, final)


def labels(settings: Sequence[Any]) -> list[str]:
    """What tells each of several settings from the others.

    Parameters
    ----------
    settings
        one or more, of any kinds

    Returns
    -------
    list of str
        such as "depth = 6, width = 64": fields that differ among them; of the less common ones only those that are not
        at their default.
    """
    tables = [{"kind": kind_of(s)} | {f.name: getattr(s, f.name) for f in fields(s) if f.compare} for s in settings]
    names = list(dict.fromkeys(name for table in tables for name in table))
    differ = [n for n in names if len({repr(table.get(n)) for table in tables}) > 1] or ["kind"]
    defaults = [{f.name: f.default for f in fields(s) if f.name not in _ALWAYS} for s in settings]
    return [
        ", ".join(f"{n} = {table[n]}" for n in differ if n in table and table[n] != usual.get(n, MISSING))
        or "all defaults"
        for table, usual in zip(tables, defaults, strict=True)
    ]


def summary(results: Sequence[CurveResult]) -> str:
    """A table for people: for every curve the best rate, its spread over seeds and whether it is on the edge.

    Parameters
    ----------
    results
        trained curves, one or more

    Returns
    -------
    str
        one line a curve. Rates as ``rates.best_lr`` gives them: "low to high" is one standard error over seeds to each
        side. A curve of fewer than three rates has no best rate; its final losses are shown, the geometric mean over
        seeds.
    """
    names = labels([result.settings for result in results])
    wide = max(len(name) for name in names)
    lines = [f"{'curve':{wide}}  best rate  low to high over seeds"]
    on_edge = False
    for name, result in zip(names, results, strict=True):
        best, final = result.best(), np.maximum(result.losses[-1], _FLOOR)
        if best is not None:
            on_edge |= best.on_edge
            spread = f"{best.low:.4g} to {best.high:.4g}" if result.seeds.size > 1 else "one seed"
            text = f"{best.lr:<9.4g}  {spread}{'  ON THE EDGE' if best.on_edge else ''}"
        elif result.lrs.size < 3:
            means = np.exp(np.log(final).mean(axis=1))
            text = "; ".join(
                f"loss {mean:.4g} at rate {lr:.4g}" if math.isfinite(mean) else f"diverged at rate {lr:.4g}"
                for lr, mean in zip(result.lrs, means, strict=True)
            )
        else:
            text = "none: at every rate some seed diverged; search lower rates"
        lines.append(f"{name:{wide}}  {text}")
    if on_edge:
        lines.append("ON THE EDGE: the rates do not enclose the best one, which is only bounded; extend the grid.")
    return "\n".join(lines)
