"""Stacking when every layer trains: deep residual linear networks grown one layer a stage.

The network at stage t is x -> W x with

    W = (I + w_t) (I + w_{t-1}) .. (I + w_1),        loss  (1/2) E |W x - y|^2,    y = W* x + xi.

A stage appends a layer, initialised in one of four ways, and then takes a few SGD steps on all layers:

    "stacking"   w_{t+1} = beta w_t
    "nesterov"   w_{t+1} = beta w_t (I + w_t)^-1: W moves by beta times what w_t contributes, (I + w_t) V - V, which
                 is Nesterov's beta (W_t - W_{t-1}) exactly in the second stage only, as V has trained on since
    "random"     w_{t+1} with independent entries N(0, scale^2 / d)
    "zero"       w_{t+1} = 0

The first layer starts at zero in all four, so that they differ from the second stage on. Everything else that is
random (problem, sample, noise, order of the batches) depends on the seed alone: the four initialisations, and the
condition numbers, are paired.

With t layers at zero the smoothness is t sigma_max(Sigma) if W* = I, and more otherwise (``curvature``): it grows with
depth, and a rate of 1/sigma_max(Sigma) leaves the stable region when t > 2. A batch has a larger curvature than the
whole sample, at kappa = 2 more than twice as large for 32 examples in 20 dimensions.

Source: "Stacking as Accelerated Gradient Descent", Section 4.2, Fig. 6; the initialisation "zero" and the rates other
than "printed" are this book's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.stages.all_layers.curvature import end_to_end, gradients, largest_curvature, transposed
from lrtransfer.stages.linear.course import EXPLODED, frobenius
from lrtransfer.stages.linear.excess import default_beta
from lrtransfer.stages.linear.problems import problem

INITS = ("stacking", "nesterov", "random", "zero")
RATES = ("hessian", "shared", "depth", "printed")


@dataclass(frozen=True)
class AllLayersRun:
    """Stagewise training of all layers; stage 0 is the identity, before any layer.

    Attributes
    ----------
    excess
        (1/2) Tr((W - W*) Sigma (W - W*)'), (stages + 1, inits, kappas, seeds), inf once a run has diverged
    test_loss
        mean of |W x - y|^2 / 2 over the test sample, same shape; its floor is ``noise_floor`` on average
    lrs
        the rate of each stage, (stages, inits, kappas, seeds); 0 for a run that has diverged
    off_momentum
        distance between the network as a stage begins and where Nesterov's method would go on from, W_t + beta (W_t -
        W_{t-1}), over the size of that move; shape of ``lrs``. 0 where both are the same, as in the first stage, inf
        where only the move vanishes (kappa = 1), and after divergence
    inits, kappas, seeds
        what the axes mean; kappas (kappas,)
    noise_floor
        d noise^2 / 2
    """

    excess: Array
    test_loss: Array
    lrs: Array
    off_momentum: Array
    inits: tuple[str, ...]
    kappas: Array
    seeds: tuple[int, ...]
    noise_floor: float


def _quadratic(left: Array, middle: Array, right: Array) -> Array:
    """Tr(left middle right')."""
    return ((left @ middle) * right).sum(axis=(-2, -1))


class _Moments(NamedTuple):
    """Second moments of a sample, S = mean x x' and C = mean y x', (kappas, seeds, d, d)."""

    second: Array
    cross: Array


class Data:
    """Problems and samples of all condition numbers and seeds: x = Sigma^(1/2) z, y = W* x + noise n.

    The white draws z, n (seeds, examples, d) are common to all condition numbers, and so are their moments: a batch
    of any size is one pair of products (seeds, d, d), coloured afterwards.
    """

    def __init__(
        self, kappas: Array, sigma: float, seeds: tuple[int, ...], d: int, noise: float, sizes: tuple[int, int]
    ) -> None:
        self.noise = noise
        self.teacher, self.covariance = problem(kappas[:, None], sigma, d, seeds)  # (kappas, seeds, d, d)
        values, vectors = np.linalg.eigh(self.covariance)
        self.root = (vectors * np.sqrt(np.maximum(values, 0.0))[..., None, :]) @ transposed(vectors)
        draws = np.stack([np.random.default_rng([seed, 1]).standard_normal((2, sum(sizes), d)) for seed in seeds])
        train, test = np.split(draws, [sizes[0]], axis=2)
        self.z, self.n = train[:, 0], train[:, 1]
        self.whole = self._coloured(self.z, self.n)
        self.test = self._coloured(test[:, 0], test[:, 1])
        square = noise**2 * (test[:, 1] ** 2).sum(axis=-1).mean(axis=-1)  # of the noise
        signal = _quadratic(self.teacher, self.test.second, self.teacher)
        mixed = (self.teacher * (self.test.cross - self.teacher @ self.test.second)).sum(axis=(-2, -1))
        self.test_square = signal + 2 * mixed + square  # mean of |y|^2, (kappas, seeds)

    def batch(self, picked: NDArray[np.int64]) -> _Moments:
        """Moments of the examples ``picked``, (seeds, batch)."""
        index = picked[..., None]
        return self._coloured(*(np.take_along_axis(white, index, axis=1) for white in (self.z, self.n)))

    def _coloured(self, z: Array, n: Array) -> _Moments:
        second = self.root @ (transposed(z) @ z / z.shape[1]) @ self.root
        return _Moments(second, self.teacher @ second + (self.noise / z.shape[1]) * (transposed(n) @ z) @ self.root)


def batch_order(seed: int, samples: int, batch: int, steps: int) -> NDArray[np.int64]:
    """Indices of ``steps`` batches, drawn without replacement from one shuffled pass after another: (steps, batch)."""
    rng = np.random.default_rng([seed, 2])
    passes = -(-steps * batch // samples)
    return np.concatenate([rng.permutation(samples) for _ in range(passes)])[: steps * batch].reshape(steps, batch)


def new_layer(init: str, last: Array, beta: Array, draw: Array) -> Array:
    """What a new layer starts from, (..., d, d), by its name; ``last`` is the layer below, ``draw`` a random one."""
    if init == "zero":
        return np.zeros_like(last)
    if init == "random":
        return np.broadcast_to(draw, last.shape)
    if init == "stacking":
        return beta * last
    d = last.shape[-1]
    try:  # w (I + w)^-1, transposed for the solver
        solved: Array = np.asarray(np.linalg.solve(np.eye(d) + transposed(last), transposed(last)), np.float64)
    except np.linalg.LinAlgError:  # numpy refuses the whole batch for one exact zero pivot: go through it one by one
        solved = np.stack([_solve_or_inf(w) for w in transposed(last).reshape(-1, d, d)]).reshape(last.shape)
    return beta * transposed(solved)


def _solve_or_inf(layer: Array) -> Array:
    """Solves (I + w) u = w for one layer (d, d); infinite where it has exploded and there is no inverse any more."""
    try:
        return np.asarray(np.linalg.solve(np.eye(len(layer)) + layer, layer), np.float64)
    except np.linalg.LinAlgError:
        if frobenius(layer) > EXPLODED:  # I + w has lost the I to rounding: the run has diverged
            return np.full(layer.shape, np.inf)
        raise ArithmeticError(
            "The Nesterov initialisation needs I + w of the last layer to be invertible, and it is singular: "
            "use a smaller rate or another seed."
        ) from None


def train_all_layers(
    kappas: Sequence[float] = (2, 10, 100, 1000),
    sigma: float = 1.0,
    *,
    inits: Sequence[str] = INITS,
    rate: str = "hessian",
    factor: float = 1.0,
    scale: float = 0.1,
    seeds: Sequence[int] = range(20),
    stages: int = 10,
    steps: int = 2,
    batch: int = 32,
    samples: int = 1024,
    test_samples: int = 1024,
    d: int = 20,
    noise: float = 0.1,
    iterations: int = 6,
) -> AllLayersRun:
    """Stagewise training of deep residual linear networks with all layers trained, from four initialisations.

    Parameters
    ----------
    kappas
        condition numbers of the covariance, each >= 1
    sigma
        the teacher is I + sigma S, >= 0
    inits
        any of "stacking", "nesterov", "random", "zero"; beta = (sqrt(kappa) - 1)/(sqrt(kappa) + 1)
    rate
        "hessian", 1/lambda_max of the training loss over all layers, at the start of each stage and for each run;
        "shared", the smallest of these rates among ``inits`` on the same draws, so that all take the same;
        "depth", 1/(t sigma_max(Sigma)) in stage t;
        "printed", 1/sigma_max(Sigma), the smoothness of the loss in W alone
    factor
        multiplies the rate, > 0
    scale
        of the initialisation "random", >= 0
    seeds
        one problem, sample and order each, and the same for all inits and kappas
    stages, steps
        layers added, and SGD steps after each
    batch
        <= samples
    samples, test_samples
        sizes of the samples
    d
        dimension, 2 or more
    noise
        standard deviation of each entry of xi, >= 0
    iterations
        of Lanczos for the rates "hessian" and "shared", from below: six leave 2 per cent of the curvature on average
        over runs and stages, up to 30 in one run at sigma = 50; up to ten are taken in single precision

    Returns
    -------
    AllLayersRun
        losses, rates and distances from momentum.

    Raises
    ------
    ValueError
        for arguments out of range.
    ArithmeticError
        where "nesterov" needs the inverse of a last layer that is singular.

    References
    ----------
    Section 4.2, Fig. 6. The paper gives neither its random scale nor its sigma for this figure.
    """
    conditions = arguments.finite("kappas", kappas, minimum=1.0)
    if conditions.ndim != 1 or conditions.size == 0:
        raise arguments.refuse("kappas", kappas, "a sequence of numbers, at least 1 each")
    names = tuple(arguments.choice("inits", name, INITS) for name in inits)
    starts = tuple(arguments.seed("seeds", seed) for seed in seeds)
    if not names or not starts:
        raise ValueError("inits and seeds must not be empty.")
    rule = arguments.choice("rate", rate, RATES)
    strength = arguments.one("factor", arguments.positive("factor", factor))
    spread = arguments.one("scale", arguments.finite("scale", scale, minimum=0.0))
    far = arguments.one("sigma", arguments.finite("sigma", sigma, minimum=0.0))
    level = arguments.one("noise", arguments.finite("noise", noise, minimum=0.0))
    total, each = arguments.count("stages", stages, minimum=1), arguments.count("steps", steps, minimum=1)
    dim, size = arguments.count("d", d, minimum=2), arguments.count("samples", samples, minimum=1)
    tests, take = arguments.count("test_samples", test_samples, minimum=1), arguments.count("batch", batch, minimum=1)
    if take > size:
        raise arguments.refuse("batch", batch, f"at most samples = {size}")
    lanczos = arguments.count("iterations", iterations, minimum=1)

    data = Data(conditions, far, starts, dim, level, (size, tests))
    smoothness = np.linalg.eigvalsh(data.covariance)[..., -1]
    beta = default_beta(conditions)[:, None, None, None]
    order = np.stack([batch_order(seed, size, take, total * each) for seed in starts], axis=1)  # (steps, seeds, batch)
    draws = np.stack([np.random.default_rng([seed, 3]).standard_normal((total, dim, dim)) for seed in starts], axis=1)
    draws *= spread / np.sqrt(dim)

    runs = (len(names), conditions.size, len(starts))
    layers = np.zeros((0, *runs, dim, dim))
    alive = np.ones(runs, bool)
    excess, test_loss = np.empty((2, total + 1, *runs))
    lrs, off_momentum = np.zeros((2, total, *runs))
    before = np.zeros(0)
    with np.errstate(all="ignore"):
        for t in range(total + 1):
            W = end_to_end(layers) if t else np.broadcast_to(np.eye(dim), (*runs, dim, dim))
            off = W - data.teacher
            excess[t] = 0.5 * _quadratic(off, data.covariance, off)
            test_loss[t] = 0.5 * (_quadratic(W, data.test.second, W) + data.test_square)
            test_loss[t] -= (W * data.test.cross).sum(axis=(-2, -1))
            alive &= np.isfinite(excess[t]) & np.isfinite(test_loss[t])
            excess[t][~alive] = test_loss[t][~alive] = np.inf
            if t == total:
                break
            layers[:, ~alive] = 0.0
            new = np.zeros((*runs, dim, dim))
            if t:
                for i, name in enumerate(names):
                    new[i] = new_layer(name, layers[-1, i], beta, draws[t])
                move = beta * (W - before)
                gap, way = frobenius(new @ W - move), frobenius(move)
                apart = np.where(gap == 0, 0.0, gap / way)
                off_momentum[t] = np.where(alive & ~np.isnan(apart), apart, np.inf)
            before = W
            layers = np.concatenate([layers, new[None]])
            if rule in ("hessian", "shared"):
                curvature = largest_curvature(layers, *data.whole, lanczos, single=lanczos <= 10)
                if rule == "shared":
                    curvature = np.broadcast_to(curvature.max(axis=0), runs)
            else:
                curvature = np.broadcast_to(smoothness * (t + 1 if rule == "depth" else 1), runs)
            lrs[t] = np.where(alive, strength / curvature, 0.0)
            for picked in order[t * each : (t + 1) * each]:
                layers = layers - lrs[t][..., None, None] * gradients(layers, *data.batch(picked))
    return AllLayersRun(excess, test_loss, lrs, off_momentum, names, conditions, starts, dim * level**2 / 2)
