"""A sweep through executors: threads, processes that die, dask, and anything with the same two methods."""

from __future__ import annotations

import concurrent.futures as cf
import logging
import os
import signal
import threading
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import loky
import numpy as np
import pytest
from small_sweeps import FOUR, LONG, RATES, SMALL, SWEEP, assert_same, expected
from small_workers import PROCESSES, Cluster, Doomed, Job, checkpoints, wait_for

from lrtransfer.residual import train_sweep
from lrtransfer.sweeps import driver
from lrtransfer.sweeps import executors as pools
from lrtransfer.sweeps import run as runner
from lrtransfer.sweeps.executors import dask_executor
from lrtransfer.sweeps.run import run
from lrtransfer.sweeps.sweep import Curve, Sweep


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.sqlite"


def test_threads(path):
    with cf.ThreadPoolExecutor(2) as executor:
        assert_same(run(SWEEP, path, executor=executor, device="cpu"), SWEEP)


def test_an_executor_needs_submit_and_futures_done_and_result_only(path):
    assert_same(run(SWEEP, path, executor=Cluster(), device="cpu", in_flight=2), SWEEP)
    losses = train_sweep(SMALL, RATES, (0, 1), device="cpu", executor=Cluster())
    np.testing.assert_array_equal(losses, expected(SWEEP)[0])


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


@pytest.mark.parametrize("library", ["loky", "concurrent.futures"])
def test_a_pool_of_processes_that_breaks_is_made_anew(library, path, tmp_path, capsys):
    die = {"initializer": die_once, "initargs": (str(tmp_path / "died"), str(path))}
    if library == "loky":
        make = partial(loky.get_reusable_executor, 1, **die)
    else:
        make = partial(cf.ProcessPoolExecutor, 1, PROCESSES, **die)
    results = run(LONG, path, executor=make, device="cpu", progress=True)
    assert "a worker died with mlp of depth 2" in capsys.readouterr().out
    assert_same(results, LONG)


def test_a_pool_that_breaks_and_was_handed_over_ends_the_sweep_with_a_sentence(path, tmp_path):
    die = (str(tmp_path / "died"), str(path))
    with (
        cf.ProcessPoolExecutor(1, PROCESSES, die_once, die) as executor,
        pytest.raises(driver.RunError, match=r"a worker died with mlp.* Hand over a function.*loky.*0 of 2"),
    ):
        run(LONG, path, executor=executor, device="cpu")
    assert_same(run(LONG, path, device="cpu"), LONG)  # from the checkpoint


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
    monkeypatch.setattr(pools, "PATIENCE", 0.3)
    for address in ("tcp://127.0.0.1:9", "tcp://no.such.host.invalid:8786"):
        with pytest.raises(ValueError, match=f"workers = '{address}'.*no dask scheduler answered"):
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

    def submit(self, *_: Any) -> cf.Future[Any]:
        raise RuntimeError("cannot schedule new futures")


def dask(executor: Any, status: str) -> Any:
    """A dask executor in place of a client's."""
    client = SimpleNamespace(status=status, nthreads=lambda: {"one": 1}, get_executor=lambda pure: executor)
    return lambda _: nullcontext(pools.Dask(client))


@pytest.mark.parametrize(("executor", "status"), [(Lost(), "running"), (Closed(), "closed")])
def test_a_scheduler_that_goes_away_is_named(executor, status, path, monkeypatch):
    monkeypatch.setattr(runner, "dask_executor", dask(executor, status))
    with pytest.raises(driver.RunError) as error:
        run(SWEEP, path, workers="tcp://host:8786", device="cpu")
    assert str(error.value) == "the scheduler at tcp://host:8786 is gone; start it and run the same command again"
    monkeypatch.undo()
    assert_same(run(SWEEP, path, device="cpu"), SWEEP)  # the store is free again


