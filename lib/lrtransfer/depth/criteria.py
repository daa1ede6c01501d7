"""The loss after a finite run, over rates in units of a rule, and the rates that land on the minimum by luck.

The rate is measured in units x of a rule: ``"exact"`` (x = 1/tau of Eqs. 5, 31, 37) or ``"agnostic"`` (a
power law in depth, ``agnostic_lr``). A perfect rule puts the best x at the same place for every depth.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lrtransfer.depth.dynamics import gradient_descent, loss, total_weight
from lrtransfer.depth.scalar_map import check_arch, check_init, check_r
from lrtransfer.depth.scaling import agnostic_lr, max_stable_lr
from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array

RULES = ("exact", "agnostic")
DEFAULT_INIT = {
    "chain": 0.1,
    "residual1": 0.01,
    "residual2": 0.01,
}  # w(0)^L, w(0), w(0): the starts of Fig. 2


def rule_lr(x: ArrayLike, depth: ArrayLike, r: ArrayLike, arch: str = "chain", rule: str = "exact") -> Array:
    """The learning rate at x units of a rule, at mu_xx = 1: x / S (exact) or ``agnostic_lr`` (agnostic).

    Parameters
    ----------
    x
        rate in units of the rule, positive
    depth
        L, whole number
    r
        mu_yx / mu_xx, positive; above 1 for residual2
    arch
        "chain", "residual1" or "residual2"
    rule
        "exact" or "agnostic"

    Returns
    -------
    ndarray
        the rate of the broadcast shape, units 1/mu_xx.

    Raises
    ------
    ValueError
        for an argument outside these ranges.

    References
    ----------
    Eqs. 5, 31, 37 and Section 3.
    """
    if arguments.choice("rule", rule, RULES) == "agnostic":
        return agnostic_lr(x, depth, r, arch=arch)
    scale, unit = arguments.positive("x", x), max_stable_lr(depth, r, arch=arch)
    arguments.broadcast(x=scale, depth=depth, r=r)
    with np.errstate(over="ignore"):
        return scale * unit


def sweep(
    x: ArrayLike,
    depth: ArrayLike,
    r: ArrayLike,
    arch: str = "chain",
    rule: str = "exact",
    *,
    steps: int = 30,
    init: ArrayLike | None = None,
) -> Array:
    """Loss after a fixed number of gradient steps, over rates in units of a rule, at mu_xx = 1.

    Parameters
    ----------
    x, depth, r, arch, rule
        as in ``rule_lr``; all but the words broadcast
    steps
        number of updates
    init
        w(0)^L for the chain (0.1 unless given), w(0) for the residual networks (0.01)

    Returns
    -------
    ndarray
        (a - r)^2 / 2 of the broadcast shape, ``inf`` where the run has diverged.

    Raises
    ------
    ValueError
        for an argument outside these ranges.

    References
    ----------
    Fig. 2.
    """
    start = check_init(DEFAULT_INIT[check_arch(arch)] if init is None else init, arch)
    lr = rule_lr(x, depth, r, arch, rule)
    arguments.broadcast(x=x, depth=depth, r=r, init=start)
    weight = gradient_descent(lr, depth, steps, mu_yx=r, init=start, arch=arch)[-1]
    return loss(weight, depth, r, arch=arch)


@dataclass(frozen=True)
class Landings:
    """Rates that land exactly on the minimum.

    Attributes
    ----------
    x
        the rates, falling, in units of the exact rule, shape (K,)
    step
        the step at which each lands, shape (K,)
    """

    x: Array
    step: NDArray[np.int64]


def landing_lrs(
    depth: int,
    r: float,
    arch: str = "chain",
    *,
    steps: int = 30,
    init: float | None = None,
    high: float = 2.0,
    points: int = 20_000,
) -> Landings:
    """Lucky rates: x in (1, high), in units of the exact rule, whose run meets the minimum exactly.

    Above x = 1 a run overshoots, and at a given step its distance a - r has opposite signs at some neighbours
    on a grid of rates: by continuity a rate between them lands. These rates accumulate at x = 1, where each
    x - 1 is of the order of the square of the last, so the argmin after a fixed number of steps is not unique
    even without round-off.

    Parameters
    ----------
    depth, r, arch, init
        as in ``sweep``, one number each
    steps
        landings up to this many updates
    high, points
        search range, and number of rates, spaced evenly in ln(x - 1) from x = 1 + 1e-6

    Returns
    -------
    Landings
        the rates by bisection to round-off.

    Raises
    ------
    ValueError
        for an argument outside these ranges.

    References
    ----------
    an observation of this package on Fig. 2.
    """
    layers, ratio = arguments.count("depth", depth, minimum=1), arguments.one("r", check_r(r, check_arch(arch)))
    start = DEFAULT_INIT[arch] if init is None else arguments.one("init", check_init(init, arch))
    top = arguments.one("high", arguments.positive("high", high))
    if top <= 1.0 + 1e-6:
        raise arguments.refuse("high", high, "above 1.000001, where the search begins")
    unit = float(max_stable_lr(layers, ratio, arch=arch))

    def distance(x: Array) -> Array:
        path = gradient_descent(x * unit, layers, steps, mu_yx=ratio, init=start, arch=arch)
        return total_weight(path, layers, arch) - ratio

    grid = 1.0 + np.geomspace(1e-6, top - 1.0, arguments.count("points", points, minimum=2))
    gap = distance(grid)
    clear = np.isfinite(gap) & (np.abs(gap) > 1e-12 * ratio)  # a smaller distance has no trustworthy sign
    above = gap > 0
    crossing = clear[:, :-1] & clear[:, 1:] & (above[:, :-1] != above[:, 1:])
    # Behind a landing every later step changes sign there too: only the first is one.
    crossing[1:] &= above[:-1, :-1] == above[:-1, 1:]
    step, left = np.nonzero(crossing)
    lower, upper = grid[left], grid[left + 1]
    lane = np.arange(step.size)
    sign = above[step, left]
    for _ in range(60):
        middle = 0.5 * (lower + upper)
        same = (distance(middle)[step, lane] > 0) == sign
        lower, upper = np.where(same, middle, lower), np.where(same, upper, middle)
    order = np.argsort(-upper)
    return Landings(upper[order], step[order])
