"""A small sweep for tests, in Python and as a file, and a guard against training again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from lrtransfer.residual.networks.settings import ResidualMLP
from lrtransfer.sweeps.sweep import Curve, Sweep

SMALL = ResidualMLP(width=8, depth=2, steps=4, batch=32, eval_points=100)
RATES = (0.25, 0.5, 1.0)
SWEEP = Sweep((Curve(SMALL, RATES), Curve(replace(SMALL, depth=3), RATES)), seeds=(0, 1))
FILE = (Path(__file__).parent.parent / "data" / "small_sweep.toml").read_text()


def forbid(*_: Any, **__: Any) -> Any:
    raise AssertionError("this run was stored already")
