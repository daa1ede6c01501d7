"""A rate sweep as one batched program against a loop over rates: 16 rates, N = 16, L = 6, one thread.

Run it as ``python tests/bench_residual.py``. It trains the same runs both ways, takes the best of five
timings and prints the ratio and the largest relative difference of the losses. It is no test: timings depend
on the machine.
"""

import time
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray

from lrtransfer.residual import ResidualMLP, final_losses


def best_time(run: Callable[[], NDArray[np.float64]], repeats: int = 5) -> tuple[float, NDArray[np.float64]]:
    """Shortest duration in seconds of several runs, and what the last one returned."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = run()
        times.append(time.perf_counter() - start)
    return min(times), result


def main() -> None:
    """Print batched seconds, loop seconds, their ratio and the largest relative difference."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        settings = ResidualMLP(width=16, depth=6)
        # All rates are stable: a diverged run costs nothing and would blur the comparison.
        lrs = 2.0 ** np.linspace(-4, 0, 16)

        def loop() -> NDArray[np.float64]:
            return np.concatenate([final_losses(settings, [lr], [0], device="cpu") for lr in lrs])

        loop()  # load the data and warm up
        batched_s, batched = best_time(lambda: final_losses(settings, lrs, [0], device="cpu"))
        loop_s, looped = best_time(loop)
    finally:
        torch.set_num_threads(threads)
    difference = np.max(np.abs(batched / looped - 1))
    print(f"16 rates at N = 16, L = 6: batched {batched_s:.3f} s, loop {loop_s:.3f} s")
    print(f"ratio {loop_s / batched_s:.2f}")
    print(f"max relative difference {difference:.1e}")


if __name__ == "__main__":
    main()
