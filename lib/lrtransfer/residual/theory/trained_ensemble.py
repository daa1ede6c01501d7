r"""Finite residual networks on one input or a few, many draws of the weights at once: what the limits are held to.

    h^0 = D^(-1/2) W^0 x
    h^{l+1} = h^l + L^(-branch) N^(-1/2) W^l phi(h^l)
    f = w . phi(h^L) / (gamma_0 N)

with unit Gaussian weights, trained by gradient descent at rate lr gamma_0^2 N on the mean of (f - y)^2 / 2 over P
inputs: the 1/sqrt(L)-muP row of Table 1 at branch = 1/2, muP at branch = 0. The descent is in ``descent``.

Source: Eqs. 1-2 and Table 1 of the paper.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.random import stream
from lrtransfer.residual.theory.descent import FiniteRun, activate, arrange, check_problem, descend
from lrtransfer.residual.theory.lazy import LAYERS, check_layers

_CACHE = 2**23  # bytes of weights trained together


class Dense:
    """Initial weights as matrices, drawn from one generator a network.

    Drawn at depth ``finest`` and summed over neighbouring blocks: W = sum of k unit Gaussian matrices / sqrt(k) is one
    again, and so networks of several depths follow one path of random numbers.

    Parameters
    ----------
    rngs
        one a network
    width, depth
        N and L
    finest
        a multiple of ``depth``, which it is by default
    """

    def __init__(self, rngs: Sequence[np.random.Generator], width: int, depth: int, finest: int | None = None) -> None:
        self.mean = 1 / width
        self._rngs, self._width = rngs, width
        fine, k = finest or depth, (finest or depth) // depth
        w = np.stack([rng.standard_normal((fine, width, width)) for rng in rngs])
        self.blocks = w.reshape(len(rngs), depth, k, width, width).sum(axis=2) / math.sqrt(k * width)

    def read_in(self, root: Array) -> Array:
        """h^0 for inputs with the Gram matrix root root', (draws, 1, P, N)."""
        p = len(root)
        return np.stack([root @ rng.standard_normal((p, self._width)) for rng in self._rngs])[:, None]

    def readout(self) -> Array:
        """The readout w, (draws, 1, 1, N)."""
        return np.stack([rng.standard_normal((1, 1, self._width)) for rng in self._rngs])

    def forward(self, block: int, a: Array) -> Array:
        """N^(-1/2) W^l_0 a."""
        return self._apply(a, self.blocks[:, block].swapaxes(1, 2))

    def backward(self, block: int, g: Array) -> Array:
        """N^(-1/2) W^l_0' g."""
        return self._apply(g, self.blocks[:, block])

    def _apply(self, rows: Array, matrix: Array) -> Array:
        return (rows.reshape(len(rows), -1, self._width) @ matrix).reshape(rows.shape)

    def phi(self, h: Array, activation: str) -> tuple[Array, Array | float]:
        """phi(h) and phi'(h)."""
        return activate(h, activation)


