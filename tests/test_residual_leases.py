"""Claims on runs: exclusive among the living, passed on from the dead."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from lrtransfer.residual import leases
from lrtransfer.residual.keys import run_key
from lrtransfer.residual.leases import Lease
from lrtransfer.residual.settings import ResidualMLP
from lrtransfer.residual.store import Store, StoreError

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
        "import sys, os; from lrtransfer.residual.store import Store; from lrtransfer.residual.leases import Lease\n"
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
