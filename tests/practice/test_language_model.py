"""The language model: what scales in it, that its sweeps repeat, and its records."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from lrtransfer.practice import further, moved, parameter_groups, read_language_model
from lrtransfer.practice import language as model
from lrtransfer.practice.recorded import RECIPES, Trained, rates, recipe
from lrtransfer.practice.settings import BASE_DEPTH, BASE_WIDTH, LanguageModel
from lrtransfer.sweeps.recorder import record

TINY = LanguageModel(width=16, depth=1, steps=3, batch=2, length=8, windows=2)


def test_logits_of_every_character_and_no_look_ahead():
    torch.manual_seed(0)
    network = model.build(TINY).eval()
    tokens = torch.arange(16).reshape(2, 8)
    logits = network(tokens)
    assert logits.shape == (2, 8, model.topics().vocabulary)
    changed = tokens.clone()
    changed[:, 5:] += 20
    torch.testing.assert_close(network(changed)[:, :5], logits[:, :5])
    assert (network(changed)[:, 5] - logits[:, 5]).abs().max() > 1e-3


def test_branches_are_multiplied_by_the_depth():
    for depth, branch in ((2, 1.0), (8, 1.0), (8, 0.0)):
        network = model.Transformer(LanguageModel(depth=depth, branch=branch))
        assert network.blocks[0].multiplier == pytest.approx((depth / BASE_DEPTH) ** -branch)


def test_groups_are_those_of_the_base_and_at_its_size_nothing_changes():
    settings = LanguageModel(width=64, depth=4, scaling="groups", branch=1.0, weight_decay=0.1)
    torch.manual_seed(0)
    network = model.build(settings)
    rates_of = {group["role"]: group["lr"] for group in model.groups(settings, network, 0.1)}
    assert rates_of["block"] == rates_of["head"] == pytest.approx(0.05) and rates_of["embedding"] == 0.1
    expected = parameter_groups(network, model.base_of(settings), optimiser="adamw", lr=0.1, depth_ratio=2)
    assert [group["names"] for group in model.groups(settings, network, 0.1)] == [g["names"] for g in expected]
    torch.manual_seed(5)
    plain = model.build(LanguageModel())
    torch.manual_seed(5)
    grouped = model.build(LanguageModel(scaling="groups"))
    for one, two in zip(plain.parameters(), grouped.parameters(), strict=True):
        assert torch.equal(one, two)
    assert (BASE_WIDTH, BASE_DEPTH) == (LanguageModel().width, LanguageModel().depth)


def test_the_schedule_rises_and_falls():
    factors = np.array([model.schedule(step, 100, 0.1) for step in range(100)])
    assert factors.argmax() in (9, 10) and factors[0] < 0.2 and factors[-1] == pytest.approx(1 / 90)
    assert [model.schedule(step, 4, 0.0) for step in range(4)] == [1.0, 0.75, 0.5, 0.25]


def test_training_lowers_the_loss_and_a_wild_rate_is_infinite():
    build, train = model.functions(replace(TINY, steps=40, batch=8))
    torch.manual_seed(3)
    network = build()
    before = model.held_out_loss(TINY, network)
    assert train(network, 0.02) < before - 0.3
    torch.manual_seed(3)
    assert train(build(), 1e30) == math.inf


def test_a_scaling_is_one_of_two():
    with pytest.raises(ValueError, match="scaling = 'mup'"):
        LanguageModel(scaling="mup")


def test_a_recording_repeats_and_can_be_read(tmp_path):
    made_by = recipe("practice-tiny", "small", (("tiny", TINY, (-6, -4)),), (0, 1))
    for folder in ("one", "two"):
        record(made_by, folder=tmp_path / folder, runs=tmp_path / f"runs-{folder}", device="cpu")
    from lrtransfer.practice.recorded import trained_of

    one, two = (trained_of(made_by, folder=tmp_path / folder)["tiny"] for folder in ("one", "two"))
    assert one.settings == TINY and one.losses.shape == (3, 2)
    np.testing.assert_array_equal(one.losses, two.losses)
    assert trained_of(made_by, folder=tmp_path) is None and read_language_model(folder=tmp_path) == {}


def bowl(centre, seeds=3):
    lrs = rates((-6, 6))
    scatter = 0.05 * np.random.default_rng(round(abs(centre) * 8)).standard_normal(seeds)
    return Trained(TINY, lrs, np.exp(0.1 * (np.log2(lrs)[:, None] - centre - scatter) ** 2))


def test_moves_are_paired_and_an_edge_bounds_them():
    base, one, other = bowl(0.0), bowl(-2.0), bowl(0.5)
    assert moved(base, one).value == pytest.approx(-2, abs=0.15)
    less = further(base, one, other)
    assert less.value == pytest.approx(1.5, abs=0.2) and less.outcome(">=", 0) == "holds"
    assert further(base, other, one).outcome(">=", 0) == "fails"
    edge = bowl(9.0)
    assert edge.best.on_edge and moved(base, edge).between[1] == math.inf
    assert moved(base, edge).outcome(">=", 1) == "holds" and moved(base, edge).outcome("<=", 99) == "not resolved"
    assert further(base, one, edge).outcome(">=", 0) == "fails" and further(base, edge, one).outcome(">=", 0) == "holds"
    assert base.at(base.lrs[3]) == pytest.approx(base.losses[3])


def test_no_reported_seed_was_tuned_on():
    for made_by in RECIPES:
        assert 100 not in made_by.settings["seeds"] and len(made_by.settings["seeds"]) >= 3
