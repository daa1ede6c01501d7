r"""Gradient descent of residual networks without updating a weight: the trajectory in terms of the initial weights.

Write g = gamma_0 N df/dh^l, a = phi(h^l), z for what comes back through block l, c_s = lr gamma_0 (y - f_s) / P,
and <.> for the mean over neurons. After t steps W^l has moved by a sum of s < t outer products, so

    h^{l+1}_t = h^l_t + beta N^(-1/2) W^l_0 a_t + beta^2 sum_s c_s <a_t a_s> g^{l+1}_s
    g^l_t = g^{l+1}_t + phi'(h^l_t) z_t
    z_t = beta N^(-1/2) W^l_0' g^{l+1}_t + beta^2 sum_s c_s <g^{l+1}_t g^{l+1}_s> a_s

Only the products with W_0 know how W_0 is kept: as dense matrices (``trained_ensemble``) or as lazily revealed ones
(``nonlinear_limit``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array

Descent = tuple[Array, Array, Array, Array]

ACTIVATIONS = ("linear", "relu", "tanh")


@dataclass(frozen=True)
class FiniteRun:
    """Training of many draws of a finite network; ``inf`` from the step at which a run overflowed.

    Attributes
    ----------
    f
        outputs, (steps + 1,) + lr's shape + (draws,), and (P,) more where the target is a vector
    start
        outputs of the untrained networks, which a centred run subtracts, (draws,), and (P,) more
    H, G
        |phi(h^l)|^2 / N and |g^l|^2 / N averaged over the inputs, (steps + 1, L + 1) + lr's shape + (draws,)
    """

    f: Array
    start: Array
    H: Array
    G: Array


@dataclass(frozen=True)
class Problem:
    """What is trained, checked.

    Attributes
    ----------
    lr
        base rates, (), (rates,) or (draws, rates)
    gamma0, depth, steps
        gamma_0, L and T
    y
        targets, (P,)
    gram
        Gram matrix of the inputs, x x' / D, (P, P)
    beta
        branch multiplier
    activation
        "linear", "relu" or "tanh"
    centred
        whether outputs are less those of the untrained network
    vector
        whether the target was a list
    """

    lr: Array
    gamma0: float
    depth: int
    steps: int
    y: Array
    gram: Array
    beta: float
    activation: str
    centred: bool
    vector: bool


class Products(Protocol):
    """The initial weights of a batch of networks; arrays are (draws, rates, P, N).

    Attributes
    ----------
    mean
        <a b> = mean * sum over the last axis
    """

    mean: float  # <a b> = mean * sum over the last axis

    def read_in(self, root: Array) -> Array:
        """The input layer's h^0, (draws, 1, P, N), for inputs with the Gram matrix root root'."""

    def readout(self) -> Array:
        """The readout w, (draws, 1, 1, N)."""

    def forward(self, block: int, a: Array) -> Array:
        """N^(-1/2) W^l_0 a."""

    def backward(self, block: int, g: Array) -> Array:
        """N^(-1/2) W^l_0' g."""

    def phi(self, h: Array, activation: str) -> tuple[Array, Array | float]:
        """phi(h) and phi'(h)."""


def activate(h: Array, activation: str) -> tuple[Array, Array | float]:
    """phi(h) and phi'(h).

    Parameters
    ----------
    h
        any shape
    activation
        "linear", "relu" or "tanh"

    Returns
    -------
    a, slope : ndarray
        of h's shape; the slope of "linear" is the number 1.
    """
    if activation == "relu":
        return np.maximum(h, 0.0), (h > 0).astype(np.float64)
    if activation == "tanh":
        a = np.tanh(h)
        return a, 1 - a * a
    return h, 1.0


def arrange(runs: Sequence[Descent], problem: Problem) -> FiniteRun:
    """Results of ``descend`` for groups of draws, put together in the shapes of ``FiniteRun``.

    Parameters
    ----------
    runs
        one a group
    problem
        that of all of them

    Returns
    -------
    FiniteRun
        all draws, in the order of the groups.
    """
    f, start, h, g = (np.concatenate([run[i] for run in runs], axis=axis) for i, axis in enumerate((1, 0, 2, 2)))
    f, h, g = f.swapaxes(1, 2), h.swapaxes(2, 3), g.swapaxes(2, 3)
    if not problem.vector:
        f, start = f[..., 0], start[..., 0]
    if problem.lr.ndim == 0:
        f, h, g = f[:, 0], h[:, :, 0], g[:, :, 0]
    return FiniteRun(f, start, h, g)


