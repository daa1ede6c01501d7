"""Learning rates across depth in closed form: sharpness, stability edge, exact and data-agnostic rules."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.depth.scalar_map import check_arch, check_r
from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array


def sharpness(depth: ArrayLike, r: ArrayLike, mu_xx: ArrayLike = 1.0, arch: str = "chain") -> Array:
    """Sharpness at the minimum: the largest eigenvalue of the Hessian in the L weights; the rest are 0.

        S = mu_xx L r^(2 - 2/L)                      (chain)
        S = mu_xx r^(2 - 2/L)                        (residual1)
        S = 4 mu_xx r^(2 - 2/L) (r^(1/L) - 1)        (residual2)

    Parameters
    ----------
    depth
        L, whole number; ``math.inf`` for the residual networks, where S tends to mu_xx r^2 and to 0
    r
        mu_yx / mu_xx, positive; above 1 for residual2
    mu_xx
        mean of x^2, positive; S has its unit
    arch
        "chain", "residual1" or "residual2"

    Returns
    -------
    ndarray
        S > 0 of the broadcast shape.

    Raises
    ------
    ValueError
        for an argument outside these ranges.

    References
    ----------
    Eqs. 16, 30 and 36, whose left sides, (1/eta) d(w')/dw, are -S.
    """
    layers, ratio, xx, arch = _arguments(depth, r, mu_xx, arch)
    _refuse_infinite("depth", layers, arch, {"chain"}, "the chain's sharpness grows without limit")
    return _sharpness(layers, ratio, xx, arch)[()]


def max_stable_lr(
    depth: ArrayLike, r: ArrayLike, mu_xx: ArrayLike = 1.0, arch: str = "chain", tau: ArrayLike = 1.0
) -> Array:
    """The paper's exact rule: the learning rate with time constant tau near the minimum.

        eta = 1 / (tau S)

    Parameters
    ----------
    depth
        L, whole number; ``math.inf`` for chain (the limit is 0) and residual1 (1 / (tau mu_xx r^2))
    r, mu_xx, arch
        as in ``sharpness``
    tau
        time constant in steps, positive; an error near the minimum shrinks by |1 - 1/tau| a step, so descent is stable
        for tau > 1/2 and fastest at tau = 1

    Returns
    -------
    ndarray
        eta of the broadcast shape, units 1/mu_xx.

    Raises
    ------
    ValueError
        for an argument outside these ranges.

    References
    ----------
    Eqs. 5, 31 and 37.
    """
    layers, ratio, xx, arch = _arguments(depth, r, mu_xx, arch)
    time = arguments.positive("tau", tau)
    arguments.broadcast(depth=layers, r=ratio, mu_xx=xx, tau=time)
    _refuse_infinite("depth", layers, arch, {"residual2"}, "the rate of residual2 grows without limit")
    with np.errstate(all="ignore"):
        return (1.0 / (time * _sharpness(layers, ratio, xx, arch)))[()]


def stability_edge(depth: ArrayLike, r: ArrayLike, mu_xx: ArrayLike = 1.0, arch: str = "chain") -> Array:
    """Learning rate above which the minimum repels gradient descent: 2 / S, the exact rule at tau = 1/2.

    Parameters
    ----------
    depth, r, mu_xx, arch
        as in ``max_stable_lr``, with its limits

    Returns
    -------
    ndarray
        the edge of the broadcast shape, units 1/mu_xx.

    Raises
    ------
    ValueError
        as ``max_stable_lr`` does.

    References
    ----------
    the text before Eq. 5.
    """
    return max_stable_lr(depth, r, mu_xx, arch, tau=0.5)


def transfer_lr(lr: ArrayLike, from_depth: ArrayLike, to_depth: ArrayLike, r: ArrayLike, arch: str = "chain") -> Array:
    """The learning rate at another depth that keeps the time constant: lr S(from_depth) / S(to_depth).

        eta_L / eta_L0 = (L0 / L) r^(2/L - 2/L0)                                    (chain)
                       = r^(2/L - 2/L0)                                             (residual1)
                       = r^(2/L - 2/L0) (r^(1/L0) - 1) / (r^(1/L) - 1)              (residual2)

    Parameters
    ----------
    lr
        learning rate at ``from_depth``, positive, any unit (the answer has the same)
    from_depth
        L0, whole number; ``math.inf`` for residual1, and for residual2 (the answer is then 0)
    to_depth
        L, whole number; ``math.inf`` for residual1, and for the chain (the answer is then 0)
    r, arch
        as in ``sharpness``

    Returns
    -------
    ndarray
        the rate of the broadcast shape.

    Raises
    ------
    ValueError
        for an argument outside these ranges.

    References
    ----------
    Eq. 12, and the same quotient of Eqs. 31 and 37.
    """
    arch = check_arch(arch)
    rate = arguments.positive("lr", lr)
    source = arguments.integer("from_depth", from_depth, infinite=True)
    target = arguments.integer("to_depth", to_depth, infinite=True)
    ratio = check_r(r, arch)
    arguments.broadcast(lr=rate, from_depth=source, to_depth=target, r=ratio)
    _refuse_infinite("from_depth", source, arch, {"chain"}, "the chain's rate is 0 there")
    _refuse_infinite("to_depth", target, arch, {"residual2"}, "the rate of residual2 grows without limit")
    log_r = np.log(ratio)
    with np.errstate(all="ignore"):
        quotient = np.exp(2.0 * log_r * (1.0 / target - 1.0 / source))
        if arch == "chain":
            quotient = np.where(np.isinf(target), 0.0, quotient * source / target)
        elif arch == "residual2":
            quotient = quotient * np.expm1(log_r / source) / np.expm1(log_r / target)
            quotient = np.where(np.isinf(source), 0.0, quotient)
        return (rate * quotient)[()]


def effective_exponent(from_depth: ArrayLike, to_depth: ArrayLike, r: ArrayLike) -> Array:
    """Exponent p of the power law (L / L0)^-p that the chain's exact rule follows between two depths.

        p = 1 - 2 (1/L - 1/L0) ln(r) / ln(L / L0),    and 1 + 2 ln(r) / L at L = L0

    Parameters
    ----------
    from_depth, to_depth
        L0 and L, whole numbers; ``math.inf`` in either, where p tends to 1
    r
        mu_yx / mu_xx, positive

    Returns
    -------
    ndarray
        p of the broadcast shape, without unit.

    Raises
    ------
    ValueError
        for an argument outside these ranges.

    References
    ----------
    Eq. 13; the limit of equal depths is the local exponent -d ln(eta) / d ln(L).
    """
    source = arguments.integer("from_depth", from_depth, infinite=True)
    target = arguments.integer("to_depth", to_depth, infinite=True)
    ratio = arguments.positive("r", r)
    arguments.broadcast(from_depth=source, to_depth=target, r=ratio)
    log_r = np.log(ratio)
    source, target, log_r = np.broadcast_arrays(source, target, log_r)
    endless = np.isinf(source) | np.isinf(target)
    with np.errstate(all="ignore"):
        # With x = ln(L/L0): (1/L - 1/L0) / x = expm1(-x) / (L0 x), and log1p for neighbours loses no digit.
        change = (target - source) / source
        x = np.where(np.abs(change) < 0.5, np.log1p(change), np.log(target / source))
        slope = np.where(x == 0.0, -1.0, np.expm1(-x) / x)
        return np.where(endless, 1.0, 1.0 - 2.0 * log_r * slope / source)[()]


def agnostic_lr(x: ArrayLike, depth: ArrayLike, r: ArrayLike, mu_xx: ArrayLike = 1.0, arch: str = "chain") -> Array:
    """The data-agnostic rule: a power law in depth alone, x times its natural constant.

        eta = x / (mu_xx L)                          (chain)
        eta = x / mu_xx                              (residual1)
        eta = x L / (4 mu_xx r^2 ln(r))              (residual2)

    The constant makes x the inverse time constant 1/tau in the deep limit of residual2 (Eq. 38) and at r = 1
    for the other two; only the constant of residual2 uses r, the dependence on depth never does.

    Parameters
    ----------
    x
        the rate in units of the rule, positive
    depth
        L, whole number; ``math.inf`` for chain (the limit is 0) and residual1
    r, mu_xx, arch
        as in ``sharpness``

    Returns
    -------
    ndarray
        eta of the broadcast shape, units 1/mu_xx.

    Raises
    ------
    ValueError
        for an argument outside these ranges.

    References
    ----------
    Section 3 (eta proportional to 1/L, 1 and L) with the constant of Eq. 38.
    """
    layers, ratio, xx, arch = _arguments(depth, r, mu_xx, arch)
    scale = arguments.positive("x", x)
    arguments.broadcast(x=scale, depth=layers, r=ratio, mu_xx=xx)
    _refuse_infinite("depth", layers, arch, {"residual2"}, "the rate of residual2 grows without limit")
    layers, ratio, xx, scale = np.broadcast_arrays(layers, ratio, xx, scale)
    with np.errstate(all="ignore"):
        if arch == "chain":
            return (scale / (xx * layers))[()]
        if arch == "residual1":
            return (scale / xx)[()]
        return (scale / (4.0 * xx * ratio**2 * np.log(ratio)) * layers)[()]


def agnostic_optimum(depth: ArrayLike, r: ArrayLike, arch: str = "chain") -> Array:
    """Where the exact rule at tau = 1 lies on the agnostic rule's axis: flat in depth if that transferred.

        x = r^(-2 + 2/L)                                     (chain, residual1)
        x = r^(2/L) ln(r) / (L (r^(1/L) - 1))                (residual2)

    Parameters
    ----------
    depth
        L, whole number or ``math.inf``, where x tends to r^-2 and to 1
    r, arch
        as in ``sharpness``

    Returns
    -------
    ndarray
        x of the broadcast shape: ``agnostic_lr(x, ...) = max_stable_lr(...)``.

    Raises
    ------
    ValueError
        for an argument outside these ranges.

    References
    ----------
    Eqs. 5, 31 and 37 divided by the rules of Section 3.
    """
    layers, ratio, _, arch = _arguments(depth, r, 1.0, arch)
    log_r = np.log(ratio)
    with np.errstate(all="ignore"):
        if arch != "residual2":
            return np.exp((2.0 / layers - 2.0) * log_r)[()]
        part = log_r / layers
        return (np.exp(2.0 * part) * np.where(part > 0.0, part / np.expm1(part), 1.0))[()]


def _sharpness(layers: Array, ratio: Array, xx: Array, arch: str) -> Array:
    with np.errstate(all="ignore"):
        common = xx * ratio ** (2.0 - 2.0 / layers)
        if arch == "chain":
            return np.where(np.isinf(layers), np.inf, common * layers)
        if arch == "residual1":
            return common
        # expm1 keeps r^(1/L) - 1 exact to rounding at any depth
        return np.where(np.isinf(layers), 0.0, 4.0 * common * np.expm1(np.log(ratio) / layers))


def _arguments(depth: ArrayLike, r: ArrayLike, mu_xx: ArrayLike, arch: str) -> tuple[Array, Array, Array, str]:
    arch = check_arch(arch)
    layers = arguments.integer("depth", depth, infinite=True)
    ratio, xx = check_r(r, arch), arguments.positive("mu_xx", mu_xx)
    arguments.broadcast(depth=layers, r=ratio, mu_xx=xx)
    return layers, ratio, xx, arch


def _refuse_infinite(name: str, layers: Array, arch: str, archs: set[str], reason: str) -> None:
    if arch in archs and np.isinf(layers).any():
        raise arguments.refuse(name, np.inf, f"finite for {arch!r}: {reason}")
