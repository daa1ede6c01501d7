"""The store of finished runs: rows that survive, files that are refused, tables for other tools."""

from __future__ import annotations

import csv
import json
import math
import signal
import sqlite3
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lrtransfer.residual.export import export
from lrtransfer.residual.keys import run_key
from lrtransfer.residual.settings import ResidualMLP, ResNet, VisionTransformer
from lrtransfer.residual.store import VERSION, Store, StoreError

MLP = ResidualMLP(width=16, depth=3, steps=2)
CURVE = np.array([2.5, 1.0 / 3.0, math.inf])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "store.sqlite"


def put(store: Store, lr: float, seed: int = 0, curve: object = CURVE, network: object = MLP) -> None:
    store.put(network, lr, seed, curve, seconds=1.5, device="cpu")


# Rows


def test_a_curve_comes_back_to_the_last_bit_and_after_reopening(path):
    with Store(path) as store:
        assert store.get(MLP, 0.1, 0) is None and len(store) == 0
        put(store, 0.1)
        np.testing.assert_array_equal(store.get(MLP, 0.1, 0), CURVE)
    with Store(path) as store:
        found = store.get(MLP, 0.1, 0)
        np.testing.assert_array_equal(found, CURVE)
        found[0] = 0  # a copy: what is done to it does not reach the store
        np.testing.assert_array_equal(store.get(MLP, 0.1, 0), CURVE)
        assert store.get(MLP, 0.1, 1) is None and store.get(MLP, 0.1, 0, precision="bf16") is None


@settings(max_examples=20, deadline=None)
@given(curve=st.lists(st.floats(allow_nan=False), min_size=1, max_size=5), lr=st.floats(1e-300, 1e300))
def test_any_curve_of_numbers_is_kept(curve, lr):
    with Store(":memory:") as store:
        put(store, lr, curve=curve)
        np.testing.assert_array_equal(store.get(MLP, lr, 0), curve)


def test_the_first_result_of_a_run_stays(path):
    with Store(path) as store:
        put(store, 0.1)
        put(store, 0.1, curve=[7.0])
        np.testing.assert_array_equal(store.get(MLP, 0.1, 0), CURVE)
        assert len(store) == 1


def test_a_row_says_what_was_done_where_and_with_what(path):
    with Store(path) as store:
        put(store, 0.1, 3)
        (row,) = store.rows()
    assert row.kind == "mlp" and row.lr == 0.1 and row.seed == 3 and row.device == "cpu" and row.seconds == 1.5
    assert row.settings["width"] == 16 and row.settings["batch"] == MLP.batch  # defaults too
    assert row.versions["numpy"] == np.__version__ and "python" in row.versions and "torch" in row.versions
    assert row.key == run_key(MLP, 0.1, 3) and row.finished.endswith("+00:00")


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"curve": [1.0, math.nan]}, "curve"),
        ({"curve": [[1.0]]}, "curve"),
        ({"curve": []}, "curve"),
        ({"seconds": -1.0}, "seconds"),
        ({"device": ""}, "device"),
        ({"precision": "float8"}, "precision"),
    ],
)
def test_a_row_of_nonsense_is_refused_by_name(change, name, path):
    with Store(path) as store:
        with pytest.raises(ValueError, match=f"^{name} "):
            store.put(MLP, 0.1, 0, **{"curve": CURVE, "seconds": 1.0, "device": "cpu", **change})
        assert len(store) == 0


# Files that are refused


def filled(path: Path, runs: int = 200) -> None:
    with Store(path) as store:
        for seed in range(runs):
            put(store, 0.1, seed)


def test_a_file_that_is_no_database_is_refused_and_left_alone(path):
    path.parent.mkdir()
    path.write_bytes(b"these are not the runs " * 100)
    with pytest.raises(StoreError, match=r"store\.sqlite.*not a store"):
        Store(path)
    assert path.read_bytes().startswith(b"these are not")


def test_another_programs_database_is_refused_and_left_alone(path):
    path.parent.mkdir()
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE t (a)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="SQLite file, but not a store"):
        Store(path)
    assert path.read_bytes() == before


def test_a_store_of_another_version_is_refused_with_both_versions(path):
    filled(path, 1)
    other = sqlite3.connect(path)
    other.execute(f"PRAGMA user_version = {VERSION + 1}")
    other.close()
    with pytest.raises(StoreError, match=f"version {VERSION + 1}, this lrtransfer reads and writes version {VERSION}"):
        Store(path)


def test_a_truncated_store_is_refused(path):
    filled(path)
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])
    with pytest.raises(StoreError, match="damaged"):
        Store(path)


def test_an_overwritten_page_is_refused(path):
    filled(path)
    content = bytearray(path.read_bytes())
    content[8192:12288] = bytes([0xA5]) * 4096
    path.write_bytes(content)
    with pytest.raises(StoreError, match="damaged"):
        Store(path)


def test_a_single_flipped_bit_in_a_curve_is_refused(path):
    filled(path, 1)
    content = bytearray(path.read_bytes())
    at = content.find(CURVE.astype("<f8").tobytes())
    assert at > 0
    content[at] ^= 1
    path.write_bytes(content)
    with Store(path) as store, pytest.raises(StoreError, match="damaged"):
        store.get(MLP, 0.1, 0)
    with Store(path) as store, pytest.raises(StoreError, match="damaged"):
        list(store.rows())


def test_an_empty_file_becomes_a_store_and_a_folder_does_not(path):
    path.parent.mkdir()
    path.touch()  # what is left if a process is killed before its first transaction
    with Store(path) as store:
        assert len(store) == 0
    with pytest.raises(StoreError, match="folder"):
        Store(path.parent)
    with pytest.raises(FileNotFoundError, match="no store"):
        Store(path.parent / "none.sqlite", create=False)


def test_a_default_that_was_changed_is_noticed(path):
    @dataclass(frozen=True)
    class Before:
        kind: ClassVar[str] = "test"
        a: int = 1

    @dataclass(frozen=True)
    class After:
        kind: ClassVar[str] = "test"
        a: int = 2

    assert run_key(Before(), 0.1, 0) == run_key(After(), 0.1, 0)
    with Store(path) as store:
        put(store, 0.1, network=Before())
        with pytest.raises(StoreError, match="a = 1, asked for was 2"):
            store.get(After(), 0.1, 0)


# Several processes

WRITER = """
import sys
from lrtransfer.residual.settings import ResidualMLP
from lrtransfer.residual.store import Store
path, first, last = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
with Store(path) as store:
    for seed in range(first, last):
        store.put(ResidualMLP(width=16, depth=3, steps=2), 0.1, seed, [float(seed)] * 100, seconds=1, device="cpu")
        if seed == first:
            print("writing", flush=True)
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
    assert process.stdout is not None and process.stdout.readline() == "writing\n"
    time.sleep(0.3)  # somewhere in the middle of things
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    with Store(path) as store:
        rows = list(store.rows())
        put(store, 0.2)  # and it can be written to
    assert len(rows) > 1
    assert [row.seed for row in rows] == list(range(len(rows)))  # every commit is there, up to the last
    assert all(row.curve.size == 100 and (row.curve == row.seed).all() for row in rows)


# Export


def test_csv_and_parquet_hold_every_run(path, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    with Store(path) as store:
        put(store, 0.1)
        put(store, 0.2, network=ResNet(norm="layer"))
        put(store, 0.3, network=VisionTransformer(norm=False))  # norm is a word there, a bool here
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
