"""The table of parametrisations: its identities, and that the features do what its docstring derives."""

import math

import numpy as np
import pytest
import torch

from lrtransfer.images.catalogue import load
from lrtransfer.residual import PARAMETRISATIONS, ResidualMLP, layer_scales, train_sweep
from lrtransfer.residual.networks.residual_mlp import initial_weights, sgd_step


def sweep(lrs, **changes):
    """Learning curves (steps + 1, lrs, seeds) of a small network."""
    fields = {"width": 16, "depth": 4, "steps": 6, "batch": 32, "eval_points": 50, **changes}
    return train_sweep(ResidualMLP(**fields), lrs, [0, 1], device="cpu")


def test_mup_with_the_branch_exponent_one_half_is_mup_sqrt_depth():
    lrs = [0.3, 1.0]
    same = sweep(lrs, parametrisation="mup", branch=0.5)
    np.testing.assert_array_equal(same, sweep(lrs, parametrisation="mup_sqrt_depth"))
    np.testing.assert_array_equal(
        sweep(lrs, parametrisation="mup_sqrt_depth", branch=0), sweep(lrs, parametrisation="mup")
    )
    assert (same != sweep(lrs, parametrisation="mup")).all()


def test_ntp_is_mup_at_gamma0_one_over_root_width():
    lrs = [0.3, 1.0]
    # Width 16: all factors are powers of two, so the two programs agree to the last bit.
    np.testing.assert_array_equal(sweep(lrs, parametrisation="ntp"), sweep(lrs, parametrisation="mup", gamma0=1 / 4))


def test_sp_is_ntp_at_rate_over_width_when_the_width_is_the_input_dimension():
    lrs = np.array([0.3, 1.0])  # digits have D = 64
    np.testing.assert_array_equal(
        sweep(lrs / 64, width=64, parametrisation="sp"), sweep(lrs, width=64, parametrisation="ntp")
    )


@pytest.mark.parametrize("width", [24, 64])
def test_sp_and_ntp_start_as_the_same_function(width):
    sp, ntp = (sweep([1.0], width=width, steps=0, parametrisation=name) for name in ("sp", "ntp"))
    np.testing.assert_allclose(sp, ntp, rtol=2e-6)  # float32 roundings of different factors


def test_table_one_number_by_number():
    n, depth, d, gamma0 = 9, 16, 25, 0.5
    by_hand = {
        "sp": [(1, 1 / 5, 1), (1, 1 / 3, 1), (1, 1 / 3, 1)],
        "ntp": [(1 / 5, 1, 1), (1 / 3, 1, 1), (1 / 3, 1, 1)],
        "mup": [(1 / 5, 1, 9 / 4), (1 / 3, 1, 9 / 4), (2 / 9, 1, 9 / 4)],
        "mup_sqrt_depth": [(1 / 5, 1, 9 / 4), (1 / 12, 1, 9 / 4), (2 / 9, 1, 9 / 4)],
    }
    assert tuple(by_hand) == PARAMETRISATIONS
    for name, rows in by_hand.items():
        scales = layer_scales(name, n, depth, d, gamma0=gamma0 if name.startswith("mup") else 1.0)
        for row, layer in zip(rows, (scales.read_in, scales.branch, scales.readout), strict=True):
            assert (layer.multiplier, layer.std, layer.lr_factor) == pytest.approx(row, rel=1e-14)


def test_sp_scales_like_the_framework_default():
    torch.manual_seed(0)
    ratios = []
    for fan_in in (64, 1024):
        ours = layer_scales("sp", fan_in, 1, fan_in).branch.std ** 2
        ratios.append(torch.nn.Linear(fan_in, 4096).weight.var().item() / ours)
    # One third whatever the fan-in; the variance of n uniform draws has a relative error of sqrt(0.8 / n).
    assert ratios == pytest.approx([1 / 3, 1 / 3], rel=4 * math.sqrt(0.8 / (64 * 4096)))


def features(scales, weights, x):
    """The residual stream h^L (R, B, N), in ReLU networks, by a second piece of code than the engine's."""
    h = torch.einsum("bd,rnd->rbn", x, weights.read_in) * scales.read_in.multiplier
    for w in weights.branches:
        h = h + scales.branch.multiplier * torch.einsum("rbm,rnm->rbn", h.relu(), w)
    return h


