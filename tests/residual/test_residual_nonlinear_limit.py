"""Finite ensembles and huge widths: against autograd, the linear theory, the lazy limit and each other."""

import math

import numpy as np
import pytest

from lrtransfer.numerics.random import stream
from lrtransfer.residual.theory.descent import root_of
from lrtransfer.residual.theory.lazy import relu_ntk
from lrtransfer.residual.theory.lazy_outputs import lazy_outputs
from lrtransfer.residual.theory.linear_limit import linear_kernels, linear_limit
from lrtransfer.residual.theory.nonlinear_limit import nonlinear_limit
from lrtransfer.residual.theory.trained_ensemble import Dense, train_ensemble

GRAM = np.array([[1.0, 0.3], [0.3, 1.2]])
TARGET = np.array([1.0, -0.5])


@pytest.mark.parametrize("activation", ["linear", "relu", "tanh"])
@pytest.mark.parametrize("centred", [True, False])
def test_descent_is_gradient_descent(activation, centred):
    torch = pytest.importorskip("torch")
    n, depth, steps, lr, gamma0, branch = 7, 3, 4, 0.3, 0.8, 0.4
    run = train_ensemble(
        [lr, 0.05], gamma0, n, depth, steps, draws=2, seed=4, target=TARGET, gram=GRAM, branch=branch,
        activation=activation, centred=centred,
    )  # fmt: skip
    weights = Dense([stream(4, 1)], n, depth)
    blocks = torch.tensor(weights.blocks[0] * math.sqrt(n))
    x = torch.tensor(root_of(GRAM)) * math.sqrt(2)  # D = 2
    read_in = torch.tensor(weights.read_in(np.eye(2))[0, 0].T.copy())
    readout = torch.tensor(weights.readout()[0, 0, 0])
    parameters = [p.requires_grad_() for p in (read_in, blocks, readout)]
    phi = {"linear": lambda z: z, "relu": torch.relu, "tanh": torch.tanh}[activation]
    start = None
    for t in range(steps + 1):
        h = x @ read_in.T / math.sqrt(2)
        kernels = [(phi(h) ** 2).mean().item()]
        for block in blocks:
            h = h + depth**-branch / math.sqrt(n) * phi(h) @ block.T
            kernels.append((phi(h) ** 2).mean().item())
        f = phi(h) @ readout / (gamma0 * n)
        start = (f.detach() if centred else 0.0) if start is None else start
        np.testing.assert_allclose(run.f[t, 0, 1], (f - start).detach(), atol=1e-13)
        np.testing.assert_allclose(run.H[t, :, 0, 1], kernels, rtol=1e-12)
        gradients = torch.autograd.grad(((f - start - torch.tensor(TARGET)) ** 2).mean() / 2, parameters)
        with torch.no_grad():
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter -= lr * gamma0**2 * n * gradient


def test_sampled_neurons_of_a_linear_network_give_the_linear_limit():
    # Plain neurons here, rotated coordinates elsewhere: the linear case by the nonlinear route.

    lr, gamma0, depth, steps = 0.05, 1.0, 3, 5
    from lrtransfer.residual.theory.descent import check_problem, descend
    from lrtransfer.residual.theory.nonlinear_limit import Neurons

    problem = check_problem(lr, gamma0, depth, steps, 1.0, None, 0.5, "linear", True)
    outputs = np.array([descend(Neurons(4000, depth, stream(1, draw)), problem)[0][:, 0, 0, 0] for draw in range(12)])
    exact = linear_limit(lr, gamma0, depth, steps)
    error = outputs.std(axis=0, ddof=1) / math.sqrt(12)
    # 12 draws: Student's t with 11 degrees of freedom, 5 standard errors are a chance of 4e-4. Bias: about 1/N.
    assert (np.abs(outputs.mean(axis=0) - exact)[1:] < 5 * error[1:] + 1e-3).all()
    assert (error[1:] < 0.02).all()


def test_rotated_and_dense_linear_networks_have_the_same_law():
    lr, gamma0, n, depth, steps = 0.05, 1.0, 24, 2, 5
    dense = train_ensemble(lr, gamma0, n, depth, steps, draws=1500)
    rotated = nonlinear_limit(lr, gamma0, depth, steps, activation="linear", neurons=n, draws=300)
    for name, axis in (("f", 1), ("H", 2), ("G", 2)):
        sample = getattr(dense, name)
        spread = np.hypot(sample.std(axis=axis) / math.sqrt(1500), getattr(rotated, name + "_error"))
        distance = np.abs(sample.mean(axis=axis) - getattr(rotated, name))
        assert (distance <= 4.5 * spread).all()  # about 40 numbers, strongly correlated


def test_several_inputs_on_the_exact_linear_route():
    # Two equal inputs with equal targets are one input.
    one = nonlinear_limit(0.05, 1.0, 3, 5, activation="linear", neurons=math.inf)
    two = nonlinear_limit(
        0.05, 1.0, 3, 5, activation="linear", neurons=math.inf, target=[1.0, 1.0], gram=np.ones((2, 2))
    )
    np.testing.assert_allclose(two.f, one.f[:, None] * [1, 1], atol=1e-10)
    assert (one.f_error == 0).all()


