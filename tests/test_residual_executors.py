"""A sweep through executors: threads, processes that die, dask, and anything with the same two methods."""

from __future__ import annotations

import concurrent.futures as cf
import os
import signal
import threading
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from lrtransfer.residual import driver, pools, runner
from lrtransfer.residual.runner import run
from lrtransfer.residual.sweep import Curve, Sweep
from test_residual_runner import LONG, PROCESSES, SWEEP, assert_same, checkpoints, wait_for


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.sqlite"


def test_threads(path):
    with cf.ThreadPoolExecutor(2) as executor:
        assert_same(run(SWEEP, path, executor=executor, device="cpu"), SWEEP)


class Job:
    """A future in all but its class, as submitit's jobs are."""

    def __init__(self, function: Callable[[], Any]) -> None:
        self.result = function
        self._seen = 0

    def done(self) -> bool:
        self._seen += 1
        return self._seen > 2

    def cancel(self) -> None:
        pass


class Cluster:
    """An executor in all but its class."""

    def submit(self, function: Any, *arguments: Any) -> Job:
        return Job(lambda: function(*arguments))


def test_an_executor_needs_submit_and_futures_done_and_result_only(path):
    assert_same(run(SWEEP, path, executor=Cluster(), device="cpu", in_flight=2), SWEEP)


def die_once(marker: str, path: str) -> None:
    """In a worker's start: the first one to come here is dead as soon as there is a checkpoint."""
    try:
        os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return

    def die() -> None:
        wait_for(lambda: checkpoints(path))
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=die, daemon=True).start()


def test_a_broken_pool_of_processes_is_replaced(path, tmp_path, capsys):
    marker = str(tmp_path / "died")
    with cf.ProcessPoolExecutor(1, PROCESSES, die_once, (marker, str(path))) as executor:
        results = run(LONG, path, executor=executor, device="cpu", progress=True)
    assert "a worker died with mlp of depth 2" in capsys.readouterr().out
    assert_same(results, LONG)


class Doomed(Cluster):
    """Every worker dies."""

    def submit(self, function: Any, *arguments: Any) -> Job:
        def result() -> Any:
            raise cf.process.BrokenProcessPool("a worker was killed")

        return Job(result)


def test_workers_that_keep_dying_end_the_sweep_with_a_sentence(path):
    with pytest.raises(driver.RunError, match=r"workers died 4 times in a row.*enough memory.*0 of 12"):
        run(SWEEP, path, executor=Doomed(), device="cpu")


def test_a_dask_cluster_survives_the_death_of_a_worker(path):
    distributed = pytest.importorskip("distributed")
    import dask

    networks = [replace(LONG.curves[0].settings, depth=depth) for depth in (2, 3)]
    sweep = Sweep(tuple(Curve(network, (0.125, 0.25)) for network in networks), seeds=(0,))
    with (
        dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
        ) as cluster,
    ):
        address, results = cluster.scheduler_address, []
        thread = threading.Thread(target=lambda: results.append(run(sweep, path, workers=address, device="cpu")))
        thread.start()
        with distributed.Client(address, set_as_default=False) as client:
            wait_for(lambda: any(client.processing().values()))
            pids = client.run(os.getpid)
            wait_for(lambda: checkpoints(path))
            busy = next(worker for worker, tasks in client.processing().items() if tasks)
            os.kill(pids[busy], signal.SIGKILL)
            thread.join(120)
    assert not thread.is_alive()
    assert_same(results[0], sweep)


def test_an_address_where_nobody_answers_is_refused(path, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(pools, "_PATIENCE", 0.3)
    for address in ("tcp://127.0.0.1:9", "tcp://no.such.host.invalid:8786"):
        with pytest.raises(ValueError, match=f"workers = '{address}' is not allowed"):
            run(SWEEP, path, workers=address)


class Lost:
    """An executor whose scheduler goes away: all that it was handed is cancelled, as dask does."""

    def submit(self, *_: Any) -> cf.Future[Any]:
        future: cf.Future[Any] = cf.Future()
        future.cancel()
        future.set_running_or_notify_cancel()
        return future


class Closed(Lost):
    """It went away before anything was handed out."""

    _client = SimpleNamespace(status="closed", nthreads=dict)

    def submit(self, *_: Any) -> cf.Future[Any]:
        raise RuntimeError("cannot schedule new futures")


@pytest.mark.parametrize("executor", [Lost(), Closed()])
def test_a_scheduler_that_goes_away_is_named(executor, path, monkeypatch):
    monkeypatch.setattr(runner, "dask_executor", lambda _: nullcontext(executor))
    with pytest.raises(driver.RunError) as error:
        run(SWEEP, path, workers="tcp://host:8786", device="cpu")
    assert str(error.value) == "the scheduler at tcp://host:8786 is gone; start it and run the same command again"
    monkeypatch.undo()
    assert_same(run(SWEEP, path, device="cpu"), SWEEP)  # its claims were given back


def test_an_error_of_a_run_is_not_taken_for_a_lost_scheduler(path, monkeypatch):
    monkeypatch.setattr(runner, "dask_executor", lambda _: nullcontext(Doomed()))
    with pytest.raises(driver.RunError, match="workers died"):
        run(SWEEP, path, workers="tcp://host:8786", device="cpu")


def test_addresses():
    for address in (
        "tcp://127.0.0.1:8786",
        "tls://host-1.net:1",
        "tcp://[::1]:8786",
        "ws://a:80",
        "inproc://1.2.3.4/5/6",
    ):
        pools.check_address(address)
