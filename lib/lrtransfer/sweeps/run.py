"""Do what a sweep still lacks in its store, here or through any executor, and lose nothing on the way."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lrtransfer.numerics.arguments import choice, count, one, positive, refuse
from lrtransfer.sweeps.devices import DEVICES, check_cuda, resolve_device
from lrtransfer.sweeps.driver import Driver, Group, RunError, Trained
from lrtransfer.sweeps.executors import Here, capacity, check_address, dask_executor, scheduler_is_gone
from lrtransfer.sweeps.keys import run_key
from lrtransfer.sweeps.leases import LEASE, Lease, Unshared
from lrtransfer.sweeps.progress import Silent, reporter
from lrtransfer.sweeps.rows import run_row
from lrtransfer.sweeps.store import Store, StoreError
from lrtransfer.sweeps.sweep import Curve, CurveResult, Sweep


def run(
    sweep: Sweep,
    store: Store | str | os.PathLike[str],
    *,
    executor: Any = None,
    workers: str | None = None,
    device: str = "auto",
    progress: bool | None = None,
    in_flight: int | None = None,
    lease: float = LEASE,
) -> tuple[CurveResult, ...]:
    """Train what the store lacks of a sweep, store it, and return all curves.

    Networks small enough to gain by it train many rates and seeds as one program (``training.group_size``, a
    measured rule); larger ones one by one. A run that diverges is stored as inf and stops no other. Stopping,
    even by ``kill -9``, loses at most what is in flight, and that resumes from its last checkpoint when the
    same call is made again. Other processes may work on the same store at once; nothing is done twice. So what an
    interrupt cannot stop stays claimed: in this process's own threads and processes until they are done with it,
    on workers elsewhere for the length of a ``lease``.

    Which runs train together depends on the sweep, the device and the number of workers, and so does the order of
    sums: results, those of ConvNet, ResNet and VisionTransformer above all, can differ within float32's rounding from
    one grouping to another, and so can they with ``sweep.compile``. The same call on the same machine groups alike.

    ``sweep``: from ``read_sweep`` or built in Python. ``store``: an open ``Store``, or a file's name.
    ``executor``: anything with ``submit(function, *arguments)`` returning futures with ``done`` and ``result``:
    ``ThreadPoolExecutor``, ``ProcessPoolExecutor`` (use the "spawn" context), a ``dask.distributed`` client's
    ``get_executor(pure=False)``, submitit's; None trains here. Only the calling process writes the store. The
    runs of a worker that dies are done by another; a broken process pool is replaced by a new one, up to three
    times in a row. ``workers``: the address of a dask scheduler, such as "tcp://host:8786", in place of
    ``executor``. ``device``: "auto" (cuda, else mps, else cpu), "cpu", "cuda" or "mps", on the machine that
    trains. ``progress``: True for a bar on standard output, None for one on a terminal only, False for silence.
    ``in_flight``: how many groups an executor is given at a time; by default twice its workers, or 64 where it
    does not say. ``lease``: seconds without a sign of life after which another process's runs are taken over.

    Returns one ``CurveResult`` a curve, in order. Raises ``ValueError`` naming a bad argument, ``StoreError``
    for a store that is refused, ``RunError`` where a run fails: what is in flight is finished and stored first.
    """
    if not isinstance(sweep, Sweep):
        raise refuse("sweep", sweep, "a Sweep, such as read_sweep gives")
    choice("device", device, DEVICES)
    one("lease", positive("lease", lease))
    if executor is not None and workers is not None:
        raise ValueError("executor and workers exclude each other: workers is the address of a dask scheduler.")
    if workers is not None:
        check_address(workers)
    if executor is not None and not callable(getattr(executor, "submit", None)):
        raise refuse("executor", executor, "an object with the method submit, as in concurrent.futures")
    if in_flight is not None:
        in_flight = count("in_flight", in_flight, minimum=1)
    if not isinstance(store, (Store, str, os.PathLike)):
        raise refuse("store", store, "an open Store, or a file's name")
    here = executor is None and workers is None
    with ExitStack() as stack:
        opened = store if isinstance(store, Store) else stack.enter_context(Store(store))
        missing = sweep.keys - opened.has(sweep.keys)
        if missing:  # a sweep that is done needs no torch, no device and no workers
            if here:
                ready(sweep, device)
            if workers is not None:
                executor = stack.enter_context(dask_executor(workers))
            room = 1 if here else in_flight or capacity(executor)
            groups = _parts(_groups(sweep, device, here, room), missing)
            report = reporter(progress, sum(g.work * len(g.runs) for g in groups), len(missing))
            stack.callback(report.close)
            part = Driver(
                groups,
                Lease(opened, lease=lease),
                _keeper(opened, sweep.precision),
                Here() if here else executor,
                report,
                device=device,
                precision=sweep.precision,
                compiled=sweep.compile,
                room=room,
            )
            try:
                part.drive()
            except Exception as error:
                if workers is None or isinstance(error, StoreError) or not scheduler_is_gone(executor, error):
                    raise
                gone = f"the scheduler at {workers} is gone; start it and run the same command again"
                raise RunError(gone) from error
        return tuple(_result(sweep, opened, curve) for curve in sweep.curves)


def ready(sweep: Sweep, device: str) -> None:
    """Refuse, before anything is stored or trained, what this machine cannot do for a sweep: its device, its data.

    ``ValueError`` for a device that is not here or cannot do what the sweep asks of it, and for networks that do not
    fit their images; ``DataUnavailable`` for images that are not here and could not be fetched.
    """
    from lrtransfer.residual.networks.training import checked_data

    check_cuda(resolve_device(device), sweep.precision, sweep.compile)
    for curve in sweep.curves:
        checked_data(curve.settings)


def train_grid(
    settings: Any,
    lrs: Sequence[float],
    seeds: Sequence[int],
    size: int,
    *,
    executor: Any,
    device: str,
    store: Any,
) -> NDArray[np.float64]:
    """Losses (evaluations, lrs, seeds) of ``training.train_sweep``, which has checked the arguments; ``size`` a group.

    A ``Store`` is shared with other processes as in ``run``. Anything else with ``get`` and ``put`` is asked and
    told by this one alone.
    """
    runs = tuple((run_key(settings, lr, seed), lr, seed) for lr in lrs for seed in seeds)
    once = tuple(dict.fromkeys(runs))
    shared = isinstance(store, Store)
    curves: dict[str, NDArray[np.float64]] = {}
    if store is not None and not shared:
        found = {key: store.get(settings, lr, seed) for key, lr, seed in once}
        curves = {key: curve for key, curve in found.items() if curve is not None}

    def keep(group: Group, trained: Trained) -> None:
        each = trained.seconds / len(group.runs)
        for (key, lr, seed), curve in zip(group.runs, trained.curves.T, strict=True):
            curves[key] = curve
            if store is not None:
                store.put(settings, lr, seed, curve, each, trained.device)

    keys = {key for key, _, _ in once}
    groups = [Group(settings, once[i : i + size]) for i in range(0, len(once), size)]
    missing = _parts(groups, keys - (store.has(keys) if shared else curves.keys()))
    if missing:
        Driver(
            missing,
            Lease(store) if shared else Unshared(),
            _keeper(store, "float32") if shared else keep,
            Here() if executor is None else executor,
            Silent(),
            device=device,
            room=1 if executor is None else capacity(executor),
        ).drive()
    every = Group(settings, runs)
    losses = _losses(store, every, "float32") if shared else np.stack([curves[key] for key in every.keys], axis=1)
    return losses.reshape(-1, len(lrs), len(seeds))


def _groups(sweep: Sweep, device: str, here: bool, room: int) -> list[Group]:
    """The sweep's runs in groups that depend on the sweep and the machine only, not on what is done already.

    So an interrupted group is found again, with its checkpoint, by the same command.
    """
    import torch

    from lrtransfer.residual.networks.training import group_size

    # The workers' device need not be one of this machine.
    where = resolve_device(device) if here or device == "auto" else torch.device(device)
    seen: set[str] = set()
    groups = []
    for curve in sweep.curves:
        runs = [run for run in sweep.runs(curve) if run[0] not in seen]
        seen.update(key for key, _, _ in runs)
        size = group_size(curve.settings, where)
        if not here:  # enough groups for every worker
            size = max(1, min(size, math.ceil(len(runs) / max(room // 2, 1))))
        groups += [Group(curve.settings, tuple(runs[i : i + size])) for i in range(0, len(runs), size)]
    return groups


def _parts(groups: Iterable[Group], missing: set[str]) -> list[Group]:
    """What is missing of the groups."""
    parts = [group.part(missing) for group in groups]
    return [part for part in parts if part.runs]


def _keeper(store: Store, precision: str) -> Callable[[Group, Trained], None]:
    """What puts a group into the store, in one transaction."""

    def keep(group: Group, trained: Trained) -> None:
        each = trained.seconds / len(group.runs)
        store.put_many(
            run_row(group.settings, lr, seed, curve, each, trained.device, precision, trained.versions)
            for (_, lr, seed), curve in zip(group.runs, np.asarray(trained.curves).T, strict=True)
        )

    return keep


def _losses(store: Store, group: Group, precision: str) -> NDArray[np.float64]:
    """The curves (evaluations, R) of stored runs."""
    curves = []
    for key, lr, seed in group.runs:
        curve = store.get(group.settings, lr, seed, precision=precision)
        if curve is None:
            raise RunError(
                f"{group.part({key})}, seed {seed}, is not in store '{store.path}' any more, where it was put; was the "
                "file changed meanwhile? The same call trains it again."
            )
        curves.append(curve)
    return np.stack(curves, axis=1)


def _result(sweep: Sweep, store: Store, curve: Curve) -> CurveResult:
    losses = _losses(store, Group(curve.settings, tuple(sweep.runs(curve))), sweep.precision)
    shape = (-1, len(curve.lrs), len(sweep.seeds))
    return CurveResult(curve.settings, np.array(curve.lrs), np.array(sweep.seeds), losses.reshape(shape))
