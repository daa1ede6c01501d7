"""Rate sweeps of a reader's own training, by the same machinery as the book's: a store, resuming, workers, a bar."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import fdtrc

from lrtransfer.numerics.arguments import number, positive, refuse
from lrtransfer.numerics.arrays import Array
from lrtransfer.rates import BestLR, OnEdgeWarning, best_lr
from lrtransfer.sweeps.devices import required_torch
from lrtransfer.sweeps.progress import reporter
from lrtransfer.sweeps.run import curves_of, runs_of
from lrtransfer.sweeps.store import Store

if TYPE_CHECKING:
    from torch import nn

FLAT = "flat: no rate is preferred"
MINIMUM, EDGE, DIVERGED, ONE_SEED = "a minimum", "on the edge", "every rate diverged", "one seed: not resolved"
_CHANCE = 0.05  # of calling equal rates different


def rate_sweep(
    build: Callable[[], nn.Module],
    train: Callable[[nn.Module, float], float],
    lrs: ArrayLike,
    seeds: int | Sequence[int] = 3,
    *,
    store: Any = None,
    executor: Any = None,
    name: str | None = None,
    progress: bool | None = None,
) -> Array:
    """Final losses of your own training at every rate with every seed.

    Parameters
    ----------
    build
        ``build()``: a freshly initialised module, on the device where it trains.
    train
        ``train(module, lr)``: trains it and returns its loss, any number: zero and negative ones too, NaN or inf where
        it diverged.
    lrs
        Rates (lrs,), positive, increasing.
    seeds
        How many, or which. Global generators are seeded before each ``build``, so that all rates start from the same
        weights and, if ``train`` draws from them, see the same batches.
    store
        None, a file's name or an open ``Store``: runs that it has are not trained again, and a stopped sweep goes on.
        It needs ``name``.
    executor
        None trains here; else as for ``residual.run_sweep``: ``build`` and ``train`` travel to its workers, so give
        functions of a module to pools of processes, any function to loky's or dask's. Threads train one after another.
    name
        What the store calls this training. Runs are found again by name, rate and seed alone: change it when ``build``
        or ``train`` change.
    progress
        True for a bar, None for one on a terminal only, False for silence.

    Returns
    -------
    array
        Losses (lrs, seeds), inf where a run diverged: for ``rates.best_lr`` where they are positive, and for
        ``practice.best_rate`` in any case.

    Raises
    ------
    ValueError
        Naming the argument.
    RunError
        Where a run fails; what is done is in the store, and the same call goes on from there.
    """
    required_torch()
    from lrtransfer.modules import checked_functions as given
    from lrtransfer.practice.task import OwnTraining

    rates = positive("lrs", lrs)
    if rates.ndim != 1 or not rates.size or not (np.diff(rates) > 0).all():
        raise refuse("lrs", lrs, "a list of one or more increasing rates")
    numbers = given.checked_seeds(seeds)
    given.check_functions(build=(build, given.BUILD), train=(train, given.TRAIN))
    if name is not None and (not isinstance(name, str) or not name):
        raise refuse("name", name, "a word for this training, or None")
    if store is not None and name is None:
        raise refuse("name", name, "a word for this training where there is a store, by which it finds its runs again")
    if executor is not None and not callable(getattr(executor, "submit", executor)):
        raise refuse("executor", executor, "an object with the method submit, as in concurrent.futures")
    runs = runs_of(OwnTraining(name or "not named", build, train), rates.tolist(), numbers)
    with ExitStack() as stack:
        if isinstance(store, str | os.PathLike):
            store = stack.enter_context(Store(store))
        curves = curves_of(
            runs, store, executor=executor, device="cpu", report=lambda work, missing: reporter(progress, work, missing)
        )
    return np.array([curve[-1] for curve in curves]).reshape(rates.size, len(numbers))


@dataclass(frozen=True)
class BestRate:
    """What a rate sweep says.

    Attributes
    ----------
    verdict
        "a minimum", "on the edge" (extend the grid), "flat: no rate is preferred" (seeds cannot tell the rates apart),
        "one seed: not resolved", "every rate diverged".
    lr, low, high
        The best rate and one standard error over seeds to each side; of one seed or a flat sweep, ``low`` and ``high``
        are what the grid leaves open: the neighbours of the best rate, or all rates that trained. None where every
        rate diverged.
    chance
        How often rates that do not differ would look as different as these, 1 for one seed.
    """

    verdict: str
    lr: float | None
    low: float | None
    high: float | None
    chance: float


def best_rate(lrs: ArrayLike, losses: ArrayLike) -> BestRate:
    """The best rate of a sweep as ``rates.best_lr`` has it, for losses of any sign, and whether there is one.

    Whether the seeds tell the rates apart: an analysis of variance of the losses over rates and seeds (randomised
    blocks, F of the rates against what is left over), at 5 %, over the rates where no seed diverged.

    Parameters
    ----------
    lrs
        Rates (lrs,), positive, increasing, at least three.
    losses
        Shape (lrs, seeds), any sign, inf where a run diverged. Where one is zero or negative, the parabola goes through
        mean losses and not through mean logarithms, which do not exist.

    Returns
    -------
    BestRate

    Raises
    ------
    ValueError
        Naming the argument.
    """
    rates, table = positive("lrs", lrs), number("losses", losses)
    if rates.ndim != 1 or rates.size < 3 or not (np.diff(rates) > 0).all():
        raise refuse("lrs", lrs, "a list of at least three increasing rates")
    if table.ndim != 2 or table.shape[0] != rates.size or not table.shape[1]:
        raise refuse("losses", f"of shape {table.shape}", f"of shape ({rates.size}, seeds)")
    sound = np.isfinite(table).all(axis=1)
    if not sound.any():
        return BestRate(DIVERGED, None, None, None, 1.0)
    signed = (table[sound] <= 0).any()
    # best_lr works on logarithms; exponentials of losses, in units of their spread, have the losses as logarithms.
    logs = table[sound] / (np.ptp(table[sound]) or 1.0) if signed else np.log(table[sound])
    curves = np.full(table.shape, np.inf)
    curves[sound] = np.exp(logs - logs.min()) if signed else table[sound]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OnEdgeWarning)
        best = best_lr(rates, curves)
    kept, at = rates[sound], int(np.argmin(np.where(sound, np.abs(np.log(rates / best.lr)), np.inf)))
    chance = _chance(logs)
    near = float(rates[max(at - 1, 0)]), float(rates[min(at + 1, rates.size - 1)])
    if table.shape[1] == 1:
        return BestRate(ONE_SEED, best.lr, *near, chance)
    if chance > _CHANCE:
        return BestRate(FLAT, best.lr, float(kept[0]), float(kept[-1]), chance)
    return _told_apart(best, chance)


def _told_apart(best: BestLR, chance: float) -> BestRate:
    return BestRate(EDGE if best.on_edge else MINIMUM, best.lr, best.low, best.high, chance)


def _chance(values: Array) -> float:
    """The p-value of F for rows of values (rates, seeds) that share their seeds; 1 where it is not known."""
    rates, seeds = values.shape
    if rates < 2 or seeds < 2:
        return 1.0
    over_seeds, over_rates = values.mean(axis=1, keepdims=True), values.mean(axis=0, keepdims=True)
    rest = values - over_seeds - over_rates + values.mean()
    between = seeds * float(((over_seeds - values.mean()) ** 2).sum()) / (rates - 1)
    within = float((rest**2).sum()) / (rates - 1) / (seeds - 1)
    if between <= 1e-24 * max(float((values**2).max()), 1e-300):
        return 1.0
    return float(fdtrc(rates - 1, (rates - 1) * (seeds - 1), between / within)) if within > 0 else 0.0
