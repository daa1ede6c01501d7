"""What the store costs a run: key, lock, write, read back, with training left out.

Run it as ``python tests/bench_store.py``. A sweep of 1000 runs is handed a training that returns at once; what
is left is the store's. The runs go in groups of one, the most expensive way. It is no test: timings depend on
the machine and its drive.
"""

import tempfile
import time
from pathlib import Path

import numpy as np

from lrtransfer.residual.networks import training
from lrtransfer.residual.networks.settings import ResidualMLP
from lrtransfer.sweeps import driver
from lrtransfer.sweeps.driver import Trained
from lrtransfer.sweeps.run import run
from lrtransfer.sweeps.store import Store
from lrtransfer.sweeps.store.run_rows import versions
from lrtransfer.sweeps.sweep import Curve, Sweep


def at_once(runs, *_) -> Trained:
    """Curves of 41 evaluations, as the default settings have."""
    return Trained(np.ones((41, len(runs))), 0.0, "cpu", versions())


def main() -> None:
    """Print milliseconds a run: a sweep's first pass, its second pass, a put and a get."""
    driver.train_group = at_once
    training.group_size = lambda settings, device: 1
    lrs = tuple(np.geomspace(1e-3, 1, 100))
    sweep = Sweep((Curve(ResidualMLP(), lrs),), seeds=tuple(range(10)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store.sqlite"
        run(Sweep((Curve(ResidualMLP(), (2.0,)),), seeds=(0,)), path, device="cpu")  # imports, tables
        for name in ("first pass (write, read)", "second pass (read)"):
            start, busy = time.perf_counter(), time.process_time()
            run(sweep, path, device="cpu")
            # 1000 runs: seconds are milliseconds a run.
            print(f"{name:32} {time.perf_counter() - start:.3f} ms, of them {time.process_time() - busy:.3f} of a core")
        network, curve = ResidualMLP(), np.ones(41)
        with Store(Path(folder) / "other.sqlite") as store:
            start, busy = time.perf_counter(), time.process_time()
            for seed in range(1000):
                store.put(network, 0.1, seed, curve, seconds=1.0, device="cpu")
            print(
                f"{'put':32} {time.perf_counter() - start:.3f} ms, of them {time.process_time() - busy:.3f} of a core"
            )
            start, busy = time.perf_counter(), time.process_time()
            for seed in range(1000):
                store.get(network, 0.1, seed)
            print(
                f"{'get':32} {time.perf_counter() - start:.3f} ms, of them {time.process_time() - busy:.3f} of a core"
            )
        start = time.perf_counter()
        with Store(path) as store:
            number = len(store)
        print(f"opening and checking {number} runs    {1000 * (time.perf_counter() - start):.1f} ms")


if __name__ == "__main__":
    main()
