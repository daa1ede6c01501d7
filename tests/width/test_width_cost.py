"""What transfer costs, two steps by hand, the constant for several inputs, the optimum of an averaged loss."""

import math

import numpy as np
import pytest

from lrtransfer.width import (
    coefficient_draws,
    exact_argmin,
    grid_argmin,
    limit_lr,
    limit_spread,
    one_step_cost,
    optimal_lr,
    predicted_cost,
    synthetic_data,
    training_loss,
    transfer_cost,
    two_step_form,
)
from lrtransfer.width.breaks import average_break_probability, break_slopes, shows_break


def uneven(m, d, seed):
    X, y = synthetic_data(m, d, seed=seed)
    X = X * np.linspace(1.0, 0.4, d)
    return X, 3 * X @ np.linspace(1.0, -1.0, d) + y


@pytest.mark.parametrize("layers", [1, 2, 3, 4, 6])
@pytest.mark.parametrize(("m", "d"), [(2, 1), (6, 3), (40, 5)])
def test_two_steps_by_hand_are_those_of_the_recursion(layers, m, d):
    X, y = synthetic_data(m, d, seed=2)
    lrs = limit_lr(X, y, layers) * np.array([[0.0, 0.4, 1.0], [1.3, 2.0, 3.0]])
    theta = two_step_form(lrs, X, y, layers)
    assert theta.shape == (2, 3, d)
    ours = ((theta @ X.T - y) ** 2).sum(axis=-1) / (2 * m)
    np.testing.assert_allclose(ours, training_loss(lrs, math.inf, X, y, layers, 2, seed=0)[2], rtol=1e-11)


def test_two_steps_of_one_layer_are_two_steps_of_regression():
    X, y = synthetic_data(10, 3, seed=0)
    theta = np.zeros(3)
    for _ in range(2):
        theta -= 0.7 / 3 * X.T @ (X @ theta - y) / 10
    np.testing.assert_allclose(two_step_form(0.7, X, y, 1), theta, rtol=1e-12)


@pytest.mark.parametrize(("m", "d", "layers"), [(200, 5, 3), (20, 3, 2), (3, 3, 4), (1, 4, 3), (5, 2, 1)])
def test_the_constant_for_several_inputs_is_that_of_draws(m, d, layers):
    X, y = uneven(m, d, seed=2)
    n, draws = 2**22, 1000
    off = exact_argmin(coefficient_draws([n], X, y, layers, seeds=range(draws)), X, y)[0] - limit_lr(X, y, layers)
    measured = math.sqrt(n * np.mean(off**2))
    assert measured == pytest.approx(limit_spread(X, y, layers), rel=4 / math.sqrt(2 * draws))  # four errors


@pytest.mark.parametrize(("m", "d"), [(50, 1), (50, 3)])
def test_cost_of_one_step_is_the_loss_lost_and_its_prediction(m, d):
    X, y = uneven(m, d, seed=1)
    widths, seeds = [64, 2**14], range(300)
    draws = coefficient_draws(widths, X, y, 2, seeds=seeds)
    found = one_step_cost(draws, X, y)
    limit = limit_lr(X, y, 2)
    gain = np.sum(y**2) / (2 * m) - training_loss(limit, math.inf, X, y, 2, 1, seed=0)[1]
    for k, n in enumerate(widths):
        best = optimal_lr(n, X, y, 2, seed=5)
        lost = np.subtract(*training_loss([limit, best], n, X, y, 2, 1, seed=5)[1]) / gain
        assert found.best[k, 5] == pytest.approx(best, rel=1e-9) and found.lost[k, 5] == pytest.approx(lost, rel=1e-6)
    mean, error = found.lost[1].mean(), found.lost[1].std(ddof=1) / math.sqrt(300)
    assert abs(mean - predicted_cost(2**14, X, y, 2)) < 4 * error < 0.5 * mean
    assert predicted_cost([64, 128], X, y, 2) == pytest.approx(
        (limit_spread(X, y, 2) / limit) ** 2 / np.array([64, 128])
    )


