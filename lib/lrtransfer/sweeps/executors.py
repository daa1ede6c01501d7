"""Executors: the one that trains here, dask's, and what differs between those of other libraries."""

from __future__ import annotations

import concurrent.futures as cf
import logging
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from lrtransfer.numerics.arguments import refuse

PATIENCE = 20.0  # seconds for a scheduler to answer
_ADDRESS = re.compile(r"(tcp|tls|ucx|wss?)://(\[[0-9A-Fa-f:.%\w]+\]|[^\s/:\[\]]+):\d{1,5}|inproc://\S+")
_SUCH_AS = "such as 'tcp://host:8786' (started by `dask scheduler`)"


class Here:
    """An executor that does the work at once, in this thread."""

    def submit(self, function: Callable[..., Any], *arguments: Any) -> cf.Future[Any]:
        """Call a function at once.

        Parameters
        ----------
        function
            what to call
        *arguments
            with what

        Returns
        -------
        Future
            one that is done. Interrupts are not caught: they are not the work's own failure.
        """
        future: cf.Future[Any] = cf.Future()
        try:
            future.set_result(function(*arguments))
        except Exception as error:
            future.set_exception(error)
        return future


def check_address(address: object) -> None:
    """Refuse, as ``workers``, what is no address of a dask scheduler.

    Parameters
    ----------
    address
        with a scheme, a host and a port

    Raises
    ------
    ValueError
        naming ``workers``.
    """
    if not isinstance(address, str) or not _ADDRESS.fullmatch(address):
        raise refuse("workers", address, f"the address of a dask scheduler with scheme and port, {_SUCH_AS}")


class Pool:
    """Where groups train.

    A pool of processes breaks as a whole when one of its workers dies, and only who made it can make it anew.

    Parameters
    ----------
    executor
        an executor, or a function that makes one and is called again when it breaks
    """

    def __init__(self, executor: Any) -> None:
        self._make = None if callable(getattr(executor, "submit", None)) else executor
        self.executor: Any = executor if self._make is None else self._make()

    def renew(self, error: BaseException) -> bool:
        """See to an executor after the loss of a worker.

        Parameters
        ----------
        error
            with which the worker's future failed

        Returns
        -------
        bool
            whether there is an executor to go on with.
        """
        if not (isinstance(error, cf.BrokenExecutor) and isinstance(self.executor, cf.Executor)):
            return True  # it mends itself, as dask does
        if self._make is None:
            return False
        self.close()
        self.executor = self._make()
        return True

    def close(self) -> None:
        """Let an executor go that was made here."""
        if self._make is not None:
            self.executor.shutdown(wait=False)


class Dask:
    """The executor of a dask client, which knows its workers and whether its scheduler is there.

    Parameters
    ----------
    client
        a ``distributed.Client``
    """

    def __init__(self, client: Any) -> None:
        self.client = client
        self.submit = client.get_executor(pure=False).submit

    @property
    def workers(self) -> int:
        """Threads of all workers."""
        return int(sum(self.client.nthreads().values()))

    def is_gone(self, error: BaseException) -> bool:
        """Whether something failed because the scheduler was lost, which cancels everything handed to it.

        Parameters
        ----------
        error
            the failure

        Returns
        -------
        bool
        """
        causes = (error, error.__cause__)
        return self.client.status != "running" or any(isinstance(cause, cf.CancelledError) for cause in causes)


@contextmanager
def _quiet() -> Iterator[None]:
    """While a client is open: dask would log tracebacks of its search for a scheduler that is gone."""
    logs = [logging.getLogger(f"distributed.{name}") for name in ("client", "utils", "comm")]
    before = [log.level for log in logs]
    for log in logs:
        log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for log, level in zip(logs, before, strict=True):
            log.setLevel(level)


@contextmanager
def dask_executor(address: str) -> Iterator[Dask]:
    """The executor of a dask scheduler while the block runs.

    Not ``pure``: dask would take two calls with equal arguments for one.

    Parameters
    ----------
    address
        of the scheduler, such as "tcp://host:8786"

    Yields
    ------
    Dask

    Raises
    ------
    ValueError
        where none answers at the address.
    ImportError
        without distributed.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise ImportError(f"workers = {address!r} needs dask's scheduler: pip install distributed") from error
    with _quiet():
        try:
            client = Client(address, timeout=PATIENCE, set_as_default=False)
        except (ValueError, TypeError) as error:
            raise refuse("workers", address, f"the address of a running dask scheduler, {_SUCH_AS}") from error
        except OSError as error:  # TimeoutError too
            raise ValueError(
                f"workers = {address!r}: no dask scheduler answered there within {PATIENCE:g} s: is it running "
                "(dask scheduler), and may this machine reach its port?"
            ) from error
        try:
            yield Dask(client)
        finally:
            client.close()


def workers_of(executor: Any) -> int:
    """How many workers an executor has.

    Pools do not say how many they were made with; their own default is about the number of cores.

    Parameters
    ----------
    executor
        any that ``run`` takes

    Returns
    -------
    int
        told by dask, else as many as this machine has cores, or 32 on a cluster.
    """
    if isinstance(executor, Here):
        return 1
    if isinstance(executor, Dask):
        return max(executor.workers, 1)
    return os.cpu_count() or 1 if isinstance(executor, cf.Executor) else 32


def finished(futures: list[Any], seconds: float) -> list[Any]:
    """Those of some futures that are done.

    Parameters
    ----------
    futures
        of one executor
    seconds
        waits for the first to be done, but not longer than this

    Returns
    -------
    list
        empty where none is.
    """
    if all(isinstance(future, cf.Future) for future in futures):
        return list(cf.wait(futures, timeout=seconds, return_when=cf.FIRST_COMPLETED).done)
    stop = time.monotonic() + seconds  # submitit's jobs are futures in all but their class
    while not (done := [future for future in futures if future.done()]) and time.monotonic() < stop:
        time.sleep(min(0.05, seconds))
    return done


def stop(futures: Sequence[Any]) -> None:
    """Cancel the futures that have not begun; what has begun cannot be stopped, and trains on for nothing.

    Parameters
    ----------
    futures
        of any executor
    """
    for future in futures:
        with suppress(Exception):  # a future need not have the method, nor its cluster be reached any more
            future.cancel()


def lost_its_worker(error: BaseException) -> bool:
    """Whether a task failed because the process that had it died, and not by itself.

    Parameters
    ----------
    error
        of its future

    Returns
    -------
    bool
    """
    return isinstance(error, cf.BrokenExecutor) or type(error).__name__ == "KilledWorker"
