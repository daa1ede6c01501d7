"""The coordinate check of any module: what used to pass falsely, and what a good network must pass."""

import dataclasses
import math
from collections import namedtuple

import matplotlib as mpl
import numpy as np
import pytest
import torch
from torch import nn

from lrtransfer.practice import coordinate_check, draw_check

mpl.use("Agg")
WIDTHS = (32, 128, 512)


def data(_=None):
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(16, 8, generator=generator)
    return x, torch.arange(16) % 4


def loss(model, batch):
    return nn.functional.cross_entropy(logits(model(batch[0])), batch[1])


def logits(found):
    if isinstance(found, torch.Tensor):
        return found
    if isinstance(found, dict):
        return found["logits"]
    return found.logits if hasattr(found, "logits") else found[0]


def sgd(lr=0.01):
    return lambda model: torch.optim.SGD(model.parameters(), lr=lr)


def adam(lr=1e-3):
    return lambda model: torch.optim.Adam(model.parameters(), lr=lr)


def mlp(width, *, drop=0.0, readout=0.5):
    """Two layers; the readout's weights have the standard deviation width^-readout."""
    hidden, out = nn.Linear(width, width, bias=False), nn.Linear(width, 4, bias=False)
    nn.init.normal_(hidden.weight, std=width**-0.5)
    nn.init.normal_(out.weight, std=width**-readout)
    first = nn.Linear(8, width, bias=False)
    nn.init.normal_(first.weight, std=8**-0.5)
    return nn.Sequential(first, nn.ReLU(), hidden, nn.Dropout(drop), out)


def check(build, optimiser=None, sizes=WIDTHS, batch=None, **kwargs):
    return coordinate_check(build, sizes, batch or data(), kwargs.pop("loss", loss), optimiser or sgd(), **kwargs)


def of(found, place):
    k = found.places.index(place)
    return found.verdicts[k], found.exponents[k], found.errors[k]


def test_dropout_does_not_hide_that_the_output_grows():
    # Adam moves every entry alike: the readout's n terms agree, and the output moves like n, masks or no masks.
    for drop in (0.0, 0.5):
        verdict, exponent, error = of(check(lambda n, p=drop: mlp(n, drop=p), adam()), "output")
        assert verdict == "grows" and abs(exponent - 1) < 0.35 and error < 0.2


def test_a_parametrisation_that_transfers_is_level_everywhere():
    def scaled(model):
        first, _, hidden, _, out = model
        n = out.in_features / 32
        groups = [(first, 1.0), (hidden, 1 / n), (out, 1 / n)]
        return torch.optim.Adam([{"params": [layer.weight], "lr": 2e-3 * f} for layer, f in groups])

    found = check(lambda n: mlp(n, readout=1.0), scaled, sizes=(64, 256, 1024), seeds=8)
    assert found.passed and not found.unwatched
    assert found.places[:2] == ("output", "loss")


class Tied(nn.Module):
    """Tokens in and out by one matrix: the head is no module."""

    def __init__(self, width):
        super().__init__()
        self.table, self.hidden = nn.Embedding(16, width), nn.Linear(width, width)

    def forward(self, tokens):
        return self.hidden(self.table(tokens)) @ self.table.weight.T


def tokens():
    return torch.arange(16), torch.arange(16).roll(1)


@pytest.mark.parametrize("where", ["model", "loss"])
def test_a_head_without_a_module_is_seen(where):
    class Headless(Tied):
        def forward(self, tokens):
            return self.hidden(self.table(tokens))

    def outside(model, batch):
        return nn.functional.cross_entropy(model(batch[0]) @ model.table.weight.T, batch[1])

    if where == "model":
        found = check(Tied, adam(), batch=tokens())
        assert of(found, "output")[0] == "grows"
    else:  # not even in the model: the loss shows it
        found = check(Headless, adam(), batch=tokens(), loss=outside)
        assert of(found, "loss")[0] == "grows"


@dataclasses.dataclass
class Answer:
    hidden: torch.Tensor
    logits: torch.Tensor


Named = namedtuple("Named", "logits extra")


