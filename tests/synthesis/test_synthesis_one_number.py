"""What the page says of K holds: two chapters' models are one, and shares of a layer are as stated."""

import numpy as np
import pytest

from lrtransfer import depth
from lrtransfer.layers import experiments


@pytest.mark.parametrize("kappa", [0.3, 0.9])
@pytest.mark.parametrize("h", [9, 400])
def test_a_mode_of_two_layers_is_a_chain_of_two(h, kappa):
    path = depth.gradient_descent(kappa * h**1.5, 2, 12, mu_yx=h**-1.5, mu_xx=h**-2.0, init=1.0)
    mode = experiments.products(1.0, kappa, kappa, h, 12).real * h**0.5
    np.testing.assert_allclose(mode, path**2, rtol=1e-12)


def test_its_edge_is_the_critical_scale():
    for h in (4, 100, 10**6):
        assert float(depth.stability_edge(2, h**0.5, h**-2.0)) == pytest.approx(h**1.5, rel=1e-12)


def test_a_copied_block_sharpens_by_its_share_and_its_gain():
    # eight blocks of block one at r = 4, and a ninth like them with the multiplier of eight: gradients by differences
    factor, small = 4.0 ** (1 / 8), 1e-6

    def output(weights):
        return np.prod(1 + weights / 8**0.5)

    kernels = []
    for blocks in (8, 9):
        weights = np.full(blocks, (factor - 1) * 8**0.5)
        steps = small * np.eye(blocks)
        gradient = [(output(weights + step) - output(weights - step)) / (2 * small) for step in steps]
        kernels.append(np.sum(np.square(gradient)))
    assert kernels[0] == pytest.approx(float(depth.sharpness(8, 4.0, arch="residual1")), rel=1e-6)
    assert kernels[1] / kernels[0] == pytest.approx(9 / 8 * 4**0.25, rel=1e-6)
