"""The loop behind ``runner.run``: claim a group of runs, hand it out, store what comes back."""

from __future__ import annotations

import os
import socket
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lrtransfer.residual.keys import kind_of
from lrtransfer.residual.leases import Flight, Lease
from lrtransfer.residual.pools import Here, finished, lost_its_worker, renewed
from lrtransfer.residual.progress import Progress
from lrtransfer.residual.rows import run_row, versions
from lrtransfer.residual.store import Store

_POLL = 0.5  # seconds between two looks at what other processes are doing
_BREAKS = 3  # workers that may die in a row, with nothing finished in between, before the sweep gives up


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
    checkpoint: str,
    progress: Callable[[int], None] | None = None,
) -> Trained:
    """Train runs together, on whatever machine this is called on; resumes from ``checkpoint`` if it is there.

    Run i has rate ``lrs[i]`` and seed ``seeds[i]``; ``compiled``: with torch.compile. A machine that does not have the
    checkpoint's folder trains without one.
    """
    from lrtransfer.residual.training import resolve_device, train_runs

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
    # A run that would be saved at its end only is stored at its end.
    saves = 0 < settings.checkpoint_every < settings.steps and os.path.isdir(os.path.dirname(checkpoint))
    file = Path(checkpoint) if saves else None
    try:
        curves = train(file)
    except ValueError as error:
        if file is None or not file.exists() or not str(error).startswith("checkpoint"):
            raise
        file.unlink()  # damaged, or of the same runs at another ``checkpoint_every``: start anew
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

    @property
    def work(self) -> float:
        """Proportional to the multiplications of one run: what the remaining time is estimated from."""
        s = self.settings
        return float(max(s.steps, 1) * s.batch * s.depth * s.width**2)

    def __str__(self) -> str:
        s, rates = self.settings, sorted(lr for _, lr, _ in self.runs)
        return f"{kind_of(s)} of depth {s.depth} and width {s.width} at rates {rates[0]:.4g} to {rates[-1]:.4g}"


class Driver:
    """One process's part in a sweep: ``drive`` returns when every run is stored, by this process or another.

    ``groups``: what the store lacks. ``room``: how many groups to hand out at a time. ``report``: told of
    ``missing`` runs as they are stored.
    """

    def __init__(
        self,
        store: Store,
        groups: Sequence[Group],
        missing: set[str],
        executor: Any,
        report: Progress,
        *,
        device: str,
        precision: str,
        compiled: bool,
        room: int,
        lease: float,
    ) -> None:
        self.store, self.executor, self.report = store, executor, report
        self.device, self.precision, self.compiled, self.room = device, precision, compiled, room
        self.lease = Lease(store, lease=lease)
        self._todo, self._missing, self._total = deque(groups), set(missing), len(missing)
        self._running: dict[Any, tuple[Group, Flight, int]] = {}
        self._pool, self._own, self._breaks = 0, False, 0  # which pool, whether it was made here
        self._ahead = 0.0  # work reported of a run in flight
        self._failed: tuple[Group, Exception] | None = None

    def drive(self) -> None:
        """Do it; ``RunError`` where a run failed, after what was in flight is stored."""
        told = False
        with self.lease:
            try:
                while self._todo or self._running:
                    busy = self._hand_out()
                    if self._running:
                        self._take_in()
                    elif busy:
                        if not told:
                            self.report.note(f"{busy} runs are being trained by another process; waiting for them")
                        told = True
                        time.sleep(_POLL)
            finally:
                for future in self._running:
                    future.cancel()
                if self._own:
                    self.executor.shutdown(wait=False, cancel_futures=True)
        if self._failed is not None:
            group, error = self._failed
            raise RunError(f"{group} failed with {type(error).__name__}: {error} {self._stored()}") from error

    def _hand_out(self) -> int:
        """Claim and submit groups while there is room; returns how many runs other processes have."""
        busy = 0
        for _ in range(len(self._todo)):
            if len(self._running) >= self.room:
                break
            group = self._todo.popleft()
            flight, others = self.lease.claim(group.keys, self.device)
            mine = flight.keys if flight is not None else ()
            self._tick(group, [key for key in group.keys if key not in others and key not in mine])
            if others:
                self._todo.append(group)
                busy += len(others)
            if flight is not None:
                self._submit(group, flight)
        return busy

    def _submit(self, group: Group, flight: Flight) -> None:
        runs = [(lr, seed) for key, lr, seed in group.runs if key in flight.keys]
        lrs, seeds = [lr for lr, _ in runs], [seed for _, seed in runs]
        how = self.device, self.precision, self.compiled
        arguments = (group.settings, lrs, seeds, *how, str(flight.checkpoint))
        watch = (self._watch(group, len(runs)),) if isinstance(self.executor, Here) else ()
        try:
            future = self.executor.submit(train_flight, *arguments, *watch)
        except Exception as error:
            if not lost_its_worker(error):
                raise
            self._again(group, self._pool, error)
        else:
            self._running[future] = group, flight, self._pool

    def _take_in(self) -> None:
        """Store what is done; put back what lost its worker; remember what failed by itself."""
        for future in finished(list(self._running), _POLL):
            group, flight, pool = self._running.pop(future)
            try:
                trained = future.result()
            except Exception as error:
                if lost_its_worker(error):
                    self._again(group, pool, error)
                else:
                    self._failed = self._failed or (group, error)
                    self._todo.clear()  # hand out nothing more
                    self.lease.release(flight)
                continue
            self._keep(group, flight, trained)

    def _keep(self, group: Group, flight: Flight, trained: Trained) -> None:
        runs = [run for run in group.runs if run[0] in flight.keys]
        share = trained.seconds / len(runs)
        curves = np.asarray(trained.curves).T  # (R, evaluations)
        self.store.put_many(
            run_row(group.settings, lr, seed, curve, share, trained.device, self.precision, trained.versions)
            for (_, lr, seed), curve in zip(runs, curves, strict=True)
        )
        flight.checkpoint.unlink(missing_ok=True)
        self._breaks = 0
        self._tick(group, flight.keys)

    def _again(self, group: Group, pool: int, error: Exception) -> None:
        """Queue a group whose worker died, and replace the pool that died with it."""
        if self._failed is not None:  # nothing more is handed out
            return
        self._todo.appendleft(group)
        if pool != self._pool:  # another group of the same pool was here first
            return
        self._breaks += 1
        new = renewed(self.executor)
        if new is None or self._breaks > _BREAKS:
            raise RunError(
                f"workers died {self._breaks} times in a row, last with {group} ({error}); is there enough memory? "
                + self._stored()
            ) from error
        self.report.note(f"a worker died with {group}; it is done again")
        if new is not self.executor:
            if self._own:
                self.executor.shutdown(wait=False)
            self.executor, self._own, self._pool = new, True, self._pool + 1

    def _watch(self, group: Group, runs: int) -> Callable[[int], None]:
        """A callback for ``train_runs``: moves the bar with the updates done."""
        each, self._ahead = group.work * runs / max(group.settings.steps, 1), 0.0

        def updates(done: int) -> None:
            self.report.update(each * done - self._ahead, 0)
            self._ahead = each * done

        return updates

    def _tick(self, group: Group, keys: Sequence[str]) -> None:
        """Report runs as stored."""
        new = self._missing.intersection(keys)
        self._missing -= new
        if new:
            self.report.update(group.work * len(new) - self._ahead, len(new))
            self._ahead = 0.0

    def _stored(self) -> str:
        done = self._total - len(self._missing)
        return f"({done} of {self._total} missing runs are stored now; the same call goes on from there.)"
