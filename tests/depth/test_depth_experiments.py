"""What the Depth chapter's cells show, at small size: each against the closed form, a loop, or a hand value."""

from __future__ import annotations

import math

import numpy as np
import pytest

from lrtransfer import depth as d
from lrtransfer.depth import experiments


@pytest.mark.parametrize(("arch", "r"), [("chain", 0.5), ("residual1", 0.5), ("residual2", 2.0)])
def test_the_weight_at_the_minimum_is_one(arch, r):
    for depth in (1, 2, 5):
        weight = experiments.minimum_weight(depth, r, arch)
        assert d.total_weight(weight, depth, arch) == pytest.approx(r, rel=1e-14)
        assert d.loss(weight, depth, r, arch=arch) < 1e-28


def test_the_three_orders_are_measured():
    measured, closed = experiments.measured_orders([1, 3], 2.0, 1.5), d.substitution_orders([1, 3], 2.0, 1.5)
    np.testing.assert_allclose(measured.top, d.sharpness([1, 3], 2.0, 1.5), rtol=1e-13)
    assert measured.others.max() < 1e-13
    np.testing.assert_allclose(measured.orders.right, closed.right, rtol=1e-6)
    np.testing.assert_allclose(measured.orders.substituted_first, closed.substituted_first, rtol=1e-6)
    np.testing.assert_allclose(measured.orders.substituted_last, closed.substituted_last, rtol=1e-13)


@pytest.mark.parametrize("depth", [1, 2, 5, math.inf])
def test_the_integrated_course(depth):
    t = np.array([0.0, 3.0, 40.0])
    np.testing.assert_allclose(experiments.integrated_course(t, 0.05, depth), d.time_course(t, 0.05, depth), atol=1e-10)


def test_half_times():
    path = np.array([[0.1, 0.2], [0.4, 0.5], [0.8, 0.9]])
    np.testing.assert_allclose(experiments.half_times(path), [1.25, 1.0])
    for bad in (path[1:], path[:2], path[:, 0]):  # starts above one half, never arrives, no axis of runs
        with pytest.raises(ValueError, match=r"total_weight = \(.*rise through one half"):
            experiments.half_times(bad)


def test_thresholds_of_one_layer_and_more():
    found = experiments.thresholds([1, 2, 16], steps=200, spacing=0.1)
    assert found.depth.tolist() == [1, 2, 16] and found.flip[0] == 0.0
    assert math.isnan(found.end[0]) and found.end[1] == pytest.approx(2 * (math.sqrt(5) - 1))
    assert found.crisis[:2].tolist() == [2.0, pytest.approx(4.0)]
    assert found.first[0] == 2.1 and found.first[1] >= 4.0 and math.isnan(found.first[2])


def test_a_panel_of_figure_two():
    x, losses = experiments.rate_panel([2, 8], 0.5, rule="agnostic", points=5)
    assert losses.shape == (5, 2) and x[-1] > d.agnostic_optimum(128, 0.5)
    assert losses[3, 1] == d.sweep(x[3], 8, 0.5, rule="agnostic")
    x, _ = experiments.rate_panel([2], 0.5, points=3)
    np.testing.assert_allclose(x, [0.01, 1.005, 2.0])


def test_the_error_of_the_best_power_law():
    # one pair of depths: for r and 1/r the exponents are 1 -+ c, so the best one is off by half their distance
    octaves = experiments.power_law_error(2, [4], [0.5, 2.0])
    assert octaves == pytest.approx(2 * (1 / 2 - 1 / 4), rel=1e-12)
    assert experiments.power_law_error(2, [4, 64], [1.0]) < 1e-12  # r = 1: the exponent one is exact


@pytest.mark.parametrize(("arch", "r"), [("residual1", 0.5), ("residual2", 2.0)])
def test_the_residual_networks_against_their_closed_forms(arch, r):
    np.testing.assert_allclose(experiments.hessian_ratio([1, 3], r, arch), 1, rtol=1e-12)
    np.testing.assert_allclose(experiments.landscape_ratio([1, 3], r, arch), 1, rtol=1e-5)
    lr = d.max_stable_lr(3, r, tau=10.0, arch=arch)
    last = d.gradient_descent(lr, 3, 20, mu_yx=r, init=0.1, arch=arch)[-1]
    separate = experiments.separate_loss(3, r, 0.1, 20, arch)
    assert separate == pytest.approx(d.loss(last, 3, r, arch=arch), rel=1e-12)


def test_the_carried_rate():
    r = np.array([0.5, 4.0])
    np.testing.assert_allclose(experiments.carried_rate(4, 128, r), r ** (2 * (1 / 4 - 1 / 128)))
    reached = experiments.targets_reached(4, 128, [0.5, 2.0, 8.0])
    assert reached.tolist() == [
        float(d.sweep(x, 128, r)) < 1e-6 for x, r in ((0.5**0.484375, 0.5), (2**0.484375, 2.0), (8**0.484375, 8.0))
    ]
    with pytest.raises(ValueError, match=r"targets = -1\.0"):
        experiments.targets_reached(4, 128, [-1.0])


