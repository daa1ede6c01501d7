"""The chapter's experiments at small size, and the explicit matrices they are checked against."""

import math

import numpy as np
import pytest
from scipy import integrate, stats

from lrtransfer.rates import best_lr
from lrtransfer.width import (
    LazyGaussian,
    coefficient_draws,
    exact_argmin,
    grid_rms,
    limit_lr,
    limit_spread,
    lowest_minima,
    optimal_lr,
    synthetic_data,
    training_loss,
)
from lrtransfer.width.dense import (
    autograd_gradients,
    engine_coefficients,
    printed_coefficients,
    random_weights,
)
from lrtransfer.width.experiments import (
    answer_samples,
    approach,
    best_rates,
    closest_minima,
    compare_samples,
    jump_law,
    lemma_one,
    trained_sweep,
)
from lrtransfer.width.torch_sweeps import trained_losses


def test_explicit_gradients_are_differences_of_the_loss():
    rng = np.random.default_rng(0)
    X, y = synthetic_data(4, 2, seed=1)
    weights, readout = random_weights(5, 2, 3, rng)
    found = autograd_gradients(weights, readout, X, y)

    def loss(changed):
        states = X.T
        for w in changed:
            states = w @ states
        return np.mean((readout @ states - y) ** 2) / 2

    for layer, gradient in enumerate(found, start=1):
        direction = rng.standard_normal((5, 5))
        up, down = ([w + s * 1e-5 * direction if k == layer else w for k, w in enumerate(weights)] for s in (1, -1))
        assert (loss(up) - loss(down)) / 2e-5 == pytest.approx(np.sum(gradient * direction), rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("layers", [1, 2, 4])
def test_the_printed_sum_is_a_gradient_step_and_the_engine(layers):
    rng = np.random.default_rng(layers)
    x, y = rng.standard_normal(1), 1.3
    weights, readout = random_weights(7, 1, layers, rng, readout=-0.5)
    phi = printed_coefficients(weights, readout, x, y)
    for lr in (0.3, 1.1):
        steps = autograd_gradients(weights, readout, x[None], [y])
        state = weights[0] @ x
        for w, g in zip(weights[1:], steps, strict=True):
            state = (w - lr * g) @ state
        start = engine_coefficients(weights, readout, x[None], [y])
        assert start[0] @ x + np.sum(phi * lr ** np.arange(1, layers + 1)) == pytest.approx(readout @ state, rel=1e-10)
        np.testing.assert_allclose(start[1:] @ x, phi, rtol=1e-10, atol=1e-12)


def test_random_weights_have_the_deviations_of_the_parametrisation():
    weights, readout = random_weights(400, 3, 1, np.random.default_rng(2), readout=-1.0)
    for array, deviation in ((weights[0], 3**-0.5), (weights[1], 400**-0.5), (readout, 1 / 400)):
        assert array.std() == pytest.approx(deviation, rel=4 / math.sqrt(2 * array.size))  # four errors


def test_sizes_of_the_coefficients_and_their_fits():
    X, y = synthetic_data(40, 2, seed=0)
    widths = 2 ** np.arange(8, 15, 2)
    draws = coefficient_draws(widths, X, y, 3, seeds=range(60))
    found = lemma_one(draws, widths, X, y, fit_from=2**8)
    assert [f.power for f in found] == [-0.5, 0.0, -0.5, -1.0, -0.5]
    np.testing.assert_allclose(found[2].rms, np.sqrt((draws[:, :, 2] ** 2).sum(axis=-1).mean(axis=1)))
    limit = 3 * X.T @ y / X.size
    np.testing.assert_allclose(found[-1].rms, np.sqrt(((draws[:, :, 1] - limit) ** 2).sum(axis=-1).mean(axis=1)))
    assert all(abs(found[k].off) < 4 for k in (0, 2, 3))
    assert found[3].off == pytest.approx((found[3].fit.slope + 1) / found[3].fit.error)


def test_approach_compares_with_the_limit():
    X, y = synthetic_data(30, 3, seed=0)
    widths = 2 ** np.array([10, 14, 18])
    draws = coefficient_draws(widths, X, y, 2, seeds=range(40))
    found = approach(draws, widths, X, y, fit_from=2**10)
    optima = exact_argmin(draws, X, y)
    assert found.limit == limit_lr(X, y, 2) == pytest.approx(found.recursion, rel=1e-12)
    np.testing.assert_allclose(found.rms * found.limit, np.sqrt(((optima - found.limit) ** 2).mean(axis=1)))
    assert found.centre == pytest.approx(stats.ttest_1samp(optima[-1], found.limit).statistic)
    assert abs(found.off) < 4 and abs(found.centre) < 4


def test_lazy_answers_have_the_law_of_explicit_ones_and_a_wrong_scale_has_not():
    n, rng = 8, np.random.default_rng(0)
    x, z = np.eye(n)[:2]

    def explicit(k):
        w = rng.standard_normal((n, n)) / math.sqrt(n)
        return w.__matmul__, w.T.__matmul__

    def lazy(k, scale=1.0):
        w = LazyGaussian(n, n, scale=scale / math.sqrt(n), seed=k)
        return w.matvec, w.rmatvec

    makers = {"explicit": explicit, "lazy": lazy, "wrong": lambda k: lazy(k, 1.2)}
    samples = answer_samples(makers, x, z, 400)
    assert all(found.p > 1e-4 for found in compare_samples(samples["lazy"], samples["explicit"]))
    wrong = compare_samples(samples["wrong"], samples["explicit"])[0]
    assert wrong.p < 1e-4 and wrong.mean[0] / wrong.mean[1] == pytest.approx(1.44, rel=0.15) and wrong.gap > 4


def test_best_rates_of_the_three_parametrisations():
    X, y = synthetic_data(20, 2, seed=3)
    widths = np.array([256, 1024])
    found = best_rates(widths, X, y, 2, seeds=range(3))
    np.testing.assert_allclose(found["ntp"], found["sp"] * widths[:, None], rtol=1e-12)
    upper = 2.5 * X.size / (2 * np.linalg.eigvalsh(X.T @ X)[0])
    for name, unit in (("mup", 1.0), ("sp", 1 / 1024)):
        rate = optimal_lr(1024, X, y, 2, parametrisation=name, seed=2, interval=(0.0, upper * unit))
        assert found[name][1, 2] == pytest.approx(rate, rel=1e-10)


def test_the_closest_minima_are_those_of_each_data_set():
    def data(seed):
        return synthetic_data(20, 3, seed=seed)

    found = closest_minima(data, range(2), 2, steps=(2, 3), points=101)
    assert [[(p.data_seed, p.steps) for p in row] for row in found] == [[(0, 2), (0, 3)], [(1, 2), (1, 3)]]
    again = lowest_minima(math.inf, *data(1), 2, steps=3, seed=0, points=101)
    np.testing.assert_array_equal(found[1][1].minima.lr, again.lr)
    assert found[1][1].ratio == again.excess[1] / again.excess[0]
    losses = training_loss(found[1][1].minima.lr[:1], math.inf, *data(1), 2, 3, seed=0)[-1]
    assert losses[0] <= training_loss(np.linspace(0, 2, 50), math.inf, *data(1), 2, 3, seed=0)[-1].min() + 1e-9


def test_the_law_of_jumps_is_that_of_the_losses_at_two_rates():
    X, y = synthetic_data(200, 5, seed=0)
    law = jump_law(X, y, 3, steps=2, width=2**20, seeds=range(20))
    losses = training_loss(law.lr, math.inf, X, y, 3, 2, seed=0)[2]
    assert law.lr[0] == pytest.approx(optimal_lr(math.inf, X, y, 3, steps=2, seed=0), rel=1e-6)
    assert law.gap == pytest.approx(losses[1] - losses[0], rel=1e-6) and law.gap > 0
    # 1 / n corrections of the mean are of relative size scatter / gap / sqrt(n), a few per cent
    assert abs(law.measured.value - law.gap) < 4 * law.measured.error + 0.05 * law.gap
    narrow = [np.subtract(*training_loss(law.lr[::-1], 2**17, X, y, 3, 2, seed=s)[2]) for s in range(40)]
    # leading order at both widths: four errors of a standard deviation from 20 and from 40 draws
    assert np.std(narrow, ddof=1) * 2**8.5 == pytest.approx(law.scatter, rel=4 * math.sqrt(1 / 40 + 1 / 80))
    share = law.share([1, 2**10, 2**14])
    assert 0.5 > share[0] > share[1] > share[2] > 0 and share[2] < 0.01
    assert share[1] == pytest.approx(stats.norm.cdf(-law.gap * 32 / law.scatter))
    assert law.jumped(law.lr).tolist() == [False, True]


def test_trained_sweeps_follow_the_expected_optimum():
    data = synthetic_data(8, 2, seed=0)
    options = dict(seeds=[0], activation="linear")
    for optimiser, parametrisation, shrink in (("gd", "mup", 1), ("gd", "sp", 8), ("adam", "sp", 8**1.5)):
        lrs, losses = trained_sweep(
            [-1, 0, 1], 8, data, 2, 2, unit=0.5, optimiser=optimiser, parametrisation=parametrisation, **options
        )
        np.testing.assert_allclose(lrs, np.array([0.25, 0.5, 1.0]) / shrink)
        again = trained_losses(lrs, 8, *data, 2, 2, optimiser=optimiser, parametrisation=parametrisation, **options)
        np.testing.assert_array_equal(losses, again)
    lrs, losses = trained_sweep(
        np.arange(-4, 4), 256, data, 2, 1, optimiser="gd", parametrisation="mup", seeds=range(8), activation="linear"
    )
    assert best_lr(lrs, losses).lr == pytest.approx(limit_lr(*data, 2), rel=0.5)  # a grid of octaves


@pytest.mark.parametrize("ratio", [0.1, 0.5, 1.0, 3.0, 8.0])
def test_rms_on_a_grid_is_the_integral_over_its_cells(ratio):
    scatter, spacing = 0.2, 0.2 * ratio
    total = 0.0
    for j in range(-100, 101):
        cell = integrate.quad(stats.norm.pdf, (j - 0.5) * ratio, (j + 0.5) * ratio)[0]
        total += (j * spacing) ** 2 * cell
    assert grid_rms(spacing, scatter) == pytest.approx(math.sqrt(total), rel=1e-7)
    if ratio <= 1:  # Sheppard: rounding adds the variance of a uniform law
        assert grid_rms(spacing, scatter) == pytest.approx(math.hypot(scatter, spacing / math.sqrt(12)), rel=1e-6)


def test_rms_on_a_grid_broadcasts_and_is_that_of_draws():
    X, y = synthetic_data(50, 1, seed=0)
    c, target = limit_spread(X, y, 2), limit_lr(X, y, 2)
    optima = exact_argmin(coefficient_draws([2**16], X, y, 2, seeds=range(500)), X, y)[0]
    spacing = 1.5 * c / 2**8
    rounded = spacing * np.round((optima - target) / spacing)
    measured = np.sqrt(np.mean(rounded**2))
    assert grid_rms(spacing, c / 2**8) == pytest.approx(measured, rel=0.15)  # four errors of an rms of 500, and more
    both = grid_rms([[0.1], [0.2]], [0.1, 0.3, 0.5])
    assert both.shape == (2, 3) and both[1, 2] == pytest.approx(grid_rms(0.2, 0.5), rel=1e-12)
    with pytest.raises(ValueError, match=r"^spacing = "):
        grid_rms(0.0, 1.0)
