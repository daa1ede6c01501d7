"""Claims on runs: exclusive among the living, passed on from the dead."""

from __future__ import annotations

import concurrent.futures as cf
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from test_executors import FOUR, Cluster, passes, watched
from test_executors import KEYS as MANY
from test_run import LONG, PROCESSES, SMALL, assert_same, checkpoints, expected, wait_for

from lrtransfer.residual import train_runs, train_sweep
from lrtransfer.residual.networks import training
from lrtransfer.residual.networks.runs import CheckpointError
from lrtransfer.residual.networks.settings import ResidualMLP
from lrtransfer.sweeps import driver, leases
from lrtransfer.sweeps.keys import run_key
from lrtransfer.sweeps.leases import Lease
from lrtransfer.sweeps.run import run
from lrtransfer.sweeps.store import Store, StoreError

MLP = ResidualMLP(width=16, depth=3, steps=2)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "store.sqlite"


KEYS = [run_key(MLP, 0.1, seed) for seed in range(4)]


def test_two_processes_do_not_claim_the_same_run(path):
    with Store(path) as a, Store(path) as b, Lease(a) as first, Lease(b) as second:
        flight, busy = first.claim(KEYS[:3], "cpu")
        assert flight is not None and flight.keys == tuple(KEYS[:3]) and not busy
        other, busy = second.claim(KEYS, "cpu")
        assert other is not None and other.keys == (KEYS[3],) and busy == set(KEYS[:3])
        assert other.checkpoint != flight.checkpoint
        a.put(MLP, 0.1, 0, [1.0] * 3, seconds=1.0, device="cpu")  # a finished run is claimed by nobody
        first.release()
        other, busy = second.claim(KEYS, "cpu")
        assert other is not None and set(other.keys) == set(KEYS[1:]) and not busy


def test_the_same_runs_find_their_checkpoint_again(path):
    with Store(path) as store:
        with Lease(store) as lease:
            flight, _ = lease.claim(KEYS, "cpu")
            flight.checkpoint.write_bytes(b"half a run")
        with Lease(store) as lease:
            again, _ = lease.claim(KEYS[::-1], "cpu")
            assert again.checkpoint == flight.checkpoint and again.checkpoint.exists()
            elsewhere, _ = lease.claim(KEYS, "cuda")
            assert elsewhere.checkpoint != flight.checkpoint


def test_checkpoints_that_nobody_wants_are_removed(path):
    with Store(path) as store:
        with Lease(store) as lease:
            flight, _ = lease.claim(KEYS[:1], "cpu")
            for name in (flight.checkpoint.name, f"{flight.checkpoint.name}.123.part", "stray"):
                (store.checkpoints / name).write_bytes(b"x")
        left = sorted(file.name for file in store.checkpoints.iterdir())
        assert left == [flight.checkpoint.name, f"{flight.checkpoint.name}.123.part"]  # still wanted: not stored
        store.put(MLP, 0.1, 0, [1.0] * 3, seconds=1.0, device="cpu")
        with Lease(store):
            pass
        assert not store.checkpoints.exists()


def test_claims_of_a_process_that_is_gone_are_taken_over_at_once(path):
    code = (
        "import sys, os; from lrtransfer.sweeps.store import Store; from lrtransfer.sweeps.leases import Lease\n"
        "lease = Lease(Store(sys.argv[1])); lease.claim(sys.argv[2:], 'cpu'); os.kill(os.getpid(), 9)"
    )
    dead = subprocess.run([sys.executable, "-c", code, str(path), *KEYS])
    assert dead.returncode == -signal.SIGKILL
    with Store(path) as store, Lease(store) as lease:
        flight, busy = lease.claim(KEYS, "cpu")
        assert flight is not None and flight.keys == tuple(KEYS) and not busy