@pytest.mark.parametrize("activation", ["relu", "tanh"])
def test_huge_widths_are_what_finite_ensembles_tend_to(activation):
    lr, gamma0, depth, steps = 0.1, 1.0, 3, 5
    huge = nonlinear_limit(lr, gamma0, depth, steps, activation=activation, neurons=4000, draws=10)
    finite = train_ensemble(lr, gamma0, 64, depth, steps, draws=600, activation=activation)
    error = np.hypot(finite.f.std(axis=1) / math.sqrt(600), huge.f_error)
    # Bias c/N: c = 2.0 (ReLU) and 0.14 (tanh) at the last step, measured at N = 16 and 32; for H 3.7 and 0.1.
    assert (np.abs(finite.f.mean(axis=1) - huge.f) <= 4.5 * error + 2.5 / 64).all()
    assert huge.f[-1] > 0.2  # something was learned
    kernel_error = np.hypot(finite.H.std(axis=2) / math.sqrt(600), huge.H_error)
    assert (np.abs(finite.H.mean(axis=2) - huge.H) <= 4.5 * kernel_error + 5 / 64).all()


def test_small_gamma0_is_the_lazy_limit_for_two_inputs():
    gram, c = np.array([[1.0, 0.3], [0.3, 1.0]]), 0.3
    run = nonlinear_limit(0.1, 1e-3, 3, 5, neurons=3000, draws=16, target=TARGET, gram=gram)
    kernel = relu_ntk(np.array([[1.0, c], [c, 1.0]]), 3)
    expected = lazy_outputs(0.1, kernel, TARGET, 5)
    assert (np.abs(run.f - expected)[1:] < 5 * run.f_error[1:] + 1e-3).all()  # t with 15 degrees of freedom; 3/N
    assert (run.f_error[1:] < 0.02).all()


def test_relu_of_one_input_scales_like_the_linear_network():
    # For one input the network is homogeneous: gamma_0 and y enter as their product, lr alone.
    plain = nonlinear_limit(0.1, 1.0, 2, 4, neurons=500, draws=2)
    scaled = nonlinear_limit(0.1, 0.5, 2, 4, neurons=500, draws=2, target=2.0)
    np.testing.assert_allclose(scaled.f, 2 * plain.f, atol=1e-9)


def test_kernels_of_the_exact_route_and_of_the_recursion_agree():
    run = nonlinear_limit(0.1, 2.0, 4, 4, activation="linear", neurons=math.inf)
    theory = linear_kernels(0.1, 2.0, 4, 4)
    np.testing.assert_allclose(run.H, theory.H[np.arange(5), np.arange(5)], rtol=1e-10)


def test_draws_and_rates_do_not_disturb_each_other():
    one = train_ensemble(0.1, 1.0, 8, 2, 3, draws=2, activation="relu")
    many = train_ensemble([0.1, 50.0], 1.0, 8, 2, 3, draws=4, activation="relu")
    np.testing.assert_allclose(many.f[:, 0, :2], one.f, rtol=1e-12)
    assert many.H.shape == (4, 3, 2, 4)


def test_rates_of_their_own_are_the_same_networks():
    lrs = np.array([[0.1, 0.2], [0.3, 0.4], [0.05, 0.6]])
    own = train_ensemble(lrs, 1.0, 8, 2, 3, draws=3, activation="relu")
    for draw, rates in enumerate(lrs):
        shared = train_ensemble(rates, 1.0, 8, 2, 3, draws=3, activation="relu")
        np.testing.assert_allclose(own.f[:, :, draw], shared.f[:, :, draw], rtol=1e-12)
        np.testing.assert_allclose(own.start, shared.start, rtol=1e-12)


@pytest.mark.parametrize("activation", ["linear", "relu", "tanh"])
def test_divergence_is_inf_and_never_nan(activation):
    run = train_ensemble([0.01, 1e4, 1e200], 1.0, 6, 3, 12, draws=3, activation=activation)
    for values in (run.f, run.H, run.G):
        assert not np.isnan(values).any()
    assert np.isfinite(run.f[:, 0]).all()
    if activation == "linear":
        assert np.isinf(run.f[-1, 1:]).all()
        huge = nonlinear_limit(1e4, 1.0, 3, 12, activation=activation, neurons=math.inf)
        assert np.isinf(huge.f[-1]) and not np.isnan(huge.H).any()
    sampled = nonlinear_limit(1e200, 1.0, 2, 6, activation=activation, neurons=50, draws=2)
    assert not np.isnan(sampled.f).any() and not np.isnan(sampled.f_error).any()


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("lr", {"lr": [0.1, 0.2]}),
        ("gamma0", {"gamma0": 0.0}),
        ("depth", {"depth": math.inf}),
        ("activation", {"activation": "gelu"}),
        ("neurons", {"neurons": math.inf}),
        ("neurons", {"neurons": 0}),
        ("draws", {"draws": 1}),
        ("gram", {"target": [1.0, 2.0]}),
        ("gram", {"target": [1.0, 2.0], "gram": [[1.0, 2.0], [2.0, 1.0]]}),
        ("target", {"target": [[1.0]]}),
        ("seed", {"seed": -1}),
    ],
)
def test_bad_arguments_are_named(name, arguments):
    with pytest.raises(ValueError, match=name):
        nonlinear_limit(**({"lr": 0.1, "gamma0": 1.0, "depth": 2, "steps": 1} | arguments))


def test_bad_ensembles_are_named():
    with pytest.raises(ValueError, match="width"):
        train_ensemble(0.1, 1.0, 0, 2, 1, draws=1)
    with pytest.raises(ValueError, match="draws"):
        train_ensemble(0.1, 1.0, 4, 2, 1, draws=0)
    with pytest.raises(ValueError, match="lr"):
        train_ensemble([], 1.0, 4, 2, 1, draws=1)
