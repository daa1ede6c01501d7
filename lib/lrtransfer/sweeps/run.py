"""Do what a sweep still lacks in its store, here or through any executor, and lose nothing on the way."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack
from functools import partial
from typing import Any

import numpy as np

from lrtransfer.numerics.arguments import choice, count, refuse
from lrtransfer.numerics.arrays import Array
from lrtransfer.sweeps.devices import DEVICES, check_cuda, required_torch, resolve_device
from lrtransfer.sweeps.driver import Driver, Group, RunError, Trained
from lrtransfer.sweeps.executors import Dask, Here, Pool, check_address, dask_executor, workers_of
from lrtransfer.sweeps.keys import group_name, kind_of, run_keys
from lrtransfer.sweeps.progress import Bar, Silent, reporter
from lrtransfer.sweeps.store import Store, StoreError
from lrtransfer.sweeps.store.aside import Keeper, take_in
from lrtransfer.sweeps.store.lock import remember, sole_driver
from lrtransfer.sweeps.store.opening import made_by_others, name_others, store_for
from lrtransfer.sweeps.store.run_rows import run_row
from lrtransfer.sweeps.sweep import Curve, CurveResult, Sweep
from lrtransfer.sweeps.task_registry import Run, task_of


def run(
    sweep: Sweep,
    store: Store | str | os.PathLike[str],
    *,
    executor: Any = None,
    workers: str | None = None,
    device: str = "auto",
    progress: bool | None = None,
    in_flight: int | None = None,
    wait: bool = False,
    again: bool = False,
) -> tuple[CurveResult, ...]:
    """Train what the store lacks of a sweep, store it, and return all curves.

    Networks small enough to gain by it train together as one program (``Task.groups``); larger ones one by one. A run
    that diverges is stored as inf and stops no other. Stopping, even by ``kill -9``, loses at most what is in flight,
    and that resumes from its last checkpoint when the same call is made again. What an interrupt cannot stop, such as
    threads at work, trains to its end for nothing.

    One process at a time trains for a store, with any number of workers: it holds a lock beside the file until it
    ends, or is killed. Another that finds it held is refused with a sentence that says who holds it; with ``wait``
    it waits its turn, and then does what is still missing. Reading a store needs no lock.

    Which runs train together depends on the sweep, the device and the number of workers, and so does the order of
    sums: results can differ within float32's rounding from one grouping to another, and so can they with
    ``sweep.compile``. The same call on the same machine groups alike.

    Parameters
    ----------
    sweep
        From ``read_sweep``, or built in Python.
    store
        An open ``Store``, or a file's name.
    executor
        Anything with ``submit(function, *arguments)`` returning futures with ``done`` and ``result``:
        ``ThreadPoolExecutor``, ``ProcessPoolExecutor`` (use the "spawn" context), a ``dask.distributed`` client's
        ``get_executor(pure=False)``, submitit's; or a function that makes one, such as
        ``functools.partial(loky.get_reusable_executor, 4)``: a pool of processes breaks when a worker dies, and is
        then made anew, up to three times in a row, and the worker's runs are done again. None trains here. Only the
        calling process writes the store.
    workers
        The address of a dask scheduler, such as "tcp://host:8786", in place of ``executor``.
    device
        "auto" (cuda, else mps, else cpu), "cpu", "cuda" or "mps", on the machine that trains.
    progress
        True for a bar on standard output, None for one on a terminal only, False for silence.
    in_flight
        How many groups an executor is given at a time, and twice the number of its workers: by default as dask says,
        twice the cores of this machine for other pools, and 64 elsewhere.
    wait
        Whether to wait for another process that trains for the same store.
    again
        Whether to train again what other versions of lrtransfer or of torch made. What they made is named in an
        ``OtherVersionsWarning`` otherwise, for results can differ from one version to another.

    Returns
    -------
    tuple of CurveResult
        One a curve, in order.

    Raises
    ------
    ValueError
        Naming a bad argument; its kind ``StoreError`` for a store that is refused, or is in use by another process.
    RunError
        Where a run fails: what is in flight is finished and stored first.
    """
    if not isinstance(sweep, Sweep):
        raise refuse("sweep", sweep, "a Sweep, such as read_sweep gives")
    choice("device", device, DEVICES)
    if executor is not None and workers is not None:
        raise ValueError("executor and workers exclude each other: workers is the address of a dask scheduler.")
    if workers is not None:
        check_address(workers)
    if executor is not None and not callable(getattr(executor, "submit", executor)):
        raise refuse(
            "executor", executor, "an object with the method submit, as in concurrent.futures, or a function of one"
        )
    if in_flight is not None:
        in_flight = count("in_flight", in_flight, minimum=1)
    for name, flag in (("wait", wait), ("again", again)):
        if not isinstance(flag, bool):
            raise refuse(name, flag, "True or False")
    if not isinstance(store, (Store, str, os.PathLike)):
        raise refuse("store", store, "an open Store, or a file's name")
    runs = [run for curve in sweep.curves for run in sweep.runs(curve)]
    with ExitStack() as stack:
        opened = store if isinstance(store, Store) else stack.enter_context(store_for(sweep.keys, store, again=again))
        others = made_by_others(opened, sweep.keys)
        if others and not again:
            name_others(opened, others)
        # A sweep that is done needs no torch, no device and no workers.
        if sweep.keys - opened.has(sweep.keys) or (others and again):
            if executor is None and workers is None:
                ready(sweep, device)
            if workers is not None:
                executor = stack.enter_context(dask_executor(workers))
            try:
                curves_of(
                    runs,
                    opened,
                    executor=executor,
                    device=device,
                    report=lambda work, missing: reporter(progress, work, missing),
                    precision=sweep.precision,
                    compiled=sweep.compile,
                    in_flight=in_flight,
                    split=True,
                    wait=wait,
                    again=others if again else (),
                )
            except Exception as error:
                if isinstance(error, StoreError) or not isinstance(executor, Dask) or not executor.is_gone(error):
                    raise
                gone = f"the scheduler at {workers} is gone; start it and run the same command again"
                raise RunError(gone) from error
        return tuple(_result(sweep, curve, opened) for curve in sweep.curves)


def ready(sweep: Sweep, device: str) -> None:
    """Refuse, before anything is stored or trained, what this machine cannot do for a sweep: its device, its data.

    Parameters
    ----------
    sweep, device
        as in ``run``

    Raises
    ------
    ValueError
        for a device that is not here or cannot do what the sweep asks of it, and for settings that do not fit their
        data.
    DataUnavailable
        for images that are not here and could not be fetched.
    """
    check_cuda(resolve_device(device), sweep.precision, sweep.compile)
    for curve in sweep.curves:
        task_of(curve.settings).check(sweep.precision, sweep.compile)
        task_of(curve.settings).ready(curve.settings)


def curves_of(
    runs: Sequence[Run],
    store: Any = None,
    *,
    executor: Any = None,
    device: str,
    report: Callable[[float, int], Bar] = lambda work, runs: Silent(),
    precision: str = "float32",
    compiled: bool = False,
    in_flight: int | None = None,
    split: bool = False,
    wait: bool = True,
    again: Collection[str] = (),
) -> list[Array]:
    """The curves of runs: from a store if they are there, else trained, and put there.

    Parameters
    ----------
    runs
        of any kinds; equal ones are trained once
    store
        None, a ``Store``, or anything with ``get`` and ``put``, which is then neither locked nor given checkpoints
    executor, device, in_flight, wait
        as in ``run``
    report
        makes the bar from the work that is missing and the number of runs
    precision, compiled
        as in a ``Sweep``
    split
        whether to make groups small enough that there is one for every worker
    again
        keys of runs to train though a ``Store`` has them

    Returns
    -------
    list of ndarray
        one a run, (evaluations,), in order.

    Raises
    ------
    RunError, StoreError
        as ``run`` does.
    """
    found: dict[str, Array] = {}
    each = {run.key: run for run in runs}

    def keep(group: Group, trained: Trained) -> None:
        seconds = trained.seconds / len(group.runs)
        for run, curve in zip(group.runs, trained.curves.T, strict=True):
            found[run.key] = curve
            if store is not None:
                store.put(run.settings, run.lr, run.seed, curve, seconds, trained.device)

    def keep_together(group: Group, trained: Trained) -> None:
        seconds = trained.seconds / len(group.runs)
        keeper.put(
            run_row(run.settings, run.lr, run.seed, curve, seconds, trained.device, precision, trained.versions)
            for run, curve in zip(group.runs, trained.curves.T, strict=True)
        )

    def drive(missing: set[str], keep: Callable[[Group, Trained], None], shared: bool) -> None:
        pool = Pool(Here() if executor is None else executor)
        workers = workers_of(pool.executor) if in_flight is None else -(-in_flight // 2)
        room = 1 if executor is None else in_flight or 2 * workers
        groups = _groups(list(each.values()), device, executor is None, workers if split else 1)
        parts = [part for group in groups if (part := group.part(missing)).runs]
        with report(sum(part.work for part in parts), len(missing)) as bar:
            Driver(
                parts,
                keep,
                pool,
                bar,
                device=device,
                precision=precision,
                compiled=compiled,
                room=room,
                checkpoints=remember(store, ((group_name(p.keys, device), p.keys) for p in parts)) if shared else None,
            ).drive()

    if not isinstance(store, Store):
        for run in each.values() if store is not None else ():
            if (curve := store.get(run.settings, run.lr, run.seed)) is not None:
                found[run.key] = curve
        if len(found) < len(each):
            drive(each.keys() - found.keys(), keep, shared=False)
        return [found[run.key] for run in runs]
    if (each.keys() - store.has(each)) | set(again):
        with sole_driver(store, wait=wait, note=partial(print, flush=True)):
            take_in(store)
            # Another process may have done the rest while this one waited.
            missing = (each.keys() - store.has(each)) | made_by_others(store, again).keys()
            if missing:
                keeper = Keeper(store, again=bool(again))
                drive(missing, keep_together, shared=True)
                keeper.finish()
    return [_stored(store, run, precision) for run in runs]


def runs_of(settings: Any, lrs: Sequence[float], seeds: Sequence[int]) -> list[Run]:
    """The runs of a settings object at every rate with every seed.

    Parameters
    ----------
    settings
        of any kind
    lrs, seeds
        lists

    Returns
    -------
    list of Run
        seeds changing fastest.
    """
    places = itertools.product(lrs, seeds)
    return [Run(settings, *at, key) for at, key in zip(places, run_keys(settings, lrs, seeds), strict=True)]


def _groups(runs: Sequence[Run], device: str, here: bool, workers: int) -> list[Group]:
    """The runs in groups that depend on them and the machine only, not on what is done already.

    So an interrupted group is found again, with its checkpoint, by the same command.
    """
    torch = required_torch()
    # The workers' device need not be one of this machine.
    where = resolve_device(device) if here or device == "auto" else torch.device(device)
    of: dict[str, list[Run]] = {}
    for _, same in itertools.groupby(runs, lambda run: type(run.settings)):  # asked once a class, not once a run
        together = list(same)
        of.setdefault(kind_of(together[0].settings), []).extend(together)
    groups = (task_of(same[0].settings).groups(same, where, workers) for same in of.values())
    return [Group(tuple(group)) for groups_of_a_kind in groups for group in groups_of_a_kind]


def _stored(store: Store, run: Run, precision: str) -> Array:
    """The curve (evaluations,) of a stored run."""
    curve = store.get(run.settings, run.lr, run.seed, precision=precision)
    if curve is None:
        raise RunError(
            f"{Group((run,))}, seed {run.seed}, is not in store '{store.path}' any more, where it was put; was the "
            "file changed meanwhile? The same call trains it again."
        )
    return curve


def _result(sweep: Sweep, curve: Curve, store: Store) -> CurveResult:
    losses = np.stack([_stored(store, run, sweep.precision) for run in sweep.runs(curve)], axis=1)
    shape = (-1, len(curve.lrs), len(sweep.seeds))
    return CurveResult(curve.settings, np.array(curve.lrs), np.array(sweep.seeds), losses.reshape(shape))
