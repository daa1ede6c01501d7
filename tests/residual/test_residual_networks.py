"""The four networks as modules, and the parametrisation of the layers that the MLP does not have."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lrtransfer.residual import (
    PARAMETRISATIONS,
    ConvNet,
    ResidualMLP,
    ResNet,
    VisionTransformer,
    layer_scale,
    table1,
)
from lrtransfer.residual.experiments import symbol_values
from lrtransfer.residual.networks.torch_networks import Norm, Scaled, build, draws, initialise, scaled_parameters

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
    st.sampled_from([-0.5, 0.0, 1.0]),
)
@settings(deadline=None)
def test_scales_of_any_layer(name, role, n, depth, fan_in, c):
    scale = layer_scale(role, name, n, depth, fan_in, block_rate=c)
    beta = depth**-0.5 if name == "mup_sqrt_depth" and role == "branch" else 1.0
    gamma = n**0.5 if name.startswith("mup") else 1.0  # the paper's, at gamma_0 = 1
    out = gamma if role == "readout" else 1.0
    assert scale.multiplier * scale.std == pytest.approx(beta / math.sqrt(fan_in) / out)
    in_branch = depth**c if role in ("inner", "branch") else 1.0
    assert scale.lr_factor == pytest.approx(gamma**2 * in_branch)
    if name != "sp":
        # A signed update of every entry, all F terms in one direction, moves the layer's output by multiplier * F * a.
        moved = scale.multiplier * fan_in * scale.adam_factor
        lazy = 1.0 if name.startswith("mup") else n**-0.5  # ntp's features do not move; its logits do
        assert moved == pytest.approx(1.0 if role == "readout" else beta * lazy * in_branch)


def test_table_one_in_symbols_is_the_table_in_numbers():
    n, depth, gamma0 = 9, 16, 0.5
    numbers, symbols = table1(n, depth, gamma0), table1()
    for row, formulas in zip(numbers, symbols, strict=True):
        assert row.keys() == formulas.keys() and row["parametrisation"] == formulas["parametrisation"]
        values = symbol_values(formulas, n, depth, gamma0)
        printed = [float(row[key]) for key in list(row)[1:]]
        np.testing.assert_allclose(printed, values, rtol=1e-3)  # four digits are printed
    with pytest.raises(ValueError, match="together"):
        table1(9)


def test_all_layers_know_their_scale():
    for s in ALL:
        for _, layer in scaled_parameters(made(s)):
            assert isinstance(layer, Scaled | Norm) and layer.scale.lr_factor > 0
    head = made(replace(ALL[6], block_rate=-0.5)).head[0].scale
    inside = made(replace(ALL[6], block_rate=-0.5)).blocks[0][0].branch[0].scale
    assert head.adam_factor == 1 and inside.adam_factor == pytest.approx(2**-0.5)  # the head is in no branch
