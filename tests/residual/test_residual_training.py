"""The batched sweep against one plain network at a time; seeds, divergence, errors, the smallest preset."""

import math
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

from lrtransfer.images import catalogue as data_module
from lrtransfer.numerics.random import stream
from lrtransfer.residual import ResidualMLP, final_losses, train_sweep
from lrtransfer.residual.networks import training
from lrtransfer.residual.networks.training_loop import Minibatches
from lrtransfer.sweeps.driver import RunError

SMALL = ResidualMLP(width=16, depth=3, steps=6, batch=32, eval_points=50)
STABLE = {"sp": [0.02, 0.1], "ntp": [0.3, 1.0], "mup": [0.2, 0.7], "mup_sqrt_depth": [0.5, 1.5]}


def plain_network(s, lr, seed):
    """One network in float64 with torch's own gradients, straight from the definitions."""
    data, n, depth = data_module.load(s.data), s.width, s.depth
    d, classes = data.train_x.shape[1], data.classes

    def draw(shape, *key):
        return torch.tensor(stream(seed, *key).standard_normal(shape, dtype=np.float32), dtype=torch.float64)

    read_in, readout = draw((n, d), 0), draw((classes, n), 2)
    branches = [draw((n, n), 1, layer) for layer in range(depth)]
    if s.parametrisation == "sp":
        read_in, readout = read_in / d**0.5, readout / n**0.5
        branches = [w / n**0.5 for w in branches]
    weights = [read_in, *branches, readout]
    for w in weights:
        w.requires_grad_()
    phi = {"relu": torch.relu, "tanh": torch.tanh, "linear": lambda h: h}[s.activation]

    def loss(x, y):
        x, y = torch.tensor(x, dtype=torch.float64), torch.tensor(y)
        if s.parametrisation == "sp":
            h = x @ read_in.T
            for w in branches:
                h = h + phi(h) @ w.T
            f = phi(h) @ readout.T
        else:
            beta = depth**-0.5 if s.parametrisation == "mup_sqrt_depth" else 1.0
            h = x @ read_in.T / d**0.5
            for w in branches:
                h = h + beta * phi(h) @ w.T / n**0.5
            denominator = n**0.5 if s.parametrisation == "ntp" else s.gamma0 * n
            f = phi(h) @ readout.T / denominator
        return torch.nn.functional.cross_entropy(f, y)

    rate = lr * s.gamma0**2 * n if s.parametrisation.startswith("mup") else lr
    optimizer = torch.optim.SGD(weights, lr=rate)
    batches = Minibatches([seed], len(data.train_y), s.batch)
    curve = []
    for t in range(s.steps + 1):
        curve.append(loss(data.train_x[: s.eval_points], data.train_y[: s.eval_points]).item())
        if t < s.steps:
            optimizer.zero_grad()
            rows = batches.draw()[0]  # (batch,)
            loss(data.train_x[rows], data.train_y[rows]).backward()
            optimizer.step()
    return np.array(curve)


@pytest.mark.parametrize("activation", ["relu", "tanh", "linear"])
@pytest.mark.parametrize("parametrisation", ["sp", "ntp", "mup", "mup_sqrt_depth"])
def test_batched_sweep_equals_one_network_at_a_time(parametrisation, activation):
    gamma0 = 0.7 if parametrisation.startswith("mup") else 1.0
    s = ResidualMLP(16, 3, parametrisation, activation, gamma0, steps=6, batch=32, eval_points=50)
    lrs, seeds = STABLE[parametrisation], [0, 5]
    losses = train_sweep(s, lrs, seeds, device="cpu")
    plain = np.array([[plain_network(s, lr, seed) for seed in seeds] for lr in lrs])  # (lrs, seeds, steps + 1)
    assert (losses[-1] < losses[0]).all()  # it trains, so the gradients matter
    # float32 against float64: 6e-8 a rounding, a few dozen layers and steps.
    np.testing.assert_allclose(losses, np.moveaxis(plain, 2, 0), rtol=1e-5)


def test_final_losses_are_the_last_row():
    lrs = [0.1, 1.0, 1e3]
    np.testing.assert_array_equal(final_losses(SMALL, lrs, range(2)), train_sweep(SMALL, lrs, range(2))[-1])


def test_no_steps_is_the_loss_at_initialisation():
    s = ResidualMLP(width=16, depth=3, steps=0, eval_points=50)
    losses = train_sweep(s, [0.1, 1.0], range(2))
    assert losses.shape == (1, 2, 2)
    np.testing.assert_array_equal(losses[0, 0], losses[0, 1])


@pytest.mark.parametrize("size", [1, 3, 5])
def test_groups_are_a_detail(size, monkeypatch):
    lrs, seeds = [0.2, 0.5, 1.0, 1e3], [0, 1, 2]
    together = train_sweep(SMALL, lrs, seeds)
    monkeypatch.setattr(training, "group_size", lambda settings, device: size)
    # Batched products may round differently for other batch sizes: a few float32 roundings.
    np.testing.assert_allclose(train_sweep(SMALL, lrs, seeds), together, rtol=2e-6)


