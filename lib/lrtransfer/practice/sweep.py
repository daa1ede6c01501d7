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
from lrtransfer.practice.identity import identity
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


class OtherTrainingWarning(UserWarning):
    """Runs in a store that have this training's name and not its code."""


def rate_sweep(
    build: Callable[[], nn.Module],
    train: Callable[[nn.Module, float], float],
    lrs: ArrayLike,
    seeds: int | Sequence[int] = 3,
    *,
    store: Any = None,
    executor: Any = None,
    name: str | None = None,
    version: str | None = None,
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
        What the store calls this training. Runs are found again by name, rate, seed and the code of ``build`` and
        ``train`` with all that it uses: constants, closures, globals, functions and classes of your own; what is
        installed counts by its name. So another training never gets these runs, and any edit but of comments and
        spaces, and another Python, trains anew.
    version
        A word to stand for the code instead, which you change whenever ``build`` or ``train`` change: for functions
        that use what cannot be told from others of its kind, such as an open file, or that change what they use.
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
        Naming the argument, or what ``build`` or ``train`` use that has no identity.
    RunError
        Where a run fails; what is done is in the store, and the same call goes on from there.

    Warns
    -----
    OtherTrainingWarning
        Where the store holds runs of this name by other code, which are left alone; and where a run changed what its
        functions use, a list that they append to, say, so that it will not be found again.
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
    if version is not None and (not isinstance(version, str) or not version):
        raise refuse("version", version, "a word for the code of build and train, or None")
    if executor is not None and not callable(getattr(executor, "submit", executor)):
        raise refuse("executor", executor, "an object with the method submit, as in concurrent.futures")
    code = version or ("" if store is None else identity(build=build, train=train))
    what = OwnTraining(name or "not named", build, train, code)
    runs = runs_of(what, rates.tolist(), numbers)
    with ExitStack() as stack:
        if isinstance(store, str | os.PathLike):
            store = stack.enter_context(Store(store))
        if isinstance(store, Store):
            _tell_of_others(store, what)
        curves = curves_of(
            runs, store, executor=executor, device="cpu", report=lambda work, missing: reporter(progress, work, missing)
        )
    if store is not None and version is None and identity(build=build, train=train) != code:
        warnings.warn(
            f"build or train of {name!r} changed what they use while they ran, such as a list or a counter: the store "
            "has their runs and will not find them again. Pass version, a word that you change when the code changes.",
            OtherTrainingWarning,
            stacklevel=2,
        )
    return np.array([curve[-1] for curve in curves]).reshape(rates.size, len(numbers))


def _tell_of_others(store: Store, what: Any) -> None:
    """Say when a store has runs of the same name that other code made, before as many are trained again."""
    named = [row.settings for row in store.rows() if row.kind == what.kind and row.settings.get("name") == what.name]
    others = sum(settings.get("code", "") != what.code for settings in named)
    if others:
        warnings.warn(
            f"the store holds {others} runs named {what.name!r} by another build, train or Python: they stay there "
            "and are not used. Give this training a name of its own, or the version that they have.",
            OtherTrainingWarning,
            stacklevel=3,
        )


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
