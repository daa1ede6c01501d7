"""The smallest sufficient rate: against scans apart from this package, its independence of the grid, and the flow."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from lrtransfer import depth as d

DEPTHS = [2, 4, 8, 16, 32, 64, 128]


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


@pytest.mark.parametrize("rule", ["exact", "agnostic"])
def test_a_window_narrower_than_the_scan_is_found(rule):
    # block two at r = 4: the windows are about 2e-4 wide, so a scan of 1e-3 sees them by their change of sign alone
    x = d.sufficient_lr([8, 64], 4.0, "residual2", rule)
    for depth, found in zip((8, 64), x, strict=True):
        grid = np.arange(1, 260_000) * 1e-5
        low = grid[d.sweep(grid, depth, 4.0, "residual2", rule) <= 1e-6]
        assert low[0] - 1e-5 < found <= low[0]
        assert d.sweep(found + 5e-4, depth, 4.0, "residual2", rule) > 1e-6
    np.testing.assert_allclose(d.sufficient_lr([8, 64], 4.0, "residual2", rule, spacing=1.3e-3), x, atol=2e-9)


def test_no_rate_suffices():
    assert d.sufficient_lr(8, 4.0, "residual2", high=1.5) == math.inf
    mixed = d.sufficient_lr([2, 8], 4.0, "residual2", high=1.5)
    assert np.isfinite(mixed[0]) and mixed[1] == math.inf


def test_a_zero_error_is_enough():
    # one layer at r = 1: a(t) - 1 = -0.9 (1 - x)^t, so with two steps x = 1 - (size / 0.9)^(1/2)
    assert d.sufficient_lr(1, 1.0, steps=2) == pytest.approx(1 - math.sqrt(math.sqrt(2e-6) / 0.9), abs=2e-9)


@pytest.mark.parametrize(
    ("arch", "r", "start"),
    [("chain", 2.0, 0.1), ("residual1", 2.0, 0.01), ("residual1", 0.5, 0.01), ("residual2", 3.0, 0.02)],
)
def test_the_flow_s_rate_against_an_integrator(arch, r, start):
    depth, steps = 4, 30
    lr = float(d.flow_lr(depth, r, arch, steps=steps, init=start)) / d.sharpness(depth, r, arch=arch)
    w0 = start ** (1 / depth) if arch == "chain" else start

    def velocity(_, w):  # gradient flow of one of the equal layers, at this rate
        factor, slope = {
            "chain": (w, 1.0),
            "residual1": (1 + w / math.sqrt(depth), 1 / math.sqrt(depth)),
            "residual2": (1 + w * w / depth, 2 * w / depth),
        }[arch]
        return lr * (r - factor**depth) * factor ** (depth - 1) * slope

    end = solve_ivp(velocity, (0, steps), [w0], rtol=1e-11, atol=1e-13).y[0, -1]
    assert d.loss(end, depth, r, arch=arch) == pytest.approx(1e-6, rel=1e-5)


def test_the_two_units_of_the_flow_s_rate():
    exact, agnostic = d.flow_lr(DEPTHS, 2.0), d.flow_lr(DEPTHS, 2.0, rule="agnostic")
    np.testing.assert_allclose(agnostic / exact, d.agnostic_optimum(DEPTHS, 2.0), rtol=1e-13)
    # many small steps are the flow: the measured rate in units of the time needed tends to one
    slow = d.sufficient_lr(8, 0.5, steps=3000, high=0.05, spacing=1e-4) / d.flow_lr(8, 0.5, steps=3000)
    assert slow == pytest.approx(1.0, abs=2e-3)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: d.sufficient_lr(2, 0.5, threshold=0.0), "threshold = 0.0"),
        (lambda: d.sufficient_lr(2, 0.5, "residual2"), "r = 0.5"),
        (lambda: d.sufficient_lr([2, 3], [0.5] * 3), r"depth of shape \(2,\), r of shape \(3,\)"),
        (lambda: d.sufficient_lr(2, 0.5, threshold=[1e-6]), r"threshold of shape \(1,\)"),
        (lambda: d.sufficient_lr(2, 0.5, init=-1.0), r"init = -1\.0"),
        (lambda: d.flow_lr(2, 0.5, init=0.0), r"init = 0\.0"),
        (lambda: d.flow_lr(2, 0.5, init=0.5), r"init = 0\.5"),
        (lambda: d.flow_lr(2, [0.5]), r"r of shape \(1,\)"),
        (lambda: d.flow_lr(2, 0.5, rule="best"), "rule = 'best'"),
        (lambda: d.flow_lr(2, 0.5, steps=0), "steps = 0"),
    ],
)
def test_refusals_name_the_argument_and_the_value(call, named):
    with pytest.raises(ValueError, match=named):
        call()
