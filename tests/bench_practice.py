"""Time of a coordinate check of a small network, and of its parameter groups.

Run ``python tests/bench_practice.py``: prints seconds; nothing is asserted. The check is to stay below ten seconds on
one core.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import time

import torch
from torch import nn

from lrtransfer.practice import coordinate_check, initialise, parameter_groups


def build(width: int) -> nn.Module:
    """Two hidden layers."""
    return nn.Sequential(
        nn.Linear(16, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Dropout(0.1), nn.Linear(width, 10)
    )


def loss(model: nn.Module, batch: tuple[torch.Tensor, torch.Tensor]) -> torch.Tensor:
    """Cross-entropy."""
    return nn.functional.cross_entropy(model(batch[0]), batch[1])


def main() -> None:
    """Print the seconds."""
    torch.set_num_threads(1)
    batch, base = (torch.randn(64, 16), torch.arange(64) % 10), build(64)
    for name, make, optimiser in (
        ("one rate", build, lambda m: torch.optim.Adam(m.parameters(), lr=1e-3)),
        (
            "groups",
            lambda n: initialise(build(n), base),
            lambda m: torch.optim.Adam(parameter_groups(m, base, lr=1e-3)),
        ),
    ):
        start, used = time.perf_counter(), time.process_time()
        coordinate_check(make, (64, 256, 1024), batch, loss, optimiser)
        seconds, cpu = time.perf_counter() - start, time.process_time() - used
        print(f"coordinate_check, widths 64, 256, 1024, 4 seeds, {name}: {seconds:.1f} s, {cpu:.1f} s of one core")


if __name__ == "__main__":
    main()
