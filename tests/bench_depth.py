"""How much faster the array program of the Depth chapter is than loops: the sweep of Fig. 2A, both ways.

Run by ``make bench``; prints seconds, their ratio and the largest difference of the two answers.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np

from lrtransfer.depth import gradient_descent, loss, stability_edge

DEPTHS = (2, 4, 8, 16, 32, 64, 128)
R = (0.5, 2.0)
STEPS, INIT, REPEATS = 30, 0.1, 10
Run = tuple[float, int, float]  # learning rate, depth, r


def scalar_runs(rates: int) -> list[Run]:
    """The runs of the four panels: two data ratios, the exact and the agnostic rule, all depths and rates."""
    grid = np.linspace(0.01, 2.0, rates).tolist()
    factor = {"exact": lambda r, depth: r ** (-2 + 2 / depth), "agnostic": lambda r, depth: 1.0}
    return [
        (x / depth * rule(r, depth), depth, r) for depth in DEPTHS for x in grid for r in R for rule in factor.values()
    ]


def plain_loop(runs: list[Run]) -> list[float]:
    """The gradient step as the paper writes it, one run and one step at a time, on Python floats."""
    losses = []
    for lr, depth, r in runs:
        w = INIT ** (1 / depth)
        try:
            for _ in range(STEPS):
                w = w + lr * (r - w**depth) * w ** (depth - 1)
                if not math.isfinite(w):
                    raise OverflowError
            losses.append(0.5 * (w**depth - r) ** 2)
        except OverflowError:
            losses.append(math.inf)
    return losses


def lean_loop(runs: list[Run]) -> list[float]:
    """The same with one power a step and no check but Python's own OverflowError."""
    losses = []
    for lr, depth, r in runs:
        w = INIT ** (1 / depth)
        less = depth - 1
        try:
            for _ in range(STEPS):
                p = w**less
                w += lr * (r - w * p) * p
            losses.append(0.5 * (w**depth - r) ** 2)
        except OverflowError:
            losses.append(math.inf)
    return losses


def array_program(rates: int) -> np.ndarray:
    """The same four panels in one call, axes depth, rate, r, rule."""
    depth = np.array(DEPTHS, dtype=float)[:, None, None, None]
    x = np.linspace(0.01, 2.0, rates)[:, None, None]
    r = np.array(R)[:, None]
    lr = x / depth * np.concatenate((r ** (-2 + 2 / depth), np.ones((len(DEPTHS), 1, len(R), 1))), axis=-1)
    weight = gradient_descent(lr, depth, STEPS, mu_yx=r, init=INIT)[-1]
    return loss(weight, depth, r)


def seconds(*functions: Callable[[], object]) -> list[float]:
    """Best time of each over rounds of three calls, in turns so that a busy machine slows all alike."""
    best = [math.inf] * len(functions)
    for _ in range(REPEATS):
        for i, function in enumerate(functions):
            for _ in range(3):  # the later calls find warm caches
                start = time.perf_counter()
                function()
                best[i] = min(best[i], time.perf_counter() - start)
    return best


def main() -> None:
    """Time the sweeps and print the table."""
    print("Depth: Fig. 2A, four panels, 7 depths, 30 steps; best time in milliseconds")
    print("rates   runs   array   plain loop  ratio   lean loop  ratio   largest difference (stable rates)")
    for rates in (100, 1000):
        runs = scalar_runs(rates)
        array, plain, lean = seconds(
            lambda n=rates: array_program(n), lambda q=runs: plain_loop(q), lambda q=runs: lean_loop(q)
        )
        ours, theirs = array_program(rates).ravel(), np.array(plain_loop(runs))
        lr, depth, r = np.array(runs).T
        steady = lr < stability_edge(depth, r)  # above the edge rounding grows, and chaos may tell the two apart
        gap = np.max(np.abs(ours[steady] - theirs[steady]))
        print(
            f"{rates:5d} {len(runs):6d} {array * 1e3:7.2f} {plain * 1e3:12.2f} {plain / array:6.0f}"
            f" {lean * 1e3:11.2f} {lean / array:6.0f}   {gap:.1e}"
        )
        assert gap < 1e-9, "the two ways disagree"


if __name__ == "__main__":
    main()
