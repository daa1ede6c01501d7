"""Settings, schedules, the four modules, and the parametrisation of the layers that the MLP does not have."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lrtransfer.images import catalogue as data_module
from lrtransfer.images.catalogue import DATASETS, KNOWN, load
from lrtransfer.residual import (
    KINDS,
    PARAMETRISATIONS,
    ConvNet,
    NetworkSettings,
    ResidualMLP,
    ResNet,
    VisionTransformer,
    as_dict,
    evaluation_steps,
    final_losses,
    from_dict,
    group_size,
    layer_scale,
    schedule_factors,
    table1,
    train_sweep,
)
from lrtransfer.residual.networks.modules import Norm, Scaled, build, draws, initialise, scaled_parameters

SHAPE = (8, 8, 3)  # height, width, channels
ALL = [
    ResidualMLP(width=8, depth=2),
    ConvNet(width=8, depth=2),
    ConvNet(width=8, depth=2, readout="pool", stem_stride=3),
    ResNet(width=8, depth=2),
    ResNet(width=8, depth=2, norm="layer", affine=False),
    ResNet(width=8, depth=2, norm=None),
    VisionTransformer(width=8, depth=2),
    VisionTransformer(width=8, depth=2, norm=False, patch=4, mlp_ratio=3, activation="gelu"),
]


def made(s, seed=0):
    network = build(s, SHAPE, 5)
    initialise(network, seed)
    return network


@pytest.mark.parametrize("s", ALL, ids=repr)
def test_settings_survive_a_file(s):
    fields = as_dict(s)
    assert fields["kind"] == s.kind and from_dict(fields) == s and hash(from_dict(fields)) == hash(s)
    written = {name: "none" if value is None else value for name, value in fields.items()}
    assert from_dict(written) == s
    assert all(isinstance(value, str | int | float | bool | None) for value in fields.values())


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"kind": "rnn"}, "kind = 'rnn' .*'mlp'"),
        ({}, "kind = None"),
        ({"kind": "mlp", "heads": 2}, "heads is no field of kind = 'mlp'"),
        ({"kind": "mlp", "optimiser": "lion"}, "optimiser = 'lion' .*'adam'"),
        ({"kind": "mlp", "momentum": 1.0}, "momentum = 1.0 .*below 1"),
        ({"kind": "mlp", "momentum": -0.1}, "momentum = -0.1"),
        ({"kind": "mlp", "momentum": 0.5, "optimiser": "adam"}, "momentum = 0.5 .*0 for optimiser 'adam'"),
        ({"kind": "mlp", "weight_decay": math.inf}, "weight_decay = inf"),
        ({"kind": "mlp", "schedule": "step"}, "schedule = 'step' .*'warmup_cosine'"),
        ({"kind": "mlp", "warmup_steps": 3}, "warmup_steps = 3 .*0 for schedule 'constant'"),
        ({"kind": "mlp", "schedule": "warmup"}, "warmup_steps = 0 .*at least 1"),
        ({"kind": "mlp", "adam_depth_exponent": 0.5}, "adam_depth_exponent = 0.5 .*0 for optimiser 'sgd'"),
        ({"kind": "mlp", "eval_every": -1}, "eval_every = -1"),
        ({"kind": "mlp", "checkpoint_every": 0.5}, "checkpoint_every = 0.5"),
        ({"kind": "mlp", "activation": "gelu"}, "activation = 'gelu'"),
        ({"kind": "conv", "readout": "max"}, "readout = 'max' .*'pool'"),
        ({"kind": "conv", "stem_stride": 0}, "stem_stride = 0"),
        ({"kind": "resnet", "norm": "group"}, "norm = 'group' .*'layer'"),
        ({"kind": "resnet", "affine": 1}, "affine = 1 .*True or False"),
        ({"kind": "vit", "heads": 3}, "heads = 3 .*divisor of the width 32"),
        ({"kind": "vit", "norm": "layer"}, "norm = 'layer' .*True or False"),
        ({"kind": "vit", "patch": 0}, "patch = 0"),
        ({"kind": "vit", "mlp_ratio": 1.5}, "mlp_ratio = 1.5"),
        ({"kind": "mlp", "activations": "relu"}, "activations is no field .* are width, .*checkpoint_every"),
        ({"kind": "vit", "schedule": "warmup", "warmup_steps": 41}, "warmup_steps = 41 .*at most the 40 steps"),
        (
            {"kind": "mlp", "schedule": "warmup_cosine", "warmup_steps": 9, "steps": 8},
            "warmup_steps = 9 .*at most the 8 steps",
        ),
        ({"kind": "vit", "patch": 3}, "patch = 3 .*divisor of the 8 x 8 pixels of 'digits'"),
        ({"kind": "vit", "patch": 5, "data": "cifar10"}, "patch = 5 .*divisor of the 32 x 32 pixels of 'cifar10'"),
        ({"kind": "conv", "batch": 50001, "data": "cifar10"}, "batch = 50001 .*50000 training images of 'cifar10'"),
        (
            {"kind": "mlp", "eval_points": 10001, "eval_split": "test", "data": "tiny-imagenet"},
            "eval_points = 10001 .*10000 test images of 'tiny-imagenet'",
        ),
        (None, "fields = None .*a mapping"),
        ([("kind", "mlp")], "fields = .*a mapping"),
    ],
)
def test_bad_fields_are_refused_by_name(fields, words):
    with pytest.raises(ValueError, match=words):
        from_dict(fields)


@pytest.mark.parametrize("value", [3, None, ResidualMLP, {"kind": "mlp"}])
def test_what_is_no_settings_object_is_refused(value):
    for call in (as_dict, lambda s: final_losses(s, [0.1], [0]), lambda s: group_size(s, torch.device("cpu"))):
        with pytest.raises(ValueError, match=r"settings = .*ResidualMLP, ConvNet, ResNet, VisionTransformer"):
            call(value)


def test_a_default_warm_up_is_cut_by_few_steps_and_unknown_sizes_pass():
    assert VisionTransformer(steps=2).warmup_steps == 5
    assert ResidualMLP(data="imagenet", batch=10**6, eval_points=10**7).batch == 10**6  # the folder decides


@pytest.mark.parametrize("name", ["digits", "mnist", "mnist14", "patches", "patches8"])
def test_what_is_known_of_the_bundled_sets_is_so(name):
    data = load(name)
    assert KNOWN[name] == (data.shape, len(data.train_y), len(data.test_y))
    assert set(KNOWN) == set(DATASETS)


def test_the_size_of_a_group_reads_no_data(monkeypatch):
    monkeypatch.setattr(data_module, "_LOADERS", {})  # reading would be a KeyError
    data_module._load.cache_clear()
    budget = 12 * 2**20 // 4  # floats
    images = {"depth": 1, "width": 1, "batch": 8, "data": "tiny-imagenet"}
    for s, positions in (
        (ConvNet(**images), 32 * 32),
        (ResNet(stem_stride=1, **images), 64 * 64),
        (VisionTransformer(patch=8, heads=1, **images), 8 * 8),
    ):
        assert group_size(s, torch.device("cpu")) == budget // (8 * positions)


def test_the_shared_settings_are_no_network():
    with pytest.raises(TypeError, match="ResidualMLP"):
        NetworkSettings()
    assert set(KINDS) == {"mlp", "conv", "resnet", "vit"}
    with pytest.raises(ValueError, match="patch = 7"):
        build(VisionTransformer(patch=7, data="mnist"), SHAPE, 5)


@given(st.integers(0, 40), st.integers(0, 50))
def test_evaluations_start_and_end_where_they_should(steps, every):
    at = evaluation_steps(ResidualMLP(steps=steps, eval_every=every))
    assert at[-1] == steps and (np.diff(at) > 0).all()
    if every:
        assert at[0] == 0 and len(at) == -(-steps // every) + 1
    else:
        assert len(at) == 1


def test_fewer_evaluations_are_the_same_runs():
    s = ResidualMLP(width=8, depth=2, steps=7, batch=16, eval_points=30)
    every = train_sweep(s, [0.3], [0], device="cpu")
    np.testing.assert_array_equal(train_sweep(replace(s, eval_every=3), [0.3], [0], device="cpu"), every[[0, 3, 6, 7]])
    np.testing.assert_array_equal(final_losses(s, [0.3], [0], device="cpu"), every[-1])


@given(st.integers(1, 60), st.data())
@settings(deadline=None)  # torch's first optimiser of a process imports a thousand modules
def test_schedules_by_torchs_own(steps, data):
    warmup = data.draw(st.integers(1, steps))
    s = ResidualMLP(steps=steps, schedule="warmup_cosine", warmup_steps=warmup)
    factors = schedule_factors(s)
    assert factors.shape == (steps,) and (factors > 0).all() and factors.max() <= 1
    np.testing.assert_allclose(factors[:warmup], np.arange(1, warmup + 1) / warmup, rtol=1e-15)
    np.testing.assert_array_equal(schedule_factors(replace(s, schedule="warmup"))[warmup:], 1)
    if steps > warmup:
        parameter = torch.nn.Parameter(torch.zeros(1))
        optimiser = torch.optim.SGD([parameter], lr=1.0)
        cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps - warmup)
        expected = []
        for _ in range(steps - warmup):
            expected.append(optimiser.param_groups[0]["lr"])
            optimiser.step()
            cosine.step()
        # torch multiplies its way along the cosine, one rounding a step, and ends near zero.
        np.testing.assert_allclose(factors[warmup:], expected, rtol=1e-9, atol=1e-13)


def test_a_schedule_is_a_rate_for_every_step():
    # A warm-up over all of ten steps trains like no schedule with each step's rate: one step tells it already.
    s = ResidualMLP(width=8, depth=2, steps=10, batch=16, eval_points=30, schedule="warmup", warmup_steps=10)
    plain = replace(s, schedule="constant", warmup_steps=0)
    warm, cold = (train_sweep(x, [lr], [0], device="cpu")[:2] for x, lr in ((s, 1.0), (plain, 0.1)))
    np.testing.assert_allclose(warm, cold, rtol=1e-6)  # the rate 0.1 in two roundings


@pytest.mark.parametrize("s", ALL, ids=repr)
def test_logits_have_the_shape_and_every_parameter_a_gradient(s):
    network = made(s)
    x = torch.randn(4, 192, generator=torch.Generator().manual_seed(0))
    logits = network(x)
    assert logits.shape == (4, 5)
    logits.square().sum().backward()
    assert [p for p, _ in scaled_parameters(network)] == list(network.parameters())
    assert all(p.grad is not None and p.grad.isfinite().all() and p.grad.any() for p in network.parameters())


def test_images_are_read_row_by_row_with_the_channel_last():
    # A stem that copies the centre pixel of every 3 x 3 window, channel c to output c.
    s = ConvNet(width=3, depth=1, stem_stride=1)
    network = made(s)
    with torch.no_grad():
        network.read_in.weight.zero_()
        for c in range(3):
            network.read_in.weight[c, c, 1, 1] = 1 / network.read_in.scale.multiplier
        network.blocks[0].branch[1].weight.zero_()
    x = torch.randn(2, 8, 8, 3, generator=torch.Generator().manual_seed(0))
    torch.testing.assert_close(network.stream(x.flatten(1)), x.movedim(-1, 1))


def test_attention_is_torchs_with_logits_over_the_head_dimension():
    s = VisionTransformer(width=8, depth=1, heads=2)
    attention = made(s).blocks[0][0].branch[1]
    x = torch.randn(3, 16, 8, generator=torch.Generator().manual_seed(0))
    q, k, v = (attention.qkv(x).split(8, dim=-1)[i].view(3, 16, 2, 4).transpose(1, 2) for i in range(3))
    mixed = torch.nn.functional.scaled_dot_product_attention(q, k, v, scale=1 / 4)
    torch.testing.assert_close(attention(x), attention.out(mixed.transpose(1, 2).reshape(3, 16, 8)))


def test_norms_are_torchs():
    x = torch.randn(6, 8, 4, 4, generator=torch.Generator().manual_seed(0)) * 3 + 1
    batch = Norm(ResNet(width=8), "batch", True, 2, images=True)
    torch.testing.assert_close(batch(x), torch.nn.BatchNorm2d(8)(x))
    layer = Norm(ResNet(width=8), "layer", True, 2, images=True)
    torch.testing.assert_close(layer(x), torch.nn.LayerNorm(8)(x.movedim(1, -1)).movedim(-1, 1))


@pytest.mark.parametrize("s", [ResNet(width=8, depth=4), ResNet(width=8, depth=4, norm="layer")], ids=repr)
def test_a_norm_does_not_divide_the_branch_multiplier_out(s):
    x = torch.randn(16, 192, generator=torch.Generator().manual_seed(0))
    grown = {}
    for name in ("mup", "mup_sqrt_depth"):
        network = made(replace(s, parametrisation=name))
        h = network.read_in(x.view(-1, 8, 8, 3).movedim(-1, 1))
        grown[name] = network.blocks[0](h) - h
    torch.testing.assert_close(grown["mup_sqrt_depth"], grown["mup"] / 2)  # L^(-1/2) at L = 4


@pytest.mark.parametrize("s", [s for s in ALL if not isinstance(s, ResidualMLP)], ids=repr)
def test_parametrisations_without_gamma_start_as_one_function(s):
    # sp moves the multipliers into the weights; ntp keeps them: the same function of the same draws.
    x = torch.randn(4, 192, generator=torch.Generator().manual_seed(0))
    sp, ntp = (made(replace(s, parametrisation=name))(x) for name in ("sp", "ntp"))
    torch.testing.assert_close(sp, ntp, rtol=1e-5, atol=1e-5)
    mup = made(replace(s, parametrisation="mup"))(x)  # its readout is smaller by gamma = sqrt(N)
    torch.testing.assert_close(mup * 8**0.5, ntp, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("s", ALL, ids=repr)
def test_a_deeper_network_repeats_the_draws_of_a_shallower(s):
    def drawn(depth, seed):
        network = build(replace(s, depth=depth), SHAPE, 5)
        names = [name for name, _ in network.named_parameters()]
        return dict(zip(names, draws(network, seed), strict=True))

    shallow, deep, other = drawn(2, 7), drawn(3, 7), drawn(2, 8)
    assert all(torch.equal(value, deep[name]) for name, value in shallow.items())
    drawn_names = [name for name, value in shallow.items() if value.unique().numel() > 1]
    assert drawn_names and all(not torch.equal(shallow[name], other[name]) for name in drawn_names)
    units = torch.cat([deep[name].flatten()[:4] for name in drawn_names])
    assert units.unique().numel() == units.numel()  # no two layers share their numbers


@given(
    st.sampled_from(PARAMETRISATIONS),
    st.sampled_from(["read_in", "inner", "branch", "readout"]),
    st.integers(1, 500),
    st.integers(1, 60),
    st.integers(1, 2000),
    st.sampled_from([0.0, 0.5, 1.0]),
)
@settings(deadline=None)
def test_scales_of_any_layer(name, role, n, depth, fan_in, b):
    scale = layer_scale(role, name, n, depth, fan_in, adam_depth_exponent=b)
    beta = depth**-0.5 if name == "mup_sqrt_depth" and role == "branch" else 1.0
    gamma = n**0.5 if name.startswith("mup") else 1.0  # the paper's, at gamma_0 = 1
    out = gamma if role == "readout" else 1.0
    assert scale.multiplier * scale.std == pytest.approx(beta / math.sqrt(fan_in) / out)
    assert scale.lr_factor == pytest.approx(gamma**2)
    if name != "sp":
        # A signed update of every entry, all F terms in one direction, moves the layer's output by multiplier * F * a.
        moved = scale.multiplier * fan_in * scale.adam_factor
        lazy = 1.0 if name.startswith("mup") else n**-0.5  # ntp's features do not move; its logits do
        in_branch = depth**-b if role in ("inner", "branch") else 1.0
        assert moved == pytest.approx(1.0 if role == "readout" else beta * lazy * in_branch)


def test_table_one_in_symbols_is_the_table_in_numbers():
    n, depth, gamma0 = 9, 16, 0.5
    numbers, symbols = table1(n, depth, gamma0), table1()
    where = {"N": n, "L": depth, "gamma_0": gamma0, "sqrt": math.sqrt}
    for row, formulas in zip(numbers, symbols, strict=True):
        assert row.keys() == formulas.keys() and row["parametrisation"] == formulas["parametrisation"]
        for key in list(row)[1:]:
            formula = formulas[key]
            for product in ("gamma_0 sqrt(N)", "gamma_0^2 N", "(N sqrt(L))", "sqrt(N L)"):
                formula = formula.replace(product, product.replace(" ", " * ").replace("^", "**"))
            assert float(row[key]) == pytest.approx(eval(formula, where), rel=1e-3)  # four digits are printed
    with pytest.raises(ValueError, match="together"):
        table1(9)


def test_all_layers_know_their_scale():
    for s in ALL:
        for _, layer in scaled_parameters(made(s)):
            assert isinstance(layer, Scaled | Norm) and layer.scale.lr_factor > 0
    head = made(replace(ALL[6], adam_depth_exponent=0.5)).head[0].scale
    inside = made(replace(ALL[6], adam_depth_exponent=0.5)).blocks[0][0].branch[0].scale
    assert head.adam_factor == 1 and inside.adam_factor == pytest.approx(2**-0.5)  # the head is in no branch
