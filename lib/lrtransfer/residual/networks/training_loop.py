"""One group of runs from start to end: minibatches, the loop over updates, checkpoints."""

from __future__ import annotations

import os
import uuid
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from lrtransfer.images.dataset import Dataset
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.random import stream
from lrtransfer.residual.networks.residual_mlp import HandBatched
from lrtransfer.residual.networks.settings import (
    NetworkSettings,
    ResidualMLP,
    as_dict,
    evaluation_steps,
    schedule_factors,
)
from lrtransfer.residual.networks.stacked import Stacked
from lrtransfer.sweeps.task_registry import CheckpointError

MOVED_AT_ONCE = 2**32  # bytes of training images that move to the device as a whole; more go batch by batch


class CheckpointWarning(UserWarning):
    """A checkpoint could not be written, as on a full disk: training goes on without it."""


class Engine(Protocol):
    """R networks with their optimiser. A run that overflows must not touch the others."""

    def step(self, x: Tensor, y: Tensor, lrs: Tensor) -> Tensor:
        """One update at rates ``lrs`` (R,) on x (R, B, D), y (R, B); which runs (R,) stayed finite."""

    def evaluate(self, x: Tensor, y: Tensor) -> Tensor:
        """Mean loss (R,) on the points x (points, D), y (points,); inf where a run overflowed."""

    def keep(self, runs: Tensor) -> None:
        """Let all runs go but these, given by index."""

    def state(self) -> dict[str, Any]:
        """All that the next step depends on."""

    def load(self, state: dict[str, Any]) -> None:
        """Take over a state that ``state`` gave."""


def by_hand(settings: NetworkSettings) -> bool:
    """Whether the hand-batched engine trains these settings: the MLP under SGD."""
    return isinstance(settings, ResidualMLP) and settings.optimiser == "sgd"


class Minibatches:
    """Training images of one update after the other, indices (seeds, batch): drawn anew each time, none twice."""

    def __init__(self, seeds: Sequence[int], images: int, batch: int):
        self.random = [stream(seed, 3) for seed in seeds]
        self.images, self.batch = images, batch

    def draw(self) -> NDArray[np.int64]:
        """The next minibatch of every seed."""
        return np.stack([random.permutation(self.images)[: self.batch] for random in self.random])

    def state(self) -> list[Any]:
        """Where the draws stand."""
        return [random.bit_generator.state for random in self.random]

    def load(self, state: list[Any]) -> None:
        """Go on from a place that ``state`` gave."""
        for random, place in zip(self.random, state, strict=True):
            random.bit_generator.state = place


def run_group(
    settings: NetworkSettings,
    data: Dataset,
    lrs: Sequence[float],
    seeds: Sequence[int],
    device: torch.device,
    *,
    checkpoint: Path | None = None,
    progress: Callable[[int], None] | None = None,
    precision: str = "float32",
    compiled: bool = False,
) -> Array:
    """Train R runs together, run i at ``lrs[i]`` from ``seeds[i]``: curves (evaluations, R). See ``train_runs``."""
    s = settings
    engine: Engine
    if by_hand(s) and precision == "float32":
        engine = HandBatched(s, data, seeds, device)
    else:
        engine = Stacked(s, data, seeds, device, precision=precision, compiled=compiled)
    unique = sorted(set(seeds))
    batches = Minibatches(unique, len(data.train_y), s.batch)
    places = {int(t): row for row, t in enumerate(evaluation_steps(s))}
    curves = np.full((len(places), len(seeds)), np.inf)
    alive = np.arange(len(seeds))  # the runs that the engine still holds, in order
    start = 0
    key = repr((as_dict(s), list(lrs), list(seeds), precision))
    if checkpoint is not None and checkpoint.exists():
        saved = _read(checkpoint, key)
        start, alive, curves = saved["updates"], saved["alive"].numpy(), saved["curves"].numpy()
        batches.load(saved["batches"])
        if alive.size:
            engine.keep(torch.as_tensor(alive, device=device))
            engine.load(saved["engine"])

    seed_of = torch.tensor([unique.index(seeds[int(i)]) for i in alive], device=device, dtype=torch.int64)  # (R,)
    rates = torch.tensor(np.asarray(lrs)[alive], dtype=torch.float32, device=device)  # (R,)
    factors = schedule_factors(s)
    images = _on_device(data, device)
    x, y = (data.train_x, data.train_y) if s.eval_split == "train" else (data.test_x, data.test_y)
    points = _tensor(x[: s.eval_points], device), _tensor(y[: s.eval_points], device)
    for t in range(start, s.steps + 1):
        sound = torch.ones(alive.size, dtype=torch.bool, device=device)
        if t in places and alive.size:
            losses = engine.evaluate(*points)  # (R,)
            curves[places[t], alive] = losses.cpu().numpy()
            sound = losses.isfinite()
        if t == s.steps or not alive.size:
            break
        batch_x, batch_y = images(batches.draw())  # (seeds, B, D), (seeds, B)
        if len(unique) > 1:
            batch_x, batch_y = batch_x.index_select(0, seed_of), batch_y.index_select(0, seed_of)
        else:  # no copies of the same images
            batch_x, batch_y = batch_x.expand(alive.size, -1, -1), batch_y.expand(alive.size, -1)
        # batch_x (R, B, D), batch_y (R, B)
        sound = sound & engine.step(batch_x, batch_y, rates * float(factors[t]))
        if not bool(sound.all()):  # let the diverged runs go
            left = sound.nonzero()[:, 0]
            alive = alive[left.cpu().numpy()]
            seed_of, rates = seed_of[left], rates[left]
            engine.keep(left)
        if progress is not None:
            progress(t + 1)
        if checkpoint is not None and s.checkpoint_every and (t + 1) % s.checkpoint_every == 0:
            _write(checkpoint, key, t + 1, alive, curves, batches, engine)
    if checkpoint is not None:
        _write(checkpoint, key, s.steps + 1, alive, curves, batches, engine)
    return curves


