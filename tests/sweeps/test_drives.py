"""Drives that lack something, a store that is held, rows of other versions: nothing trained is lost."""

from __future__ import annotations

import errno
import json
import sqlite3
import warnings
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from small_stores import CURVE, MLP, put
from small_sweeps import FILE, FOUR, SMALL, SWEEP, assert_same, expected, forbid, watched

from lrtransfer import cli
from lrtransfer.residual import train_runs
from lrtransfer.residual.networks import training_loop
from lrtransfer.sweeps import driver
from lrtransfer.sweeps.run import run
from lrtransfer.sweeps.store import Store, drives, opening, run_rows, sqlite_file
from lrtransfer.sweeps.store.opening import OtherVersionsWarning
from lrtransfer.sweeps.store.sqlite_file import StoreBusy


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "store.sqlite"


# A full disk


@pytest.mark.parametrize("error", [OSError(errno.ENOSPC, "No space left on device"), RuntimeError("unexpected pos 64")])
def test_a_checkpoint_that_does_not_fit_on_the_disk_stops_no_training(error, tmp_path, monkeypatch):
    s, file = replace(SMALL, checkpoint_every=2), tmp_path / "folder" / "checkpoint"
    whole = train_runs(s, [1.0], [0], device="cpu")

    def full(*_: Any) -> None:
        raise error

    monkeypatch.setattr(torch, "save", full)
    with pytest.warns(training_loop.CheckpointWarning, match=rf"checkpoint' could not be written \({error.args[-1]}"):
        curves = train_runs(s, [1.0], [0], device="cpu", checkpoint=file)
    np.testing.assert_array_equal(curves, whole)
    assert list(file.parent.iterdir()) == []


def test_a_warning_of_a_command_is_a_sentence(tmp_path, monkeypatch, capsys):
    file = tmp_path / "small.toml"
    file.write_text(FILE.replace("steps = 4\n", "steps = 4\ncheckpoint_every = 2\n"))
    monkeypatch.setattr(torch, "save", lambda *_: (_ for _ in ()).throw(OSError(errno.ENOSPC, "No space left")))
    with warnings.catch_warnings():
        warnings.simplefilter("once")
        assert cli.main(["sweep", str(file), "--device", "cpu", "--store", str(tmp_path / "a.sqlite")]) == 0
    told = capsys.readouterr().err.splitlines()
    assert told and all(line.startswith("lrtransfer: checkpoint '") for line in told)


# A store that may not be written


def test_a_finished_sweep_is_read_without_writing(path, monkeypatch, capsys):
    file = path.with_name("small.toml")
    path.parent.mkdir()
    file.write_text(FILE)
    command = ["sweep", str(file), "--device", "cpu", "--store", str(path)]
    assert cli.main(command) == 0
    first = capsys.readouterr().out.splitlines()[1:]
    connect = sqlite3.connect

    def no_writing(name: str, **options: Any) -> sqlite3.Connection:
        if "mode=rw" in name:
            raise sqlite3.OperationalError("attempt to write a readonly database")
        return connect(name, **options)

    monkeypatch.setattr(sqlite3, "connect", no_writing)
    monkeypatch.setattr(driver, "train_group", forbid)
    assert cli.main(command) == 0
    assert capsys.readouterr().out.splitlines()[1:] == first


# A store that is held


@pytest.fixture
def held(path, monkeypatch) -> sqlite3.Connection:
    """Another program has a transaction open on the store, from the first run that trains on."""
    monkeypatch.setattr(sqlite_file, "_PATIENCE", 0.05)
    with Store(path):
        pass
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        watched(monkeypatch, lambda: other.in_transaction or other.execute("BEGIN IMMEDIATE"))
        yield other


def test_runs_trained_while_another_program_holds_the_store_are_kept_and_taken_in(path, held, monkeypatch):
    with pytest.raises(StoreBusy, match=r"has held it for 0\.05 s .* 12 runs .* kept in '.*\.aside'.* takes them in"):
        run(SWEEP, path, device="cpu")
    with Store(path, read_only=True) as store:
        assert len(store) == 0
    held.execute("ROLLBACK")
    monkeypatch.setattr(driver, "train_group", forbid)
    assert_same(run(SWEEP, path, device="cpu"), SWEEP)
    assert not list(path.parent.glob("*.aside*"))


def test_a_sweep_outlives_a_program_that_holds_its_store_for_a_while(path, monkeypatch):
    monkeypatch.setattr(sqlite_file, "_PATIENCE", 0.05)
    with Store(path):
        pass
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        seen = watched(monkeypatch, lambda: other.execute("BEGIN IMMEDIATE" if len(seen) <= 6 else "ROLLBACK"))
        assert_same(run(SWEEP, path, device="cpu"), SWEEP)  # two groups of six: freed when the second begins
    assert not path.with_name("store.sqlite.aside").exists()


# Drives that lack something


def lacking(monkeypatch: pytest.MonkeyPatch, fails: Any) -> list[str]:
    """SQLite as on a drive where ``fails(how the file is opened, statement)``; the ways that were tried."""
    connect, tried = sqlite3.connect, []

    class Poor(sqlite3.Connection):
        def execute(self, statement: str, *more: Any) -> Any:
            if fails(self, statement):
                raise sqlite3.OperationalError("disk I/O error")
            return super().execute(statement, *more)

    def opened(name: str, **options: Any) -> sqlite3.Connection:
        tried.append(name.partition("?")[2])
        return connect(name, factory=Poor, **options)

    monkeypatch.setattr(sqlite3, "connect", opened)
    return tried


