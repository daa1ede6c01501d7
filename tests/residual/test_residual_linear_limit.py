"""The linear network at infinite width: against revealed matrices, finite ensembles, closed forms and symmetries."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lrtransfer.numerics.fits import power_law
from lrtransfer.residual.theory.gaps import depth_gaps
from lrtransfer.residual.theory.lazy import linear_ntk
from lrtransfer.residual.theory.linear_fields import at_layer_times, chebyshev_nodes, layer_time_sweep
from lrtransfer.residual.theory.linear_limit import best_theory_lr, linear_kernels, linear_limit
from lrtransfer.residual.theory.nonlinear_limit import nonlinear_limit
from lrtransfer.residual.theory.trained_ensemble import train_ensemble

few = settings(max_examples=25, deadline=None)
rates, scales = st.floats(0.005, 0.08), st.floats(0.05, 2.0)


@pytest.mark.parametrize(
    ("lr", "gamma0", "depth", "steps", "branch"),
    [
        (0.05, 1.0, 5, 10, 0.5),
        (0.1, 3.0, 3, 8, 0.5),
        (0.05, 0.5, 4, 6, 1.0),
        (0.02, 1.0, 4, 6, 0.0),
        (0.1, 1.0, 1, 8, 0.5),
    ],
)
def test_recursion_is_the_infinitely_wide_network_with_revealed_matrices(lr, gamma0, depth, steps, branch):
    # Two algorithms without a line in common. Revealing works to a relative 1e-12 (measured: within 2e-12 here).
    twin = nonlinear_limit(lr, gamma0, depth, steps, activation="linear", neurons=math.inf, branch=branch)
    run = linear_kernels(lr, gamma0, depth, steps, branch=branch)
    now = np.arange(steps + 1)
    np.testing.assert_allclose(run.f, twin.f, atol=1e-11)
    np.testing.assert_allclose(run.H[now, now], twin.H, atol=1e-11)
    np.testing.assert_allclose(run.G[now, now], twin.G, atol=1e-11)
    np.testing.assert_array_equal(run.f, linear_limit(lr, gamma0, depth, steps, branch=branch))


def test_ensemble_mean_approaches_the_limit_as_one_over_the_width():
    lr, gamma0, depth, steps = 0.05, 0.5, 4, 6
    limit = linear_limit(lr, gamma0, depth, steps)[-1]
    widths, draws = [12, 24, 48], 1500
    outputs = [train_ensemble(lr, gamma0, n, depth, steps, draws=draws).f[-1] for n in widths]
    errors = [abs(f.mean() - limit) for f in outputs]
    fit = power_law(widths, errors, [f.std(ddof=1) / math.sqrt(draws) for f in outputs])
    assert fit.error < 0.15  # the test has power: -1/2 and -2 are excluded
    # The next order, 1/N^2, bends the line: at N = 12 it is up to a tenth of the first.
    assert abs(fit.slope + 1) < 4 * fit.error + 0.1


def test_finite_depth_approaches_infinite_depth_as_one_over_the_depth():
    endless = linear_limit(0.02, 1.0, math.inf, 50)
    depths = [10, 20, 40]
    errors = np.array([np.abs(linear_limit(0.02, 1.0, depth, 50) - endless).max() for depth in depths])
    scaled = errors * depths
    np.testing.assert_allclose(scaled, [0.3868, 0.4036, 0.4129], atol=1e-4)  # recorded
    # a/L + b/L^2 from two depths predicts the third up to the next order, about (b/a)^2/L^2 of it.
    assert abs(2 * scaled[1] - scaled[0] - (2 * scaled[2] - scaled[1])) < 3e-3


def test_infinite_depth_agrees_with_extrapolated_depth_and_with_more_nodes():
    depths = np.array([8.0, 16, 24, 32, 48])
    table = np.array([linear_limit([0.02, 0.08], 1.0, int(depth), 10) for depth in depths])
    x = 1 / depths
    weights = [np.prod([b / (b - a) for b in x if b != a]) for a in x]
    # The polynomial through five depths leaves |f^(5)| / 5! times the product of x: 1e-7 times a constant.
    np.testing.assert_allclose(
        np.tensordot(weights, table, 1), linear_limit([0.02, 0.08], 1.0, math.inf, 10), atol=5e-6
    )
    one = np.ones(1)
    for lr, gamma0 in ((0.05, 1.0), (0.1, 3.0), (0.4, 0.1)):  # smooth, rich, thrown out and back
        runs = [layer_time_sweep(lr * one, gamma0 * one, 12, nodes)[0] for nodes in (12, 16)]
        np.testing.assert_allclose(*runs, rtol=1e-10, atol=1e-11)


def test_lazy_limit_is_reached_as_gamma0_squared():
    t = np.arange(51)
    lazy = 1 - (1 - 0.02 * 3 * math.e) ** t
    gammas = [0.1, 0.03, 0.01]
    fit = power_law(gammas, [np.abs(linear_limit(0.02, g, math.inf, 50) - lazy).max() for g in gammas])
    assert abs(fit.slope - 2) < 0.01  # the next power is gamma_0^4: a hundredth at gamma_0 = 0.1


@pytest.mark.parametrize("branch", [0.0, 0.5, 1.0])
def test_first_step_is_the_kernel_at_initialisation(branch):
    for depth in (1, 2, 7, 30, *([math.inf] if branch else [])):
        for gamma0 in (1e-4, 1.0, 5.0):
            f = linear_limit(1e-3, gamma0, depth, 1, target=2.0, branch=branch)
            np.testing.assert_allclose(f, [0.0, 2e-3 * linear_ntk(depth, branch)], rtol=1e-12)


def test_kernels_at_initialisation():
    tau = np.array([0.0, 0.3, 1.0])
    run = linear_kernels(0.05, 1.0, math.inf, 3, layer_time=tau)
    np.testing.assert_allclose(run.H[0, 0], np.exp(tau), rtol=1e-10)
    np.testing.assert_allclose(run.G[0, 0], np.exp(1 - tau), rtol=1e-10)
    assert run.error < 1e-6
    finite_depth = linear_kernels(0.05, 1.0, 6, 3)
    np.testing.assert_allclose(finite_depth.H[0, 0], (1 + 1 / 6) ** np.arange(7.0), rtol=1e-12)
    np.testing.assert_allclose(finite_depth.layer_time, np.arange(7) / 6)
    for kernel in (run.H, run.G, finite_depth.H):
        np.testing.assert_allclose(kernel, kernel.transpose(1, 0, 2), rtol=1e-13)
        assert np.linalg.eigvalsh(kernel.transpose(2, 0, 1)).min() > -1e-12  # covariances over time


def test_kernels_converge_with_depth():
    tau = np.array([0.0, 0.5, 1.0])
    endless = linear_kernels(0.05, 1.0, math.inf, 8, layer_time=tau)
    errors = []
    for depth in (8, 16, 32, 64):
        run = linear_kernels(0.05, 1.0, depth, 8)
        errors.append(np.abs(run.H[:, :, :: depth // 2] - endless.H).max())
    fit = power_law([8, 16, 32, 64], errors)
    assert abs(fit.slope + 1) < 0.1  # a/L + b/L^2 with |b/a| of order one


def test_leaving_the_responses_out_is_wrong():
    exact, without = (linear_limit(0.02, 1.0, math.inf, 50, responses=keep) for keep in (True, False))
    assert 0.15 < np.abs(exact - without).max() < 0.27
    # Wrong from the first step: a change of h^0 is passed on by blocks that forget what they were asked, K = 2e for 3e.
    np.testing.assert_allclose([exact[1], without[1]], [0.06 * math.e, 0.04 * math.e], rtol=1e-10)
    one_block, dropped = (linear_limit(0.1, 0.5, 1, 6, responses=keep) for keep in (True, False))
    assert np.abs(one_block - dropped).max() > 0.01


@few
@given(rates, scales, st.floats(0.1, 10.0), st.sampled_from([1, 4, math.inf]))
def test_output_over_target_depends_on_rate_and_gamma0_times_target(lr, gamma0, y, depth):
    plain = linear_limit(lr, gamma0, depth, 5)
    np.testing.assert_allclose(linear_limit(lr, gamma0 / y, depth, 5, target=y), y * plain, rtol=1e-10)
    np.testing.assert_array_equal(linear_limit(lr, gamma0, depth, 5, target=-1.0), -plain)


@few
@given(rates, scales, st.floats(0.0, 2.0))
def test_one_block_does_not_know_its_branch_exponent(lr, gamma0, branch):
    np.testing.assert_array_equal(
        linear_limit(lr, gamma0, 1, 5, branch=branch), linear_limit(lr, gamma0, 1, 5, branch=0.5)
    )


def test_infinite_depth_above_one_half_is_the_network_without_blocks():
    # Without blocks, <h h> = <g g> = s and f = 2 d: the two-layer map, by hand.
    lr, gamma0, steps = 0.2, 1.5, 6
    h, g = np.array([1.0, 0.0]), np.array([0.0, 1.0])  # coordinates along h_0 and w_0
    outputs = []
    for _ in range(steps + 1):
        f = h @ g / gamma0
        outputs.append(f)
        e = lr * gamma0 * (1 - f)
        h, g = h + e * g, g + e * h
    np.testing.assert_allclose(linear_limit(lr, gamma0, math.inf, steps, branch=0.8), outputs, rtol=1e-12)
    deep = [abs(linear_limit(lr, gamma0, depth, steps, branch=1.0)[3] - outputs[3]) for depth in (50, 100)]
    assert 1.8 < deep[0] / deep[1] < 2.2  # at branch = 1 the blocks vanish as 1/L


def test_shapes_broadcast_like_single_runs():
    lr, gamma0, y = np.array([[0.0], [0.02], [0.1]]), np.array([0.1, 1.0]), np.array([1.0, 2.0])
    table = linear_limit(lr, gamma0, 3, 4, target=y)
    assert table.shape == (5, 3, 2)
    assert (table[:, 0] == 0).all()
    np.testing.assert_allclose(table[:, 2, 1], linear_limit(0.1, 1.0, 3, 4, target=2.0), rtol=1e-13)
    assert (linear_limit(0.1, 1.0, math.inf, 3, target=0.0) == 0).all()
    assert linear_limit(np.zeros((0,)), 1.0, 3, 4).shape == (5, 0)
    assert linear_limit(0.1, 1.0, 3, 0).tolist() == [0.0]


@pytest.mark.parametrize("depth", [3, 24, math.inf])
def test_divergence_is_inf_for_good_and_never_nan(depth):
    f = linear_limit([0.02, 1.0, 1e3, 1e300], [[1.0], [10.0], [1e-3]], depth, 20)
    assert not np.isnan(f).any()
    assert np.isinf(f[-1, :2, 1:]).all()
    assert np.isfinite(f[:, 0, 0]).all()
    gone = np.isinf(f)
    assert (gone[:-1] <= gone[1:]).all()


def test_runs_that_throw_the_iteration_out_are_right_until_then():
    # Rich and fast: the features move by dozens of their size in the third step.
    lr, gamma0 = 0.4, 3.0
    f = linear_limit(lr, gamma0, math.inf, 4)
    deep = [linear_limit(lr, gamma0, depth, 4) for depth in (80, 160)]
    np.testing.assert_allclose(f[:3], 2 * deep[1][:3] - deep[0][:3], rtol=0.02, atol=0.02)  # left out: 1/L^2


def test_best_rate_of_one_step_and_of_the_lazy_limit_is_one_over_the_kernel():
    depths = np.array([1, 3, math.inf])
    np.testing.assert_allclose(best_theory_lr(depths, steps=1) * linear_ntk(depths), 1, rtol=1e-4)  # the last zoom
    np.testing.assert_allclose(best_theory_lr([3], 0.0, 3, gamma0=1e-3) * linear_ntk(3, 0.0), 1, rtol=0.01)


def test_one_over_the_kernel_fits_the_point_after_any_number_of_steps():
    for depth, branch in ((3, 0.5), (24, 0.0), (math.inf, 0.5)):
        f = linear_limit(1 / linear_ntk(depth, branch), 1.0, depth, 6, branch=branch)
        np.testing.assert_allclose(f[1:], 1.0, rtol=1e-11)


def test_best_rate_is_a_first_minimum_and_moves_as_recorded():
    moves = []
    for branch in (0.5, 0.0, 1.0):
        best = best_theory_lr([3, 24], branch)
        moves.append(math.log2(best[1] / best[0]))
        near = linear_limit(best[0] * 2.0 ** np.array([-0.5, -0.25, 0.0]), 1.0, 3, 6, branch=branch)[-1]
        misses = np.abs(1 - near)
        assert misses[0] > misses[1] > misses[2]
        assert misses[2] < 1e-6
    np.testing.assert_allclose(moves, [-0.37, -22.85, 0.67], atol=0.02)  # recorded; a scan step is 1/64 octave


@pytest.mark.parametrize(
    ("steps", "depth", "gamma0", "expected"),
    [(2, 2, 16.0, 0.02824), (3, 8, 64.0, 0.003461), (2, 64, 16.0, 0.01773), (2, 2, 1e4, 1.6970e-4)],
)
def test_the_first_minimum_of_rich_networks_is_not_stepped_over(steps, depth, gamma0, expected):
    """Against a scan in steps of 1/1000: below the rate found the distance from the target only falls."""
    best = float(best_theory_lr(depth, steps=steps, gamma0=gamma0))
    assert best == pytest.approx(expected, rel=1e-3)
    below = np.append(best * np.arange(1, 1000) / 1000, best)
    misses = np.abs(1 - linear_limit(below, gamma0, depth, steps)[-1])
    assert (np.diff(misses) < 0).all() and misses[-1] < 1e-4


def test_chebyshev_rule_integrates_and_interpolates_polynomials():
    x, integral = chebyshev_nodes(9)
    np.testing.assert_allclose(integral @ x**7, x**8 / 8, atol=1e-14)
    tau = np.linspace(0, 1, 5)
    np.testing.assert_allclose(at_layer_times(x**6, tau), tau**6, atol=1e-13)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("lr", {"lr": -0.1}),
        ("lr", {"lr": math.nan}),
        ("gamma0", {"gamma0": 0.0}),
        ("depth", {"depth": 0}),
        ("depth", {"depth": 2.5}),
        ("depth", {"depth": [2, 3]}),
        ("steps", {"steps": -1}),
        ("target", {"target": math.inf}),
        ("branch", {"branch": -0.5}),
        ("branch", {"depth": math.inf, "branch": 0.4}),
    ],
)
def test_bad_arguments_are_named(name, arguments):
    with pytest.raises(ValueError, match=name):
        linear_limit(**({"lr": 0.1, "gamma0": 1.0, "depth": 3, "steps": 2} | arguments))


def test_bad_arguments_of_the_others_are_named():
    with pytest.raises(ValueError, match="target"):
        linear_kernels(0.1, 1.0, 3, 2, target=0.0)
    with pytest.raises(ValueError, match="layer_time"):
        linear_kernels(0.1, 1.0, math.inf, 2, layer_time=[0.5, 1.5])
    with pytest.raises(ValueError, match="lr"):
        linear_kernels([0.1, 0.2], 1.0, 3, 2)
    with pytest.raises(ValueError, match="steps"):
        best_theory_lr([3], steps=0)
    with pytest.raises(ValueError, match="branch"):
        best_theory_lr([3, math.inf], 0.0)


def test_gaps_of_runs_that_diverge_are_infinite():
    for lr in (5.0, 1e200):
        gaps = depth_gaps(lr, 3.0, [2, 8], 4)
        assert all(not np.isnan(row).any() for row in gaps.values()) and np.isposinf(gaps["output"]).all()


@pytest.mark.parametrize("bad", ["no", 7, None])
def test_responses_are_kept_or_dropped_and_nothing_between(bad):
    for limit in (linear_limit, linear_kernels):
        with pytest.raises(ValueError, match=r"^responses = "):
            limit(0.1, 1.0, 3, 2, responses=bad)