def test_on_another_machine_only_the_heartbeat_tells_and_it_beats(path, monkeypatch):
    with Store(path) as a, Store(path) as b, Lease(b, lease=0.4) as here:
        monkeypatch.setattr(leases, "_machine", lambda: "elsewhere")
        there = Lease(a, lease=0.4)
        with there:
            there.claim(KEYS, "cpu")
            time.sleep(1.0)  # two and a half leases
            flight, busy = here.claim(KEYS, "cpu")
            assert flight is None and busy == set(KEYS)  # its heart has beaten all the while
            there._stop.set()
            there._heart.join()
            time.sleep(0.6)
            flight, busy = here.claim(KEYS, "cpu")
            assert flight is not None and flight.keys == tuple(KEYS)


def test_a_failure_to_give_back_claims_does_not_hide_what_went_wrong(path, monkeypatch):
    def full(*_: object) -> None:
        raise StoreError("the disk is full")

    monkeypatch.setattr(Lease, "release", full)
    with Store(path) as store:
        with pytest.raises(ZeroDivisionError), Lease(store):
            raise ZeroDivisionError
        with pytest.raises(StoreError, match="disk is full"), Lease(store):
            pass


def test_claims_that_cannot_be_written_are_a_sentence(path):
    with Store(path) as store:
        lease = Lease(store)
        store._db.execute("PRAGMA query_only = 1")  # as on a drive that has become read-only
        for write in (lambda: lease.claim(KEYS, "cpu"), lease.release):
            with pytest.raises(StoreError, match=r"store\.sqlite' cannot be used: attempt to write a readonly"):
                write()


def test_a_store_that_is_moved_away_is_noticed_and_not_made_anew(path):
    with Store(path) as store, Lease(store, lease=0.2) as lease:
        path.rename(path.with_name("elsewhere"))
        lease._heart.join(10)
        assert not lease._heart.is_alive() and not path.exists()
        with pytest.raises(StoreError, match=r"store\.sqlite' cannot be used: unable to open"):
            lease.claim(KEYS, "cpu")


def test_a_heart_beats_on_when_the_store_is_busy(path):
    with Store(path) as store, Store(path) as other, Lease(store, lease=0.2) as lease:
        lease.claim(KEYS, "cpu")
        with other.transaction():
            time.sleep(0.4)  # several beats find the store locked
        assert lease._heart.is_alive() and lease._failure is None


def test_a_folder_among_the_checkpoints_is_left_alone(path):
    with Store(path) as store:
        (store.checkpoints / "mine").mkdir(parents=True)
        with Lease(store):
            pass
        assert (store.checkpoints / "mine").is_dir()


def test_a_checkpoint_of_other_runs_is_refused_or_replaced(tmp_path):
    s, file = replace(SMALL, checkpoint_every=2), tmp_path / "checkpoint"
    train_runs(s, [1.0], [0], device="cpu", checkpoint=file)
    with pytest.raises(CheckpointError, match="belongs to other runs"):
        train_runs(s, [1.0], [1], device="cpu", checkpoint=file)
    again = driver.train_flight(s, [1.0], [1], "cpu", "float32", False, str(file))
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


def test_train_sweep_shares_a_store_and_writes_a_group_at_once(path, monkeypatch):
    monkeypatch.setattr(training, "group_size", lambda *_: 4)
    seen, written = watched(monkeypatch), []
    original = Store.put_many

    def put_many(store: Store, rows: Any) -> None:
        rows = list(rows)
        written.append(len(rows))
        original(store, rows)

    monkeypatch.setattr(Store, "put_many", put_many)
    with Store(path) as store, Lease(store) as other, cf.ThreadPoolExecutor(1) as executor:
        other.claim(MANY[1:3], "cpu")

        def sweep() -> Any:
            with Store(path) as mine:
                return train_sweep(SMALL, (0.25, 0.5), (0, 1, 2, 3), device="cpu", store=mine)

        result = executor.submit(sweep)
        wait_for(lambda: len(store) == 6)
        assert not result.done()
        other.release()
        losses = result.result(60)
        assert len(store) == 8
    assert written == [2, 4, 2] and len(seen) == len(set(seen)) == 8
    np.testing.assert_allclose(losses, expected(FOUR)[0][:, :2], rtol=1e-5)  # other groups: other roundings


