"""The Width room: limits, exact optima, any number of steps, SP and NTP, feature updates."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lrtransfer.rates import OnEdgeWarning
from lrtransfer.width import (
    coefficient_draws,
    exact_argmin,
    feature_updates,
    limit_lr,
    limit_spread,
    one_step_coefficients,
    optimal_lr,
    scaling_exponent,
    sp_limit_lr,
    training_loss,
)

ONE = np.ones((1, 1)), np.ones(1)


def data_of(m, d, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((m, d)) * np.linspace(1.0, 0.5, d)
    return X, X @ rng.standard_normal(d) + 0.1 * rng.standard_normal(m)


def losses_of(coefficients, X, y, lrs):
    theta = np.polynomial.polynomial.polyval(lrs, coefficients)  # (d, R)
    return ((X @ theta - y[:, None]) ** 2).sum(axis=0) / (2 * len(y))


@given(m=st.integers(1, 6), d=st.integers(1, 6), layers=st.integers(1, 8), seed=st.integers(0, 999))
@settings(max_examples=60, deadline=None)
def test_limit_lr_is_the_printed_formula_and_the_program_at_infinite_width(m, d, layers, seed):
    X, y = data_of(m, d, seed)
    K = X @ X.T / d
    expected = m / layers * (y @ K @ y) / np.sum((K @ y) ** 2)
    assert limit_lr(X, y, layers) == pytest.approx(expected, rel=1e-10)
    assert optimal_lr(math.inf, X, y, layers, seed=0) == pytest.approx(expected, rel=1e-10)


@given(
    width=st.integers(1, 40),
    m=st.integers(1, 5),
    d=st.integers(1, 3),
    layers=st.integers(1, 6),
    seed=st.integers(0, 999),
)
@settings(max_examples=80, deadline=None)
@pytest.mark.filterwarnings("ignore::lrtransfer.rates.OnEdgeWarning")
def test_no_rate_on_a_fine_grid_beats_the_exact_optimum(width, m, d, layers, seed):
    X, y = data_of(m, d, seed)
    coefficients = one_step_coefficients(width, X, y, layers, seed=seed)
    best = optimal_lr(width, X, y, layers, seed=seed)
    lrs = np.linspace(0, 4 * limit_lr(X, y, layers), 2001)
    grid, ours = losses_of(coefficients, X, y, lrs), losses_of(coefficients, X, y, np.array([best]))[0]
    assert ours <= grid.min() + 1e-12 * grid.max()  # rounding of either loss


@pytest.mark.parametrize(("layers", "width"), [(1, 64), (2, 64), (3, 1024), (8, 256), (8, 2**20)])
def test_optimum_is_stationary_to_rounding(layers, width):
    X, y = data_of(20, 3)
    coefficients = one_step_coefficients(width, X, y, layers, seed=1)
    best = optimal_lr(width, X, y, layers, seed=1)
    powers = best ** np.arange(layers + 1)
    theta = powers @ coefficients
    tangent = (np.arange(1, layers + 1) * powers[:-1]) @ coefficients[1:]
    slope, scale = (X @ theta - y) @ (X @ tangent), np.linalg.norm(X @ tangent)
    bend = scale**2  # of the order of the second derivative
    assert abs(slope / bend) < 1e-12 * best


@pytest.mark.parametrize("high", [4.0, 1e3, 1e6])
def test_smallest_of_several_roots_on_any_interval(high):
    # d = 1: the loss is zero at every positive root of theta(eta) = slope; np.roots in powers of eta is
    # accurate here because the coefficients of a narrow network do not differ by many orders of magnitude.
    several = 0
    for seed in range(60):
        c = one_step_coefficients(32, *ONE, 3, seed=seed)[:, 0]
        roots = np.roots((c - np.eye(4)[0])[::-1])
        real = np.sort(roots[(np.abs(roots.imag) < 1e-9) & (roots.real > 0) & (roots.real < high)].real)
        if real.size:
            several += real.size > 1
            assert optimal_lr(32, *ONE, 3, seed=seed, interval=(0.0, high)) == pytest.approx(real[0], rel=1e-11)
    assert several > 0 or high < 10


def test_equal_seeds_give_equal_draws_in_every_function():
    X, y = data_of(8, 2)
    lrs = np.linspace(0.0, 1.0, 5)
    coefficients = one_step_coefficients(50, X, y, 3, seed=7)
    by_steps = training_loss(lrs, 50, X, y, 3, 4, seed=7)
    np.testing.assert_allclose(by_steps[1], losses_of(coefficients, X, y, lrs), rtol=1e-10)
    np.testing.assert_allclose(training_loss(lrs[::2], 50, X, y, 3, 4, seed=7), by_steps[:, ::2], rtol=1e-9)
    np.testing.assert_allclose(training_loss(lrs, 50, X, y, 3, 2, seed=7), by_steps[:3], rtol=1e-9)
    best = optimal_lr(50, X, y, 3, steps=3, seed=7)
    around = training_loss(best + np.linspace(-0.05, 0.05, 11), 50, X, y, 3, 3, seed=7)[-1]
    assert np.argmin(around) == 5
    assert (one_step_coefficients(50, X, y, 3, seed=8) != coefficients).any()
    np.testing.assert_allclose(coefficient_draws([50], X, y, 3, seeds=[7])[0, 0], coefficients, rtol=1e-12)
    # theta_0 depends on the weights alone, and with d = 1 the whole draw does
    one, two = (one_step_coefficients(50, np.ones((1, 1)), [s], 2, seed=7)[:, 0] for s in (1.0, -3.0))
    gain = (-3.0 - one[0]) / (1.0 - one[0])  # Phi_k is proportional to chi^k
    np.testing.assert_allclose(two[1:], one[1:] * gain ** np.arange(1, 3), rtol=1e-10)


def test_several_steps_find_the_minimum_of_the_loss_curve():
    X, y = data_of(30, 3)
    for steps in (2, 5):
        best = optimal_lr(200, X, y, 3, steps=steps, seed=2)
        lrs = np.linspace(0, 4 * limit_lr(X, y, 3), 4001)[1:]
        losses = training_loss(lrs, 200, X, y, 3, steps, seed=2)[-1]
        assert abs(best - lrs[np.argmin(losses)]) <= lrs[1] - lrs[0]
        fine = training_loss(best * (1 + np.array([-1e-4, 0, 1e-4])), 200, X, y, 3, steps, seed=2)[-1]
        assert np.argmin(fine) == 1


@pytest.mark.parametrize("steps", [1, 2, 3, 5])
def test_the_limit_recursion_is_the_limit_of_widths(steps):
    # sqrt(n) rms(loss_n - loss_inf) is constant: from 2^12 to 2^20 the rms falls by 16. 20 seeds give each
    # rms to 16 per cent, their ratio to 22: a factor 2 is more than three errors. A wrong limit would leave a
    # ratio near one.
    X, y = data_of(30, 3)
    lr = np.array([0.5 * limit_lr(X, y, 3) / steps])
    limit = training_loss(lr, math.inf, X, y, 3, steps, seed=0)[-1]
    off = [[training_loss(lr, n, X, y, 3, steps, seed=s)[-1] - limit for s in range(20)] for n in (2**12, 2**20)]
    gaps = np.sqrt(np.mean(np.square(off), axis=(1, 2)))
    assert 8 < gaps[0] / gaps[1] < 32
    rate = optimal_lr(math.inf, X, y, 3, steps=steps, seed=0)
    wide = [optimal_lr(2**20, X, y, 3, steps=steps, seed=s) for s in range(20)]
    error = np.std(wide, ddof=1) / math.sqrt(20)
    assert abs(np.mean(wide) - rate) < 4 * error
    assert np.std(wide) < 0.01 * rate


def test_lemma_one_exponents():
    widths = 2 ** np.arange(8, 21, 3)
    X, y = data_of(40, 2)
    draws = np.linalg.norm(coefficient_draws(widths, X, y, 4, seeds=range(100)), axis=-1)  # (widths, seeds, 5)
    for k, expected in enumerate([-0.5, 0.0, -0.5, -1.0, -1.5]):
        fit = scaling_exponent(widths, draws[..., k])
        # four errors, plus 0.002 for the O(1/n) corrections of the constant coefficient, whose own error is
        # tiny
        assert abs(fit.slope - expected) < 4 * fit.error + 0.002
        assert fit.error < 0.05


@pytest.mark.parametrize("layers", [1, 2, 3, 4])
@pytest.mark.parametrize("slope", [1.0, 3.0])
def test_rate_of_convergence_and_its_constant(layers, slope):
    X, y = np.full((2, 1), 1.3), np.full(2, 1.3 * slope)
    n, draws = 2**20, 400
    off = exact_argmin(coefficient_draws([n], X, y, layers, seeds=range(draws)), X, y)[0] - limit_lr(X, y, layers)
    measured = math.sqrt(n) * math.sqrt(np.mean(off**2))
    assert measured == pytest.approx(limit_spread(X, y, layers), rel=4 / math.sqrt(2 * draws))  # four errors


def test_ntp_is_sp_at_rate_times_width_and_neither_transfers():
    X, y = data_of(20, 3)
    for seed in range(5):
        sp = optimal_lr(512, X, y, 3, parametrisation="sp", seed=seed, interval=(0.0, 40 / 512))
        ntp = optimal_lr(512, X, y, 3, parametrisation="ntp", seed=seed, interval=(0.0, 40.0))
        assert sp * 512 == pytest.approx(ntp, rel=1e-12)
    widths = [2**8, 2**14, 2**20]
    best = [
        [optimal_lr(n, X, y, 3, parametrisation="sp", seed=s, interval=(0, 40 / n)) for s in range(40)] for n in widths
    ]
    fit = scaling_exponent(widths, best)
    assert abs(fit.slope + 1) < 4 * fit.error and fit.error < 0.05
    relative = np.std(best, axis=1) / np.mean(best, axis=1)
    assert relative[-1] > 0.05  # the limit stays random; under muP the spread at 2^20 is below one per cent


def test_sp_limit_follows_from_the_linear_form_at_the_start():
    X, y = data_of(20, 3)
    n = 2**40
    for seed in range(5):
        theta0 = one_step_coefficients(n, X, y, 3, seed=seed, parametrisation="sp")[0]
        best = n * optimal_lr(n, X, y, 3, seed=seed, parametrisation="sp", interval=(0, 100 / n))
        # corrections are of relative size n^(-1/2) = 1e-6 times a constant of order ten
        assert best == pytest.approx(sp_limit_lr(X, y, 3, theta0), rel=1e-4)
    forms = np.random.default_rng(0).standard_normal((50, 1))
    one = sp_limit_lr(np.ones((4, 1)), [1.0, 2.0, 0.0, 1.0], 3, forms)
    np.testing.assert_allclose(one, 1 / 3, rtol=1e-12)  # one nonzero eigenvalue: deterministic
    assert sp_limit_lr(*ONE, 3, [1.0]) == math.inf  # chi = 0


@pytest.mark.parametrize(
    ("parametrisation", "lr", "expected"),
    [
        ("mup", None, 0.0),
        ("mup", 0.3, 0.0),
        ("sp", None, -0.5),
        ("sp", 0.3, 0.5),
        ("ntp", None, -0.5),
        ("ntp", 0.3, -0.5),
    ],
)
@pytest.mark.filterwarnings("ignore::lrtransfer.rates.OnEdgeWarning")  # SP's random limits: some lie beyond 4 eta_inf
def test_exponents_of_the_feature_updates(parametrisation, lr, expected):
    X, y = data_of(20, 2)
    widths = [2**10, 2**15, 2**20]
    moved = np.array(
        [feature_updates(n, X, y, 3, lr=lr, parametrisation=parametrisation, seeds=range(40)) for n in widths]
    )
    for layer in range(3):
        fit = scaling_exponent(widths, moved[..., layer])
        assert abs(fit.slope - expected) < 4 * fit.error + 0.003 and fit.error < 0.05


def test_feature_updates_of_an_explicit_step():
    # at infinite width, L = 1, one sample: Delta z = -eta chi b a'a with |b| = 1, a'a = |x|^2 / d: size eta
    # |y| |x|^2 / d
    X, y = np.array([[1.0, 2.0]]), np.array([3.0])
    moved = feature_updates(math.inf, X, y, 1, lr=0.1, seeds=[0])
    np.testing.assert_allclose(moved, [[0.1 * 3.0 * 2.5]], rtol=1e-12)


def test_feature_updates_report_best_rates_at_the_end_of_the_interval():
    edge = []
    for seed in range(40):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            optimal_lr(2, *ONE, 3, seed=seed)
        edge.append(len(caught))
    assert 0 < sum(edge) < 40  # at width 2 both kinds occur
    with pytest.warns(OnEdgeWarning) as caught:
        feature_updates(2, *ONE, 3, seeds=range(40))
    assert len(caught) == 1 and str(caught[0].message).startswith(f"{sum(edge)} of 40 ")
    feature_updates(2, *ONE, 3, seeds=range(40), lr=0.1)  # a rate that was given is nobody's optimum


def test_edges_of_the_interval_are_reported():
    with pytest.warns(OnEdgeWarning):
        assert optimal_lr(64, *ONE, 3, seed=0, interval=(0.0, 0.01)) == 0.01
    with pytest.warns(OnEdgeWarning):
        assert optimal_lr(64, *ONE, 3, seed=0, steps=2, interval=(0.0, 0.01)) == 0.01
    assert 0.2 < optimal_lr(2**20, *ONE, 3, seed=0, interval=(0.2, 0.5)) < 0.5


def test_shapes_width_one_and_many_samples():
    X, y = data_of(1000, 7)
    assert one_step_coefficients(1, X, y, 4, seed=0).shape == (5, 7)
    assert training_loss(np.ones((2, 3)) * 0.1, 1, X, y, 2, 3, seed=0).shape == (4, 2, 3)
    assert training_loss(0.1, 9, X, y, 2, 3, seed=0).shape == (4,)
    assert feature_updates(9, X, y, 2, seeds=[0, 1, 2]).shape == (3, 2)
    limit = one_step_coefficients(math.inf, X, y, 3, seed=5)
    np.testing.assert_allclose(limit[1], 3 * X.T @ y / 7000, rtol=1e-10)
    np.testing.assert_allclose(limit[[0, 2, 3]], 0, atol=1e-14)


X22, Y2 = np.array([[1.0, 0.0], [0.0, 1.0]]), np.ones(2)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: limit_lr([[1.0], [1.0]], [1.0, -1.0], 3), "y"),  # K y = 0
        (lambda: optimal_lr(8, [[1.0], [1.0]], [1.0, -1.0], 3, seed=0), "y"),
        (lambda: optimal_lr(8, X22, np.zeros(2), 3, seed=0), "y"),
        (lambda: limit_lr(X22, np.ones(3), 3), "y"),
        (lambda: limit_lr(np.ones(3), np.ones(3), 3), "X"),
        (lambda: limit_lr(np.full((2, 2), np.nan), Y2, 3), "X"),
        (lambda: limit_lr(X22, Y2, 0), "hidden_layers"),
        (lambda: limit_lr(X22, Y2, 2.5), "hidden_layers"),
        (lambda: one_step_coefficients(0, X22, Y2, 3, seed=0), "width"),
        (lambda: one_step_coefficients(2.5, X22, Y2, 3, seed=0), "width"),
        (lambda: one_step_coefficients([8, 16], X22, Y2, 3, seed=0), "width"),
        (lambda: one_step_coefficients(math.inf, X22, Y2, 3, seed=0, parametrisation="sp"), "width"),
        (lambda: one_step_coefficients(math.inf, X22, Y2, 3, seed=0, coordinates=True), "width"),
        (lambda: one_step_coefficients(8, X22, Y2, 3, seed=-1), "seed"),
        (lambda: one_step_coefficients(8, X22, Y2, 3, seed=0, parametrisation="mf"), "parametrisation"),
        (lambda: optimal_lr(8, X22, Y2, 3, seed=0, steps=0), "steps"),
        (lambda: optimal_lr(8, X22, Y2, 3, seed=0, interval=(1.0, 1.0)), "interval"),
        (lambda: optimal_lr(8, X22, Y2, 3, seed=0, interval=(-1.0, 1.0)), "interval"),
        (lambda: optimal_lr(8, X22, Y2, 3, seed=0, interval=(0.0, math.inf)), "interval"),
        (lambda: optimal_lr(8, X22, Y2, 3, seed=0, interval=(0.0, 1.0, 2.0)), "interval"),
        (lambda: training_loss(-0.1, 8, X22, Y2, 3, 2, seed=0), "lrs"),
        (lambda: training_loss(0.1, 8, X22, Y2, 3, -1, seed=0), "steps"),
        (lambda: sp_limit_lr(X22, Y2, 3, [1.0, 2.0, 3.0]), "theta0"),
        (lambda: feature_updates(8, X22, Y2, 3, lr=0.0, seeds=[0]), "lr"),
        (lambda: feature_updates(0, X22, Y2, 3, parametrisation="sp", seeds=[0]), "width"),
        (lambda: feature_updates(8, X22, Y2, 3, seeds=[]), "seeds"),
        (lambda: scaling_exponent([1, 2], np.ones((3, 4))), "samples"),
        (lambda: scaling_exponent([2, 2], np.ones((2, 4))), "sizes"),
        (lambda: scaling_exponent([1, 2], np.zeros((2, 4))), "samples"),
        (lambda: limit_spread([[1.0], [1.0]], [1.0, -1.0], 3), "y"),
    ],
)
def test_bad_input_names_the_argument(call, name):
    with pytest.raises(ValueError, match=f"^{name} = "):
        call()
