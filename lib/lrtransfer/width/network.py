"""One draw of the deep linear network of any width, its one-step polynomial and its training.

The network is ``f(x) = V' W_L .. W_1 W_0 x`` with n-wide layers; W_1 .. W_L are trained by gradient descent.
In normalised form (every matrix N(0, 1/n), W_0 N(0, 1/(n d)), v N(0, 1/n)) the three parametrisations differ
by one number, the output scale s,

    f = s v' W_L .. W_0 x,      W_l <- W_l - (eta / s) b_{l+1} (A_{l-1} u)',      u = (1/m) sum_i chi_i x_i,

with ``A_l = W_l .. W_0`` and ``b_l = W_l' .. W_L' v``: s = 1 for muP; s = sqrt(n) for NTP at rate eta and for
SP at rate eta / n. Rates inside this module are the normalised eta. Updates have rank one, so a network after
t steps is its initial matrices and t vectors a side.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.lazy_gaussian import Euclidean, LazyGaussian, Rotated, Space
from lrtransfer.width.data import PARAMETRISATIONS, Regression, width_of

_NODES = 48  # rates that fix the part of the weights several steps can reach


class Matrix(Protocol):
    """All the engine needs of a weight matrix: products with blocks of columns."""

    def matvec(self, x: Array) -> Array:
        """``W x``."""

    def rmatvec(self, x: Array) -> Array:
        """``W' x``."""


@dataclass(frozen=True)
class Network:
    """Initial weights: W_0 .. W_L, the normalised read-out v, and the output scale s."""

    weights: Sequence[Matrix]
    readout: Array
    scale: float

    @property
    def layers(self) -> int:
        """The number L of trained matrices."""
        return len(self.weights) - 1


def draw(
    width: float, d: int, hidden_layers: int, *, parametrisation: str, seed: int, coordinates: bool = False
) -> Network:
    """One draw of the initial weights, lazily revealed.

    Draws at different widths are independent; the three parametrisations share the normalised weights of a
    seed.

    Parameters
    ----------
    width
        n >= 1; ``math.inf`` under muP, without ``coordinates``.
    d
        Input dimension.
    hidden_layers, parametrisation, seed, coordinates
        As in ``lrtransfer.width.one_step_coefficients``.

    Returns
    -------
    Network
        In normalised form, read-out of the length of the last space.

    Raises
    ------
    ValueError
        Naming the argument, for one outside these ranges.

    Source: Hayou, 'A Proof of Learning Rate Transfer under muP' (2025), the parametrisations of the setup.
    """
    arguments.choice("parametrisation", parametrisation, PARAMETRISATIONS)
    arguments.flag("coordinates", coordinates)
    n = width_of(width, infinite=parametrisation == "mup" and not coordinates)
    layers = arguments.count("hidden_layers", hidden_layers, minimum=1)
    start = arguments.seed("seed", seed)
    seeds = np.random.SeedSequence([start] if math.isinf(n) else [start, int(n)]).spawn(layers + 2)
    unit = 1 / math.sqrt(n)
    spaces: list[Space] = [Euclidean(int(n), unit) if coordinates else Rotated(n) for _ in range(layers + 1)]
    readout = spaces[layers].fresh(np.random.default_rng(seeds[-1]), 1)[0]
    first = LazyGaussian(spaces[0], Euclidean(d, unit), scale=1 / math.sqrt(d), seed=seeds[0])
    rest = [LazyGaussian(spaces[i], spaces[i - 1], seed=seeds[i]) for i in range(1, layers + 1)]
    return Network([first, *rest], readout, 1.0 if parametrisation == "mup" else math.sqrt(n))


def rate_unit(width: float, parametrisation: str) -> float:
    """A rate of the parametrisation over the normalised rate of this module: 1/n under SP, else 1."""
    return 1 / width if parametrisation == "sp" else 1.0


def one_step(network: Network, data: Regression) -> Array:
    """Coefficients theta_0, Phi_1 .. Phi_L of the linear form after one step at rate eta, shape (L + 1, d).

    A term of degree k picks layers l_1 < .. < l_k for the update. With ``T_ij = (A_{i-1} u)' W_{i-1} ..
    W_{j+1} b_{j+1}`` the polynomial h_j in eps = eta / s that collects every choice whose lowest layer is j
    obeys

        h_j = -eps (|b_{j+1}|^2 + sum_{i > j} h_i T_ij),
        theta = theta_0 + s sum_j h_j A_{j-1}'A_{j-1} u.

    The rate is the normalised one; arguments that have passed their checks.

    Source: Hayou, 'A Proof of Learning Rate Transfer under muP' (2025), phi_k; the recursion is derived here.
    """
    w, layers, s = network.weights, network.layers, network.scale
    b = [network.readout]
    for layer in range(layers, 0, -1):
        b.insert(0, w[layer].rmatvec(b[0]))  # b[l - 1] is b_l
    theta0 = s * w[0].rmatvec(b[0])  # (d,)
    u = data.gradient(theta0)
    # Asked with length one and a sign that does not depend on y, so that a seed's weights do not either when
    # d = 1.
    length = float(np.linalg.norm(u)) * (1 if u[np.argmax(np.abs(u))] >= 0 else -1)
    if length == 0:
        return np.vstack([theta0, np.zeros((layers, data.d))])
    a = w[0].matvec(u / length)
    h = np.zeros((layers + 2, layers + 1))  # h[j, k] is the coefficient of eps^k
    forms = np.zeros((layers + 2, data.d))
    inner = np.zeros((layers + 2, layers + 2))
    for i in range(1, layers + 1):
        back = a
        for j in range(i - 1, 0, -1):
            inner[i, j] = length * _dot(back, b[j])  # b[j] is b_{j+1}
            back = w[j].rmatvec(back)
        forms[i] = length * w[0].rmatvec(back)
        if i < layers:
            a = w[i].matvec(a)
    for j in range(layers, 0, -1):
        h[j, 1] = -_dot(b[j], b[j])
        h[j, 1:] -= inner[j + 1 :, j] @ h[j + 1 :, :-1]
    coefficients = s * (h.T @ forms) / s ** np.arange(layers + 1)[:, None]
    coefficients[0] = theta0
    return coefficients


