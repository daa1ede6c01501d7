"""Closed forms of the Depth chapter: limits, algebra, refusals, and numbers computed independently."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lrtransfer import depth as d

ARCHS = ("chain", "residual1", "residual2")
depths = st.integers(1, 10**6)
ratios = st.floats(1.01, 50.0)
archs = st.sampled_from(ARCHS)
# A handful of operations on numbers whose logarithms are O(10): a few hundred units in the last place.
ROUNDING = 1e-13


def test_sharpness_against_independent_numbers():
    # mu_xx = 1.3, mu_yx = 2; computed apart from this package and printed to ten digits
    expected = {
        "chain": [1.3, 4.0, 9.922778767, 22.10217255, 46.64990796, 194.289869],
        "residual1": [1.3, 2.0, 2.480694692, 2.762771569, 2.915619248, 3.035779203],
        "residual2": [2.8, 1.922778767, 1.12830751, 0.6113907139, 0.3182649873, 0.08201081065],
    }
    for arch, values in expected.items():
        np.testing.assert_allclose(d.sharpness([1, 2, 4, 8, 16, 64], 2 / 1.3, 1.3, arch), values, rtol=5e-10)


def test_sharpness_need_not_grow_with_depth():
    s = d.sharpness(np.arange(1, 7), 0.1)
    assert (np.diff(s) < 0).tolist() == [True, True, True, True, False]  # falls while L < 2 ln(1/r) = 4.6
    assert (np.diff(d.sharpness(np.arange(1, 7), 0.1, arch="residual1")) < 0).all()
    s = d.sharpness(np.arange(1, 6), 16.0, arch="residual2")
    np.testing.assert_allclose(s[[0, 1, 3]], [60.0, 192.0, 256.0], rtol=ROUNDING)
    assert s.argmax() == 3  # grows up to L = log2(16)


def test_deep_limits():
    # The distance to each limit is O(1/L): 2 ln(r) / L relative for residual1, at most that for residual2.
    r, deep = 3.0, 10**9
    assert d.sharpness(math.inf, r, arch="residual1") == pytest.approx(r**2, rel=1e-15)
    assert d.sharpness(math.inf, r, arch="residual2") == 0.0
    assert d.sharpness(deep, r, arch="residual1") == pytest.approx(r**2, rel=5e-9)
    assert deep * d.sharpness(deep, r, arch="residual2") == pytest.approx(4 * r**2 * math.log(r), rel=5e-9)
    assert d.max_stable_lr(math.inf, r) == 0.0
    assert d.transfer_lr(0.1, 4, math.inf, r) == 0.0
    assert d.transfer_lr(0.1, 4, math.inf, r, "residual1") == pytest.approx(0.1 * r**-0.5, rel=ROUNDING)
    assert d.transfer_lr(0.1, math.inf, 4, r, "residual2") == 0.0
    assert d.agnostic_optimum(math.inf, r) == pytest.approx(r**-2, rel=ROUNDING)
    assert d.agnostic_optimum(math.inf, r, "residual2") == 1.0
    assert d.effective_exponent(2, math.inf, r) == d.effective_exponent(math.inf, math.inf, r) == 1.0


def test_rate_constant_of_residual2_at_huge_depth():
    mpmath = pytest.importorskip("mpmath")
    with mpmath.workdps(60):
        r, depth = mpmath.mpf(1.5), 10**9
        exact = 4 * r ** (2 - mpmath.mpf(2) / depth) * (r ** (mpmath.mpf(1) / depth) - 1)
    assert d.sharpness(10**9, 1.5, arch="residual2") == pytest.approx(float(exact), rel=ROUNDING)


def test_effective_exponent():
    expected = [0.5, 0.625, 0.7083333333, 0.765625, 0.80625, 0.8359375]  # from L0 = 2 at r = 0.5
    np.testing.assert_allclose(d.effective_exponent(2, [4, 8, 16, 32, 64, 128], 0.5), expected, rtol=5e-10)
    assert d.effective_exponent(8, 8, 2.0) == pytest.approx(1 + 2 * math.log(2.0) / 8, rel=ROUNDING)
    # at neighbours x = ln(L/L0) = 1/L, and the slope differs from the limit by x/2 relative
    assert d.effective_exponent(10**8, 10**8 + 1, 2.0) - 1 == pytest.approx(2 * math.log(2.0) / 1e8, rel=1e-6)


@given(depths, depths, st.floats(0.05, 50.0))
def test_effective_exponent_is_the_exponent_of_the_transfer(source, target, r):
    if source != target:
        p = d.effective_exponent(source, target, r)
        quotient = d.transfer_lr(1.0, source, target, r)
        # p is an exponent: its rounding is that of ln(quotient), amplified by 1 / ln(L / L0) for close depths
        slack = 1e-12 / abs(math.log(target / source))
        assert p == pytest.approx(-math.log(quotient) / math.log(target / source), rel=1e-12, abs=slack)


@given(st.floats(1e-6, 1e3), depths, depths, depths, ratios, archs)
def test_transfer_composes_and_inverts(lr, first, second, third, r, arch):
    there = d.transfer_lr(lr, first, second, r, arch)
    assert d.transfer_lr(there, second, third, r, arch) == pytest.approx(
        d.transfer_lr(lr, first, third, r, arch), rel=ROUNDING
    )
    assert d.transfer_lr(there, second, first, r, arch) == pytest.approx(lr, rel=ROUNDING)


@given(depths, depths, ratios, st.floats(0.01, 100.0), archs, st.floats(0.1, 10.0))
def test_transfer_keeps_the_time_constant(first, second, r, mu_xx, arch, tau):
    lr = d.max_stable_lr(first, r, mu_xx, arch, tau)
    moved = d.transfer_lr(lr, first, second, r, arch)
    assert moved * d.sharpness(second, r, mu_xx, arch) * tau == pytest.approx(1.0, rel=ROUNDING)
    assert d.stability_edge(first, r, mu_xx, arch) == pytest.approx(2 * tau * lr, rel=ROUNDING)


@given(depths, ratios, st.floats(0.01, 100.0), archs)
def test_agnostic_rule_meets_the_exact_one_at_its_optimum(depth, r, mu_xx, arch):
    x = d.agnostic_optimum(depth, r, arch)
    assert d.agnostic_lr(x, depth, r, mu_xx, arch) == pytest.approx(
        d.max_stable_lr(depth, r, mu_xx, arch), rel=ROUNDING
    )


def test_limits_of_depth_where_the_factor_beside_them_overflows():
    # 0 or infinite in the limit L -> inf, whatever the finite factor is
    assert d.transfer_lr(0.1, 1, math.inf, 1e-200) == 0.0
    assert d.transfer_lr(0.1, math.inf, 1, 1e300, "residual2") == 0.0
    assert d.sharpness(math.inf, 1e154, 1e300, "residual2") == 0.0
    assert d.max_stable_lr(math.inf, 1e-200) == 0.0
    assert d.agnostic_lr(1e300, 10**9, 1e160, arch="residual2") == 0.0


def test_arguments_broadcast():
    s = d.sharpness(np.array([1, 2, 4])[:, None], [1.5, 2.0], 1.0, "residual2")
    assert s.shape == (3, 2) and s[1, 1] == d.sharpness(2, 2.0, arch="residual2")
    assert d.transfer_lr([0.1, 0.2], 4, [[8], [16]], 2.0).shape == (2, 2)
    assert d.agnostic_lr([0.1, 0.2], 4, 2.0, arch="residual1").shape == (2,)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: d.sharpness(0, 1.0), "depth = 0 is"),
        (lambda: d.sharpness(2.5, 1.0), "depth = 2.5"),
        (lambda: d.sharpness(2, -1.0), "r = -1.0"),
        (lambda: d.sharpness(2, math.nan), "r = nan"),
        (lambda: d.sharpness(2, 1.0, 0.0), "mu_xx = 0.0"),
        (lambda: d.sharpness(2, 1.0, arch="residual2"), "r = .*above 1"),
        (lambda: d.sharpness(2, 1.0, arch="mlp"), "arch = 'mlp'"),
        (lambda: d.sharpness(math.inf, 1.0), "depth = inf"),
        (lambda: d.sharpness("2", 1.0), "depth = '2'"),
        (lambda: d.max_stable_lr(math.inf, 2.0, arch="residual2"), "depth = inf"),
        (lambda: d.max_stable_lr(2, 2.0, tau=0.0), "tau = 0.0"),
        (lambda: d.stability_edge(math.inf, 2.0, arch="residual2"), "depth = inf"),
        (lambda: d.transfer_lr(0.0, 2, 4, 2.0), "lr = 0.0"),
        (lambda: d.transfer_lr(math.inf, 2, 4, 2.0), "lr = inf"),
        (lambda: d.transfer_lr(0.1, math.inf, 4, 2.0), "from_depth = inf"),
        (lambda: d.transfer_lr(0.1, 4, math.inf, 2.0, "residual2"), "to_depth = inf"),
        (lambda: d.effective_exponent(2, 4, 0.0), "r = 0.0"),
        (lambda: d.agnostic_lr(-1.0, 2, 2.0), "x = -1.0"),
        (lambda: d.sharpness([1, 2], [1.0, 2.0, 3.0]), r"depth of shape \(2,\), r of shape \(3,\)"),
        (lambda: d.max_stable_lr(2, [1.0, 2.0], tau=[1.0] * 3), r"r of shape \(2,\), tau of shape \(3,\)"),
        (lambda: d.transfer_lr([0.1, 0.2], 2, [2, 3, 4], 2.0), r"lr of shape \(2,\), to_depth of shape \(3,\)"),
        (lambda: d.effective_exponent([2, 3], 4, [1.0] * 3), r"from_depth of shape \(2,\), r of shape \(3,\)"),
        (lambda: d.agnostic_lr([0.1, 0.2], [2, 3, 4], 2.0), r"x of shape \(2,\), depth of shape \(3,\)"),
        (lambda: d.agnostic_optimum([2, 3], [2.0] * 3), r"depth of shape \(2,\), r of shape \(3,\)"),
        (lambda: d.substitution_orders([2, 3], [2.0] * 3), r"depth of shape \(2,\), r of shape \(3,\)"),
        (lambda: d.agnostic_optimum(2, 1.0, "residual2"), "r = 1.0"),
    ],
)
def test_refusals_name_the_argument_and_the_value(call, named):
    with pytest.raises(ValueError, match=named):
        call()
