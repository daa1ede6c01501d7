"""Gradient descent of deep scalar networks with equal layers: Eqs. 4, 28 and 34 in discrete time."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.depth.scalar_map import (
    LayerMap,
    aligned,
    check_arch,
    check_data,
    check_depth,
    check_init,
    may_divide,
    settle,
)
from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array


def total_weight(weight: ArrayLike, depth: ArrayLike, arch: str = "chain") -> Array:
    """Total weight a of ``depth`` equal layers: the slope of the network's function f(x) = a x.

        a = w^L   (chain),   (1 + w/sqrt(L))^L   (residual1),   (1 + w^2/L)^L   (residual2)

    Parameters
    ----------
    weight
        w, one layer's weight, any shape; infinite where a run has diverged
    depth
        L, whole number, broadcast with ``weight``; ``math.inf`` for residual2 only, where a = exp(w^2)
    arch
        "chain", "residual1" or "residual2"

    Returns
    -------
    ndarray
        an array of the broadcast shape, ``inf`` where the weight has diverged or a overflows. The rounding error
        relative to a grows like L 2^-53, as that of any w^L does.

    Raises
    ------
    ValueError
        for a NaN weight, a depth that is not a whole number, an unknown ``arch``.

    References
    ----------
    Eqs. 1 and 14 with equal weights.
    """
    arch = check_arch(arch)
    w = arguments.number("weight", weight)
    endless = np.isinf(arguments.integer("depth", depth, infinite=True)) if arch == "residual2" else np.False_
    layers = check_depth(np.where(endless, 1.0, depth) if endless.any() else depth)
    arguments.broadcast(weight=w, depth=layers)
    with np.errstate(all="ignore"):
        if arch == "chain":
            phi = w
        else:
            phi = 1 + w / np.sqrt(layers) if arch == "residual1" else 1 + w * w / layers
        a = phi**layers
        if endless.any():
            a = np.where(endless, np.exp(w * w), a)
    return np.where(np.isfinite(a), a, np.inf)[()]


def relative_weight(
    weight: ArrayLike, depth: ArrayLike, mu_yx: ArrayLike, mu_xx: ArrayLike = 1.0, arch: str = "chain"
) -> Array:
    """Share of the target that is learned: alpha = a mu_xx / mu_yx, which is 1 at the minimum.

    Parameters
    ----------
    weight, depth, arch
        as in ``total_weight``
    mu_yx, mu_xx
        data moments mean(y x) and mean(x^2), positive, broadcast with the weight

    Returns
    -------
    ndarray
        an array of the broadcast shape, ``inf`` where the run has diverged.

    Raises
    ------
    ValueError
        as ``total_weight`` does, and for data outside mu_yx, mu_xx > 0 (mu_yx > mu_xx for residual2).

    References
    ----------
    the definition before Eq. 6.
    """
    _, _, r = check_data(mu_yx, mu_xx, check_arch(arch))
    total = total_weight(weight, depth, arch)
    arguments.broadcast(weight=weight, depth=depth, mu_yx=mu_yx, mu_xx=mu_xx)
    with np.errstate(over="ignore"):
        alpha = total / r
    return np.where(np.isfinite(alpha), alpha, np.inf)[()]


def loss(weight: ArrayLike, depth: ArrayLike, mu_yx: ArrayLike, mu_xx: ArrayLike = 1.0, arch: str = "chain") -> Array:
    """Loss of ``depth`` equal layers, less the part that no weight can change: zero at the minimum.

        loss = (mu_xx / 2) (a - r)^2,    r = mu_yx / mu_xx

    Parameters
    ----------
    weight, depth, arch
        as in ``total_weight``
    mu_yx, mu_xx
        data moments mean(y x) and mean(x^2), positive, broadcast with the weight

    Returns
    -------
    ndarray
        an array of the broadcast shape, ``inf`` where the run has diverged.

    Raises
    ------
    ValueError
        as ``relative_weight`` does.

    References
    ----------
    the loss before Eq. 2. A loss without the factor 1/2 is twice this one.
    """
    _, xx, r = check_data(mu_yx, mu_xx, check_arch(arch))
    total = total_weight(weight, depth, arch)
    arguments.broadcast(weight=weight, depth=depth, mu_yx=mu_yx, mu_xx=mu_xx)
    with np.errstate(over="ignore"):
        return xx * (0.5 * (total - r) ** 2)  # half the square, as half of the least mu_xx would be 0


def gradient_descent(
    lr: ArrayLike,
    depth: ArrayLike,
    steps: int,
    *,
    mu_yx: ArrayLike,
    mu_xx: ArrayLike = 1.0,
    init: ArrayLike,
    arch: str = "chain",
) -> Array:
    """Per-layer weight under gradient descent from equal layers, for whole grids of runs at once.

        w <- w + lr (mu_yx - mu_xx a) da/dw_l

    with a the total weight and da/dw_l its derivative in one layer,

        w^(L-1)   (chain),   phi^(L-1) / sqrt(L)   (residual1),   2 w phi^(L-1) / L   (residual2),

    where phi = 1 + w/sqrt(L) and 1 + w^2/L. Equal layers stay equal, so this is the whole network. Residual1
    is the chain in phi at rate lr/L, exactly, and runs as such: its w is known to about 2^-52 sqrt(L), the
    spacing of phi, which at the minimum w = ln(r)/sqrt(L) is a share 2^-52 L / ln(r) of it. Over
    30 steps at r = 2 that was 6e-11 of w at L = 10^6, 2e-4 at 10^12, and half of w at 10^15.

    Parameters
    ----------
    lr
        learning rate eta, not negative, units 1/mu_xx
    depth
        L, whole number
    steps
        number of updates T, one whole number
    mu_yx, mu_xx
        data moments, positive; mu_yx > mu_xx for residual2
    init
        w(0)^L, not negative, for the chain; w(0) for the residual networks
    arch
        "chain", "residual1" or "residual2"; all but this and ``steps`` broadcast

    Returns
    -------
    ndarray
        w at steps 0 .. T, shape (T + 1,) + broadcast shape; a run that diverges is ``inf`` from there on.

    Raises
    ------
    ValueError
        for an argument outside these ranges.

    References
    ----------
    Eqs. 2, 27 and 33 in discrete time.
    """
    arch = check_arch(arch)
    rate = arguments.finite("lr", lr, minimum=0.0)
    layers = check_depth(depth)
    steps = arguments.count("steps", steps)
    yx, xx, _ = check_data(mu_yx, mu_xx, arch)
    start = check_init(init, arch)
    shape = arguments.broadcast(lr=rate, depth=layers, mu_yx=yx, mu_xx=xx, init=start)
    first = start ** (1.0 / layers) if arch == "chain" else start
    variable = 1.0 + first / np.sqrt(layers) if arch == "residual1" else first

    column, order = _depth_first(layers, shape)
    back = [order.index(axis) for axis in range(len(order))]
    laid = tuple(shape[axis] for axis in order)
    rate, yx, first, variable = (_lay(x, laid, back, column.size) for x in (rate, yx, first, variable))
    xx = _lay(xx, laid, back, column.size) if xx.ndim else xx
    path = aligned(steps + 1, rate.size)
    path[0] = variable.ravel()
    with np.errstate(all="ignore"):
        layer_map = LayerMap(column, rate, yx, xx, arch, divide=arch == "residual2" or may_divide(variable))
        layer_map.variable = path[0]
        for row in path[1:]:
            layer_map.step(row)
        if not rate.all():  # lr = 0 rests even where a(0) overflows, whose 0 * inf would read as divergence
            rests = rate.ravel() == 0.0
            path[:, rests] = path[0, rests]
        settle(path)
        if arch == "residual1":
            weights = path.reshape(steps + 1, *rate.shape)
            still = weights == variable  # such a phi is the start, though phi - 1 has lost digits of it
            np.multiply(np.subtract(weights, 1.0, weights), np.sqrt(column), weights)
            np.copyto(weights, first, where=still)
            settle(path)  # w may overflow where phi did not
    return path.reshape(steps + 1, *laid).transpose(0, *(axis + 1 for axis in back))


def _depth_first(layers: Array, shape: tuple[int, ...]) -> tuple[Array, list[int]]:
    """The depths as a column, and the order of a result's axes that puts those along which they vary first.

    Runs of one depth then lie together in memory, where the power takes them in one product.
    """
    layers = layers.reshape((1,) * (len(shape) - layers.ndim) + layers.shape)
    order = sorted(range(len(shape)), key=lambda axis: layers.shape[axis] == 1)
    return layers.reshape(-1, 1), order


def _lay(values: Array, laid: tuple[int, ...], back: list[int], depths: int) -> Array:
    """The value of every run, in rows of one depth: ``laid`` is the ordered shape, ``back`` undoes the order."""
    array = np.empty(laid)
    array.transpose(back)[...] = values
    return array.reshape(depths, array.size // max(depths, 1))
