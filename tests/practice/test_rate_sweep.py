"""Rate sweeps of a reader's own training, and what they say."""

import concurrent.futures as cf
import math

import numpy as np
import pytest
import torch
from torch import nn

from lrtransfer.practice import best_rate, rate_sweep
from lrtransfer.rates import best_lr

LRS = 2.0 ** np.arange(-7, 2)


def build():
    return nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 1))


def data():
    x = torch.randn(32, 6, generator=torch.Generator().manual_seed(1))
    return x, x[:, :1]


def train(model, lr):
    (x, y), optimiser = data(), torch.optim.SGD(model.parameters(), lr=lr)
    for _ in range(20):
        optimiser.zero_grad()
        (model(x) - y).square().mean().backward()
        optimiser.step()
    return (model(x) - y).square().mean().item()


def test_losses_go_straight_into_best_lr():
    before = torch.random.get_rng_state()
    losses = rate_sweep(build, train, LRS, 2)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert losses.shape == (9, 2) and not np.isnan(losses).any() and np.isinf(losses[-1]).all()
    found, best = best_rate(LRS, losses), best_lr(LRS, losses)
    assert not best.on_edge and found.verdict == "a minimum"
    assert (found.lr, found.low, found.high) == (best.lr, best.low, best.high)
    with cf.ThreadPoolExecutor(4) as pool:  # one generator for all threads: they take turns
        np.testing.assert_array_equal(losses, rate_sweep(build, train, LRS, 2, executor=pool))


def test_a_stopped_sweep_goes_on_from_its_store(tmp_path):
    seen = []

    def fails(model, lr):
        seen.append(lr)
        if len(seen) == 4:
            raise RuntimeError("out of memory")
        return train(model, lr)

    given = {"store": tmp_path / "s.sqlite", "name": "mine", "version": "1"}  # for ``seen`` changes
    with pytest.raises(RuntimeError, match=r"'mine' at rate .*RuntimeError: out of memory.*3 of 18"):
        rate_sweep(build, fails, LRS, 2, **given)
    losses = rate_sweep(build, fails, LRS, 2, **given)
    assert len(seen) == 3 + 1 + 15
    np.testing.assert_array_equal(losses, rate_sweep(build, fails, LRS, 2, **given))
    assert len(seen) == 19
    rate_sweep(build, fails, LRS[:1], 2, **given | {"name": "another"})
    assert len(seen) == 21  # not mixed


def table(means, noise, seeds=4):
    return np.asarray(means)[:, None] + noise * np.random.default_rng(0).standard_normal((len(means), seeds))


def test_zero_and_negative_losses_have_a_best_rate():
    x = np.arange(9.0) - 4.3
    lowest = best_rate(LRS, table(x**2 - 5, 0.01))
    assert lowest.verdict == "a minimum" and math.log2(lowest.lr / LRS[0]) == pytest.approx(4.3, abs=0.02)
    zero = best_rate(LRS, np.maximum(table(x**2, 0.01) - 3, 0))
    assert zero.verdict == "a minimum" and math.log2(zero.lr / LRS[0]) == pytest.approx(4.3, abs=0.5)
    assert rate_sweep(build, lambda model, lr: -lr, [0.1, 0.2], 1).tolist() == [[-0.1], [-0.2]]


def test_rates_that_seeds_cannot_tell_apart_are_flat():
    random = np.random.default_rng(1)
    flat = [best_rate(LRS, 2 + 0.1 * random.standard_normal((9, 4))).verdict for _ in range(100)]
    assert flat.count("flat: no rate is preferred") >= 88  # 95 expected
    shared = table(np.full(9, 2.0), 0.0) + random.standard_normal((1, 4))  # seeds differ, rates do not
    assert best_rate(LRS, shared + 5).verdict == "flat: no rate is preferred"
    assert best_rate(LRS, np.ones((9, 4))).verdict == "flat: no rate is preferred"


def test_one_seed_has_no_interval_of_width_zero():
    found = best_rate(LRS, table((np.arange(9.0) - 4.3) ** 2 + 1, 0.0, seeds=1))
    assert found.verdict == "one seed: not resolved" and found.low == LRS[3] < found.lr < found.high == LRS[5]


def test_edges_and_divergence():
    falling = table(np.arange(9.0)[::-1] + 1, 0.01)
    assert best_rate(LRS, falling).verdict == "on the edge"
    gone = best_rate(LRS, np.full((9, 2), np.inf))
    assert gone.verdict == "every rate diverged" and gone.lr is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"build": build()}, "build = 'a Sequential' .*a function"),
        ({"build": 3}, "build = 3"),
        ({"train": 0.5}, "train = 0.5 .*a function"),
        ({"lrs": [0.1, -0.1]}, "lrs = -0.1"),
        ({"lrs": [0.2, 0.1]}, "lrs = .*increasing"),
        ({"seeds": []}, "seeds = "),
        ({"store": "x.sqlite"}, "name = None .*a store"),
        ({"name": 3}, "name = 3"),
        ({"executor": 3}, "executor = 3"),
    ],
)
def test_bad_input_is_a_sentence(changes, words):
    with pytest.raises(ValueError, match=words):
        rate_sweep(**{"build": build, "train": train, "lrs": [0.1], **changes})


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"build": lambda: None}, r"build\(\) = None .*torch.nn.Module"),
        ({"train": lambda model, lr: None}, r"train\(model, lr\) = None .*a loss"),
        ({"train": lambda model, lr: torch.ones(2)}, r"train\(model, lr\) = tensor.*one number"),
    ],
)
def test_what_the_functions_return_is_checked(changes, words):
    with pytest.raises(RuntimeError, match=words):
        rate_sweep(**{"build": build, "train": train, "lrs": [0.1], **changes})
