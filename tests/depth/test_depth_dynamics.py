"""Gradient descent of equal layers: against plain loops, independent numbers, and its own symmetries."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lrtransfer import depth as d
from lrtransfer.depth.scalar_map import LayerMap, WholePower, settle

ARCHS = ("chain", "residual1", "residual2")
PRINTED = 5e-10  # the independent numbers were printed to ten digits


def plain(lr, depth, steps, mu_yx, mu_xx, init, arch):
    """One run, one step at a time, each layer's derivative written out from Eqs. 4, 28 and 34."""
    w = init ** (1 / depth) if arch == "chain" else init
    path = [w]
    for _ in range(steps):
        if arch == "chain":
            slope, a = w ** (depth - 1), w**depth
        elif arch == "residual1":
            phi = 1 + w / math.sqrt(depth)
            slope, a = phi ** (depth - 1) / math.sqrt(depth), phi**depth
        else:
            phi = 1 + w * w / depth
            slope, a = 2 * w / depth * phi ** (depth - 1), phi**depth
        w = w + lr * (mu_yx - mu_xx * a) * slope
        path.append(w)
    return path


@pytest.mark.parametrize("arch", ARCHS)
def test_grid_equals_the_plain_loop(arch):
    depths, taus, init = [1, 2, 3, 6, 7, 20], [0.7, 1.0, 5.0], 0.1
    lr = d.max_stable_lr(depths, 2 / 1.3, 1.3, arch, np.array(taus)[:, None])
    path = d.gradient_descent(lr, depths, 40, mu_yx=2.0, mu_xx=1.3, init=init, arch=arch)
    assert path.shape == (41, 3, 6)
    for i in range(3):
        for j, depth in enumerate(depths):
            # stable runs contract, so rounding stays at a few L 2^-53 (block one also cancels 1 from phi)
            expected = plain(float(lr[i, j]), depth, 40, 2.0, 1.3, init, arch)
            np.testing.assert_allclose(path[:, i, j], expected, rtol=0, atol=1e-13)


@given(st.lists(st.integers(0, 300), min_size=1, max_size=120), st.floats(-1.3, 1.3))
def test_power_by_squaring(exponents, base):
    e = np.array(exponents)
    power = WholePower(e)
    with np.errstate(all="ignore"):
        got = power(np.full(e.shape, base))
    expected = np.array([float(base) ** int(k) for k in exponents])
    # each of the e - 1 factors carries at most half a unit in the last place
    assert (np.abs(got - expected) <= 2.3e-16 * np.maximum(e, 1) * np.abs(expected) + 5e-324).all()


def test_power_of_blocks_is_the_power_of_each_entry():
    base = np.linspace(-1.1, 1.1, 60)
    for e in ([2, 3, 8, 12, 37], [1, 5, 0, 128, 127], [4, 4, 2, 7, 7]):
        exponent = np.array(e)
        np.testing.assert_array_equal(WholePower(exponent, 12)(base), WholePower(np.repeat(exponent, 12))(base))


@pytest.mark.parametrize("arch", ARCHS)
def test_dividing_equals_multiplying(arch):
    depth, lr = np.array([1.0, 2.0, 3.0, 7.0, 64.0])[:, None], np.linspace(0.0, 0.01, 9) * np.ones((5, 1))
    ends = []
    for divide in (False, True):
        run = LayerMap(depth, lr, np.float64(1.5), np.float64(1.0), arch, divide=divide)
        run.variable[:] = 0.9
        for _ in range(20):
            run.step()
        ends.append(run.variable)
    # phi^L is rounded L times, relative to itself, in either order; these runs contract
    np.testing.assert_allclose(ends[1], ends[0], rtol=64 * 2.3e-16)


def test_zero_is_rest_and_not_divergence():
    # phi = 0 rests from two layers on, one layer leaves it, and a neighbour that diverges does not matter
    w = d.gradient_descent([0.1, 0.1, 0.1, 50.0], [1, 2, 64, 6], 60, mu_yx=2.0, init=[0.0, 0.0, 0.0, 0.9])
    np.testing.assert_allclose(w[:, 0], 2.0 * (1.0 - 0.9 ** np.arange(61)), rtol=1e-14)
    assert (w[:, 1:3] == 0.0).all() and np.isinf(w[-1, 3])
    # block one rests at phi = 1 + w/sqrt(L) = 0, here w = -2
    assert (d.gradient_descent(0.1, 4, 5, mu_yx=2.0, init=-2.0, arch="residual1") == -2.0).all()
    # 0.5 -> 0 exactly: phi + lr (r - phi^2) phi with lr = 16, r = 0.1875 = 1/4 - 1/16
    w = d.gradient_descent(16.0, 2, 4, mu_yx=0.1875, init=0.25)
    np.testing.assert_array_equal(w, [0.5, 0.0, 0.0, 0.0, 0.0])


