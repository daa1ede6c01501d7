"""The same networks trained honestly, with dense matrices: the brute-force twin of ``circle`` and ``deep``.

Nothing is rotated or reduced here, and what the reductions cannot do is possible: Gaussian initialisation
(entries N(0, 1/h), so that W'W is I on average) and label noise. The data have X'X = n I with n = h samples,
so training depends on the labels only through X'Y/n: noise of variance rho on every label is a Gaussian
matrix (or vector) of entry variance rho / h added to the teacher. The loss is the test loss against the
noiseless teacher.

Cost: two layers O(h^3) a step, a scalar output O(k h^2) a step (its gradients have rank one).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.layers.circle import one_number, width_argument
from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.random import haar_orthogonal

INITIALISATIONS = ("orthogonal", "gaussian")


def initial_weight(h: int, initialisation: str, rng: np.random.Generator) -> Array:
    """One weight (h, h): "orthogonal" is Haar, "gaussian" has entries N(0, 1/h). Its callers check the arguments."""
    if initialisation == "orthogonal":
        return haar_orthogonal(h, rng)
    return rng.standard_normal((h, h)) / np.sqrt(h)


def two_layer_descent(w1: Array, w2: Array, target: Array, teacher: Array, lr1: float, lr2: float, steps: int) -> Array:
    """Gradient descent on |W_1 W_2 / h - target|_F^2 / 2; |W_1 W_2 / h - teacher|_F^2 at t = 0 .. steps.

        W_1 <- W_1 - (lr1 / h) E W_2',    W_2 <- W_2 - (lr2 / h) W_1' E,    E = W_1 W_2 / h - target

    Parameters
    ----------
    w1, w2, target, teacher
        (h, h) each.
    lr1, lr2
        >= 0.
    steps
        >= 0.

    Returns
    -------
    array
        (steps + 1,); diverged losses are inf. Its callers check the arguments.

    Source: arXiv 2606.00340, two-layer model.
    """
    h = w1.shape[0]
    losses = np.full(steps + 1, np.inf)
    with np.errstate(all="ignore"):
        for t in range(steps + 1):
            output = w1 @ w2 / h
            loss = np.sum((output - teacher) ** 2)
            if not np.isfinite(loss):
                break
            losses[t] = loss
            if t < steps:
                error = output - target
                w1, w2 = w1 - lr1 / h * error @ w2.T, w2 - lr2 / h * w1.T @ error
    return losses


def chain_descent(
    weights: Sequence[Array], a: Array, target: Array, teacher: Array, lrs: Sequence[float], steps: int
) -> Array:
    """Gradient descent on |W_1 .. W_k a / sqrt(h) - target|^2 / 2; squared distances to the teacher.

        W_i <- W_i - (lr_i / sqrt h) [(W_1 .. W_{i-1})' r] [W_{i+1} .. W_k a]',    r the error of the output

    Parameters
    ----------
    weights
        k matrices (h, h).
    a, target, teacher
        (h,) each.
    lrs
        k rates >= 0.
    steps
        >= 0.

    Returns
    -------
    array
        (steps + 1,); diverged losses are inf. Its callers check the arguments.

    Source: arXiv 2606.00340, three-layer model.
    """
    h = a.size
    weights = [weight.copy() for weight in weights]
    losses = np.full(steps + 1, np.inf)
    with np.errstate(all="ignore"):
        for t in range(steps + 1):
            behind = [a]
            for weight in reversed(weights):
                behind.append(weight @ behind[-1])
            output = behind[-1] / np.sqrt(h)
            loss = np.sum((output - teacher) ** 2)
            if not np.isfinite(loss):
                break
            losses[t] = loss
            if t < steps:
                before = output - target
                for i, weight in enumerate(weights):
                    update = np.outer(lrs[i] / np.sqrt(h) * before, behind[len(weights) - 1 - i])
                    before = weight.T @ before
                    weight -= update
    return losses


def _setting(
    h: object, steps: object, draws: object, seed: object, initialisation: object, noise: float
) -> tuple[int, int, int, int, str, float]:
    variance = one_number("noise", arguments.finite("noise", noise, minimum=0.0))
    return (
        width_argument(h, dense=True),
        arguments.count("steps", steps),
        arguments.count("draws", draws, minimum=1),
        arguments.seed("seed", seed),
        arguments.choice("initialisation", initialisation, INITIALISATIONS),
        variance,
    )


def two_layer_losses(
    lr1: ArrayLike,
    lr2: ArrayLike,
    h: int,
    steps: int,
    *,
    draws: int,
    seed: int,
    initialisation: str = "orthogonal",
    noise: float = 0.0,
) -> Array:
    """Test losses of dense two-layer networks; without noise ``expected_loss`` is their mean.

    Parameters
    ----------
    lr1, lr2
        Rates, >= 0; all rates see the same draws; shapes broadcast.
    h
        Width, >= 2.
    steps
        >= 0.
    draws
        Independent networks and teachers.
    seed
        Equal seeds give equal draws.
    initialisation
        "orthogonal" or "gaussian", of the weights; the teacher is Haar over sqrt(h) either way.
    noise
        Variance rho of the label noise, per output.

    Returns
    -------
    array
        |W_1 W_2 / h - M|_F^2, shape (steps + 1, draws) + the broadcast shape of the rates; inf where a run diverged.

    Raises
    ------
    ValueError
        For an argument out of its range, which it names.

    Source: arXiv 2606.00340, two-layer model and its experiments.
    """
    width, number, count, start, kind, variance = _setting(h, steps, draws, seed, initialisation, noise)
    one, two = arguments.finite("lr1", lr1, minimum=0.0), arguments.finite("lr2", lr2, minimum=0.0)
    one, two = np.broadcast_arrays(one, two)
    out = np.empty((number + 1, count, one.size))
    for draw, rng in enumerate(np.random.default_rng(start).spawn(count)):
        w1, w2 = initial_weight(width, kind, rng), initial_weight(width, kind, rng)
        teacher = haar_orthogonal(width, rng) / np.sqrt(width)
        target = teacher
        if variance:
            target = teacher + np.sqrt(variance / width) * rng.standard_normal((width, width))
        for j in range(one.size):
            rates = float(one.flat[j]), float(two.flat[j])
            out[:, draw, j] = two_layer_descent(w1, w2, target, teacher, *rates, number)
    return out.reshape(number + 1, count, *one.shape)


def chain_losses(
    lrs: ArrayLike,
    h: int,
    steps: int,
    *,
    draws: int,
    seed: int,
    initialisation: str = "orthogonal",
    noise: float = 0.0,
) -> Array:
    """Test losses of dense networks with k = len(lrs) trained matrices; ``deep_loss`` is their mean.

    Parameters
    ----------
    lrs
        Rates (k,) or (k,) + grid, >= 0; all rates see the same draws.
    h, steps, draws, seed, initialisation
        As in ``two_layer_losses``; a and beta are N(0, I/h).
    noise
        Variance rho of the label noise.

    Returns
    -------
    array
        |W_1 .. W_k a / sqrt h - beta|^2, shape (steps + 1, draws) + grid; inf where a run diverged.

    Raises
    ------
    ValueError
        For an argument out of its range, which it names.

    Source: arXiv 2606.00340, three-layer model and its experiments.
    """
    width, number, count, start, kind, variance = _setting(h, steps, draws, seed, initialisation, noise)
    rates = arguments.finite("lrs", lrs, minimum=0.0)
    if rates.ndim == 0 or rates.shape[0] == 0:
        raise arguments.refuse("lrs", lrs, "a sequence with one rate for each trained matrix")
    k, grid = rates.shape[0], rates.reshape(rates.shape[0], -1)
    out = np.empty((number + 1, count, grid.shape[1]))
    for draw, rng in enumerate(np.random.default_rng(start).spawn(count)):
        weights = [initial_weight(width, kind, rng) for _ in range(k)]
        a, teacher = rng.standard_normal((2, width)) / np.sqrt(width)
        target = teacher
        if variance:
            target = teacher + np.sqrt(variance / width) * rng.standard_normal(width)
        for j in range(grid.shape[1]):
            out[:, draw, j] = chain_descent(weights, a, target, teacher, grid[:, j].tolist(), number)
    return out.reshape(number + 1, count, *rates.shape[1:])
