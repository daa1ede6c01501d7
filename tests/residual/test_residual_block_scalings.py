"""Multipliers and block rates with depth, recorded best rates, and the list of the paper's figures."""

import importlib
import math
from dataclasses import replace

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from lrtransfer.images.catalogue import load
from lrtransfer.numerics.estimates import Estimate
from lrtransfer.page.claims import statements
from lrtransfer.rates import BestLR, drift
from lrtransfer.residual import ResidualMLP, ResNet, VisionTransformer, final_losses, fitting_rates, read_sweep, shipped
from lrtransfer.residual.experiments import (
    PAPER_FIGURES,
    WAYS,
    RecordedOptima,
    beyond,
    block_work,
    compare_ways,
    inner_work,
    move,
    power_of,
    recorded_check,
    recorded_optima,
    recorded_values,
    recorded_ways,
)
from lrtransfer.residual.networks.torch_networks import build, initialise, parameter_groups
from lrtransfer.sweeps.sweep import CurveResult


def test_one_over_l_with_block_rates_times_l_is_one_over_root_l_with_smaller_weights():
    # W = sqrt(L) V: the two networks must have the same outputs after every step, by plain SGD written out here.
    depth, lr, steps, images = 5, 0.3, 4, 32
    way = ResidualMLP(width=16, branch=1.0, block_rate=1.0)
    losses = block_work(way, [depth], lr, steps=steps, seeds=1, images=images).loss
    data = load("digits")
    x, y = torch.tensor(np.asarray(data.train_x[:images])), torch.tensor(data.train_y[:images])
    settings = ResidualMLP(width=16, depth=depth, branch=0.5)
    network = build(settings, data.shape, data.classes)
    initialise(network, 0)
    with torch.no_grad():
        for block in network.blocks:
            block.branch[1].weight.mul_(depth**-0.5)
    for _ in range(steps):
        network.zero_grad()
        F.cross_entropy(network(x), y).backward()
        with torch.no_grad():
            for group in parameter_groups(network, settings, lr):
                for weight in group["params"]:
                    weight.sub_(group["lr"] * weight.grad)
    with torch.no_grad():
        by_hand = float(F.cross_entropy(network(x), y))
    assert losses[0, 0] == pytest.approx(by_hand, rel=1e-5)
    plain = block_work(ResidualMLP(width=16, branch=1.0), [depth], lr, steps=steps, seeds=1, images=images).loss
    assert abs(plain[0, 0] - losses[0, 0]) > 1e-3  # the factor matters


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
@pytest.mark.parametrize("kind", [ResidualMLP, ResNet, VisionTransformer])
def test_block_rates_multiply_the_rates_of_what_lies_in_the_blocks_and_of_nothing_else(kind, optimiser):
    plain = kind(width=8, depth=4, optimiser=optimiser)
    data = load("digits")
    rates = []
    for s in (plain, replace(plain, block_rate=0.5)):
        network = build(s, data.shape, data.classes)
        inside = {id(weight) for weight in network.blocks.parameters()}
        rates.append([(id(g["params"][0]) in inside, g["lr"]) for g in parameter_groups(network, s, 0.1)])
    assert {within for within, _ in rates[0]} == {True, False}
    for (within, slow), (_, fast) in zip(*rates, strict=True):
        assert fast == pytest.approx(slow * (2 if within else 1))  # 4 blocks to the power 1/2


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
def test_the_trainer_and_the_dissected_network_use_the_same_block_rates(optimiser):
    s = ResidualMLP(width=8, depth=4, steps=3, batch=1197, optimiser=optimiser, block_rate=1.0, eval_points=1197)
    lr = 0.5 if optimiser == "sgd" else 2.0**-7
    swept = block_work(s, [4], lr, steps=3, seeds=1, images=1197).loss  # all images, so the batch is fixed
    assert final_losses(s, [lr], [0])[0, 0] == pytest.approx(swept[0, 0], rel=1e-4)
    assert abs(final_losses(replace(s, block_rate=0.0), [lr], [0])[0, 0] / swept[0, 0] - 1) > 1e-3


def test_ways_are_blocks_taken_apart():
    (way,) = (way for way in WAYS if way.optimiser == "sgd" and way.block_rate == 1)
    runs = {"steps": 2, "seeds": 2}
    found = compare_ways((1, 2, 4), (1, 2, 3), **runs, ways=(way,))[way.name]
    work = block_work(ResidualMLP(branch=1.0, block_rate=1.0), (1, 2, 4), way.lr, **runs)
    assert found.learnt == power_of((1, 2, 4), work.learnt) and found.noise == power_of((1, 2, 4), work.start)
    blocks = ResNet(norm=None, branch=1.0, block_rate=1.0)
    inner = inner_work(blocks, (1, 2, 3), way.inner_lr, images=32, **runs)
    assert found.own == power_of((1, 2, 3), inner.own) and found.stream == power_of((1, 2, 3), inner.stream)


def test_the_recorded_ways_are_those_that_are_taken_apart():
    curves = read_sweep("ways").curves
    asked = {(way.optimiser, way.branch, way.block_rate) for way in WAYS}
    assert {(c.settings.optimiser, c.settings.branch, c.settings.block_rate) for c in curves} == asked
    found = recorded_ways()
    assert found.keys() <= {way.name for way in WAYS}
    for name, optima in found.items():
        assert optima.sizes == (3, 6, 12, 24, 48), name