def descend(weights: Products, problem: Problem) -> Descent:
    """Gradient descent of a batch of networks.

    Parameters
    ----------
    weights
        initial weights
    problem
        what is trained

    Returns
    -------
    f : ndarray
        outputs, (T + 1, draws, rates, P)
    start : ndarray
        outputs before training, (draws, P)
    H, G : ndarray
        (T + 1, L + 1, draws, rates) each.
    """
    q = problem
    h0, w0 = weights.read_in(root_of(q.gram)), weights.readout()
    draws, points, size = h0.shape[0], len(q.y), h0.shape[-1]
    rates = np.atleast_1d(q.lr)  # (rates,), or (draws, rates) where each network has its own
    shape = (draws, rates.shape[-1], points)
    f = np.full((q.steps + 1, *shape), np.inf)
    kernels = np.full((2, q.steps + 1, q.depth + 1, *shape[:2]), np.inf)
    past_a, past_g = np.zeros((2, q.depth + 1, *shape[:2], q.steps * points, size))
    c = np.zeros((*shape[:2], 1, q.steps * points))  # lr gamma_0 (y - f_s) / P for every earlier step and input
    start = untrained = np.zeros(shape)
    alive = np.ones(shape[:2], dtype=bool)
    with np.errstate(all="ignore"):
        for t in range(q.steps + 1):
            known = slice(0, t * points)
            ct = c[..., known]

            def moved(x: Array, xs: Array, ys: Array, known: slice = known, ct: Array = ct) -> Array:
                """sum_s c_s <x x_s> y_s."""
                return (weights.mean * (x @ xs[..., known, :].swapaxes(-1, -2)) * ct) @ ys[..., known, :]

            h = (
                np.broadcast_to(h0, (*shape, size))
                + (q.gram[:, None] * np.ones((1, t, 1))).reshape(points, -1) * ct @ past_g[0][..., known, :]
            )
            keep = []
            for block in range(q.depth + 1):
                a, slope = weights.phi(h, q.activation)
                keep.append((a, slope))
                if block < q.depth:
                    h = h + q.beta * weights.forward(block, a)
                    h += q.beta**2 * moved(a, past_a[block], past_g[block + 1])
            w = w0 + ct @ past_a[-1][..., known, :]
            output = weights.mean * (w * a).sum(axis=-1) / q.gamma0
            if t == 0:
                untrained = output
                start = output if q.centred else start
            alive &= np.isfinite(output).all(axis=-1) & np.isfinite(h.sum(axis=(-1, -2)))
            f[t] = np.where(alive[..., None], output - start, np.inf)
            g = slope * w
            backward = []
            for block in range(q.depth, -1, -1):
                a = keep[block][0]
                kernels[:, t, block] = [weights.mean * (x * x).sum(axis=-1).mean(axis=-1) for x in (a, g)]
                backward.append(g)
                if block:
                    a, slope = keep[block - 1]
                    z = q.beta * weights.backward(block - 1, g)
                    z += q.beta**2 * moved(g, past_g[block], past_a[block - 1])
                    g = g + slope * z
            if t == q.steps or not alive.any():
                break
            now = slice(t * points, (t + 1) * points)
            for block, g in enumerate(reversed(backward)):
                past_g[block][..., now, :] = g
                past_a[block][..., now, :] = keep[block][0]
            step = rates[..., None] * q.gamma0 / points * (q.y - f[t])
            c[..., 0, now] = np.where(alive[..., None], step, 0.0)
            # A dead run stops being computed with: its infinities become zeros in everything that comes.
            for past in (past_a, past_g):
                past[:, ~alive] = 0.0
    h, g = (np.where(np.isfinite(f).all(axis=-1)[:, None] & np.isfinite(k), k, np.inf) for k in kernels)
    return f, untrained[:, 0], h, g


def root_of(gram: Array) -> Array:
    """A square root of a positive semidefinite matrix, root root' = gram.

    Parameters
    ----------
    gram
        (P, P)

    Returns
    -------
    ndarray
        (P, P).
    """
    values, vectors = np.linalg.eigh(gram)
    return vectors * np.sqrt(np.maximum(values, 0.0))


def check_problem(
    lr: ArrayLike,
    gamma0: float,
    depth: int,
    steps: int,
    target: ArrayLike,
    gram: ArrayLike | None,
    branch: float,
    activation: str,
    centred: bool,
) -> Problem:
    """The arguments of a training run, refused or as a ``Problem``.

    Parameters
    ----------
    lr, gamma0, depth, steps, target, gram, branch, activation, centred
        as in ``train_ensemble``

    Returns
    -------
    Problem
        the arguments as numbers and arrays.

    Raises
    ------
    ValueError
        naming the argument.
    """
    rates, y = arguments.finite("lr", lr, minimum=0.0), arguments.finite("target", target)
    if rates.ndim > 2 or rates.size == 0:
        raise arguments.refuse("lr", lr, "a number, a list of rates, or one list for every network")
    if y.ndim > 1 or y.size == 0:
        raise arguments.refuse("target", target, "a number or a list of numbers")
    if gram is None and y.ndim:
        raise arguments.refuse("gram", gram, "given, of shape (P, P), when the target is a list")
    k = np.eye(1) if gram is None else np.atleast_2d(arguments.finite("gram", gram))
    if k.shape != (y.size, y.size) or not np.allclose(k, k.T) or np.linalg.eigvalsh(k)[0] < -1e-9 * np.abs(k).max():
        raise arguments.refuse("gram", gram, f"symmetric, positive semidefinite, of shape ({y.size}, {y.size})")
    layers = arguments.count("depth", depth, minimum=1)
    exponent = arguments.one("branch", arguments.finite("branch", branch, minimum=0.0))
    return Problem(
        lr=rates,
        gamma0=arguments.one("gamma0", arguments.positive("gamma0", gamma0)),
        depth=layers,
        steps=arguments.count("steps", steps),
        y=np.atleast_1d(y),
        gram=k,
        beta=layers**-exponent,
        activation=arguments.choice("activation", activation, ACTIVATIONS),
        centred=bool(centred),
        vector=bool(y.ndim),
    )
