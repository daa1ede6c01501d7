"""Scripts as one writes them for these papers: the definitions, looped over rates, depths, stages.

Each computes what an engine computes, and a test holds the two together. They are written plainly and not slowly: sums
are not taken in Python, matrices are multiplied by BLAS, gradients are torch's.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

import numpy as np

from lrtransfer.numerics.arrays import Array


def chain_floats(runs: Iterable[tuple[float, int, float]], steps: int, start: float) -> Array:
    """Losses (runs,) of gradient descent on w^L, one run and one step at a time, on Python's floats.

    ``runs``: rate, depth L and target r of each; ``start``: w(0)^L.
    """
    losses = []
    for lr, depth, r in runs:
        w = start ** (1 / depth)
        try:
            for _ in range(steps):
                w = w + lr * (r - w**depth) * w ** (depth - 1)
            losses.append(0.5 * (w**depth - r) ** 2)
        except OverflowError:
            losses.append(math.inf)
    return np.array(losses)


def chain_arrays(lrs: Array, depth: int, r: float, steps: int, start: float) -> Array:
    """Losses (rates,) of the same, all rates of one depth and target as one NumPy array."""
    w = np.full(lrs.shape, start ** (1 / depth))
    with np.errstate(all="ignore"):
        for _ in range(steps):
            w = w + lrs * (r - w**depth) * w ** (depth - 1)
        losses = 0.5 * (w**depth - r) ** 2
    return np.where(np.isfinite(losses), losses, np.inf)


def linear_descent(
    weights: Sequence[Array], readout: Array, X: Array, y: Array, lrs: Sequence[float], steps: int
) -> Array:
    """Losses (steps + 1, rates) of a deep linear network with dense matrices and torch's gradients.

        f(x) = v' W_L .. W_1 W_0 x,    loss = mean (f - y)^2 / 2,    W_1 .. W_L trained

    ``weights``: W_0 (n, d), W_1 .. W_L (n, n), of the precision in which it is to run; ``readout`` v (n,).
    """
    import torch

    first, *rest = (torch.from_numpy(w) for w in weights)
    v = torch.from_numpy(readout)
    inputs, targets = torch.from_numpy(X.T.astype(readout.dtype)), torch.from_numpy(y.astype(readout.dtype))
    losses = np.empty((steps + 1, len(lrs)))
    for column, lr in enumerate(lrs):
        trained = [w.clone().requires_grad_() for w in rest]
        for t in range(steps + 1):
            states = first @ inputs
            for w in trained:
                states = w @ states
            loss = ((v @ states - targets) ** 2).mean() / 2
            losses[t, column] = loss.item()
            if t < steps:
                loss.backward()
                with torch.no_grad():
                    for w in trained:
                        w -= lr * w.grad  # type: ignore[operator]
                        w.grad = None
    return losses


def two_layer_descent(w1: Array, w2: Array, target: Array, lrs: Sequence[tuple[float, float]], steps: int) -> Array:
    """Losses |W_1 W_2 / h - M|_F^2 (steps + 1, pairs of rates) by torch's gradients of half of it."""
    import torch

    goal, h = torch.from_numpy(target), len(target)
    losses = np.empty((steps + 1, len(lrs)))
    for column, (lr1, lr2) in enumerate(lrs):
        one, two = (torch.from_numpy(w).clone().requires_grad_() for w in (w1, w2))
        for t in range(steps + 1):
            loss = ((one @ two / h - goal) ** 2).sum()
            losses[t, column] = loss.item()
            if t < steps:
                (loss / 2).backward()
                with torch.no_grad():
                    one -= lr1 * one.grad  # type: ignore[operator]
                    two -= lr2 * two.grad  # type: ignore[operator]
                one.grad = two.grad = None
    return losses


