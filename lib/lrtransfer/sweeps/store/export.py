"""A store as a table for other tools: CSV, or Parquet."""

from __future__ import annotations

import csv
import json
import os
import uuid
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

from lrtransfer.numerics.arguments import refuse
from lrtransfer.sweeps import task_registry
from lrtransfer.sweeps.keys import NO_PART_OF_THE_RESULT
from lrtransfer.sweeps.store.finished_runs import Store
from lrtransfer.sweeps.store.run_rows import StoredRun, named_file

SUFFIXES = (".csv", ".parquet")


def export(store: Store | str | os.PathLike[str], file: str | os.PathLike[str]) -> int:
    """Write every run of a store to a table, one row a run.

    Columns: ``key``, ``kind``, the fields of the settings of all kinds (empty where one lacks the field), the same ones
    for every store and of the same types, so that tables can be put one below the other, then ``lr``, ``seed``,
    ``precision``, ``device``, ``seconds``, ``finished`` (UTC), ``versions`` (JSON), ``final`` (the last loss, inf where
    diverged) and ``curve``, the losses after 0, ``eval_every``, 2 ``eval_every``, ... and ``steps`` updates: a list in
    Parquet, numbers with spaces between them in CSV.

    Parameters
    ----------
    store
        an open ``Store`` or a file's name
    file
        ends in ".csv" (needs nothing) or ".parquet" (needs pyarrow); it is replaced if it exists, and only when the new
        one is complete

    Returns
    -------
    int
        how many runs there are.

    Raises
    ------
    ValueError
        for another ending.
    ImportError
        without pyarrow.
    FileNotFoundError, StoreError
        as ``Store`` does.
    """
    if not isinstance(file, (str, os.PathLike)) or isinstance(os.fspath(file), bytes):
        raise refuse("file", file, "a name that ends in .csv or .parquet")
    path = Path(file)
    if path.suffix.lower() not in SUFFIXES:
        raise refuse("file", os.fspath(file), "a name that ends in .csv or .parquet")
    write = _parquet if path.suffix.lower() == ".parquet" else _csv
    if isinstance(store, Store):
        return _export(store, path, write)
    with Store(store, read_only=True) as opened:
        return _export(opened, path, write)


def _export(store: Store, path: Path, write: Any) -> int:
    names = dict.fromkeys(_types())  # a set that keeps its order
    for run in store.rows():
        names.update(dict.fromkeys(run.settings))
    if path.is_dir():
        raise IsADirectoryError(f"'{path}' is a folder; file must be a file's name")
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.{uuid.uuid4().hex}.part")
    try:
        with named_file(path):
            number = write(store, list(names), beside)
            os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
    return int(number)


def _types() -> dict[str, str]:
    """The type of every field of any kind of settings, as its annotation has it.

    A field that is a word in one kind and a bool in another (norm) is text.
    """
    found: dict[str, set[str]] = {}
    for kind in task_registry.kinds():
        for field in fields(task_registry.task(kind).settings):
            if field.compare and field.name not in NO_PART_OF_THE_RESULT:
                found.setdefault(field.name, set()).add(str(field.type).removesuffix(" | None"))
    return {name: types.pop() if len(types) == 1 else "str" for name, types in found.items()}


_AFTER = ["lr", "seed", "precision", "device", "seconds", "finished", "versions", "final", "curve"]


def _columns(run: StoredRun, names: list[str]) -> dict[str, Any]:
    return {
        "key": run.key,
        "kind": run.kind,
        **{name: run.settings.get(name) for name in names},
        "lr": run.lr,
        "seed": run.seed,
        "precision": run.precision,
        "device": run.device,
        "seconds": run.seconds,
        "finished": run.finished,
        "versions": json.dumps(run.versions, sort_keys=True),
        "final": float(run.curve[-1]),
        "curve": run.curve.tolist(),
    }


def _rows(store: Store, names: list[str]) -> Iterator[dict[str, Any]]:
    for run in store.rows():
        yield _columns(run, names)


def _csv(store: Store, names: list[str], path: Path) -> int:
    number = 0
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["key", "kind", *names, *_AFTER])
        writer.writeheader()
        for row in _rows(store, names):
            writer.writerow(row | {"curve": " ".join(map(repr, row["curve"]))})
            number += 1
    return number


def _parquet(store: Store, names: list[str], path: Path) -> int:
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError("writing .parquet needs pyarrow: pip install pyarrow; or name a .csv file") from error
    rows = list(_rows(store, names))
    named = {"str": pa.string(), "float": pa.float64(), "int": pa.int64(), "bool": pa.bool_()}
    known = {name: named[kind] for name, kind in _types().items() if kind in named}
    known |= dict.fromkeys(("key", "kind", "precision", "device", "finished", "versions"), pa.string())
    known |= {"lr": pa.float64(), "seconds": pa.float64(), "final": pa.float64(), "curve": pa.list_(pa.float64())}
    known |= {"seed": pa.int64()}
    columns = {}
    for name in ["key", "kind", *names, *_AFTER]:
        values = [row[name] for row in rows]
        # Fields of settings that are not the package's: text where their values are of several types.
        mixed = len({type(value) for value in values if value is not None}) > 1 or any(
            isinstance(value, (list, dict)) for value in values
        )
        kind = known.get(name, pa.string() if mixed else None)
        text = [None if value is None else str(value) for value in values]
        try:
            columns[name] = pa.array(text if kind == pa.string() else values, kind)
        except (pa.ArrowInvalid, pa.ArrowTypeError):  # a field of that name and another type, in a class of one's own
            columns[name] = pa.array(text)
    parquet.write_table(pa.table(columns), path)
    return len(rows)
