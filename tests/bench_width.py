"""Time and memory of the width engine: ``python tests/bench_width.py`` (not collected by pytest)."""

import math
import time
import tracemalloc

import numpy as np

from lrtransfer.width import coefficient_draws, exact_argmin, one_step_coefficients, optimal_lr, training_loss


def timed(label, function):
    start = time.perf_counter()
    function()
    print(f"{label:<66} {time.perf_counter() - start:8.4f} s")


def peak(function):
    tracemalloc.start()
    function()
    size = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return size


def main():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((1000, 1))
    y = X[:, 0]
    for width in (2**10, 2**20, 2**40):
        timed(f"exact optimum, n = {width}, L = 3, d = 1", lambda n=width: optimal_lr(n, X, y, 3, seed=0))
    timed("exact optimum, n = 2^20, L = 8, d = 1", lambda: optimal_lr(2**20, X, y, 8, seed=0))
    wide = rng.standard_normal((1000, 50))
    timed("exact optimum, n = 2^20, L = 3, d = 50", lambda: optimal_lr(2**20, wide, wide[:, 0], 3, seed=0))
    timed(
        "coefficients with vectors of R^n kept, n = 2^20, L = 3, d = 1",
        lambda: one_step_coefficients(2**20, X, y, 3, seed=0, coordinates=True),
    )
    for n in (2**16, 2**18, 2**20):
        size = peak(lambda n=n: one_step_coefficients(n, X, y, 3, seed=0, coordinates=True))
        rotated = peak(lambda n=n: one_step_coefficients(n, X, y, 3, seed=0))
        print(f"peak memory, n = {n}: {size / n / 8:.1f} n numbers; rotated {rotated / 1024:.0f} KiB")
    draws = coefficient_draws([2**20], X, y, 3, seeds=range(200))
    timed(
        "200 draws of the coefficients, n = 2^20",
        lambda: coefficient_draws([2**20], X, y, 3, seeds=range(200)),
    )
    timed("200 exact optima from them", lambda: exact_argmin(draws, X, y))
    lrs = np.linspace(0.05, 0.5, 100)
    for width in (2**20, math.inf):
        timed(f"10 steps at 100 rates, n = {width}", lambda n=width: training_loss(lrs, n, X, y, 3, 10, seed=0))
        timed(f"best rate after 10 steps, n = {width}", lambda n=width: optimal_lr(n, X, y, 3, steps=10, seed=0))


if __name__ == "__main__":
    main()
