"""The loop behind every sweep: claim a group of runs, hand it out, keep what comes back."""

from __future__ import annotations

import socket
import time
from collections import deque
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lrtransfer.sweeps.executors import Here, ends_with_us, finished, lost_its_worker, renewed, stop
from lrtransfer.sweeps.keys import kind_of
from lrtransfer.sweeps.leases import Flight, Lease, Unshared
from lrtransfer.sweeps.progress import Bar
from lrtransfer.sweeps.rows import versions

_POLL = 0.5  # seconds between two looks at what other processes are doing
_DEATHS = 3  # of workers in a row, with nothing finished in between: at one more the sweep gives up


class RunError(RuntimeError):
    """A run failed for a reason other than divergence; the message says which, and what is stored."""


@dataclass(frozen=True)
class Trained:
    """What a worker hands back: ``curves`` (evaluations, R), its ``seconds``, ``device`` and ``versions``."""

    curves: NDArray[np.float64]
    seconds: float
    device: str
    versions: dict[str, str]


def train_flight(
    settings: Any,
    lrs: Sequence[float],
    seeds: Sequence[int],
    device: str,
    precision: str,
    compiled: bool,
    checkpoint: str | None,
    progress: Callable[[int], None] | None = None,
) -> Trained:
    """Train runs together, on whatever machine this is called on; resumes from ``checkpoint`` if it is there.

    Run i has rate ``lrs[i]`` and seed ``seeds[i]``; ``compiled``: with torch.compile. A machine that does not have the
    checkpoint's folder trains without one.
    """
    from lrtransfer.residual.networks.runs import CheckpointError
    from lrtransfer.residual.networks.training import train_runs
    from lrtransfer.sweeps.devices import resolve_device

    def train(file: Path | None) -> NDArray[np.float64]:
        return train_runs(
            settings,
            lrs,
            seeds,
            device=device,
            checkpoint=file,
            progress=progress,
            precision=precision,
            compile=compiled,
        )

    start = time.perf_counter()
    file = None if checkpoint is None else Path(checkpoint)
    # A run that would be saved at its end only is stored at its end.
    if file is not None and not (0 < settings.checkpoint_every < settings.steps and file.parent.is_dir()):
        file = None
    try:
        curves = train(file)
    except CheckpointError:  # damaged, or of the same runs at another ``checkpoint_every``: start anew
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
    return Trained(np.asarray(curves, float), seconds, name, versions() | {"host": socket.gethostname()})


@dataclass(frozen=True)
class Group:
    """Runs of one curve that may train together: ``settings``, and key, rate and seed of every run."""

    settings: Any
    runs: tuple[tuple[str, float, int], ...]

    @property
    def keys(self) -> list[str]:
        """The runs' keys."""
        return [key for key, _, _ in self.runs]

    def part(self, keys: Collection[str]) -> Group:
        """Those of the runs that have these keys."""
        return Group(self.settings, tuple(run for run in self.runs if run[0] in keys))

    @property
    def work(self) -> float:
        """Proportional to the multiplications of one run: what the remaining time is estimated from."""
        s = self.settings
        return float(max(s.steps, 1) * s.batch * s.depth * s.width**2)

    def __str__(self) -> str:
        s, rates = self.settings, sorted(lr for _, lr, _ in self.runs)
        at = f"rate {rates[0]:.4g}" if rates[0] == rates[-1] else f"rates {rates[0]:.4g} to {rates[-1]:.4g}"
        return f"{kind_of(s)} of depth {s.depth} and width {s.width} at {at}"