def test_a_store_with_a_log_goes_on_where_there_is_no_shared_memory(path, monkeypatch):
    with Store(path) as store:
        put(store, 0.1)

    def no_memory(db: sqlite3.Connection, statement: str) -> bool:
        if statement == "PRAGMA locking_mode = EXCLUSIVE":
            db.alone = True  # the index of the log is in this process's memory
        return "locking_mode" not in statement and not getattr(db, "alone", False)

    assert lacking(monkeypatch, no_memory) == []
    with Store(path) as store:
        assert store.locks and store.get(MLP, 0.1, 0) is not None
        put(store, 0.2)
        assert store.connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    monkeypatch.undo()
    with Store(path, read_only=True) as store:
        assert len(store) == 2


@pytest.fixture
def no_locks(monkeypatch):
    fcntl = pytest.importorskip("fcntl")

    def refuse(*_: Any) -> None:
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "lockf", refuse)
    monkeypatch.setattr(fcntl, "flock", refuse)


@pytest.mark.parametrize("log", [False, True])
def test_a_drive_without_locks_is_used_without_them_and_that_is_said(log, path, request, monkeypatch, capsys):
    if log:
        with Store(path) as store:
            put(store, 0.1)
    request.getfixturevalue("no_locks")
    tried = lacking(monkeypatch, lambda *_: False)
    assert_same(run(SWEEP, path, device="cpu"), SWEEP)
    assert all("vfs=unix-none" in way or "immutable" in way for way in tried) and tried
    assert "has no locks: see to it that one process at a time trains for it" in capsys.readouterr().out
    with Store(path) as store:
        assert not store.locks and len(store) == 12 + log
        np.testing.assert_array_equal(store.get(MLP, 0.1, 0), CURVE) if log else None


def test_a_drive_with_locks_is_told_from_one_without(tmp_path, request):
    assert drives.has_locks(tmp_path)
    assert drives.has_locks(tmp_path / "not there")
    request.getfixturevalue("no_locks")
    assert not drives.has_locks(tmp_path)


# Rows of other versions


def by_others(path: Path, **versions: str) -> list[float]:
    """A finished sweep of which other versions made all but the runs at the highest rate, with another loss."""
    run(FOUR, path, device="cpu")
    with closing(sqlite3.connect(path)) as db, db:
        for row in db.execute(f"SELECT {run_rows.COLUMNS} FROM runs WHERE lr < 2").fetchall():
            old = list(row)
            old[11] = json.dumps(json.loads(row[11]) | versions, sort_keys=True)
            old[6] = np.full(len(row[6]) // 8, 7.0).astype("<f8").tobytes()
            old[7] = run_rows.checksum(old)
            db.execute(
                "UPDATE runs SET versions = ?, curve = ?, checksum = ? WHERE key = ?", (*old[11:12], *old[6:8], old[0])
            )
    with Store(path, read_only=True) as store:
        return [run.curve[-1] for run in store.rows()]


@pytest.mark.parametrize("other", [{"torch": "1.0"}, {"lrtransfer": "0.0.1"}])
def test_runs_of_other_versions_are_named_and_trained_again_if_asked(other, path, monkeypatch):
    by_others(path, **other)
    (package, version) = next(iter(other.items()))
    with pytest.warns(OtherVersionsWarning, match=rf"12 by {package} {version}, here it is .*--again"):
        (result,) = run(FOUR, path, device="cpu")
    assert (result.losses[-1, :3] == 7).all()
    seen = watched(monkeypatch)
    (result,) = run(FOUR, path, device="cpu", again=True)
    assert len(seen) == 12  # not those at the highest rate
    np.testing.assert_allclose(result.losses, expected(FOUR)[0], rtol=1e-5)
    (result,) = run(FOUR, path, device="cpu", again=True)  # all are of these versions now, and nobody is warned
    assert len(seen) == 12


def test_other_packages_and_versions_that_are_not_known_name_nothing(path, monkeypatch):
    by_others(path, numpy="0.1", python="2.7")
    run(FOUR, path, device="cpu")
    with Store(path, read_only=True) as store:
        keys = {row.key for row in store.rows()}
        here = run_rows.versions()
        monkeypatch.setattr(opening, "versions", lambda: {k: v for k, v in here.items() if k != "torch"})
        assert opening.made_by_others(store, keys) == {}


def test_an_interrupted_again_goes_on_with_the_rest(path, monkeypatch):
    by_others(path, torch="1.0")
    seen = watched(monkeypatch, lambda: (_ for _ in ()).throw(KeyboardInterrupt) if len(seen) > 4 else None)
    from lrtransfer.residual.networks import training

    monkeypatch.setattr(training, "group_size", lambda *_: 4)
    with pytest.raises(KeyboardInterrupt):
        run(FOUR, path, device="cpu", again=True)
    seen.clear()
    with pytest.warns(OtherVersionsWarning, match="8 by torch"):
        run(FOUR, path, device="cpu")
