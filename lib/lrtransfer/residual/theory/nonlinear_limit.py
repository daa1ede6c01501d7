r"""Residual networks of huge width, rich or lazy, any activation: neurons sampled, matrices revealed when asked.

The limit N -> infinity of a nonlinear network is a law for single neurons: h_t and g_t of a neuron are driven by
Gaussian sources and by the responses of the matrix to what it was asked before, and all kernels are averages over
neurons. Sampling N neurons of that law is the same as training a network of N neurons whose matrices are revealed
product by product (``numerics.lazy_gaussian``): exact in law at width N, with memory O(N) instead of
O(N^2), so N can be tens of thousands. What separates it from the limit is a bias O(1/N) and a
spread O(1/sqrt(N)), which the standard error over draws measures. No response function has to be estimated.

A linear network needs no neurons: in rotated coordinates (its ``Rotated``) the cost does not depend
on N, and N = infinity is exact. That is a second route to ``linear_limit``, sharing nothing with its recursion.

Source: Sec. 4 of the paper (the limit), by Bolthausen's conditioning instead of response functions.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.estimates import mean_and_error
from lrtransfer.numerics.lazy_gaussian import Euclidean, LazyGaussian, Rotated
from lrtransfer.numerics.random import stream
from lrtransfer.residual.theory.descent import Problem, activate, arrange, check_problem, descend


@dataclass(frozen=True)
class NonlinearLimit:
    """Training at huge width: means over draws and their standard errors.

    ``inf`` where a draw had overflowed. Errors are 0 for a single exact draw (linear, infinite width).

    Attributes
    ----------
    f, f_error
        outputs, (steps + 1,), and (P,) more where the target is a vector
    H, H_error, G, G_error
        <phi(h) phi(h)> and <g g> in every layer, averaged over the inputs, (steps + 1, L + 1)
    """

    f: Array
    f_error: Array
    H: Array
    H_error: Array
    G: Array
    G_error: Array


def nonlinear_limit(
    lr: float,
    gamma0: float,
    depth: int,
    steps: int,
    *,
    activation: str = "relu",
    target: ArrayLike = 1.0,
    gram: ArrayLike | None = None,
    branch: float = 0.5,
    neurons: float = 20_000,
    draws: int = 4,
    seed: int = 0,
) -> NonlinearLimit:
    """Output and kernels of a residual network of finite depth and huge width under gradient descent, f_0 = 0.

    The model is f - f at initialisation, as in the limit f_0 = 0. Costs O(L T^2 P^2 N) a draw.

    Parameters
    ----------
    lr, gamma0, depth, steps
        base rate, gamma_0 > 0, L, T: one number each; rate of the network lr gamma_0^2 N
    activation
        "relu", "tanh" or "linear"
    target, gram
        y and x x' / D as in ``train_ensemble``; one input with |x|^2 / D = 1 by default
    branch
        exponent of the branch multiplier L^-branch
    neurons
        N; ``math.inf`` for "linear" only, which is then exact
    draws
        independent draws, two or more unless N is infinite
    seed
        equal seeds give equal draws at every rate, so that differences between rates are not blurred

    Returns
    -------
    NonlinearLimit
        means over draws with their standard errors.

    Raises
    ------
    ValueError
        naming the argument.

    References
    ----------
    Sec. 4 of the paper (the limit), by Bolthausen's conditioning instead of response functions.
    """
    rate = arguments.one("lr", arguments.finite("lr", lr, minimum=0.0))
    problem = check_problem(rate, gamma0, depth, steps, target, gram, branch, activation, True)
    width = arguments.one("neurons", arguments.integer("neurons", neurons, infinite=activation == "linear"))
    seed = arguments.seed("seed", seed)
    endless = math.isinf(width)
    count = 1 if endless else arguments.count("draws", draws, minimum=2)
    runs = [descend(_revealed(problem, width, stream(seed, draw)), problem) for draw in range(count)]
    every = arrange(runs, problem)
    out = []
    for values, axis in ((every.f, 1), (every.H, 2), (every.G, 2)):
        with np.errstate(all="ignore"):  # sums of numbers near the largest there is
            mean, error = mean_and_error(values, axis)
        exact = endless & np.isfinite(mean)
        out += [np.where(np.isnan(mean), np.inf, mean), np.where(exact, 0.0, np.where(np.isnan(error), np.inf, error))]
    return NonlinearLimit(*out)


def _revealed(problem: Problem, width: float, rng: np.random.Generator) -> Neurons | _Directions:
    if problem.activation != "linear":
        return Neurons(int(width), problem.depth, rng)
    # Every product with a matrix, and each input and the readout, can add one direction.
    room = len(problem.y) * (1 + 2 * problem.depth * (problem.steps + 1)) + 1
    return _Directions(width, problem.depth, room, rng)


class Neurons:
    """The initial weights of one network of ``width`` neurons, matrices lazily revealed."""

    def __init__(self, width: int, depth: int, rng: np.random.Generator) -> None:
        self.mean = 1 / width
        self._rng, self._width = rng, width
        scale = 1 / math.sqrt(width)
        self._matrices = [
            LazyGaussian(Euclidean(width), Euclidean(width), scale=scale, seed=rng.spawn(1)[0]) for _ in range(depth)
        ]

    def read_in(self, root: Array) -> Array:
        """h^0 for inputs with the Gram matrix root root', (1, 1, P, N)."""
        return (root @ self._rng.standard_normal((len(root), self._width)))[None, None]

    def readout(self) -> Array:
        """The readout w, (1, 1, 1, N)."""
        return self._rng.standard_normal((1, 1, 1, self._width))

    def forward(self, block: int, a: Array) -> Array:
        """W a of a block for rows a, (1, 1, rows, N)."""
        return self._product(a, self._matrices[block].matvec)

    def backward(self, block: int, g: Array) -> Array:
        """W' g of a block for rows g, (1, 1, rows, N)."""
        return self._product(g, self._matrices[block].rmatvec)

    def _product(self, rows: Array, apply: object) -> Array:
        if not np.isfinite(rows).all():  # the run has overflowed; the caller sees it
            return np.full_like(rows, np.inf)
        return apply(rows[0, 0].T).T[None, None]  # type: ignore[operator]

    def phi(self, h: Array, activation: str) -> tuple[Array, Array | float]:
        """The activation of h and its derivative."""
        return activate(h, activation)


