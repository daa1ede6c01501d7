"""The settings files of the package, each in miniature, and a sweep that is stopped half way and goes on."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from lrtransfer.images.catalogue import DATASETS
from lrtransfer.residual.experiments.interrupted import StopsAfter
from lrtransfer.residual.networks.miniature import miniature
from lrtransfer.residual.networks.settings import NetworkSettings
from lrtransfer.residual.networks.training import final_losses
from lrtransfer.sweeps.run import run
from lrtransfer.sweeps.settings_file import read_sweep, shipped
from lrtransfer.sweeps.store import Store
from lrtransfer.sweeps.sweep import CurveResult, Sweep


@dataclass(frozen=True)
class SettingsFile:
    """What a settings file asks for: the different ``kinds``, ``data`` sets, ``widths`` and ``depths`` of its curves,
    the most ``steps`` of a run, the number of ``runs``; ``known`` and ``finite``: how many of its ``curves`` name a
    known data set, and in how many a miniature trains to a finite loss.
    """

    name: str
    kinds: tuple[str, ...]
    data: tuple[str, ...]
    widths: tuple[int, ...]
    depths: tuple[int, ...]
    steps: int
    runs: int
    curves: int
    known: int
    finite: int


def settings_files() -> list[SettingsFile]:
    """Every settings file that comes with the package, read, and each of its curves trained in miniature."""
    done: dict[NetworkSettings, bool] = {}
    found = []
    for name in shipped():
        sweep = read_sweep(name)
        every: list[Any] = [curve.settings for curve in sweep.curves]
        tiny = [miniature(s) for s in every]
        for s in tiny:
            if s not in done:
                done[s] = math.isfinite(float(final_losses(s, [1e-3], [0]).sum()))
        kinds, data, widths, depths = (
            tuple(sorted({getattr(s, field) for s in every})) for field in ("kind", "data", "width", "depth")
        )
        known, finite = sum(s.data in DATASETS for s in every), sum(done[s] for s in tiny)
        steps = max(s.steps for s in every)
        found.append(SettingsFile(name, kinds, data, widths, depths, steps, len(sweep), len(every), known, finite))
    return found


@dataclass(frozen=True)
class Stopped:
    """A sweep that was stopped after ``stored`` runs and went on, and the same sweep without a stop on two threads."""

    stored: int
    resumed: tuple[CurveResult, ...]
    unbroken: tuple[CurveResult, ...]

    @property
    def different(self) -> int:
        """Losses of the two that differ in any bit."""
        pairs = zip(self.resumed, self.unbroken, strict=True)
        return int(sum(np.sum(a.losses != b.losses) for a, b in pairs))


def stop_and_resume(sweep: Sweep, groups: int, train: Callable[..., Any] = run) -> Stopped:
    """Stop ``sweep`` after so many ``groups`` of runs, as Ctrl-C does, go on from the store, and train it unbroken."""
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "runs.sqlite") as store:
        stored = 0
        try:
            train(sweep, store, executor=StopsAfter(groups=groups), in_flight=1)
        except KeyboardInterrupt:
            stored = len(store)
        resumed = train(sweep, store)
    with tempfile.TemporaryDirectory() as folder:
        unbroken = train(sweep, Path(folder) / "runs.sqlite", executor=ThreadPoolExecutor(2))
    return Stopped(stored, tuple(resumed), tuple(unbroken))
