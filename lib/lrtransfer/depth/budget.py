"""The smallest rate that reaches a loss within a budget of steps: by runs, and as gradient flow predicts it.

The best rate of a finite run is not a well-posed statistic (``criteria.landing_lrs``); the smallest sufficient rate is.
It measures the plateau and not the end of training, which is why it ranks the rules of transfer differently.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import quad

from lrtransfer.depth.criteria import DEFAULT_INIT, RULES, rule_lr
from lrtransfer.depth.dynamics import gradient_descent, total_weight
from lrtransfer.depth.flow import time_to_reach
from lrtransfer.depth.scalar_map import check_arch, check_depth, check_init, check_r
from lrtransfer.depth.scaling import agnostic_optimum
from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array


def sufficient_lr(
    depth: ArrayLike,
    r: ArrayLike,
    arch: str = "chain",
    rule: str = "exact",
    *,
    steps: int = 30,
    threshold: float = 1e-6,
    init: ArrayLike | None = None,
    high: float = 4.0,
    spacing: float = 1e-3,
) -> Array:
    """Smallest rate, in units of a rule, that brings the loss to ``threshold`` within a number of steps.

    The rates of (0, high] are scanned at ``spacing``. A rate suffices where the loss is low enough, and also somewhere
    between two neighbours whose final errors a - r differ in sign, as the error is continuous in the rate: so a window
    much narrower than the spacing is found as well. What can be missed is a window in which the error does not change
    its sign, or changes it twice. Bisection then gives the lower end of the window to 1e-9.

    Parameters
    ----------
    depth, r, arch, rule, steps, init
        as in ``sweep``; ``depth``, ``r`` and ``init`` broadcast
    threshold
        loss to reach, positive, units mu_xx
    high, spacing
        search range and scan spacing in units of the rule, positive

    Returns
    -------
    ndarray
        x of the broadcast shape, ``inf`` where no scanned rate suffices.

    Raises
    ------
    ValueError
        for an argument outside these ranges.

    References
    ----------
    a criterion of this package, beside the argmin of Fig. 2.
    """
    target, top, gap = (
        arguments.one(n, arguments.positive(n, v))
        for n, v in (("threshold", threshold), ("high", high), ("spacing", spacing))
    )
    start = check_init(DEFAULT_INIT[check_arch(arch)] if init is None else init, arch)
    layers, ratio = check_depth(depth), check_r(r, arch)
    arguments.broadcast(depth=layers, r=ratio, init=start)
    layers, ratio, start = np.broadcast_arrays(layers, ratio, start)
    size = np.sqrt(2.0 * target)  # of the final error a - r

    def error(x: ArrayLike) -> Array:
        lr = rule_lr(x, layers, ratio, arch, rule)
        weight = gradient_descent(lr, layers, steps, mu_yx=ratio, init=start, arch=arch)[-1]
        return total_weight(weight, layers, arch) - ratio

    count = max(round(top / gap), 1)
    grid = np.concatenate(([1e-6 * gap], np.arange(1, count + 1) * gap))
    errors = error(grid.reshape(-1, *(1,) * layers.ndim))
    crossed = np.isfinite(errors[1:]) & np.isfinite(errors[:-1]) & ((errors[1:] > 0) != (errors[:-1] > 0))
    good = (np.abs(errors[1:]) <= size) | crossed
    first = good.argmax(axis=0)
    lower, upper = grid[first], grid[first + 1]
    side = np.take_along_axis(errors, first[None], axis=0)[0] > 0
    with np.errstate(invalid="ignore"):  # inf - inf where nothing suffices
        for _ in range(200):  # inwards to a rate that suffices: the sign says on which side of the landing one is
            outside = np.abs(error(upper)) > size
            if not (outside & good.any(axis=0)).any():
                break
            middle = 0.5 * (lower + upper)
            found = error(middle)
            before = ((found > 0) == side) & (np.abs(found) > size)
            lower = np.where(outside & before, middle, lower)
            upper = np.where(outside & ~before, middle, upper)
    while (upper - lower).max(initial=0.0) > 1e-9:
        middle = 0.5 * (lower + upper)
        passed = np.abs(error(middle)) <= size
        lower, upper = np.where(passed, lower, middle), np.where(passed, middle, upper)
    return np.where(good.any(axis=0), upper, np.inf)[()]


def flow_lr(
    depth: ArrayLike,
    r: float,
    arch: str = "chain",
    rule: str = "exact",
    *,
    steps: int = 30,
    threshold: float = 1e-6,
    init: float | None = None,
) -> Array:
    """What ``sufficient_lr`` would be if descent were gradient flow: the time the flow needs, over the steps there are.

        x = t_L / steps,    t_L the time in units of tau until (a - r)^2 / 2 = threshold,

    under the exact rule; ``scaling.agnostic_optimum`` times that under the agnostic one, as the two units of rate have
    that ratio. Where Eq. 7 does not hold (block two, and starts above the target) t_L is found by quadrature.

    Parameters
    ----------
    depth, r, arch, rule, steps, threshold, init
        as in ``sufficient_lr``; all but the depth one number each

    Returns
    -------
    ndarray
        x of the shape of ``depth``.

    Raises
    ------
    ValueError
        for an argument outside these ranges.

    References
    ----------
    Eq. 7 for the chain and block one, Eq. 34 for block two; a criterion of this package.
    """
    ratio = arguments.one("r", check_r(r, check_arch(arch)))
    size = float(np.sqrt(2.0 * arguments.one("threshold", arguments.positive("threshold", threshold))))
    start = DEFAULT_INIT[arch] if init is None else arguments.one("init", check_init(init, arch))
    layers, updates = check_depth(depth), arguments.count("steps", steps, minimum=1)
    first = np.broadcast_to(start if arch == "chain" else total_weight(start, layers, arch), layers.shape)
    if not ((first > 0.0) & (np.abs(first - ratio) > size)).all() or (arch == "residual2" and start == 0.0):
        raise arguments.refuse("init", start, "a start away from the saddle and from the end of the course")
    times = [_flow_time(int(one), ratio, float(a), size, arch) for one, a in np.nditer([layers, first])]
    unit = agnostic_optimum(layers, ratio, arch) if arguments.choice("rule", rule, RULES) == "agnostic" else 1.0
    return (np.array(times).reshape(layers.shape) / updates * unit)[()]


def _flow_time(depth: int, r: float, start: float, size: float, arch: str) -> float:
    """Time, in units of tau, from the total weight ``start`` to a distance ``size`` from r; Eq. 7 where it applies."""
    end = r - size if start < r else r + size
    if arch == "residual2":  # over y = ln(ln a), in which the slow beginning is long and smooth

        def slowness(y: float) -> float:
            log_a = np.exp(y)
            alpha = np.exp(log_a) / r
            branch = np.expm1(log_a / depth) / np.expm1(np.log(r) / depth)
            return float(log_a / (alpha ** (1.0 - 2.0 / depth) * branch * (1.0 - alpha)))

        limits = np.log(np.log([start, end]))
    elif start < r:
        return float(time_to_reach(end / r, start / r, depth))
    else:

        def slowness(y: float) -> float:  # over y = ln(alpha), falling
            return float(1.0 / (np.exp(y * (1.0 - 2.0 / depth)) * -np.expm1(y)))

        limits = np.log([start / r, end / r])
    with np.errstate(over="ignore"):  # infinitely fast there: no time passes
        return float(quad(slowness, *limits, epsabs=0.0, epsrel=1e-10, limit=200)[0])
