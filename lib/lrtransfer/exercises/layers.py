"""Answers of the Layers chapter."""

from __future__ import annotations

import numpy as np

from lrtransfer import layers
from lrtransfer.exercises.answers import Answer, Slip
from lrtransfer.layers import experiments
from lrtransfer.numerics.arrays import Array

H = 1000
SPLITS = ("equal rates", "train one layer only", "two to one")


def _best_split() -> str:
    split, _ = layers.best_split(1.3, H, 1)
    return SPLITS[0] if split < 0.01 else SPLITS[1] if split > 0.99 else SPLITS[2]


def _opening() -> float:
    wide, kappa = 10**8, 2e-6
    curvature = layers.balance_course(1.5 + np.log(kappa) / np.log(wide), wide, 400).curvature
    return float(layers.crossings(kappa * np.arange(20, 401), curvature[20:])[0] * wide**0.5)


def _conserved_power() -> float:
    """The power of the norms whose difference the norm-driven schedule changes least."""
    powers = np.array([1.0, 2.0, 3.0, 4.0])
    return float(powers[np.argmin(experiments.conserved_drift(powers, 24, 0.25, 160, seed=1, schedule="norm"))])


def _stuck_mean() -> float:
    rate = 0.5 * 20**1.5
    return float(20 * layers.expected_loss(rate, rate, 20, 400))


def _sharpness(h: int, trained: int = 2) -> float:
    """Top eigenvalue of J'J where two layers have learned the teacher, of so many of them."""
    v, readout, teacher = np.eye(3, h)
    x = h**0.25
    first, second = x * np.outer(teacher, v), x * np.outer(v, readout)
    by_layer = np.sum((second @ readout) ** 2) * np.eye(h), first @ first.T  # J J' / h, of either layer
    return float(np.linalg.eigvalsh(sum(by_layer[:trained], np.zeros((h, h))))[-1] / h)


def _turn() -> Array:
    wide, kappa = 10**8, 0.002
    steps = np.arange(1, 4000)
    losses = np.array([float(layers.signal_loss(kappa * wide**1.5, kappa * wide**1.5, wide, int(t))) for t in steps])
    return np.array([kappa * steps[np.argmin(losses)], losses.min()])


def _one_step(split: float) -> float:
    """The best loss after one step at this split, over the sum of rates."""
    total = H**1.5 * np.linspace(0.0, 3.0, 30_001) * H**0.5
    return float(layers.one_step_loss((1 + split) * total / 2, (1 - split) * total / 2, H).min())


def _lets_go() -> float:
    rate = H**1.3
    course = layers.loss_course(rate, rate, H, 20)
    surrogate = np.array([float(layers.signal_loss(rate, rate, H, t)) for t in range(21)])
    return float(np.argmax(np.abs(surrogate / course - 1) > 0.1))


ANSWERS = {
    "layers.1": Answer("the best split after one step", _best_split, options=SPLITS),
    "layers.2": Answer(
        "tau times the square root of h where the window of gradient descent opens under the flow",
        _opening,
        tolerance=0.02,
        slips=(Slip(lambda: 0.5, "That is the condition of the surrogate after two steps."),),
    ),
    "layers.3": Answer(
        "the power of the two norms whose difference the norm-driven schedule conserves",
        _conserved_power,
        slips=(Slip(lambda: 2.0, "That is what equal rates conserve."),),
    ),
    "layers.4": Answer(
        "the mean of the final loss at h = 20, times h",
        _stuck_mean,
        tolerance=0.02,
        slips=(Slip(lambda: 1.0, "That is the final loss of a run that is stuck; not all of them are."),),
    ),
    "layers.5": Answer(
        "the sharpness at h = 100",
        lambda: _sharpness(100),
        tolerance=0.001,
        slips=(Slip(lambda: _sharpness(100, trained=1), "That is one layer's share of it."),),
    ),
    "layers.6": Answer("the time tau of the smallest loss at h = 1e8, and that loss", _turn, tolerance=0.01),
    "layers.7": Answer(
        "the best loss after one step at h = 1000, with equal rates and with one layer only",
        lambda: [_one_step(0.0), _one_step(1.0)],
        tolerance=0.02,
        slips=(Slip(lambda: [_one_step(1.0), _one_step(0.0)], "Those are the two in the other order."),),
    ),
    "layers.8": Answer("the first step at which the two losses differ by more than 10 %", _lets_go, tolerance=0.001),
}
"""By number, in the order of the page."""
