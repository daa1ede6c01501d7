"""The runs at h = 1000 that are recorded under results/: what makes them, and where they are read.

``python -m lrtransfer.layers.recorded FOLDER`` repeats them all (about ten minutes of one core) and writes
FOLDER/layers-NAME/record.json, each with its settings, versions, machine and duration.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from lrtransfer.layers.experiments import advantage, balance_runs, schedule_runs
from lrtransfer.numerics import arguments
from lrtransfer.numerics.fits import mean_and_error
from lrtransfer.sweeps import records

TWO_LAYER_SUMS = (27000, 36000, 45000, 54000, 63000)
THREE_LAYER_SUMS = (30, 44, 58, 72, 86, 100)
RATES = {layers: [s / 2 for s in sums] for layers, sums in ((2, TWO_LAYER_SUMS), (3, THREE_LAYER_SUMS))}
DRAWS = {2: 5, 3: 100}  # three layers: the loss of one draw fluctuates with |beta|^2
SETTINGS: dict[str, list[dict[str, Any]]] = {
    "gaussian": [
        dict(layers=k, rates=RATES[k], h=1000, steps=4, split=0.3, draws=DRAWS[k], seed=0, initialisation=start)
        for k in (2, 3)
        for start in ("orthogonal", "gaussian")
    ],
    "noise": [
        dict(layers=k, rates=RATES[k][::2], h=1000, steps=2, split=0.3, draws=DRAWS[k], seed=0, noise=rho)
        for k in (2, 3)
        for rho in (0.001, 0.01)
    ],
    "scheduler": [
        dict(h=1000, lr=16.0, steps=60, seeds=[0, 1], activation="relu", noise=0.01, initialisation="gaussian")
    ],
}


def _balance(settings: dict[str, Any]) -> dict[str, Any]:
    losses = balance_runs(**settings)
    won = advantage(losses)
    loss, error = mean_and_error(losses[..., 1], axis=1)
    return {
        "loss": loss.tolist(),
        "loss_error": error.tolist(),
        "advantage": won.value.tolist(),
        "advantage_error": won.error.tolist(),
    }


def _schedule(settings: dict[str, Any]) -> dict[str, Any]:
    return {name: value.tolist() for name, value in asdict(schedule_runs(**settings)).items()}


MAKERS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "gaussian": _balance,
    "noise": _balance,
    "scheduler": _schedule,
}


def make(name: str) -> dict[str, Any]:
    """Repeat the runs of one record: {"made_by", "runs", "versions", "machine", "cpu_seconds"}.

    name: one of ``MAKERS``. Each of "runs" is {"settings", "numbers"}, the numbers as lists in the shapes of
    ``advantage`` or of ``ScheduleRuns``; cpu_seconds is the process's time. ValueError for another name.
    """
    maker = MAKERS[arguments.choice("name", name, tuple(MAKERS))]
    start = time.process_time()
    runs = [{"settings": settings, "numbers": maker(settings)} for settings in SETTINGS[name]]
    return {
        "made_by": f"lrtransfer.layers.recorded.make({name!r})",
        "runs": runs,
        "versions": records.versions("numpy"),
        "machine": records.machine(),
        "cpu_seconds": round(time.process_time() - start, 1),
    }


def read(name: str) -> dict[str, Any] | None:
    """A record from results/ of the repository; None where only the package is installed.

    Raises ``DamagedRecord``, a ``ValueError``, for a file that is not a whole record.
    """
    arguments.choice("name", name, tuple(MAKERS))
    return records.load(
        records.results() / f"layers-{name}" / "record.json", ("runs", "versions", "machine", "cpu_seconds")
    )


def write(name: str, folder: Path) -> Path:
    """Repeat the runs of one record and write it below ``folder``; the path of the file. ValueError as in ``make``."""
    return records.save(folder / f"layers-{name}" / "record.json", make(name))


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("results")
    for which in sys.argv[2:] or MAKERS:
        print(write(which, target))
