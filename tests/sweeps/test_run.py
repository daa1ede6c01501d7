"""The loop that finishes what a store lacks: killed and started again, or shared by two processes."""

from __future__ import annotations

import concurrent.futures as cf
import multiprocessing
import signal
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from lrtransfer import cli
from lrtransfer.residual.networks import training
from lrtransfer.residual.networks.settings import ResidualMLP
from lrtransfer.sweeps import driver
from lrtransfer.sweeps import run as runner
from lrtransfer.sweeps.run import run
from lrtransfer.sweeps.settings_file import read_sweep, sweep_from
from lrtransfer.sweeps.store import Store
from lrtransfer.sweeps.sweep import Curve, CurveResult, Sweep

SMALL = ResidualMLP(width=8, depth=2, steps=4, batch=32, eval_points=100)
RATES = (0.25, 0.5, 1.0)
SWEEP = Sweep((Curve(SMALL, RATES), Curve(replace(SMALL, depth=3), RATES)), seeds=(0, 1))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.sqlite"


def expected(sweep: Sweep) -> list[np.ndarray]:
    """Curve by curve, without store, driver or interruption."""
    tables = []
    for curve in sweep.curves:
        lrs, seeds = np.repeat(curve.lrs, len(sweep.seeds)), sweep.seeds * len(curve.lrs)
        losses = training.train_runs(curve.settings, lrs, seeds, device="cpu")
        tables.append(losses.reshape(-1, len(curve.lrs), len(sweep.seeds)))
    return tables


def assert_same(results: tuple[CurveResult, ...], sweep: Sweep) -> None:
    """Equal to the last bit where the same runs trained together; 1e-5 covers another grouping in float32."""
    for result, losses in zip(results, expected(sweep), strict=True):
        np.testing.assert_allclose(result.losses, losses, rtol=1e-5)


def forbid(*_: Any, **__: Any) -> Any:
    raise AssertionError("this run was stored already")


# Runs


def test_a_sweep_gives_what_its_runs_give_and_trains_nothing_twice(path, monkeypatch):
    results = run(SWEEP, path, device="cpu")
    for result, losses in zip(results, expected(SWEEP), strict=True):
        np.testing.assert_array_equal(result.losses, losses)  # the same groups, so the same bits
    assert results[0].losses.shape == (SMALL.steps + 1, 3, 2)
    monkeypatch.setattr(driver, "train_flight", forbid)
    again = run(SWEEP, path, device="cuda")  # nothing is missing: no device is needed
    np.testing.assert_array_equal(again[1].losses, results[1].losses)
    assert not Path(f"{path}.checkpoints").exists()


def test_only_what_is_missing_is_trained(path, monkeypatch):
    run(SWEEP, path, device="cpu")
    seen: list[tuple[float, int]] = []
    original = driver.train_flight

    def watch(settings: Any, lrs: Any, seeds: Any, *rest: Any) -> Any:
        seen.extend(zip(lrs, seeds, strict=True))
        return original(settings, lrs, seeds, *rest)

    monkeypatch.setattr(driver, "train_flight", watch)
    more = Sweep((Curve(SMALL, (*RATES, 2.0)), Curve(SMALL, RATES)), seeds=(0, 1))  # and a curve given twice
    assert len(more) == 8
    assert_same(run(more, path, device="cpu"), more)
    assert seen == [(2.0, 0), (2.0, 1)]


def test_a_run_that_diverges_is_inf_and_stops_no_other(path):
    sweep = Sweep((Curve(replace(SMALL, steps=30), (0.5, 1e6)),), seeds=(0, 1))
    (result,) = run(sweep, path, device="cpu")
    assert np.isfinite(result.losses[:, 0]).all() and np.isinf(result.losses[-1, 1]).all()
    with Store(path) as store:
        assert len(store) == 4


def test_every_kind_of_network_trains_from_a_file(path):
    common = {"data": "digits", "steps": 2, "batch": 16, "width": 4, "depth": 1, "eval_points": 20}
    for place, kind in enumerate(({"kind": "conv"}, {"kind": "resnet", "norm": "layer"}, {"kind": "vit", "heads": 2})):
        sweep = sweep_from({"lrs": [0.01], "network": {**common, **kind}})
        (result,) = run(sweep, path, device="cpu")
        assert np.isfinite(result.losses).all()
        with Store(path) as store:
            assert len(store) == place + 1


