"""Recorded sweeps of this room: settings files run on one machine and kept under results/residual-NAME/.

``python -m lrtransfer.residual.experiments.recorded NAME ...`` runs the shipped settings files NAME, keeping the runs
in runs/NAME.sqlite, so that it can be stopped and goes on, and writes results/residual-NAME/record.json.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from lrtransfer.numerics.arguments import choice
from lrtransfer.rates import BestLR
from lrtransfer.residual.networks.settings import as_dict, from_dict
from lrtransfer.sweeps import records
from lrtransfer.sweeps.run import run
from lrtransfer.sweeps.settings_file import read_sweep
from lrtransfer.sweeps.store import Store
from lrtransfer.sweeps.sweep import CurveResult


def make(name: str, store: str | Path, *, device: str = "auto", folder: str | Path | None = None) -> Path:
    """Train what ``store`` lacks of the settings file ``name``, and write the record residual-NAME; returns its path.

    The record holds the final losses of every curve, and as its duration the sum over runs. ``device``, ``folder``: as
    in ``run_sweep`` and ``records.write``. Raises ``ValueError`` naming the argument.
    """
    sweep = read_sweep(name)
    with Store(store) as kept:
        results = run(sweep, kept, device=device)
        keys = sweep.keys
        mine = [row for row in kept.rows() if row.key in keys]
    numbers = {
        "curves": [
            {
                "settings": {k: "none" if v is None else v for k, v in as_dict(r.settings).items()},
                "lrs": r.lrs,
                "losses": r.losses[-1],
            }
            for r in results
        ]
    }
    settings = {
        "file": name,
        "title": sweep.title,
        "seeds": list(sweep.seeds),
        "devices": sorted({r.device for r in mine}),
    }
    return records.write(
        f"residual-{name}",
        settings,
        numbers,
        seconds=sum(row.seconds for row in mine),
        folder=folder,
        made_by=f"python -m lrtransfer.residual.experiments.recorded {name}",
        packages=("numpy", "torch"),
    )


def read(name: str, *, folder: str | Path | None = None) -> tuple[dict[str, Any], tuple[CurveResult, ...]] | None:
    """The record residual-NAME and its curves, of which only the final losses were kept; None if there is none."""
    record = records.read(f"residual-{name}", folder=folder)
    if record is None:
        return None
    seeds = np.array(record["settings"]["seeds"])
    return record, tuple(
        CurveResult(from_dict(c["settings"]), np.array(c["lrs"]), seeds, np.array(c["losses"])[None])
        for c in record["numbers"]["curves"]
    )


def optima_by(results: Sequence[CurveResult], vary: str) -> dict[str, tuple[list[int], list[BestLR]]]:
    """Best rates against depth or width, by parametrisation: the sizes, and ``BestLR`` of each.

    ``vary``: "depth" or "width". Of the curves of a parametrisation those count whose other size is shared by most.
    """
    other = {"depth": "width", "width": "depth"}[choice("vary", vary, ("depth", "width"))]
    found: dict[str, tuple[list[int], list[BestLR]]] = {}
    for name in dict.fromkeys(r.settings.parametrisation for r in results):
        mine = [r for r in results if r.settings.parametrisation == name]
        held = Counter(getattr(r.settings, other) for r in mine)
        fixed = max(
            held, key=lambda size: len({getattr(r.settings, vary) for r in mine if getattr(r.settings, other) == size})
        )
        pairs = {getattr(r.settings, vary): r.best() for r in mine if getattr(r.settings, other) == fixed}
        kept = [(size, best) for size, best in sorted(pairs.items()) if best is not None]
        found[name] = ([size for size, _ in kept], [best for _, best in kept])
    return found


if __name__ == "__main__":
    for which in sys.argv[1:]:
        print(make(which, Path("runs") / f"{which}.sqlite"))
