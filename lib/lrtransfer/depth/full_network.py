"""The networks with L separate weights: the long way round, kept to check the reductions against.

Everything here costs a power of L and takes small depths; nothing here assumes equal layers.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp

from lrtransfer.depth.scalar_map import check_arch, check_data
from lrtransfer.depth.scaling import sharpness
from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.overflow import or_inf


def full_gradient_descent(
    lr: float, weights0: ArrayLike, steps: int, *, mu_yx: float, mu_xx: float = 1.0, arch: str = "chain"
) -> Array:
    """Gradient descent on all L weights: w_l <- w_l - lr d(loss)/d(w_l).

    Parameters
    ----------
    lr
        learning rate, not negative
    weights0
        w_l(0), shape (L,), any values
    steps
        number of updates T
    mu_yx, mu_xx
        data moments, positive; mu_yx > mu_xx for residual2
    arch
        "chain", "residual1" or "residual2"

    Returns
    -------
    ndarray
        the weights at steps 0 .. T, shape (T + 1, L); a run that diverges is ``inf`` from there on.

    Raises
    ------
    ValueError
        for an argument outside these ranges.

    References
    ----------
    Eqs. 2, 27 and 33 in discrete time.
    """
    rate = arguments.one("lr", arguments.finite("lr", lr, minimum=0.0))
    weights, yx, xx, arch = _network(weights0, mu_yx, mu_xx, arch, "weights0")
    path = np.empty((arguments.count("steps", steps) + 1, weights.size))
    path[0] = weights
    with np.errstate(all="ignore"):
        for now, after in pairwise(path):
            after[:] = now - rate * _gradient(now, yx, xx, arch)
            if not np.isfinite(after).all():  # one infinite weight is a diverged network
                after[:] = np.inf
    return path


def gradient_flow_full(
    t: ArrayLike,
    weights0: ArrayLike,
    *,
    mu_yx: float,
    mu_xx: float = 1.0,
    lr: float = 1.0,
    arch: str = "chain",
) -> Array:
    """Gradient flow of all L weights, d(w_l)/dt = -lr d(loss)/d(w_l), by DOP853 at relative tolerance 1e-12.

    Parameters
    ----------
    t
        times, rising from 0 or later, shape (T,)
    weights0
        w_l(0), shape (L,)
    mu_yx, mu_xx, lr, arch
        as in ``full_gradient_descent``

    Returns
    -------
    ndarray
        the weights at those times, shape (T, L).

    Raises
    ------
    ValueError
        for an argument outside these ranges.

    References
    ----------
    Eqs. 2, 27 and 33.
    """
    times = np.atleast_1d(arguments.finite("t", t, minimum=0.0))
    if times.ndim != 1 or times.size == 0 or (np.diff(times) < 0).any():
        raise arguments.refuse("t", t, "a list of rising times")
    rate = arguments.one("lr", arguments.finite("lr", lr, minimum=0.0))
    weights, yx, xx, arch = _network(weights0, mu_yx, mu_xx, arch, "weights0")
    end = max(float(times[-1]), np.finfo(float).tiny)
    with np.errstate(all="ignore"):
        if not np.isfinite(_gradient(weights, yx, xx, arch)).all():
            raise arguments.refuse("weights0", weights.tolist(), "small enough for a loss whose gradient is finite")
        answer = solve_ivp(
            lambda _, w: -rate * _gradient(w, yx, xx, arch),
            (0.0, end),
            weights,
            method="DOP853",
            t_eval=times,
            rtol=1e-12,
            atol=1e-14,
        )
    if not answer.success:  # the loss falls along the flow, so this needs an extreme start, not a long time
        raise RuntimeError(f"The integrator stopped: {answer.message}")
    return answer.y.T


def full_hessian(weights: ArrayLike, *, mu_yx: float, mu_xx: float = 1.0, arch: str = "chain") -> Array:
    """Hessian of the loss in all L weights, by automatic differentiation in double precision.

    Parameters
    ----------
    weights
        shape (L,)
    mu_yx, mu_xx, arch
        as in ``full_gradient_descent``

    Returns
    -------
    ndarray
        the symmetric matrix, shape (L, L); inf where an entry overflows. At the minimum with equal layers its
        eigenvalues are S and L - 1 zeros.

    Raises
    ------
    ValueError
        for an argument outside these ranges
    ImportError
        without PyTorch.

    References
    ----------
    the loss before Eq. 2.
    """
    w, yx, xx, arch = _network(weights, mu_yx, mu_xx, arch)
    try:
        import torch
    except ImportError as error:
        raise ImportError("full_hessian differentiates with PyTorch: install it with `pip install torch`.") from error

    def loss(v: Any) -> Any:
        total = torch.prod({"chain": v, "residual1": 1 + v / w.size**0.5, "residual2": 1 + v * v / w.size}[arch])
        return 0.5 * xx * (total - yx / xx) ** 2

    # Twice in reverse: the forward mode of torch.func.hessian warns of a deprecated compiler in torch 2.13.
    jacrev = torch.func.jacrev
    return or_inf(jacrev(jacrev(loss))(torch.as_tensor(w, dtype=torch.float64)).numpy())


def conserved(weights: ArrayLike, arch: str = "chain") -> Array:
    """What gradient flow keeps constant in each layer, relative to layer 0.

        w_l^2 - w_0^2                                            (chain)
        phi_l^2 - phi_0^2,  phi = 1 + w/sqrt(L)                  (residual1)
        g_l - g_0,          g = ln|w| + w^2/(2 L)                (residual2; the sign of w is kept too)

    In each network d(w_l)/dt is a common factor times F(w_l) with F = 1/w, 1/phi and w/phi; what is conserved
    is the difference of the integrals of 1/F.

    Parameters
    ----------
    weights
        shape (..., L), layers last; not 0 for residual2, where a zero weight stays zero
    arch
        "chain", "residual1" or "residual2"

    Returns
    -------
    ndarray
        the shape of ``weights``, zero in layer 0.

    Raises
    ------
    ValueError
        for an argument outside these ranges.

    References
    ----------
    the conservation law before Eq. 3; the residual ones are derived here.
    """
    arch = check_arch(arch)
    w = np.atleast_1d(arguments.finite("weights", weights))
    if (np.abs(w) > 1e150).any():
        raise arguments.refuse(
            "weights", np.abs(w).max(), "below 1e150 in size, so that a float can hold their squares"
        )
    depth = w.shape[-1]
    if arch == "residual2" and (w == 0.0).any():
        raise arguments.refuse("weights", 0.0, "different from 0 for residual2")
    if arch == "chain":
        kept = w**2
    elif arch == "residual1":
        kept = (1.0 + w / np.sqrt(depth)) ** 2
    else:
        kept = np.log(np.abs(w)) + w**2 / (2.0 * depth)
    return kept - kept[..., :1]


@dataclass(frozen=True)
class Curvatures:
    """Curvature at the minimum by three orders of substitution; see ``substitution_orders``.

    Attributes
    ----------
    right
        equal weights put in between the two derivatives, units of ``mu_xx``
    substituted_first, substituted_last
        put in before the first derivative, and after the second
    """

    right: Array
    substituted_first: Array
    substituted_last: Array


def substitution_orders(depth: ArrayLike, r: ArrayLike, mu_xx: ArrayLike = 1.0, arch: str = "chain") -> Curvatures:
    """Curvature at the minimum when equal weights are put in at the right place and at the two wrong ones.

        right               S        between the derivatives: slope of the true gradient along equal weights
        substituted_first   L S      before the first: curvature of the plotted curve loss(w, ..., w)
        substituted_last    S / L    after both: one weight moves, the others stay (the Hessian's diagonal)

    At the minimum the Hessian is S times the projector on equal changes (1, ..., 1)/sqrt(L), which gives all
    three.

    Parameters
    ----------
    depth, r, mu_xx, arch
        as in ``scaling.sharpness``; the depth is finite

    Returns
    -------
    Curvatures
        each of the broadcast shape, units of ``mu_xx``.

    Raises
    ------
    ValueError
        as ``scaling.sharpness`` does.

    References
    ----------
    the remark in Appendix B.2; Figs. 1A, 5 and 7 draw the curve of ``substituted_first``.
    """
    layers = arguments.integer("depth", depth)
    right = sharpness(layers, r, mu_xx, arch)
    with np.errstate(over="ignore"):
        return Curvatures(right, layers * right, right / layers)


def _network(
    weights: ArrayLike, mu_yx: float, mu_xx: float, arch: str, name: str = "weights"
) -> tuple[Array, float, float, str]:
    arch = check_arch(arch)
    w = arguments.finite(name, weights)
    if w.ndim != 1 or w.size == 0:
        raise arguments.refuse(name, weights, "a list of L numbers, one a layer")
    yx, xx, _ = check_data(mu_yx, mu_xx, arch)
    return w, arguments.one("mu_yx", yx), arguments.one("mu_xx", xx), arch


def _gradient(w: Array, yx: float, xx: float, arch: str) -> Array:
    """d(loss)/d(w_l) for every layer; the products of the other layers come without a division."""
    depth = w.size
    if arch == "chain":
        factor, slope = w, np.ones(depth)
    elif arch == "residual1":
        factor, slope = 1.0 + w / np.sqrt(depth), np.full(depth, depth**-0.5)
    else:
        factor, slope = 1.0 + w * w / depth, 2.0 * w / depth
    before = np.concatenate(([1.0], np.cumprod(factor[:-1])))
    after = np.concatenate((np.cumprod(factor[:0:-1])[::-1], [1.0]))
    return (xx * before[-1] * factor[-1] - yx) * before * after * slope
