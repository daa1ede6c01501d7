"""Time of the two-layer engine on a grid of rates, beside dense gradient descent on the same points.

Run ``python tests/bench_layers.py``: prints seconds; nothing is asserted. Dense descent is timed on a few
points at h = 1000 and its time for the grid extrapolated.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time

import numpy as np

from lrtransfer.layers import balance_course, expected_loss_with_error, loss_course
from lrtransfer.layers.dense import two_layer_descent
from lrtransfer.numerics.random import haar_orthogonal

STEPS, POINTS = 8, 200


def grid_seconds(h: int) -> float:
    """Seconds for the grid of POINTS x POINTS rates up to twice the critical scale, STEPS steps."""
    rates = np.linspace(0, 2 * h**1.5, POINTS)
    start = time.perf_counter()
    losses = expected_loss_with_error(rates[:, None], rates, h, STEPS)
    seconds = time.perf_counter() - start
    settled = np.isfinite(losses.value) & (losses.value > 1e-18)  # below, rounding is all there is
    worst = np.max(losses.error[settled] / losses.value[settled])
    print(
        f"expected_loss  h = {h:7d}  {POINTS} x {POINTS} rates, {STEPS} steps: {seconds:6.2f} s, "
        f"largest relative error {worst:.0e}, at most {losses.nodes} angles"
    )
    return seconds


def dense_seconds(h: int, points: int) -> float:
    """Seconds a point for dense gradient descent, one draw, STEPS steps."""
    rng = np.random.default_rng(0)
    w1, w2 = haar_orthogonal(h, rng), haar_orthogonal(h, rng)
    teacher = haar_orthogonal(h, rng) / np.sqrt(h)
    rates = np.linspace(0.1, 0.5, points) * h**1.5
    start = time.perf_counter()
    losses = [two_layer_descent(w1, w2, teacher, teacher, rate, rate, STEPS) for rate in rates]
    seconds = (time.perf_counter() - start) / points
    deviation = np.max(np.abs(np.transpose(losses) / loss_course(rates, rates, h, STEPS) - 1))
    print(f"dense descent  h = {h:7d}  {seconds:.2f} s a point and draw; one draw is within {deviation:.1%}")
    return seconds


def main() -> None:
    """Print the table."""
    for h in (100, 1000, 10**6):
        grid_seconds(h)
    reduced = grid_seconds(1000)
    total = dense_seconds(1000, 3) * POINTS**2
    print(f"the grid by dense descent, extrapolated: {total / 3600:.0f} h, {total / reduced:,.0f} times longer")
    start = time.perf_counter()
    balance_course(np.linspace(0.9, 1.5, 61), 1000, 512)
    print(f"balance_course h = 1000  61 exponents, 512 steps: {time.perf_counter() - start:.2f} s")


if __name__ == "__main__":
    main()
