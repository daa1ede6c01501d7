"""What the Depth chapter's cells show, prepared: brute-force twins, runs and thresholds as arrays. No figures here.

``measured_orders``      curvature at the minimum by three orders of substitution, without the closed form
``integrated_course``    the training curve by an integrator that knows no closed form
``half_times``           the step at which a run has half of the target
``thresholds``           what happens above the stability edge, depth by depth
``rate_panel``           one panel of Fig. 2: the loss after 30 steps over rates and depths
``power_law_error``      how far the best single exponent stays from the exact rule
``hessian_ratio``, ``landscape_ratio``, ``separate_loss``    the residual networks against their closed forms
``carried_rate``, ``targets_reached``    what the agnostic rule brings to a deep network
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import solve_ivp

from lrtransfer.depth.criteria import sweep
from lrtransfer.depth.dynamics import gradient_descent, loss
from lrtransfer.depth.flow import rate_of_change
from lrtransfer.depth.full_network import Curvatures, full_gradient_descent, full_hessian
from lrtransfer.depth.regimes import first_divergence
from lrtransfer.depth.scalar_map import Floats, check_arch, check_depth, check_r
from lrtransfer.depth.scaling import agnostic_optimum, max_stable_lr, sharpness, transfer_lr
from lrtransfer.depth.thresholds import crisis, end_of_two_cycle, flip_coefficient
from lrtransfer.numerics import arguments

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

    top: Floats
    others: Floats
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


def integrated_course(t: ArrayLike, alpha0: float, depth: float) -> Floats:
    """The training curve alpha(t) at tau = 1 by DOP853 at relative tolerance 1e-12, which knows no closed form.

    Parameters
    ----------
    t
        times rising from 0, shape (T,), in units of tau
    alpha0, depth
        as in ``flow.time_course``, its closed form

    Returns
    -------
    ndarray
        alpha, shape (T,)
    """
    times = arguments.finite("t", t, minimum=0.0)
    answer = solve_ivp(
        lambda _, alpha: rate_of_change(alpha, depth),
        (0.0, float(times[-1])),
        [alpha0],
        method="DOP853",
        t_eval=times,
        rtol=1e-12,
        atol=1e-14,
    )
    return answer.y[0]


def half_times(total_weight: ArrayLike) -> Floats:
    """The step, interpolated, at which each run first has a total weight of one half.

    Parameters
    ----------
    total_weight
        shape (T, runs), steps first; every run starts below one half and gets there

    Returns
    -------
    ndarray
        shape (runs,), in steps
    """
    path = np.asarray(total_weight, dtype=float)
    if path.ndim != 2 or (path[0] >= 0.5).any() or (path.max(axis=0) < 0.5).any():
        allowed = "runs, steps first, that rise through one half (the value is its shape)"
        raise arguments.refuse("total_weight", path.shape, allowed)
    last, runs = np.argmax(path >= 0.5, axis=0), np.arange(path.shape[1])
    before, after = path[last - 1, runs], path[last, runs]
    return last - 1 + (0.5 - before) / (after - before)


@dataclass(frozen=True)
class Thresholds:
    """What happens to the chain above its stability edge; NaN where there is no such rate, all of shape (D,).

    ``depth``; ``flip``, the coefficient of the period doubling at 1/tau = 2; then three values of 1/tau: ``end`` of the
    stable two-cycle, ``crisis``, below which nothing diverges, and ``first``, the first divergence seen.
    """

    depth: NDArray[np.int64]
    flip: Floats
    end: Floats
    crisis: Floats
    first: Floats


def thresholds(depths: ArrayLike, *, steps: int, spacing: float, deepest: int = 8) -> Thresholds:
    """The thresholds of every depth.

    Parameters
    ----------
    depths
        L, whole numbers, shape (D,). A single layer has no two-cycle, and its crisis is 1/tau = 2
    steps, spacing
        as in ``regimes.first_divergence``, the only one of these that is a search
    deepest
        the largest L for which that search is made

    Returns
    -------
    Thresholds
        of shape (D,) each
    """
    layers = np.atleast_1d(check_depth(depths, "depths")).astype(np.int64)
    alone = layers == 1
    several = np.where(alone, 2, layers)
    first = [
        first_divergence(int(depth), low=1.9, steps=steps, spacing=spacing) if depth <= deepest else np.nan
        for depth in layers
    ]
    return Thresholds(
        depth=layers,
        flip=np.atleast_1d(flip_coefficient(layers)),
        end=np.where(alone, np.nan, end_of_two_cycle(several)),
        crisis=np.where(alone, 2.0, crisis(several)),
        first=np.array(first),
    )


def rate_panel(
    depths: ArrayLike, r: float, arch: str = "chain", rule: str = "exact", *, points: int = 100
) -> tuple[Floats, Floats]:
    """One panel of Fig. 2: the loss after 30 steps for every depth, over rates in units of a rule.

    Parameters
    ----------
    depths
        L, whole numbers, shape (D,)
    r, arch, rule
        as in ``criteria.sweep``
    points
        number of rates X, evenly spaced up to 2; under the agnostic rule of the chain and of block one up to twice the
        least range that holds its optimum at L = 128, where that is more

    Returns
    -------
    tuple[ndarray, ndarray]
        rates x of shape (X,) and losses of shape (X, D)
    """
    scale = 1.0 if rule == "exact" else max(1.0, float(agnostic_optimum(128, r, arch)) * 1.6) / 2 + 0.5
    x = np.linspace(0.01, 2, points) * scale
    return x, sweep(x[:, None], depths, r, arch, rule)


def power_law_error(source: int, targets: ArrayLike, ratios: ArrayLike, *, exponents: int = 401) -> float:
    """The largest error, in octaves, of the best single exponent p in (L / L0)^-p, over depths and data at once.

        min over p of max over L, r of |log2 (L / L0)^-p - log2 eta_L / eta_L0|

    Parameters
    ----------
    source
        L0
    targets, ratios
        L of shape (D,) and r of shape (R,)
    exponents
        number of p tried, evenly from 0 to 2
    """
    depths, data = np.atleast_1d(targets), np.atleast_1d(ratios)
    exact = np.log2(transfer_lr(1.0, source, depths, data[:, None]))
    powers = np.linspace(0, 2, exponents)[:, None, None]
    return float(np.abs(-powers * np.log2(depths / source) - exact).max(axis=(1, 2)).min())


def hessian_ratio(depths: ArrayLike, r: float, arch: str) -> Floats:
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


def landscape_ratio(depths: ArrayLike, r: float, arch: str) -> Floats:
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


def carried_rate(source: ArrayLike, depth: int, r: ArrayLike) -> Floats:
    """The rate that the 1/L rule brings from a source depth, in units of the chain's exact rule at ``depth``.

    At the source it is 1/tau = 1, so this is r^(2 (1/L0 - 1/L)).

    Parameters
    ----------
    source, r
        L0 and r, which broadcast
    depth
        L, where the rate is used
    """
    layers = check_depth(source, "source")
    return max_stable_lr(layers, r) * layers / depth / max_stable_lr(depth, r)


def targets_reached(source: int, depth: int, targets: ArrayLike, *, threshold: float = 1e-6) -> NDArray[np.bool_]:
    """For which targets r the rate of ``carried_rate`` brings the loss below ``threshold`` in 30 steps.

    Parameters
    ----------
    source, depth
        L0 and L
    targets
        r, positive, any shape
    threshold
        loss to reach

    Returns
    -------
    ndarray
        booleans of the shape of ``targets``
    """
    r = arguments.positive("targets", targets)
    return sweep(r ** (2 * (1 / source - 1 / depth)), depth, r) < threshold