@pytest.mark.parametrize(
    ("wrap", "leaf"),
    [
        (lambda h, f: (f, (h,)), "[1][0]"),
        (lambda h, f: [f, None, h], "[2]"),
        (lambda h, f: {"logits": f, "hidden": h}, ".hidden"),
        (lambda h, f: Answer(h, f), ".hidden"),
        (lambda h, f: Named(f, {"states": [h]}), ".extra.states[0]"),
    ],
    ids=["tuple", "list", "dict", "dataclass", "named tuple"],
)
def test_every_leaf_of_what_a_module_returns_is_watched(wrap, leaf):
    class Inner(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.first, self.out = nn.Linear(8, width), nn.Linear(width, 4)

        def forward(self, *, x):
            h = torch.relu(self.first(x))
            return wrap(h, self.out(h))

    class Outer(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.inner = Inner(width)

        def forward(self, x):
            return self.inner(x=x)  # by keyword

    found = check(Outer, sizes=(8, 16), seeds=2)
    for name in ("output", "inner"):
        assert {name, name + leaf} <= set(found.places)
    assert not found.unwatched
    np.testing.assert_array_equal(*(found.changes[:, found.places.index(n + leaf)] for n in ("output", "inner")))


def test_recurrent_and_attention_modules_are_watched_and_what_is_not_called_is_listed():
    class Reader(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.lstm = nn.LSTM(8, width, batch_first=True)
            self.attention = nn.MultiheadAttention(width, 2, batch_first=True)
            self.out, self.spare = nn.Linear(width, 4), nn.Linear(width, 4)

        def forward(self, x):
            h, _ = self.lstm(x[:, None].expand(-1, 3, -1))
            return self.out(self.attention(query=h, key=h, value=h, need_weights=False)[0][:, -1])

    found = check(Reader, sizes=(8, 16), seeds=2)
    assert {"lstm", "lstm[0]", "lstm[1][0]", "lstm[1][1]", "attention", "out", "output"} <= set(found.places)
    assert set(found.unwatched) == {"spare", "attention.out_proj"}  # the latter's weights are used, it is not called
    assert "spare (it is not called)" in [row["place"] for row in found.as_table()] and "spare" in str(found)


class Noise(nn.Module):
    """Draws from a generator of its own."""

    def __init__(self):
        super().__init__()
        self.generator = torch.Generator().manual_seed(0)

    def forward(self, x):
        return x + torch.randn(x.shape, generator=self.generator)


class Counter(nn.Module):
    """Differs from pass to pass by a state."""

    def __init__(self):
        super().__init__()
        self.passes = 0

    def forward(self, x):
        self.passes += 1
        return x * self.passes


@pytest.mark.parametrize("culprit", [Noise, Counter])
def test_passes_that_differ_are_refused_naming_the_module(culprit):
    def build(width):
        return nn.Sequential(nn.Linear(8, width), culprit(), nn.ReLU(), nn.Linear(width, 4))

    with pytest.raises(ValueError, match=f"first in module '1' \\({culprit.__name__}\\)"):
        check(build)


def test_random_numbers_of_numpy_and_python_are_the_same_too():
    class Legacy(nn.Module):
        def forward(self, x):
            return x * float(np.random.rand()) + mpl.cbook.np.random.rand()  # noqa: NPY002

    found = check(lambda n: nn.Sequential(nn.Linear(8, n), Legacy(), nn.Linear(n, 4)), sizes=(8, 16), seeds=2)
    assert "1" in found.places


def test_what_does_not_move_is_told_from_what_overflows():
    def build(width):
        model = mlp(width)
        model[0].weight.requires_grad_(False)
        return model

    still = check(build, sizes=(8, 16), seeds=2)
    assert of(still, "0") == ("did not move", 0.0, math.inf)
    assert of(still, "output")[0] != "did not move"
    wild = check(build, sgd(1e30), sizes=(8, 16), seeds=2)
    assert set(wild.verdicts) == {"overflows"} and np.isinf(wild.exponents).all()
    assert "inf" not in str(wild) and "inf" not in str(still)
    for found in (still, wild):
        assert not np.isnan(found.changes).any()


def test_one_seed_resolves_nothing():
    found = check(mlp, sizes=(8, 16), seeds=1)
    assert set(found.verdicts) == {"not resolved"} and not found.passed


class Stack(nn.Module):
    """Residual blocks with branches times depth^-a."""

    def __init__(self, depth, a, width=64):
        super().__init__()
        self.first, self.a = nn.Linear(8, width, bias=False), a
        self.blocks = nn.ModuleList(nn.Linear(width, width, bias=False) for _ in range(depth))
        self.out = nn.Linear(width, 4, bias=False)
        for block in self.blocks:
            nn.init.normal_(block.weight, std=width**-0.5)

    def forward(self, x):
        h = self.first(x)
        for block in self.blocks:
            h = h + len(self.blocks) ** -self.a * block(torch.relu(h))
        return self.out(h)


def test_depth_places_are_named_by_where_they_lie():
    level, grows = (check(lambda d, a=a: Stack(d, a), sgd(1e-4), sizes=(4, 8, 16), axis="depth") for a in (0.5, 0.0))
    assert {"blocks.first", "blocks.middle", "blocks.last"} <= set(level.places) and not level.unwatched
    assert of(grows, "output")[0] == "grows" and of(level, "output")[1] < 0.4 < of(grows, "output")[1]


def test_batch_and_context_vary_by_a_function_of_the_size():
    def build(_):
        return mlp(16)

    def batch(size):
        return torch.randn(size, 8, generator=torch.Generator().manual_seed(3)), torch.arange(size) % 4

    assert check(build, sizes=(8, 16), seeds=2, batch=batch, axis="batch").axis == "batch"
    with pytest.raises(ValueError, match=r"sizes = 8 and 16 give the same model.*function of the size as batch"):
        check(build, sizes=(8, 16), axis="context")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"build": 3}, "build = 3 .*torch.nn.Module"),
        ({"build": lambda size: nn.ReLU()}, r"build\(size\) = 'a ReLU without trainable parameters'"),
        ({"build": lambda size: nn.Linear(8, 4)}, "sizes = 8 and 16 give the same model.*uses its size"),
        ({"loss": lambda model, batch: model(batch[0])}, r"loss\(model, batch\) = .*a scalar tensor"),
        ({"optimiser": lambda model: None}, r"optimiser\(model\) = None"),
        ({"optimiser": lambda model: [sgd()(model)] * 2}, r"optimiser\(model\) = 'a list of 2'.*one optimiser"),
        ({"optimiser": lambda model: sgd()(mlp(4))}, r"optimiser\(model\) = .*parameters of the model"),
        ({"sizes": (16, 8)}, "sizes = .*increasing"),
        ({"seeds": 0}, "seeds = 0"),
        ({"seeds": [1, 1]}, "seeds = .*different"),
        ({"steps": 0}, "steps = 0"),
        ({"axis": "heads"}, "axis = 'heads'.*'context'"),
        ({"within": -1.0}, "within = -1.0"),
    ],
)
def test_bad_input_is_a_sentence(changes, words):
    given = {"build": mlp, "sizes": (8, 16), "batch": data(), "loss": loss, "optimiser": sgd()} | changes
    with pytest.raises(ValueError, match=words):
        coordinate_check(**given)


def test_generators_are_left_alone_and_equal_calls_agree():
    before = torch.random.get_rng_state(), np.random.get_state()[1].copy()  # noqa: NPY002
    one, two = (check(lambda n: mlp(n, drop=0.5), sizes=(8, 16), seeds=[3, 5]) for _ in range(2))
    np.testing.assert_array_equal(one.changes, two.changes)
    assert torch.equal(before[0], torch.random.get_rng_state())
    np.testing.assert_array_equal(before[1], np.random.get_state()[1])  # noqa: NPY002


def test_picture():
    import matplotlib.pyplot as plt

    figure = draw_check(check(mlp, adam(), seeds=2))
    assert len(figure.axes[0].lines) == 7 and figure.axes[0].get_xlabel() == "width"
    plt.close(figure)
