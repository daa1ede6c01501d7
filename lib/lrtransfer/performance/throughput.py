"""The throughput of a sweep: in this process, handed to one and to two others, and to two workers of dask."""

from __future__ import annotations

import concurrent.futures as cf
import multiprocessing
import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from lrtransfer.performance.speeds import one_thread, seconds_of
from lrtransfer.residual import Curve, ResidualMLP, Sweep, run_sweep

PLACES = ("here", "one process", "two processes", "dask, two workers")


@contextmanager
def _one_thread_each() -> Iterator[None]:
    """Variables for processes that start within the block: each keeps to one thread."""
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    before = {name: os.environ.get(name) for name in names}
    os.environ.update(dict.fromkeys(names, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name)
            else:
                os.environ[name] = value


def sweep_of(width: int, rates: int, seeds: int, first_seed: int = 0) -> Sweep:
    """Runs of the residual MLP on digits whose losses are taken at the end."""
    settings = ResidualMLP(width=width, depth=6, eval_every=0)
    curve = Curve(settings, tuple(2.0 ** np.linspace(-4, -1, rates)))
    return Sweep((curve,), seeds=tuple(range(first_seed, first_seed + seeds)))


def executors(stack: ExitStack) -> dict[str, Any]:
    """What ``run_sweep`` is given, for each of ``PLACES``; dask only where it is installed."""
    spawned = multiprocessing.get_context("spawn")
    found: dict[str, Any] = {"here": None}
    for workers, name in ((1, PLACES[1]), (2, PLACES[2])):
        found[name] = stack.enter_context(cf.ProcessPoolExecutor(workers, mp_context=spawned))
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        return found
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50)
    client = Client(stack.enter_context(cluster), set_as_default=False)
    found[PLACES[3]] = stack.enter_context(client).get_executor(pure=False)
    return found


def seconds_of_sweeps(width: int, rates: int, seeds: int, times: int) -> dict[str, Any]:
    """Seconds of a sweep in every place, ``times`` times in turns, each into a new store; and whether losses agree.

    Workers are started, and have trained once, before the clock is.
    """
    sweep, warm = sweep_of(width, rates, seeds), sweep_of(width, 2, 2, first_seed=100)
    with tempfile.TemporaryDirectory() as folder, one_thread(), _one_thread_each(), ExitStack() as stack:
        places = executors(stack)
        seconds: dict[str, list[float]] = {name: [] for name in places}
        losses: dict[str, Any] = {}

        def run(name: str, what: Sweep, store: str) -> None:
            losses[name] = run_sweep(what, Path(folder) / store, executor=places[name], device="cpu", progress=False)

        for name in places:
            for k in range(2):  # each worker imports what it needs
                run(name, warm, f"warm-{name}-{k}.sqlite")
        for k in range(times):
            for name in places:
                seconds[name].append(seconds_of(lambda name=name, k=k: run(name, sweep, f"{name}-{k}.sqlite")))  # type: ignore[misc]
        first = losses["here"][0].losses
        apart = max(float(np.max(np.abs(losses[name][0].losses / first - 1))) for name in places)
    return {"runs": rates * seeds, "seconds": seconds, "difference": apart}
