"""Brute-force twins of what is said about a minimum: curvatures, separate weights, starts with unequal layers.

``minimum_weight``       the weight of each of L equal layers at the minimum
``measured_orders``      curvature at the minimum by three orders of substitution, without the closed form
``hessian_ratio``, ``landscape_ratio``, ``separate_loss``    the residual networks against their closed forms
``flow_minimum``         where gradient flow ends from unequal layers
``unbalanced_descent``   a start with unequal layers at a rate beyond the edge of its own minimum
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from lrtransfer.depth.dynamics import gradient_descent, loss
from lrtransfer.depth.full_network import Curvatures, full_gradient_descent, full_hessian
from lrtransfer.depth.scalar_map import check_arch, check_depth, check_r
from lrtransfer.depth.scaling import max_stable_lr, sharpness
from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array

DIFFERENCE = 1e-4  # of a weight: half the distance of a central difference


def minimum_weight(depth: int, r: float, arch: str = "chain") -> float:
    """The weight of each of ``depth`` equal layers at the minimum.

        r^(1/L)   (chain),   sqrt(L) (r^(1/L) - 1)   (residual1),   sqrt(L (r^(1/L) - 1))   (residual2)

    Parameters
    ----------
    depth, r, arch
        as in ``scaling.sharpness``, one number each
    """
    root = arguments.one("r", check_r(r, check_arch(arch))) ** (1 / arguments.count("depth", depth, minimum=1))
    if arch == "chain":
        return float(root)
    return float(np.sqrt(depth) * (root - 1) if arch == "residual1" else np.sqrt(depth * (root - 1)))


@dataclass(frozen=True)
class MeasuredOrders:
    """Curvatures by brute force: the top eigenvalue, the largest of the others, and the three orders; each (D,)."""

    top: Array
    others: Array
    orders: Curvatures


def measured_orders(depths: ArrayLike, r: float, mu_xx: float) -> MeasuredOrders:
    """Curvature of the chain at its minimum, from the full Hessian and from central differences.

    Parameters
    ----------
    depths
        L, whole numbers, shape (D,); the Hessian of each is an (L, L) matrix
    r, mu_xx
        as in ``full_network.substitution_orders``, whose closed forms these measure

    Returns
    -------
    MeasuredOrders
        in units of ``mu_xx``; the differences are good to about 1e-6 of the curvature
    """
    mu_yx, h = r * mu_xx, DIFFERENCE
    rows = []
    for depth in np.atleast_1d(check_depth(depths, "depths")).astype(int).tolist():
        w = minimum_weight(depth, r)
        hessian = full_hessian(np.full(depth, w), mu_yx=mu_yx, mu_xx=mu_xx)
        eigenvalues = np.linalg.eigvalsh(hessian)
        below, at, above = loss(
            w + h * np.array([-1, 0, 1]), depth, mu_yx=mu_yx, mu_xx=mu_xx
        )  # the curve loss(w, ..., w)
        around = np.array([w - h, w + h])
        velocity = np.diff(gradient_descent(1.0, depth, 1, init=around**depth, mu_yx=mu_yx, mu_xx=mu_xx), axis=0)[0]
        right = -np.diff(velocity)[0] / (2 * h)  # the slope of the true gradient along equal weights
        others = np.abs(eigenvalues[:-1]).max(initial=0.0)
        rows.append([eigenvalues[-1], others, right, (below - 2 * at + above) / h**2, hessian[0, 0]])
    top, others, right, first, last = np.array(rows).T
    return MeasuredOrders(top, others, Curvatures(right, first, last))


def hessian_ratio(depths: ArrayLike, r: float, arch: str) -> Array:
    """Top eigenvalue of the full Hessian at the minimum, over the closed form S; shape (D,), 1 where S is right.

    Parameters
    ----------
    depths, r, arch
        as in ``scaling.sharpness``; depths of shape (D,)
    """
    tops = []
    for depth in np.atleast_1d(check_depth(depths, "depths")).astype(int).tolist():
        hessian = full_hessian(np.full(depth, minimum_weight(depth, r, arch)), mu_yx=r, arch=arch)
        tops.append(np.linalg.eigvalsh(hessian)[-1] / sharpness(depth, r, arch=arch))
    return np.array(tops)


def landscape_ratio(depths: ArrayLike, r: float, arch: str) -> Array:
    """Curvature of the plotted landscape at its minimum over L S, by central differences; shape (D,).

    Parameters
    ----------
    depths, r, arch
        as in ``hessian_ratio``
    """
    ratios = []
    for depth in np.atleast_1d(check_depth(depths, "depths")).astype(int).tolist():
        around = minimum_weight(depth, r, arch) + DIFFERENCE * np.array([-1, 0, 1])
        low, at, high = loss(around, depth, r, arch=arch)
        ratios.append((low - 2 * at + high) / DIFFERENCE**2 / (depth * sharpness(depth, r, arch=arch)))
    return np.array(ratios)


def separate_loss(depth: int, r: float, init: float, steps: int, arch: str, *, tau: float = 10.0) -> float:
    """Loss of a residual network of ``depth`` separate weights after training from equal ones at the exact rule.

    Parameters
    ----------
    depth, r, arch
        as in ``scaling.max_stable_lr``; "residual1" or "residual2"
    init, steps, tau
        w(0) of every layer, number of updates, time constant

    Returns
    -------
    float
        the loss (a - r)^2 / 2, with a taken as the product over the separate weights
    """
    lr = float(max_stable_lr(depth, r, tau=tau, arch=arguments.choice("arch", arch, ("residual1", "residual2"))))
    last = full_gradient_descent(lr, np.full(depth, init), steps, mu_yx=r, arch=arch)[-1]
    factors = 1 + last / np.sqrt(depth) if arch == "residual1" else 1 + last**2 / depth
    return float(0.5 * (np.prod(factors) - r) ** 2)


@dataclass(frozen=True)
class UnbalancedDescent:
    """The chain from unequal layers, mu_xx = 1: gradient descent at ``lr``, beside gradient flow from the same start.

    ``flow`` (L,), the minimum at which the flow ends, and ``edge``, two over the sharpness there. ``weights``
    (T + 1, L) and ``loss`` (T + 1,) of descent; ``sharpness`` (K,), at each of the ``steps`` (K,), that of the minimum
    to which the flow would go from there.
    """

    lr: float
    edge: float
    flow: Array
    weights: Array
    loss: Array
    steps: NDArray[np.int64]
    sharpness: Array


def flow_minimum(weights: ArrayLike, r: float) -> Array:
    """The minimum of the chain to which gradient flow goes from positive weights: w_l^2 + s with product r^2.

    The flow adds the same to the squares of all weights, so one root s gives the end.

    Parameters
    ----------
    weights
        shape (L,), positive
    r
        target, positive

    Returns
    -------
    ndarray
        the weights there, shape (L,)

    References
    ----------
    the conservation law before Eq. 3.
    """
    squares = arguments.positive("weights", weights) ** 2
    target = 2.0 * np.log(arguments.one("r", arguments.positive("r", r)))
    least = float(squares.min())

    def excess(log_rise: float) -> float:  # of the logarithm of the product, at s = e^log_rise - least
        return float(np.log(squares - least + np.exp(log_rise)).sum() - target)

    high = float(np.log(r ** (2.0 / squares.size) + least + 1.0))
    low = target - float(np.log(squares - least + r ** (2.0 / squares.size) + least + 1.0).sum()) + high - 1.0
    return np.sqrt(squares - least + np.exp(brentq(excess, low, high, xtol=1e-14)))


def unbalanced_descent(
    start: ArrayLike, excess: float, steps: int, *, r: float = 1.0, looks: int = 80
) -> UnbalancedDescent:
    """Full gradient descent at ``excess`` times the edge of stability of the minimum that the flow would find.

    Parameters
    ----------
    start
        w_l(0), shape (L,), positive
    excess
        rate in units of the edge 2 / S at the end of the flow, positive
    steps
        number of updates T
    r
        target
    looks
        number of steps, evenly spaced in their logarithm, at which the sharpness is taken

    Returns
    -------
    UnbalancedDescent

    Raises
    ------
    ValueError
        for an argument outside these ranges, and where a weight does not stay positive.
    """
    flow = flow_minimum(start, r)
    edge = 2.0 / float(r**2 * np.sum(flow**-2.0))
    lr = arguments.one("excess", arguments.positive("excess", excess)) * edge
    weights = full_gradient_descent(float(lr), start, steps, mu_yx=r)
    seen = np.unique(np.concatenate(([0], np.geomspace(1, steps, looks).astype(np.int64))))
    below = np.array([float(r**2 * np.sum(flow_minimum(weights[step], r) ** -2.0)) for step in seen])
    return UnbalancedDescent(float(lr), edge, flow, weights, 0.5 * (weights.prod(axis=1) - r) ** 2, seen, below)
