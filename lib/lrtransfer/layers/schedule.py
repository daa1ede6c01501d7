"""The norm-driven schedule where layers can be unequal: two layers with many outputs, and what both networks need.

``layer_rates``         the rates that a schedule gives the layers
``top_curvature``       largest Hessian eigenvalue by power iteration
``two_layer_schedule``  training of the two-layer network with h outputs under a schedule

Source: arXiv 2606.00340, experiments with the layer-wise scheduler.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lrtransfer.layers.circle import one_number, width_argument
from lrtransfer.layers.dense import INITIALISATIONS, initial_weight
from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.random import haar_orthogonal

Pair = tuple[Array, Array]
SCHEDULES = ("uniform", "norm")


@dataclass(frozen=True)
class LayerRun:
    """One training run, t = 0 .. steps on the first axis.

    Attributes
    ----------
    train_loss, test_loss
        squared error, (steps + 1,), inf once diverged
    norms
        |W_1|_F and |W_2|_F, (steps + 1, 2)
    sharpness
        largest Hessian eigenvalue of the training objective (half the squared error) at the end; inf if diverged, None
        if it was not asked for
    """

    train_loss: Array
    test_loss: Array
    norms: Array
    sharpness: float | None


def layer_rates(schedule: str, lr: float, size1: float, size2: float) -> tuple[float, float]:
    """The rates of the two layers: lr each, or 2 lr |W_j| / (|W_1| + |W_2|) for layer i, j the other layer.

    Parameters
    ----------
    schedule
        One of ``SCHEDULES``.
    lr
        Mean rate, > 0.
    size1, size2
        Frobenius norms of the layers, > 0.

    Returns
    -------
    tuple[float, float]
        Two rates, of sum 2 lr.

    Source: arXiv 2606.00340, the layer-wise scheduler. Its callers check the arguments.
    """
    if schedule == "uniform":
        return lr, lr
    unit = 2 * lr / (size1 + size2)
    return unit * size2, unit * size1


def top_curvature(
    product: Callable[[Array, Array], Pair], shape: tuple[int, int], rng: np.random.Generator, tolerance: float
) -> float:
    """Largest Hessian eigenvalue in absolute value by power iteration, as a Rayleigh quotient.

    A random start has one part in 2 h^2 along the top eigenvector, so the quotient first stands still on the bulk of
    the others (which X'X = n I makes nearly degenerate): at least 50 iterations before it may stop.

    Parameters
    ----------
    product
        The Hessian times a pair of matrices.
    shape
        Of each matrix.
    rng
        Of the start.
    tolerance
        Relative change of the quotient at which it stops, at the latest after 1000 iterations.

    Returns
    -------
    float
        The eigenvalue, in the unit of loss over squared weight.

    Source: elementary. Its callers check the arguments.
    """
    v1, v2 = rng.standard_normal((2, *shape))
    old = np.inf
    value = 0.0
    for iteration in range(1000):
        size = np.sqrt(np.sum(v1**2) + np.sum(v2**2))
        if size == 0:
            return 0.0
        v1, v2 = v1 / size, v2 / size
        u1, u2 = product(v1, v2)
        value = float(np.sum(u1 * v1) + np.sum(u2 * v2))
        if iteration >= 50 and abs(value - old) <= tolerance * abs(value):
            break
        v1, v2, old = u1, u2, value
    return value


def two_layer_schedule(
    h: int,
    lr: float,
    steps: int,
    *,
    seed: int,
    schedule: str = "uniform",
    scale: float = 1.0,
    initialisation: str = "gaussian",
    sharpness: bool = False,
) -> LayerRun:
    """Gradient descent on |W_1 W_2 / h - M|_F^2 / 2, the two-layer network with h outputs, under a schedule.

        W_1 <- W_1 - (lr_1 / h) E W_2',    W_2 <- W_2 - (lr_2 / h) W_1' E,    E = W_1 W_2 / h - M

    Parameters
    ----------
    h
        Width, input and output dimension, >= 2.
    lr
        Mean rate, > 0, in the paper's units (critical scale h^(3/2)); ``layer_rates`` divides it.
    steps
        >= 0.
    seed
        Equal seeds give equal weights and teacher, whatever the other arguments.
    schedule
        "uniform" or "norm".
    scale
        W_1 starts that many times larger, W_2 that many times smaller; > 0. Their product does not change.
    initialisation
        "orthogonal" or "gaussian" weights; the teacher is Haar over sqrt(h) either way.
    sharpness
        Measure it at the end.

    Returns
    -------
    LayerRun
        Training and test loss are one and the same, |W_1 W_2 / h - M|_F^2, as X'X = n I and there is no noise.

    Raises
    ------
    ValueError
        For an argument out of its range, which it names.

    Source: arXiv 2606.00340, experiments with the layer-wise scheduler.
    """
    width, number, start = width_argument(h, dense=True), arguments.count("steps", steps), arguments.seed("seed", seed)
    rate, larger = (one_number(name, arguments.positive(name, v)) for name, v in (("lr", lr), ("scale", scale)))
    arguments.choice("schedule", schedule, SCHEDULES)
    arguments.choice("initialisation", initialisation, INITIALISATIONS)
    rng = np.random.default_rng(start)
    w1, w2 = initial_weight(width, initialisation, rng) * larger, initial_weight(width, initialisation, rng) / larger
    teacher = haar_orthogonal(width, rng) / np.sqrt(width)
    losses, norms = np.full(number + 1, np.inf), np.full((number + 1, 2), np.inf)
    final: float | None = np.inf if arguments.flag("sharpness", sharpness) else None
    with np.errstate(all="ignore"):
        for t in range(number + 1):
            error = w1 @ w2 / width - teacher
            loss = np.sum(error**2)
            if not np.isfinite(loss):
                break
            losses[t], norms[t] = loss, (np.linalg.norm(w1), np.linalg.norm(w2))
            if t == number:
                break
            rate1, rate2 = layer_rates(schedule, rate, norms[t, 0], norms[t, 1])
            w1, w2 = w1 - rate1 / width * error @ w2.T, w2 - rate2 / width * w1.T @ error
    if sharpness and np.isfinite(losses[-1]):

        def hessian(v1: Array, v2: Array) -> Pair:
            change = (v1 @ w2 + w1 @ v2) / width
            return (change @ w2.T + error @ v2.T) / width, (w1.T @ change + v1.T @ error) / width

        final = top_curvature(hessian, w1.shape, rng, 1e-6)
    return LayerRun(losses, losses, norms, final)