def test_growth_from_a_start_whose_total_weight_underflows():
    # far below the minimum two layers grow by the factor 1 + lr mu_yx a step, though w^2 is 0 in floats
    w = d.gradient_descent(0.5, [2, 3], 6, mu_yx=1.0, init=5e-324)
    np.testing.assert_allclose(w[:, 0], w[0, 0] * 1.5 ** np.arange(7), rtol=1e-14)
    assert (w[:, 1] == w[0, 1]).all()  # three layers grow by 1 + lr mu_yx w, which is 1 in floats


def test_settling_tells_rest_from_divergence():
    nan, inf = math.nan, math.inf
    values = np.array([[0.5, 0.5, 0.0, 0.5], [0.0, -inf, inf, 0.1], [nan, nan, nan, 0.2], [nan, nan, nan, 0.3]])
    settle(values)
    np.testing.assert_array_equal(
        values, [[0.5, 0.5, 0.0, 0.5], [0, inf, inf, 0.1], [0, inf, inf, 0.2], [0, inf, inf, 0.3]]
    )


def test_layout_does_not_matter():
    depth, lr = np.arange(1, 101), np.array([0.01, 0.1])  # more runs of equal depth than have a slice each
    across = d.gradient_descent(lr, depth[:, None], 5, mu_yx=0.8, init=0.1)
    along = d.gradient_descent(lr[:, None], depth, 5, mu_yx=0.8, init=0.1)
    one_by_one = np.stack([d.gradient_descent(lr, int(k), 5, mu_yx=0.8, init=0.1) for k in depth], axis=1)
    np.testing.assert_array_equal(across, np.swapaxes(along, 1, 2))
    np.testing.assert_array_equal(across, one_by_one)


def test_trajectories_of_figure_3():
    # alpha at steps 10, 50, 100, 149, 150 from 0.01 with mu = 1
    expected = {
        (1.0, 2): [0.9999999999, 1.0, 1.0, 1.0, 1.0],
        (1.0, 128): [0.01118135472, 0.0209734084, 0.7212699968, 1.0, 1.0],
        (1.5, 32): [0.01241458756, 0.1077162643, 1.0, 1.0, 1.0],
        (1.95, 1): [0.4072504302, 0.9238244745, 0.9941386761, 1.000474736, 0.9995490006],
        (1.95, 64): [0.01280684447, 0.9938605684, 0.9995316508, 1.000037913, 0.99996398],
        (2.05, 1): [-0.6126056805, -10.35272579, -129.1862453, 1422.807353, -1491.897721],
        (2.05, 4): [0.4193725418, 1.101038289, 1.100850922, 0.8807881472, 1.100850222],
        (2.05, 128): [0.01273659041, 0.8963476211, 0.9064951518, 1.078662895, 0.9065272845],
    }
    for (inverse, depth), values in expected.items():
        w = d.gradient_descent(inverse * d.max_stable_lr(depth, 1.0), depth, 150, mu_yx=1.0, init=0.01)
        alpha = d.relative_weight(w, depth, 1.0)[[10, 50, 100, 149, 150]]
        np.testing.assert_allclose(alpha, values, rtol=PRINTED)


def test_residual_losses_of_figures_6_and_8():
    expected = {
        ("residual1", 0.1, 8): [0.2309076177, 0.1336136398, 0.06890155937, 0.01351738827, 0.0002660386146],
        ("residual1", 0.01, 128): [0.3874381001, 0.2702179011, 0.1710171669, 0.04913328648, 0.001389262098],
        ("residual1", 1.0, 4): [4.689453125, 0.2821355019, 0.06031739303, 0.00516370249, 6.625325999e-05],
        ("residual1", 1.0, 16): [562.0344506, 1.999999711, 1.999999711, 1.999999711, 1.999999711],
        ("residual1", 1.0, 32): [16362.11442, math.inf, math.inf, math.inf, math.inf],
    }
    for (arch, init, depth), values in expected.items():
        lr = d.max_stable_lr(depth, 2.0, arch=arch, tau=10.0)
        w = d.gradient_descent(lr, depth, 40, mu_yx=2.0, init=init, arch=arch)[[0, 5, 10, 20, 40]]
        np.testing.assert_allclose(d.loss(w, depth, 2.0, arch=arch), values, rtol=2e-9)
    lr = d.max_stable_lr([2, 128], 2.0, arch="residual2", tau=10.0)
    w = d.gradient_descent(lr, [2, 128], 200, mu_yx=2.0, init=0.01, arch="residual2")[[50, 100, 200]]
    values = [[0.4980473926, 0.4993939824], [0.4628368974, 0.4963275718], [1.58378582e-05, 0.3674612867]]
    np.testing.assert_allclose(d.loss(w, [2, 128], 2.0, arch="residual2"), values, rtol=2e-9)


