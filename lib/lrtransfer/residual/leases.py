"""Who is training what: claims on runs in a store, kept alive by a heartbeat, taken over from the dead.

A claim is a row: the run's key, the flight it trains in (a name shared by the runs that train together, and
by their checkpoint), the process and the time of its last heartbeat. A claim is dead when its process is gone
from this machine, or when no heartbeat came for ``LEASE`` seconds. Should a process that was only asleep wake
up after that, both finish the run and the store keeps the first: the same numbers, some work done twice.
"""

from __future__ import annotations

import os
import platform
import sqlite3
import threading
import time
import uuid
from collections.abc import Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from lrtransfer.residual.keys import group_name
from lrtransfer.residual.store import Store, StoreError, is_busy

LEASE = 60.0  # seconds


def _machine() -> str:
    """Name of this machine, and on Linux of the process namespace too: containers number their processes separately."""
    try:
        return f"{platform.node()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return platform.node()


def _is_running(pid: int) -> bool:
    if os.name != "posix":  # elsewhere signal 0 is not a question but a signal; the heartbeat decides alone
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # there, but someone else's
        return True
    return True


@dataclass(frozen=True)
class Flight:
    """Runs claimed to be trained together: their ``keys`` and the ``checkpoint`` file that they resume from."""

    keys: tuple[str, ...]
    checkpoint: Path


class Lease:
    """The claims of this process on a store, as a context manager; leaving it gives the claims back.

    ``store``: an open store. ``lease``: seconds without a heartbeat after which another process may take over.
    """

    def __init__(self, store: Store, *, lease: float = LEASE) -> None:
        self.store = store
        self.lease = lease
        self.owner = uuid.uuid4().hex  # not the process number alone: those are used again
        self._machine, self._pid = _machine(), os.getpid()
        self._stop = threading.Event()
        self._failure: sqlite3.Error | None = None  # why the heart stopped
        self._heart = threading.Thread(target=self._beat, name="lrtransfer-heartbeat", daemon=True)

    def __enter__(self) -> Lease:
        self._heart.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop.set()
        self._heart.join()
        try:
            self.release()
            self.tidy()
        except (StoreError, OSError):
            if error is None:  # otherwise that one says what went wrong; the claims die with this process
                raise

    def claim(self, keys: Sequence[str], device: str) -> tuple[Flight | None, set[str]]:
        """Claim those of the runs that nobody finished and no living process has.

        Returns the flight, None if there is nothing to claim, and the keys that other processes are training.
        """
        if self._failure is not None:
            raise StoreError(f"store = '{self.store.path}' cannot be used: {self._failure}.") from self._failure
        now, busy, free = time.time(), set(), []
        with self.store.transaction() as db:
            for key in keys:
                row = db.execute("SELECT owner, host, pid, heartbeat FROM claims WHERE key = ?", (key,)).fetchone()
                if row is not None and self._lives(row, now):
                    busy.add(key)
                elif not db.execute("SELECT 1 FROM runs WHERE key = ?", (key,)).fetchone():
                    free.append(key)
            name = group_name(free, device)
            db.executemany(
                "INSERT OR REPLACE INTO claims VALUES (?, ?, ?, ?, ?, ?)",
                [(key, name, self.owner, self._machine, self._pid, now) for key in free],
            )
            self.store.checkpoints.mkdir(exist_ok=True)  # here, for ``tidy`` of another process takes it away
        return (Flight(tuple(free), self.store.checkpoints / name) if free else None), busy

    def release(self, flight: Flight | None = None) -> None:
        """Give back the claims of a flight, or all; the checkpoints stay, for whoever goes on."""
        with self.store.transaction() as db:
            # Heartbeat 0, not deleted: the row is what says that the flight's checkpoint is still wanted.
            mine = "UPDATE claims SET owner = '', heartbeat = 0 WHERE owner = ?"
            if flight is None:
                db.execute(mine, (self.owner,))
            else:
                db.executemany(f"{mine} AND key = ?", [(self.owner, key) for key in flight.keys])

    def tidy(self) -> None:
        """Remove the checkpoints that no claim names any more, and their folder when it is empty."""
        folder = self.store.checkpoints
        with self.store.transaction() as db:  # so that nobody claims in between
            wanted = {row[0] for row in db.execute("SELECT flight FROM claims")}
            for file in folder.glob("*"):
                if file.name.split(".")[0] not in wanted and not file.is_dir():
                    file.unlink(missing_ok=True)
            if not wanted and folder.is_dir():
                with suppress(OSError):  # somebody keeps something else there
                    folder.rmdir()

    def _lives(self, row: tuple[str, str, int, float], now: float) -> bool:
        owner, machine, pid, heartbeat = row
        if owner == self.owner or now - heartbeat > self.lease:
            return False  # one's own claim is no obstacle
        return machine != self._machine or _is_running(pid)

    def _beat(self) -> None:
        # Opened at every beat, and never made: a file that was moved away is noticed, not replaced by an empty one.
        uri = f"{self.store.path.as_uri()}?mode=rw"
        while not self._stop.wait(self.lease / 4):
            try:
                with closing(sqlite3.connect(uri, timeout=self.lease / 4, isolation_level=None, uri=True)) as db:
                    db.execute("UPDATE claims SET heartbeat = ? WHERE owner = ?", (time.time(), self.owner))
            except sqlite3.Error as error:
                if not is_busy(error):  # if it is, the next beat will do
                    self._failure = error
                    return
