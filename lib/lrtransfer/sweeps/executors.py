"""Executors: the one that trains here, dask's, and what differs between those of other libraries."""

from __future__ import annotations

import concurrent.futures as cf
import logging
import re
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any

from lrtransfer.numerics.arguments import refuse

_PATIENCE = 20.0  # seconds for a scheduler to answer
_ADDRESS = re.compile(r"(tcp|tls|ucx|wss?)://(\[[0-9A-Fa-f:.%\w]+\]|[^\s/:\[\]]+):\d{1,5}|inproc://\S+")
_SUCH_AS = "such as 'tcp://host:8786' (started by `dask scheduler`)"


class Here:
    """An executor that does the work at once, in this thread."""

    def submit(self, function: Callable[..., Any], *arguments: Any) -> cf.Future[Any]:
        """A future that is done. Interrupts are not caught: they are not the work's own failure."""
        future: cf.Future[Any] = cf.Future()
        try:
            future.set_result(function(*arguments))
        except Exception as error:
            future.set_exception(error)
        return future


def check_address(address: object) -> None:
    """Refuse, as ``workers``, what is no address of a dask scheduler: it needs a scheme, a host and a port."""
    if not isinstance(address, str) or not _ADDRESS.fullmatch(address):
        raise refuse("workers", address, f"the address of a dask scheduler with scheme and port, {_SUCH_AS}")


def scheduler_is_gone(executor: Any, error: BaseException) -> bool:
    """Whether a dask executor failed because it lost its scheduler, which cancels everything handed to it."""
    causes = (error, error.__cause__)
    status = getattr(getattr(executor, "_client", None), "status", "running")
    return status != "running" or any(isinstance(cause, cf.CancelledError) for cause in causes)


@contextmanager
def _quiet(client: Any) -> Iterator[None]:
    """While a client without its scheduler is closed: dask would log a traceback of its search for it."""
    log = logging.getLogger("distributed.utils")
    before = log.level
    if client.status != "running":
        log.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        log.setLevel(before)


@contextmanager
def dask_executor(address: str) -> Iterator[Any]:
    """The executor of a dask scheduler; ``ValueError`` where none answers at the address.

    Not ``pure``: dask would take two calls with equal arguments for one.
    """
    try:
        from distributed import Client
    except ImportError as error:
        raise ImportError(f"workers = {address!r} needs dask's scheduler: pip install distributed") from error
    try:
        client = Client(address, timeout=_PATIENCE, set_as_default=False)
    except (ValueError, TypeError) as error:
        raise refuse("workers", address, f"the address of a running dask scheduler, {_SUCH_AS}") from error
    except OSError as error:  # TimeoutError too
        raise ValueError(
            f"workers = {address!r}: no dask scheduler answered there within {_PATIENCE:g} s: is it running "
            "(dask scheduler), and may this machine reach its port?"
        ) from error
    try:
        yield client.get_executor(pure=False)
    finally:
        with _quiet(client):
            client.close()


def capacity(executor: Any) -> int:
    """How many tasks to hand out at a time: twice the workers, so that none waits; 64 where they are not known."""
    client = getattr(executor, "_client", None)
    workers = sum(client.nthreads().values()) if client is not None else getattr(executor, "_max_workers", None)
    return 64 if not isinstance(workers, int) else 2 * max(workers, 1)


def finished(futures: list[Any], seconds: float) -> list[Any]:
    """Those of the futures that are done; waits for the first, but not longer than ``seconds``."""
    if all(isinstance(future, cf.Future) for future in futures):
        return list(cf.wait(futures, timeout=seconds, return_when=cf.FIRST_COMPLETED).done)
    stop = time.monotonic() + seconds  # submitit's jobs are futures in all but their class
    while not (done := [future for future in futures if future.done()]) and time.monotonic() < stop:
        time.sleep(min(0.05, seconds))
    return done


def ends_with_us(executor: Any) -> bool:
    """Whether its workers are threads or children of this process, which waits for them at its end."""
    return isinstance(executor, cf.ThreadPoolExecutor | cf.ProcessPoolExecutor)


def stop(executor: Any, futures: Sequence[Any]) -> list[Any]:
    """Cancel the futures; returns those whose work goes on, or may go on for all that can be told.

    The pools of ``concurrent.futures`` cancel what has not begun, and say so. Elsewhere it is a wish: dask calls a
    future cancelled at once, and its worker trains to the end.
    """
    open_ones = [future for future in futures if not future.done()]
    for future in open_ones:
        with suppress(Exception):  # a future need not have the method, nor its cluster be reached any more
            future.cancel()
    return [future for future in open_ones if not future.cancelled()] if ends_with_us(executor) else open_ones


def lost_its_worker(error: BaseException) -> bool:
    """Whether a task failed because the process that had it died, and not by itself."""
    return isinstance(error, cf.BrokenExecutor) or type(error).__name__ == "KilledWorker"


def renewed(executor: Any) -> Any | None:
    """A new pool in place of a broken one, the executor itself if it mends itself, or None.

    A process pool breaks as a whole when one of its workers dies. What it was made with has no public names.
    """
    if not isinstance(executor, cf.Executor) or not getattr(executor, "_broken", False):
        return executor
    if not isinstance(executor, cf.ProcessPoolExecutor):
        return None
    try:
        return cf.ProcessPoolExecutor(
            executor._max_workers,  # type: ignore[attr-defined]
            executor._mp_context,
            executor._initializer,
            executor._initargs,
        )
    except AttributeError:  # another Python's pool
        return None
