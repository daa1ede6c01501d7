"""Above the stability edge: cycles, chaos and divergence, against theory and plain loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lrtransfer import depth as d


def map_of(mu, depth):
    return lambda w: w + mu / depth * (1 - w**depth) * w ** (depth - 1)


def test_attractor_equals_a_plain_loop():
    got = d.attractor([0.8, 1.7, 2.2], [[2], [3]], 0.3, burn=7, keep=3)
    assert got.shape == (3, 2, 3)
    for i, depth in enumerate((2, 3)):
        for j, mu in enumerate((0.8, 1.7, 2.2)):
            w, path = 0.3 ** (1 / depth), []
            for _ in range(10):
                w = map_of(mu, depth)(w)
                path.append(w**depth)
            # ten steps of a map whose slope is below 2 amplify a rounding at most a thousandfold
            np.testing.assert_allclose(got[:, i, j], path[-3:], rtol=1e-12)
    assert np.isinf(d.attractor(6.0, 2, 0.3, burn=200, keep=2)).all()


def test_flip_coefficient_against_the_derivatives():
    for depth in (1, 2, 3, 8, 40):
        coefficients = np.zeros(2 * depth)
        coefficients[1] += 1
        coefficients[depth - 1] += 2 / depth
        coefficients[2 * depth - 1] -= 2 / depth
        poly = np.polynomial.Polynomial(coefficients)
        first, second, third = (poly.deriv(k)(1.0) for k in (1, 2, 3))
        assert first == pytest.approx(-1.0, abs=1e-12)
        # third is a difference of numbers of order L^3
        assert d.flip_coefficient(depth) == pytest.approx(second**2 / 2 + third / 3, rel=1e-11, abs=1e-12)


def test_slow_convergence_at_the_edge():
    # |w - 1| = (a t)^(-1/2) with corrections of relative order ln(t)/t: 1 per cent at t = 20000
    for depth in (2, 8):
        alpha = d.attractor(2.0, depth, 0.5, burn=19_999, keep=1)[0]
        w = alpha ** (1 / depth)
        assert abs(w - 1) * math.sqrt(d.flip_coefficient(depth) * 20_000) == pytest.approx(1.0, rel=0.02)


def test_two_cycle_above_the_edge():
    e = 1e-3  # amplitude (2 e / a)^(1/2), next order relative e^(1/2); 20000 steps are 40 relaxation times
    for depth in (2, 16):
        alpha = d.attractor(2 + e, depth, 0.5, burn=20_000, keep=2)
        width = np.ptp(alpha ** (1 / depth)) / 2
        assert width == pytest.approx(math.sqrt(2 * e / d.flip_coefficient(depth)), rel=0.02)


@pytest.mark.parametrize("depth", [2, 3, 8, 128])
def test_two_cycle_is_one_of_the_map(depth):
    v1 = -0.3
    v2, mu, multiplier = d.thresholds.two_cycle(v1, 1 / depth)
    f = map_of(mu, depth)
    low, high = math.exp(v1 / depth), math.exp(v2 / depth)
    assert f(low) == pytest.approx(high, rel=1e-13) and f(high) == pytest.approx(low, rel=1e-13)
    h = 1e-6
    slope = (f(f(low + h)) - f(f(low - h))) / (2 * h)
    assert multiplier == pytest.approx(slope, abs=1e-5 * depth**2)  # h^2 f'''/6, f''' of order L^3


def test_a_two_cycle_far_below_the_minimum_is_finite():
    for inverse_depth in (0.0, 0.5):
        assert np.isfinite(d.thresholds.two_cycle(-300.0, inverse_depth)).all()


def test_end_of_the_two_cycle():
    assert d.end_of_two_cycle(2) == pytest.approx(2 * (math.sqrt(5) - 1), rel=1e-12)
    ends = d.end_of_two_cycle([2, 3, 4, 8, 16, 32, 64, 128, math.inf])
    np.testing.assert_allclose(ends, [2.472, 2.489, 2.495, 2.5, 2.502, 2.503, 2.503, 2.503, 2.503], atol=1e-3)
    assert (np.diff(ends) > 0).all()
    # the limit is approached like 1/L^2 ... 1/L: a tenfold depth brings it at least about tenfold closer
    gaps = ends[-1] - d.end_of_two_cycle([100, 1000, 10_000])
    assert (gaps[1:] < 0.11 * gaps[:-1]).all()
    # what the run does on either side; the multiplier is -1 -+ about 5e-3 there, so 20000 steps decide
    for depth, end in zip((2, 8, 128), d.end_of_two_cycle([2, 8, 128]), strict=True):
        assert d.classify([end - 1e-3, end + 1e-3], depth).tolist() == ["period-2", "bounded"]


def test_regimes_of_figure_3():
    words = d.classify([0.5, 1.0, 1.5, 1.95, 2.0, 2.05, 2.6], np.array([1, 2, 4, 128])[:, None])
    assert words.shape == (4, 7)
    assert words[0].tolist() == [*["monotone"] * 2, *["oscillating"] * 2, "period-2", "diverged", "diverged"]
    for row in words[1:]:
        assert row.tolist() == [*["monotone"] * 2, *["oscillating"] * 3, "period-2", "bounded"]
    assert d.classify(4.1, 2) == "diverged"
    assert d.classify([2.5, 2.5], [1, 2], 1.0).tolist() == ["monotone", "monotone"]  # starts on the minimum


def test_crisis():
    assert d.crisis(2) == pytest.approx(4.0, rel=1e-12)
    for depth in (4, 32):  # even depth: the map is odd, so the repelling cycle is p, -p
        mu = d.crisis(depth)
        f = map_of(mu, depth)
        top = f(np.linspace(0.0, 1.0, 200_001)).max()  # on a grid of 5e-6 the maximum is good to 1e-9
        assert f(top) == pytest.approx(-top, abs=1e-9 * depth**3)
    f = map_of(d.crisis(3), 3)
    top = f(np.linspace(0.0, 1.0, 200_001)).max()
    assert f(f(top)) == pytest.approx(top, abs=1e-7)


@settings(max_examples=40, deadline=None)
@given(st.integers(2, 40), st.floats(0.05, 0.999), st.floats(0.001, 1.0))
def test_nothing_diverges_below_the_crisis(depth, share, alpha0):
    alpha = d.attractor(share * d.crisis(depth), depth, alpha0, burn=500, keep=1)
    assert np.isfinite(alpha).all()


def test_first_divergence():
    # grid of .001, 20000 steps from 0.01
    assert d.first_divergence(1, low=1.9, high=2.1) == 2.001
    assert d.first_divergence(2, low=3.9, high=4.1) == 4.001
    assert d.first_divergence(3, low=4.29, high=4.31) == 4.302
    # deeper, rounding picks the rate: just above the crisis, see the docstring
    for depth in (4, 8):
        crisis = d.crisis(depth)
        assert crisis < d.first_divergence(depth, low=crisis - 0.05, high=crisis + 0.05) < crisis + 0.03
    assert d.first_divergence(64, low=7.9, high=8.0, steps=2000) == math.inf


def test_momentum_moves_the_edge_as_on_a_quadratic():
    depths, momenta = np.array([1, 2, 8, 128])[:, None], np.array([0.0, 0.3, 0.9])
    edges = d.momentum_edge(depths, momenta, steps=2000, tolerance=1e-4)
    assert edges.shape == (4, 3)
    short = 2 * (1 + momenta) - edges
    assert (short >= -1e-6).all() and (short <= 1e-4 + 0.6 / 2000).all()  # the two errors of the docstring
    bias = (1 - 0.3) * math.log(1.3 / 0.7) / 500
    assert 2.6 - d.momentum_edge(8, 0.3, steps=500, tolerance=1e-6) == pytest.approx(bias, rel=0.1)


def test_the_momentum_edge_separates_plain_loops():
    for depth, m in ((3, 0.5), (16, 0.8)):
        edge = float(d.momentum_edge(depth, m))
        for inv_tau, returned in ((edge - 1e-2, True), (edge + 1e-2, False)):
            u, v = (1 + 1e-4) ** (1 / depth), 0.0
            start = u - 1
            for _ in range(6000):
                v = m * v + inv_tau / depth * (1 - u**depth) * u ** (depth - 1)
                u += v
            assert (abs(u - 1) < start) == returned


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: d.momentum_edge(0, 0.5), "depth = 0"),
        (lambda: d.momentum_edge(2, -0.1), "momentum = -0.1"),
        (lambda: d.momentum_edge(2, 1.0), "momentum = 1.0"),
        (lambda: d.momentum_edge(2, 0.5, high=1.0, steps=100), "high = 1.0"),
        (lambda: d.momentum_edge(2, 0.5, tolerance=0.0), "tolerance = 0.0"),
        (lambda: d.momentum_edge(2, 0.5, steps=0), "steps = 0"),
        (lambda: d.momentum_edge([2, 3], [0.1] * 3), r"depth of shape \(2,\), momentum of shape \(3,\)"),
        (lambda: d.attractor(0.0, 2), "inv_tau = 0.0"),
        (lambda: d.attractor(1.0, math.inf), "depth = inf"),
        (lambda: d.attractor(1.0, 2, 0.0), "alpha0 = 0.0"),
        (lambda: d.attractor(1.0, 2, keep=0), "keep = 0"),
        (lambda: d.classify(1.0, 2, burn=-1), "burn = -1"),
        (lambda: d.attractor([1.0, 1.1], [2, 3, 4]), r"inv_tau of shape \(2,\), depth of shape \(3,\)"),
        (lambda: d.classify(1.0, [2, 3], [0.1] * 3), r"depth of shape \(2,\), alpha0 of shape \(3,\)"),
        (lambda: d.first_divergence(2, [0.1]), r"alpha0 of shape \(1,\)"),
        (lambda: d.first_divergence(2, low=[0.1]), r"low of shape \(1,\)"),
        (lambda: d.first_divergence(2, high=[8.0]), r"high of shape \(1,\)"),
        (lambda: d.first_divergence(2, spacing=0.0), "spacing = 0.0"),
        (lambda: d.end_of_two_cycle(1), "depth = 1 is"),
        (lambda: d.crisis(1), "depth = 1 is"),
        (lambda: d.crisis(math.inf), "depth = inf"),
        (lambda: d.flip_coefficient(0), "depth = 0"),
        (lambda: d.thresholds.two_cycle(0.0, 0.5), "v1 = 0.0"),
        (lambda: d.thresholds.two_cycle(-301.0, 0.5), "v1 = -301.0"),
        (lambda: d.thresholds.two_cycle(-1.0, 0.6), "inverse_depth = 0.6"),
    ],
)
def test_refusals_name_the_argument_and_the_value(call, named):
    with pytest.raises(ValueError, match=named):
        call()
