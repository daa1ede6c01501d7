r"""The linear residual network at infinite width: exact training curves, rich or lazy, at any depth.

    h^0 = D^(-1/2) W^0 x,   h^{l+1} = h^l + L^(-branch) N^(-1/2) W^l h^l,   f = w . h^L / (gamma_0 N)

with unit Gaussian weights, trained on (f - y)^2 / 2 at rate lr gamma_0^2 N on one input with |x|^2 / D = 1. As N
-> infinity the output becomes deterministic and h, g = gamma_0 N df/dh become Gaussian processes in the training
time (``linear_fields`` has the recursion). ``linear_limit`` gives f_t, ``linear_kernels`` also the kernels
<hh'> and <gg'> of every layer, ``best_theory_lr`` the best rate with no network trained at all.

f_t / y depends on lr and gamma_0 y alone: a larger target is a richer network, not a larger rate.

Source: Sec. 4.3.2 of the paper (the deep linear network), in discrete time.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.overflow import inf_from_overflow
from lrtransfer.residual.theory.first_minimum import first_minimum
from lrtransfer.residual.theory.lazy import linear_ntk
from lrtransfer.residual.theory.linear_fields import at_layer_times, block_sweep, layer_time_sweep

_NODES, _FEWER_NODES = 12, 9  # of layer time; the difference of the two is the reported error
_STAND_IN = (24, 48, 96)  # depths extrapolated where the layer-time iteration fails
_BUDGET = 2**26  # bytes of the fields held at once


@dataclass(frozen=True)
class LinearLimit:
    """Training of the linear network at infinite width: output and kernels.

    Attributes
    ----------
    f
        the output f_t, (steps + 1,)
    layer_time
        l / L, (layers,)
    H, G
        <h_t h_s> and <g_t g_s> in every layer, (steps + 1, steps + 1, layers); ``inf`` where the run had diverged
    error
        of f, H and G in units of the largest entry or 1: at infinite depth the change from 9 to 12 nodes of layer time,
        which is larger than the error of the 12; 0 at finite depth, where only rounding is left
    """

    f: Array
    layer_time: Array
    H: Array
    G: Array
    error: float


def linear_limit(
    lr: ArrayLike,
    gamma0: ArrayLike,
    depth: float,
    steps: int,
    *,
    target: ArrayLike = 1.0,
    branch: float = 0.5,
    responses: bool = True,
) -> Array:
    """Output f_t of the linear residual network at infinite width under gradient descent, f_0 = 0.

    ``lr``, ``gamma0`` and ``target`` broadcast. At branch > 1/2 and infinite depth the blocks vanish: a two-layer
    network.

    Parameters
    ----------
    lr
        base rate: the network's is lr gamma_0^2 N; not negative
    gamma0
        gamma_0 > 0, how far the features move; gamma_0 -> 0 is the lazy limit, 1 - f_t/y = (1 - lr K)^t
    depth
        L, one whole number, or ``math.inf`` where branch >= 1/2
    steps
        number of updates T
    target
        y, any number
    branch
        exponent of the branch multiplier L^-branch, one number
    responses
        False drops the responses A and B of the fields to each other's noise: wrong, kept to show by how much

    Returns
    -------
    ndarray
        (steps + 1,) + broadcast shape; ``inf`` from the step at which a run overflows.

    Raises
    ------
    ValueError
        naming the argument.

    Notes ----- Accuracy: rounding at finite depth (cost L T^3 a run). At infinite depth 1e-11 relative (measured; cost
    about that of L = 50), except for runs whose features move by dozens of their own size in a step; those are
    extrapolated from L = 24, 48, 96 from there on. Every one seen diverged soon after.

    References
    ----------
    Sec. 4.3.2 of the paper; the recursion is that of ``linear_fields``.
    """
    rate, scale, y, layers, steps, branch = _arguments(lr, gamma0, depth, steps, target, branch)
    arguments.flag("responses", responses)
    shape = arguments.broadcast(lr=rate, gamma0=scale, target=y)
    rate, a, y = (np.broadcast_to(v, shape).ravel() for v in (rate, scale * np.abs(y), y))
    f = np.zeros((steps + 1, rate.size))
    live = a > 0  # without a target nothing is learned
    f[:, live] = _relative(rate[live], a[live], layers, steps, branch, responses=responses)
    with np.errstate(all="ignore"):
        f = np.where(live, f * y, 0.0)
    return inf_from_overflow(f).reshape(steps + 1, *shape)


def linear_kernels(
    lr: float,
    gamma0: float,
    depth: float,
    steps: int,
    *,
    target: float = 1.0,
    branch: float = 0.5,
    layer_time: ArrayLike | None = None,
    responses: bool = True,
) -> LinearLimit:
    """Output and kernels of one run of ``linear_limit``: H^l_ts = <h_t h_s>, G^l_ts = <g_t g_s>, g = gamma_0 N df/dh.

    At initialisation H = e^tau and G = e^(1 - tau) at infinite depth, (1 + 1/L)^l and (1 + 1/L)^(L - l) at finite.

    Parameters
    ----------
    lr, gamma0, depth, steps, target, branch, responses
        as in ``linear_limit``, one number each, target not 0
    layer_time
        infinite depth only: where in [0, 1] to give the kernels, (layers,); by default 21 equal steps. At finite depth
        they are given at l / L, l = 0 .. L

    Returns
    -------
    LinearLimit
        output, kernels and their error.

    Raises
    ------
    ValueError
        naming the argument.
    """
    rate, scale, y, layers, steps, branch = _arguments(lr, gamma0, depth, steps, target, branch)
    arguments.flag("responses", responses)
    y0 = arguments.one("target", y)
    if y0 == 0:
        raise arguments.refuse("target", target, "a number other than 0")
    one_rate, a = np.array([arguments.one("lr", rate)]), np.array([arguments.one("gamma0", scale) * abs(y0)])
    tau = np.linspace(0, 1, 21) if layer_time is None else arguments.finite("layer_time", layer_time, minimum=0.0)
    if tau.ndim != 1 or (tau > 1).any():
        raise arguments.refuse("layer_time", layer_time, "a list of numbers from 0 to 1")
    with np.errstate(all="ignore"):
        if math.isfinite(layers) or branch > 0.5:
            blocks, square = (int(layers), layers ** (-2 * branch)) if math.isfinite(layers) else (1, 0.0)
            f, h, g = block_sweep(one_rate, a, blocks, steps, square, responses=responses, kernels=True)
            if math.isfinite(layers):
                tau = np.arange(blocks + 1) / blocks
            else:
                h, g = (np.repeat(k[:1], tau.size, axis=0) for k in (h, g))
            error = 0.0
        else:
            f, h, g, failed = layer_time_sweep(one_rate, a, steps, _NODES, responses=responses)
            rough = layer_time_sweep(one_rate, a, steps, _FEWER_NODES, responses=responses)[:3]
            last = int(failed[0])
            error = _distance(f[:last], rough[0][:last])
            h, g = at_layer_times(h, tau), at_layer_times(g, tau)
            for fine, coarse in ((h, rough[1]), (g, rough[2])):
                error = max(error, _distance(fine, at_layer_times(coarse, tau)))
                fine[:, :, last:] = fine[..., last:] = np.inf
            if last <= steps:
                f = _relative(one_rate, a, layers, steps, branch, responses=responses)
    kernels = [np.where(np.isfinite(k), k, np.inf)[:, 0].transpose(1, 2, 0) for k in (h, g)]
    return LinearLimit(inf_from_overflow(f[:, 0] * y0), tau, kernels[0], kernels[1], error)


def best_theory_lr(
    depth: ArrayLike, branch: float = 0.5, steps: int = 6, *, gamma0: float = 1.0, target: float = 1.0
) -> Array:
    """Best learning rate by theory alone: infinite width, linear network, one point, noise-free steps.

    The lowest rate at which the loss (f - y)^2 / 2 after ``steps`` updates stops falling with the rate. With one
    output 'the' argmin is not unique: the loss is zero wherever f_T crosses y, at several rates for T > 1, and
    among them always at lr = 1/K, which fits the point in one step and then rests (K, the kernel at the start,
    is ``linear_ntk``). The first minimum lies at or below 1/K: at 1/K for one step or in the lazy limit, lower
    the richer the network.

    Parameters
    ----------
    depth
        L, whole numbers of any shape, ``math.inf`` admitted where branch >= 1/2
    branch
        exponent of the branch multiplier L^-branch
    steps
        T, a few: after many the loss is below rounding from a lower rate on
    gamma0, target
        gamma_0 > 0 and y, not 0

    Returns
    -------
    ndarray
        the base rates, in the shape of ``depth``. The loss is a polynomial in the rate, so that all of its minima on
        an interval are known from its values at enough points: none is stepped over at any gamma_0 y.

    Raises
    ------
    ValueError
        naming the argument.
    """
    depths = arguments.integer("depth", depth, infinite=True)
    steps = arguments.count("steps", steps, minimum=1)
    y = arguments.one("target", arguments.finite("target", target))
    a = arguments.one("gamma0", arguments.positive("gamma0", gamma0)) * abs(y)
    if a == 0:
        raise arguments.refuse("target", target, "a number other than 0")
    best = np.empty(depths.shape)
    for at, layers in np.ndenumerate(depths):
        _arguments(1.0, 1.0, float(layers), steps, 1.0, branch)
        unit = 1 / float(linear_ntk(float(layers), branch))

        def rest(x: Array, layers: float = float(layers), unit: float = unit) -> Array:
            return 1 - _relative(unit * x, np.full(x.size, a), layers, steps, branch)[-1]

        best[at] = unit * first_minimum(rest)
    return best


def _relative(rate: Array, a: Array, layers: float, steps: int, branch: float, *, responses: bool = True) -> Array:
    """f_t / y, shape (steps + 1, runs); ``a`` = gamma_0 |y|. Runs in groups whose fields fit the budget."""
    infinite = math.isinf(layers)
    points = (1 if branch > 0.5 else _NODES) if infinite else layers
    group = max(1, int(_BUDGET / (16 * 8 * (points + 1) * (steps + 1) ** 2)))
    f = np.empty((steps + 1, rate.size))
    with np.errstate(all="ignore"):
        for first in range(0, rate.size, group):
            runs = slice(first, first + group)
            if not infinite:
                square = layers ** (-2 * branch)
                f[:, runs] = block_sweep(rate[runs], a[runs], int(layers), steps, square, responses=responses)[0]
            elif branch > 0.5:
                f[:, runs] = block_sweep(rate[runs], a[runs], 1, steps, 0.0, responses=responses)[0]
            else:
                f[:, runs] = _infinite(rate[runs], a[runs], steps, responses)
    return inf_from_overflow(f)


def _infinite(rate: Array, a: Array, steps: int, responses: bool) -> Array:
    f, _, _, failed = layer_time_sweep(rate, a, steps, _NODES, responses=responses)
    hard = failed <= steps
    if hard.any():
        one, two, four = (
            inf_from_overflow(block_sweep(rate[hard], a[hard], depth, steps, 1 / depth, responses=responses)[0])
            for depth in _STAND_IN
        )
        extrapolated = (one - 6 * two + 8 * four) / 3  # polynomial in 1/L through three depths, at 1/L = 0
        late = np.arange(steps + 1)[:, None] >= failed[hard]
        f[:, hard] = np.where(late, extrapolated, f[:, hard])
    return f


def _distance(x: Array, z: Array) -> float:
    """Largest difference of finite entries, in units of the largest of them or 1."""
    both = np.isfinite(x) & np.isfinite(z)
    return float(np.abs(x - z)[both].max(initial=0.0) / max(1.0, np.abs(x[both]).max(initial=0.0)))


def _arguments(
    lr: ArrayLike, gamma0: ArrayLike, depth: float, steps: int, target: ArrayLike, branch: float
) -> tuple[Array, Array, Array, float, int, float]:
    rate, scale = arguments.finite("lr", lr, minimum=0.0), arguments.positive("gamma0", gamma0)
    y = arguments.finite("target", target)
    layers = arguments.one("depth", arguments.integer("depth", depth, infinite=True))
    exponent = arguments.one("branch", arguments.finite("branch", branch, minimum=0.0))
    if math.isinf(layers) and exponent < 0.5:
        raise arguments.refuse("branch", branch, "at least 0.5 at infinite depth: below it the features have no limit")
    return rate, scale, y, layers, arguments.count("steps", steps), exponent
