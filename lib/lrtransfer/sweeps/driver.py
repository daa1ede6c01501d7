"""The loop behind every sweep: hand out groups of runs, keep what comes back."""

from __future__ import annotations

import socket
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from lrtransfer.numerics.arrays import Array
from lrtransfer.sweeps.devices import resolve_device
from lrtransfer.sweeps.executors import Here, Pool, finished, lost_its_worker, stop
from lrtransfer.sweeps.keys import group_name
from lrtransfer.sweeps.progress import Bar
from lrtransfer.sweeps.store.run_rows import versions
from lrtransfer.sweeps.task_registry import CheckpointError, Run, task_of

_POLL = 0.5  # seconds after which the driver looks up, so that an interrupt is heard
_DEATHS = 3  # of workers in a row, with nothing finished in between: at one more the sweep gives up


class RunError(RuntimeError):
    """A run failed for a reason other than divergence; the message says which, and what is stored."""


@dataclass(frozen=True)
class Trained:
    """What a worker hands back of a group of R runs.

    Attributes
    ----------
    curves
        (evaluations, R)
    seconds
        that the group took
    device
        its name, with the model of a GPU
    versions
        of Python and packages, and the host
    """

    curves: Array
    seconds: float
    device: str
    versions: dict[str, str]


def train_group(
    runs: Sequence[Run],
    device: str,
    precision: str,
    compiled: bool,
    checkpoint: str | None,
    progress: Callable[[float], None] | None = None,
) -> Trained:
    """Train runs together, on whatever machine this is called on.

    Parameters
    ----------
    runs
        R of one kind
    device, precision, compiled, progress
        as in ``Task.train``
    checkpoint
        a file to resume from if it is there, or None; a machine that does not have its folder trains without one

    Returns
    -------
    Trained

    Raises
    ------
    ValueError
        for what the kind or this machine cannot do.
    """
    task = task_of(runs[0].settings)
    task.check(precision, compiled)

    def train(file: Path | None) -> Array:
        curves = task.train(
            runs, device=device, checkpoint=file, progress=progress, precision=precision, compiled=compiled
        )
        return np.asarray(curves, float)

    start = time.perf_counter()
    file = None if checkpoint is None else Path(checkpoint)
    if file is not None and not file.parent.is_dir():
        file = None
    try:
        curves = train(file)
    except CheckpointError:  # damaged, or of the same runs saved at other times: start anew
        if file is None:
            raise
        file.unlink(missing_ok=True)
        curves = train(file)
    where = resolve_device(device)
    name = where.type
    if where.type == "cuda":
        import torch

        name = f"cuda ({torch.cuda.get_device_name(where)})"
    seconds = time.perf_counter() - start
    return Trained(curves, seconds, name, versions() | {"host": socket.gethostname()})


@dataclass(frozen=True)
class Group:
    """Runs of one kind that train together.

    Attributes
    ----------
    runs
        one or more
    """

    runs: tuple[Run, ...]

    @property
    def keys(self) -> list[str]:
        """The runs' keys."""
        return [run.key for run in self.runs]

    def part(self, keys: Collection[str]) -> Group:
        """Some of the runs.

        Parameters
        ----------
        keys
            of those to keep

        Returns
        -------
        Group
            it may be empty.
        """
        return Group(tuple(run for run in self.runs if run.key in keys))

    @cached_property
    def work(self) -> float:
        """That of all runs: what the remaining time is estimated from."""
        of = Counter(run.settings for run in self.runs)
        return sum(runs * task_of(settings).work(settings) for settings, runs in of.items())

    def __str__(self) -> str:
        rates = sorted(run.lr for run in self.runs)
        at = f"rate {rates[0]:.4g}" if rates[0] == rates[-1] else f"rates {rates[0]:.4g} to {rates[-1]:.4g}"
        names = dict.fromkeys(task_of(run.settings).describe(run.settings) for run in self.runs)
        return f"{', '.join(names)} at {at}"


