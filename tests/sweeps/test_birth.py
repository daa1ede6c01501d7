"""A store is born whole: whatever cuts off its first moments, the same command goes on."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from small_stores import filled, put
from small_sweeps import FILE

from lrtransfer import cli
from lrtransfer.sweeps.store import Store, StoreError
from lrtransfer.sweeps.store.opening import stored_of
from lrtransfer.sweeps.store.sqlite_file import NotBegun

# A process that is killed before its n-th statement to SQLite, or after its last one.
BIRTH = """
import os, signal, sqlite3, sys
left = int(sys.argv[2])
class Counted(sqlite3.Connection):
    def execute(self, *arguments):
        global left
        left -= 1
        if left < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().execute(*arguments)
connect = sqlite3.connect
sqlite3.connect = lambda *a, **k: connect(*a, factory=Counted, **k)
from lrtransfer.sweeps.store import Store
Store(sys.argv[1])
"""
# No write gets through, as on a full disk.
FULL = """
import resource, signal, sys
from lrtransfer.sweeps.store import Store, StoreError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
try:
    Store(sys.argv[1])
except StoreError as error:
    print(error)
"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.sqlite"


def goes_on(path: Path) -> None:
    """What the next command does: counts what is there, then writes."""
    assert stored_of({"no run"}, path) == 0
    with Store(path) as store:
        put(store, 0.1)
        assert len(store) == 1
        assert store.connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_a_kill_before_any_statement_of_its_birth_leaves_a_store_or_an_empty_file(path):
    for n in range(40):
        born = path.with_name(f"{n}.sqlite")
        done = subprocess.run([sys.executable, "-c", BIRTH, str(born), str(n)], capture_output=True, text=True)
        goes_on(born)
        if done.returncode == 0:
            break
        assert done.returncode == -signal.SIGKILL, done.stderr
    assert 8 < n < 39  # it was killed at every statement, and then lived


@pytest.mark.parametrize("room", [0, 1000, 5000, 9000])
def test_a_disk_that_is_full_at_first_is_a_sentence_and_the_next_start_goes_on(room, path):
    done = subprocess.run([sys.executable, "-c", FULL, str(path), str(room)], capture_output=True, text=True)
    assert done.returncode == 0 and f"store = '{path}' cannot be used" in done.stdout, done.stderr
    goes_on(path)


def test_a_file_that_was_only_touched_is_a_store_not_begun(path, tmp_path, capsys):
    file = tmp_path / "small.toml"
    file.write_text(FILE)
    path.touch()
    sweep = ["sweep", str(file), "--device", "cpu", "--store", str(path)]
    assert cli.main([*sweep, "--dry-run"]) == 0
    assert "0 of them" in capsys.readouterr().out
    with pytest.raises(NotBegun, match="is empty, it holds no store"):
        Store(path, read_only=True)
    assert cli.main(sweep) == 0
    assert ", 0 of them in" in capsys.readouterr().out
    assert cli.main(["export", str(path), str(tmp_path / "a.csv")]) == 0


def test_a_file_with_nothing_but_sqlites_header_is_a_store_not_begun(path):
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA user_version = 0")
        db.execute("VACUUM")
    assert path.stat().st_size > 0
    goes_on(path)


def test_an_empty_file_beside_a_log_or_checkpoints_was_a_store_and_the_way_out_is_told(path):
    path.touch()
    Path(f"{path}.checkpoints").mkdir()
    with pytest.raises(StoreError, match=r"was a store once\. Put the store back, or remove"):
        Store(path)
    with pytest.raises(StoreError, match="was a store once"):
        stored_of({"no run"}, path)


def cut_off(path: Path, copy: Path) -> None:
    """A copy of a store in SQLite's own journal as a kill leaves it in the middle of a transaction."""
    filled(path, 50)
    with closing(sqlite3.connect(path, isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = DELETE")
        db.execute("PRAGMA cache_size = 1")  # pages go to the file before the end
        db.execute("BEGIN")
        db.execute("UPDATE runs SET settings = settings || ' ', seconds = 0")
        for ending in ("", "-journal"):
            copy.with_name(copy.name + ending).write_bytes(path.with_name(path.name + ending).read_bytes())
        db.execute("ROLLBACK")


def test_a_transaction_that_was_cut_off_is_undone_for_who_only_reads(path, tmp_path):
    copy = tmp_path / "copy.sqlite"
    cut_off(path, copy)
    assert os.path.getsize(f"{copy}-journal") > 0 and copy.read_bytes() != path.read_bytes()
    with Store(copy, read_only=True) as store, Store(path, read_only=True) as whole:
        assert [(run.key, run.seconds) for run in store.rows()] == [(run.key, run.seconds) for run in whole.rows()]