def test_a_run_that_fails_is_named_and_the_others_are_kept(path, monkeypatch):
    original = driver.train_flight

    def fail(settings: Any, *rest: Any) -> Any:
        if settings.depth == 3:
            raise OSError("the images are gone")
        return original(settings, *rest)

    monkeypatch.setattr(driver, "train_flight", fail)
    with pytest.raises(driver.RunError, match=r"mlp of depth 3 and width 8 .* OSError: the images are gone .6 of 12"):
        run(SWEEP, path, device="cpu")
    monkeypatch.setattr(driver, "train_flight", original)
    assert_same(run(SWEEP, path, device="cpu"), SWEEP)  # its claims were given back


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"device": "tpu"}, "device = 'tpu'"),
        ({"executor": 3}, "executor = 3"),
        ({"executor": cf.ThreadPoolExecutor(1), "workers": "tcp://a"}, "exclude each other"),
        ({"in_flight": 0}, "in_flight = 0"),
        ({"lease": 0}, "lease = 0"),
        ({"store": 3}, "store = 3"),
        ({"store": None}, "store = None"),
        *[
            ({"workers": a}, "workers = .*scheme and port")
            for a in ("tcp://a", "a:8786", "", "tcp://:1", "tcp://a:b", 3)
        ],
    ],
)
def test_arguments_are_refused_by_name(arguments, message, path):
    with pytest.raises(ValueError, match=message):
        run(SWEEP, **{"store": path, **arguments})
    with pytest.raises(ValueError, match="sweep = 3"):
        run(3, path)  # type: ignore[arg-type]


@pytest.mark.skipif(torch.cuda.is_available(), reason="this machine has a GPU")
def test_what_needs_cuda_is_refused_before_anything_is_trained(path):
    for fields in ({"compile": True}, {"precision": "bf16"}):
        with pytest.raises(ValueError, match=f"{next(iter(fields))} = .* on device 'cpu'"):
            run(replace(SWEEP, **fields), path, device="cpu")


def test_compile_reaches_the_training(path, monkeypatch):
    seen: list[bool] = []

    def watch(settings: Any, lrs: Any, seeds: Any, *, compile: bool, **_: Any) -> Any:
        seen.append(compile)
        return np.ones((settings.steps + 1, len(lrs)))

    monkeypatch.setattr(training, "train_runs", watch)
    monkeypatch.setattr(runner, "check_cuda", lambda *_: None)
    run(replace(SWEEP, compile=True), path, device="cpu")
    assert seen and all(seen)
    run(replace(SWEEP, seeds=(2,)), path, device="cpu")
    assert not seen[-1]


def test_the_folder_may_change_while_a_store_is_open(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other").mkdir()
    with Store("a.sqlite") as store:
        monkeypatch.chdir(tmp_path / "other")
        run(SWEEP, store, device="cpu", lease=0.05)  # the heart beats too
    assert list((tmp_path / "other").iterdir()) == []


# Stopping and starting again. LONG has 15 checkpoints: a kill after the first comes in the middle.

LONG = Sweep((Curve(replace(SMALL, steps=1500, eval_every=500, checkpoint_every=100), (0.125, 0.25)),), seeds=(0,))
LONG_FILE = """
lrs = [0.125, 0.25]
network = { kind = "mlp", width = 8, depth = 2, batch = 32, eval_points = 100 }
curves = [{ steps = 1500, eval_every = 500, checkpoint_every = 100 }]
"""
# One server imports torch once; the processes below are forks of it.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(
    ["torch", "sklearn.datasets", "lrtransfer.residual.networks.training", "lrtransfer.cli"]
)


def driving(path: Path, log: Path, depths: tuple[int, ...], barrier: Any) -> None:
    """Another process's part in a sweep; it writes down what it trains."""
    train = driver.train_flight

    def logged(settings: Any, lrs: Any, seeds: Any, *rest: Any) -> Any:
        with log.open("a") as file:
            file.writelines(f"{settings.depth} {lr} {seed}\n" for lr, seed in zip(lrs, seeds, strict=True))
        return train(settings, lrs, seeds, *rest)

    driver.train_flight = logged  # type: ignore[assignment]
    curves = tuple(Curve(replace(SMALL, depth=depth, steps=100), (0.125, 0.25)) for depth in depths)
    barrier.wait(60)
    run(Sweep(curves, seeds=(0,)), path, device="cpu")


