"""When does a learning rate 'transfer'? Criteria of a finite run: final loss, sufficient rate, exact argmin.

The rate is measured in units x of a rule: ``"exact"`` (x = 1/tau of Eqs. 5, 31, 37) or ``"agnostic"`` (a
power law in depth, ``agnostic_lr``). A perfect rule puts the best x at the same place for every depth.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Context, Decimal, InvalidOperation, Overflow, Underflow, localcontext

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lrtransfer.depth.dynamics import gradient_descent, loss, total_weight
from lrtransfer.depth.scalar_map import Floats, check_arch, check_depth, check_init, check_r
from lrtransfer.depth.scaling import agnostic_lr, max_stable_lr
from lrtransfer.numerics import arguments

RULES = ("exact", "agnostic")
DEFAULT_INIT = {
    "chain": 0.1,
    "residual1": 0.01,
    "residual2": 0.01,
}  # w(0)^L, w(0), w(0): the starts of Fig. 2


def rule_lr(x: ArrayLike, depth: ArrayLike, r: ArrayLike, arch: str = "chain", rule: str = "exact") -> Floats:
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
) -> Floats:
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
) -> Floats:
    """Smallest rate, in units of a rule, that brings the loss to ``threshold`` within a number of steps.

    Scan of (0, high] at ``spacing``, then bisection of the first crossing to 1e-9; a window of sufficient
    rates that is narrower than the spacing can be missed.

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

    def enough(x: ArrayLike) -> NDArray[np.bool_]:
        return sweep(x, layers, ratio, arch, rule, steps=steps, init=start) <= target

    count = max(round(top / gap), 1)
    grid = np.arange(1, count + 1) * gap
    good = enough(grid.reshape(-1, *(1,) * layers.ndim))
    first = good.argmax(axis=0)
    upper = grid[first]
    lower = np.where(first == 0, 1e-6 * gap, grid[np.maximum(first - 1, 0)])
    while (upper - lower).max(initial=0.0) > 1e-9:
        middle = 0.5 * (lower + upper)
        passed = enough(middle)
        lower, upper = np.where(passed, lower, middle), np.where(passed, middle, upper)
    return np.where(good.any(axis=0), upper, np.inf)[()]


@dataclass(frozen=True)
class ExactArgmin:
    """Best rates of a grid in high precision, one entry a depth; losses as their decimal logarithm."""

    depth: tuple[int, ...]
    x: tuple[float, ...]
    log10_loss: tuple[float, ...]
    runner_up: tuple[float, ...]
    runner_up_log10_loss: tuple[float, ...]


def exact_argmin(
    depths: ArrayLike,
    r: float,
    arch: str = "chain",
    rule: str = "exact",
    *,
    low: float = 0.5,
    high: float = 2.0,
    spacing: float = 0.004,
    steps: int = 30,
    init: float | None = None,
    digits: int = 200,
) -> ExactArgmin:
    """The argmin of Fig. 2 without round-off: gradient descent in decimal arithmetic on a grid of rates.

    In double precision the smallest losses tie at round-off; with 200 digits they do not, down to 1e-400.

    Parameters
    ----------
    depths
        L, whole numbers, shape (D,)
    r, arch, rule, init
        as in ``sweep``, one number each
    low, high, spacing
        the grid of x in units of the rule, read as the decimals they print as
    steps, digits
        number of updates and of decimal digits

    Returns
    -------
    ExactArgmin
        the best rate and the runner-up of each depth; -inf is the logarithm of a loss that vanishes to all digits.

    Raises
    ------
    ValueError
        for an argument outside these ranges.

    References
    ----------
    Fig. 2.
    """
    checked = np.atleast_1d(check_depth(depths, "depths"))
    if checked.ndim > 1:
        raise ValueError(
            f"depths of shape {checked.shape} is not allowed: depths must be one number or a list of them."
        )
    layers = [int(depth) for depth in checked]
    ratio = arguments.one("r", check_r(r, check_arch(arch)))
    arguments.choice("rule", rule, RULES)
    steps, digits = arguments.count("steps", steps), arguments.count("digits", digits, minimum=17)
    start = DEFAULT_INIT[arch] if init is None else arguments.one("init", check_init(init, arch))
    first, last, gap = (
        Decimal(str(arguments.one(n, arguments.positive(n, v))))
        for n, v in (("low", low), ("high", high), ("spacing", spacing))
    )
    grid = [first + i * gap for i in range(int((last - first) / gap) + 1)]
    if len(grid) < 2:
        raise arguments.refuse("high", high, "at least low + spacing")
    best, second = [], []
    context = Context(prec=digits)
    for signal in (InvalidOperation, Overflow, Underflow):
        context.traps[signal] = False
    with localcontext(context):
        for depth in layers:
            run = _DecimalRun(depth, Decimal(str(ratio)), arch, rule, Decimal(str(start)), steps)
            ranked = sorted((run.log10_loss(x), float(x)) for x in grid)
            best.append(ranked[0])
            second.append(ranked[1])
    return ExactArgmin(
        tuple(layers), tuple(b[1] for b in best), tuple(b[0] for b in best),
        tuple(s[1] for s in second), tuple(s[0] for s in second),
    )  # fmt: skip


class _DecimalRun:
    """Gradient descent of one depth in the current decimal context."""

    def __init__(self, depth: int, r: Decimal, arch: str, rule: str, init: Decimal, steps: int) -> None:
        self.depth, self.r, self.steps, self.block_two = depth, r, steps, arch == "residual2"
        root = r ** (Decimal(1) / depth)
        # The rate at x = 1, already divided as the map wants it: lr, lr/L and 2 lr/L.
        if arch == "residual2":
            exact = root**2 / (4 * r**2 * (root - 1))
            self.unit = 2 * (exact if rule == "exact" else depth / (4 * r**2 * r.ln())) / depth
            self.start = init
        else:
            self.unit = (root**2 / r**2 if rule == "exact" else Decimal(1)) / depth
            self.start = init ** (Decimal(1) / depth) if arch == "chain" else 1 + init / Decimal(depth).sqrt()

    def log10_loss(self, x: Decimal) -> float:
        """Decimal logarithm of the loss after all steps at x units of the rule."""
        rate, w, depth = self.unit * x, self.start, self.depth
        for _ in range(self.steps):
            phi = 1 + w * w / depth if self.block_two else w
            power = phi ** (depth - 1) if depth > 1 else Decimal(1)  # decimal refuses 0 ** 0
            move = rate * (self.r - phi * power) * power
            w += move * w if self.block_two else move
            if not w.is_finite() or w.adjusted() > 1000:  # far beyond any orbit that comes back
                return float("inf")
        phi = 1 + w * w / depth if self.block_two else w
        value = (phi**depth - self.r) ** 2 / 2
        return float(value.log10()) if value else float("-inf")


@dataclass(frozen=True)
class Landings:
    """Rates that land exactly on the minimum, falling, and the step at which each does; both shape (K,)."""

    x: Floats
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

    def distance(x: Floats) -> Floats:
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
