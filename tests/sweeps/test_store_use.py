"""Stores used wrongly, on machines that fail and by several processes, and their export."""

from __future__ import annotations

import csv
import errno
import json
import math
import signal
import sqlite3
import subprocess
import sys
import threading
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from small_stores import CURVE, MLP, filled, put

from lrtransfer.residual.networks.settings import ResNet, VisionTransformer
from lrtransfer.sweeps.driver import RunError
from lrtransfer.sweeps.run import run
from lrtransfer.sweeps.store import Store, StoreError
from lrtransfer.sweeps.store.export import export
from lrtransfer.sweeps.sweep import Curve, Sweep


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "store.sqlite"


# Ways to use it wrongly, and machines that fail


@pytest.mark.parametrize("name", [None, 3, b"a.sqlite", ":memory:"])
def test_a_store_needs_a_files_name(name):
    with pytest.raises(ValueError, match=r"^store = .* is not allowed"):
        Store(name)


def test_a_store_stays_where_it_was_opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other").mkdir()
    with Store("a.sqlite") as store:
        monkeypatch.chdir(tmp_path / "other")
        assert store.path == tmp_path / "a.sqlite" and store.checkpoints.parent == tmp_path


@pytest.mark.parametrize("name", ["h#a?sh%20.sqlite", "ü 🐉.sqlite", "b\udcff.sqlite"])
def test_any_name_of_a_file_will_do(name, tmp_path):
    with Store(tmp_path / name) as store:
        put(store, 0.1)
    assert (tmp_path / name).is_file()
    with Store(tmp_path / name, read_only=True) as store:
        assert len(store) == 1


def test_a_closed_store_and_another_thread_are_no_damage(path):
    store = Store(path)
    errors: list[Exception] = []

    def use() -> None:
        try:
            len(store)
        except StoreError as error:
            errors.append(error)

    thread = threading.Thread(target=use)
    thread.start()
    thread.join()
    assert "opened in another thread" in str(errors[0])
    store.close()
    for use_it in (lambda: len(store), lambda: put(store, 0.1), lambda: list(store.rows())):
        with pytest.raises(StoreError, match=r"store\.sqlite' cannot be used: it is closed"):
            use_it()


def test_a_full_disk_is_a_sentence_and_takes_nothing_along(path):
    with Store(path) as store:
        put(store, 0.1)
        pages = store.connection.execute("PRAGMA page_count").fetchone()[0]
        store.connection.execute(f"PRAGMA max_page_count = {pages}")
        network = replace(MLP, steps=10_000)
        with pytest.raises(StoreError, match=r"store\.sqlite' cannot be used: database or disk is full"):
            put(store, 0.1, network=network, curve=np.ones(10_001))
        assert len(store) == 1 and not store.connection.in_transaction


def test_an_interrupt_within_a_transaction_undoes_it(path):
    with Store(path) as store:
        with pytest.raises(KeyboardInterrupt), store.transaction() as db:
            db.execute("DELETE FROM runs")
            raise KeyboardInterrupt
        begin = store.begin

        def interrupted() -> None:
            begin()
            raise KeyboardInterrupt

        store.begin = interrupted  # Ctrl-C between BEGIN and what comes after it
        with pytest.raises(KeyboardInterrupt), store.transaction():
            pass
        store.begin = begin
        put(store, 0.1)  # no transaction was left open
        assert len(store) == 1


def test_the_first_error_is_the_one_that_is_reported(path):
    with Store(path) as store, pytest.raises(ZeroDivisionError), store.transaction():
        store.close()  # so that there is nothing to roll back
        raise ZeroDivisionError


def test_a_store_opened_to_read_is_not_written(path):
    filled(path, 3)
    before = path.read_bytes()
    with Store(path, read_only=True) as store:
        assert len(list(store.rows())) == 3
        with pytest.raises(StoreError, match="cannot be used: attempt to write a readonly database"):
            put(store, 0.2)
    assert path.read_bytes() == before


def test_a_store_in_a_folder_that_cannot_be_written_is_read_unless_rows_are_in_its_log(path, monkeypatch):
    filled(path, 3)
    connect = sqlite3.connect

    def no_permission(name: str, **options: object) -> sqlite3.Connection:
        if "immutable" not in name:  # as SQLite says where it cannot make its log's index
            raise sqlite3.OperationalError("unable to open database file")
        return connect(name, **options)

    monkeypatch.setattr(sqlite3, "connect", no_permission)
    with Store(path, read_only=True) as store:
        assert len(list(store.rows())) == 3
    Path(f"{path}-wal").write_bytes(b"rows that are not in the file yet")
    with pytest.raises(StoreError, match="unable to open"):
        Store(path, read_only=True)


# Several processes

WRITER = """
import sys
from lrtransfer.residual.networks.settings import ResidualMLP
from lrtransfer.sweeps.store import Store
path, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with Store(path) as store:
    for seed in range(first, last):
        store.put(ResidualMLP(width=16, depth=3, steps=99), 0.1, seed, [float(seed)] * 100, seconds=1, device="cpu")
        print(seed, flush=True)
"""


def writer(path: Path, first: int, last: int) -> subprocess.Popen[str]:
    arguments = [sys.executable, "-c", WRITER, str(path), str(first), str(last)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)