class Driver:
    """One process's part in a sweep: ``drive`` returns when every run is kept, by this process or another.

    ``groups``: what is missing, each run once. ``claims``: who does which run. ``keep``: is given every group that
    this process trained. ``room``: how many groups to hand out at a time. ``report``: told of runs as they are kept.
    """

    def __init__(
        self,
        groups: Sequence[Group],
        claims: Lease | Unshared,
        keep: Callable[[Group, Trained], None],
        executor: Any,
        report: Bar,
        *,
        device: str,
        precision: str = "float32",
        compiled: bool = False,
        room: int,
    ) -> None:
        self.claims, self.keep, self.executor, self.report = claims, keep, executor, report
        self.device, self.precision, self.compiled, self.room = device, precision, compiled, room
        # A run is in one group of these two at most: to be claimed, or claimed and handed out.
        self._todo = deque(groups)
        self._running: dict[Any, tuple[Group, Flight, int]] = {}  # and ``_deaths`` when it was handed out
        self._missing = {key for group in groups for key in group.keys}
        self._total = len(self._missing)
        self._own = False  # whether the executor was made here
        self._deaths, self._in_a_row = 0, 0  # of workers: all, and those with nothing finished in between
        self._ahead = 0.0  # work reported of a run in flight
        self._failed: tuple[str, Exception] | None = None

    def drive(self) -> None:
        """Do it; ``RunError`` where a run failed, after what was in flight is kept."""
        told = False
        with self.claims:
            try:
                while self._running or (self._todo and self._failed is None):
                    busy = self._hand_out()
                    if self._running:
                        self._take_in()
                    elif busy:
                        if not told:
                            self.report.note(f"{busy} runs are being trained by another process; waiting for them")
                        told = True
                        time.sleep(_POLL)
            finally:
                left = stop(self.executor, list(self._running))
                flights = [self._running[future][1] for future in left]
                self.claims.leave(flights, left if ends_with_us(self.executor) else None)
                if self._own:
                    self.executor.shutdown(wait=False, cancel_futures=True)
        if self._failed is not None:
            sentence, error = self._failed
            raise RunError(f"{sentence} {self._kept()}".rstrip()) from error

    def _hand_out(self) -> int:
        """Claim and submit groups while there is room; returns how many runs other processes have."""
        waiting = []
        while self._todo and self._failed is None and len(self._running) < self.room:
            group = self._todo.popleft()
            flight, others = self.claims.claim(group.keys, self.device)
            mine = flight.keys if flight is not None else ()
            self._tick(group, [key for key in group.keys if key not in others and key not in mine])
            if others:
                waiting.append(group.part(others))
            if flight is not None:
                self._submit(group.part(mine), flight)
        self._todo.extend(waiting)
        return sum(len(group.runs) for group in waiting)

    def _submit(self, group: Group, flight: Flight) -> None:
        lrs, seeds = [lr for _, lr, _ in group.runs], [seed for _, _, seed in group.runs]
        checkpoint = None if flight.checkpoint is None else str(flight.checkpoint)
        arguments = (group.settings, lrs, seeds, self.device, self.precision, self.compiled, checkpoint)
        watch = (self._watch(group),) if isinstance(self.executor, Here) else ()
        try:
            future = self.executor.submit(train_flight, *arguments, *watch)
        except Exception as error:
            self._missed(group, self._deaths, error)
        else:
            self._running[future] = group, flight, self._deaths

    def _take_in(self) -> None:
        """Keep what is done, and see to what is not."""
        for future in finished(list(self._running), _POLL):
            group, flight, deaths = self._running.pop(future)
            try:
                trained = future.result()
            except Exception as error:
                self._missed(group, deaths, error)
                continue
            self.keep(group, trained)
            if flight.checkpoint is not None:
                flight.checkpoint.unlink(missing_ok=True)
            self._in_a_row = 0
            self._tick(group, group.keys)
        self.claims.check()

    def _missed(self, group: Group, deaths: int, error: Exception) -> None:
        """Queue a group that lost its worker, and replace the pool that died with it; else hand out nothing more.

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
        new = renewed(self.executor)
        if new is None or self._in_a_row > _DEATHS:
            many = f"workers died {self._in_a_row} times in a row, last with {group} ({error})"
            self._failed = f"{many}; is there enough memory?", error
            return
        self.report.note(f"a worker died with {group}; it is done again")
        if new is not self.executor:
            if self._own:
                self.executor.shutdown(wait=False)
            self.executor, self._own = new, True

    def _watch(self, group: Group) -> Callable[[int], None]:
        """A callback for ``train_runs``: moves the bar with the updates done."""
        each, self._ahead = group.work * len(group.runs) / max(group.settings.steps, 1), 0.0

        def updates(done: int) -> None:
            self.report.update(each * done - self._ahead, 0)
            self._ahead = each * done

        return updates

    def _tick(self, group: Group, keys: Sequence[str]) -> None:
        """Report runs as kept."""
        new = self._missing.intersection(keys)
        self._missing -= new
        if new:
            self.report.update(group.work * len(new) - self._ahead, len(new))
            self._ahead = 0.0

    def _kept(self) -> str:
        """What a store has of the runs that it lacked."""
        if isinstance(self.claims, Unshared):
            return ""
        done = self._total - len(self._missing)
        return f"({done} of {self._total} missing runs are stored now; the same call goes on from there.)"