def test_dask_logs_no_tracebacks_of_a_scheduler_that_is_gone(monkeypatch, caplog):
    distributed = pytest.importorskip("distributed")

    class Client:
        def __init__(self, *_: Any, **__: Any) -> None:
            pass

        def get_executor(self, pure: bool) -> Cluster:
            return Cluster()

        def close(self) -> None:
            logging.getLogger("distributed.client").error("35 lines of it, while it closes")

    monkeypatch.setattr(distributed, "Client", Client)
    with dask_executor("tcp://host:8786"):
        logging.getLogger("distributed.client").error("35 lines of it, after a look for the scheduler")
    assert caplog.records == []
    logging.getLogger("distributed.client").error("of another client")
    assert len(caplog.records) == 1


def test_an_error_of_a_run_is_not_taken_for_a_lost_scheduler(path, monkeypatch):
    monkeypatch.setattr(runner, "dask_executor", dask(Doomed(), "running"))
    with pytest.raises(driver.RunError, match="workers died"):
        run(SWEEP, path, workers="tcp://host:8786", device="cpu")


@pytest.mark.parametrize(
    "address", ["tcp://127.0.0.1:8786", "tls://host-1.net:1", "tcp://[::1]:8786", "ws://a:80", "inproc://1.2.3.4/5/6"]
)
def test_an_address_of_any_scheme_is_asked_for_a_scheduler(address, path, monkeypatch):
    asked: list[str] = []
    monkeypatch.setattr(runner, "dask_executor", lambda given: asked.append(given) or dask(Cluster(), "running")(given))
    assert_same(run(SWEEP, path, workers=address, device="cpu"), SWEEP)
    assert asked == [address]


class Mixed(Cluster):
    """Tasks of depth 2 are lost with their worker; that of depth 3 is done ten looks after the ``last``."""

    def __init__(self, last: int) -> None:
        self.last, self.handed_out, self.looks = last, 0, 0

    def is_done(self) -> bool:
        self.looks += 20 if self.handed_out == self.last else 1  # and in the end in any case
        return self.looks > 200

    def submit(self, function: Any, *arguments: Any) -> Job:
        self.handed_out += 1
        if arguments[0][0].settings.depth == 2:
            return Doomed().submit(function)
        job = super().submit(function, *arguments)
        job.done = self.is_done  # type: ignore[method-assign]
        return job


def test_what_is_in_flight_is_stored_when_workers_keep_dying(path):
    executor = Mixed(last=5)  # that of depth 3 once, the other four times
    with pytest.raises(driver.RunError, match=r"workers died 4 times in a row.*6 of 12"):
        run(SWEEP, path, executor=executor, device="cpu", in_flight=2)
    assert executor.handed_out == 5


def test_what_is_in_flight_is_stored_when_no_more_can_be_handed_out(path):
    class Tired(Mixed):
        def submit(self, function: Any, *arguments: Any) -> Job:
            if arguments[0][0].settings.depth == 2:
                raise RuntimeError("no more today")
            return super().submit(function, *arguments)

    backwards = Sweep(SWEEP.curves[::-1], SWEEP.seeds)
    with pytest.raises(driver.RunError, match=r"depth 2 .* RuntimeError: no more today .6 of 12"):
        run(backwards, path, executor=Tired(last=1), device="cpu", in_flight=2)


@pytest.mark.parametrize("together", [True, False])
def test_groups_that_are_lost_with_one_machine_are_one_loss(together, path):
    lost: list[int] = []

    class Machine(Cluster):
        """The first four tasks are lost, at once or one after the other."""

        def submit(self, function: Any, *arguments: Any) -> Job:
            if len(lost) >= 4:
                return super().submit(function, *arguments)
            lost.append(0)
            job = Doomed().submit(function)
            job.looks = 1 if together else len(lost)
            return job

    assert_same(run(FOUR, path, executor=Machine(), device="cpu", in_flight=8), FOUR)
    assert len(lost) == 4