def test_cost_of_one_step_by_either_route_and_of_several_steps():
    X, y = synthetic_data(30, 3, seed=0)
    by_draws = one_step_cost(coefficient_draws([64, 256], X, y, 2, seeds=range(4)), X, y)
    found = transfer_cost([64, 256], X, y, 2, steps=1, seeds=range(4))
    np.testing.assert_allclose(found.best, by_draws.best, rtol=1e-9)
    np.testing.assert_allclose(found.lost, by_draws.lost, rtol=1e-6, atol=1e-12)
    assert found.lr == pytest.approx(by_draws.lr, rel=1e-10)
    found = transfer_cost([64, 256], X, y, 2, steps=3, seeds=[7])
    limit, best = (optimal_lr(n, X, y, 2, steps=3, seed=7) for n in (math.inf, 64))
    assert (found.lr, found.best[0, 0]) == pytest.approx((limit, best), rel=1e-7)
    gain = np.sum(y**2) / 60 - training_loss(limit, math.inf, X, y, 2, 3, seed=0)[3]
    lost = np.subtract(*training_loss([limit, best], 64, X, y, 2, 3, seed=7)[3]) / gain
    assert found.lost[0, 0] == pytest.approx(lost, rel=1e-6)
    other = transfer_cost([64], X, y, 2, steps=3, seeds=[7], lr=[0.8 * limit, limit])
    lost = np.subtract(*training_loss([0.8 * limit, best], 64, X, y, 2, 3, seed=7)[3]) / gain
    assert other.lost.shape == (2, 1, 1) and other.best[0, 0] == found.best[0, 0]
    assert other.lost[0, 0, 0] == pytest.approx(lost, rel=1e-6)
    assert other.lost[1, 0, 0] == pytest.approx(found.lost[0, 0], rel=1e-4)


def test_the_optimum_of_an_averaged_loss_beats_every_rate_of_a_fine_grid():
    X, y = synthetic_data(20, 2, seed=0)
    draws = coefficient_draws([64, 512], X, y, 3, seeds=range(6))
    lrs = np.linspace(0.0, 4 * limit_lr(X, y, 3), 20_001)
    exact, grid = exact_argmin(draws, X, y, average=True), grid_argmin(draws, X, y, lrs, average=True)
    assert exact.shape == (2,) and np.abs(exact - grid).max() <= lrs[1]
    np.testing.assert_allclose(
        exact_argmin(draws[:, :1], X, y, average=True), exact_argmin(draws[:, 0], X, y), rtol=1e-9
    )
    with pytest.raises(ValueError, match=r"^coefficients = "):
        exact_argmin(draws[0, 0], X, y, average=True)


def test_breaks_of_the_optimum_of_an_averaged_loss():
    X, y = synthetic_data(seed=0)
    widths = 2 ** np.arange(7, 14)
    pool, target = coefficient_draws(widths, X, y, 3, seeds=range(100)), limit_lr(X, y, 3)
    found = average_break_probability(widths, pool, X, y, target, seeds=5, replicas=100, seed=3)
    picks = np.random.default_rng(3).integers(0, 100, size=(7, 100, 5))
    optima = [
        [exact_argmin(row[few], X, y, average=True) for few in chosen] for row, chosen in zip(pool, picks, strict=True)
    ]
    slopes = break_slopes(widths, np.abs(np.array(optima) - target))
    assert found == np.mean(shows_break(*slopes)) and 0.0 < found < 0.3


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda X, y: two_step_form(np.nan, X, y, 2), "lrs"),
        (lambda X, y: two_step_form(0.1, X, y, 0), "hidden_layers"),
        (lambda X, y: two_step_form(0.1, X, np.zeros(4), 2), "y"),
        (lambda X, y: transfer_cost([8], X, y, 2, steps=0, seeds=[0]), "steps"),
        (lambda X, y: transfer_cost([8], X, y, 2, steps=1, seeds=[0], lr=0.0), "lr"),
        (lambda X, y: transfer_cost([8], X, y, 0, steps=1, seeds=[0]), "hidden_layers"),
        (lambda X, y: transfer_cost([8], X, np.zeros(4), 2, steps=1, seeds=[0]), "y"),
        (lambda X, y: one_step_cost(np.ones((3, 3)), X, y), "coefficients"),
        (lambda X, y: predicted_cost([0], X, y, 2), "widths"),
    ],
)
def test_bad_input_names_the_argument(call, name):
    with pytest.raises(ValueError, match=f"^{name} = "):
        call(*synthetic_data(4, 2, seed=0))