class Driver:
    """What trains the missing runs of a sweep: ``drive`` returns when every one is kept.

    Parameters
    ----------
    groups
        what is missing, each run once
    keep
        is given every group as it is done
    pool
        where they train
    report
        told of runs as they are kept
    device, precision, compiled
        as in ``Task.train``
    room
        how many groups to hand out at a time
    checkpoints
        the folder for the checkpoints of groups in flight, or None. Names of files in it: ``keys.group_name``
    """

    def __init__(
        self,
        groups: Sequence[Group],
        keep: Callable[[Group, Trained], None],
        pool: Pool,
        report: Bar,
        *,
        device: str,
        precision: str = "float32",
        compiled: bool = False,
        room: int,
        checkpoints: Path | None = None,
    ) -> None:
        self.keep, self.pool, self.report, self.room, self.checkpoints = keep, pool, report, room, checkpoints
        self.device, self.precision, self.compiled = device, precision, compiled
        # A run is in one group of these two at most: to be handed out, or handed out.
        self._todo = deque(groups)
        self._running: dict[Any, tuple[Group, int]] = {}  # and ``_deaths`` when it was handed out
        self._total, self._kept = sum(len(group.runs) for group in groups), 0
        self._deaths, self._in_a_row = 0, 0  # of workers: all, and those with nothing finished in between
        self._ahead = 0.0  # work reported of a group in flight
        self._failed: tuple[str, Exception] | None = None

    def drive(self) -> None:
        """Train what is missing.

        Raises
        ------
        RunError
            where a run failed, after what was in flight is kept.
        """
        try:
            while self._running or (self._todo and self._failed is None):
                while self._todo and self._failed is None and len(self._running) < self.room:
                    self._submit(self._todo.popleft())
                if self._running:
                    self._take_in()
        finally:
            stop(list(self._running))
            self.pool.close()
        if self._failed is not None:
            sentence, error = self._failed
            done = f"({self._kept} of {self._total} missing runs are stored now; the same call goes on from there.)"
            raise RunError(f"{sentence} {done if self.checkpoints else ''}".rstrip()) from error

    def _checkpoint(self, group: Group) -> Path | None:
        return self.checkpoints / group_name(group.keys, self.device) if self.checkpoints else None

    def _submit(self, group: Group) -> None:
        file = self._checkpoint(group)
        arguments = (group.runs, self.device, self.precision, self.compiled, None if file is None else str(file))
        watch = (self._watch(group),) if isinstance(self.pool.executor, Here) else ()
        try:
            future = self.pool.executor.submit(train_group, *arguments, *watch)
        except Exception as error:
            self._missed(group, self._deaths, error)
        else:
            self._running[future] = group, self._deaths

    def _take_in(self) -> None:
        """Keep what is done, and see to what is not."""
        for future in finished(list(self._running), _POLL):
            group, deaths = self._running.pop(future)
            try:
                trained = future.result()
            except Exception as error:
                self._missed(group, deaths, error)
                continue
            self.keep(group, trained)
            file = self._checkpoint(group)
            if file is not None:
                file.unlink(missing_ok=True)
            self._in_a_row = 0
            self._kept += len(group.runs)
            self.report.update(group.work - self._ahead, len(group.runs))
            self._ahead = 0.0

    def _missed(self, group: Group, deaths: int, error: Exception) -> None:
        """Queue a group that lost its worker, and renew the pool that died with it; else hand out nothing more.

        ``deaths``: when the group was handed out. One that was out already when a worker died, and is lost too, counts
        as lost with that one.
        """
        if self._failed is not None:  # the first failure is the one to tell
            return
        if not lost_its_worker(error):
            self._failed = f"{group} failed with {type(error).__name__}: {error}", error
            return
        self._todo.appendleft(group)
        if deaths < self._deaths:
            return
        self._deaths += 1
        self._in_a_row += 1
        if self._in_a_row > _DEATHS:
            many = f"workers died {self._in_a_row} times in a row, last with {group} ({error})"
            self._failed = f"{many}; is there enough memory?", error
        elif not self.pool.renew(error):
            self._failed = (
                f"a worker died with {group} ({error}), and its pool with it. Hand over a function that makes the "
                "pool, such as functools.partial(loky.get_reusable_executor, 4), and it is made anew.",
                error,
            )
        else:
            self.report.note(f"a worker died with {group}; it is done again")

    def _watch(self, group: Group) -> Callable[[float], None]:
        """A callback for ``Task.train``: moves the bar with the share of the updates done."""
        work, self._ahead = group.work, 0.0

        def share(done: float) -> None:
            self.report.update(work * done - self._ahead, 0)
            self._ahead = work * done

        return share
