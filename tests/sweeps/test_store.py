"""The store of finished runs: rows that survive, and files that are refused."""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_stores import CURVE, MLP, filled, put

from lrtransfer.sweeps.keys import run_key
from lrtransfer.sweeps.store import Store, StoreError, run_rows
from lrtransfer.sweeps.store.export import export
from lrtransfer.sweeps.store.run_rows import run_row
from lrtransfer.sweeps.store.sqlite_file import VERSION


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs" / "store.sqlite"


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
    network = replace(MLP, steps=len(curve) - 1)
    with TemporaryDirectory() as folder, Store(Path(folder) / "a.sqlite") as store:
        put(store, lr, curve=curve, network=network)
        np.testing.assert_array_equal(store.get(network, lr, 0), curve)
        assert len(list(store.rows())) == 1  # and its checksum and key are right


def test_the_first_result_of_a_run_stays(path):
    with Store(path) as store:
        put(store, 0.1)
        put(store, 0.1, curve=[7.0, 7.0, 7.0])
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
        ({"curve": [1.0, 2.0]}, "curve"),  # of two evaluations; these settings have three
        ({"curve": [1.0, 2.0, 3.0, 4.0]}, "curve"),
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


def rewrite(path: Path, statement: str, *values: object) -> None:
    """Change a store behind its back."""
    with closing(sqlite3.connect(path)) as db, db:
        db.execute(statement, values)


@pytest.mark.parametrize(
    ("column", "value"),
    [
        ("kind", "conv"),
        ("settings", "{"),
        ("settings", '{"width":17}'),
        ("lr", 0.2),
        ("seed", 1),
        ("precision", "bf16"),
        ("curve", b"\0" * 24),
        ("curve", "text"),
        ("final", 1.0),
        ("seconds", 1.25),
        ("device", "cuda"),
        ("versions", "{}"),
        ("versions", "["),
        ("finished", "2001-01-01"),
        ("checksum", 0),
    ],
)
def test_a_change_of_any_column_is_noticed(column, value, path, tmp_path):
    filled(path, 1)
    rewrite(path, f"UPDATE runs SET {column} = ?", value)
    with Store(path) as store:
        for read in (
            lambda: list(store.rows()),
            lambda: store.get(MLP, 0.1, 0),
            lambda: export(path, tmp_path / "a.csv"),
        ):
            with pytest.raises(StoreError, match=r"store\.sqlite.*damaged"):
                read()


def test_text_that_is_no_utf8_is_damage(path):
    filled(path, 1)
    rewrite(path, "UPDATE runs SET device = CAST(x'ff' AS TEXT)")
    with Store(path) as store, pytest.raises(StoreError, match=r"store\.sqlite.*damaged"):
        list(store.rows())


def test_a_row_under_the_key_of_another_is_noticed_even_with_a_right_checksum(path):
    row = list(run_row(MLP, 0.1, 0, CURVE, 1.0, "cpu", "float32", {}))
    row[0] = run_key(MLP, 0.1, 1)
    row[7] = run_rows.checksum(row)
    with Store(path) as store:
        store.put_many([tuple(row)])
        with pytest.raises(StoreError, match=r"store\.sqlite.*not the key"):
            list(store.rows())


def test_an_empty_file_holds_no_store(path, tmp_path):
    path.parent.mkdir()
    path.touch()
    for read in (lambda: Store(path, create=False), lambda: Store(path, read_only=True)):
        with pytest.raises(StoreError, match=r"store\.sqlite.*empty"):
            read()
    with pytest.raises(StoreError, match="empty"):
        export(path, tmp_path / "a.csv")
    assert path.read_bytes() == b""
    Path(f"{path}.checkpoints").mkdir()  # it was a store once
    with pytest.raises(StoreError, match="empty"):
        Store(path)
    assert path.read_bytes() == b""
