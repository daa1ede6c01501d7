"""The loop that finishes what a store lacks, killed and started again."""

from __future__ import annotations

import concurrent.futures as cf
import signal
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from small_sweeps import LONG, LONG_FILE, RATES, SMALL, SWEEP, assert_same, expected, forbid, watched
from small_workers import PROCESSES, checkpoints, wait_for

from lrtransfer import cli
from lrtransfer.residual.networks import training
from lrtransfer.sweeps import driver
from lrtransfer.sweeps import run as runner
from lrtransfer.sweeps.run import run
from lrtransfer.sweeps.settings_file import read_sweep, sweep_from
from lrtransfer.sweeps.store import Store
from lrtransfer.sweeps.sweep import Curve, Sweep


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.sqlite"


# Runs


def test_a_sweep_gives_what_its_runs_give_and_trains_nothing_twice(path, monkeypatch):
    results = run(SWEEP, path, device="cpu")
    for result, losses in zip(results, expected(SWEEP), strict=True):
        np.testing.assert_array_equal(result.losses, losses)  # the same groups, so the same bits
    assert results[0].losses.shape == (SMALL.steps + 1, 3, 2)
    monkeypatch.setattr(driver, "train_group", forbid)
    again = run(SWEEP, path, device="cuda")  # nothing is missing: no device is needed
    np.testing.assert_array_equal(again[1].losses, results[1].losses)
    assert not Path(f"{path}.checkpoints").exists()


def test_only_what_is_missing_is_trained(path, monkeypatch):
    run(SWEEP, path, device="cpu")
    seen = watched(monkeypatch)
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
    original = driver.train_group

    def fail(runs: Any, *rest: Any) -> Any:
        if runs[0].settings.depth == 3:
            raise OSError("the images are gone")
        return original(runs, *rest)

    monkeypatch.setattr(driver, "train_group", fail)
    with pytest.raises(driver.RunError, match=r"mlp of depth 3 and width 8 .* OSError: the images are gone .6 of 12"):
        run(SWEEP, path, device="cpu")
    monkeypatch.setattr(driver, "train_group", original)
    assert_same(run(SWEEP, path, device="cpu"), SWEEP)  # the store is free again


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"device": "tpu"}, "device = 'tpu'"),
        ({"executor": 3}, "executor = 3"),
        ({"executor": cf.ThreadPoolExecutor(1), "workers": "tcp://a"}, "exclude each other"),
        ({"in_flight": 0}, "in_flight = 0"),
        ({"wait": 1}, "wait = 1"),
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
        run(SWEEP, store, device="cpu")
    assert list((tmp_path / "other").iterdir()) == []


# Stopping and starting again


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
    assert cli.main(arguments) == 0  # the dead process's lock is no obstacle
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
