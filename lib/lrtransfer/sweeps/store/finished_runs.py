"""Finished runs in one SQLite file.

One row a run: settings, rate, seed, curve, device, duration, versions. Beside the rows stands which runs the
checkpoints beside the file are for, and who trains for it at the moment: ``lock`` sees to it that only one does.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any

from numpy.typing import ArrayLike

from lrtransfer.numerics.arrays import Array
from lrtransfer.sweeps.keys import full_settings, run_key
from lrtransfer.sweeps.store.run_rows import COLUMNS, StoredRun, has_its_key, read_row, run_row, versions
from lrtransfer.sweeps.store.sqlite_file import StoreError, StoreFile


class Store(StoreFile):
    """The store in a file, made if there is none or an empty one; a context manager, or call ``close``.

    An object belongs to the thread that made it; processes and threads may each open the file, all on one machine:
    SQLite's locks do not reach over a network drive. A write is one transaction: after ``kill -9`` or loss of power the
    file holds it whole or not at all. On a drive that has no locks, ``locks`` is False, and one process at a time may
    have the file open.

    Parameters
    ----------
    path
        the file, such as "runs/depth.sqlite"; missing folders are made
    create
        whether to make a file where there is none; refused otherwise
    read_only
        no row is written and no file made, so that a store on a read-only drive can be read too

    Raises
    ------
    StoreError
        where the file is no store, was written by another version or is damaged; its kinds ``NotBegun`` for an empty
        file to be read, and ``StoreBusy`` for one that another program holds for more than a minute.
    FileNotFoundError
        for a missing file without ``create``, or to be read only.
    """

    def get(self, settings: object, lr: float, seed: int, *, precision: str = "float32") -> Array | None:
        """The curve of a finished run.

        Parameters
        ----------
        settings, lr, seed, precision
            as in ``run_key``

        Returns
        -------
        ndarray or None
            (evaluations,); None where the store does not have it.

        Raises
        ------
        ValueError
            naming a bad argument.
        StoreError
            where the row is damaged or its settings differ from ``settings`` (a default of their class was changed
            since).
        """
        key = run_key(settings, lr, seed, precision=precision)
        with self._named_errors():
            row = self.connection.execute(f"SELECT {COLUMNS} FROM runs WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        found = self._read(row)
        if row[2] != full_settings(settings):  # more fields now, or fewer: compare those that both have
            self._same_settings(found.settings, json.loads(full_settings(settings)))
        return found.curve

    def put(
        self,
        settings: object,
        lr: float,
        seed: int,
        curve: ArrayLike,
        seconds: float,
        device: str,
        *,
        precision: str = "float32",
    ) -> None:
        """Store a finished run; a run that is there already stays as it is.

        Parameters
        ----------
        settings, lr, seed, precision
            as in ``run_key``
        curve
            losses (evaluations,), inf where diverged
        seconds
            how long it took
        device
            where, such as "cpu"

        Raises
        ------
        ValueError
            naming a bad argument.
        """
        self.put_many([run_row(settings, lr, seed, curve, seconds, device, precision, versions())])

    def put_many(self, rows: Iterable[tuple[Any, ...]], *, again: bool = False) -> None:
        """Store rows in one transaction; their checkpoints are for them no more.

        Parameters
        ----------
        rows
            of ``run_row``
        again
            whether they take the place of runs that are there already, which otherwise stay as they are

        Raises
        ------
        StoreError
            where the file cannot be written.
        """
        rows = list(rows)
        with self.transaction() as db:
            db.executemany(
                f"INSERT OR {'REPLACE' if again else 'IGNORE'} INTO runs VALUES ({', '.join('?' * 13)})", rows
            )
            db.executemany("DELETE FROM checkpoints WHERE key = ?", [(row[0],) for row in rows])

    def has(self, keys: Iterable[str]) -> set[str]:
        """Those of some keys that the store has a finished run for.

        Parameters
        ----------
        keys
            of ``run_key``

        Returns
        -------
        set of str
        """
        with self._named_errors():
            return {
                key for key in keys if self.connection.execute("SELECT 1 FROM runs WHERE key = ?", (key,)).fetchone()
            }

    def versions_of(self, keys: Iterable[str]) -> dict[str, str]:
        """The versions that made those of some runs that the store has.

        Parameters
        ----------
        keys
            of ``run_key``

        Returns
        -------
        dict of str to str
            JSON, as the rows have it, by key.
        """
        query = "SELECT versions FROM runs WHERE key = ?"
        with self._named_errors():
            found = {key: self.connection.execute(query, (key,)).fetchone() for key in keys}
        return {key: str(row[0]) for key, row in found.items() if row is not None}

    def __len__(self) -> int:
        """The number of finished runs."""
        with self._named_errors():
            return int(self.connection.execute("SELECT count(*) FROM runs").fetchone()[0])

    def rows(self) -> Iterator[StoredRun]:
        """Every finished run, in the order in which they were stored.

        Yields
        ------
        StoredRun

        Raises
        ------
        StoreError
            for a row that is damaged, or whose key is not that of its settings.
        """
        with self._named_errors():
            for row in self.connection.execute(f"SELECT {COLUMNS} FROM runs ORDER BY rowid"):
                run = self._read(row)
                if not has_its_key(run):
                    raise StoreError(
                        f"store = '{self._shown}' is not allowed: {run.key} is not the key of the settings beside it. "
                        "The file was changed by hand, or a default was changed since. Start a new file."
                    )
                yield run

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def _read(self, row: tuple[Any, ...]) -> StoredRun:
        try:
            return read_row(row)
        except ValueError as error:
            raise self._damaged(str(error)) from error

    def _same_settings(self, stored: dict[str, Any], asked: dict[str, Any]) -> None:
        for name in sorted(stored.keys() & asked.keys()):
            if stored[name] != asked[name]:
                raise StoreError(
                    f"store '{self._shown}' holds this run with {name} = {stored[name]!r}, asked for was "
                    f"{asked[name]!r}: the default of {name} was changed since. Start a new file."
                )
