"""Coordinate checks: the powers of width and depth that the parametrisations' docstring derives; a reader's model."""

import math

import numpy as np
import pytest
import torch

from lrtransfer.residual import (
    ConvNet,
    ResidualMLP,
    ResNet,
    VisionTransformer,
    coordinate_check,
    coordinate_check_model,
)

MLP, CONV, RESNET = ResidualMLP(depth=3), ConvNet(depth=3, width=16), ResNet(depth=3, width=16)
VIT = VisionTransformer(depth=2, width=16, patch=4)
SIZES = {
    "width": {"mlp": (64, 256), "conv": (16, 64), "resnet": (16, 64), "vit": (32, 128)},
    "depth": {"mlp": (6, 24), "conv": (6, 24), "resnet": (3, 12), "vit": (4, 16)},
}


def check(s, parametrisation, vary, **changes):
    lr = changes.pop("lr", 0.02)
    s = type(s)(**{**vars(s), "parametrisation": parametrisation, **changes})
    # Noise differs: the MLP has no positions to average over, and ntp starts from logits of order one.
    seeds = range(16 if s.kind == "mlp" else 10 if parametrisation == "ntp" and vary == "width" else 6)
    return coordinate_check(s, SIZES[vary][s.kind], vary=vary, lr=lr, steps=2, seeds=seeds, batch=32)


def slope(result, layer, own=False):
    """Exponent of a layer and four standard errors."""
    exponents, errors = (result.own_exponents, result.own_errors) if own else (result.exponents, result.errors)
    i = result.layers.index(layer)
    return exponents[i], 4 * errors[i]


def is_power(measured, power):
    """Whether an exponent is the power, and none of the others that theory knows, which are 1/2 apart."""
    exponent, error = measured
    assert error + FINITE < 0.5  # or the next line would say nothing
    return abs(exponent - power) < error + FINITE


# Finite sizes bend the power laws; 0.15 is a third of the distance to the next power, 1/2, that theory knows.
FINITE = 0.15


@pytest.mark.parametrize("s", [MLP, CONV, RESNET, VIT], ids=lambda s: s.kind)
@pytest.mark.parametrize("parametrisation", ["mup", "mup_sqrt_depth"])
def test_features_move_alike_at_every_width(s, parametrisation):
    result = check(s, parametrisation, "width")
    for layer in ("read-in", "stream 1/2", "stream"):
        assert is_power(slope(result, layer), 0)


@pytest.mark.parametrize("s", [MLP, CONV, RESNET, VIT], ids=lambda s: s.kind)
def test_ntp_turns_lazy_with_width(s):
    assert is_power(slope(check(s, "ntp", "width"), "stream"), -0.5)


@pytest.mark.parametrize("s", [MLP, VIT], ids=lambda s: s.kind)
def test_sp_does_not_keep_still(s):
    # One rate for all: the logits move more and more.
    exponent, error = slope(check(s, "sp", "width", lr=0.001), "f")
    assert exponent - error > FINITE


@pytest.mark.parametrize("s", [MLP, CONV, RESNET], ids=lambda s: s.kind)
def test_features_move_alike_at_every_depth_only_with_one_over_root_depth(s):
    assert is_power(slope(check(s, "mup_sqrt_depth", "depth"), "stream"), 0)
    for other, lr in (("mup", 0.02), ("ntp", 0.02), ("sp", 0.0005)):
        exponent, error = slope(check(s, other, "depth", lr=lr), "stream")
        assert exponent - error > 0.5


def test_adam_and_depth():
    # The paper's convention moves the stream like sqrt(L), the later one alike at every depth.
    for c, power in ((0.0, 0.5), (-0.5, 0.0)):
        result = check(VIT, "mup_sqrt_depth", "depth", block_rate=c)
        assert is_power(slope(result, "stream"), power)
        assert is_power(slope(result, "stream", own=True), power - 1)  # each of L blocks, all in one direction


def test_inner_layers_turn_lazy_with_depth():
    result = check(RESNET, "mup_sqrt_depth", "depth")
    assert is_power(slope(result, "inner", own=True), -0.5)
    assert is_power(slope(result, "stream", own=True), -1)


class Toy(torch.nn.Module):
    """A reader's model: two layers in torch's default initialisation."""

    def __init__(self, width):
        super().__init__()
        self.hidden, self.out = torch.nn.Linear(6, width), torch.nn.Linear(width, 1)

    def forward(self, x):
        return self.out(torch.relu(self.hidden(x)))


def toy_batch():
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(32, 6, generator=generator)
    return x, x[:, :1]


def toy_loss(model, batch):
    return (model(batch[0]) - batch[1]).square().mean()


def test_a_model_of_your_own():
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    result = coordinate_check_model(
        Toy,
        (64, 256, 1024),
        toy_batch(),
        toy_loss,
        lambda model: torch.optim.SGD(model.parameters(), lr=1e-3),
        steps=1,
        seeds=range(8),
    )
    assert torch.equal(torch.random.get_rng_state(), before)
    assert result.layers == ("hidden", "out") and result.changes.shape == (3, 2, 8)
    # torch's default at one rate: the readout's N terms make f move like N; the hidden layer like N^(-1/2).
    i, j = result.layers.index("hidden"), result.layers.index("out")
    assert abs(result.exponents[i] + 0.5) < 4 * result.errors[i] + FINITE
    assert result.own_exponents[j] > 4 * result.own_errors[j] + 0.5


