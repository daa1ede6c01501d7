"""Drives that lack what SQLite asks for: how to open a store on them all the same.

A mounted drive may have no shared memory, which a write-ahead log needs between processes, or no locks at all.
"""

from __future__ import annotations

import errno
import sqlite3
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path

# How a system says that a drive has no locks.
NO_LOCKS = {errno.ENOSYS, errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOTSUP, errno.EINVAL, errno.EIO}
_LACKING = ("unable to open", "disk I/O error", "locking protocol")  # what SQLite says where a drive lacks something


def has_locks(folder: Path) -> bool:
    """Whether files in a folder can be locked, tried on one that is made for it.

    Parameters
    ----------
    folder
        that can be written to; of any other the answer is True

    Returns
    -------
    bool
        True too where the system tells it in no such way.
    """
    try:
        import fcntl
    except ImportError:  # Windows, where a mounted drive has locks
        return True
    # Not on the store itself: closing any handle of a file lets go of all locks that this process has on it.
    try:
        with tempfile.TemporaryFile(dir=folder) as file:
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno not in NO_LOCKS
    return True


def holds(file: Path) -> bool:
    """Whether a file is there with something in it.

    Parameters
    ----------
    file
        such as a log beside a store

    Returns
    -------
    bool
    """
    return file.is_file() and file.stat().st_size > 0


def log_of(path: Path) -> Path:
    """The write-ahead log of a store: rows that are not in its file yet.

    Parameters
    ----------
    path
        of the store

    Returns
    -------
    Path
    """
    return path.with_name(path.name + "-wal")


def journal_of(path: Path) -> Path:
    """SQLite's own journal of a store: what a transaction that was cut off has overwritten.

    Parameters
    ----------
    path
        of the store

    Returns
    -------
    Path
    """
    return path.with_name(path.name + "-journal")


def roll_back(path: Path) -> None:
    """Undo what a killed process left half-written, for who only reads cannot; left alone where that may not be.

    Parameters
    ----------
    path
        of the file
    """
    with (
        suppress(sqlite3.Error),
        closing(sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, isolation_level=None)) as db,
    ):
        db.execute("SELECT count(*) FROM sqlite_master").fetchone()


def connected(
    path: Path, prepare: Callable[[sqlite3.Connection, bool], None], *, read_only: bool, timeout: float
) -> tuple[sqlite3.Connection, bool]:
    """A connection to a store's file, in the first way that the drive allows.

    Parameters
    ----------
    path
        of the file, absolute
    prepare
        is given every connection that is tried and whether the store may have a log, and raises where the file cannot
        be used over it
    read_only
        whether it is opened to be read only
    timeout
        seconds that SQLite waits for another process

    Returns
    -------
    connection : Connection
        prepared.
    locks : bool
        whether SQLite keeps others from writing meanwhile.
    """
    first: sqlite3.OperationalError | None = None
    for mode, alone in _ways(path, read_only):
        connection = None
        try:
            connection = sqlite3.connect(f"{path.as_uri()}?{mode}", timeout=timeout, isolation_level=None, uri=True)
            if alone:
                _out_of_the_log(connection)
            prepare(connection, not alone)
            return connection, "vfs" not in mode
        except BaseException as error:
            if connection is not None:
                connection.close()
            if not isinstance(error, sqlite3.OperationalError) or not any(words in str(error) for words in _LACKING):
                raise
            first = first or error
    assert first is not None
    raise first


def _ways(path: Path, read_only: bool) -> Iterator[tuple[str, bool]]:
    """How to open the file, and whether to take it out of its log: the next one is asked for where one fails."""
    # Asked first: without locks SQLite may wait for one as long as it is told to.
    locks = "" if has_locks(path.parent) else "&vfs=unix-none"
    if read_only:
        if not locks:
            yield "mode=ro", False
        # Without permission to write beside it, SQLite reads a store with a log only if told that nobody writes; but
        # then it does not see what is still in the log.
        if not holds(log_of(path)) and not holds(journal_of(path)):
            yield "mode=ro&immutable=1", False
        elif locks:
            yield "mode=rw&vfs=unix-none", True
        return
    if not locks:
        yield "mode=rwc", False
    yield f"mode=rwc{locks}", True


def _out_of_the_log(connection: sqlite3.Connection) -> None:
    """Bring a store that has a log back to SQLite's own journal, which needs no shared memory."""
    connection.execute("PRAGMA locking_mode = EXCLUSIVE")  # the log's index is then in this process's memory
    connection.execute("PRAGMA journal_mode = DELETE")
    connection.execute("PRAGMA locking_mode = NORMAL")
    connection.execute("SELECT count(*) FROM sqlite_master").fetchone()  # the lock is let go at the next access