def test_best_rates_of_a_record_are_those_of_a_family():
    best = tuple(BestLR(2.0**k, 2.0**k, 2.0**k, False, 2, (2.0**k, 2.0 ** (k + 0.2))) for k in (2, 1, -1))
    logs = np.log([[1.0, 1.1], [0.8, 0.9], [0.5, 0.4]])
    swept = (np.array([1.0, 2.0]),) * 3, tuple(np.exp([row + 1, row]) for row in logs)
    found = RecordedOptima((3, 6, 12), best, *swept)
    np.testing.assert_allclose(found.lowest_logs, logs)
    assert found.gained(0, -1).value == pytest.approx((logs[0] - logs[-1]).mean())
    np.testing.assert_allclose(found.lowest()[0], logs.mean(axis=1))
    assert found.moved == move(best[0], best[-1]) and found.moved.value == pytest.approx(-3)
    slope = drift(list(best), (3, 6, 12))
    assert (found.trend.value, found.trend.error, found.trend.seeds) == (slope.slope, slope.slope_error, 2)
    edge = RecordedOptima((3, 6, 12), (*best[:2], BestLR(0.5, 0.5, 0.5, True, 2, (0.5, 0.5))), *swept)
    assert edge.moved.error == edge.trend.error == math.inf


def test_the_records_of_this_book_are_read():
    many = recorded_optima("digits-seeds", "depth")["mup_sqrt_depth"]
    assert many.sizes == (3, 6, 12, 24) and many.best[0].seeds == 36
    assert recorded_optima("digits-widths", "width")["sp"].sizes == (64, 256, 1024)


def test_a_recorded_hyperparameter_is_read_across_curves_of_one_rate(monkeypatch):
    def curve(depth, x, **changes):
        losses = 0.1 * np.exp((np.log2(x) - depth) ** 2) * np.array([[[1.0, 1.1]]])
        return CurveResult(ResidualMLP(depth=depth, **changes), np.array([0.5]), np.arange(2), losses)

    curves = [curve(depth, x, gamma0=x) for depth in (1, 2) for x in (4.0, 1.0, 2.0, 8.0)]
    curves += [curve(depth, 2.0, momentum=0.5, steps=7) for depth in (1, 2)]
    module = importlib.import_module("lrtransfer.residual.experiments.recorded_optima")
    monkeypatch.setattr(module, "read", lambda name: ({}, curves) if name == "some" else None)
    found = recorded_values("some", "gamma0", "depth")
    assert found.sizes == (1, 2) and [b.lr for b in found.best] == pytest.approx([2.0, 4.0])
    assert found.moved.value == pytest.approx(1.0) and found.losses[0].shape == (4, 2)
    assert recorded_values("some", "momentum", "depth") is None  # one value other than none is no sweep
    assert recorded_values("some", "gamma0", "depth", steps=7) is None
    assert recorded_values("other", "gamma0", "depth") is None


def test_a_record_decides_a_check_or_says_how_to_make_it():
    many = recorded_optima("digits-seeds", "depth")["mup_sqrt_depth"]
    (log, error) = (part[-1] for part in many.lowest())
    assert -5 < log < 0 < error < 0.5 and many.lowest_logs.shape == (4, 36)
    assert recorded_optima("digits-seeds", "depth", steps=41) == {}
    made = recorded_check("MLP", many, "digits-seeds", "within", 1)
    assert made.passed and "3 to 24, 36 seeds" in made.what and not made.ours
    waiting = recorded_check("MLP", None, "nothing", "within", 1, ours=True)
    assert not waiting.passed and waiting.undecided and waiting.ours
    assert "`lrtransfer record residual-nothing`" in waiting.what


def test_a_distance_from_what_is_expected():
    assert beyond(Estimate(-0.4, 0.1, 5), -0.5) == Estimate(pytest.approx(0.1), 0.1, 5)


def test_the_farthest_depth_is_the_one_that_may_be_farthest():
    rates = fitting_rates((1, 2, 3), (1, 2), 0.5, 3, {8: 8, 16: 6})
    gaps = rates.endless - rates.predicted
    far = rates.farthest
    assert far.seeds == rates.draws == 6
    assert far.ends("within")[0] == pytest.approx(
        max(Estimate(g, e, 6).ends("within")[0] for g, e in zip(gaps, rates.endless_error, strict=True))
    )


def test_every_figure_of_the_paper_has_a_claim_and_settings():
    names = [part for figure in PAPER_FIGURES for part in figure.name.split(", ")]
    assert len(set(names)) == len(names)
    files = set(shipped())
    for name in names:
        first = name.replace(".", "").split("-")[0]
        assert f"fig{first.removesuffix('a').removesuffix('b') if first in ('1a', '1b') else first}" in files
    verdicts = {id: "reproduced" for id in statements()}
    asked = [word for figure in PAPER_FIGURES for word in figure.command.split() if word.startswith("fig")]
    assert set(asked) == {file for file in files if file.startswith("fig")}
    assert PAPER_FIGURES[0].command == "lrtransfer sweep fig1"
    for figure in PAPER_FIGURES:
        assert figure.verdict(verdicts) == ("reproduced" if figure.ours else "not resolved: not run here")
    with pytest.raises(ValueError, match=r"claim = 'residual\."):
        PAPER_FIGURES[0].verdict({"depth.model": "reproduced"})