def coordinate_check(parametrisation, width, seeds, depth=4):
    """Per seed: mean square of h^L at initialisation, root mean square of its change by a step at rate 1."""
    data, runs = load("digits"), len(seeds)
    x, y = torch.tensor(data.train_x[:64]), torch.tensor(data.train_y[:64])
    scales = layer_scales(parametrisation, width, depth, 64)
    weights = initial_weights(scales, seeds, width, depth, 64, 10)
    before = features(scales, weights, x)
    sgd_step(weights, scales, "relu", x.expand(runs, -1, -1), y.expand(runs, -1), torch.ones(runs))
    change = features(scales, weights, x) - before
    return before.square().mean(dim=(1, 2)).numpy(), change.square().mean(dim=(1, 2)).sqrt().numpy()


@pytest.mark.parametrize(("parametrisation", "per_block"), [("mup", 0.5), ("mup_sqrt_depth", 0.125), ("sp", 0.5)])
def test_features_start_at_the_derived_scale_at_every_width(parametrisation, per_block):
    x = load("digits").train_x[:64].astype(float)
    expected = (x**2).mean() * (1 + per_block) ** 4  # (|x|^2 / D) (1 + beta^2 / 2)^L
    for width in (32, 128, 512):
        squares, _ = coordinate_check(parametrisation, width, range(12))
        error = squares.std(ddof=1) / math.sqrt(12)
        # The expectation is exact at any width: the weights are symmetric, so <phi^2> is half of <h^2>.
        assert abs(squares.mean() - expected) < 4 * error
        assert error < 0.1 * expected  # or the line above would say nothing


@pytest.mark.parametrize(("parametrisation", "exponent"), [("mup", 0.0), ("mup_sqrt_depth", 0.0), ("ntp", -0.5)])
def test_one_step_moves_the_features_by_the_derived_power_of_the_width(parametrisation, exponent):
    # No sp: at a fixed input dimension its branches move h like N^(1/2), its read-in like N^(-1/2).
    widths, seeds = (128, 512), range(16)
    moves = [np.log2(coordinate_check(parametrisation, width, seeds, depth=2)[1]) for width in widths]
    octaves = math.log2(widths[1] / widths[0])
    slope = (moves[1].mean() - moves[0].mean()) / octaves
    error = math.sqrt(sum(move.var(ddof=1) / len(seeds) for move in moves)) / octaves
    assert abs(slope - exponent) < 4 * error
    assert 4 * error < 0.25  # half of what separates the two exponents, or the line above would say little


def test_a_deeper_or_rescaled_network_repeats_the_draws():
    shallow = initial_weights(layer_scales("mup", 8, 2, 5), [3], 8, 2, 5, 4)
    deep = initial_weights(layer_scales("mup", 8, 6, 5), [1, 3], 8, 6, 5, 4)
    assert torch.equal(shallow.branches[:, 0], deep.branches[:2, 1])
    assert torch.equal(shallow.read_in[0], deep.read_in[1]) and torch.equal(shallow.readout[0], deep.readout[1])
    sp = initial_weights(layer_scales("sp", 16, 2, 4), [3], 16, 2, 4, 4)
    ntp = initial_weights(layer_scales("ntp", 16, 2, 4), [3], 16, 2, 4, 4)
    assert torch.equal(sp.branches * 4, ntp.branches) and torch.equal(sp.read_in * 2, ntp.read_in)


@pytest.mark.parametrize(
    ("arguments", "options", "words"),
    [
        (("muP", 8, 2, 4), {}, "parametrisation = 'muP'"),
        (("sp", 0, 2, 4), {}, "width = 0"),
        (("sp", 8, 0, 4), {}, "depth = 0"),
        (("sp", 8, 2, 0), {}, "input_dim = 0"),
        (("sp", 8, 2, 4), {"gamma0": 0.5}, "gamma0 = 0.5 .*1 for parametrisation 'sp'"),
        (("mup", 8, 2, 4), {"gamma0": -1.0}, "gamma0 = -1"),
        (("mup", 8, 2, 4), {"branch": math.nan}, "branch = nan"),
        (("mup", 8, 2, 4), {"branch": [0.5]}, "branch = .*one number"),
    ],
)
def test_bad_scales_are_refused_by_name(arguments, options, words):
    with pytest.raises(ValueError, match=words):
        layer_scales(*arguments, **options)
