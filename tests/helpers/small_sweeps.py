"""Small sweeps for tests, in Python and as files, what comes out of them, and a guard against training again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from lrtransfer.residual.networks import training
from lrtransfer.residual.networks.settings import ResidualMLP
from lrtransfer.sweeps import driver
from lrtransfer.sweeps.sweep import Curve, CurveResult, Sweep

SMALL = ResidualMLP(width=8, depth=2, steps=4, batch=32, eval_points=100)
RATES = (0.25, 0.5, 1.0)
SWEEP = Sweep((Curve(SMALL, RATES), Curve(replace(SMALL, depth=3), RATES)), seeds=(0, 1))
FILE = (Path(__file__).parent.parent / "data" / "small_sweep.toml").read_text()
# Four groups of four runs each where there is room for eight groups, which means four workers.
FOUR = Sweep((Curve(SMALL, (0.25, 0.5, 1.0, 2.0)),), seeds=(0, 1, 2, 3))
# 15 checkpoints: a kill after the first comes in the middle.
LONG = Sweep((Curve(replace(SMALL, steps=1500, eval_every=500, checkpoint_every=100), (0.125, 0.25)),), seeds=(0,))
LONG_FILE = """
lrs = [0.125, 0.25]
network = { kind = "mlp", width = 8, depth = 2, batch = 32, eval_points = 100 }
curves = [{ steps = 1500, eval_every = 500, checkpoint_every = 100 }]
"""


def expected(sweep: Sweep) -> list[np.ndarray]:
    """Curve by curve, without store, driver or interruption."""
    tables = []
    for curve in sweep.curves:
        lrs, seeds = np.repeat(curve.lrs, len(sweep.seeds)), sweep.seeds * len(curve.lrs)
        losses = training.train_runs(curve.settings, lrs, seeds, device="cpu")
        tables.append(losses.reshape(-1, len(curve.lrs), len(sweep.seeds)))
    return tables


def assert_same(results: tuple[CurveResult, ...], sweep: Sweep) -> None:
    """Equal to the last bit where the same runs trained together; 1e-5 covers another grouping in float32."""
    for result, losses in zip(results, expected(sweep), strict=True):
        np.testing.assert_allclose(result.losses, losses, rtol=1e-5)


def forbid(*_: Any, **__: Any) -> Any:
    raise AssertionError("this run was stored already")


def watched(monkeypatch: pytest.MonkeyPatch, before: Callable[[], Any] = lambda: None) -> list[tuple[float, int]]:
    """The runs handed to training, in order; ``before`` is called in the worker before it trains."""
    seen: list[tuple[float, int]] = []
    original = driver.train_group

    def watch(runs: Any, *rest: Any) -> Any:
        seen.extend((run.lr, run.seed) for run in runs)
        before()
        return original(runs, *rest)

    monkeypatch.setattr(driver, "train_group", watch)
    return seen
