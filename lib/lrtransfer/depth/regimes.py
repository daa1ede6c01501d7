"""What gradient descent does at and above the stability edge: convergence, two-cycles, chaos, divergence.

Everything is in the relative weight alpha of the chain at the exact rule, with inverse time constant 1/tau:
the data then drop out (so mu_yx = mu_xx = 1 here), and block one obeys the same map.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lrtransfer.depth.dynamics import total_weight
from lrtransfer.depth.scalar_map import LayerMap, check_depth
from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array

REGIMES = ("monotone", "oscillating", "period-2", "bounded", "diverged")
_ESCAPED = 1e6  # |alpha| beyond which no orbit comes back: the next step multiplies the weight by about -alpha^2 / L
_CHUNK = 500  # steps between two looks for divergence


def attractor(
    inv_tau: ArrayLike, depth: ArrayLike, alpha0: ArrayLike = 0.01, *, burn: int = 2000, keep: int = 100
) -> Array:
    """The last iterates of alpha after a long run: a bifurcation diagram when ``inv_tau`` is a grid.

    Parameters
    ----------
    inv_tau
        1/tau = eta S, positive
    depth
        L, whole number
    alpha0
        alpha(0), positive
    burn
        steps thrown away first
    keep
        iterates returned, at least 1

    Returns
    -------
    ndarray
        alpha at steps burn + 1 .. burn + keep, shape (keep,) + broadcast shape; ``inf`` after divergence.

    Raises
    ------
    ValueError
        for an argument outside these ranges.

    References
    ----------
    the map of Fig. 3, continued beyond its four panels.
    """
    mu, layers, level = _arguments(inv_tau, depth, alpha0)
    burn, keep = arguments.count("burn", burn), arguments.count("keep", keep, minimum=1)
    shape, mu, layers, level = mu.shape, mu.ravel(), layers.ravel(), level.ravel()
    path = np.empty((keep, mu.size))
    with np.errstate(all="ignore"):
        run = _start(mu, layers, level)
        for _ in range(burn):
            run.step()
        for row in path:
            run.step()
            np.copyto(row, run.variable)
    path[~np.isfinite(path)] = np.inf
    return total_weight(path, layers).reshape(keep, *shape)


def classify(inv_tau: ArrayLike, depth: ArrayLike, alpha0: ArrayLike = 0.01, *, burn: int = 20_000) -> NDArray[np.str_]:
    """The regime of each run, one of ``REGIMES``.

        "monotone"       to the minimum without ever crossing it
        "oscillating"    to the minimum, crossing it
        "period-2"       to a cycle of two values
        "bounded"        none of these, and finite: a longer cycle, chaos, or a stall near 0
        "diverged"       beyond every bound

    A single layer is decided by its factor 1 - 1/tau. From two layers on, the run decides, together with the
    exact statement that the minimum attracts up to and including 1/tau = 2: there it does so like t^(-1/2),
    which no run could tell from a small cycle.

    Parameters
    ----------
    inv_tau, depth, alpha0
        as in ``attractor``
    burn
        steps before the look, enough to leave the plateau (about tau / alpha0)

    Returns
    -------
    ndarray
        an array of words of the broadcast shape.

    Raises
    ------
    ValueError
        for an argument outside these ranges.

    References
    ----------
    corrects the regimes in the caption of Fig. 3.
    """
    mu, layers, level = _arguments(inv_tau, depth, alpha0)
    shape, mu, layers, level = mu.shape, mu.ravel(), layers.ravel(), level.ravel()
    burn = arguments.count("burn", burn)
    run = _start(mu, layers, level)
    low, high = level < 1.0, level > 1.0
    edge = 1e-12
    tail = np.empty((64, mu.size))
    with np.errstate(all="ignore"):
        for step in range(burn + len(tail)):
            run.step()
            low |= run.variable < 1.0 - edge
            high |= run.variable > 1.0 + edge
            if step >= burn:
                tail[step - burn] = run.variable
        tail[~np.isfinite(tail)] = np.inf
        alpha = total_weight(tail, layers)
        diverged = ~(np.abs(alpha[-1]) < _ESCAPED)
        once = np.abs(alpha[1:] - alpha[:-1]).max(axis=0)
        twice = np.abs(alpha[2:] - alpha[:-2]).max(axis=0)
    near = np.abs(alpha - 1.0).max(axis=0) < 0.05
    crossed = low & high
    converged = (near & ((mu <= 2.0) | (once == 0.0))) | ((mu <= 1.0) & ~crossed)
    alone = layers == 1.0
    diverged = np.where(alone, (mu > 2.0) & (level != 1.0), diverged)
    converged = np.where(alone, (mu < 2.0) | (level == 1.0), converged)
    cycle = np.where(alone, mu == 2.0, (twice <= 1e-3 * once) & (once > 0.0))
    number = np.select([diverged, converged & ~crossed, converged, cycle], [4, 0, 1, 2], 3)
    return np.array(REGIMES)[number].reshape(shape)


def first_divergence(
    depth: int,
    alpha0: float = 0.01,
    *,
    low: float = 0.0,
    high: float = 8.0,
    spacing: float = 1e-3,
    steps: int = 20_000,
) -> float:
    """Smallest 1/tau on a grid at which the run from ``alpha0`` diverges within a number of steps.

    The grid low + spacing, low + 2 spacing, .. high is scanned upwards in blocks, and a block forgets the
    rates above the first that has diverged. From two layers on the answer lies above ``crisis(depth)`` by an
    amount that rounding decides: there the run is chaotic and escapes through a narrow gap.

    Parameters
    ----------
    depth
        L, one whole number
    alpha0
        alpha(0), positive
    low, high
        search range in 1/tau
    spacing
        grid spacing, positive
    steps
        number of updates; divergence is |alpha| > 1e6

    Returns
    -------
    float
        the rate, ``inf`` when none of the grid diverges.

    Raises
    ------
    ValueError
        for an argument outside these ranges.

    References
    ----------
    corrects "diverging" in the caption of Fig. 3.
    """
    layers = float(arguments.count("depth", depth, minimum=1))
    level = arguments.one("alpha0", arguments.positive("alpha0", alpha0))
    base = arguments.one("low", arguments.finite("low", low, minimum=0.0))
    top, gap = (arguments.one(n, arguments.positive(n, v)) for n, v in (("high", high), ("spacing", spacing)))
    steps = arguments.count("steps", steps, minimum=1)
    count = round((top - base) / gap)
    for begin in range(0, count, 1000):
        block: Array = base + gap * np.arange(begin + 1, min(begin + 1000, count) + 1, dtype=np.float64)
        found = _first_in_block(block, layers, level, steps)
        if found is not None:
            return float(np.round(block[found], 12))
    return math.inf


def momentum_edge(
    depth: ArrayLike, momentum: ArrayLike, *, steps: int = 4000, high: float = 6.0, tolerance: float = 3e-4
) -> Array:
    """Stability edge of heavy-ball descent: the largest 1/tau at which it returns to the minimum, by runs.

        v <- m v + (1 - u^L) u^(L-1) / (L tau),    u <- u + v,    u = (alpha)^(1/L)

    from rest at alpha = 1 + 1e-4, and bisection of (0, high]. A run has returned if it ends nearer to the minimum
    than it began, without having left 0 < u < 2. On a quadratic the edge is 2 (1 + m); this measures whether the
    network has the same. From rest the slowest mode starts (1 + m) / (1 - m) times as far away as u does, so a
    run of T steps puts the edge (1 - m) ln((1 + m) / (1 - m)) / T too low, at most 0.6 / T.

    Parameters
    ----------
    depth
        L, whole number
    momentum
        m, at least 0 and at most 0.99; at 0 it is gradient descent
    steps
        number of updates of a run, at least 1; runs forget their start like m^(t/2)
    high
        1/tau at which no run returns, positive
    tolerance
        of 1/tau, positive

    Returns
    -------
    ndarray
        the last 1/tau that returned, of the broadcast shape: too low by ``tolerance`` + 0.6 / T at most.

    Raises
    ------
    ValueError
        for an argument outside these ranges, and for a ``high`` at which a run returns.

    References
    ----------
    the stability edge of Eq. 5 with momentum; derived here.
    """
    layers, m = check_depth(depth), arguments.finite("momentum", momentum, minimum=0.0)
    if (m > 0.99).any():
        raise arguments.refuse("momentum", m.max(), "at least 0 and at most 0.99")
    top, apart = (arguments.one(n, arguments.positive(n, v)) for n, v in (("high", high), ("tolerance", tolerance)))
    updates = arguments.count("steps", steps, minimum=1)
    arguments.broadcast(depth=layers, momentum=m)
    layers, m = np.broadcast_arrays(layers, m)
    start = (1.0 + 1e-4) ** (1.0 / layers)

    def returns(inv_tau: Array) -> NDArray[np.bool_]:
        u, velocity, inside = start, np.zeros(start.shape), np.ones(start.shape, dtype=bool)
        with np.errstate(all="ignore"):
            for _ in range(updates):
                velocity = m * velocity + inv_tau / layers * (1.0 - u**layers) * u ** (layers - 1.0)
                u = u + velocity
                inside &= (u > 0.0) & (u < 2.0)
            return inside & (np.abs(u - 1.0) < start - 1.0)

    lower, upper = np.zeros(start.shape), np.full(start.shape, top)
    if returns(upper).any():
        raise arguments.refuse("high", top, "a 1/tau at which no run returns to the minimum")
    while (upper - lower).max(initial=0.0) > apart:
        middle = 0.5 * (lower + upper)
        back = returns(middle)
        lower, upper = np.where(back, middle, lower), np.where(back, upper, middle)
    return lower[()]


def _first_in_block(mu: Array, layers: float, level: float, steps: int) -> int | None:
    found = None
    run = _start(mu, np.full(mu.shape, layers), np.full(mu.shape, level))
    bound = _ESCAPED ** (1.0 / layers)
    with np.errstate(all="ignore"):
        for done in range(0, steps, _CHUNK):
            for _ in range(min(_CHUNK, steps - done)):
                run.step()
            gone = np.flatnonzero(~(np.abs(run.variable) < bound))
            if gone.size:
                found = int(gone[0])
                if found == 0:
                    break
                kept = run.variable[:found].copy()
                run = _start(mu[:found], np.full(found, layers), np.full(found, level))
                np.copyto(run.variable, kept)
    return found


def _arguments(inv_tau: ArrayLike, depth: ArrayLike, alpha0: ArrayLike) -> tuple[Array, Array, Array]:
    mu, layers, level = arguments.positive("inv_tau", inv_tau), check_depth(depth), arguments.positive("alpha0", alpha0)
    arguments.broadcast(inv_tau=mu, depth=layers, alpha0=level)
    mu, layers, level = np.broadcast_arrays(mu, layers, level)
    return mu, layers, level


def _start(mu: Array, layers: Array, level: Array) -> LayerMap:
    """The chain's map at the exact rule and unit data, S = L, at its first iterate."""
    ones = np.ones(mu.shape)
    run = LayerMap(layers, mu / layers, ones, ones, "chain")
    np.copyto(run.variable, level ** (1.0 / layers))
    return run
