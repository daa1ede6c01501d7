"""Rates tuned at two shallow depths, carried to deeper ones by several rules, and judged by the rates measured there.

Every error is that of a statistic over seeds: it is computed anew for every half of the seeds (``numerics.jackknife``),
tuning, prediction and measurement alike, so that what is common to them cancels.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.depth import fit_transfer, transfer_lr
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.estimates import Estimate
from lrtransfer.numerics.jackknife import half_error, halves_of
from lrtransfer.rates import OnEdgeWarning, best_lr

RULES = ("fit", "no change", "1/L", "Eq. 31", "Eq. 37", "Eq. 11")


@dataclass(frozen=True)
class Tuned:
    """A tuned rate as log2: of all seeds, and of every half of them.

    Attributes
    ----------
    log2
        of the rate, in octaves
    halves
        the same of every half of ``halves_of(seeds)``, (halves,)
    seeds
        how many
    on_edge
        whether the rates searched do not resolve it: it is then a bound
    """

    log2: float
    halves: Array
    seeds: int
    on_edge: bool

    @property
    def both(self) -> Array:
        """The value of all seeds, then of the halves, (1 + halves,)."""
        return np.append(self.log2, self.halves)

    @property
    def error(self) -> float:
        """Standard error over seeds, in octaves."""
        return half_error(self.halves, self.seeds)


def tuned_best(lrs: ArrayLike, losses: ArrayLike) -> Tuned:
    """The rate of least final loss, ``rates.best_lr``; losses (rates, seeds)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OnEdgeWarning)  # ``on_edge`` says so
        found = best_lr(lrs, losses)
    return Tuned(float(np.log2(found.lr)), np.log2(found.halves), found.seeds, found.on_edge)


def tuned_largest(lrs: ArrayLike, losses: ArrayLike, start: float) -> Tuned:
    """The largest rate that still learns: from a seed's best rate upwards, the last before one ends above ``start``.

    Each seed has its own, the middle of the step of the grid at which it stops; the result is their mean in octaves.

    Parameters
    ----------
    lrs
        rates (rates,), rising by a constant factor
    losses
        (rates, seeds)
    start
        what a run must get below to have learned
    """
    octaves, table = np.log2(np.asarray(lrs, dtype=float)), np.asarray(losses, dtype=float)
    from_best = np.arange(octaves.size)[:, None] >= table.argmin(axis=0)
    failed = from_best & ~(table < start)
    stop = np.where(failed.any(axis=0), failed.argmax(axis=0), octaves.size)  # the first rate that fails, (seeds,)
    own = octaves[np.maximum(stop, 1) - 1] + (octaves[1] - octaves[0]) / 2
    halves = np.array([own[list(half)].mean() for half in halves_of(own.size)])
    unseen = (stop == octaves.size) | (table.min(axis=0) >= start)
    return Tuned(float(own.mean()), halves, own.size, bool(unseen.any()))


def carried(rule: str, pair: tuple[int, int], rates: tuple[Array, Array], depth: int, scale: float, arch: str) -> Array:
    """log2 of the rate that a rule brings to a depth, for rates tuned at two; shape of each of ``rates``.

    Parameters
    ----------
    rule
        "fit": ``depth.fit_transfer`` through both; the others start from the deeper of the two: "no change", "1/L", and
        the Depth paper's exact rules with r the scale of the target: "Eq. 31" (one layer a block), "Eq. 37" (two) and
        "Eq. 11" (the chain)
    pair, rates
        the two depths, and log2 of the rates tuned there
    depth, scale
        where the rate is used, and the scale s of the target; Eq. 37 wants s > 1
    arch
        of the fit: "residual1" or, for branches that are not scaled, "chain"
    """
    if rule == "fit":
        columns = zip(*(np.atleast_1d(rate) for rate in rates), strict=True)
        return np.log2([float(fit_transfer(pair, 2.0 ** np.array(two), arch=arch).lr(depth)) for two in columns])
    source = pair[1]
    moves: Mapping[str, Callable[[], float]] = {
        "no change": lambda: 1.0,
        "1/L": lambda: source / depth,
        "Eq. 31": lambda: float(transfer_lr(1.0, source, depth, scale, "residual1")),
        "Eq. 37": lambda: float(transfer_lr(1.0, source, depth, scale, "residual2")),
        "Eq. 11": lambda: float(transfer_lr(1.0, source, depth, scale, "chain")),
    }
    return np.atleast_1d(rates[1]) + np.log2(moves[rule]())