def test_plotted_losses_of_figures_1a_5_and_7():
    np.testing.assert_allclose(
        d.loss([0.5, 0.9, 1.2], 10, 1.0), [0.4990239143, 0.2121098872, 13.47706354], rtol=PRINTED
    )
    np.testing.assert_allclose(
        d.loss([-1, 0.5, 1], 8, 2.0, arch="residual1"), [1.939470456, 1.407000162, 42.93740262], rtol=PRINTED
    )
    np.testing.assert_allclose(
        d.loss([0, 0.5, 1], 8, 2.0, arch="residual2"), [0.5, 0.2598331316, 0.1600560581], rtol=PRINTED
    )


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 40), st.floats(0.1, 10.0), st.floats(0.1, 10.0), st.floats(0.05, 0.9), st.floats(0.2, 1.9))
def test_alpha_does_not_depend_on_the_data_under_the_exact_rule(depth, mu_yx, mu_xx, alpha0, inverse):
    def alpha(yx, xx):
        lr = inverse * d.max_stable_lr(depth, yx / xx, xx)
        w = d.gradient_descent(lr, depth, 20, mu_yx=yx, mu_xx=xx, init=alpha0 * yx / xx)
        return d.relative_weight(w, depth, yx, xx)

    # A weight is rounded to 2^-53 and alpha = w^L / r to L times that; the transient amplifies it a little
    np.testing.assert_allclose(alpha(mu_yx, mu_xx), alpha(1.0, 1.0), rtol=0, atol=1e-11)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 60), st.floats(0.2, 5.0), st.floats(-0.5, 0.5), st.floats(0.1, 1.9))
def test_block_one_is_the_chain_in_phi_at_lr_over_depth(depth, r, init, inverse):
    lr = inverse * d.max_stable_lr(depth, r, arch="residual1")
    w = d.gradient_descent(lr, depth, 10, mu_yx=r, init=init, arch="residual1")
    phi = 1 + init / math.sqrt(depth)
    chain = d.gradient_descent(lr / depth, depth, 10, mu_yx=r, init=phi**depth)
    assert (np.isfinite(w) == np.isfinite(chain)).all()
    finite = np.isfinite(w)
    # phi(0) passes through phi^L and back, a few units in the last place; a start above the minimum can
    # overshoot and amplify them without bound, so only starts below it are compared
    if phi**depth <= r:
        np.testing.assert_allclose(1 + w[finite] / math.sqrt(depth), chain[finite], rtol=0, atol=1e-12)


def test_infinite_depth_of_block_two():
    # (1 + w^2/L)^L = exp(w^2) (1 - w^4/(2L) + ..): relative distance w^4/(2L), plus L roundings of phi
    assert d.total_weight(0.8, math.inf, "residual2") == pytest.approx(math.exp(0.64), rel=1e-15)
    assert d.total_weight(0.8, 10**6, "residual2") == pytest.approx(math.exp(0.64), rel=3e-7)
    assert d.loss([0.0, 0.5], [math.inf, 2], 2.0, arch="residual2").shape == (2,)


def test_divergence_is_infinite_for_ever_and_never_nan():
    for arch in ARCHS:
        w = d.gradient_descent([0.01, 50.0], 6, 60, mu_yx=2.0, init=0.9, arch=arch)
        assert np.isfinite(w[:, 0]).all()
        gone = np.isinf(w[:, 1])
        assert gone[-1] and (np.diff(gone.astype(int)) >= 0).all() and not np.isnan(w).any()
        assert (w[gone, 1] > 0).all()
        assert (d.loss(w[gone, 1], 6, 2.0, arch=arch) == np.inf).all()
        assert (d.total_weight(-np.inf, 3, arch) == np.inf).all()


