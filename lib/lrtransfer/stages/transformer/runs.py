"""Many runs of the staged transformer: trained in groups, each kept as it ends, so that a stopped sweep goes on."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

from lrtransfer.stages.transformer.settings import METHODS, StageCurves, StagedTransformer, train_runs
from lrtransfer.stages.transformer.text import topics
from lrtransfer.sweeps import records
from lrtransfer.sweeps.devices import resolve_device

Run = tuple[float, int, str]  # rate, seed, name of a method
NUMBERS = ("losses", "betas", "final")  # of a run's curves, inf allowed


def train_or_read(
    settings: StagedTransformer,
    runs: Sequence[Run],
    *,
    device: str = "auto",
    store: str | Path | None = None,
    progress: Callable[[float], None] | None = None,
) -> dict[Run, StageCurves]:
    """The curves of each run (rate, seed, name of a method), from ``store`` if they are there, else trained and kept.

    Runs are trained in groups, each kept as it ends. A store knows settings, rate, seed, method and text, but not the
    program: empty it when that changes. ``progress(share)`` is told what share of the runs is done.
    """
    files = {} if store is None else {run: Path(store) / f"{run_key(settings, *run)}.json" for run in runs}
    found = {run: curves for run, file in files.items() if (curves := _kept(file, run[2])) is not None}
    missing = [run for run in runs if run not in found]
    for group in groups(settings, missing, resolve_device(device).type) if missing else ():
        before = len(found)

        def tell(updates: int, of: int, before: int = before, group: list[Run] = group) -> None:
            if progress is not None:
                progress((before + len(group) * updates / of) / len(runs))

        start, cpu = time.perf_counter(), time.process_time()
        growths = [(lr, seed, METHODS[method]) for lr, seed, method in group]
        steps, stage, losses, betas, final = train_runs(settings, growths, device=device, progress=tell)
        wall, cpu = (time.perf_counter() - start) / len(group), (time.process_time() - cpu) / len(group)
        for place, run in enumerate(group):
            found[run] = StageCurves((run[2],), steps, stage, losses[:, [place]], betas[:, [place]], final[[place]])
            if store is not None:
                _keep(files[run], run, found[run], {"seconds": wall, "cpu_seconds": cpu})
    return found


def groups(settings: StagedTransformer, runs: Sequence[Run], place: str = "cpu") -> list[list[Run]]:
    """The runs in the groups that train together: all methods of a rate and seed, and as many of those as pay.

    Methods have the first stage in common. Beyond that small networks gain from company: on a CPU until their
    activations outgrow the cache, on another ``place`` until a layer's hold 2^24 numbers (64 MB; by this count, not
    measured). Nine runs of three methods and three seeds took, at width 32 with 256 characters a batch, 2.6 s together,
    3.9 s by seed and 9 s one by one; at width 64 with 1024 characters 10 s in each way (one thread of a busy machine).
    """
    size = (2**18 if place == "cpu" else 2**24) // (settings.batch * settings.length * settings.width)
    packed: list[list[Run]] = []
    for pair in dict.fromkeys(run[:2] for run in runs):
        together = [run for run in runs if run[:2] == pair]
        if packed and len(packed[-1]) + len(together) <= size:
            packed[-1] += together
        else:
            packed.append(together)
    return packed


def _keep(file: Path, run: Run, curves: StageCurves, spent: dict[str, float]) -> None:
    content = {
        "lr": run[0],
        "seed": run[1],
        "method": run[2],
        "steps": curves.steps.tolist(),
        "stage": curves.stage.tolist(),
    }
    for name in NUMBERS:
        numbers = getattr(curves, name).reshape(-1).tolist()
        content[name] = [number if np.isfinite(number) else records.INFINITY for number in numbers]
    records.save(file, content | spent)


def _kept(file: Path, method: str) -> StageCurves | None:
    kept = records.load(file, ("steps", "stage", *NUMBERS))
    if kept is None:
        return None
    losses, betas, final = (np.array([float(value) for value in kept[name]]) for name in NUMBERS)
    return StageCurves(
        (method,), np.array(kept["steps"]), np.array(kept["stage"]), losses[:, None], betas[:, None], final
    )


def run_key(settings: StagedTransformer, lr: float, seed: int, method: str) -> str:
    """A name for one run: equal for equal settings, growth and text."""
    text = topics()
    read = hashlib.sha256(text.train.tobytes() + text.held_out.tobytes()).hexdigest()
    content = [asdict(settings), lr, seed, asdict(METHODS[method]), read, NUMBERS]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