def train_ensemble(
    lr: ArrayLike,
    gamma0: float,
    width: int,
    depth: int,
    steps: int,
    *,
    draws: int,
    seed: int = 0,
    target: ArrayLike = 1.0,
    gram: ArrayLike | None = None,
    branch: float = 0.5,
    activation: str = "linear",
    centred: bool = True,
    finest: int | None = None,
) -> FiniteRun:
    """Train ``draws`` networks of finite width at every rate, on one input or a few.

    Parameters
    ----------
    lr
        base rates, a number, (rates,) or (draws, rates), a list for every network; not negative; the network's is
        lr gamma_0^2 N
    gamma0, width, depth, steps
        gamma_0 > 0, N, L, T
    draws, seed
        number of networks; equal seeds give equal initial weights at every lr, gamma_0, branch and activation, and more
        draws keep the earlier ones
    target
        y: a number for one input with |x|^2 / D = 1, or (P,)
    gram
        x x' / D, (P, P), positive semidefinite; needed when the target is a vector
    branch
        exponent of the branch multiplier
    activation
        "linear", "relu" or "tanh"
    centred
        True: the model is f - f at initialisation, in the loss as in the result, as the limits have f_0 = 0. False:
        plain f; then f_0 is of order 1 / (gamma_0 sqrt(N))
    finest
        a multiple of ``depth``: equal ``finest`` and seeds give networks of different depths coupled weights, each
        block's the sum of those of ``finest`` / ``depth`` thinner ones over the root of their number, as if one
        Brownian motion in layer time were sampled more or less finely. The law at each depth is the same as without;
        the difference between two depths varies less

    Returns
    -------
    FiniteRun
        outputs and kernels of every draw.

    Raises
    ------
    ValueError
        naming the argument.

    References
    ----------
    Eqs. 1-2 and Table 1 of the paper.
    """
    problem = check_problem(lr, gamma0, depth, steps, target, gram, branch, activation, centred)
    n, count = arguments.count("width", width, minimum=1), arguments.count("draws", draws, minimum=1)
    seed = arguments.seed("seed", seed)
    fine = problem.depth if finest is None else arguments.count("finest", finest, minimum=1)
    if fine % problem.depth:
        raise arguments.refuse("finest", finest, f"a multiple of the depth, {problem.depth}")
    own = problem.lr.ndim == 2
    if own and len(problem.lr) != count:
        raise arguments.refuse("lr", lr, f"a list for every one of the {count} networks")
    group = max(1, _CACHE // (8 * fine * n * n))
    parts = []
    for first in range(0, count, group):
        some = slice(first, min(first + group, count))
        rngs = [stream(seed, draw) for draw in range(some.start, some.stop)]
        part = replace(problem, lr=problem.lr[some]) if own else problem
        parts.append(descend(Dense(rngs, n, problem.depth, fine), part))
    return arrange(parts, problem)


def empirical_ntk(
    cos_angle: ArrayLike,
    width: int,
    depth: int,
    *,
    draws: int,
    seed: int = 0,
    branch: float = 0.5,
    activation: str = "relu",
    layers: Sequence[str] = LAYERS,
) -> Array:
    """Tangent kernel of random finite networks between two inputs with |x|^2 / D = 1, in units of the limit.

        K = <a^L a'^L> + beta^2 sum_l <g^{l+1} g'^{l+1}> <a^l a'^l> + <g^0 g'^0> cos_angle

    with a = phi(h) and <.> the mean over neurons: lr K (y - f) is what one step moves f by, as for ``relu_ntk``, its
    limit for N -> infinity.

    Parameters
    ----------
    cos_angle
        in [-1, 1], any shape
    width, depth
        N and L
    draws, seed
        number of networks, and of the stream they are drawn from
    branch, activation
        as in ``train_ensemble``
    layers
        those trained, of "read_in", "hidden", "readout"

    Returns
    -------
    ndarray
        (draws,) + shape of ``cos_angle``.

    Raises
    ------
    ValueError
        naming the argument.
    """
    cosine = arguments.finite("cos_angle", cos_angle, minimum=-1.0)
    trained = check_layers(layers)
    flat = cosine.ravel()
    n, count = arguments.count("width", width, minimum=1), arguments.count("draws", draws, minimum=1)
    q = check_problem(0.0, 1.0, depth, 0, 1.0, None, branch, activation, True)
    if (cosine > 1).any():
        raise arguments.refuse("cos_angle", float(cosine[cosine > 1].flat[0]), "from -1 to 1")
    # Every input beside the first: x' = cos x + sin x_perp, so that all cosines share one network.
    root = np.column_stack([np.append(1.0, flat), np.append(0.0, np.sqrt((1 - flat) * (1 + flat)))])
    out = np.empty((count, flat.size))
    seed = arguments.seed("seed", seed)
    for draw in range(count):
        weights = Dense([stream(seed, draw)], n, q.depth)
        h0 = root @ weights.read_in(np.eye(2))[0, 0]  # (1 + angles, N)
        h, w0, keep = h0[None, None], weights.readout(), []
        for block in range(q.depth + 1):
            a, slope = weights.phi(h, activation)
            keep.append((_against_first(a) / n, slope))
            if block < q.depth:
                h = h + q.beta * weights.forward(block, a)
        g = keep[-1][1] * w0 * np.ones_like(h)
        total = keep[-1][0] * ("readout" in trained)
        for block in range(q.depth - 1, -1, -1):
            if "hidden" in trained:
                total = total + q.beta**2 * _against_first(g) / n * keep[block][0]
            g = g + keep[block][1] * (q.beta * weights.backward(block, g))
        if "read_in" in trained:
            total = total + _against_first(g) / n * flat
        out[draw] = total
    return out.reshape(count, *cosine.shape)


def _against_first(rows: Array) -> Array:
    """Inner products of the first input's row with every other one's, (1, 1, 1 + angles, N) -> (angles,)."""
    return rows[0, 0, 1:] @ rows[0, 0, 0]
