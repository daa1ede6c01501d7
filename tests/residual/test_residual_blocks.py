"""Trained blocks taken apart: theory at the start, known limits, the optimiser of the settings, refusals by name."""

import math
from dataclasses import replace

import numpy as np
import pytest

from lrtransfer.residual import (
    PARAMETRISATIONS,
    ConvNet,
    ResidualMLP,
    ResNet,
    VisionTransformer,
    coordinate_check,
    table1,
)
from lrtransfer.residual.experiments import block_work, built_row, inner_work, symbol_values


def test_blocks_start_with_the_noise_that_theory_gives():
    # <(h^L - h^0)^2> / <(h^0)^2> = (1 + 1/(2L))^L - 1 at infinite width; (a block adds (1/2L) <h^2>). The read-in keeps
    # <(h^0)^2> = |x|^2 / D on average, which the same batch gives. Tolerance: 4 standard errors over 8 seeds, and 4/N.
    from lrtransfer.images.catalogue import load

    x = load("digits").train_x[:64]
    width, depths = 256, (2, 6)
    work = block_work(ResidualMLP(width=width), depths, 1e-6, steps=1, seeds=8, images=64)
    for depth, start in zip(depths, work.start, strict=True):
        ratio = start**2 / np.mean(x.astype(float) ** 2)
        expected = (1 + 0.5 / depth) ** depth - 1
        error = ratio.std(ddof=1) / math.sqrt(8)
        assert abs(ratio.mean() - expected) < 4 * error + 4 / width


def test_blocks_without_a_multiplier_to_speak_of_do_nothing():
    work = block_work(ResidualMLP(width=16, branch=30.0), (4,), 0.5, steps=4, seeds=2, images=32)
    assert (work.learnt < 1e-6 * work.read_in).all()  # 4^-30 is far below the rounding of float32
    np.testing.assert_array_equal(work.loss, work.without)
    working = block_work(ResidualMLP(width=16), (4,), 0.5, steps=4, seeds=2, images=32)
    assert (working.without > working.loss).all() and (working.learnt > 0.1 * working.read_in).all()


@pytest.mark.parametrize("s", [ResidualMLP(width=8), ConvNet(width=8), ResNet(width=8), ResNet(width=8, norm=None)])
def test_every_kind_of_network_is_taken_apart(s):
    work = block_work(s, (1, 3), 0.01, steps=2, seeds=2, images=8)
    assert all(np.isfinite(part).all() and part.shape == (2, 2) for part in vars(work).values())


@pytest.mark.parametrize(
    "s",
    [
        ResidualMLP(width=8, momentum=0.5, weight_decay=0.1),
        ResidualMLP(width=8, optimiser="adam"),
        VisionTransformer(width=8, patch=4, warmup_steps=2),
    ],
    ids=("momentum", "adam", "vit"),
)
def test_blocks_are_trained_as_in_the_coordinate_check(s):
    # The same images, seeds and updates: the change of h^0 must be the same number, and not that of plain SGD.
    work = block_work(s, (1, 3), 0.01, steps=3, seeds=2, images=16)
    check = coordinate_check(s, (1, 3), vary="depth", lr=0.01, steps=3, seeds=range(2), batch=16)
    changes = check.changes[:, check.layers.index("read-in")]
    np.testing.assert_allclose(work.read_in, changes, rtol=1e-6)
    plain = replace(s, optimiser="sgd", momentum=0.0, weight_decay=0.0, schedule="constant", warmup_steps=0)
    assert abs(block_work(plain, (3,), 0.01, steps=3, seeds=1, images=16).read_in / work.read_in[1, :1] - 1) > 0.1


