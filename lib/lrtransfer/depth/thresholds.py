"""Exact thresholds of the map above the stability edge: first period doubling, its successor, divergence.

The map is that of ``regimes``: the chain at the exact rule, data-free, and block one with it.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from lrtransfer.depth.scalar_map import check_depth
from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array


def flip_coefficient(depth: ArrayLike) -> Array:
    """Coefficient of the period doubling at 1/tau = 2, positive for L >= 2: a = 8 (L - 1) (5 L - 4) / 3.

    At 1/tau = 2 and r = 1 the map is f(w) = w + (2/L) (w^(L-1) - w^(2L-1)), with fixed point w = 1 and

        f'   = 1 + (2/L) [(L-1) - (2L-1)] = -1
        f''  = (2/L) [(L-1)(L-2) - (2L-1)(2L-2)] = -6 (L-1)
        f''' = (2/L) [(L-1)(L-2)(L-3) - (2L-1)(2L-2)(2L-3)] = -2 (L-1) (7L - 11)

    With x = w - 1, b = f''/2 and c = f'''/6, one step is x -> -x + b x^2 + c x^3 and two are

        x -> x - a x^3 + O(x^4),    a = 2 (b^2 + c) = f''^2/2 + f'''/3.

    As a > 0 the period doubling is supercritical: at 1/tau = 2 the iterates still converge, as
    |x| ~ (a t)^(-1/2) at step t, and at 1/tau = 2 + e there is a stable two-cycle near
    x = +- (2 e / a)^(1/2). Data other than r = 1 only rescale w.

    Parameters
    ----------
    depth
        L, whole number

    Returns
    -------
    ndarray
        a of the shape of ``depth``, 0 for a single layer.

    Raises
    ------
    ValueError
        for a depth that is not a whole number.

    References
    ----------
    corrects "diverging" in the caption of Fig. 3; derived here.
    """
    layers = check_depth(depth)
    return (8.0 * (layers - 1.0) * (5.0 * layers - 4.0) / 3.0)[()]


def end_of_two_cycle(depth: ArrayLike) -> Array:
    """Largest 1/tau with a stable two-cycle: there its multiplier falls to -1 and the period doubles.

    With g(w) = (1 - w^L) w^(L-1) a cycle w1 < 1 < w2 needs g(w2) = -g(w1) and 1/tau = L (w2 - w1) / g(w1):
    the cycles are one curve in w1, and the answer is the root on it of

        (1 + g'(w1) / (L tau)) (1 + g'(w2) / (L tau)) = -1.

    The search runs in v = ln(alpha) = L ln(w), in which infinite depth is an ordinary limit.

    Parameters
    ----------
    depth
        L, whole number from 2 on, or ``math.inf``

    Returns
    -------
    ndarray
        1/tau of the shape of ``depth``.

    Raises
    ------
    ValueError
        for an argument outside these ranges.

    References
    ----------
    corrects "diverging" in the caption of Fig. 3.
    """
    layers = arguments.integer("depth", depth, minimum=2, infinite=True)
    values = [_end_of_two_cycle(float(1.0 / one)) for one in layers.ravel()]
    return np.array(values).reshape(layers.shape)[()]


def two_cycle(v1: float, inverse_depth: float) -> tuple[float, float, float]:
    """The two-cycle whose lower point is ln(alpha) = v1 < 0: its upper point, its 1/tau, its multiplier.

    The relations of ``end_of_two_cycle`` in v = ln(alpha):

        g(v2) = -g(v1),    1/tau = (e^(v2/L) - e^(v1/L)) L / g(v1),    g(v) = (1 - e^v) e^(v (1 - 1/L))

    Parameters
    ----------
    v1
        lower point, below 0 and not below -300
    inverse_depth
        1/L, from 0 to 1/2

    Returns
    -------
    tuple[float, float, float]
        v2, 1/tau and the multiplier of the cycle, the slope of two steps of the map.

    Raises
    ------
    ValueError
        for an argument outside these ranges.

    References
    ----------
    derived here, for ``end_of_two_cycle``.
    """
    if not -300.0 <= arguments.one("v1", arguments.finite("v1", v1)) < 0.0:
        raise arguments.refuse("v1", v1, "below 0 and at least -300")
    if arguments.one("inverse_depth", arguments.finite("inverse_depth", inverse_depth, minimum=0.0)) > 0.5:
        raise arguments.refuse("inverse_depth", inverse_depth, "from 0 to 1/2")

    def g(v: float) -> float:
        return -math.expm1(v) * math.exp(v * (1.0 - inverse_depth))

    pull = g(v1)
    v2 = float(brentq(lambda v: g(v) + pull, 0.0, 2.0, xtol=1e-15, rtol=1e-14))
    gap = v2 - v1
    distance = (
        gap if inverse_depth == 0.0 else math.exp(v1 * inverse_depth) * math.expm1(gap * inverse_depth) / inverse_depth
    )
    inv_tau = distance / pull
    multiplier = 1.0
    for v in (v1, v2):
        alpha = math.exp(v)
        slope = (1.0 - inverse_depth) * alpha - (2.0 - inverse_depth) * alpha**2
        multiplier *= 1.0 + inv_tau * slope * math.exp(-2.0 * v * inverse_depth)
    return v2, inv_tau, multiplier


def _end_of_two_cycle(inverse_depth: float) -> float:
    # g is largest at alpha = (L-1)/(2L-1); the multiplier falls through -1 before the lower point gets there
    lowest = math.log((1.0 - inverse_depth) / (2.0 - inverse_depth))
    v1 = float(brentq(lambda v: two_cycle(v, inverse_depth)[2] + 1.0, lowest, -1e-3, xtol=1e-14))
    return two_cycle(v1, inverse_depth)[1]


def crisis(depth: ArrayLike) -> Array:
    """Largest 1/tau at which no run that starts between 0 and the minimum diverges: the boundary crisis.

    The map f(w) = w + (1/(L tau)) (1 - w^L) w^(L-1) throws a positive weight at most to f(w_c), its maximum
    at the critical point w_c, and keeps the interval [q, p] of the repelling cycle f(p) = q < 0, f(q) = p > 0
    to itself as long as f(w_c) <= p. The crisis is the 1/tau at which

        f(w_c) = p.

    For even L the cycle is q = -p; at L = 2 the crisis is 1/tau = 4. Just above it a chaotic run wanders for
    so long before it escapes that rounding decides when it does, see ``first_divergence``.

    Parameters
    ----------
    depth
        L, whole number from 2 on

    Returns
    -------
    ndarray
        1/tau of the shape of ``depth``.

    Raises
    ------
    ValueError
        for an argument outside these ranges; at infinite depth alpha stays positive and never diverges.

    References
    ----------
    corrects "diverging" in the caption of Fig. 3; derived here.
    """
    arguments.integer("depth", depth, minimum=2)
    layers = check_depth(depth)
    return np.array([_crisis(int(one)) for one in layers.ravel()]).reshape(layers.shape)[()]


def _crisis(depth: int) -> float:
    k = 1.0 / depth

    def g(v: float, sign: float) -> float:  # |(1 - w^L) w^(L-1)| at |w|^L = e^v; sign of -w^L
        return math.exp(v * (1.0 - k)) * abs(1.0 + sign * math.exp(v))

    def inv_tau(v: float) -> float:  # of the repelling cycle through p = e^(v/L)
        u = v if depth % 2 == 0 else float(brentq(lambda u: g(u, 1.0) - g(v, -1.0), -50.0, v))
        return depth * (math.exp(v * k) + math.exp(u * k)) / g(v, -1.0)

    def excess(v: float) -> float:  # f(w_c) - p
        mu = inv_tau(v)

        def slope(c: float) -> float:
            alpha = math.exp(c)
            return 1.0 + mu * ((1.0 - k) * alpha - (2.0 - k) * alpha**2) * math.exp(-2.0 * c * k)

        hump = (depth - 2) / (2.0 * (2 * depth - 1))
        c = float(brentq(slope, math.log(hump) if hump else -50.0, 0.0))
        return math.exp(c * k) - mu * k * math.expm1(c) * math.exp(c * (1.0 - k)) - math.exp(v * k)

    last = float(brentq(lambda v: inv_tau(v) - 2.0, 1e-3, 50.0))
    return inv_tau(float(brentq(excess, 1e-2, last, xtol=1e-14)))
