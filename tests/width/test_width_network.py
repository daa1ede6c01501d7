"""The deep linear network against brute force: explicit matrices and automatic differentiation."""

import itertools
import math

import numpy as np
import pytest
import torch
from scipy import stats

from lrtransfer.width import one_step_coefficients, optimal_lr, training_loss
from lrtransfer.width.data import regression
from lrtransfer.width.dense import DenseMatrix
from lrtransfer.width.network import Network, Trained, draw, one_step
from lrtransfer.width.optimum import minimise_polynomial

# Both sides are double precision with a few hundred operations on numbers of order one.
ROUNDING = {"rtol": 1e-10, "atol": 1e-12}


def explicit(n, d, layers, rng, scale=1.0):
    weights = [rng.standard_normal((n, d)) / math.sqrt(n * d)]
    weights += [rng.standard_normal((n, n)) / math.sqrt(n) for _ in range(layers)]
    return Network([DenseMatrix(w) for w in weights], rng.standard_normal(n) / math.sqrt(n), scale)


def data_of(m, d, rng):
    X = rng.standard_normal((m, d)) * np.linspace(1.0, 0.5, d)
    return X, X @ rng.standard_normal(d) + 0.1 * rng.standard_normal(m)


def torch_losses(matrices, readout, X, y, lr, steps):
    """Plain gradient descent on W_1 .. W_L by automatic differentiation: losses after 0 .. steps steps."""
    first, *rest = [torch.tensor(w) for w in matrices]
    rest = [w.requires_grad_() for w in rest]
    X, y, v = torch.tensor(X), torch.tensor(y), torch.tensor(readout)
    losses = []
    for _ in range(steps + 1):
        state = first @ X.T
        for w in rest:
            state = w @ state
        loss = ((v @ state - y) ** 2).sum() / (2 * len(y))
        losses.append(loss.item())
        gradients = torch.autograd.grad(loss, rest)
        rest = [(w - lr * g).detach().requires_grad_() for w, g in zip(rest, gradients, strict=True)]
    return np.array(losses)


def in_units_of(parametrisation, network, n, d):
    """The same weights in the parametrisation's own units: matrices, read-out, and the rate's factor."""
    matrices = [w.entries for w in network.weights]
    if parametrisation == "mup":  # W_0 ~ N(0, 1/d), V ~ N(0, 1/n^2)
        return [matrices[0] * math.sqrt(n), *matrices[1:]], network.readout / math.sqrt(n), 1.0
    # V ~ N(0, 1/n): f grows by sqrt(n); NTP's multipliers are SP at rate eta / n
    return [matrices[0] * math.sqrt(n), *matrices[1:]], network.readout, 1 / n


@pytest.mark.parametrize("layers", [1, 2, 3, 5])
@pytest.mark.parametrize(("m", "d"), [(1, 1), (6, 1), (6, 3), (2, 4)])
@pytest.mark.parametrize("parametrisation", ["mup", "sp"])
def test_polynomial_is_a_direct_gradient_step(layers, m, d, parametrisation):
    rng = np.random.default_rng(layers * 10 + m + d)
    n = 11
    X, y = data_of(m, d, rng)
    data = regression(X, y)
    network = explicit(n, d, layers, rng, 1.0 if parametrisation == "mup" else math.sqrt(n))
    coefficients = one_step(network, data)
    matrices, readout, factor = in_units_of(parametrisation, network, n, d)
    for lr in (0.0, 0.3, 1.1):
        theta = np.sum(coefficients * lr ** np.arange(layers + 1)[:, None], axis=0)
        ours = np.sum((X @ theta - y) ** 2) / (2 * m)
        theirs = torch_losses(matrices, readout, X, y, lr * factor, 1)[1]
        np.testing.assert_allclose(ours, theirs, **ROUNDING)
        np.testing.assert_allclose(data.loss(theta), theirs, **ROUNDING)


