"""Small stores for tests."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from lrtransfer.residual.networks.settings import ResidualMLP
from lrtransfer.sweeps.store import Store

MLP = ResidualMLP(width=16, depth=3, steps=2)
CURVE = np.array([2.5, 1.0 / 3.0, math.inf])


def put(store: Store, lr: float, seed: int = 0, curve: object = CURVE, network: object = MLP) -> None:
    store.put(network, lr, seed, curve, seconds=1.5, device="cpu")


def filled(path: Path, runs: int = 200) -> None:
    with Store(path) as store:
        for seed in range(runs):
            put(store, 0.1, seed)