def test_diverged_runs_are_inf_from_then_on_and_alone():
    lrs, seeds = [0.5, 1e3, 1e30, 1.0], [0, 1]
    s = ResidualMLP(width=16, depth=3, steps=30, batch=32, eval_points=50, activation="linear")
    losses = train_sweep(s, lrs, seeds)
    assert not np.isnan(losses).any()
    assert np.isfinite(losses[0]).all()  # every run starts from the same finite loss
    gone = np.isinf(losses)
    assert gone[-1, 1].all() and gone[1:, 2].all() and not gone[:, [0, 3]].any()
    assert (gone[1:] >= gone[:-1]).all()  # once gone, never back
    np.testing.assert_allclose(losses[:, [0, 3]], train_sweep(s, [0.5, 1.0], seeds), rtol=2e-6)
    np.testing.assert_array_equal(final_losses(s, lrs, seeds), losses[-1])


def test_overflow_that_relu_would_hide_counts_as_divergence():
    from lrtransfer.residual.networks.parametrisation import layer_scales
    from lrtransfer.residual.networks.residual_mlp import Weights, evaluate

    scales = layer_scales("sp", 2, 1, 2)
    hidden = Weights(torch.full((1, 2, 2), -torch.inf), torch.zeros(1, 1, 2, 2), torch.ones(1, 3, 2))
    assert evaluate(hidden, scales, "relu", torch.ones(4, 2), torch.zeros(4, dtype=torch.int64)).isinf().all()


def test_all_runs_may_diverge():
    assert np.isinf(train_sweep(SMALL, [1e30], range(2))[1:]).all()


def test_seeds_are_common_random_numbers():
    losses = train_sweep(SMALL, [0.5, 1.0], [0, 1])
    np.testing.assert_allclose(train_sweep(SMALL, [1.0, 0.5], [1, 0])[:, ::-1, ::-1], losses, rtol=2e-6)
    np.testing.assert_array_equal(losses[0, 0], losses[0, 1])  # same start for every rate
    assert losses[0, 0, 0] != losses[0, 0, 1]
    np.testing.assert_array_equal(train_sweep(SMALL, [0.5, 1.0], [0, 1]), losses)  # and again


def test_minibatches_depend_on_the_seed_alone():
    together, alone = Minibatches([4, 7], 100, 32), Minibatches([7], 100, 32)
    a = np.stack([together.draw() for _ in range(6)])  # (steps, seeds, batch)
    assert a.shape == (6, 2, 32)
    np.testing.assert_array_equal(a[:, 1], np.stack([alone.draw()[0] for _ in range(6)]))
    assert all(len(set(rows)) == 32 for rows in a.reshape(-1, 32))
    assert (a[0] != a[1]).any() and (a[:, 0] != a[:, 1]).any()


def test_the_test_split_is_another_loss_of_the_same_runs():
    held_out = ResidualMLP(width=16, depth=3, steps=6, batch=32, eval_points=50, eval_split="test")
    train, test = final_losses(SMALL, [1.0], [0]), final_losses(held_out, [1.0], [0])
    assert train != test
    assert abs(np.log(train / test)) < 1  # same images in kind, nothing memorised in six steps


@pytest.mark.parametrize("before", [False, True])
def test_global_state_of_torch_is_left_alone(before):
    def flushing():
        return (torch.full((1,), 1e-40) * 1.0).item() == 0.0

    if not torch.set_flush_denormal(before):
        pytest.skip("this processor cannot flush denormals")
    try:
        state = (
            torch.get_default_dtype(),
            torch.get_num_threads(),
            torch.is_grad_enabled(),
            torch.initial_seed(),
        )
        train_sweep(SMALL, [1.0], [0])
        assert flushing() == before
        assert state == (
            torch.get_default_dtype(),
            torch.get_num_threads(),
            torch.is_grad_enabled(),
            torch.initial_seed(),
        )
    finally:
        torch.set_flush_denormal(False)


def test_equal_settings_are_equal_however_written():
    written = ResidualMLP(width=np.int64(16), depth=3.0, gamma0=1, steps=6, batch=32, eval_points=50)
    assert written == SMALL and hash(written) == hash(SMALL) and repr(written) == repr(SMALL)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"width": 0}, "width = 0.*at least 1"),
        ({"depth": 1.5}, "depth = 1.5 .*whole number"),
        ({"depth": [3, 6]}, "depth = .*one whole number"),
        ({"steps": -1}, "steps = -1.*at least 0"),
        ({"batch": math.nan}, "batch = nan"),
        ({"eval_points": "all"}, "eval_points = 'all'"),
        ({"parametrisation": "muP"}, "parametrisation = 'muP' .*'mup_sqrt_depth'"),
        ({"activation": "gelu"}, "activation = 'gelu' .*'tanh'"),
        ({"data": "cifar"}, "data = 'cifar' .*'digits'"),
        ({"eval_split": "dev"}, "eval_split = 'dev'"),
        ({"gamma0": 0}, "gamma0 = 0"),
        ({"gamma0": [1.0]}, "gamma0 = .*one positive number"),
        ({"gamma0": 2, "parametrisation": "ntp"}, "gamma0 = 2 .*1 for parametrisation 'ntp'"),
        ({"branch": -0.5}, "branch = -0.5"),
    ],
)
def test_bad_settings_are_refused_by_name(arguments, words):
    with pytest.raises(ValueError, match=words):
        ResidualMLP(**arguments)