@pytest.mark.parametrize("layers", [1, 2, 3, 4])
@pytest.mark.parametrize("parametrisation", ["mup", "sp"])
def test_training_is_gradient_descent(layers, parametrisation):
    rng = np.random.default_rng(layers)
    n, m, d, steps = 8, 5, 2, 5
    X, y = data_of(m, d, rng)
    data = regression(X, y)
    network = explicit(n, d, layers, rng, 1.0 if parametrisation == "mup" else math.sqrt(n))
    lrs = np.array([0.05, 0.2, 0.4])
    losses = data.loss(np.moveaxis(Trained(network, data, lrs, steps).theta, 1, 0))
    matrices, readout, factor = in_units_of(parametrisation, network, n, d)
    for column, lr in enumerate(lrs):
        theirs = torch_losses(matrices, readout, X, y, lr * factor, steps)
        np.testing.assert_allclose(losses[:, column], theirs, rtol=1e-9)


@pytest.mark.parametrize("width", [5, 40, 2**20, math.inf])
@pytest.mark.parametrize("layers", [2, 3])
def test_the_revealed_matrices_trained_explicitly_give_the_same_losses(width, layers):
    # The few revealed coordinates of a network of any width, infinite too, are an explicit small network:
    # every product that training asked for is in it, so plain gradient descent on it must give the same
    # losses.
    X, y = data_of(6, 2, np.random.default_rng(3))
    data = regression(X, y)
    network = draw(width, 2, layers, parametrisation="mup", seed=4)
    lrs, steps = np.array([0.1, 0.35]), 4
    losses = data.loss(np.moveaxis(Trained(network, data, lrs, steps).theta, 1, 0))
    matrices = [w.known() for w in network.weights]
    readout = np.zeros(len(matrices[-1]))
    readout[: len(network.readout)] = network.readout
    for column, lr in enumerate(lrs):
        theirs = torch_losses(matrices, readout, X, y, lr, steps)
        np.testing.assert_allclose(losses[:, column], theirs, rtol=1e-9)


@pytest.mark.parametrize("coordinates", [True, False])
def test_coefficients_have_the_law_of_explicit_matrices(coordinates):
    # 800 draws each at n = 6, where widths are far from any limit; KS level 1e-4 for 4 x 2 numbers.
    rng = np.random.default_rng(5)
    X, y = data_of(4, 2, rng)
    data = regression(X, y)
    dense = np.array([one_step(explicit(6, 2, 3, rng), data) for _ in range(800)])
    lazy = np.array([one_step_coefficients(6, X, y, 3, seed=seed, coordinates=coordinates) for seed in range(800)])
    for k, axis in itertools.product(range(4), range(2)):
        assert stats.ks_2samp(dense[:, k, axis], lazy[:, k, axis]).pvalue > 1e-4


def test_best_rate_and_trained_loss_have_the_law_of_explicit_matrices():
    rng = np.random.default_rng(6)
    X, y = data_of(4, 2, rng)
    data = regression(X, y)
    lr = np.array([0.25])
    best, loss = [], []
    for _ in range(400):
        network = explicit(24, 2, 3, rng)
        best.append(minimise_polynomial(one_step(network, data)[None], data, 0.0, 8.0)[0])
        loss.append(data.loss(Trained(network, data, lr, 3).theta[-1])[0])
    ours = [optimal_lr(24, X, y, 3, interval=(0.0, 8.0), seed=seed) for seed in range(400)]
    losses = [training_loss(lr, 24, X, y, 3, 3, seed=seed)[-1, 0] for seed in range(400)]
    assert stats.ks_2samp(best, ours).pvalue > 1e-4
    assert stats.ks_2samp(loss, losses).pvalue > 1e-4


def test_a_run_that_overflows_is_inf_and_harms_no_other():
    X, y = data_of(6, 2, np.random.default_rng(3))
    losses = training_loss([0.1, 40.0, 0.2], 16, X, y, 3, 12, seed=0)
    alone = training_loss([0.1, 0.2], 16, X, y, 3, 12, seed=0)
    assert np.isinf(losses[-1, 1]) and not np.isnan(losses).any()
    np.testing.assert_allclose(losses[:, [0, 2]], alone, rtol=1e-9)
