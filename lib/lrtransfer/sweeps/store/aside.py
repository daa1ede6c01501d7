"""Runs put aside while another program holds their store, and taken in once it is free."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from lrtransfer.sweeps.store.finished_runs import Store
from lrtransfer.sweeps.store.run_rows import COLUMNS
from lrtransfer.sweeps.store.sqlite_file import StoreBusy


def aside(store: Store) -> Path:
    """Where a store's runs are put aside: a store of their own beside it.

    Parameters
    ----------
    store
        an open store

    Returns
    -------
    Path
        its file's name and ".aside".
    """
    return store.path.with_name(f"{store.path.name}.aside")


class Keeper:
    """Puts rows in a store, and beside it from when another program holds it for longer than this one waits.

    Parameters
    ----------
    store
        an open store, of which this process is the sole driver
    again
        whether rows take the place of those of the same runs
    """

    def __init__(self, store: Store, *, again: bool = False) -> None:
        self._store, self._again, self._kept = store, again, 0

    def put(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Keep rows.

        Parameters
        ----------
        rows
            of ``run_row``

        Raises
        ------
        StoreError
            where they can be kept neither here nor there.
        """
        rows = list(rows)
        if not self._kept:
            try:
                self._store.put_many(rows, again=self._again)
                return
            except StoreBusy:
                pass
        with Store(aside(self._store)) as beside:
            beside.put_many(rows, again=True)
        self._kept += len(rows)

    def finish(self) -> None:
        """Take in what was put aside.

        Raises
        ------
        StoreBusy
            where the store is held still; the message says what is kept where, and how to go on.
        """
        if not self._kept:
            return
        try:
            take_in(self._store)
        except StoreBusy as error:
            raise StoreBusy(
                f"{error} The {self._kept} runs trained meanwhile are kept in '{aside(self._store)}': close that "
                "program and make the same call again, which takes them in."
            ) from error


def take_in(store: Store) -> None:
    """Move what was put aside into the store.

    Parameters
    ----------
    store
        an open store, of which this process is the sole driver

    Raises
    ------
    StoreError
        where it cannot be written, or what is beside it cannot be read.
    """
    file = aside(store)
    if not file.is_file():
        return
    if file.stat().st_size:
        with Store(file) as beside:
            store.put_many(list(beside.connection.execute(f"SELECT {COLUMNS} FROM runs")), again=True)
    for ending in ("", "-wal", "-shm", "-journal"):
        with suppress(FileNotFoundError):
            file.with_name(file.name + ending).unlink()
