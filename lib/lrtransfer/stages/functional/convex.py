"""Rates of stagewise training in a function space, computed exactly: 1/T, 1/T^2 and exponential.

A stage starts at V_t = F_t + beta_t (F_t - F_{t-1}) and takes one functional step, F_{t+1} = V_t - eta grad(V_t):

    "zero"       beta_t = 0, functional gradient descent
    "stacking"   beta_t = beta, constant
    "schedule"   beta_t = (t - 1)/(t + 2), Nesterov's choice without strong convexity

Two losses that are smooth and convex but not strongly convex show the rates without any constant to tune. A quadratic
whose curvatures fill (0, 1] with spectral weight lambda^(a - 1) has, for eta = 1,

    f_T = (1/2) int_0^1 p_T(lambda)^2 lambda^(a - 1) dlambda,      p_T the polynomial of the method, p_T(0) = 1,

a polynomial of degree 2 T under the integral, so that Gauss quadrature with T + 1 nodes is exact, and a quadratic in
T + 1 dimensions has the very same losses. At a = 1, the edge of what has |F_0 - F*| finite, descent gives
1/(2 (2T + 1)), and the schedule 2/T^2 for large T. And the logistic loss in the full function space, where each
example's margin m goes its own way: m <- m + eta/(1 + e^m), losses 1/(4T) and 1/T^2 at eta = 4, the inverse smoothness.

Source: "Stacking as Accelerated Gradient Descent", Section 2, Eq. 2, and the rates of its introduction; the two
problems are this book's.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import roots_sh_jacobi

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.fits import PowerLaw, power_law
from lrtransfer.numerics.overflow import inf_from_overflow
from lrtransfer.stages.linear.excess import default_beta
from lrtransfer.stages.linear.speed import decay_rate

MOMENTA = ("zero", "stacking", "schedule")


def momenta(method: str, stages: int, beta: float = 0.9) -> Array:
    """beta_t for t = 0 .. stages - 1: 0, ``beta`` or (t - 1)/(t + 2). The first has no effect, as f_0 = 0.

    Parameters
    ----------
    method
        "zero", "stacking" or "schedule"
    stages
        how many
    beta
        constant, 0 <= beta < 1, of "stacking" alone

    Returns
    -------
    ndarray
        (stages,).

    Raises
    ------
    ValueError
        naming the argument.
    """
    name, total = arguments.choice("method", method, MOMENTA), arguments.count("stages", stages)
    constant = arguments.one("beta", arguments.finite("beta", beta, minimum=0.0))
    if constant >= 1:
        raise arguments.refuse("beta", beta, "below 1")
    if name == "schedule":
        t = np.arange(total)
        return np.maximum(t - 1, 0) / (t + 2)
    return np.full(total, constant if name == "stacking" else 0.0)


def nesterov(gradient: Callable[[Array], Array], start: ArrayLike, *, lr: ArrayLike, betas: ArrayLike) -> Array:
    """F_{t+1} = V_t - lr gradient(V_t), V_t = F_t + beta_t (F_t - F_{t-1}), from F_{-1} = F_0 = start.

    Parameters
    ----------
    gradient
        of the loss, array to array of the same shape
    start
        F_0
    lr
        > 0, broadcasts against ``start``
    betas
        beta_t along the first axis, (stages,) + a shape that broadcasts against ``start``

    Returns
    -------
    ndarray
        F_0 .. F_stages, (stages + 1,) + shape of ``start``; inf from where an entry overflows.
    """
    rate, now = arguments.positive("lr", lr), arguments.finite("start", start)
    before, iterates = now, [now]
    with np.errstate(all="ignore"):
        for beta in arguments.finite("betas", betas):
            ahead = now + beta * (now - before)
            before, now = now, ahead - rate * gradient(ahead)
            iterates.append(now)
    return inf_from_overflow(np.stack(iterates))


def power_law_losses(method: str, steps: int, *, exponent: float = 1.0, beta: float = 0.9) -> Array:
    """Loss of a quadratic with curvatures in (0, 1] and spectral weight lambda^(exponent - 1), eta = 1 = 1/L.

    Falls like T^-exponent for "zero" and "stacking", (1 - beta)^exponent times smaller for the latter, and, for
    exponent < 3/2, like T^(-2 exponent) for "schedule"; corrections to the latter fall like T^-1/2 at exponent 1.

    Parameters
    ----------
    method, beta
        as in ``momenta``
    steps
        T
    exponent
        a > 0

    Returns
    -------
    ndarray
        (steps + 1,), exact up to rounding, 1e-10 of the loss at T = 1000.

    Raises
    ------
    ValueError
        naming the argument.
    """
    total, power = arguments.count("steps", steps), arguments.one("exponent", arguments.positive("exponent", exponent))
    curvatures, weights = _quadrature(total + 1, power)
    errors = nesterov(lambda e: curvatures * e, np.ones(total + 1), lr=1.0, betas=momenta(method, total, beta))
    return errors**2 @ weights / 2


@cache
def _quadrature(points: int, exponent: float) -> tuple[Array, Array]:
    """Gauss nodes in (0, 1) and weights for the spectral weight lambda^(exponent - 1)."""
    if exponent == 1:
        nodes, weights = np.polynomial.legendre.leggauss(points)
        return (nodes + 1) / 2, weights / 2
    nodes, weights = roots_sh_jacobi(points, exponent, exponent)
    return nodes, weights


def logistic_losses(method: str, steps: int, *, beta: float = 0.9) -> Array:
    """Mean logistic loss, ln(1 + e^-m) for each example's margin m, in the full function space.

    From F = 0, whatever the sample is; eta = 4 = 1/L. Falls like 1/(4T) for "zero" and 1/T^2 for "schedule". With
    "stacking" the momentum of the first stages carries the margin on by about 2/(1 - beta); the loss stays at what
    that leaves until T is large against its inverse, and then falls like (1 - beta)/(4T).

    Parameters
    ----------
    method, beta
        as in ``momenta``
    steps
        T

    Returns
    -------
    ndarray
        (steps + 1,).

    Raises
    ------
    ValueError
        naming the argument.
    """
    betas = momenta(method, arguments.count("steps", steps), beta)
    margins = nesterov(lambda m: -1 / (1 + np.exp(m)), 0.0, lr=4.0, betas=betas)
    return np.log1p(np.exp(-margins))


def strongly_convex_losses(
    method: str, kappa: ArrayLike, steps: int, *, d: int = 20, beta: ArrayLike | None = None
) -> Array:
    """Loss of a quadratic with d curvatures in geometric progression from 1/kappa to 1.

        f = sum_i lambda_i e_i^2 / 2      from e = 1, with eta = 1 = 1/L

    Parameters
    ----------
    method
        "zero", "stacking" or "schedule"
    kappa
        condition number, >= 1; broadcasts with ``beta``
    steps
        T
    d
        >= 2
    beta
        momentum of "stacking" alone, in [0, 1]; (sqrt(kappa) - 1)/(sqrt(kappa) + 1) by default

    Returns
    -------
    ndarray
        (steps + 1, ...).

    Raises
    ------
    ValueError
        naming the argument.
    """
    condition, total = arguments.finite("kappa", kappa, minimum=1.0), arguments.count("steps", steps)
    share = arguments.finite("beta", default_beta(condition) if beta is None else beta, minimum=0.0)
    if (share > 1).any():
        raise arguments.refuse("beta", float(share[share > 1].flat[0]), "in [0, 1]")
    shape = arguments.broadcast(kappa=condition, beta=share)
    curvatures = condition[..., None] ** np.linspace(-1.0, 0.0, arguments.count("d", d, minimum=2))
    betas = momenta(method, total).reshape(-1, *(1,) * (len(shape) + 1))
    if method == "stacking":
        betas = np.broadcast_to(share[..., None], (total, *shape, 1))
    errors = nesterov(lambda e: curvatures * e, np.ones((*shape, curvatures.shape[-1])), lr=1.0, betas=betas)
    with np.errstate(over="ignore"):
        return (curvatures * errors**2).sum(axis=-1) / 2


def exponential_rates(method: str, kappas: ArrayLike, *, d: int = 20) -> tuple[Array, PowerLaw]:
    """Rate r of f ~ e^(-r T) for each condition number, and its power of kappa.

        r = minus the slope of ln f against T, between 1e-4 and 1e-12 of the first loss (``speed.decay_rate``)

    For large T r is -2 ln(1 - 1/kappa) for "zero" and -2 ln(1 - 1/sqrt(kappa)) for "stacking".

    Parameters
    ----------
    method
        "zero" or "stacking"
    kappas
        (n,), three or more different ones, >= 2 each
    d
        curvatures, >= 2

    Returns
    -------
    rates : ndarray
        (n,), per stage
    law : PowerLaw
        of the rates in kappa.

    Raises
    ------
    ValueError
        naming the argument.

    References
    ----------
    The rates exp(-T/kappa) and exp(-T/sqrt(kappa)) of Sec. 1; the fit is this book's.
    """
    name, conditions = arguments.choice("method", method, MOMENTA[:2]), arguments.finite("kappas", kappas, minimum=2.0)
    if conditions.ndim != 1 or conditions.size < 3:
        raise arguments.refuse("kappas", kappas, "a sequence of at least three numbers")
    lengths = np.ceil(16 * conditions if name == "zero" else 24 * np.sqrt(conditions)).astype(int)
    pairs = zip(conditions, lengths, strict=True)
    rates = np.array([decay_rate(strongly_convex_losses(name, kappa, int(n), d=d)) for kappa, n in pairs])
    return rates, power_law(conditions, rates)


def fit_exponent(losses: ArrayLike, first: int, last: int | None = None) -> PowerLaw:
    """Power of t by least squares on logarithms over some stages of a curve.

    The error is the straight line's: it measures the bend of the curve, not chance.

    Parameters
    ----------
    losses
        (T + 1,), positive
    first, last
        the stages used, first >= 1, last <= T and T by default

    Returns
    -------
    PowerLaw
        of the loss in t.

    Raises
    ------
    ValueError
        naming the argument.
    """
    values = arguments.positive("losses", losses)
    start = arguments.count("first", first, minimum=1)
    end = values.size - 1 if last is None else arguments.count("last", last, minimum=start + 2)
    if values.ndim != 1 or end >= values.size:
        raise ValueError(
            f"losses of shape {values.shape} are not allowed: losses must be one curve of stages 0 .. last."
        )
    return power_law(np.arange(start, end + 1, dtype=float), values[start : end + 1])