def _tensor(array: NDArray[Any], device: torch.device) -> Tensor:
    return torch.tensor(np.asarray(array), device=device)


def _on_device(data: Dataset, device: torch.device) -> Callable[[NDArray[np.int64]], tuple[Tensor, Tensor]]:
    """A function from indices (seeds, B) to images (seeds, B, D) and labels (seeds, B) on the device."""
    count, dim = data.train_x.shape
    if 4 * count * dim > MOVED_AT_ONCE or not isinstance(data.train_x, np.ndarray):

        def gather(rows: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
            x = np.asarray(data.train_x[rows.ravel()]).reshape(*rows.shape, dim)
            return _tensor(x, device), _tensor(data.train_y[rows], device)

        return gather
    if device.type == "cpu":  # no copy of the images for every group; nothing below writes to them
        with _quiet_about_read_only():
            x, y = torch.from_numpy(data.train_x), torch.from_numpy(data.train_y)
    else:
        x, y = _tensor(data.train_x, device), _tensor(data.train_y, device)

    def take(rows: NDArray[np.int64]) -> tuple[Tensor, Tensor]:
        index = torch.from_numpy(rows.ravel()).to(device)  # index_select copies rows; x[index] took 30 times longer
        return x.index_select(0, index).view(*rows.shape, dim), y.index_select(0, index).view(rows.shape)

    return take


@contextmanager
def _quiet_about_read_only() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="The given NumPy array is not writable")
        yield


def _write(
    path: Path, key: str, updates: int, alive: NDArray[np.int64], curves: Any, batches: Minibatches, engine: Engine
) -> None:
    """Write a checkpoint beside the old one, then rename: a kill leaves one or the other, whole."""
    saved = {
        "key": key,
        "updates": updates,
        "alive": torch.tensor(alive),
        "curves": torch.tensor(curves),
        "batches": batches.state(),
        "engine": engine.state(),
    }
    beside = path.with_name(f"{path.name}.{uuid.uuid4().hex}.part")  # two threads or machines may be at it
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with beside.open("wb") as file:
            torch.save(saved, file)
            file.flush()
            os.fsync(file.fileno())
        os.replace(beside, path)
    except BaseException as error:  # a full disk above all: half a file would only fill it further
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        if not isinstance(error, OSError | RuntimeError):  # torch has its own error where a write falls short
            raise
        reason = (isinstance(error, OSError) and error.strerror) or str(error).splitlines()[0]
        warnings.warn(
            f"checkpoint '{path}' could not be written ({reason}): training goes on, and a run that is stopped now "
            "begins at the checkpoint before, or anew.",
            CheckpointWarning,
            stacklevel=2,
        )


def _read(path: Path, key: str) -> dict[str, Any]:
    """The checkpoint of these very runs, or a ``CheckpointError`` that says what is wrong with the file."""
    try:
        saved = torch.load(path, map_location="cpu", weights_only=True)
        found = saved["key"]
    except Exception as error:
        wrong = f"checkpoint = {str(path)!r} is no checkpoint of train_runs: delete it, or name another."
        raise CheckpointError(wrong) from error
    if found != key:
        raise CheckpointError(
            f"checkpoint = {str(path)!r} belongs to other runs ({found}): delete it, or name another for {key}."
        )
    return saved
