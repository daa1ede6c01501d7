"""The SQLite file of a store: opened and checked, its tables made or taken over, its errors told as sentences.

It survives ``kill -9``, and several processes may read and write it.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lrtransfer.numerics.arguments import refuse
from lrtransfer.sweeps.store import drives

VERSION = 3  # 2: the checksum covers the whole row; 3: one driver at a time, and no claims on runs
_APPLICATION = 0x6C727472  # "lrtr" in the file's header: tells a store from any other SQLite file
_PATIENCE = 60.0  # seconds to wait for another process's transaction; one takes milliseconds

_SCHEMA = (
    """CREATE TABLE runs (
        key TEXT PRIMARY KEY, kind TEXT NOT NULL, settings TEXT NOT NULL, lr REAL NOT NULL, seed INTEGER NOT NULL,
        precision TEXT NOT NULL, curve BLOB NOT NULL, checksum INTEGER NOT NULL, final REAL NOT NULL,
        seconds REAL NOT NULL, device TEXT NOT NULL, versions TEXT NOT NULL, finished TEXT NOT NULL)""",
    "CREATE TABLE checkpoints (key TEXT PRIMARY KEY, name TEXT NOT NULL)",
    "CREATE TABLE driver (who TEXT NOT NULL)",
    f"PRAGMA application_id = {_APPLICATION}",
    f"PRAGMA user_version = {VERSION}",
)
_FROM_2 = (  # a flight was what trains together, and its name that of its checkpoint
    *_SCHEMA[1:3],
    "INSERT INTO checkpoints SELECT key, flight FROM claims",
    "DROP TABLE claims",
    _SCHEMA[-1],
)


class StoreError(ValueError):
    """A store that is refused: no store, of another version, damaged, or holding other settings under a key."""


class NotBegun(StoreError):
    """An empty file: a store of which nothing was written yet, as where its first process was killed at once."""


class StoreBusy(StoreError):
    """A store that another program holds for longer than this one waits."""


def is_busy(error: sqlite3.Error) -> bool:
    """Whether another process has the file at this moment, and nothing is wrong with it.

    Parameters
    ----------
    error
        of SQLite

    Returns
    -------
    bool
    """
    return "locked" in str(error) or "busy" in str(error)


class StoreFile:
    """The file of a store, open.

    Parameters
    ----------
    path, create, read_only
        as in ``Store``

    Raises
    ------
    StoreError, FileNotFoundError
        as ``Store`` does.
    """

    def __init__(self, path: str | os.PathLike[str], *, create: bool = True, read_only: bool = False) -> None:
        name = os.fspath(path) if isinstance(path, (str, os.PathLike)) else path
        if not isinstance(name, str) or name in ("", ":memory:"):
            raise refuse("store", name, "a file's name")
        self.path = Path(path).absolute()  # the program may change its folder while the store is open
        self._shown, self._read_only, self._name = Path(path), read_only, os.fspath(self.path)
        if self.path.is_dir():
            raise StoreError(f"store = '{self._shown}' is not allowed: it is a folder; store must be a file's name.")
        there = self.path.is_file()
        if not there and (read_only or not create):
            raise FileNotFoundError(f"there is no store '{self._shown}'; `lrtransfer sweep` makes one")
        if there and read_only and drives.holds(drives.journal_of(self.path)):
            drives.roll_back(self.path)
        if there and self.path.stat().st_size == 0:
            self._empty(made=create and not read_only)
        if not read_only:
            self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._named_errors():
            self.connection, self.locks = drives.connected(
                self.path, self._take, read_only=read_only, timeout=_PATIENCE
            )

    def _take(self, connection: sqlite3.Connection, log: bool) -> None:
        self.connection = connection
        self._prepare(log and not self._read_only)

    def _empty(self, *, made: bool) -> None:
        """Refuse an empty file, unless a store is to be made of it and it never was one."""
        begins = f"store = '{self._shown}' is not allowed: the file is empty"
        # Only a store has a log or checkpoints beside it.
        if drives.holds(drives.log_of(self.path)) or self.checkpoints.exists():
            raise StoreError(
                f"{begins}, but what lies beside it says that it was a store once. Put the store back, or remove "
                f"'{self._shown}-wal' and '{self._shown}.checkpoints' too and start anew."
            )
        if not made:
            raise NotBegun(f"{begins}, it holds no store.")

    @property
    def checkpoints(self) -> Path:
        """The folder beside the store with the checkpoints of the runs in flight."""
        return self.path.with_name(self.path.name + ".checkpoints")

    def close(self) -> None:
        """Close the file."""
        self.connection.close()

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """A transaction that holds the write lock from its start, so that what it reads stays true.

        Yields
        ------
        Connection

        Raises
        ------
        StoreError
            where the file cannot be written, as on a full disk.
        """
        with self._named_errors():
            try:
                self.begin()
                yield self.connection
                self.connection.commit()
            except BaseException:  # Ctrl-C too, which may come between any two lines
                with suppress(sqlite3.Error):  # the first error is the one to report
                    if self.connection.in_transaction:
                        self.connection.rollback()
                raise

    def begin(self) -> None:
        """Open a transaction with the write lock, waiting for another process's where there is one.

        Raises
        ------
        StoreError
            where the file was moved away or removed.
        """
        stop = time.monotonic() + _PATIENCE
        while True:
            if not os.path.exists(self._name):  # SQLite would write on, into a log that is found no more
                raise StoreError(f"store = '{self._shown}' cannot be used: it was moved away or removed.")
            try:
                self.connection.execute("BEGIN IMMEDIATE")
                return
            except sqlite3.OperationalError as error:
                # SQLite waits by itself, except where it suspects a deadlock, as when a log is recovered.
                if not is_busy(error) or time.monotonic() > stop:
                    raise
                time.sleep(0.01)

    def _prepare(self, log: bool) -> None:
        """Check the file, or make the tables in an empty one; then a log, if it may have one."""
        if self._identity() == (0, 0, 0):
            if self._read_only:
                raise NotBegun(f"store = '{self._shown}' is not allowed: the file is empty, it holds no store.")
            # Before there is a log, so that a kill leaves an empty file and not one with a log beside it.
            with self.transaction() as db:
                if self._identity() == (0, 0, 0):  # another process may have been first
                    for statement in _SCHEMA:
                        db.execute(statement)
        application, version, _ = self._identity()
        if application == _APPLICATION and version == 2:
            version = VERSION
            if not self._read_only:
                self._upgrade()
        if application != _APPLICATION:
            raise StoreError(f"store = '{self._shown}' is not allowed: it is an SQLite file, but not a store of runs.")
        if version != VERSION:
            raise StoreError(
                f"store = '{self._shown}' is not allowed: it has version {version}, this lrtransfer reads and writes "
                f"version {VERSION} (and takes over 2). Use the lrtransfer that wrote it, or start a new file."
            )
        if log:
            self._log_ahead()
        problems = [row[0] for row in self.connection.execute("PRAGMA quick_check(1)")]
        if problems != ["ok"]:
            raise self._damaged(problems[0])

    def _upgrade(self) -> None:
        """Take over a store of version 2, which is the same but for the claims."""
        with self.transaction() as db:
            if self._identity()[1] == 2:  # another process may have been first
                for statement in _FROM_2:
                    db.execute(statement)

    def _identity(self) -> tuple[int, int, int]:
        """Application, version and number of tables, read in one transaction."""
        query = (
            "SELECT (SELECT application_id FROM pragma_application_id), (SELECT user_version FROM pragma_user_version),"
            " (SELECT count(*) FROM sqlite_master)"
        )
        return tuple(self.connection.execute(query).fetchone())

    def _log_ahead(self) -> None:
        """A write-ahead log: readers never wait, and a commit need not wait for the disk.

        ``synchronous = NORMAL`` then loses nothing when a process dies; loss of power may take back the last
        commits, whole. Drives without shared memory keep SQLite's own journal.
        """
        try:
            mode = self.connection.execute("PRAGMA journal_mode = WAL").fetchone()[0]
        except sqlite3.OperationalError:  # the drive cannot, or another process is switching it this moment
            mode = self.connection.execute("PRAGMA journal_mode").fetchone()[0]
        self.connection.execute(f"PRAGMA synchronous = {'NORMAL' if mode == 'wal' else 'FULL'}")

    def _damaged(self, what: str) -> StoreError:
        return StoreError(
            f"store = '{self._shown}' is not allowed: the file is damaged ({what}). Move it away and run again, or "
            "save what is readable with sqlite3's .recover."
        )

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        """SQLite's errors as sentences that name the file."""
        try:
            yield
        except sqlite3.ProgrammingError as error:  # no fault of the file
            what = "it was opened in another thread; open it in this one" if "thread" in str(error) else "it is closed"
            raise StoreError(f"store = '{self._shown}' cannot be used: {what}.") from error
        except sqlite3.OperationalError as error:  # full disk, no permission, a lock that is never freed
            if "UTF-8" in str(error):
                raise self._damaged(str(error)) from error
            if is_busy(error):
                held = f"store = '{self._shown}' cannot be used: another program has held it for {_PATIENCE:g} s"
                raise StoreBusy(f"{held} ({error}).") from error
            raise StoreError(f"store = '{self._shown}' cannot be used: {error}.") from error
        except sqlite3.DatabaseError as error:
            if "not a database" in str(error):
                message = f"store = '{self._shown}' is not allowed: it is not a store, nor any SQLite file."
                raise StoreError(message) from error
            raise self._damaged(str(error)) from error
