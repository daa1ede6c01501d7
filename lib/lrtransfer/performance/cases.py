"""Each engine of the theory beside a plain script that computes the same numbers, and the least that it must do.

A case holds two functions without arguments, for the engine and for the script. Where the script cannot be waited for
it does a part, and ``times`` says how often its time counts; where it cannot be run at all, ``scaled`` says so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import numpy as np

from lrtransfer.depth import gradient_descent, loss
from lrtransfer.layers import expected_loss
from lrtransfer.layers.circle import angle_losses, spike_width
from lrtransfer.layers.dense import two_layer_descent
from lrtransfer.layers.quadrature import haar_mean
from lrtransfer.numerics.arrays import Array, Complex, Indices
from lrtransfer.numerics.random import haar_orthogonal
from lrtransfer.performance import plain
from lrtransfer.performance.speeds import Work
from lrtransfer.residual import linear_limit
from lrtransfer.stages import excess_loss, problem
from lrtransfer.width import limit_lr, one_step_coefficients, training_loss
from lrtransfer.width.data import regression
from lrtransfer.width.network import draw, one_step

DEPTHS, TARGETS, START = (2, 4, 8, 16, 32, 64, 128), (0.5, 2.0), 0.1  # of Fig. 2A of the paper on depth


@dataclass(frozen=True)
class Case:
    """An engine beside a plain script.

    Attributes
    ----------
    name
        of the part of the record
    engine, script
        what is timed; both return losses, or what comes before them
    work
        the least that the engine's own method must do
    least
        the engine on the smallest arrays: what its calls cost, whatever they compute
    times
        how many times the script's work the engine does
    scaled
        of the engine's work, what the script did and how its time was scaled, in words; empty where it did all
    same
        whether the two return the same numbers, draw for draw
    """

    name: str
    engine: Callable[[], Array]
    script: Callable[[], Array]
    work: Work
    least: Callable[[], object] | None = None
    times: float = 1.0
    scaled: str = ""
    same: bool = True

    @property
    def difference(self) -> float:
        """Largest difference of the two, relative to the largest number: inf where one is infinite and one is not."""
        one, two = self.engine(), self.script()
        if (np.isfinite(one) != np.isfinite(two)).any():
            return math.inf
        finite = np.isfinite(one)
        return float(
            np.max(np.abs(one - two), where=finite, initial=0.0) / np.max(np.abs(two), where=finite, initial=0.0)
        )


def powers(depth: int) -> int:
    """Products that w^L takes by repeated squaring."""
    return depth.bit_length() - 1 + depth.bit_count() - 1


def depth_panels(rates: int, steps: int, way: str) -> Case:
    """The four panels of Fig. 2A, all depths: ``way`` "floats" or "arrays" of the script. Rates below the edge."""
    grid = np.linspace(0.01, 1.5, rates)
    depth = np.array(DEPTHS, dtype=float)[:, None, None, None]
    r = np.array(TARGETS)[:, None, None]
    rule = np.concatenate((r ** (-2 + 2 / depth), np.ones((len(DEPTHS), len(TARGETS), 1, 1))), axis=2)
    lrs = grid / depth * rule  # (depths, targets, rules, rates)
    lrs = np.minimum(lrs, 1.5 / depth * r ** (-2 + 2 / depth))  # above the edge chaos tells any two programs apart

    def engine(lrs: Array = lrs) -> Array:
        return loss(gradient_descent(lrs, depth, steps, mu_yx=r, init=START)[-1], depth, r)

    def script() -> Array:
        out = np.empty(lrs.shape)
        for i, layers in enumerate(DEPTHS):
            for j, target in enumerate(TARGETS):
                for k in range(2):
                    if way == "floats":
                        runs = [(lr, layers, target) for lr in lrs[i, j, k].tolist()]
                        out[i, j, k] = plain.chain_floats(runs, steps, START)
                    else:
                        out[i, j, k] = plain.chain_arrays(lrs[i, j, k], layers, target, steps, START)
        return out

    each = steps * 4 * rates
    entries = each * sum(powers(layers) + 4.0 for layers in DEPTHS)  # a division and three products beside the power
    work = Work(entries=entries, bytes=2 * 8 * each * len(DEPTHS))
    return Case(f"depth, {way}", engine, script, work, lambda: engine(lrs[..., :1]))


def _regression(points: int, dim: int) -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((points, dim))
    return X, X @ rng.standard_normal(dim) + 0.3 * rng.standard_normal(points)


def _dense_weights(n: int, dim: int, layers: int) -> tuple[list[Array], Array]:
    """Weights of the normalised network, float32, as torch draws them."""
    import torch

    drawn = torch.Generator().manual_seed(0)
    weights = [torch.randn(n, dim, generator=drawn).div_(math.sqrt(n * dim)).numpy()]
    weights += [torch.randn(n, n, generator=drawn).div_(math.sqrt(n)).numpy() for _ in range(layers)]
    return weights, torch.randn(n, generator=drawn).div_(math.sqrt(n)).numpy()


def width_training(n: int, dense: int, rates: int, steps: int, points: int = 32, dim: int = 4, layers: int = 3) -> Case:
    """Losses at some rates: rotated coordinates at width n beside dense matrices at ``dense``, float32."""
    X, y = _regression(points, dim)
    lrs = limit_lr(X, y, layers) * np.linspace(0.5, 1.5, rates)

    def engine(lrs: Array = lrs, steps: int = steps) -> Array:
        return training_loss(lrs, n, X, y, layers, steps, seed=0)

    def script() -> Array:
        weights, readout = drawn()
        return plain.linear_descent(weights, readout, X, y, lrs[:1].tolist(), steps)

    drawn = cache(partial(_dense_weights, dense, dim, layers))  # once for all rates, so its time does not count

    known = (dim + 1) * (steps + 1)  # directions of a layer that training can reach
    asked = (48 + rates) * (2 * layers + 2) * (steps + 1)
    scaled = f"one of {rates} rates" + ("" if n == dense else f", at {dense} units, times the widths' ratio squared")
    return Case(
        f"width, {n}", engine, script, Work(product64=2.0 * asked * known**2),
        lambda: training_loss(lrs[:1], 2, X[:, :1], y, layers, steps, seed=0),
        rates * (n / dense) ** 2, scaled, same=False,
    )  # fmt: skip


def width_vectors(n: int, dense: int, points: int = 32, dim: int = 4, layers: int = 3) -> Case:
    """One step's polynomial with vectors of R^n kept, beside a step of dense matrices."""
    X, y = _regression(points, dim)

    def engine() -> Array:
        return one_step_coefficients(n, X, y, layers, seed=0, coordinates=True)

    def script() -> Array:
        weights, readout = drawn()
        return plain.linear_descent(weights, readout, X, y, [limit_lr(X, y, layers)], 1)

    drawn = cache(partial(_dense_weights, dense, dim, layers))

    network = draw(64, dim, layers, parametrisation="mup", seed=0, coordinates=True)
    one_step(network, regression(X, y))
    vectors = 1 + dim + sum(sum(weight.asked) for weight in network.weights)  # type: ignore[attr-defined, misc]
    work = Work(normals=vectors * n, bytes=3.0 * 8 * vectors * n)  # written once, read for a product, read in an answer
    scaled = f"at {dense} units, times the widths' ratio squared"
    return Case(
        f"width, vectors of {n}", engine, script, work,
        lambda: one_step_coefficients(8, X, y, layers, seed=0, coordinates=True),
        (n / dense) ** 2, scaled, same=False,
    )  # fmt: skip


