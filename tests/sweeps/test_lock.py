"""One driver a store: who holds it is named, the dead hold nothing, and checkpoints outlive them."""

from __future__ import annotations

import concurrent.futures as cf
import multiprocessing
import os
import platform
import signal
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from small_stores import CURVE, MLP, put
from small_sweeps import FOUR, LONG, SMALL, SWEEP, assert_same, expected, watched
from small_workers import PROCESSES, checkpoints, wait_for

from lrtransfer import cli
from lrtransfer.residual import train_runs, train_sweep
from lrtransfer.residual.networks import training
from lrtransfer.sweeps import driver
from lrtransfer.sweeps.keys import run_key
from lrtransfer.sweeps.run import run, runs_of
from lrtransfer.sweeps.store import Store, StoreError
from lrtransfer.sweeps.store.lock import remember, sole_driver
from lrtransfer.sweeps.store.sqlite_file import VERSION
from lrtransfer.sweeps.sweep import Curve, Sweep
from lrtransfer.sweeps.task_registry import CheckpointError

KEYS = [run_key(MLP, 0.1, seed) for seed in range(4)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "store.sqlite"


@contextmanager
def held(store: Store) -> Iterator[None]:
    with sole_driver(store, wait=False, note=print):
        yield


def test_a_second_driver_is_told_who_holds_the_store(path, capsys):
    with Store(path) as first, held(first):
        here = rf"store '{path}' is in use: process {os.getpid()} on {platform.node()} since 20\d\d-"
        with pytest.raises(StoreError, match=here + r".* Wait for it, with wait=True or --wait"):
            run(SWEEP, path, device="cpu")
        file = path.with_name("small.toml")
        file.write_text('lrs = [0.5]\nnetwork = { kind = "mlp", width = 8, depth = 2, steps = 1 }')
        assert cli.main(["sweep", str(file), "--device", "cpu", "--store", str(path)]) == 2
        assert "is in use: process" in capsys.readouterr().err
        with Store(path, read_only=True) as reader:
            assert len(reader) == 0
    assert cli.main(["sweep", str(file), "--device", "cpu", "--store", str(path), "--wait"]) == 0


def test_it_waits_if_asked_and_then_finds_the_work_done(path, monkeypatch, capsys):
    started, go = threading.Event(), threading.Event()
    seen = watched(monkeypatch, lambda: (started.set(), go.wait(60)))
    with cf.ThreadPoolExecutor(2) as executor:
        first = executor.submit(run, SWEEP, path, device="cpu")
        assert started.wait(60)
        shown = threading.Event()
        monkeypatch.setattr("builtins.print", lambda text, **_: shown.set() if "is in use" in text else None)
        second = executor.submit(run, SWEEP, path, device="cpu", wait=True)
        assert shown.wait(60) and not second.done()
        go.set()
        assert_same(first.result(60), SWEEP)
        assert_same(second.result(60), SWEEP)
    assert len(seen) == len(set(seen)) * 2 == 12  # two depths of six runs, each once


def test_train_sweep_waits_its_turn_and_writes_a_group_at_once(path, monkeypatch):
    monkeypatch.setattr(training, "group_size", lambda *_: 4)
    written, asked = [], threading.Event()
    original = Store.put_many

    def put_many(store: Store, rows: Any, **_: Any) -> None:
        rows = list(rows)
        written.append(len(rows))
        original(store, rows)

    monkeypatch.setattr(Store, "put_many", put_many)
    monkeypatch.setattr("builtins.print", lambda *_, **__: asked.set())
    with Store(path) as store, cf.ThreadPoolExecutor(1) as executor:

        def sweep() -> Any:
            with Store(path) as mine:
                return train_sweep(SMALL, (0.25, 0.5), (0, 1, 2, 3), device="cpu", store=mine)

        with held(store):
            result = executor.submit(sweep)
            assert asked.wait(60) and not written
        losses = result.result(60)
        assert len(store) == 8
    assert written == [4, 4]
    np.testing.assert_allclose(losses, expected(FOUR)[0][:, :2], rtol=1e-5)  # other groups: other roundings


def driving(path: Path, log: Path, barrier: Any) -> None:
    """Another process with the same sweep; it writes down what it trains."""
    train = driver.train_group

    def logged(runs: Any, *rest: Any) -> Any:
        with log.open("a") as file:
            file.writelines(f"{run.settings.depth} {run.lr}\n" for run in runs)
        return train(runs, *rest)

    driver.train_group = logged  # type: ignore[assignment]
    curves = tuple(Curve(replace(SMALL, depth=depth, steps=100), (0.125, 0.25)) for depth in (2, 3, 4))
    barrier.wait(60)
    run(Sweep(curves, seeds=(0,)), path, device="cpu", wait=True)


def test_two_processes_with_one_sweep_train_nothing_twice(path, tmp_path):
    barrier, logs = PROCESSES.Barrier(2), [tmp_path / "one", tmp_path / "two"]
    both = [PROCESSES.Process(target=driving, args=(path, log, barrier)) for log in logs]
    for one in both:
        one.start()
    for one in both:
        one.join(120)
        assert one.exitcode == 0
    lines = [line for log in logs if log.exists() for line in log.read_text().splitlines()]
    assert sorted(lines) == [f"{depth} {lr}" for depth in (2, 3, 4) for lr in (0.125, 0.25)]
    with Store(path) as store:
        assert len(store) == 6


def sweeping(path: Path, method: str) -> None:
    """A process with a pool of its own, in a group as a terminal makes one."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell starts in the background ignores it
    with cf.ProcessPoolExecutor(1, multiprocessing.get_context(method)) as executor:
        executor.submit(int).result()  # its child is there before there are threads
        run(LONG, path, executor=executor, device="cpu")


@pytest.mark.parametrize("method", ["fork", "spawn"])
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGKILL])
def test_a_driver_that_ends_with_its_pool_leaves_nothing_to_wait_for(method, sent, path):
    process = PROCESSES.Process(target=sweeping, args=(path, method))
    process.start()
    wait_for(lambda: checkpoints(path))
    os.killpg(process.pid, sent)  # to the child too
    process.join(60)
    assert process.exitcode not in (0, None)
    with Store(path) as store:
        assert len(store) == 0
    assert_same(run(LONG, path, device="cpu"), LONG)


def test_a_killed_driver_whose_workers_live_on_holds_nothing(path):
    process = PROCESSES.Process(target=sweeping, args=(path, "fork"))
    process.start()
    wait_for(lambda: checkpoints(path))
    process.kill()
    process.join(60)
    try:
        assert_same(run(LONG, path, device="cpu"), LONG)
    finally:
        os.killpg(process.pid, signal.SIGKILL)


def test_after_an_interrupt_the_store_is_free_though_a_thread_trains_on(path, monkeypatch):
    started, go = threading.Event(), threading.Event()
    seen = watched(monkeypatch, lambda: (started.set(), go.wait(60)))

    def interrupt(*_: Any) -> Any:
        assert started.wait(60)
        raise KeyboardInterrupt

    monkeypatch.setattr(driver, "finished", interrupt)
    with cf.ThreadPoolExecutor(1) as executor:
        with pytest.raises(KeyboardInterrupt):
            run(FOUR, path, executor=executor, device="cpu", in_flight=8)
        assert len(seen) == 4  # the other three groups were cancelled
        monkeypatch.undo()
        assert_same(run(FOUR, path, device="cpu"), FOUR)
        go.set()
    with Store(path) as store:
        assert len(store) == 16


# Checkpoints


def test_the_same_runs_find_their_checkpoint_again_and_it_goes_when_they_are_stored(path):
    with Store(path) as store:
        with held(store):
            for name in ("a", "a.123.part", "stray"):
                (remember(store, [("a", KEYS[:1])]) / name).write_bytes(b"half a run")
        left = sorted(file.name for file in store.checkpoints.iterdir())
        assert left == ["a", "a.123.part"]  # still wanted: not stored
        put(store, 0.1)
        with held(store):
            pass
        assert not store.checkpoints.exists()


def test_a_folder_among_the_checkpoints_is_left_alone(path):
    with Store(path) as store:
        (store.checkpoints / "mine").mkdir(parents=True)
        with held(store):
            pass
        assert (store.checkpoints / "mine").is_dir()


def test_a_checkpoint_of_other_runs_is_refused_or_replaced(tmp_path):
    s, file = replace(SMALL, checkpoint_every=2), tmp_path / "checkpoint"
    train_runs(s, [1.0], [0], device="cpu", checkpoint=file)
    with pytest.raises(CheckpointError, match="belongs to other runs"):
        train_runs(s, [1.0], [1], device="cpu", checkpoint=file)
    again = driver.train_group(runs_of(s, [1.0], [1]), "cpu", "float32", False, str(file))
    np.testing.assert_array_equal(again.curves, train_runs(s, [1.0], [1], device="cpu"))  # it starts anew


def test_two_threads_may_write_one_checkpoint(tmp_path, monkeypatch):
    s, file, both, save = replace(SMALL, checkpoint_every=1), tmp_path / "checkpoint", threading.Barrier(2), torch.save
    train_runs(s, [1.0], [0], device="cpu")  # the data are loaded

    def together(*arguments: Any) -> None:
        save(*arguments)
        both.wait(20)

    monkeypatch.setattr(torch, "save", together)
    with cf.ThreadPoolExecutor(2) as pool:
        one, other = pool.map(lambda _: train_runs(s, [1.0], [0], device="cpu", checkpoint=file), range(2))
    np.testing.assert_array_equal(one, other)


# Machines that fail, and stores of before


def test_a_failure_to_leave_does_not_hide_what_went_wrong(path):
    with Store(path) as store:
        with pytest.raises(ZeroDivisionError), held(store):
            store.connection.execute("PRAGMA query_only = 1")  # as on a drive that has become read-only
            raise ZeroDivisionError
        with pytest.raises(StoreError, match=r"store\.sqlite' cannot be used: attempt to write a readonly"):
            run(SWEEP, store, device="cpu")
        store.connection.execute("PRAGMA query_only = 0")
        assert_same(run(SWEEP, store, device="cpu"), SWEEP)  # the lock was given back both times


def test_a_store_that_is_moved_away_is_noticed_and_not_made_anew(path, monkeypatch):
    watched(monkeypatch, lambda: path.rename(path.with_name("elsewhere")))
    with pytest.raises(StoreError, match=r"store\.sqlite' cannot be used: it was moved away"):
        run(SWEEP, path, device="cpu")
    assert not path.exists()


def version_2(path: Path) -> None:
    """A store as it was before: a finished run, and a claim on another whose checkpoint is there."""
    with Store(path) as store:
        put(store, 0.1)
        (remember(store, [("a", KEYS[1:2])]) / "a").write_bytes(b"half a run")
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(
            "CREATE TABLE claims (key TEXT PRIMARY KEY, flight TEXT NOT NULL, owner TEXT NOT NULL, host TEXT NOT NULL,"
            " pid INTEGER NOT NULL, heartbeat REAL NOT NULL)"
        )
        db.execute("INSERT INTO claims SELECT key, name, '', 'here', 1, 0 FROM checkpoints")
        for statement in ("DROP TABLE checkpoints", "DROP TABLE driver", "PRAGMA user_version = 2"):
            db.execute(statement)


def test_a_store_of_version_2_is_read_and_taken_over_with_its_checkpoints(path):
    version_2(path)
    before = path.read_bytes()
    with Store(path, read_only=True) as store:
        np.testing.assert_array_equal(store.get(MLP, 0.1, 0), CURVE)
    assert path.read_bytes() == before
    for _ in range(2):
        with Store(path) as store:
            np.testing.assert_array_equal(store.get(MLP, 0.1, 0), CURVE)
            with held(store):
                pass
            assert [file.name for file in store.checkpoints.iterdir()] == ["a"]
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (VERSION,)
        assert {row[0] for row in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")} == {
            "runs",
            "checkpoints",
            "driver",
        }