class Trained:
    """Gradient descent from one draw at R rates at once, by the rank-one updates of the module's docstring.

    ``lrs`` (R,) are normalised rates, ``steps`` >= 0; arguments that have passed their checks. ``theta`` of
    shape (steps + 1, d, R) collects the linear forms; columns that overflowed are inf from there on, and
    ``diverged`` (R,) says which.

    Source: Hayou, 'A Proof of Learning Rate Transfer under muP' (2025), gradient descent of the setup.
    """

    def __init__(self, network: Network, data: Regression, lrs: Array, steps: int) -> None:
        self.network, self.data = network, data
        self.eps = lrs / network.scale  # (R,)
        self.diverged = np.zeros(lrs.size, dtype=bool)
        self._past: list[list[tuple[Array, Array]]] = [[] for _ in network.weights]  # (b_{l+1}, A_{l-1}u) per step
        self.theta = np.empty((steps + 1, data.d, lrs.size))
        for step in range(steps + 1):
            b = self._backward()
            self._record(step, b[0])
            if step < steps:
                self._descend(step, b)

    def forward(self, inputs: Array) -> list[Array]:
        """``A_0 x .. A_L x`` in normalised form (length ``|z| / sqrt(n)``), each (size, R); x is (d, R)."""
        states = [self.network.weights[0].matvec(inputs)]
        for layer in range(1, self.network.layers + 1):
            states.append(self._apply(layer, states[-1]))
        return states

    def _backward(self) -> list[Array]:
        b = [np.repeat(self.network.readout[:, None], self.eps.size, axis=1)]
        for layer in range(self.network.layers, 0, -1):
            b.insert(0, self._apply(layer, b[0], transposed=True))
        return b

    def _record(self, step: int, lowest: Array) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            theta = self.network.scale * self.network.weights[0].rmatvec(lowest)
            self._alive(theta)
        self.theta[step] = np.where(self.diverged, math.inf, theta)

    def _descend(self, step: int, b: list[Array]) -> None:
        with np.errstate(over="ignore", invalid="ignore"):
            u = self.data.gradient(np.where(self.diverged, 0.0, self.theta[step]))
        c = [self.network.weights[0].matvec(self._alive(u))]
        for layer in range(1, self.network.layers):
            c.append(self._apply(layer, c[-1]))
        for layer in range(1, self.network.layers + 1):
            self._past[layer].append((b[layer], c[layer - 1]))

    def _apply(self, layer: int, x: Array, *, transposed: bool = False) -> Array:
        weight = self.network.weights[layer]
        with np.errstate(over="ignore", invalid="ignore"):
            result = weight.rmatvec(x) if transposed else weight.matvec(x)
            for b, c in self._past[layer]:
                along, out = (b, c) if transposed else (c, b)
                size = max(len(result), len(out))
                result = padded(result, size) - self.eps * _dot(along, x) * padded(out, size)
        return self._alive(result)

    def _alive(self, x: Array) -> Array:
        """Zero the overflowed columns: those runs are over and must not reach the others via the bases."""
        self.diverged |= ~np.isfinite(x).all(axis=0)
        return np.where(self.diverged, 0.0, x)


def explore(network: Network, data: Regression, steps: int) -> None:
    """Reveal what training can reach, in an order that does not depend on the rates somebody asks for.

    A lazily revealed matrix depends on the order of the questions. The loss at two rates of one call belongs
    to one draw in any case, but the draw would differ between two calls with other rates. Runs at fixed rates
    up to the edge of stability 2 m / (L lambda_max(K)) of the linearised dynamics span what runs at the rates
    between need: exactly for L <= 3, where the space that training can reach has some (d + 1) t dimensions a
    layer; nearly for more layers, where it grows exponentially with the number of steps.
    """
    one_step(network, data)
    if steps >= 2:
        edge = 2 * data.m * data.d / (network.layers * float(np.linalg.norm(data.R, 2)) ** 2)
        nodes = edge * (1 - np.cos(math.pi * (np.arange(_NODES) + 0.5) / _NODES)) / 2
        Trained(network, data, nodes, steps)


def padded(x: Array, size: int) -> Array:
    """A vector or a block of columns (rows, ...) with zeros appended to ``size`` rows."""
    return x if len(x) == size else np.vstack([x, np.zeros((size - len(x), *x.shape[1:]))])


def _dot(x: Array, y: Array) -> Array:
    """Column-wise inner products; a shorter vector is one with zeros appended."""
    size = min(len(x), len(y))
    return np.sum(x[:size] * y[:size], axis=0)
