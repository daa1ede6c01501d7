"""The runs that are recorded under results/: how they are made, and where they are read.

``lrtransfer record layers-NAME`` makes one of them again; all take about ten minutes of one core.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from lrtransfer.layers.experiments import (
    advantage,
    balance_runs,
    gains,
    relu_losses,
    schedule_runs,
    split_statistics,
)
from lrtransfer.numerics import arguments
from lrtransfer.numerics.estimates import mean_and_error
from lrtransfer.sweeps.recorder import Recipe, Sitting, recorded

TWO_LAYER_SUMS = (27000, 36000, 45000, 54000, 63000)
THREE_LAYER_SUMS = (30, 44, 58, 72, 86, 100)
RATES = {layers: [s / 2 for s in sums] for layers, sums in ((2, TWO_LAYER_SUMS), (3, THREE_LAYER_SUMS))}
DRAWS = {2: 5, 3: 100}  # three layers: the loss of one draw fluctuates with |beta|^2
UNITS = (0.8, 1.1, 1.4, 1.6)  # rates in units of sqrt(h); the paper's range at h = 1000 is 0.5 to 1.6
RELU_SPLITS = [-1.0, -0.7, -0.4, -0.2, -0.1, 0.0, 0.1, 0.2, 0.4, 0.7, 1.0]
# closer where balance begins and ceases to win, as the theorem and runs at smaller widths say
WINDOW = {
    0.1: (1.02, 1.05, 1.08, 1.1, 1.12, 1.14, 1.17, 1.2, 1.25, 1.3, 1.35, 1.4, 1.44, 1.46, 1.48, 1.5),
    1.0: (0.92, 0.95, 0.98, 1.0, 1.02, 1.04, 1.07, 1.1, 1.15, 1.2, 1.25, 1.3, 1.35, 1.38, 1.4, 1.42, 1.45, 1.5),
    10.0: (0.8, 0.82, 0.84, 0.86, 0.88, 0.91, 0.95, 0.99, 1.03, 1.08, 1.13, 1.18, 1.23, 1.25, 1.27, 1.28, 1.29, 1.32),
}
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
    "window": [
        dict(exponents=list(at), h=1000, steps=2, split=0.3, draws=5, seed=0, noise=x / 1000)
        for x, at in WINDOW.items()
    ],
    "scheduler": [
        dict(h=1000, lr=16.0, steps=60, seeds=[0, 1], activation="relu", noise=0.01, initialisation="gaussian")
    ],
    "relu": [
        dict(h=h, unit=unit, steps=3, splits=RELU_SPLITS, first_seed=1000, seeds=240)
        for h in (64, 128)
        for unit in UNITS
    ],
    # what the first record let one suppose, asked of seeds and of a width that had no part in it
    "relu-again": [dict(h=96, unit=unit, steps=3, splits=RELU_SPLITS, first_seed=5000, seeds=240) for unit in UNITS],
}


def _balance(settings: dict[str, Any]) -> dict[str, Any]:
    losses = balance_runs(**settings)
    won = advantage(losses)
    loss, error = mean_and_error(losses[..., 1], axis=1)
    return {"loss": loss, "loss_error": error, "advantage": won.value, "advantage_error": won.error}


def _window(settings: dict[str, Any]) -> dict[str, Any]:
    rest = dict(settings)
    losses = balance_runs(2, [float(settings["h"]) ** a for a in rest.pop("exponents")], **rest)
    return {"loss": losses[..., 1].mean(axis=1), "won": gains(losses)}


def _schedule(settings: dict[str, Any]) -> dict[str, Any]:
    return asdict(schedule_runs(**settings))


def _relu(settings: dict[str, Any]) -> dict[str, Any]:
    h, first = settings["h"], settings["first_seed"]
    seeds = range(first, first + settings["seeds"])
    losses = relu_losses(h, settings["unit"] * h**0.5, settings["steps"], splits=settings["splits"], seeds=seeds)
    return asdict(split_statistics(settings["splits"], losses, seed=0))


def recipe(name: str, what: str, compute: Callable[[dict[str, Any]], Any], runs: list[dict[str, Any]]) -> Recipe:
    """The record of several runs, each a part of its own, so that a stopped recording goes on at the next one."""

    def make(sitting: Sitting) -> dict[str, Any]:
        numbers = []
        for place, settings in enumerate(runs):
            numbers.append(sitting.part(f"run{place}", lambda settings=settings: compute(settings)))  # type: ignore[misc]
            sitting.tell((place + 1) / len(runs))
        return {"runs": numbers}

    return Recipe(f"layers-{name}", what, {"runs": runs}, make)


MAKERS = {
    "gaussian": _balance,
    "noise": _balance,
    "window": _window,
    "scheduler": _schedule,
    "relu": _relu,
    "relu-again": _relu,
}
WORDS = {
    "gaussian": "two and three layers from a Gaussian start, h = 1000",
    "noise": "two and three layers with label noise, h = 1000",
    "window": "two layers with label noise at the rates at which balance wins, h = 1000",
    "scheduler": "the norm-driven schedule against uniform rates, h = 1000",
    "relu": "three layers with ReLU at split rates, 240 seeds",
    "relu-again": "the same at another width and other seeds",
}
RECIPES = tuple(recipe(name, WORDS[name], MAKERS[name], runs) for name, runs in SETTINGS.items())


def read(name: str) -> dict[str, Any] | None:
    """A record of results/, None where only the package is installed.

    Parameters
    ----------
    name
        One of ``SETTINGS``.

    Returns
    -------
    dict[str, Any] | None
        The record with "runs", a list of {"settings", "numbers"}, the numbers as lists in the shapes of ``advantage``,
        ``gains`` or ``ScheduleRuns``; "cpu_seconds" is its duration.

    Raises
    ------
    ValueError
        ``DamagedRecord``, a ``ValueError``, for a record that was changed by hand or made with other settings.
    """
    arguments.choice("name", name, tuple(SETTINGS))
    entry = recorded(next(each for each in RECIPES if each.name == f"layers-{name}"))
    if entry is None:
        return None
    pairs = zip(entry["settings"]["runs"], entry["numbers"]["runs"], strict=True)
    runs = [{"settings": settings, "numbers": numbers} for settings, numbers in pairs]
    return entry | {"runs": runs, "cpu_seconds": entry["seconds"]}
