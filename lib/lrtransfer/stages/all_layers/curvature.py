"""Derivatives of the squared loss of a deep residual linear network in all its layers.

With W = (I + w_t) .. (I + w_1), B_k = (I + w_{k-1}) .. (I + w_1), A_k = (I + w_t) .. (I + w_{k+1}), S = E x x',
C = E y x' and G = W S - C, the gradient of (1/2) E |W x - y|^2 in w_k is A_k' G B_k'. At w = 0 the loss changes by

    <G, sum_k w_k> + (1/2) <sum_k w_k, sum_k w_k S> + <G, sum_{k > l} w_k w_l>      to second order,

so the Hessian is t^2 blocks I (x) S, of largest eigenvalue t sigma_max(S), and beside the diagonal a part with the
gradient G = (I - W*) S: only for W* = I it vanishes. The smoothness grows with depth, and by more than t otherwise.

Source: "Stacking as Accelerated Gradient Descent", Section 4.2, trains such networks; the derivatives are this book's.
"""

from __future__ import annotations

from typing import cast

import numpy as np

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array


def transposed(a: Array) -> Array:
    """Transposes of matrices in the last two axes.

    Parameters
    ----------
    a
        (..., m, n)

    Returns
    -------
    ndarray
        (..., n, m), a view.
    """
    return a.swapaxes(-1, -2)


def _forward(layers: Array) -> list[Array]:
    """B_1 = I, B_2, .., B_{t+1} = W, each (..., d, d)."""
    below = [np.broadcast_to(np.eye(layers.shape[-1], dtype=layers.dtype), layers.shape[1:])]
    for layer in layers:
        below.append(below[-1] + layer @ below[-1])
    return below


def _backward(layers: Array, residual: Array) -> list[Array]:
    """A_k' G for k = 1 .. t, each (..., d, d)."""
    above = [residual]
    for layer in layers[:0:-1]:
        above.append(above[-1] + transposed(layer) @ above[-1])
    return above[::-1]


def end_to_end(layers: Array) -> Array:
    """W = (I + w_t) .. (I + w_1).

    Parameters
    ----------
    layers
        w, (t, ..., d, d), first layer first

    Returns
    -------
    ndarray
        W, (..., d, d).
    """
    return _forward(layers)[-1]


def gradients(layers: Array, second: Array, cross: Array) -> Array:
    """Gradients of (1/2) E |W x - y|^2 in all layers, A_k' (W S - C) B_k'.

    Parameters
    ----------
    layers
        (t, ..., d, d), first layer first
    second, cross
        S = E x x' and C = E y x', both (..., d, d)

    Returns
    -------
    ndarray
        (t, ..., d, d).
    """
    below = _forward(layers)
    above = _backward(layers, below[-1] @ second - cross)
    return np.stack([a @ transposed(b) for a, b in zip(above, below, strict=False)])


def hessian_product(layers: Array, directions: Array, second: Array, cross: Array) -> Array:
    """The Hessian of (1/2) E |W x - y|^2 over all layers, applied to directions: the derivative of ``gradients`` along
    them.

    Parameters
    ----------
    layers, second, cross
        as in ``gradients``
    directions
        (t, ..., d, d)

    Returns
    -------
    ndarray
        (t, ..., d, d).
    """
    below = _forward(layers)
    return _hessian_product(layers, directions, second, below, _backward(layers, below[-1] @ second - cross))


def _hessian_product(layers: Array, directions: Array, second: Array, below: list[Array], above: list[Array]) -> Array:
    d_below = [directions[0]]  # of B_2, B_3, ..; B_1 = I is fixed
    for k in range(1, len(layers)):
        d_below.append(d_below[-1] + layers[k] @ d_below[-1] + directions[k] @ below[k])
    d_above = d_below[-1] @ second
    out = np.empty_like(directions)
    for k in range(len(layers) - 1, -1, -1):
        out[k] = d_above @ transposed(below[k])
        if k:
            out[k] += above[k] @ transposed(d_below[k - 1])
            d_above = d_above + transposed(layers[k]) @ d_above + transposed(directions[k]) @ above[k]
    return out


def largest_curvature(
    layers: Array, second: Array, cross: Array, iterations: int = 10, *, single: bool = False
) -> Array:
    """Largest eigenvalue of the Hessian over all layers, by Lanczos started at the gradient.

    Parameters
    ----------
    layers, second, cross
        as in ``gradients``
    iterations
        of Lanczos, 1 or more
    single
        take the products in single precision, in half the time: a few iterations leave a larger error. Where they
        overflow there, they are taken in double precision after all

    Returns
    -------
    ndarray
        (...), approached from below, exactly once ``iterations`` reaches t d^2; inf where the run has overflowed.

    Raises
    ------
    ValueError
        naming ``iterations``.
    """
    steps = arguments.count("iterations", iterations, minimum=1)
    if not single:
        return _lanczos(layers, second, cross, steps)
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        w, s, c = (cast(Array, a.astype(np.float32)) for a in (layers, second, cross))
        top = np.asarray(_lanczos(w, s, c, steps))
    lost = ~np.isfinite(top)
    if lost.any():
        second, cross = (np.broadcast_to(a, layers.shape[1:]) for a in (second, cross))
        top[lost] = _lanczos(layers[:, lost], second[lost], cross[lost], steps)
    return top[()]


def _lanczos(layers: Array, second: Array, cross: Array, steps: int) -> Array:
    """The curvature by so many products, in the precision of the arguments."""
    below = _forward(layers)
    above = _backward(layers, below[-1] @ second - cross)
    # The gradient leans towards the top of the spectrum; the draw keeps a start where the gradient vanishes.
    vector = np.stack([a @ transposed(b) for a, b in zip(above, below, strict=False)])
    draw = np.random.default_rng(0).standard_normal((len(layers), *([1] * (layers.ndim - 3)), *layers.shape[-2:]))
    draw = (0.1 * draw / np.linalg.norm(draw)).astype(vector.dtype)
    vector = vector + draw * (_norm(vector) + np.finfo(vector.dtype).tiny ** 0.25)  # whose square is a normal number
    vector /= _norm(vector)
    previous, beta = vector, np.zeros(1)  # of no use before the second step
    tridiagonal = np.zeros((*layers.shape[1:-2], steps, steps))
    for j in range(steps):
        image = _hessian_product(layers, vector, second, below, above)
        alpha = _dot(image, vector)
        tridiagonal[..., j, j] = alpha[..., 0, 0]
        if j + 1 == steps:
            break
        image -= alpha * vector
        if j:
            image -= beta * previous
        beta = _norm(image)
        tridiagonal[..., j, j + 1] = tridiagonal[..., j + 1, j] = beta[..., 0, 0]
        image /= np.where(beta > 0, beta, 1.0)
        previous, vector = vector, image
    finite = np.asarray(np.isfinite(tridiagonal).all(axis=(-2, -1)))  # LAPACK may refuse what has overflowed
    top = np.linalg.eigvalsh(np.where(finite[..., None, None], tridiagonal, 0.0))[..., -1]
    return np.where(finite, top, np.inf).astype(np.float64)


def _dot(one: Array, other: Array) -> Array:
    """Inner products over all layers, (..., 1, 1)."""
    return np.einsum("t...ij,t...ij->...", one, other)[..., None, None]


def _norm(vectors: Array) -> Array:
    return np.sqrt(_dot(vectors, vectors))