@dataclass(frozen=True)
class Verdicts:
    """Rules judged at the depths beyond the tuned two, over several targets; in octaves.

    Attributes
    ----------
    rules
        their names
    targets
        what was predicted: pairs of scale and depth, a cell each
    errors
        predicted less measured log2 rate, (rules, cells, 1 + halves): of all seeds first, then of the halves
    seeds
        how many
    """

    rules: tuple[str, ...]
    targets: tuple[tuple[float, int], ...]
    errors: Array
    seeds: int

    def error(self, rule: str, cell: int) -> Estimate:
        """Predicted less measured, of one cell."""
        values = self.errors[self.rules.index(rule), cell]
        return Estimate(float(values[0]), half_error(values[1:], self.seeds), self.seeds)

    def size(self, rule: str) -> Estimate:
        """Mean over the cells of the size of the error; infinite where there is no cell."""
        return self._estimate(self._sizes(rule).mean(axis=0))

    def worst(self, rule: str) -> Estimate:
        """The largest size of the error over the cells."""
        return self._estimate(self._sizes(rule).max(axis=0))

    def advantage(self, rule: str, other: str) -> Estimate:
        """By how much the mean size of the error of ``other`` exceeds that of ``rule``, paired by halves of seeds."""
        return self._estimate(self._sizes(other).mean(axis=0) - self._sizes(rule).mean(axis=0))

    def _sizes(self, rule: str) -> Array:
        return np.abs(self.errors[self.rules.index(rule)]) if self.targets else np.zeros((1, 2))

    def _estimate(self, values: Array) -> Estimate:
        if not self.targets:
            return Estimate(np.inf, np.inf, self.seeds)
        return Estimate(float(values[0]), half_error(values[1:], self.seeds), self.seeds)


def judge_rules(
    tuned: Mapping[tuple[float, int], Tuned],
    pair: tuple[int, int],
    rules: Sequence[str],
    *,
    arch: str = "residual1",
    scales: Sequence[float] | None = None,
    within: Sequence[int] | None = None,
) -> Verdicts:
    """Judge rules by the measured rates of all depths beyond the tuned two.

    Parameters
    ----------
    tuned
        by scale and depth
    pair
        the two depths that are tuned, rising
    rules
        of ``RULES``
    arch
        of the fit
    scales, within
        only these scales of the target, and these depths; all by default. A rate on the edge of what was searched is
        a bound, and its cell is left out

    Returns
    -------
    Verdicts
    """
    wanted = sorted({scale for scale, _ in tuned}) if scales is None else list(scales)
    cells = [
        (scale, depth)
        for scale in wanted
        for depth in sorted({d for s, d in tuned if s == scale and d > pair[1]} & set(within or [d for _, d in tuned]))
        if not any(tuned[scale, each].on_edge for each in (*pair, depth))
    ]
    errors = []
    for rule in rules:
        row = []
        for scale, depth in cells:
            both = tuned[scale, pair[0]].both, tuned[scale, pair[1]].both
            row.append(carried(rule, pair, both, depth, scale, arch) - tuned[scale, depth].both)
        errors.append(row)
    return Verdicts(tuple(rules), tuple(cells), np.array(errors), next(iter(tuned.values())).seeds)


def data_number(tuned: Mapping[int, Tuned], arch: str = "residual1") -> Estimate:
    """log2 rho of ``fit_transfer`` through the tuned rates of all depths, in octaves, with its error over seeds.

    The chain and block one have rho = r^2, hence 2 log2 s for a target of scale s.
    """
    depths = sorted(tuned)
    table = np.array([tuned[depth].both for depth in depths])  # (depths, 1 + halves)
    values = np.log2([fit_transfer(depths, 2.0**column, arch=arch).rho for column in table.T])
    seeds = tuned[depths[0]].seeds
    return Estimate(float(values[0]), half_error(values[1:], seeds), seeds)