def test_two_processes_write_at_once_without_loss_or_duplicates(path):
    both = [writer(path, 0, 300), writer(path, 150, 450)]
    for process in both:
        process.communicate(timeout=120)
        assert process.returncode == 0
    with Store(path) as store:
        rows = list(store.rows())
    assert sorted(row.seed for row in rows) == list(range(450))
    assert all((row.curve == row.seed).all() for row in rows)


def test_kill_minus_nine_leaves_whole_rows_only(path):
    process = writer(path, 0, 10**9)
    assert process.stdout is not None and "100\n" in process.stdout  # read up to there: it is in the middle of things
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    with Store(path) as store:
        rows = list(store.rows())
        put(store, 0.2)  # and it can be written to
    assert len(rows) > 100
    assert [row.seed for row in rows] == list(range(len(rows)))  # every commit is there, up to the last
    assert all(row.curve.size == 100 and (row.curve == row.seed).all() for row in rows)


def test_a_run_that_is_gone_when_it_is_read_is_named(path, monkeypatch):
    sweep = Sweep((Curve(MLP, (0.1, 0.2)),), seeds=(0, 1))
    original = Store.put_many
    monkeypatch.setattr(Store, "put_many", lambda store, rows, **_: original(store, list(rows)[:-1]))
    with pytest.raises(RunError, match=r"mlp of depth 3 and width 16 at rate 0\.2, seed 1, is not in .*store\.sqlite"):
        run(sweep, path, device="cpu")
    monkeypatch.undo()
    (result,) = run(sweep, path, device="cpu")
    assert result.losses.shape == (3, 2, 2)


# Export


def test_csv_and_parquet_hold_every_run(path, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    with Store(path) as store:
        put(store, 0.1)
        put(store, 0.2, network=ResNet(norm="layer", steps=2))
        put(store, 0.3, network=VisionTransformer(norm=False, steps=2))  # norm is a word there, a bool here
        assert export(store, tmp_path / "t.csv") == export(store, tmp_path / "t.parquet") == 3
    with (tmp_path / "t.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    table = parquet.read_table(tmp_path / "t.parquet").to_pylist()
    for row, other in zip(rows, table, strict=True):
        np.testing.assert_array_equal([float(x) for x in row["curve"].split()], CURVE)
        np.testing.assert_array_equal(other["curve"], CURVE)
        assert float(row["lr"]) == other["lr"] and row["key"] == other["key"] and float(row["final"]) == math.inf
        assert json.loads(row["versions"])["numpy"] == np.__version__
    assert [row["norm"] for row in rows] == ["", "layer", "False"]
    assert [row["norm"] for row in table] == [None, "layer", "False"]
    assert rows[0]["depth"] == "3" and table[0]["depth"] == 3


def test_tables_of_any_two_stores_go_one_below_the_other(tmp_path):
    pa = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    networks = [MLP, replace(MLP, branch=0.5), ResNet(norm="layer", steps=2), VisionTransformer(norm=False, steps=2)]
    files = []
    for place, chosen in enumerate([[], *([network] for network in networks)]):
        with Store(tmp_path / f"{place}.sqlite") as store:
            for network in chosen:
                put(store, 0.1, network=network)
            for ending in ("csv", "parquet"):
                assert export(store, tmp_path / f"{place}.{ending}") == len(chosen)
        files.append(tmp_path / f"{place}.csv")
    tables = [parquet.read_table(file.with_suffix(".parquet")) for file in files]
    table = pa.concat_tables(tables)  # refuses another schema
    headers = [file.read_text().splitlines()[0].split(",") for file in files]
    assert all(header == table.column_names for header in headers)
    assert table["branch"].to_pylist() == [None, 0.5, None, None]
    assert table["norm"].to_pylist() == [None, None, "layer", "False"]


def test_settings_of_ones_own_class_are_exported_too(path, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")

    @dataclass(frozen=True)
    class Mine:
        kind: ClassVar[str] = "mine"
        width: str = "wide"
        mixed: object = 1

    with Store(path) as store:
        put(store, 0.1, network=Mine())
        put(store, 0.1, network=Mine(mixed="two"))
        export(store, tmp_path / "a.parquet")
    table = parquet.read_table(tmp_path / "a.parquet").to_pylist()
    assert [(row["width"], row["mixed"]) for row in table] == [("wide", "1"), ("wide", "two")]


def test_a_table_that_cannot_be_written_is_named(path, tmp_path, monkeypatch):
    filled(path, 1)
    with pytest.raises(ValueError, match=r"^file = 3"):
        export(path, 3)
    with pytest.raises(ValueError, match=r"^store = 3"):
        export(3, tmp_path / "a.csv")
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(IsADirectoryError, match=r"folder\.csv' is a folder"):
        export(path, tmp_path / "folder.csv")

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(csv.DictWriter, "writerow", full)
    with pytest.raises(OSError, match=r"No space left.*a\.csv"):
        export(path, tmp_path / "a.csv")
    assert not list(tmp_path.glob("a.csv*"))


def test_export_says_what_it_needs(path, tmp_path, monkeypatch):
    filled(path, 1)
    with pytest.raises(ValueError, match=r"\.csv or \.parquet"):
        export(path, tmp_path / "t.xlsx")
    with pytest.raises(FileNotFoundError, match="no store"):
        export(tmp_path / "none.sqlite", tmp_path / "t.csv")
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match="pip install pyarrow"):
        export(path, tmp_path / "t.parquet")
    assert list(tmp_path.glob("t.*")) == []  # nothing half-written is left
