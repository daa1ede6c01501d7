"""A training of one's own that can travel to other processes: functions of a module."""

from __future__ import annotations

import torch
from torch import Tensor, nn

TARGET = 0


def build() -> nn.Module:
    """A small network."""
    return nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Dropout(0.1), nn.Linear(16, 1))


def data() -> tuple[Tensor, Tensor]:
    """Inputs, and one of their entries to learn."""
    x = torch.randn(32, 6, generator=torch.Generator().manual_seed(1))
    return x, x[:, TARGET, None]


def train(model: nn.Module, lr: float) -> Tensor:
    """Twenty steps, whose masks are drawn from torch's generator."""
    (x, y), optimiser = data(), torch.optim.SGD(model.parameters(), lr=lr)
    for _ in range(20):
        optimiser.zero_grad()
        (model(x) - y).square().mean().backward()
        optimiser.step()
    return (model(x) - y).square().mean()  # a tensor will do
