"""Gradient flow of the relative weight in exact form: time course, time to reach a level, initial plateau.

The engine is Eq. 7 in the logit s = ln(alpha / (1 - alpha)), where the flow has no stiff part:

    dt/ds = tau (1 + e^-s)^q,    q = 1 - 2/L in [-1, 1].

Its integral is two power series that meet at alpha = 1/2, each converging like 2^-k on its side; L = 2 (q =
0) and infinite depth (q = 1) need no case of their own.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit, wrightomega

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array

_TERMS = 60  # both series fall at least like 2^-k up to a factor k + 1, so the rest is below 2^-53 of the sum
_LEAST = float(np.finfo(np.float64).tiny)


def rate_of_change(alpha: ArrayLike, depth: ArrayLike, tau: ArrayLike = 1.0) -> Array:
    """Right side of the flow at the exact rule: d(alpha)/dt = alpha^(2 - 2/L) (1 - alpha) / tau.

    Parameters
    ----------
    alpha
        relative total weight a mu_xx / mu_yx, not negative
    depth
        L, whole number or ``math.inf``
    tau
        time constant, positive, in the unit of time (steps)

    Returns
    -------
    ndarray
        the rate of change of the broadcast shape, infinite where a float cannot hold it.

    Raises
    ------
    ValueError
        for an argument outside these ranges.

    References
    ----------
    Eq. 6, and Eq. 8 at infinite depth.
    """
    level = arguments.finite("alpha", alpha, minimum=0.0)
    layers = arguments.integer("depth", depth, infinite=True)
    time = arguments.positive("tau", tau)
    arguments.broadcast(alpha=level, depth=layers, tau=time)
    with np.errstate(over="ignore"):
        return (level ** (2.0 - 2.0 / layers) * (1.0 - level) / time)[()]


def time_to_reach(alpha: ArrayLike, alpha0: ArrayLike, depth: ArrayLike, tau: ArrayLike = 1.0) -> Array:
    """Time at which the flow from ``alpha0`` reaches ``alpha``.

        t = tau [alpha^(2/L - 1) / (2/L - 1) 2F1(1, 2/L - 1; 2/L; alpha)] from alpha0 to alpha

    Parameters
    ----------
    alpha
        relative total weight, alpha0 <= alpha <= 1; the minimum itself is reached at ``inf``
    alpha0
        where the flow starts, above 0 (from 2^-1022, the least float of full precision) and at most 1
    depth
        L, whole number or ``math.inf``
    tau
        time constant, positive

    Returns
    -------
    ndarray
        t >= 0 of the broadcast shape, in the unit of ``tau``.

    Raises
    ------
    ValueError
        for an argument outside these ranges.

    References
    ----------
    Eq. 7; Eq. 22 at infinite depth. At L = 2 the formula has a removable singularity, this one has none.
    """
    end, start = _level("alpha", alpha), _level("alpha0", alpha0)
    layers = arguments.integer("depth", depth, infinite=True)
    time = arguments.positive("tau", tau)
    arguments.broadcast(alpha=end, alpha0=start, depth=layers, tau=time)
    end, start = np.broadcast_arrays(end, start)
    if (end < start).any():
        raise arguments.refuse("alpha", end[end < start].flat[0], "at least alpha0: the flow only rises")
    q = 1.0 - 2.0 / layers
    with np.errstate(all="ignore"):
        t = time * (_clock(end, np.log(end), np.log1p(-end), q) - _clock(start, np.log(start), np.log1p(-start), q))
    return np.where(end == start, 0.0, t)[()]


def time_course(t: ArrayLike, alpha0: float, depth: float, tau: float = 1.0) -> Array:
    """Relative total weight along the flow, alpha(t): Eq. 7 solved for alpha.

        L = 1:    alpha = 1 - (1 - alpha0) e^(-t/tau)
        L = 2:    logit(alpha) = logit(alpha0) + t/tau
        inf:      alpha = 1 / (1 + omega(beta)),  beta = -t/tau + 1/alpha0 + ln(1/alpha0 - 1) - 1
        else:     Newton steps on the exact t(logit alpha)

    with omega the Wright omega function, omega(beta) = W0(e^beta), which has no e^beta to overflow.

    Parameters
    ----------
    t
        times, not negative, any shape
    alpha0
        alpha(0) as in ``time_to_reach``, one number
    depth
        L, one whole number or ``math.inf``
    tau
        time constant, positive, one number in the unit of t

    Returns
    -------
    ndarray
        alpha of the shape of ``t``, between alpha0 and 1.

    Raises
    ------
    ValueError
        for an argument outside these ranges.

    References
    ----------
    Eqs. 7 and 9.
    """
    times = arguments.finite("t", t, minimum=0.0)
    start, time = _level("alpha0", alpha0), arguments.positive("tau", tau)
    layers = arguments.integer("depth", depth, infinite=True)
    for name, value in (("alpha0", start), ("depth", layers), ("tau", time)):
        arguments.one(name, value)
    with np.errstate(all="ignore"):
        x = times / time  # infinite: later than the end of any plateau, which is below 2^1023 tau
        if start == 1.0:
            alpha = np.ones_like(x)
        elif layers == 1:
            alpha = start - (1.0 - start) * np.expm1(-x)
        elif layers == 2:
            alpha = expit(logit(start) + x)
        elif np.isinf(layers):
            alpha = 1.0 / (1.0 + wrightomega(1.0 / start + np.log(1.0 / start - 1.0) - 1.0 - x))
        else:
            alpha = expit(logit_course(x, start, 1.0 - 2.0 / layers))
    return np.clip(alpha, start, 1.0)[()]  # rounding alone could leave the interval on which the flow lives


def plateau_duration(alpha0: ArrayLike, depth: ArrayLike, tau: ArrayLike = 1.0) -> Array:
    """The paper's estimate of the initial plateau: the blow-up time of the flow without its factor 1 - alpha.

        T = tau ln(1 / alpha0)                                   (L = 2; time to reach 1, not a blow-up)
        T = tau / ((1 - 2/L) alpha0^(1 - 2/L))                   (L >= 3)

    Parameters
    ----------
    alpha0
        alpha(0) as in ``time_to_reach``
    depth
        L, whole number from 2 on, or ``math.inf``
    tau
        time constant, positive

    Returns
    -------
    ndarray
        T of the broadcast shape, in the unit of ``tau``.

    Raises
    ------
    ValueError
        for an argument outside these ranges; a single layer has no plateau.

    References
    ----------
    Eq. 10.
    """
    start, time = _level("alpha0", alpha0), arguments.positive("tau", tau)
    layers = arguments.integer("depth", depth, minimum=2, infinite=True)
    arguments.broadcast(alpha0=start, depth=layers, tau=time)
    q = 1.0 - 2.0 / layers
    with np.errstate(all="ignore"):
        return (time * np.where(layers == 2.0, -np.log(start), start**-q / q))[()]


def _level(name: str, value: ArrayLike) -> Array:
    level = arguments.positive(name, value)
    if (level > 1.0).any():
        raise arguments.refuse(name, level.max(), "above 0 and at most 1")
    if (level < _LEAST).any():  # the plateau of a smaller one may last longer than a float can say
        raise arguments.refuse(name, level.min(), f"at least 2**-1022 = {_LEAST:.3g}")
    return level


def _power_integral(log_x: Array, e: Array) -> Array:
    """Integral of x^(e-1) from 1: (x^e - 1)/e, and ln(x) at e = 0."""
    safe = np.where(e == 0.0, 1.0, e)
    return np.where(e == 0.0, log_x, np.expm1(safe * log_x) / safe)


def _clock(alpha: Array, log_alpha: Array, log_rest: Array, q: Array) -> Array:
    """t/tau at alpha, counted from alpha = 1/2; the logarithms of alpha and rest = 1 - alpha come with it.

    The integral of alpha^(-1-q) / (1 - alpha), term by term: below 1/2 in the geometric series of
    1 / (1 - alpha), above it in the binomial series of (1 - rest)^(-1-q).
    """
    half = np.array(0.5)
    log_half = np.log(half)
    below = _series_below(np.minimum(alpha, half), np.minimum(log_alpha, log_half), q)
    above = _series_above(np.minimum(log_rest, log_half), q)
    return np.where(alpha < half, below - _series_below(half, log_half, q), above - _series_above(log_half, q))


def _series_below(alpha: Array, log_alpha: Array, q: Array) -> Array:
    """Sum over k of the integrals of alpha^(k-q-1); k = 0 and 1 from 1, as their exponents can vanish."""
    tail = np.zeros(np.broadcast_shapes(alpha.shape, np.shape(q)))
    for k in reversed(range(2, _TERMS)):
        tail = tail * alpha + 1.0 / (k - q)
    first = _power_integral(log_alpha, -q) + _power_integral(log_alpha, 1.0 - q)
    return first + tail * np.exp((2.0 - q) * log_alpha)


def _series_above(log_rest: Array, q: Array) -> Array:
    """-ln(rest) - sum over k of (1+q)_k / (k! k) rest^k."""
    rest = np.exp(log_rest)
    total = np.zeros(np.broadcast_shapes(rest.shape, np.shape(q)))
    term = np.ones_like(total)
    for k in range(1, _TERMS):
        term = term * rest * ((q + k) / k)
        total = total + term / k
    return -log_rest - total


def logit_course(x: Array, start: Array, q: Array) -> Array:
    """Logit of alpha at the times x = t/tau, for 0 <= q <= 1.

    t(logit) is concave and rises: Newton's method from the left of the root climbs to it without overshoot.
    """
    half_time = -_clock(start, np.log(start), np.log1p(-start), q)
    # Time until alpha = 1/2, negative after it; 1000 tau after it alpha is 1 to all digits
    left = np.maximum(half_time - x, -1000.0)
    # Left bounds of the root: dt/ds is above e^(-qs) before alpha = 1/2, and below 2^q after it.
    wait = np.maximum(left, 0.0)
    s = np.where(left > 0.0, -np.log1p(q * wait) / q if q > 0.0 else -wait, -left * 2.0**-q)
    for _ in range(50):
        log_alpha, log_rest = -np.logaddexp(0.0, -s), -np.logaddexp(0.0, s)
        step = -(_clock(expit(s), log_alpha, log_rest, q) + left) * np.exp(q * log_alpha)
        s = s + step
        if not (np.abs(step) > 1e-15 * (1.0 + np.abs(s))).any():
            break
    return s
