"""Dense training: the decomposition measured, Gaussian start, label noise, ReLU, schedule and sharpness."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from lrtransfer.layers import (
    chain_losses,
    proposition_bound,
    self_interaction,
    train_three_layers,
    two_layer_losses,
)
from lrtransfer.layers.dense import chain_descent, two_layer_descent
from lrtransfer.layers.relu import ThreeLayerProblem
from lrtransfer.layers.schedule import top_curvature, two_layer_schedule
from lrtransfer.numerics.random import haar_orthogonal


def test_self_interaction_against_dense_gradients():
    h, draws, steps = 12, 400, 3
    lr1, lr2 = 0.5 * h**1.5, 0.3 * h**1.5
    rng = np.random.default_rng(0)
    squares = np.zeros((steps + 1, 2, 2, draws))
    for draw in range(draws):
        w1, w2, m = (haar_orthogonal(h, rng) for _ in range(3))
        for t in range(steps + 1):
            signal = m / np.sqrt(h)
            for layer, push in enumerate((lambda e: e @ w2.T / h, lambda e: w1.T @ e / h)):  # noqa: B023
                squares[t, layer, 0, draw] = np.sum(push(w1 @ w2 / h) ** 2)
                squares[t, layer, 1, draw] = np.sum(push(w1 @ w2 / h - signal) ** 2)
            error = w1 @ w2 / h - signal
            w1, w2 = w1 - lr1 / h * error @ w2.T, w2 - lr2 / h * w1.T @ error
    found = squares.mean(axis=3)
    spread = squares.std(axis=3) / np.sqrt(draws) / found
    relative = 0.5 * np.hypot(spread[:, :, 0], spread[:, :, 1])
    expected = self_interaction(lr1, lr2, h, steps)
    assert (np.abs(np.sqrt(found[:, :, 0] / found[:, :, 1]) / expected - 1) < 4 * relative + 1e-12).all()


def test_bound_holds_before_the_first_step_and_not_after_it():
    for h in (100, 1000, 10_000):
        ratio = self_interaction(h**1.4, h**1.4, h, 1)
        np.testing.assert_allclose(ratio[0], 1 / np.sqrt(h + 1), rtol=1e-9)
        assert (ratio[0] < proposition_bound(h)).all()
        assert (ratio[1] > 1.5 * proposition_bound(h)).all()
        # rates below h leave the first two gradients within it
        assert (self_interaction(h**0.5, h**0.5, h, 1) < proposition_bound(h)).all()


def test_self_interaction_diverges_to_inf():
    ratio = self_interaction(1e9, 1e9, 100, 30)
    assert not np.isnan(ratio).any() and np.isinf(ratio[-1]).all()


@pytest.mark.parametrize("initialisation", ["orthogonal", "gaussian"])
def test_start_and_noise_floor(initialisation):
    """The start has loss 1 + 1/h on average; label noise leaves h rho (two layers) or rho (scalar output)."""
    h, draws, rho = 10, 120, 0.02
    start = two_layer_losses(0, 0, h, 0, draws=draws, seed=0, initialisation=initialisation)[0]
    assert abs(start.mean() - (1 + 1 / h)) < 4 * start.std() / np.sqrt(draws)
    unit = h**1.5
    end = two_layer_losses(
        0.4 * unit, 0.2 * unit, h, 120, draws=draws, seed=0, initialisation=initialisation, noise=rho
    )
    assert abs(end[-1].mean() - h * rho) < 4 * end[-1].std() / np.sqrt(draws) + 1e-3
    scalar = chain_losses([1.0, 1.0], h, 200, draws=draws, seed=0, initialisation=initialisation, noise=rho)
    assert abs(scalar[-1].mean() - rho) < 4 * scalar[-1].std() / np.sqrt(draws) + 1e-4


def test_rates_share_draws_and_shapes():
    grid = two_layer_losses(np.array([[1.0], [5.0]]), [2.0, 3.0, 4.0], 6, 2, draws=4, seed=3)
    assert grid.shape == (3, 4, 2, 3)
    single = two_layer_losses(5.0, 4.0, 6, 2, draws=4, seed=3)
    np.testing.assert_array_equal(grid[:, :, 1, 2], single)
    chain = chain_losses(np.ones((3, 2)), 6, 2, draws=4, seed=3)
    assert chain.shape == (3, 4, 2)
    np.testing.assert_array_equal(chain[..., 0], chain[..., 1])


def test_divergence_is_inf_and_never_nan():
    for losses in (
        two_layer_losses(1e9, 1e9, 6, 20, draws=2, seed=0),
        chain_losses([1e9, 1e9], 6, 20, draws=2, seed=0),
    ):
        assert not np.isnan(losses).any() and np.isinf(losses[-1]).all()
    run = train_three_layers(6, 1e9, 20, seed=0, activation="linear", sharpness=True)
    assert np.isinf(run.test_loss[-1]) and np.isinf(run.norms[-1]).all() and run.sharpness == np.inf


def problem(h: int, relu: bool, seed: int = 0) -> tuple[ThreeLayerProblem, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    inputs = np.sqrt(h) * haar_orthogonal(h, rng)
    labels, readout = rng.standard_normal((2, h))
    w1, w2 = rng.standard_normal((2, h, h)) / np.sqrt(h)
    return ThreeLayerProblem(inputs, labels, readout / h, relu), w1, w2


@pytest.mark.parametrize("relu", [True, False])
def test_gradient_and_hessian_by_differences(relu):
    """Central differences along a direction, step 1e-5: truncation 1e-10 relative to values of order one."""
    task, w1, w2 = problem(7, relu)
    v1, v2 = np.random.default_rng(5).standard_normal((2, 7, 7))
    d = 1e-5

    def objective(step: float) -> float:
        return 0.5 * float(np.mean(task.forward(w1 + step * v1, w2 + step * v2)[2] ** 2))

    g1, g2, _ = task.gradient(w1, w2)
    slope = (objective(d) - objective(-d)) / (2 * d)
    assert np.sum(g1 * v1) + np.sum(g2 * v2) == pytest.approx(slope, rel=1e-7)
    up, down = (task.gradient(w1 + s * v1, w2 + s * v2)[:2] for s in (d, -d))
    for found, plus, minus in zip(task.hessian_product(w1, w2, v1, v2), up, down, strict=True):
        np.testing.assert_allclose(found, (plus - minus) / (2 * d), atol=1e-7)


@pytest.mark.parametrize("relu", [True, False])
def test_sharpness_against_the_whole_hessian(relu):
    task, w1, w2 = problem(4, relu, seed=2)
    size = w1.size
    columns = []
    for unit in np.eye(2 * size):
        product = task.hessian_product(w1, w2, unit[:size].reshape(4, 4), unit[size:].reshape(4, 4))
        columns.append(np.concatenate([p.ravel() for p in product]))
    hessian = np.array(columns)
    np.testing.assert_allclose(hessian, hessian.T, atol=1e-12)
    values = np.linalg.eigvalsh(hessian)
    found = top_curvature(partial(task.hessian_product, w1, w2), w1.shape, np.random.default_rng(0), 1e-9)
    assert found == pytest.approx(values[np.argmax(np.abs(values))], rel=1e-5)


def test_linear_activation_is_the_chain():
    """With X'X = n I the training loss is the squared distance of the linear forms: chain_descent's loss."""
    h, lr = 9, 3.0
    rng = np.random.default_rng(4)
    inputs = np.sqrt(h) * haar_orthogonal(h, rng)
    a, beta = rng.standard_normal((2, h)) / np.sqrt(h)
    w1, w2 = haar_orthogonal(h, rng), haar_orthogonal(h, rng)
    expected = chain_descent([w1, w2], a, beta, beta, [lr, lr], 5)
    task = ThreeLayerProblem(inputs, inputs @ beta, a / np.sqrt(h), relu=False)
    for t in range(6):
        g1, g2, residual = task.gradient(w1, w2)
        assert np.mean(residual**2) == pytest.approx(expected[t], rel=1e-10)
        w1, w2 = w1 - lr * g1, w2 - lr * g2


def test_learned_network_has_the_sharpness_of_the_scale():
    """A learned linear network curves like (|W_1|^2 + |W_2|^2) / h = 2 / sqrt(h) along the teacher."""
    h = 64
    run = train_three_layers(h, 2.0, 200, seed=0, activation="linear", sharpness=True)
    assert run.train_loss[-1] < 1e-10
    assert 0.5 * 2 / np.sqrt(h) < run.sharpness < 2 * 2 / np.sqrt(h)


def test_schedule_keeps_the_sum_and_starts_equal():
    """Orthogonal starts have equal norms: the first step of both schedules is the same."""
    runs = [train_three_layers(24, 1.5, 60, seed=1, schedule=s) for s in ("uniform", "norm")]
    np.testing.assert_allclose(runs[0].train_loss[:2], runs[1].train_loss[:2], rtol=1e-12)
    assert np.abs(runs[0].train_loss[2:] - runs[1].train_loss[2:]).max() > 0
    assert all(run.train_loss[-1] < run.train_loss[0] for run in runs)
    assert runs[0].sharpness is None


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"lr": 0.0}, "lr"),
        ({"lr": np.ones(2)}, "lr"),
        ({"h": 1}, "h"),
        ({"steps": -1}, "steps"),
        ({"split": 1.5}, "split"),
        ({"schedule": "cosine"}, "schedule"),
        ({"activation": "tanh"}, "activation"),
        ({"initialisation": "zeros"}, "initialisation"),
        ({"noise": -0.1}, "noise"),
    ],
)
def test_bad_input_is_named(change, name):
    arguments = {"h": 6, "lr": 1.0, "steps": 2, "seed": 0} | change
    with pytest.raises(ValueError, match=rf"^{name} = "):
        train_three_layers(**arguments)


def test_bad_dense_input_is_named():
    with pytest.raises(ValueError, match=r"^noise = "):
        two_layer_losses(1.0, 1.0, 6, 1, draws=1, seed=0, noise=-1.0)
    with pytest.raises(ValueError, match=r"^initialisation = "):
        chain_losses([1.0], 6, 1, draws=1, seed=0, initialisation="xavier")
    with pytest.raises(ValueError, match=r"^draws = "):
        chain_losses([1.0], 6, 1, draws=0, seed=0)


def test_power_iteration_does_not_stop_on_the_bulk():
    """A flat bulk below the top eigenvalue holds the quotient still for a few iterations (seeds 17, 18: at half)."""
    from scipy.sparse.linalg import LinearOperator, eigsh

    h = 128
    rng = np.random.default_rng(0)
    inputs = np.sqrt(h) * haar_orthogonal(h, rng)
    a, beta = rng.standard_normal((2, h)) / np.sqrt(h)
    task = ThreeLayerProblem(inputs, inputs @ beta, a / np.sqrt(h), relu=False)
    w1, w2 = haar_orthogonal(h, rng), haar_orthogonal(h, rng)
    for _ in range(60):
        g1, g2, _ = task.gradient(w1, w2)
        w1, w2 = w1 - 6 * g1, w2 - 6 * g2

    def product(v):
        u = task.hessian_product(w1, w2, v[: h * h].reshape(h, h), v[h * h :].reshape(h, h))
        return np.concatenate([part.ravel() for part in u])

    top = eigsh(LinearOperator((2 * h * h, 2 * h * h), matvec=product, dtype=float), k=1, v0=np.ones(2 * h * h))[0][0]
    for seed in (0, 17, 18):
        assert top_curvature(
            partial(task.hessian_product, w1, w2), w1.shape, np.random.default_rng(seed), 1e-4
        ) == pytest.approx(top, rel=1e-3)


def test_two_layer_schedule_is_plain_descent_when_uniform():
    """Against ``two_layer_losses``: one draw of the same weights and teacher, uniform rates."""
    h, rate = 9, 0.3 * 9**1.5
    run = two_layer_schedule(h, rate, 4, seed=3, initialisation="orthogonal")
    rng = np.random.default_rng(3)
    w1, w2, m = (haar_orthogonal(h, rng) for _ in range(3))
    again = two_layer_descent(w1, w2, m / 3, m / 3, rate, rate, 4)
    np.testing.assert_allclose(run.train_loss, again, rtol=1e-12)
    assert run.sharpness is None and run.norms.shape == (5, 2)


@pytest.mark.parametrize(("schedule", "power"), [("uniform", 2), ("norm", 3)])
def test_two_layer_schedule_conserves_its_power_of_the_norms(schedule, power):
    """Under the flow; the drift is of first order in the rate."""
    drift = []
    for kappa in (0.02, 0.01):
        norms = two_layer_schedule(12, kappa * 12**1.5, round(2 / kappa), seed=0, schedule=schedule, scale=1.3).norms
        kept = norms[:, 0] ** power - norms[:, 1] ** power
        drift.append(abs(kept[-1] / kept[0] - 1))
        assert norms[-1].sum() > 1.2 * norms[0].sum()
    assert drift[1] < 0.01 and drift[1] == pytest.approx(drift[0] / 2, rel=0.2)


def test_two_layer_sharpness_against_the_whole_hessian():
    h, rate = 4, 0.4 * 8
    run = two_layer_schedule(h, rate, 3, seed=1, scale=1.5, schedule="norm", sharpness=True)
    rng = np.random.default_rng(1)
    w1, w2 = 1.5 * rng.standard_normal((h, h)) / 2, rng.standard_normal((h, h)) / 2 / 1.5
    m = haar_orthogonal(h, rng) / 2
    for _ in range(3):
        e, a, b = w1 @ w2 / h - m, np.linalg.norm(w1), np.linalg.norm(w2)
        w1, w2 = w1 - 2 * b / (a + b) * rate / h * e @ w2.T, w2 - 2 * a / (a + b) * rate / h * w1.T @ e

    def loss(flat):
        one, two = flat.reshape(2, h, h)
        return np.sum((one @ two / h - m) ** 2) / 2

    at, d = np.array([w1, w2]).ravel(), 1e-4
    eye = d * np.eye(at.size)
    hessian = [
        [(loss(at + x + y) - loss(at + x - y) - loss(at - x + y) + loss(at - x - y)) / (4 * d * d) for y in eye]
        for x in eye
    ]
    assert run.sharpness == pytest.approx(np.abs(np.linalg.eigvalsh(hessian)).max(), rel=1e-5)


def test_a_larger_first_layer_leaves_the_product():
    plain, unequal = (train_three_layers(8, 1.0, 0, seed=2, activation="linear", scale=s) for s in (1.0, 1.7))
    np.testing.assert_allclose(unequal.train_loss, plain.train_loss, rtol=1e-12)
    np.testing.assert_allclose(unequal.norms[0], plain.norms[0] * [1.7, 1 / 1.7], rtol=1e-12)
