"""Rate sweeps of trained residual networks: settings in, losses out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.images.catalogue import KNOWN, load
from lrtransfer.images.dataset import Dataset
from lrtransfer.numerics.arguments import count, function, methods, positive, refuse
from lrtransfer.numerics.arrays import Array
from lrtransfer.residual.networks.settings import (
    NetworkSettings,
    ResidualMLP,
    VisionTransformer,
    check_settings,
)
from lrtransfer.sweeps.devices import check_cuda, required_torch, resolve_device
from lrtransfer.sweeps.run import curves_of, runs_of

if TYPE_CHECKING:
    import torch

LARGEST_SEED = 2**63 - 1  # what SQLite's and torch's whole numbers hold

__all__ = ["ResidualMLP", "Store", "final_losses", "group_size", "resolve_device", "train_runs", "train_sweep"]


class Store(Protocol):
    """Keeps the curves of finished runs; ``lrtransfer.sweeps.store`` has one in SQLite."""

    def get(self, settings: NetworkSettings, lr: float, seed: int) -> Array | None:
        """The curve (evaluations,) of a finished run, or None."""

    def put(self, settings: NetworkSettings, lr: float, seed: int, curve: Array, seconds: float, device: str) -> None:
        """Keep the curve of a run that took ``seconds`` on ``device``."""


def train_runs(
    settings: NetworkSettings,
    lrs: ArrayLike,
    seeds: Sequence[int],
    *,
    device: str = "auto",
    checkpoint: Path | None = None,
    progress: Callable[[int], None] | None = None,
    precision: str = "float32",
    compile: bool = False,
) -> Array:
    """Train R runs together, run i at rate ``lrs[i]`` from seed ``seeds[i]``, and return their learning curves.

    A seed fixes the initial weights and the minibatches, for all rates and parametrisations alike (common random
    numbers).

    Parameters
    ----------
    settings
        network and training, any class of ``lrtransfer.residual.networks.settings``
    lrs
        base rates eta_0, (R,), positive in float32
    seeds
        R whole numbers from 0 to 2^63 - 1
    device
        "auto" (cuda, else mps, else cpu), "cpu", "cuda" or "mps"
    checkpoint
        a file to which the runs are saved every ``settings.checkpoint_every`` updates and at the end, and from which
        they resume if it exists; on the same machine the result is that of an uninterrupted run to the last bit. Delete
        it once the result is safe
    progress
        called with the number of updates done, after each
    precision
        "float32"; "bf16" (autocast) is for cuda
    compile
        whether to use torch.compile, for cuda

    Returns
    -------
    ndarray
        the cross-entropy in nats at ``evaluation_steps(settings)``, (evaluations, R). A run that overflowed is inf from
        then on; it costs nothing more and does not touch the others.

    Raises
    ------
    ValueError
        for bad arguments and for a device that this machine lacks; its kind ``tasks.CheckpointError`` for a checkpoint
        that is damaged or of other runs.
    """
    check_settings(settings)
    rates, numbers = checked_rates(lrs), checked_seeds(seeds)
    if checkpoint is not None and not isinstance(checkpoint, str | os.PathLike):
        raise refuse("checkpoint", checkpoint, "None or the path of a file")
    if progress is not None:
        function("progress", progress, "None or a function of the number of updates done")
    if len(rates) != len(numbers):
        raise ValueError(f"lrs of length {len(rates)} and seeds of length {len(numbers)} must be equally long.")
    torch = required_torch()
    where = resolve_device(device)
    check_cuda(where, precision, compile)
    data = checked_data(settings)
    from lrtransfer.residual.networks.training_loop import run_group

    with torch.no_grad(), _flushed_denormals():
        return run_group(
            settings,
            data,
            [float(lr) for lr in rates],
            numbers,
            where,
            checkpoint=None if checkpoint is None else Path(checkpoint),
            progress=progress,
            precision=precision,
            compiled=compile,
        )


def train_sweep(
    settings: NetworkSettings,
    lrs: ArrayLike,
    seeds: Sequence[int],
    *,
    device: str = "auto",
    executor: Executor | None = None,
    store: Store | None = None,
) -> Array:
    """Train a network at every rate and seed, in batched groups, and return its learning curves.

    Measuring after every update costs more than training: with the default settings a sweep takes about three times as
    long as ``final_losses``, which gives the last row alone. Where another process trains for the same store of
    ``lrtransfer.sweeps.store``, this one says so and waits its turn.

    Parameters
    ----------
    settings, device
        as in ``train_runs``
    lrs
        base rates eta_0, (lrs,), positive, in any order
    seeds
        whole numbers from 0, such as ``range(3)``
    executor
        as in ``run_sweep``; it is handed one group of runs a task
    store
        runs found there are not trained again, finished ones are put there; None for no store

    Returns
    -------
    ndarray
        the cross-entropy in nats on the fixed evaluation points, (evaluations, lrs, seeds); with ``eval_every`` = 1,
        the default, after t = 0 .. steps updates. Divergence and seeds: ``train_runs``.

    Raises
    ------
    ValueError
        for bad arguments and for a device that this machine lacks.
    RunError
        where a run fails for a reason other than divergence.
    """
    check_settings(settings)
    rates, numbers = checked_rates(lrs), checked_seeds(seeds)
    methods("executor", executor, ("submit",), "None or an executor, such as concurrent.futures.ThreadPoolExecutor()")
    methods("store", store, ("get", "put"), "None or an open store, such as lrtransfer.sweeps.store.Store(path)")
    required_torch()
    where = resolve_device(device)
    checked_data(settings)
    runs = runs_of(settings, rates.tolist(), numbers)
    curves = np.stack(curves_of(runs, store, executor=executor, device=where.type), axis=1)
    return curves.reshape(-1, rates.size, len(numbers))


def final_losses(
    settings: NetworkSettings,
    lrs: ArrayLike,
    seeds: Sequence[int],
    *,
    device: str = "auto",
    executor: Executor | None = None,
    store: Store | None = None,
) -> Array:
    """The last row of ``train_sweep``: the same runs, evaluated at the end only.

    Parameters
    ----------
    settings, lrs, seeds, device, executor, store
        as in ``train_sweep``

    Returns
    -------
    ndarray
        cross-entropy in nats, (lrs, seeds), inf where diverged.

    Raises
    ------
    ValueError, RunError
        as ``train_sweep`` does.
    """
    check_settings(settings)
    last = replace(settings, eval_every=0)
    return train_sweep(last, lrs, seeds, device=device, executor=executor, store=store)[-1]


def group_size(settings: NetworkSettings, device: torch.device) -> int:
    """How many runs to train together: as many as keep their hidden activations within a budget.

    On a CPU the budget is about the cache. The MLP, one thread, 42 runs at widths 16 to 128 and depths 3 to 24:
    groups by 3 MiB were within about 15% of the best size; all 42 together took up to 1.6 times the best, one run
    at a time up to 4.3 times. The others by 12 MiB: a run and update of the ConvNet took, at R = 1, 4 and 16,
    17.1, 10.6 and 6.4 ms at N = 16, L = 12; 10.6, 9.0 and 5.7 ms at N = 32, L = 6; 24.7, 16.8 and 18.4 ms at N = 64,
    L = 6; 36.6, 36.8 and 30.7 ms at N = 128, L = 3, and the transformer gained nothing from N = 64. Elsewhere the
    budget is memory. ``tests/bench_residual.py`` measures this again.

    Parameters
    ----------
    settings
        of any kind
    device
        where they train

    Returns
    -------
    int
        at least 1.
    """
    check_settings(settings)
    mlp = isinstance(settings, ResidualMLP)
    budget = (3 if mlp else 12) * 2**20 if device.type == "cpu" else 2**31
    return max(1, budget // (4 * settings.depth * settings.width * settings.batch * _positions(settings)))


def _positions(settings: NetworkSettings) -> int:
    """Positions or tokens that the stream holds at every image."""
    if isinstance(settings, ResidualMLP):
        return 1
    height, width, _ = KNOWN[settings.data][0]  # reads and downloads nothing
    step = settings.patch if isinstance(settings, VisionTransformer) else getattr(settings, "stem_stride", 1)
    return max(1, -(-height // step) * -(-width // step))


def checked_data(settings: NetworkSettings) -> Dataset:
    """The data set of the settings, if it has as many images as they want."""
    data = load(settings.data)
    settings.check_images(data.shape, len(data.train_y), len(data.test_y))
    return data


def checked_rates(lrs: ArrayLike) -> Array:
    """``lrs`` as an array of one rate or more, each within float32; ``ValueError`` otherwise."""
    rates = positive("lrs", lrs)
    if rates.ndim != 1 or rates.size == 0:
        raise refuse("lrs", lrs, "a list of one or more rates")
    single = np.finfo(np.float32)
    outside = (rates < single.tiny) | (rates > single.max)
    if outside.any():
        allowed = f"a rate that float32 can hold, from {single.tiny:.2g} to {single.max:.2g}"
        raise refuse("lrs", rates[outside][0], allowed)
    return rates


def checked_seeds(seeds: Sequence[int]) -> list[int]:
    """``seeds`` as a list of one whole number or more, each from 0; ``ValueError`` otherwise."""
    try:
        entries = list(seeds)
    except TypeError:
        raise refuse("seeds", seeds, "a list of whole numbers from 0, such as range(3)") from None
    if not entries:
        raise refuse("seeds", seeds, "a list of one or more whole numbers from 0, such as range(3)")
    return [count("seeds", seed, maximum=LARGEST_SEED) for seed in entries]


@contextmanager
def _flushed_denormals() -> Iterator[None]:
    """Treat denormal floats as zero for a while: dying runs are full of them, and they are slow on a CPU."""
    import torch

    # There is no getter, so the processor is asked: with flushing on, a denormal times one is zero.
    before = (torch.full((1,), 1e-40) * 1.0).item() == 0.0
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)
