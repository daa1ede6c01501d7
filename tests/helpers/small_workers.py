"""Executors and processes for tests of sweeps."""

from __future__ import annotations

import concurrent.futures as cf
import multiprocessing
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# One server imports torch once; the processes are forks of it.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(
    ["torch", "sklearn.datasets", "lrtransfer.residual.networks.task", "lrtransfer.cli", "small_sweeps"]
)


class Job:
    """A future in all but its class, as submitit's jobs are."""

    def __init__(self, function: Callable[[], Any], looks: int = 2) -> None:
        self.result = function
        self.looks = looks  # done after so many

    def done(self) -> bool:
        self.looks -= 1
        return self.looks < 0


class Cluster:
    """An executor in all but its class."""

    def submit(self, function: Any, *arguments: Any) -> Job:
        return Job(lambda: function(*arguments))


class Doomed(Cluster):
    """Every worker dies."""

    def submit(self, function: Any, *arguments: Any) -> Job:
        def result() -> Any:
            raise cf.BrokenExecutor("a worker was killed")

        return Job(result)


def checkpoints(path: Path | str) -> list[Path]:
    """The complete checkpoints beside a store; their folder comes and goes."""
    return [file for file in Path(f"{path}.checkpoints").glob("*") if file.suffix != ".part"]


def wait_for(what: Callable[[], Any], seconds: float = 60) -> None:
    """Until it is true, which another thread or process sees to."""
    stop, never = time.monotonic() + seconds, threading.Event()
    while not what():
        assert time.monotonic() < stop, "it never happened"
        never.wait(0.01)