def staged_losses(method: str, teachers: Array, covariances: Array, stages: int) -> Array:
    """Excess losses (stages + 1, problems) of networks W_t grown layer by layer, one problem after the other.

        W_{t+1} = V - (V - W*) Sigma / lambda_max,    V = (I + beta w_t) W_t  (stacking),  W_t + beta (W_t - W_{t-1})

    with w_t = W_t W_{t-1}^-1 - I and beta = (sqrt kappa - 1) / (sqrt kappa + 1); ``method`` "stacking" or "nesterov";
    teachers and covariances (problems, d, d).
    """
    losses = np.empty((stages + 1, len(teachers)))
    for column, (teacher, covariance) in enumerate(zip(teachers, covariances, strict=True)):
        eigenvalues = np.linalg.eigvalsh(covariance)
        root = np.sqrt(eigenvalues[-1] / eigenvalues[0])
        beta, identity = (root - 1) / (root + 1), np.eye(len(teacher))
        before = network = identity
        for t in range(stages + 1):
            gap = network - teacher
            losses[t, column] = 0.5 * np.trace(gap @ covariance @ gap.T)
            if method == "stacking":
                layer = network @ np.linalg.inv(before) - identity
                ahead = (identity + beta * layer) @ network
            else:
                ahead = network + beta * (network - before)
            before, network = network, ahead - (ahead - teacher) @ covariance / eigenvalues[-1]
    return losses


def field_equations(lrs: Sequence[float], gamma0: float, depth: int, steps: int) -> Array:
    """Output f_t (steps + 1, rates) of the linear residual network at infinite width, target 1, rate by rate.

    The equations of ``residual.theory.linear_fields`` as they stand there, with matrices over time in every layer: at
    each step all layers upwards and all layers downwards, with the steps before it.
    """
    return np.stack([_output_of_fields(lr, gamma0, depth, steps) for lr in lrs], axis=1)


def _output_of_fields(lr: float, gamma0: float, depth: int, steps: int) -> Array:
    square, inverse, f = 1 / depth, np.linalg.inv, np.zeros(steps + 1)
    grown = np.zeros((4, depth + 1, 0, 0))
    for n in range(1, steps + 2):
        one, c = np.eye(n), np.tril(np.broadcast_to(lr * gamma0 * (1 - f[:n]), (n, n)), -1)  # c_s of earlier steps s
        R, X, H, up = np.zeros((4, depth + 1, n, n))
        T, Y, G, down = np.pad(grown, ((0, 0), (0, 0), (0, 1), (0, 1)))  # this step's rows are not read
        R[0], up[0] = c, 1.0
        for i in range(depth + 1):
            Q, X[i] = inverse(one - R[i] @ T[i]), R[i] @ inverse(one - T[i] @ R[i])
            H[i] = Q @ up[i] @ Q.T + X[i] @ down[i] @ X[i].T
            if i < depth:
                M = inverse(one - R[i] @ (square * (Y[i + 1] + G[i + 1] * c)))
                R[i + 1] = M @ R[i] + square * (X[i] + H[i] * c)
                up[i + 1] = M @ up[i] @ M.T + square * (M @ R[i] @ G[i + 1] @ (M @ R[i]).T + H[i])
        f[n - 1] = (X[depth, -1].sum() + H[depth, -1] @ c[-1]) / gamma0
        T[depth], down[depth] = c, 1.0
        for i in range(depth, -1, -1):
            Z, Y[i] = inverse(one - T[i] @ R[i]), T[i] @ inverse(one - R[i] @ T[i])
            G[i] = Z @ down[i] @ Z.T + Y[i] @ up[i] @ Y[i].T
            if i:
                M = inverse(one - T[i] @ (square * (X[i - 1] + H[i - 1] * c)))
                T[i - 1] = M @ T[i] + square * (Y[i] + G[i] * c)
                down[i - 1] = M @ down[i] @ M.T + square * (M @ T[i] @ H[i - 1] @ (M @ T[i]).T + G[i])
        grown = np.stack([T, Y, G, down])
    return f