def layers_dense(h: int, steps: int) -> Case:
    """Two layers with dense matrices, one draw, one pair of rates."""
    rng = np.random.default_rng(0)
    w1, w2, teacher = haar_orthogonal(h, rng), haar_orthogonal(h, rng), haar_orthogonal(h, rng) / np.sqrt(h)
    lr = 0.3 * h**1.5

    def engine() -> Array:
        return two_layer_descent(w1, w2, teacher, teacher, lr, lr, steps)[:, None]

    def script() -> Array:
        return plain.two_layer_descent(w1, w2, teacher, [(lr, lr)], steps)

    return Case(f"layers, dense {h}", engine, script, Work(product64=(3.0 * steps + 1) * h**3))


def layers_grid(h: int, dense: int, rates: int, steps: int) -> Case:
    """The mean loss over draws on a grid of rates, beside one dense draw at one pair of rates of width ``dense``."""
    side = np.linspace(0.05, 1.2, rates) * h**1.5
    rng = np.random.default_rng(0)
    w1, w2, teacher = (haar_orthogonal(dense, rng) for _ in range(3))

    def engine(side: Array = side, steps: int = steps) -> Array:
        return expected_loss(side[:, None], side, h, steps)

    def script() -> Array:
        lr = 0.3 * dense**1.5
        return plain.two_layer_descent(w1, w2, teacher / np.sqrt(dense), [(lr, lr)], steps)

    scaled = f"one draw and one of {rates**2} pairs of rates"
    scaled += "" if h == dense else f", at {dense} units, times the widths' ratio cubed"
    work = Work(entries=(12.0 * steps + 8) * circle_points(side / h**1.5, h, steps))
    least = side[:1]
    return Case(
        f"layers, grid {h}", engine, script, work, lambda: engine(least),
        rates**2 * (h / dense) ** 3, scaled, same=False,
    )  # fmt: skip


