"""Times one batched sweep against one network at a time, on one thread: the MLP by hand, the others stacked.

Run it from the repository root with ``PYTHONPATH=lib python tests/bench_residual.py``. It trains the same runs
both ways, takes the best of several timings in seconds of processor time (other programs on the machine then
count less) and prints the ratio and the largest relative difference of the losses. It is no test: timings depend
on the machine.
"""

import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from lrtransfer.residual import (
    ConvNet,
    NetworkSettings,
    ResidualMLP,
    ResNet,
    VisionTransformer,
    final_losses,
    group_size,
    train_runs,
)


def best_time(run: Callable[[], NDArray[np.float64]], repeats: int) -> tuple[float, NDArray[np.float64]]:
    """Shortest processor time in seconds of several runs, and what the last one returned."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        result = run()
        times.append(time.process_time() - start)
    return min(times), result


def sweep_of_the_mlp() -> None:
    """16 rates at N = 16, L = 6, all stable: a diverged run costs nothing and would blur the comparison."""
    settings, lrs = ResidualMLP(width=16, depth=6), 2.0 ** np.linspace(-4, 0, 16)

    def loop() -> NDArray[np.float64]:
        return np.concatenate([final_losses(settings, [lr], [0], device="cpu") for lr in lrs])

    loop()  # load the data and warm up
    batched_s, batched = best_time(lambda: final_losses(settings, lrs, [0], device="cpu"), 9)
    loop_s, looped = best_time(loop, 5)
    print(f"mlp, 16 rates at N = 16, L = 6: batched {batched_s:.3f} s, loop {loop_s:.3f} s")
    print(f"ratio {loop_s / batched_s:.2f}, max relative difference {np.max(np.abs(batched / looped - 1)):.1e}")


def groups(settings: NetworkSettings, sizes: tuple[int, ...] = (1, 2, 4, 8, 16)) -> None:
    """Milliseconds a run and update when R runs train together; the last number is what ``group_size`` picks."""
    s = replace(settings, steps=8, eval_every=0, eval_points=8)
    cells = []
    for runs in sizes:
        seconds, _ = best_time(lambda runs=runs: train_runs(s, [0.05] * runs, [0] * runs, device="cpu"), 3)
        cells.append(f"{1e3 * seconds / runs / s.steps:7.2f}")
    pick = group_size(s, torch.device("cpu"))
    print(f"{s.kind:7}{s.width:5}{s.depth:4}", *cells, f"{pick:6}", flush=True)


def main() -> None:
    """Print the table."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        sweep_of_the_mlp()
        print("ms a run and update at R = 1, 2, 4, 8, 16 together; group_size")
        for width, depth in ((16, 3), (16, 12), (32, 6), (64, 6), (128, 3)):
            groups(ConvNet(width=width, depth=depth))
        groups(ResNet(width=16, depth=4))
        for width, depth in ((32, 3), (64, 3)):
            groups(VisionTransformer(width=width, depth=depth))
    finally:
        torch.set_num_threads(threads)


if __name__ == "__main__":
    main()