def test_huge_depth():
    # a step of no length leaves the start as it is, whatever phi = 1 + w/sqrt(L) and a = phi^L lose of it
    for depth in (10**12, 10**15, 2**53):
        for init in (1e-8, 0.01):
            assert (d.gradient_descent(0.0, depth, 3, mu_yx=2.0, init=init, arch="residual1") == init).all()
    # else w is as good as phi: within half its spacing 2^-52 a step, times sqrt(L); against 60 digits
    depth, init, steps = 10**12, 1e-8, 30
    lr = d.max_stable_lr(depth, 2.0, arch="residual1", tau=3.0)
    w = d.gradient_descent(lr, depth, steps, mu_yx=2.0, init=init, arch="residual1")
    with localcontext(prec=60):
        root = Decimal(depth).sqrt()
        phi = 1 + Decimal(init) / root
        for _ in range(steps):
            a = phi**depth
            phi += Decimal(float(lr)) / depth * (2 - a) * a / phi
        assert abs(float((phi - 1) * root) - w[-1]) < (1 + steps) / 2 * 2.0**-52 * math.sqrt(depth)


def test_overflow_is_infinite():
    assert d.relative_weight(-1e300, 1, 1e-300) == math.inf
    assert d.loss(1e300, 2, 1e-310, 5e-324) == math.inf


def test_edges_of_the_range():
    w = d.gradient_descent(0.0, [1, 4], 3, mu_yx=1.0, init=0.5)
    np.testing.assert_array_equal(w, np.broadcast_to(w[0], (4, 2)))
    assert d.gradient_descent(0.1, 3, 0, mu_yx=1.0, init=0.5).shape == (1,)
    assert d.gradient_descent(0.5, 1, 1, mu_yx=1.0, init=0.0)[1] == 0.5  # one layer starts from 0,
    assert (d.gradient_descent(0.5, 2, 3, mu_yx=1.0, init=0.0) == 0.0).all()  # two layers do not
    w = d.gradient_descent(0.1, 7, 2, mu_yx=1.0, init=-0.3, arch="residual1")
    assert w[0] == -0.3
    negative = d.gradient_descent(0.3, 3, 4, mu_yx=1.0, init=20.0)  # overshoots to a negative weight and goes on
    assert (negative < 0).any() and np.isfinite(negative).all()


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: d.gradient_descent(-0.1, 2, 3, mu_yx=1.0, init=0.1), "lr = -0.1"),
        (lambda: d.gradient_descent(math.inf, 2, 3, mu_yx=1.0, init=0.1), "lr = inf"),
        (lambda: d.gradient_descent(0.1, math.inf, 3, mu_yx=1.0, init=0.1), "depth = inf"),
        (lambda: d.gradient_descent(0.1, 1e300, 3, mu_yx=1.0, init=0.1), "depth = "),
        (lambda: d.gradient_descent(0.1, 2, -1, mu_yx=1.0, init=0.1), "steps = -1"),
        (lambda: d.gradient_descent(0.1, 2, 3, mu_yx=0.0, init=0.1), "mu_yx = 0.0"),
        (lambda: d.gradient_descent(0.1, 2, 3, mu_yx=1.0, mu_xx=-1.0, init=0.1), "mu_xx = -1.0"),
        (lambda: d.gradient_descent(0.1, 2, 3, mu_yx=1.0, init=-0.1), "init = -0.1"),
        (lambda: d.gradient_descent(0.1, 2, 3, mu_yx=1.0, init=0.1, arch="residual2"), "mu_yx / mu_xx = 1.0"),
        (
            lambda: d.gradient_descent([0.1] * 2, 2, 3, mu_yx=1.0, init=[0.1] * 3),
            r"lr of shape \(2,\), init of shape \(3,\)",
        ),
        (lambda: d.loss([0.1] * 2, 2, [1.0] * 3), r"weight of shape \(2,\), mu_yx of shape \(3,\)"),
        (lambda: d.relative_weight(0.1, [2, 3], 1.0, [1.0] * 3), r"depth of shape \(2,\), mu_xx of shape \(3,\)"),
        (lambda: d.loss(0.1, 2, [1.0] * 2, [1.0] * 3), r"mu_yx of shape \(2,\), mu_xx of shape \(3,\)"),
        (lambda: d.total_weight([0.1] * 2, [2, 3, 4]), r"weight of shape \(2,\), depth of shape \(3,\)"),
        (lambda: d.loss(0.5, 4, 1e308, 1e-10), "mu_yx / mu_xx = inf"),
        (lambda: d.gradient_descent(0.1, 2, 3, mu_yx=1e308, mu_xx=1e-10, init=0.1), "mu_yx / mu_xx = inf"),
        (lambda: d.loss(math.nan, 2, 1.0), "weight = nan"),
        (lambda: d.total_weight(0.5, math.inf), "depth = inf"),
        (lambda: d.relative_weight(0.5, 2, 1.0, arch="x"), "arch = 'x'"),
    ],
)
def test_refusals_name_the_argument_and_the_value(call, named):
    with pytest.raises(ValueError, match=named):
        call()
