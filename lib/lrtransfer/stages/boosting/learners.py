"""Weak learners for boosting: regression trees of small depth, and kernel ridge regression.

A node is cut in two at the feature and threshold that leave the least squared error, which for residuals r less their
mean over the n examples of the node, s_k the sum over the k smallest in a feature, is where

    s_k^2 n / (k (n - k))

is largest; a leaf returns its mean. No leaf is smaller than one example, and nothing is drawn at random: of equally
good cuts the one of the first feature is taken.

Many trees grow at once: of several samples, and of several r for each. The examples of all trees stand in one row,
for every feature in rising order within their node, so that one pass over a feature weighs all cuts of all nodes of
all trees, and a level costs the same however many nodes it has.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array, Indices

EQUAL = (
    1 - 1e-12
)  # gains so near to the largest are equal to it: two features that cut a sample alike differ by rounding
Learner = Callable[[Array], tuple[Array, Array]]  # r (..., n) to the weak learner on sample (..., n) and test (..., m)


def tree_learner(X: ArrayLike, X_test: ArrayLike, depth: int) -> Learner:
    """The regression trees of ``depth`` levels on inputs X: r to their values on X and on X_test.

    Parameters
    ----------
    X, X_test
        (..., n, features) and (..., m, features), with the same leading axes: samples
    depth
        at least 1

    Returns
    -------
    callable
        of r (targets..., ..., n), one tree each, that returns the projections of r on the leaves of its trees, of the
        shape of r, and the trees at X_test, (targets..., ..., m).

    Raises
    ------
    ValueError
        for bad arguments.

    References
    ----------
    Breiman, Friedman, Olshen and Stone, Classification and Regression Trees (1984), squared error.
    """
    inputs, others = _inputs(X, X_test)
    levels = arguments.count("depth", depth, minimum=1)
    samples, n, m = inputs.shape[:-2], inputs.shape[-2], others.shape[-2]
    rows = int(np.prod(samples))  # trees for each target

    @cache
    def forest(targets: int) -> tuple[Array, Array, Indices, Array]:
        """Arguments of ``_grow`` that do not depend on r."""
        columns, unseen = (np.moveaxis(z, -1, 0) for z in (inputs, others))
        order = np.tile(np.argsort(columns.reshape(len(columns), rows, n), axis=-1, kind="stable"), (1, targets, 1))
        order += np.arange(targets * rows)[:, None] * n
        order = order.reshape(len(order), -1)
        columns, unseen = (np.tile(z.reshape(len(z), -1), targets) for z in (columns, unseen))
        weight = _weight(np.full(targets * rows, n))
        return columns, unseen, order, np.stack([weight * _open(*pair) for pair in zip(columns, order, strict=True)])

    def fit(r: Array) -> tuple[Array, Array]:
        given = np.asarray(r, dtype=np.float64)
        if given.shape[-1 - len(samples) :] != (*samples, n) or not given.size:
            expected = ", ".join(map(str, ["targets...", *samples, n]))
            raise ValueError(
                f"r of shape {given.shape} is not allowed: it must be ({expected}), one number an example."
            )
        trees = given.size // n
        sample, test = _grow(given.reshape(trees, n), *forest(trees // rows), levels)
        return sample.reshape(given.shape), test.reshape(*given.shape[:-1], m)

    return fit


def kernel_smoother(X: ArrayLike, X_test: ArrayLike, ridge: float = 0.1) -> tuple[Array, Array]:
    """Kernel ridge regression as a weak learner: S = K (K + ridge n I)^-1 on the sample, and its rows for test inputs.

    K = exp(-|x - x'|^2 / (2 features)) on standardised features.

    Parameters
    ----------
    X, X_test
        (..., n, features) and (..., m, features), with the same leading axes
    ridge
        > 0

    Returns
    -------
    smoother : ndarray
        S, (..., n, n), symmetric with eigenvalues in [0, 1)
    rows : ndarray
        (..., m, n).

    Raises
    ------
    ValueError
        for bad arguments.
    """
    inputs, others = _inputs(X, X_test)
    penalty = arguments.one("ridge", arguments.positive("ridge", ridge))
    spread = inputs.std(axis=-2, keepdims=True)
    scale = np.where(spread > 0, spread, 1.0) * np.sqrt(inputs.shape[-1])
    a, b = ((z - inputs.mean(axis=-2, keepdims=True)) / scale for z in (inputs, others))

    def kernel(z: Array) -> Array:
        squares = (z**2).sum(axis=-1)[..., None] + (a**2).sum(axis=-1)[..., None, :] - 2 * z @ a.swapaxes(-1, -2)
        return np.exp(-np.maximum(squares, 0.0) / 2)

    values, vectors = np.linalg.eigh(kernel(a))
    values = np.maximum(values, 0.0)
    inverse = 1 / (values + penalty * inputs.shape[-2])
    back = vectors.swapaxes(-1, -2)
    return (vectors * (values * inverse)[..., None, :]) @ back, kernel(b) @ (vectors * inverse[..., None, :]) @ back


def _inputs(X: ArrayLike, X_test: ArrayLike) -> tuple[Array, Array]:
    inputs, others = arguments.finite("X", X), arguments.finite("X_test", X_test)
    if inputs.ndim < 2 or not inputs.size:
        raise ValueError(f"X of shape {inputs.shape} is not allowed: X must be (..., n, features).")
    *samples, _, features = inputs.shape
    if others.ndim != inputs.ndim or (*others.shape[:-2], others.shape[-1]) != (*samples, features):
        expected = ", ".join(map(str, [*samples, "m", features]))
        raise ValueError(f"X_test of shape {others.shape} is not allowed: it must be ({expected}), as X.")
    return inputs, others


def _grow(r: Array, columns: Array, unseen: Array, order: Indices, weights: Array, levels: int) -> tuple[Array, Array]:
    """Trees on r (trees, n): their values at the examples, (trees n,), and at the test inputs.

    columns, unseen  features of examples and of test inputs, (features, trees n) and (features, trees m)
    order            the examples, by their place in a row of columns, rising within each tree
    weights          of the cuts of the first level, as ``order``

    Nodes are numbered through all trees, in the order of their places in a row of ``order``.
    """
    trees, n = r.shape
    largest = np.abs(r).max(axis=1, keepdims=True)  # squares of what is divided by it neither overflow nor vanish
    scaled = (r / np.where((largest > 0) & np.isfinite(largest), largest, 1.0)).ravel()
    flat, place = r.ravel(), np.arange(r.size)
    node = np.repeat(np.arange(trees), n)  # of an example
    there = np.repeat(np.arange(trees), unseen.shape[1] // trees)  # of a test input
    size = np.full(trees, n)
    for level in range(levels):
        first, at = np.cumsum(size) - size, np.repeat(np.arange(size.size), size)  # at: the node at a place
        weight = _weight(size)
        centred = (scaled - (np.bincount(node, scaled) / size)[node]).reshape(r.shape)
        tops, possible = np.empty((2, len(columns), size.size))
        for j, (values, examples) in enumerate(zip(columns, order, strict=True)):
            each = weight * _open(values, examples) if level else weights[j]
            tops[j] = np.maximum.reduceat(_gain(centred, examples, each), first)
        best = tops.max(axis=0)
        feature = (tops >= EQUAL * best).argmax(axis=0)
        idle = (best == 0) & (size > 1)  # no cut gains anything, but one may be a step towards the next
        if idle.any():
            for j, (values, examples) in enumerate(zip(columns, order, strict=True)):
                possible[j] = np.maximum.reduceat(weight * _open(values, examples), first)
            feature = np.where(idle, (possible > 0).argmax(axis=0), feature)
        examples = order[feature[at], place]
        rising = columns[feature[at], examples]
        each = weight * (np.append(rising[1:], np.inf) > rising)
        gain = np.where(each > 0, _gain(centred, examples, each), -1.0)
        top = np.maximum.reduceat(gain, first)
        split = top >= 0
        cut = np.where(split, np.minimum.reduceat(np.where(gain >= EQUAL * top[at], place, r.size), first), 0)
        below, above = rising[cut], rising[cut + split]
        middle = below + (above - below) / 2
        threshold = np.where(middle < above, middle, below)  # neighbours in floating point have none between
        threshold[~split] = np.inf
        high = columns[feature[node], place] > threshold[node]
        child = np.cumsum(1 + split) - (1 + split)
        node = child[node] + high
        there = child[there] + (unseen[feature[there], np.arange(there.size)] > threshold[there])
        size = np.bincount(node)
        if level + 1 < levels:
            upper = np.zeros(size.size, bool)
            upper[child[split] + 1] = True
            order = _parted(order, high, np.repeat(upper, size))
    mean = np.bincount(node, flat) / size
    return mean[node], mean[there]


def _weight(size: Indices) -> Array:
    """The factor n / (k (n - k)) of a cut after each place, for nodes of so many examples; 0 after their last."""
    n = np.repeat(size, size)
    k = np.arange(n.size) - np.repeat(np.cumsum(size) - size, size) + 1
    return np.where(k < n, n / (k * np.maximum(n - k, 1)), 0.0)


def _open(values: Array, examples: Indices) -> NDArray[np.bool_]:
    """Whether a threshold lies after each place: none does between equal values."""
    rising = values.take(examples)
    return np.append(rising[1:] > rising[:-1], False)


def _gain(centred: Array, examples: Indices, weight: Array) -> Array:
    """Of a cut after each place, the examples (trees n,) in order."""
    sums = np.cumsum(centred.take(examples).reshape(centred.shape), axis=1).ravel()
    sums *= sums
    sums *= weight
    return sums


def _parted(order: Indices, high: NDArray[np.bool_], upper: NDArray[np.bool_]) -> Indices:
    """The order after a split: in every node the low side before the high one, each still rising.

    high  of an example, on which side it is; upper  of a place, which side it is for
    """
    parted, lower = np.empty_like(order), ~upper
    for new, old in zip(parted, order, strict=True):
        side = high.take(old)
        new[upper], new[lower] = np.compress(side, old), np.compress(~side, old)
    return parted