def checkpoints(path: Path | str) -> list[Path]:
    """The complete checkpoints beside a store; their folder comes and goes."""
    return [file for file in Path(f"{path}.checkpoints").glob("*") if file.suffix != ".part"]


def wait_for(what: Callable[[], Any], seconds: float = 60) -> None:
    stop = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < stop, "it never happened"
        time.sleep(0.01)


def count_updates(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The number of updates done at every call of ``train_runs``'s progress."""
    done: list[int] = []
    original = training.train_runs

    def counted(*arguments: Any, progress: Any = None, **options: Any) -> Any:
        return original(*arguments, progress=done.append, **options)

    monkeypatch.setattr(training, "train_runs", counted)
    return done


def test_after_kill_minus_nine_the_same_command_goes_on_from_the_checkpoint(path, tmp_path, monkeypatch, capsys):
    file = tmp_path / "long.toml"
    file.write_text(LONG_FILE)
    assert read_sweep(file) == LONG
    arguments = ["sweep", str(file), "--device", "cpu", "--store", str(path)]
    killed = PROCESSES.Process(target=cli.main, args=(arguments,))
    killed.start()
    wait_for(lambda: checkpoints(path))
    killed.kill()
    killed.join(60)
    assert killed.exitcode == -signal.SIGKILL
    with Store(path) as store:
        assert len(store) == 0
    done = count_updates(monkeypatch)
    assert cli.main(arguments) == 0  # the dead process's claim is no obstacle
    assert "2 runs, 0 of them" in capsys.readouterr().out
    assert done[0] % 100 == 1 and done[0] > 100 and done[-1] == 1500  # it did not start at the start
    monkeypatch.undo()
    with Store(path) as store:
        found = np.stack([store.get(LONG.curves[0].settings, lr, 0) for lr in LONG.curves[0].lrs], axis=1)
    np.testing.assert_array_equal(found[..., None], expected(LONG)[0])
    assert not Path(f"{path}.checkpoints").exists()


def test_a_half_written_checkpoint_is_thrown_away(path, monkeypatch):
    sweep = Sweep((Curve(replace(SMALL, checkpoint_every=1), RATES),), seeds=(0,))

    def die(*_: Any, checkpoint: Path, **__: Any) -> Any:
        checkpoint.write_bytes(b"PK\x03\x04 half a checkpoint")
        raise KeyboardInterrupt

    monkeypatch.setattr(training, "train_runs", die)
    with pytest.raises(KeyboardInterrupt):
        run(sweep, path, device="cpu")
    assert len(list(Path(f"{path}.checkpoints").iterdir())) == 1
    monkeypatch.undo()
    done = count_updates(monkeypatch)
    (result,) = run(sweep, path, device="cpu")
    assert done == [1, 2, 3, 4]
    np.testing.assert_array_equal(result.losses, expected(sweep)[0])


def test_two_processes_on_one_store_share_the_work(path, tmp_path):
    depths = (2, 3, 4, 5, 6, 7)
    barrier = PROCESSES.Barrier(2)
    both = [PROCESSES.Process(target=driving, args=(path, tmp_path / f"log{i}", depths, barrier)) for i in range(2)]
    for one in both:
        one.start()
    for one in both:
        one.join(120)
        assert one.exitcode == 0
    logs = [(tmp_path / f"log{i}").read_text().split("\n")[:-1] for i in range(2) if (tmp_path / f"log{i}").exists()]
    runs = [f"{depth} {lr} 0" for depth in depths for lr in (0.125, 0.25)]
    assert sorted(line for log in logs for line in log) == sorted(runs)  # every run once, by one of them
    with Store(path) as store:
        assert len(store) == len(runs)


def test_it_waits_for_the_runs_of_another_process_and_takes_over_when_that_stops(path):
    keys = [key for curve in SWEEP.curves for key, _, _ in SWEEP.runs(curve)]
    results: list[tuple[CurveResult, ...]] = []
    from lrtransfer.sweeps.leases import Lease

    with Store(path) as store, Lease(store, lease=60) as other:
        other.claim(keys, "cpu")
        thread = threading.Thread(target=lambda: results.append(run(SWEEP, path, device="cpu")))
        thread.start()
        time.sleep(0.8)
        assert thread.is_alive() and len(store) == 0
    thread.join(60)
    assert_same(results[0], SWEEP)
