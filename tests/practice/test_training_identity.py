"""Which trainings may share the rows of a store: those whose code, with all that it uses, is the same."""

import functools
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from lrtransfer.practice import rate_sweep
from lrtransfer.practice.identity import identity
from lrtransfer.practice.sweep import OtherTrainingWarning

STEPS = 3
OPTIONS = {"decay": 0.1, "names": {"a", "b"}}


def build():
    return nn.Linear(2, 1)


def of(train):
    return identity(build=build, train=train)


def closing_over(value):
    return lambda model, lr: (value, lr)


def with_default(value):
    def train(model, lr, given=value):
        return lr

    return train


def network(factor):
    class Net(nn.Module):
        scale = factor

        @property
        def size(self):
            return factor

        def forward(self, x):
            return self.scale * x

    return Net


@dataclass
class Config:
    width: int = 3


MAKERS = {
    "a closure": closing_over,
    "a default": with_default,
    "a partial": lambda value: functools.partial(closing_over(0), value),
    "a helper": lambda value: closing_over(closing_over(value)),
    "a class": lambda value: closing_over(network(value)),
    "an object": lambda value: closing_over(Config(value)),
    "a tensor": lambda value: closing_over(torch.full((2, 2), float(value))),
    "an array": lambda value: closing_over(np.full(3, value)),
    "a module": lambda value: closing_over(nn.Dropout(value / 10)),
    "a data set": lambda value: closing_over(
        torch.utils.data.DataLoader(torch.utils.data.TensorDataset(torch.arange(4)), batch_size=value)
    ),
    "a mapping": lambda value: closing_over({"decay": value}),
    "a decorated function": lambda value: torch.no_grad()(closing_over(value)),
}


@pytest.mark.parametrize("kind", MAKERS)
def test_what_a_function_uses_is_part_of_it(kind):
    one, same, other = of(MAKERS[kind](1)), of(MAKERS[kind](1)), of(MAKERS[kind](2))
    assert one == same != other


def test_code_counts_and_its_place_and_comments_do_not():
    def train(model, lr):
        return lr * 2  # a comment

    def moved(model, lr):

        return lr * 2

    assert of(train) == of(moved) != of(lambda model, lr: lr * 3)
    assert of(lambda model, lr: np.exp(lr)) != of(lambda model, lr: np.log(lr))


def test_globals_count_and_those_of_other_modules(monkeypatch):
    import small_training

    def train(model, lr):
        return OPTIONS["decay"] * STEPS

    before, theirs = of(train), of(small_training.train)
    monkeypatch.setitem(OPTIONS, "decay", 0.2)
    assert of(train) != before
    monkeypatch.setattr(small_training, "TARGET", 1)  # which the helper of that function reads
    assert of(small_training.train) != theirs

    def importing(model, lr):
        from small_training import data

        return data()

    before = of(importing)
    monkeypatch.setattr(small_training, "TARGET", 2)
    assert of(importing) != before


def test_functions_that_call_each_other_end():
    def even(n):
        return n == 0 or odd(n - 1)

    def odd(n):
        return n != 0 and even(n - 1)

    assert of(lambda model, lr: even(3)) == of(lambda model, lr: even(3)) != of(lambda model, lr: odd(3))


def test_another_session_finds_the_same_word():
    script = (
        "from lrtransfer.practice.identity import identity; from small_training import build, train;"
        "names = {'a', 'b', 'c', 'd'};"
        "print(identity(build=build, train=train), identity(train=lambda m, lr: (lr in {'x', 'y', 'z'}, names)))"
    )
    path = f"{Path(__file__).parents[1] / 'helpers'}:{Path(__file__).parents[2] / 'lib'}"
    words = {
        subprocess.run(
            [sys.executable, "-c", script], env={"PYTHONPATH": path, "PYTHONHASHSEED": seed}, text=True,
            capture_output=True, check=True,
        ).stdout
        for seed in ("1", "2")
    }  # fmt: skip
    assert len(words) == 1 and len(words.pop().split()) == 2


@pytest.mark.parametrize("thing", [threading.Lock(), (n for n in range(3))], ids=["a lock", "a generator"])
def test_what_has_no_identity_is_refused_by_name(thing, tmp_path):
    def train(model, lr):
        return lr if thing else 0.0

    given = {"store": tmp_path / "s.sqlite", "name": "mine"}
    with pytest.raises(ValueError, match=r"train uses thing, a (lock|generator), which cannot be told.*pass version"):
        rate_sweep(build, train, [0.1], 1, **given)
    assert rate_sweep(build, train, [0.1], 1).tolist() == [[0.1]]  # without a store there is nothing to mix
    assert rate_sweep(build, train, [0.1], 1, version="1", **given).tolist() == [[0.1]]


def test_two_trainings_of_one_name_do_not_share_rows(tmp_path):
    given = {"store": tmp_path / "s.sqlite", "name": "mine"}
    assert rate_sweep(build, lambda model, lr: lr, [0.1], 2, **given).tolist() == [[0.1, 0.1]]
    with pytest.warns(OtherTrainingWarning, match=r"holds 2 runs named 'mine' by another build, train or Python"):
        assert rate_sweep(build, lambda model, lr: 2 * lr, [0.1], 2, **given).tolist() == [[0.2, 0.2]]
    with pytest.warns(OtherTrainingWarning):
        assert rate_sweep(lambda: nn.Linear(3, 1), lambda model, lr: lr, [0.1], 1, **given).tolist() == [[0.1]]
    # By a version the reader answers for them: the rows of one are those of the other.
    rate_sweep(build, lambda model, lr: lr, [0.1], 1, **given | {"name": "other"}, version="1")
    assert rate_sweep(build, lambda model, lr: 3.0, [0.1], 1, **given | {"name": "other"}, version="1") == 0.1


def test_a_training_that_changes_what_it_uses_is_told_so(tmp_path):
    seen = []

    def train(model, lr):
        seen.append(lr)
        return lr

    given = {"store": tmp_path / "s.sqlite", "name": "mine"}
    with pytest.warns(OtherTrainingWarning, match=r"of 'mine' changed what they use while they ran.*Pass version"):
        rate_sweep(build, train, [0.1], 2, **given)
    for _ in range(2):
        rate_sweep(build, train, [0.1], 2, **given | {"name": "other"}, version="1")
    assert len(seen) == 4


@pytest.mark.parametrize("version", ["", 3])
def test_a_version_is_a_word(version):
    with pytest.raises(ValueError, match=r"version = .*a word"):
        rate_sweep(build, lambda model, lr: lr, [0.1], 1, version=version)