# Interrupts: FOUR is four groups of four runs where there is room for eight groups


def interrupt_at(monkeypatch: pytest.MonkeyPatch, ready: threading.Event) -> None:
    def finished(*_: Any) -> Any:
        assert ready.wait(60)
        raise KeyboardInterrupt

    monkeypatch.setattr(driver, "finished", finished)


def claimed(store: Store) -> set[str]:
    """The runs that somebody else is training."""
    busy = Lease(store, lease=0.8)
    try:
        return busy.claim(MANY, "cpu")[1]
    finally:
        busy.release()


def test_the_claims_of_an_interrupted_thread_are_held_while_it_trains(path, monkeypatch):
    started, go = threading.Event(), threading.Event()
    seen = watched(monkeypatch, lambda: (started.set(), go.wait(60)))
    interrupt_at(monkeypatch, started)
    with cf.ThreadPoolExecutor(1) as executor, Store(path) as store:
        with pytest.raises(KeyboardInterrupt):
            run(FOUR, path, executor=executor, device="cpu", in_flight=8, lease=0.8)
        assert claimed(store) == set(MANY[:4])  # the other three groups were cancelled
        time.sleep(1.2)  # longer than the lease
        assert claimed(store) == set(MANY[:4])
        go.set()
        wait_for(lambda: not claimed(store))
    assert len(seen) == 4
    monkeypatch.undo()
    assert_same(run(FOUR, path, device="cpu"), FOUR)


def test_the_claims_of_workers_that_outlive_this_process_last_as_long_as_a_lease(path, monkeypatch):
    started = threading.Event()
    started.set()
    interrupt_at(monkeypatch, started)
    with pytest.raises(KeyboardInterrupt):
        run(FOUR, path, executor=Cluster(), device="cpu", in_flight=8)
    monkeypatch.setattr(leases, "_is_running", lambda _: False)
    with Store(path) as store:
        assert claimed(store) == set(MANY)
        time.sleep(1.0)
        assert claimed(store) == set()


def sweeping(path: Path) -> None:
    """A process with a pool of its own, in a group as a terminal makes one."""
    os.setsid()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # what a shell starts in the background ignores it
    with cf.ProcessPoolExecutor(1, multiprocessing.get_context("fork")) as executor:
        executor.submit(int).result()  # its child is there before there are threads
        run(LONG, path, executor=executor, device="cpu")


def test_a_pool_of_processes_that_ctrl_c_ends_leaves_nothing_to_wait_for(path, capsys):
    process = PROCESSES.Process(target=sweeping, args=(path,))
    process.start()
    wait_for(lambda: checkpoints(path))
    os.killpg(process.pid, signal.SIGINT)  # to the child too
    process.join(60)
    assert process.exitcode not in (0, None)
    with Store(path) as store:
        assert len(store) == 0
    assert_same(run(LONG, path, device="cpu"), LONG)
    assert capsys.readouterr().out == ""  # it did not have to wait for another process


def test_a_store_that_is_moved_away_is_noticed_while_runs_are_in_flight(path, monkeypatch):
    started, go = threading.Event(), threading.Event()
    watched(monkeypatch, lambda: (started.set(), go.wait(60)))
    with cf.ThreadPoolExecutor(1) as executor:
        passes(monkeypatch, lambda number: path.rename(path.with_name("elsewhere")) if number == 1 else None)
        try:
            with pytest.raises(StoreError, match=r"store\.sqlite' cannot be used: unable to open"):
                run(FOUR, path, executor=executor, device="cpu", lease=0.2)
        finally:
            go.set()
