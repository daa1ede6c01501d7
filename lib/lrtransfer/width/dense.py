"""Small networks of explicit matrices: what the engine's shortcuts are checked against."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.numerics.arrays import Array
from lrtransfer.width.data import regression
from lrtransfer.width.network import Network, one_step


@dataclass(frozen=True)
class DenseMatrix:
    """An explicit matrix with the two products that the engine asks of a weight."""

    entries: Array

    def matvec(self, x: Array) -> Array:
        """``W x``."""
        return self.entries @ x

    def rmatvec(self, x: Array) -> Array:
        """``W' x``."""
        return self.entries.T @ x


def random_weights(
    n: int, d: int, hidden_layers: int, rng: np.random.Generator, *, readout: float = -1.0
) -> tuple[list[Array], Array]:
    """One draw of W_0 .. W_L and V as plain arrays, entries of standard deviation d^(-1/2), n^(-1/2), n^readout.

    ``n``, ``d``, ``hidden_layers`` whole numbers from 1 on; ``readout`` -1 is muP, -1/2 is SP. Returns the list of
    W_0 (n, d), W_1 .. W_L (n, n), and V (n,).

    Source: Hayou, 'A Proof of Learning Rate Transfer under muP' (2025), the parametrisations of the setup.
    """
    hidden = [rng.standard_normal((n, n)) / math.sqrt(n) for _ in range(hidden_layers)]
    return [rng.standard_normal((n, d)) / math.sqrt(d), *hidden], n**readout * rng.standard_normal(n)


def autograd_gradients(weights: Sequence[Array], readout: Array, X: ArrayLike, y: ArrayLike) -> list[Array]:
    """Gradients of ``|X theta - y|^2 / (2 m)`` with respect to W_1 .. W_L by automatic differentiation.

    ``weights``, ``readout`` as ``random_weights`` returns them, X (m, d), y (m,). Returns L arrays (n, n).
    """
    import torch

    leaves = [torch.tensor(w, requires_grad=True) for w in weights[1:]]
    states = torch.tensor(weights[0] @ np.asarray(X, dtype=float).T)
    for leaf in leaves:
        states = leaf @ states
    loss = ((torch.tensor(readout) @ states - torch.tensor(np.asarray(y, dtype=float))) ** 2).mean() / 2
    return [g.numpy() for g in torch.autograd.grad(loss, leaves)]


def engine_coefficients(weights: Sequence[Array], readout: Array, X: ArrayLike, y: ArrayLike) -> Array:
    """theta_0, Phi_1 .. Phi_L of explicit weights by the engine's recursion, shape (L + 1, d); arguments as above."""
    return one_step(Network([DenseMatrix(w) for w in weights], readout, 1.0), regression(X, y))


def printed_coefficients(weights: Sequence[Array], readout: Array, x: Array, y: float) -> Array:
    """phi_1 .. phi_L of one sample as the paper's sum over subsets of layers, with the product in Psi from j = 2.

    phi_k = (-chi)^k sum over l_1 < .. < l_k of ``|b_{l_k + 1}|^2 |a_{l_1 - 1}|^2 Psi(l_1, .., l_k)``. ``weights``,
    ``readout`` as ``random_weights`` returns them; x (d,). Returns shape (L,). The cost grows like 2^L.

    Source: Hayou, 'A Proof of Learning Rate Transfer under muP' (2025), phi_k and Psi.
    """
    layers, a, b = len(weights) - 1, [weights[0] @ x], {len(weights): readout}
    for layer in range(1, layers + 1):
        a.append(weights[layer] @ a[-1])
    for layer in range(layers, 0, -1):
        b[layer] = weights[layer].T @ b[layer + 1]
    phi = np.zeros(layers)
    for k in range(1, layers + 1):
        for picks in itertools.combinations(range(1, layers + 1), k):
            term = b[picks[-1] + 1] @ b[picks[-1] + 1] * (a[picks[0] - 1] @ a[picks[0] - 1])
            for below, above in itertools.pairwise(picks):
                back = b[below + 1]
                for layer in range(below + 1, above):
                    back = weights[layer] @ back
                term *= a[above - 1] @ back
            phi[k - 1] += (y - readout @ a[layers]) ** k * term
    return phi