@pytest.mark.parametrize(("arch", "r"), [("chain", 0.5), ("residual1", 2.0), ("residual2", 4.0)])
def test_the_fastest_rate_is_where_the_formula_puts_it(arch, r):
    np.testing.assert_allclose(experiments.fastest_rate([2, 16], r, arch), 1.0, atol=3e-6)
    agnostic = experiments.fastest_rate([2, 16], r, arch, "agnostic")
    np.testing.assert_allclose(agnostic, d.agnostic_optimum([2, 16], r, arch), rtol=3e-6)


@pytest.mark.parametrize("r", [0.01, 1.0, 50.0])
def test_where_the_flow_ends(r):
    start = np.array([1.7, 0.9, 0.4])
    end = d.gradient_flow_full([0.0, 2000.0], start, mu_yx=r, lr=1 / max(1.0, r**2))[-1]
    np.testing.assert_allclose(experiments.flow_minimum(start, r), end, rtol=1e-8)
    np.testing.assert_allclose(experiments.flow_minimum([0.5, 0.5], r), r**0.5, rtol=1e-12)


def test_an_unbalanced_start_beyond_its_edge():
    start = 2.0 ** np.array([0.75, -0.25, -0.25, -1.25])
    run = experiments.unbalanced_descent(start, 1.2, 6000, looks=5)
    assert run.edge == pytest.approx(2 / np.sum(run.flow**-2.0)) and run.lr == pytest.approx(1.2 * run.edge)
    assert run.loss[-1] < 1e-17 and run.sharpness[-1] < 2 / run.lr
    assert run.sharpness[0] == pytest.approx(2 / run.edge) and (np.diff(run.sharpness) <= 1e-12).all()
    top = np.linalg.eigvalsh(d.full_hessian(run.weights[-1], mu_yx=1.0))[-1]
    assert run.sharpness[-1] == pytest.approx(top, rel=1e-6)
    assert run.steps[0] == 0 and run.steps[-1] == 6000 and run.sharpness.shape == run.steps.shape
    below = experiments.unbalanced_descent(start, 0.5, 200, looks=2)  # below its edge it keeps most of its imbalance
    assert np.ptp(below.weights[-1]) > 0.9 * np.ptp(below.flow)
    assert np.ptp(run.weights[-1]) < 0.5 * np.ptp(run.flow)


def test_pooled_errors():
    np.testing.assert_allclose(experiments.pooled_errors([0.0, 0.3], 1.0), [12**-0.5, math.hypot(0.3, 12**-0.5)])


def test_predictions_from_two_depths():
    depths = np.array([2, 4, 16, 64])
    rates = d.max_stable_lr(depths, 4.0)
    found = experiments.compare_predictions(depths, rates, 0.1, (2, 4))
    assert found.depths == (16, 64)
    np.testing.assert_allclose(found.fitted, 0.0, atol=1e-12)
    np.testing.assert_allclose(found.errors, 0.1 * np.hypot(found.fit.amplification([16, 64]), 1.0))
    np.testing.assert_allclose(found.agnostic, np.log2(experiments.carried_rate(4, depths[2:], 4.0)))
    np.testing.assert_allclose(found.power, np.log2(rates[1] * (rates[1] / rates[0]) ** [2, 4] / rates[2:]))


def test_recorded_rates():
    lrs = [0.1, 0.2, 0.4, 0.8, 1.6]
    bowl = [[abs(np.log2(lr / 0.4)) ** 2 + 1.0 + 0.01 * seed for seed in range(3)] for lr in lrs]
    falling = [[1.0 / lr] * 3 for lr in lrs]
    curves = [{"settings": {"depth": n, "width": w}, "lrs": lrs} for n, w in ((8, 4), (2, 4), (2, 4), (4, 4), (16, 5))]
    record = {"settings": {"curves": curves}, "numbers": {"losses": [bowl, bowl, falling, falling, bowl]}}
    depths, rates, errors = experiments.recorded_rates(record, width=4)  # depth 4 is on the edge, its twin comes later
    assert depths.tolist() == [2, 8]
    np.testing.assert_allclose(rates, 0.4, rtol=0.02)
    np.testing.assert_allclose(errors, 12**-0.5, rtol=0.02)
    with pytest.raises(ValueError, match=r"settings = \{'width': 7\}"):
        experiments.recorded_rates(record, width=7)


def test_best_rates_of_several_depths():
    lrs = np.array([0.1, 0.2, 0.4, 0.8, 1.6])
    bowls = (np.log2(lrs / np.array([[0.2], [0.4]])) ** 2)[:, :, None] + 1.0 + 0.01 * np.arange(3)
    rates, errors = experiments.best_rates(lrs, bowls)
    np.testing.assert_allclose(rates, [0.2, 0.4], rtol=0.05)
    np.testing.assert_allclose(errors, 12**-0.5, rtol=0.02)
    bowls[0, 3:] = np.inf  # beside the border of divergence: no warning, the rate as it is found
    bowls[0, :3] = np.array([3.0, 2.0, 1.0])[:, None]
    assert experiments.best_rates(lrs, bowls)[0][0] == pytest.approx(0.4, rel=0.5)