@pytest.mark.parametrize(
    ("changes", "lrs", "seeds", "options", "words"),
    [
        ({}, [0.1, -1], [0], {}, "lrs = -1"),
        ({}, [math.inf], [0], {}, "lrs = inf"),
        ({}, 0.1, [0], {}, "lrs = 0.1 .*list"),
        ({}, [], [0], {}, "lrs = .*one or more"),
        ({}, [0.1], 3, {}, r"seeds = 3 .*range\(3\)"),
        ({}, [0.1], [], {}, "seeds = .*one or more"),
        ({}, [0.1], [-1], {}, "seeds = -1"),
        ({}, [0.1], [0.5], {}, "seeds = 0.5"),
        ({}, [0.1], [2**63], {}, f"seeds = {2**63} .*at most {2**63 - 1}"),
        ({}, [0.1, 1e-39], [0], {}, "lrs = 1e-39 .*float32"),
        ({}, [1e39], [0], {}, r"lrs = 1e\+39 .*float32"),
        ({}, [0.1], [0], {"store": "runs.sqlite"}, "store = 'runs.sqlite' .*None or an open store"),
        ({}, [0.1], [0], {"store": dict}, "store = <class 'dict'>"),
        ({}, [0.1], [0], {"executor": 4}, "executor = 4 .*ThreadPoolExecutor"),
        ({}, [0.1], [0], {"executor": ThreadPoolExecutor}, "executor = <class .*ThreadPoolExecutor"),
        ({}, [0.1], [0], {"device": "tpu"}, "device = 'tpu' .*'auto'"),
        ({"batch": 1198}, [0.1], [0], {}, "batch = 1198 .*1197 training images"),
        ({"eval_points": 1198}, [0.1], [0], {}, "eval_points = 1198 .*1197 train images"),
        ({"eval_points": 601, "eval_split": "test"}, [0.1], [0], {}, "eval_points = 601 .*600 test images"),
    ],
)
def test_bad_sweeps_are_refused_by_name(changes, lrs, seeds, options, words):
    with pytest.raises(ValueError, match=words):
        train_sweep(ResidualMLP(**changes), lrs, seeds, **options)


def test_a_run_that_fails_is_named_with_its_cause(monkeypatch):
    def fail(*_, **__):
        raise MemoryError("no more")

    monkeypatch.setattr(training, "train_runs", fail)
    with pytest.raises(RunError, match=r"^mlp of depth 3 .* at rate 1 failed with MemoryError: no more$") as error:
        train_sweep(SMALL, [1.0], [0])
    assert isinstance(error.value.__cause__, MemoryError)


def test_large_seeds_are_taken_exactly():
    one, other = (train_sweep(SMALL, [1.0], [seed], device="cpu")[0] for seed in (2**53, 2**53 + 1))
    assert one != other  # as floats they would be the same


def test_a_device_that_is_absent_is_named(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    with pytest.raises(ValueError, match=r"device = 'cuda' .*has \('cpu'\)"):
        train_sweep(SMALL, [0.1], [0], device="cuda")
    assert training.resolve_device("auto") == torch.device("cpu")


def test_auto_prefers_an_accelerator(monkeypatch):
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert training.resolve_device("auto").type == "mps"
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert training.resolve_device("auto").type == "cuda"


def test_missing_libraries_are_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn.datasets", None)
    data_module.loaded.cache_clear()
    with pytest.raises(ImportError, match="pip install scikit-learn"):
        data_module.load("digits")
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match="pip install torch"):
        train_sweep(SMALL, [0.1], [0])


def test_digits_are_split_and_standardised():
    digits = data_module.load("digits")
    assert digits.train_x.shape == (1197, 64) and digits.test_x.shape == (600, 64) and digits.classes == 10
    assert digits.train_x.dtype == digits.test_x.dtype == np.float32
    x = digits.train_x.astype(float)
    np.testing.assert_allclose(x.mean(axis=0), 0, atol=1e-6)  # float32 rounding of 1e-7, averaged
    varies = x.any(axis=0)
    np.testing.assert_allclose(x[:, varies].std(axis=0), 1, rtol=1e-6)
    assert (x[:, ~varies] == 0).all() and (~varies).sum() == 3  # three corner pixels are always white
    assert set(digits.train_y) == set(digits.test_y) == set(range(10))
    with pytest.raises(ValueError, match="read-only"):
        digits.train_x[0, 0] = 1.0
