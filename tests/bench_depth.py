"""How much faster the array program of the Depth chapter is than loops: the sweep of Fig. 2A, both ways.

Run by ``make timings``; prints seconds, their ratio and the largest difference of the two answers.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

import numpy as np

from lrtransfer.depth import gradient_descent, loss, stability_edge

DEPTHS = (2, 4, 8, 16, 32, 64, 128)
R = (0.5, 2.0)
STEPS, INIT, ROUNDS = 30, 0.1, 10
Run = tuple[float, int, float]  # learning rate, depth, r
Runs = tuple[np.ndarray, np.ndarray, np.ndarray]  # the same of many runs


def scalar_runs(rates: int) -> list[Run]:
    """The runs of the four panels: two data ratios, the exact and the agnostic rule, all depths and rates."""
    grid = np.linspace(0.01, 2.0, rates).tolist()
    factor = {"exact": lambda r, depth: r ** (-2 + 2 / depth), "agnostic": lambda r, depth: 1.0}
    return [
        (x / depth * rule(r, depth), depth, r) for depth in DEPTHS for x in grid for r in R for rule in factor.values()
    ]


def sweep_loop(rates: int) -> list[np.ndarray]:
    """The sweep as one first writes it: loops over depth, rate and step, the rates NumPy numbers from a grid."""
    losses = []
    with np.errstate(all="ignore"):
        for r in R:
            for exact in (True, False):
                panel = np.empty((len(DEPTHS), rates))
                for i, depth in enumerate(DEPTHS):
                    for j, x in enumerate(np.linspace(0.01, 2.0, rates)):
                        lr = x / depth * (r ** (-2 + 2 / depth) if exact else 1.0)
                        w = INIT ** (1 / depth)
                        for _ in range(STEPS):
                            w += lr * (r - w**depth) * w ** (depth - 1)
                        panel[i, j] = 0.5 * (w**depth - r) ** 2
                losses.append(panel)
    return losses


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


def array_runs(rates: int) -> Runs:
    """The same runs as three arrays that broadcast to axes depth, r, rule, rate: learning rate, depth, r."""
    depth = np.array(DEPTHS, dtype=float)[:, None, None, None]
    r = np.array(R)[:, None, None]
    rule = np.concatenate((r ** (-2 + 2 / depth), np.ones((len(DEPTHS), len(R), 1, 1))), axis=2)
    return np.linspace(0.01, 2.0, rates) / depth * rule, depth, r


def array_program(runs: Runs) -> np.ndarray:
    """The same in one call, with the weights at every step kept on the way."""
    lr, depth, r = runs
    return loss(gradient_descent(lr, depth, STEPS, mu_yx=r, init=INIT)[-1], depth, r)


def seconds(functions: Sequence[Callable[[], object]], calls: Sequence[int]) -> list[float]:
    """Best time of each over rounds of so many calls, in turns so that a busy machine slows all alike."""
    best = [math.inf] * len(functions)
    for _ in range(ROUNDS):
        for i, (function, repeats) in enumerate(zip(functions, calls, strict=True)):
            for _ in range(repeats):  # the later calls find warm caches
                start = time.perf_counter()
                function()
                best[i] = min(best[i], time.perf_counter() - start)
    return best


def main() -> None:
    """Time the sweeps and print the table."""
    print("Depth: Fig. 2A, four panels, 7 depths, 30 steps; best time in milliseconds, and over the array program's")
    print("rates   runs   array | loop over a NumPy grid | Python floats, guarded | one power a step")
    for rates in (100, 1000):
        runs, arrays = scalar_runs(rates), array_runs(rates)
        *loops, array = seconds(
            (
                lambda n=rates: sweep_loop(n),
                lambda q=runs: plain_loop(q),
                lambda q=runs: lean_loop(q),
                lambda q=arrays: array_program(q),
            ),
            (1, 3, 3, 6000 // rates),  # short calls need more tries to meet an undisturbed moment
        )
        ours, theirs = array_program(arrays), np.array(plain_loop(runs))
        grid = np.stack(sweep_loop(rates)).reshape(len(R), 2, len(DEPTHS), rates)  # axes r, rule, depth, rate
        lr, depth, r = np.array(runs).T
        steady = lr < stability_edge(depth, r)  # above the edge rounding grows, and chaos may tell the two apart
        for other in (theirs, grid.transpose(2, 3, 0, 1).ravel()):
            gap = np.max(np.abs(ours.transpose(0, 3, 1, 2).ravel()[steady] - other[steady]))
            assert gap < 1e-9, "the ways disagree"
        cells = " | ".join(f"{loop * 1e3:12.2f} {loop / array:6.0f}x" for loop in loops)
        print(f"{rates:5d} {len(runs):6d} {array * 1e3:7.2f} | {cells}")


if __name__ == "__main__":
    main()
