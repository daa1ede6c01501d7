"""A reader's own training on several processes and on dask: the same losses as at home, to the last bit."""

import concurrent.futures as cf

import loky
import numpy as np
import pytest
import torch
from small_training import build, train
from small_workers import PROCESSES

from lrtransfer.practice import rate_sweep

LRS, SEEDS = 2.0 ** np.arange(-6, 1, 2), 3


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="module")
def here():
    return rate_sweep(build, train, LRS, SEEDS)


def test_processes_get_functions_of_a_module(here, tmp_path):
    given = {"store": tmp_path / "s.sqlite", "name": "mine"}
    with cf.ProcessPoolExecutor(2, PROCESSES) as pool:
        np.testing.assert_array_equal(rate_sweep(build, train, LRS, SEEDS, executor=pool, **given), here)
    np.testing.assert_array_equal(rate_sweep(build, no_more, LRS, SEEDS, **given | {"version": code(given)}), here)


def code(given):
    """The code under which a store has a training."""
    from lrtransfer.sweeps.store import Store

    with Store(given["store"], read_only=True) as store:
        (found,) = {row.settings["code"] for row in store.rows()}
    return found


def no_more(model, lr):
    raise AssertionError("trained again")


def test_processes_refuse_a_lambda_with_a_sentence():
    with (
        cf.ProcessPoolExecutor(1, PROCESSES) as pool,
        pytest.raises(RuntimeError, match=r"'not named' at rate .*pickle"),
    ):
        rate_sweep(lambda: build(), train, LRS[:1], 1, executor=pool)


def test_loky_takes_any_function(here):
    pool = loky.get_reusable_executor(2)
    try:
        np.testing.assert_array_equal(
            rate_sweep(lambda: build(), lambda model, lr: train(model, lr), LRS, SEEDS, executor=pool), here
        )
    finally:
        pool.shutdown(wait=True, kill_workers=True)


def test_dask_takes_closures(here, tmp_path):
    distributed = pytest.importorskip("distributed")
    import dask

    def closure(model, lr, scale=1.0):
        return scale * train(model, lr)

    with (
        dask.config.set({"distributed.worker.multiprocessing-method": "forkserver"}),
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", silence_logs=50
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        given = {"store": tmp_path / "s.sqlite", "name": "mine", "executor": client.get_executor(pure=False)}
        np.testing.assert_array_equal(rate_sweep(build, closure, LRS, SEEDS, **given), here)
