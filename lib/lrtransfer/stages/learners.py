"""Weak learners for boosting: regression trees of small depth, and kernel ridge regression.

For the trees the sample is sorted once, and every tree fitted from there. A node is cut in two at the feature and
threshold that leave the least squared error, which for residuals r less their mean over the n examples of the node,
s_k the sum over the k smallest in a feature, is where

    s_k^2 n / (k (n - k))

is largest; a leaf returns its mean. No leaf is smaller than one example, and nothing is drawn at random: of equally
good cuts the one of the first feature is taken.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lrtransfer import _check

Array = NDArray[np.float64]
Learner = Callable[[Array], tuple[Array, Array]]  # r (n,) to the weak learner on sample (n,) and test (m,)


def tree_learner(X: ArrayLike, X_test: ArrayLike, depth: int) -> Learner:
    """The regression trees of ``depth`` levels on inputs X (n, features): r (n,) to their values on X and on X_test.

    X, X_test  (n, features) and (m, features); depth  at least 1

    Returns a function of r that returns the projection of r on the tree's leaves, (n,), and the tree at X_test, (m,).
    Raises ValueError for bad arguments.
    Source: Breiman, Friedman, Olshen and Stone, Classification and Regression Trees (1984), squared error.
    """
    inputs, others = _check.finite("X", X), _check.finite("X_test", X_test)
    if inputs.ndim != 2 or not inputs.size:
        raise ValueError(f"X of shape {inputs.shape} is not allowed: X must be (n, features).")
    if others.ndim != 2 or others.shape[1] != inputs.shape[1]:
        raise ValueError(f"X_test of shape {others.shape} is not allowed: it must be (m, {inputs.shape[1]}), as X.")
    levels = _check.count("depth", depth, minimum=1)
    columns = np.ascontiguousarray(inputs.T)  # (features, n)
    rising = np.argsort(columns, axis=1, kind="stable")  # the examples in the order of each feature
    everything, unseen = np.arange(len(inputs)), np.arange(len(others))

    def fit(r: Array) -> tuple[Array, Array]:
        sample, test = np.empty(len(inputs)), np.empty(len(others))
        nodes = [(everything, rising, unseen, levels)]
        while nodes:
            rows, order, at, left = nodes.pop()
            mean = r[rows].mean()
            cut = _best_cut(r - mean, columns, order) if left and len(rows) > 1 else None
            if cut is None:
                sample[rows], test[at] = mean, mean
                continue
            feature, threshold = cut
            low, below = columns[feature] <= threshold, others[at, feature] <= threshold
            order = order if left > 1 else order[:1]  # leaves need their examples, in whatever order
            kept = low.take(order)
            for side, there in ((kept, below), (~kept, ~below)):
                part = order[side].reshape(len(order), -1)
                nodes.append((part[0], part, at[there], left - 1))
        return sample, test

    return fit


def kernel_smoother(X: ArrayLike, X_test: ArrayLike, ridge: float = 0.1) -> tuple[Array, Array]:
    """Kernel ridge regression as a weak learner: S = K (K + ridge n I)^-1 on the sample, and its rows for test inputs.

    K = exp(-|x - x'|^2 / (2 features)) on standardised features. X (n, features), X_test (m, features); ridge > 0.
    Returns (n, n), symmetric with eigenvalues in [0, 1), and (m, n).
    """
    penalty = _check.one("ridge", _check.positive("ridge", ridge))
    inputs, others = _check.finite("X", X), _check.finite("X_test", X_test)
    spread = inputs.std(axis=0)
    scale = np.where(spread > 0, spread, 1.0) * np.sqrt(inputs.shape[1])
    a, b = ((z - inputs.mean(axis=0)) / scale for z in (inputs, others))

    def kernel(z: Array) -> Array:
        squares = (z**2).sum(axis=1)[:, None] + (a**2).sum(axis=1) - 2 * z @ a.T
        return np.exp(-np.maximum(squares, 0.0) / 2)

    values, vectors = np.linalg.eigh(kernel(a))
    values = np.maximum(values, 0.0)
    inverse = 1 / (values + penalty * len(a))
    return (vectors * (values * inverse)) @ vectors.T, kernel(b) @ (vectors * inverse) @ vectors.T


def _best_cut(r: Array, columns: Array, order: NDArray[np.intp]) -> tuple[int, float] | None:
    """Feature and threshold of a node's best cut; r less its mean there, columns and order (features, ..)."""
    n = order.shape[1]
    k = np.arange(1, n)
    sums = np.cumsum(r.take(order), axis=1)[:, :-1]
    gain = sums * sums * (n / (k * (n - k)))
    for _ in range(2):
        feature, place = divmod(int(gain.argmax()), n - 1)
        low, high = columns[feature, order[feature, place : place + 2]]
        if gain[feature, place] < 0:
            return None
        if low < high:
            middle = low + (high - low) / 2
            return feature, float(low if middle >= high else middle)  # neighbours in floating point
        # no threshold lies between equal values: leave such cuts out, only now, as most data have few of them
        gain[np.diff(np.take_along_axis(columns, order, axis=1), axis=1) <= 0] = -1.0
    return None