class _Face(Rotated):
    """One side of a matrix that acts within a single growing space: its size is that of the last look."""

    def __init__(self, space: Rotated) -> None:
        self.space, self.width, self.size = space, space.width, space.size

    def look(self) -> None:
        self.size = self.space.size

    def fresh(self, rng: np.random.Generator, count: int) -> Array:
        rows = self.space.fresh(rng, count)
        self.look()
        return rows


class _Directions:
    """A linear network of any width, infinite included, in coordinates of the directions met so far.

    Vectors are those of the neurons divided by sqrt(N), padded to ``room`` directions.
    """

    mean = 1.0

    def __init__(self, width: float, depth: int, room: int, rng: np.random.Generator) -> None:
        self._space, self._rng, self._room = Rotated(width), rng, room
        self._faces = [(_Face(self._space), _Face(self._space)) for _ in range(depth)]
        self._matrices = [LazyGaussian(rows, cols, seed=rng.spawn(1)[0]) for rows, cols in self._faces]

    def _padded(self, rows: Array) -> Array:
        return np.pad(rows, ((0, 0), (0, self._room - rows.shape[-1])))[None, None]

    def read_in(self, root: Array) -> Array:
        return self._padded(root @ self._space.fresh(self._rng, len(root)))

    def readout(self) -> Array:
        return self._padded(self._space.fresh(self._rng, 1))

    def forward(self, block: int, a: Array) -> Array:
        return self._product(block, a, transposed=False)

    def backward(self, block: int, g: Array) -> Array:
        return self._product(block, g, transposed=True)

    def _product(self, block: int, rows: Array, *, transposed: bool) -> Array:
        if not np.isfinite(rows).all():
            return np.full_like(rows, np.inf)
        for face in self._faces[block]:
            face.look()
        matrix = self._matrices[block]
        apply = matrix.rmatvec if transposed else matrix.matvec
        return self._padded(apply(rows[0, 0, :, : self._space.size].T).T)

    def phi(self, h: Array, activation: str) -> tuple[Array, Array | float]:
        return h, 1.0
