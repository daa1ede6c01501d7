"""The lazy limit: closed forms, the layer-time equations against finite depth, random networks at finite width."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lrtransfer.numerics.fits import power_law
from lrtransfer.residual.theory.lazy import LAYERS, linear_ntk, relu_ntk, relu_profile
from lrtransfer.residual.theory.lazy_outputs import lazy_outputs
from lrtransfer.residual.theory.trained_ensemble import empirical_ntk

COSINES = np.array([-1.0, -0.9, -0.3, 0.0, 0.5, 0.99, 1.0])


def test_equal_inputs_give_five_quarters_root_e():
    np.testing.assert_allclose(relu_ntk(1.0), 1.25 * math.sqrt(math.e), rtol=1e-12)
    parts = [relu_ntk(1.0, layers=[name]) / math.sqrt(math.e) for name in LAYERS]
    np.testing.assert_allclose(parts, [0.5, 0.25, 0.5], rtol=1e-12)
    profile = relu_profile(1.0)
    np.testing.assert_allclose(profile.H, np.exp(profile.layer_time / 2), rtol=1e-12)
    np.testing.assert_allclose(profile.G, np.exp((1 - profile.layer_time) / 2) / 2, rtol=1e-12)


def test_layer_time_against_finite_depth_with_rate_one_over_depth():
    endless = relu_ntk(COSINES)
    depths = [50, 100, 200, 400]
    errors = np.array([relu_ntk(COSINES, depth) - endless for depth in depths])
    for column in np.abs(errors).T[1:]:  # at -1 the first order is small and the next, L^-3/2, still shows
        assert abs(power_law(depths, column).slope + 1) < 0.02
    # Extrapolated: 2 K_2L - K_L leaves 1/L^2 (L^-3/2 at -1) of a kernel of order one.
    ends = relu_ntk(COSINES, 2000), relu_ntk(COSINES, 4000)
    np.testing.assert_allclose(2 * ends[1] - ends[0], endless, atol=2e-6)


def test_layer_time_against_the_equation_as_quadrature():
    # dtau = dc / (J(c) - c/2), integrated by Gauss's rule over the path in c that the solution reports.
    def speed(c):
        theta = np.arccos(c)
        return (np.sin(theta) - theta * c) / (2 * np.pi)

    x, w = np.polynomial.legendre.leggauss(40)
    for start in (-0.5, 0.0, 0.7):
        profile = relu_profile(start)
        c = profile.H / np.exp(profile.layer_time / 2)
        for end, tau in zip(c[10::10], profile.layer_time[10::10], strict=True):
            half = (end - start) / 2
            np.testing.assert_allclose(half * (w / speed(start + half * (1 + x))).sum(), tau, rtol=1e-9)


def test_gradient_kernel_solves_its_equation():
    tau = np.linspace(0, 1, 2001)
    profile = relu_profile([-0.6, 0.2], tau)
    slope = np.gradient(np.log(profile.G), tau, axis=0)[1:-1]
    np.testing.assert_allclose(slope, -profile.phi_dot[1:-1], atol=1e-7)  # central difference, step 5e-4
    np.testing.assert_allclose(profile.G[-1], profile.phi_dot[-1], rtol=1e-13)
    rise = np.gradient(profile.H, tau, axis=0)[1:-1]
    np.testing.assert_allclose(rise, profile.phi[1:-1], atol=1e-7)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.floats(-1, 1), min_size=1, max_size=4), st.sampled_from([1, 3, math.inf]))
def test_an_angle_does_not_depend_on_its_company_and_layers_add(cosines, depth):
    together = relu_ntk(cosines, depth)
    np.testing.assert_allclose(together, [relu_ntk(c, depth) for c in cosines], atol=1e-11)
    parts = sum(relu_ntk(cosines, depth, layers=[name]) for name in LAYERS)
    np.testing.assert_allclose(parts, together, atol=1e-12)
    assert (np.abs(together) <= relu_ntk(1.0, depth) + 1e-12).all()  # Cauchy-Schwarz


def test_kernel_matrix_is_positive_semidefinite():
    angles = np.linspace(0, np.pi, 9)
    for depth in (2, math.inf):
        kernel = relu_ntk(np.cos(angles[:, None] - angles), depth)
        assert np.linalg.eigvalsh(kernel).min() > -1e-10


def test_random_networks_approach_the_kernel_as_one_over_the_width():
    cosines, depth, draws = np.array([-0.5, 0.3, 1.0]), 3, 3000
    limit = relu_ntk(cosines, depth)
    for width in (8, 128):
        sample = empirical_ntk(cosines, width, depth, draws=draws if width == 8 else 300)
        error = sample.std(axis=0, ddof=1) / math.sqrt(len(sample))
        bias = sample.mean(axis=0) - limit
        # Bias c/N with c = -0.1, 0.5, 1.3 at N = 8 (measured over 6000 draws): N = 128 tests the limit itself.
        assert (np.abs(bias) < 4 * error + 2 / width).all()
    hidden = empirical_ntk(cosines, 128, depth, draws=300, layers=["hidden"])
    error = hidden.std(axis=0, ddof=1) / math.sqrt(300)
    assert (np.abs(hidden.mean(axis=0) - relu_ntk(cosines, depth, layers=["hidden"])) < 4 * error + 2 / 128).all()


def test_linear_networks_have_a_kernel_without_bias_at_any_width():
    # For linear blocks E<h h'> is exact at every N; only the product of G and H in the blocks is correlated.
    for name in ("readout", "read_in"):
        sample = empirical_ntk(0.4, 8, 3, draws=3000, activation="linear", layers=[name])
        expected = 0.4 * linear_ntk(3, layers=[name])
        assert abs(sample.mean() - expected) < 4 * sample.std(ddof=1) / math.sqrt(3000)


def test_tangent_kernel_is_the_derivative_of_the_network():
    torch = pytest.importorskip("torch")
    from lrtransfer.numerics.random import stream
    from lrtransfer.residual.theory.trained_ensemble import Dense

    n, depth, cosine = 6, 3, 0.4
    weights = Dense([stream(5, 0)], n, depth)
    x = torch.tensor([[1.0, 0.0], [cosine, math.sqrt(1 - cosine**2)]], dtype=torch.float64)
    read_in = torch.tensor(weights.read_in(np.eye(2))[0, 0].T, requires_grad=True)  # (N, 2)
    blocks = torch.tensor(weights.blocks[0] * math.sqrt(n), requires_grad=True)
    readout = torch.tensor(weights.readout()[0, 0, 0], requires_grad=True)
    gradients = []
    for point in x:
        h = read_in @ point
        for block in blocks:
            h = h + (depth * n) ** -0.5 * block @ torch.relu(h)
        parts = torch.autograd.grad(readout @ torch.relu(h) / n, [read_in, blocks, readout])
        gradients.append(torch.cat([part.flatten() for part in parts]))
    expected = float(n * gradients[0] @ gradients[1])
    np.testing.assert_allclose(empirical_ntk(cosine, n, depth, draws=1, seed=5), [expected], rtol=1e-12)


def test_linear_kernel():
    np.testing.assert_allclose(linear_ntk([1, 3, math.inf]), [5, (4 / 3) ** 3 * 2.75, 3 * math.e], rtol=1e-14)
    np.testing.assert_allclose(linear_ntk([1, 3], 0.0), [5, 8 * 3.5], rtol=1e-14)
    assert linear_ntk(math.inf, 1.0) == 2.0
    assert abs(linear_ntk(10**6) - 3 * math.e) < 2e-5
    assert linear_ntk(2000, 0.0) == math.inf
    names = [linear_ntk(4, layers=[name]) for name in LAYERS]
    np.testing.assert_allclose(sum(names), linear_ntk(4), rtol=1e-14)


def test_infinite_depth_above_one_half_has_no_blocks():
    np.testing.assert_allclose(relu_ntk(COSINES, branch=0.8)[1:], relu_ntk(COSINES, 10**4, branch=1.0)[1:], atol=1e-4)


def test_lazy_training_is_a_geometric_approach_along_eigenvectors():
    kernel = relu_ntk(np.array([[1.0, 0.3], [0.3, 1.0]]))
    f = lazy_outputs(0.2, kernel, [1.0, 1.0], 5)
    eigenvalue = kernel[0].sum()
    np.testing.assert_allclose(f, np.outer(1 - (1 - 0.1 * eigenvalue) ** np.arange(6), [1, 1]), rtol=1e-12)
    assert lazy_outputs(0.2, 2.0, 1.0, 3).shape == (4,)
    gone = lazy_outputs(1e200, kernel, [1.0, 1.0], 5)
    assert np.isinf(gone[3:]).all() and not np.isnan(gone).any()


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("cos_angle", lambda: relu_ntk(1.1)),
        ("cos_angle", lambda: relu_ntk(-1.1)),
        ("cos_angle", lambda: empirical_ntk(2.0, 4, 2, draws=1)),
        ("depth", lambda: relu_ntk(0.0, 0)),
        ("branch", lambda: relu_ntk(0.0, branch=0.3)),
        ("branch", lambda: linear_ntk([2, math.inf], 0.3)),
        ("layers", lambda: relu_ntk(0.0, layers=["blocks"])),
        ("layers", lambda: relu_ntk(0.0, layers="hidden")),
        ("layers", lambda: relu_ntk(0.0, layers=[])),
        ("layer_time", lambda: relu_profile(0.0, [0.0, 2.0])),
        ("layer_time", lambda: relu_profile(0.0, [0.5, 0.2])),
        ("layer_time", lambda: relu_profile(0.0, [0.5], 3)),
        ("kernel", lambda: lazy_outputs(0.1, np.ones((2, 3)), [1.0, 1.0], 2)),
        ("kernel", lambda: lazy_outputs(0.1, [[1.0, 0.0], [1.0, 1.0]], [1.0, 1.0], 2)),
    ],
)
def test_bad_arguments_are_named(name, call):
    with pytest.raises(ValueError, match=name):
        call()