def test_a_run_that_overflows_is_infinite_and_not_nan():
    work = block_work(ResidualMLP(width=8), (2,), 1e30, steps=4, seeds=1, images=8)
    assert work.learnt[0, 0] == work.loss[0, 0] == np.inf
    assert np.isinf(inner_work(ResNet(norm=None, width=8), (2,), 1e30, steps=4, seeds=1, images=8).own).all()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"seeds": 0}, "seeds = 0"),
        ({"steps": 0}, "steps = 0"),
        ({"images": 0}, "images = 0"),
        ({"lr": -1.0}, "lr = -1"),
        ({"depths": ()}, "depths"),
        ({"settings": "ResNet"}, "settings = 'ResNet'"),
        ({"settings": VisionTransformer(), "steps": 2}, "steps = 2 .*warm-up"),
    ],
)
def test_blocks_refuse_by_name(changes, words):
    given = {
        "settings": ResidualMLP(width=8),
        "depths": (1, 2),
        "lr": 0.1,
        "steps": 1,
        "seeds": 1,
        "images": 8,
        **changes,
    }
    settings, depths, lr = (given.pop(name) for name in ("settings", "depths", "lr"))
    with pytest.raises(ValueError, match=words):
        block_work(settings, depths, lr, **given)


@pytest.mark.parametrize(
    ("settings", "words"),
    [(ResNet(norm="batch"), "settings.norm = 'batch'"), (ConvNet(), "settings = ConvNet.*two conv")],
)
def test_inner_work_needs_two_convolutions_without_a_norm(settings, words):
    with pytest.raises(ValueError, match=words):
        inner_work(settings, (1, 2), 0.1, steps=1, seeds=1)


def test_a_higher_rate_of_the_first_layer_moves_it_in_proportion():
    # At a small rate the changes are linear in the rate: L^(1/2) = 2 at L = 4. The quadratic part is of relative order
    # lr = 0.01, float32 rounding of the differences of the same order.
    s = ResNet(norm=None, width=8)
    plain, boosted, twice = (
        inner_work(s, (4,), lr, steps=2, seeds=2, boost=b, images=16) for lr, b in ((0.01, 0), (0.01, 0.5), (0.02, 0))
    )
    np.testing.assert_allclose(boosted.own / plain.own, 2, rtol=0.05)
    np.testing.assert_allclose(boosted.outer / plain.outer, 1, rtol=0.05)
    np.testing.assert_allclose(twice.own / plain.own, 2, rtol=0.05)
    np.testing.assert_allclose(twice.stream / plain.stream, 2, rtol=0.05)


@pytest.mark.parametrize("k", range(4), ids=PARAMETRISATIONS)
def test_a_built_network_has_the_printed_table(k):
    # All exact but the variance, a mean over L N^2 draws: four standard errors.
    name, width, depth = PARAMETRISATIONS[k], 64, 9
    gamma0 = 0.5 if name.startswith("mup") else 1.0
    ratio = built_row(name, width, depth, gamma0) / symbol_values(table1()[k], width, depth, gamma0)
    np.testing.assert_allclose(np.delete(ratio, 2), 1, rtol=1e-12)
    assert abs(ratio[2] - 1) < 4 * math.sqrt(2 / depth) / width


def test_symbols_are_read_as_they_are_printed():
    row = dict(
        enumerate(("name", "1/sqrt(N L)", "gamma_0 sqrt(N)", "1", "gamma_0^2 N", "gamma_0/sqrt(N)", "1/(N sqrt(L))"))
    )
    np.testing.assert_allclose(symbol_values(row, 16, 4, 0.5), [1 / 8, 2, 1, 4, 1 / 8, 1 / 32])
    numbers = dict(enumerate(("name", "1e-05", "2^3^2", "N/2/L", "(N)^(1/2)", "2 (3)", "0.25")))
    np.testing.assert_allclose(symbol_values(numbers, 16, 4, 0.5), [1e-5, 512, 2, 4, 6, 0.25])


@pytest.mark.parametrize(
    "entry",
    ["", "N +", "(N", "N)", "sqrt", "sqrt N", "1/0", "x", "N.real", "__import__('os').getpid()", "L" * 9, "9^9^9"],
)
def test_what_is_no_symbol_of_the_table_is_refused_and_not_run(entry):
    with pytest.raises(ValueError, match=r"^row = .* is not allowed"):
        symbol_values({"name": "sp", "gamma": entry}, 16, 4)
