"""Valid calls of ``lrtransfer.practice``."""

import numpy as np
import torch
from broken_calls import Call, call
from torch import nn

from lrtransfer import practice

ONE = call()
BATCH = torch.ones(3, 4)
LRS = np.array([0.01, 0.02, 0.04, 0.08, 0.16])
LOSSES = (np.log2(LRS / 0.05)[:, None] + np.array([0.0, 0.1, 0.2])) ** 2 + 1


def build(size: int = 8) -> nn.Module:
    """A small network."""
    return nn.Sequential(nn.Linear(4, size), nn.Linear(size, size), nn.Linear(size, 1))


def loss(module: nn.Module, batch: torch.Tensor) -> torch.Tensor:
    """Its mean square."""
    return module(batch).square().mean()


def descent(module: nn.Module) -> torch.optim.Optimizer:
    """Gradient descent."""
    return torch.optim.SGD(module.parameters(), lr=0.01)


def train(module: nn.Module, lr: float) -> float:
    """One number from the rate."""
    return 1.0 + lr


CHECK = practice.coordinate_check(build, [8, 16], BATCH, loss, descent, steps=1, seeds=2)
CURVE = practice.SweepCurve("one", LRS, LOSSES)
MODEL, BASE = build(16), build(8)
CALLS: dict[str, Call] = {
    "best_rate": ONE(lrs=LRS, losses=LOSSES),
    # a batch is whatever the reader's loss takes
    "coordinate_check": call("batch")(
        build=build,
        sizes=[8, 16],
        batch=BATCH,
        loss=loss,
        optimiser=descent,
        steps=1,
        seeds=2,
        axis="width",
        within=0.2,
    ),
    "draw_check": ONE(check=CHECK, most=2),
    "draw_sweeps": ONE(curves=[CURVE]),
    "initialise": ONE(model=MODEL, base=BASE, depth_ratio=1.0, roles={"0.weight": "embedding"}),
    "parameter_groups": ONE(
        model=MODEL,
        base=BASE,
        optimiser="adam",
        lr=0.01,
        depth_ratio=1.0,
        weight_decay=0.0,
        epsilon=1e-8,
        branch=0.5,
        roles={"0.weight": "embedding"},
    ),
}
