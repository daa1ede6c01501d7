"""Who is training what: claims on runs in a store, kept alive by a heartbeat, taken over from the dead.

A claim is a row: the run's key, the flight it trains in (a name shared by the runs that train together, and
by their checkpoint), the process and the time of its last heartbeat. A claim is dead when its process is gone
from this machine, or when no heartbeat came for ``LEASE`` seconds. Should a process that was only asleep wake
up after that, both finish the run and the store keeps the first: the same numbers, some work done twice.

A sweep that is interrupted gives its claims back, but for those of work that it cannot stop. These are kept alive
while threads or processes of its own train on; what it handed to workers elsewhere, of which it hears nothing
more, stays claimed for the length of a lease, whatever becomes of it.
"""

from __future__ import annotations

import os
import platform
import sqlite3
import threading
import time
import uuid
from collections.abc import Sequence
from concurrent.futures import Future, wait
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

from lrtransfer.sweeps.keys import group_name
from lrtransfer.sweeps.store import Store, StoreError, is_busy

LEASE = 60.0  # seconds

_ALIVE = "UPDATE claims SET heartbeat = ? WHERE owner = ?"
# Heartbeat 0, not deleted: the row is what says that the flight's checkpoint is still wanted.
_GIVE_BACK = "UPDATE claims SET owner = '', heartbeat = 0 WHERE owner = ?"


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
    """Runs claimed to be trained together: their ``keys`` and the ``checkpoint`` file, if any, to resume from."""

    keys: tuple[str, ...]
    checkpoint: Path | None


class Unshared:
    """In place of a lease, where no other process can be at the same runs: all are free, and nothing is written."""

    def __enter__(self) -> Unshared:
        return self

    def __exit__(self, *_: object) -> None:
        """Nothing is held."""

    def claim(self, keys: Sequence[str], device: str) -> tuple[Flight | None, set[str]]:
        """All of the runs, without a checkpoint."""
        return Flight(tuple(keys), None), set()

    def check(self) -> None:
        """Nothing can have gone wrong."""

    def leave(self, flights: Sequence[Flight], work: Sequence[Future[Any]] | None) -> None:
        """Nothing is held."""


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
        self._left: list[str] = []  # keys of runs that train on
        self._work: Sequence[Future[Any]] | None = None

    def __enter__(self) -> Lease:
        self._heart.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._stop.set()
        self._heart.join()
        try:
            if self._left:
                self._let_go()
            self.release()
            self.tidy()
        except (StoreError, OSError):
            if error is None:  # otherwise that one says what went wrong; the claims die with this process
                raise

    def claim(self, keys: Sequence[str], device: str) -> tuple[Flight | None, set[str]]:
        """Claim those of the runs that nobody finished and no living process has.

        Returns the flight, None if there is nothing to claim, and the keys that other processes are training. One's
        own claim is no obstacle: a run whose worker died is claimed again.
        """
        self.check()
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

    def check(self) -> None:
        """``StoreError`` where the heart has stopped, so that others will take the runs over."""
        if self._failure is not None:
            raise StoreError(f"store = '{self.store.path}' cannot be used: {self._failure}.") from self._failure

    def leave(self, flights: Sequence[Flight], work: Sequence[Future[Any]] | None) -> None:
        """Do not give these flights back at the end: their workers could not be stopped.

        ``work``: futures of them all, of pools that this process has; the claims are held until all are done. None
        where nobody can tell when the workers stop.
        """
        self._left, self._work = [key for flight in flights for key in flight.keys], work

    def release(self) -> None:
        """Give back all claims; the checkpoints stay, for whoever goes on."""
        with self.store.transaction() as db:
            db.execute(_GIVE_BACK, (self.owner,))

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

    def _let_go(self) -> None:
        """Pass the claims of what trains on to an owner of their own."""
        owner = uuid.uuid4().hex
        machine = "" if self._work is None else self._machine  # "": that this process is gone says nothing
        with self.store.transaction() as db:
            db.executemany(
                "UPDATE claims SET owner = ?, host = ?, heartbeat = ? WHERE owner = ? AND key = ?",
                [(owner, machine, time.time(), self.owner, key) for key in self._left],
            )
        if self._work is not None:
            threading.Thread(target=self._outlast, args=(owner, self._work), daemon=True).start()

    def _outlast(self, owner: str, work: Sequence[Future[Any]]) -> None:
        while wait(work, timeout=self.lease / 4).not_done:
            self._write(_ALIVE, time.time(), owner)
        self._write(_GIVE_BACK, owner)

    def _beat(self) -> None:
        while self._failure is None and not self._stop.wait(self.lease / 4):
            self._write(_ALIVE, time.time(), self.owner)

    def _write(self, statement: str, *values: object) -> None:
        """Change claims from another thread than the store's."""
        # Opened every time, and never made: a file that was moved away is noticed, not replaced by an empty one.
        uri = f"{self.store.path.as_uri()}?mode=rw"
        try:
            with closing(sqlite3.connect(uri, timeout=self.lease / 4, isolation_level=None, uri=True)) as db:
                db.execute(statement, values)
        except sqlite3.Error as error:
            if not is_busy(error):  # if it is, the next beat will do
                self._failure = error