def circle_points(kappa: Array, h: int, steps: int) -> float:
    """Pairs of rates times angles at which ``expected_loss`` follows its map: what the quadrature asks for."""
    k1, k2 = (np.ravel(k)[:, None] for k in np.broadcast_arrays(kappa[:, None], kappa))
    asked = 0

    def integrand(index: Indices, z: Complex) -> Array:
        nonlocal asked
        losses = angle_losses(k1[index], k2[index], z, h, steps, False, False)
        asked += losses[0].size
        return losses

    haar_mean(integrand, k1.size, h, steps, spike_width((np.sqrt(k1) * np.sqrt(k2))[:, 0], h, steps))
    return float(asked)


def stages_courses(method: str, problems: int, d: int, stages: int) -> Case:
    """Excess losses of networks grown stage by stage, on problems of several condition numbers."""
    teacher, covariance = problem(np.geomspace(4, 100, problems), 0.2, d, 0)

    def engine() -> Array:
        return excess_loss(method, teacher, covariance, stages)

    def script() -> Array:
        return plain.staged_losses(method, teacher, covariance, stages)

    runs = float(problems * stages)
    if method == "stacking":  # an inverse, three products and the loss: d^3 each
        work = Work(product64=5 * runs * d**3)
    else:  # about 12 d^3 for eigenvectors; of every eigenvalue a recursion of two terms, its square and a weight
        work = Work(product64=12.0 * problems * d**3, entries=5 * runs * d)
    return Case(
        f"stages, {method}", engine, script, work, lambda: excess_loss(method, teacher[:1, :2, :2], np.eye(2), stages)
    )


def fields(rates: int, depth: int, steps: int) -> Case:
    """The output of the linear residual network at infinite width, at some rates."""
    lrs = np.linspace(0.02, 0.2, rates)

    def engine(lrs: Array = lrs) -> Array:
        return linear_limit(lrs, 1.0, depth, steps)

    def script() -> Array:
        return plain.field_equations(lrs.tolist(), 1.0, depth, steps)

    times = np.arange(steps + 1.0)
    # At a step t of one layer and direction: rows of t entries times two matrices of 3 T and 2 T columns, and times
    # eight of t rows and columns.
    work = 2.0 * rates * depth * float(np.sum(5 * times * (steps + 1) + 8 * times**2))
    return Case("limit, fields", engine, script, Work(entries=work), lambda: engine(lrs[:1]))