def test_one_step_of_a_linear_model_by_hand():
    # f = w x, loss f^2 / 2 at x = 2 from w = 3: the gradient is w x^2 = 12, so f moves by lr * 12 * x = 2.4.
    def build(size):
        model = torch.nn.Sequential(torch.nn.Linear(1, 1, bias=False))
        torch.nn.init.constant_(model[0].weight, 3.0)
        return model

    result = coordinate_check_model(
        build,
        [1, 2],
        torch.tensor([[2.0]]),
        lambda model, x: model(x).square().sum() / 2,
        lambda model: torch.optim.SGD(model.parameters(), lr=0.1),
        steps=1,
        seeds=[0],
    )
    np.testing.assert_allclose(result.changes, 2.4, rtol=1e-6)
    np.testing.assert_allclose(result.own, 2.4, rtol=1e-6)
    assert result.exponents == pytest.approx([0.0]) and np.isinf(result.errors).all()  # one seed has no spread


def test_an_overflow_is_an_infinite_change():
    result = coordinate_check(MLP, (4, 8), lr=1e30, seeds=[0, 1])
    assert np.isinf(result.changes[:, -1]).all() and np.isinf(result.exponents[-1]) and not np.isnan(result.own).any()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"vary": "heads"}, "vary = 'heads' .*'depth'"),
        ({"sizes": (8,)}, r"sizes = \[8\] .*two or more"),
        ({"sizes": (8, 4)}, r"sizes = \[8, 4\] .*increasing"),
        ({"sizes": (8, 0.5)}, "sizes = 0.5"),
        ({"sizes": 8}, "sizes = 8 .*a list of two or more"),
        ({"settings": None}, "settings = None .*ResidualMLP"),
        ({"lr": 0.0}, "lr = 0.0"),
        ({"lr": math.inf}, "lr = inf"),
        ({"steps": 0}, "steps = 0"),
        ({"seeds": []}, "seeds = "),
        ({"batch": 2000}, "batch = 2000 .*1197"),
    ],
)
def test_bad_checks_are_refused_by_name(changes, words):
    with pytest.raises(ValueError, match=words):
        coordinate_check(**{"settings": MLP, "sizes": (8, 16), **changes})


def toy_optimiser(model):
    return torch.optim.SGD(model.parameters(), lr=0.1)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"build": 3}, "build = 3 .*torch.nn.Module"),
        ({"build": Toy(4)}, "build = 'a Toy' .*a function"),
        ({"build": lambda size: None}, r"build\(size\) = None .*torch.nn.Module"),
        ({"loss": "mse"}, "loss = 'mse' .*scalar tensor"),
        ({"loss": lambda model, batch: 0.5}, r"loss\(model, batch\) = 0.5 .*a scalar tensor"),
        ({"loss": lambda model, batch: model(batch[0])}, r"loss\(model, batch\) = .*\(32, 1\).*a scalar tensor"),
        ({"loss": lambda model, batch: toy_loss(model, batch).detach()}, r"loss\(model, batch\) = .*with a gradient"),
        ({"optimiser": toy_optimiser(Toy(4))}, "(?s)optimiser = SGD.*a function of a model"),
        ({"optimiser": lambda model: None}, r"optimiser\(model\) = None .*torch.optim.SGD"),
        ({"watch": ["out"]}, r"watch = \['out'\] .*None or a function"),
        ({"watch": lambda model: ["out"]}, r"watch\(model\) = \['out'\] .*a mapping"),
        ({"start": 1}, "start = 1 .*None or a function"),
        ({"sizes": 8}, "sizes = 8 .*a list of two or more"),
    ],
)
def test_bad_functions_are_refused_by_name(changes, words):
    given = {"build": Toy, "sizes": (4, 8), "batch": toy_batch(), "loss": toy_loss, "optimiser": toy_optimiser}
    with pytest.raises(ValueError, match=words):
        coordinate_check_model(**{**given, **changes})


def test_dropout_is_the_same_before_and_after_and_a_tuple_is_watched():
    # At a rate of next to nothing nothing moves, whatever the masks; the pair is watched whole.
    class Pair(Toy):
        def __init__(self, width):
            super().__init__(width)
            self.drop, self.hidden = torch.nn.Dropout(0.5), Split(width)

        def forward(self, x):
            return self.out(self.drop(torch.relu(self.hidden(x=x)[0])))

    class Split(torch.nn.Module):
        def __init__(self, width):
            super().__init__()
            self.weight = torch.nn.Linear(6, width)

        def forward(self, *, x):
            return self.weight(x), [x.sum()]

    result = coordinate_check_model(
        Pair,
        (4, 8),
        toy_batch(),
        toy_loss,
        lambda model: torch.optim.SGD(model.parameters(), lr=1e-9),
        seeds=[0],
        watch=lambda model: {"pair": model.hidden, "drop": model.drop, "out": model.out},
    )
    assert result.layers == ("pair", "drop", "out")
    assert (result.changes < 1e-6).all() and (result.own < 1e-6).all()


def test_a_warm_up_is_cut_to_the_updates_of_the_check():
    # The first update of a warm-up over ten has a tenth of the rate.
    warm = ResidualMLP(depth=2, schedule="warmup", warmup_steps=10)
    slow = coordinate_check(warm, (8, 16), lr=1.0, steps=1, seeds=[0])
    fast = coordinate_check(ResidualMLP(depth=2), (8, 16), lr=0.1, steps=1, seeds=[0])
    np.testing.assert_allclose(slow.changes, fast.changes, rtol=1e-5)  # float32, the rate in two roundings


def test_models_without_a_common_layer_are_refused():
    with pytest.raises(ValueError, match="watch = "):
        coordinate_check_model(
            Toy,
            (4, 8),
            toy_batch(),
            toy_loss,
            lambda model: torch.optim.SGD(model.parameters(), lr=0.1),
            watch=lambda model: {},
        )
