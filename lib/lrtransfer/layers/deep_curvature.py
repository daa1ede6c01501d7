"""Curvature in the split of the rates for three layers, propagated with the recursion of ``deep``, not differenced.

Source: arXiv 2606.00340, Corollary 5.4 (three-layer statement); the reduction is this book's.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq

from lrtransfer.layers.circle import one_number, width_argument
from lrtransfer.layers.deep import over_draws, teacher_draws
from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.estimates import Estimate


# A jet is a function of the split delta to second order: coefficients of 1, delta, delta^2 on the first axis.
def _jet_product(multiply: Callable[[Array, Array], Array], x: Array, y: Array) -> Array:
    return np.stack([
        multiply(x[0], y[0]),
        multiply(x[0], y[1]) + multiply(x[1], y[0]),
        multiply(x[0], y[2]) + multiply(x[1], y[1]) + multiply(x[2], y[0]),
    ])  # fmt: skip


def _apply(weight: Array, vector: Array) -> Array:
    return np.einsum("dij,dj->di", weight, vector)


def _apply_transposed(weight: Array, vector: Array) -> Array:
    return np.einsum("dij,di->dj", weight, vector)


def _outer(left: Array, right: Array) -> Array:
    return left[:, :, None] * right[:, None, :]


def _split_jets(rate: float, a: Array, beta: Array, h: int, steps: int, signal_only: bool) -> Array:
    """Second derivative in the split of each draw's loss, t = 0 .. steps: (steps + 1, draws). k = 2."""
    draws = a.shape[0]
    first = np.zeros((3, draws, 2, 2))
    first[0] = np.eye(2)
    second = first.copy()
    readout, teacher = np.zeros((2, 3, draws, 2))
    readout[0], teacher[0] = a, beta
    out = np.empty((steps + 1, draws))
    for t in range(steps + 1):
        middle = _jet_product(_apply, second, readout)
        residual = _jet_product(_apply, first, middle) / np.sqrt(h) - teacher
        out[t] = 2 * (2 * residual[0] * residual[2] + residual[1] ** 2).sum(axis=1)
        if t < steps:
            push = -teacher if signal_only else residual
            one = rate * _jet_product(_outer, push, middle)
            two = rate * _jet_product(_outer, _jet_product(_apply_transposed, first, push), readout)
            first, second = first - one, second - two
            first[1:] -= one[:-1]  # times (1 + delta)
            second[1:] += two[:-1]  # times (1 - delta)
    return out


def deep_curvature_course(
    alpha: float, h: int, steps: int, *, draws: int, seed: int, signal_only: bool = False
) -> Estimate:
    """``deep_curvature`` after every step 0 .. steps.

    Parameters
    ----------
    alpha, h, steps, draws, seed, signal_only
        as in ``deep_curvature``, whose errors and source hold here too

    Returns
    -------
    Estimate
        mean and standard error, (steps + 1,) each.
    """
    width, number = width_argument(h), arguments.count("steps", steps)
    exponent = one_number("alpha", alpha)
    arguments.flag("signal_only", signal_only)
    a, beta = teacher_draws(width, draws, seed)
    rate = 10.0 ** min((exponent - 0.5) * np.log10(width), 300.0)
    with np.errstate(all="ignore"):
        return over_draws(_split_jets(rate, a, beta, width, number, signal_only).T)


def deep_curvature(alpha: float, h: int, steps: int, *, draws: int, seed: int, signal_only: bool = False) -> Estimate:
    """Curvature in the split of the rates for three layers: d^2/d delta^2 of ``deep_loss`` at delta = 0.

    Parameters
    ----------
    alpha
        Rates are h^alpha (1 + delta) and h^alpha (1 - delta); the paper studies 0 < alpha <= 1.
    h
        Width, >= 2.
    steps
        >= 0.
    draws, seed
        As in ``deep_loss``, the same draws.
    signal_only
        Of the surrogate instead.

    Returns
    -------
    Estimate
        (mean, standard error), scalars; inf where a draw diverged. The derivative is propagated with the recursion, not
        differenced.

    Raises
    ------
    ValueError
        For an argument out of its range, which it names.

    Source: arXiv 2606.00340, Corollary 5.4 (three-layer statement).
    """
    course = deep_curvature_course(alpha, h, steps, draws=draws, seed=seed, signal_only=signal_only)
    return Estimate(course.value[-1], course.error[-1], course.seeds)


def deep_balanced_edge(
    h: int,
    steps: int,
    *,
    draws: int,
    seed: int,
    signal_only: bool = False,
    interval: tuple[float, float] = (0.35, 0.95),
    tolerance: float = 1e-4,
) -> float:
    """Exponent of the rate at which balanced rates stop being a local minimum for three layers.

    The alpha in the interval at which ``deep_curvature``, averaged over draws, is zero. Every alpha sees the same
    draws, so that the average is a smooth function of alpha.

    Parameters
    ----------
    h, steps, draws, seed, signal_only
        As in ``deep_curvature``; after one step there is no such alpha.
    interval
        (low, high), the curvature positive at low and negative at high; by default where the edge lies after two steps
        at every h from 100 to 10^6.
    tolerance
        Of alpha, > 0.

    Returns
    -------
    float
        alpha; at two steps it tends to 2/3 - ln(4) / (3 ln h) for large h.

    Raises
    ------
    ValueError
        Naming the argument, ``interval`` where the curvature does not change sign on it.

    Source: arXiv 2606.00340, Corollary 5.4 (three-layer statement), which names no upper edge.
    """
    apart, ends = (
        one_number("tolerance", arguments.positive("tolerance", tolerance)),
        arguments.finite("interval", interval),
    )
    if ends.shape != (2,) or not ends[0] < ends[1]:
        raise arguments.refuse("interval", interval, "a pair (low, high) with low < high")
    low, high = ends.tolist()

    def curvature(alpha: float) -> float:
        return float(deep_curvature(alpha, h, steps, draws=draws, seed=seed, signal_only=signal_only).value)

    if not curvature(low) > 0 > curvature(high):
        raise arguments.refuse(
            "interval", interval, "a pair (low, high), the curvature positive at low and not at high"
        )
    return float(brentq(curvature, low, high, xtol=apart))
