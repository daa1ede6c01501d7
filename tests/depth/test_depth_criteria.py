"""Criteria of transfer after a finite run: loss sweeps, sufficient rates, exact argmin, lucky rates."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from lrtransfer import depth as d

DEPTHS = [2, 4, 8, 16, 32, 64, 128]


def test_sweep_against_independent_losses():
    # loss after 30 steps at x = 1; runs that have not converged, so that rounding is far below the ten digits
    expected = {
        ("chain", 0.5, "agnostic", 128): 0.0007467995864691344,
        ("chain", 0.5, "agnostic", 4): 1.4030160939934418e-09,
        ("chain", 2.0, "agnostic", 2): 0.015372428605099806,
        ("residual2", 4.0, "exact", 8): 4.453220878610023,
        ("residual2", 4.0, "agnostic", 64): 4.484714787293682,
    }
    for (arch, r, rule, depth), value in expected.items():
        assert d.sweep(1.0, depth, r, arch, rule) == pytest.approx(value, rel=1e-7)


def test_sweep_is_one_array_program():
    x, depth, r = np.linspace(0.1, 1.5, 5)[:, None, None], np.array([2, 8])[:, None], np.array([0.5, 2.0])
    losses = d.sweep(x, depth, r)
    assert losses.shape == (5, 2, 2)
    assert losses[3, 1, 0] == d.sweep(x[3, 0, 0], 8, 0.5)


def test_sufficient_rate_against_a_scan():
    # smallest rate of a grid of .001 with loss <= 1e-6 after 30 steps, found apart from this package
    expected = {
        ("chain", 0.5, "exact"): [0.224, 0.272, 0.306, 0.327, 0.339, 0.345, 0.348],
        ("chain", 0.5, "agnostic"): [0.447, 0.768, 1.029, 1.198, 1.295, 1.347, 1.374],
        ("chain", 2.0, "exact"): [0.31, 0.463, 0.622, 0.74, 0.811, 0.851, 0.872],
        ("residual1", 0.5, "exact"): [0.157, 0.148, 0.144, 0.142, 0.141, 0.141, 0.14],
    }
    for (arch, r, rule), grid in expected.items():
        x = d.sufficient_lr(DEPTHS, r, arch, rule)
        assert (x <= np.array(grid) + 1e-9).all() and (x > np.array(grid) - 0.001).all()
        assert (d.sweep(x, DEPTHS, r, arch, rule) <= 1e-6).all()
        assert (d.sweep(x - 2e-9, DEPTHS, r, arch, rule) > 1e-6).all()


def test_no_rate_suffices():
    # r = 4 in block two does not come down in 30 steps at L = 64, at any x up to 4 on a grid of .001
    x = d.sufficient_lr([8, 64], 4.0, "residual2")
    assert np.isfinite(x[0]) and x[1] == math.inf


def test_exact_argmin():
    best = d.exact_argmin([2, 4], 0.5, low=0.98, high=1.02)
    assert best.depth == (2, 4) and best.x == (1.0, 1.0) and best.runner_up == (1.004, 1.004)
    np.testing.assert_allclose(best.runner_up_log10_loss, [-131.88, -122.3], atol=0.005)
    assert max(best.log10_loss) < -390  # quadratic convergence has used up all 200 digits
    best = d.exact_argmin([32, 64, 128], 2.0, "residual2", low=1.0, high=1.2)
    assert best.x == (1.0, 1.184, 1.104) and best.runner_up == (1.052, 1.032, 1.068)
    np.testing.assert_allclose(best.log10_loss, [-17.492, -15.791, -15.613], atol=0.0005)


@pytest.mark.parametrize(
    ("arch", "rule", "r", "depth"),
    [("chain", "agnostic", 2.0, 3), ("residual1", "exact", 0.5, 1), ("residual2", "agnostic", 2.0, 3)],
)
def test_decimal_run_equals_the_double_one(arch, rule, r, depth):
    best = d.exact_argmin(depth, r, arch, rule, low=0.05, high=0.15, spacing=0.1, steps=5)
    assert {*best.x, *best.runner_up} == {0.05, 0.15}
    # five steps from far away: the loss is of order one and carries a few units of rounding
    for x, logarithm in ((best.x[0], best.log10_loss[0]), (best.runner_up[0], best.runner_up_log10_loss[0])):
        assert 10**logarithm == pytest.approx(d.sweep(x, depth, r, arch, rule, steps=5), rel=1e-12)


def test_exact_argmin_in_rationals():
    # one layer, r = 1/2: a(t) = r + (a(0) - r) (1 - x)^t exactly
    best = d.exact_argmin(1, 0.5, low=0.9, high=0.94, spacing=0.04, steps=7)
    for x, logarithm in ((0.94, best.log10_loss[0]), (0.9, best.runner_up_log10_loss[0])):
        gap = (Fraction(1, 10) - Fraction(1, 2)) * (1 - Fraction(str(x))) ** 7
        assert logarithm == pytest.approx(math.log10(gap**2 / 2), abs=1e-12)


def test_lucky_rates():
    lucky = d.landing_lrs(2, 0.5)
    # roots in x of w_k(x) = r^(1/2), by mpmath with 80 digits; ours are as good as the sign of a distance,
    # within a unit 2^-52 of r over its slope in x, which is 0.26, 0.16, 0.045 and 0.0033 here
    expected = [1.58264972185977, 1.19928971795938, 1.05068777355527, 1.00443239919578]
    np.testing.assert_allclose(lucky.x, expected, rtol=0, atol=1e-13)
    assert lucky.step.tolist() == [2, 3, 4, 5]
    for arch, r, depth in (("chain", 0.5, 2), ("chain", 2.0, 8), ("residual2", 2.0, 2)):
        lucky = d.landing_lrs(depth, r, arch)
        assert len(lucky.x) >= 4 and (lucky.x > 1).all()
        path = d.gradient_descent(
            lucky.x * d.max_stable_lr(depth, r, arch=arch),
            depth,
            30,
            mu_yx=r,
            init=d.criteria.DEFAULT_INIT[arch],
            arch=arch,
        )
        gap = np.abs(d.total_weight(path, depth, arch) - r)
        # the rate is a float, so the landing misses by its rounding, stretched by the run before it
        assert (gap[lucky.step, np.arange(lucky.x.size)] < 1e-11).all()
        assert (gap[lucky.step - 1, np.arange(lucky.x.size)] > 1e-5).all()


def test_the_rule_itself():
    assert d.criteria.rule_lr(0.5, 4, 2.0) == 0.5 * d.max_stable_lr(4, 2.0)
    assert d.criteria.rule_lr(0.5, 4, 2.0, rule="agnostic") == 0.125


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: d.sweep(1.0, 2, 0.5, rule="best"), "rule = 'best'"),
        (lambda: d.sweep(0.0, 2, 0.5), "x = 0.0"),
        (lambda: d.sweep(1.0, math.inf, 0.5), "depth = inf"),
        (lambda: d.sufficient_lr(2, 0.5, threshold=0.0), "threshold = 0.0"),
        (lambda: d.sufficient_lr(2, 0.5, "residual2"), "r = 0.5"),
        (lambda: d.exact_argmin([2], 0.5, low=1.0, high=1.0), "high = 1.0"),
        (lambda: d.sweep([1.0, 2.0], [2, 3, 4], 0.5), r"x of shape \(2,\), depth of shape \(3,\)"),
        (lambda: d.sweep([1.0, 2.0], 2, 0.5, init=[0.1] * 3), r"x of shape \(2,\), init of shape \(3,\)"),
        (lambda: d.criteria.rule_lr([1.0, 2.0], 2, [0.5] * 3), r"x of shape \(2,\), r of shape \(3,\)"),
        (lambda: d.sufficient_lr([2, 3], [0.5] * 3), r"depth of shape \(2,\), r of shape \(3,\)"),
        (lambda: d.sufficient_lr(2, 0.5, threshold=[1e-6]), r"threshold of shape \(1,\)"),
        (lambda: d.sufficient_lr(2, 0.5, init=-1.0), "init = -1.0"),
        (lambda: d.exact_argmin([[2]], 0.5), r"depths of shape \(1, 1\)"),
        (lambda: d.exact_argmin([2], [0.5]), r"r of shape \(1,\)"),
        (lambda: d.exact_argmin([2], 0.5, low=[0.5]), r"low of shape \(1,\)"),
        (lambda: d.exact_argmin([2], 0.5, init=[0.1]), r"init of shape \(1,\)"),
        (lambda: d.exact_argmin([2], 0.5, init=-1), "init = -1 .*at least 0"),
        (lambda: d.landing_lrs(2, [0.5]), r"r of shape \(1,\)"),
        (lambda: d.landing_lrs(2, 0.5, high=[2.0]), r"high of shape \(1,\)"),
        (lambda: d.landing_lrs(2, 0.5, init=[0.1]), r"init of shape \(1,\)"),
        (lambda: d.exact_argmin([2], 0.5, digits=3), "digits = 3"),
        (lambda: d.landing_lrs(2, 0.5, high=1.0), "high = 1.0"),
    ],
)
def test_refusals_name_the_argument_and_the_value(call, named):
    with pytest.raises(ValueError, match=named):
        call()
