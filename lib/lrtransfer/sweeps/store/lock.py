"""One driver a store: who trains for it holds a lock beside the file, which the system frees when its process ends.

So a killed driver is in nobody's way. Its checkpoints stay, and the store remembers which runs each of them is for.
"""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from lrtransfer.sweeps.store.drives import NO_LOCKS
from lrtransfer.sweeps.store.finished_runs import Store
from lrtransfer.sweeps.store.sqlite_file import StoreBusy, StoreError


@contextmanager
def sole_driver(store: Store, *, wait: bool, note: Callable[[str], None]) -> Iterator[None]:
    """Hold the lock of a store while the block runs; at its end, remove the checkpoints that are for no run any more.

    Parameters
    ----------
    store
        an open store
    wait
        whether to wait where another driver holds it
    note
        is told who holds it, where this one waits, and of a drive that has no locks

    Raises
    ------
    StoreError
        where another driver holds it and ``wait`` is false; the message names its host, its process and since when.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(store.path.with_name(f"{store.path.name}.lock"))  # releasing it is allowed where it is not held
    try:
        lock.acquire(timeout=0)
    except Timeout:
        held = f"store '{store.path}' is in use: {_signed(store)} trains for it"
        if not wait:
            raise StoreError(f"{held}. Wait for it, with wait=True or --wait, or name another store.") from None
        note(f"{held}; waiting for it")
        lock.acquire()
    except (OSError, NotImplementedError) as error:  # some network and mounted drives
        if isinstance(error, OSError) and error.errno not in NO_LOCKS:
            raise
        note(f"the drive of store '{store.path}' has no locks: see to it that one process at a time trains for it")
    try:
        now = datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")
        _sign(store, f"process {os.getpid()} on {platform.node()} since {now}")
        try:
            yield
        except StoreBusy:  # to tidy up it would wait once more
            raise
        except BaseException:  # what went wrong first is what to tell
            with suppress(StoreError, OSError):
                _leave(store)
            raise
        _leave(store)
    finally:
        lock.release()


def remember(store: Store, groups: Iterable[tuple[str, list[str]]]) -> Path:
    """Note which runs the checkpoints of some groups are for.

    Parameters
    ----------
    store
        an open store, of which this process is the sole driver
    groups
        (file name, keys) of each

    Returns
    -------
    Path
        the folder of the checkpoints, which is made.
    """
    with store.transaction() as db:
        db.executemany(
            "INSERT OR REPLACE INTO checkpoints VALUES (?, ?)", [(key, name) for name, keys in groups for key in keys]
        )
    store.checkpoints.mkdir(exist_ok=True)
    return store.checkpoints


def _sign(store: Store, who: str) -> None:
    """Say in the store who trains for it: that counts as long as the lock is held."""
    with store.transaction() as db:
        db.execute("DELETE FROM driver")
        db.executemany("INSERT INTO driver VALUES (?)", [(who,)] if who else [])


def _signed(store: Store) -> str:
    with store.transaction() as db:
        row = db.execute("SELECT who FROM driver").fetchone()
    return "another process" if row is None else str(row[0])


def _leave(store: Store) -> None:
    """Remove checkpoints of which every run is stored, and their folder when it is empty."""
    _sign(store, "")
    with store.transaction() as db:
        wanted = {row[0] for row in db.execute("SELECT DISTINCT name FROM checkpoints")}
    for file in store.checkpoints.glob("*"):
        if file.name.split(".")[0] not in wanted and not file.is_dir():
            file.unlink(missing_ok=True)
    if not wanted and store.checkpoints.is_dir():
        with suppress(OSError):  # somebody keeps something else there
            store.checkpoints.rmdir()
