"""A store as a table for other tools: CSV, or Parquet."""

from __future__ import annotations

import csv
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from lrtransfer._check import refuse
from lrtransfer.residual.rows import StoredRun
from lrtransfer.residual.store import Store

SUFFIXES = (".csv", ".parquet")


def export(store: Store | str | os.PathLike[str], file: str | os.PathLike[str]) -> int:
    """Write every run of a store to ``file``, one row a run, and return how many there are.

    Columns: ``key``, ``kind``, the fields of the settings (empty where a kind of network lacks the field), ``lr``,
    ``seed``, ``precision``, ``device``, ``seconds``, ``finished`` (UTC), ``versions`` (JSON), ``final`` (the last
    loss, inf where diverged) and ``curve``, the losses after 0, ``eval_every``, 2 ``eval_every``, ... and ``steps``
    updates: a list in Parquet, numbers with spaces between them in CSV.

    ``store``: an open ``Store`` or a file's name. ``file``: ends in ".csv" (needs nothing) or ".parquet" (needs
    pyarrow); it is replaced if it exists, and only when the new one is complete. Raises ``ValueError`` for another
    ending, ``ImportError`` without pyarrow, ``FileNotFoundError`` and ``StoreError`` as ``Store`` does.
    """
    path = Path(file)
    if path.suffix.lower() not in SUFFIXES:
        raise refuse("file", os.fspath(file), "a name that ends in .csv or .parquet")
    write = _parquet if path.suffix.lower() == ".parquet" else _csv
    if isinstance(store, Store):
        return _export(store, path, write)
    with Store(store, create=False) as opened:
        return _export(opened, path, write)


def _export(store: Store, path: Path, write: Any) -> int:
    names: dict[str, None] = {}  # a set that keeps its order
    for run in store.rows():
        names.update(dict.fromkeys(run.settings))
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_name(f"{path.name}.{os.getpid()}.part")
    try:
        number = write(store, list(names), beside)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)
    return int(number)


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
    after = ["lr", "seed", "precision", "device", "seconds", "finished", "versions", "final", "curve"]
    number = 0
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["key", "kind", *names, *after])
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
    # Fields that mix types between kinds of networks (norm is a word in one, a bool in another) become text.
    for name in names:
        types = {type(row[name]) for row in rows if row[name] is not None}
        if len(types) > 1 or types & {list, dict}:
            for row in rows:
                row[name] = None if row[name] is None else str(row[name])
    parquet.write_table(pa.Table.from_pylist(rows), path)
    return len(rows)
