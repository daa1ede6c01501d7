"""One stage's end from its start: the early-stopped step, its mean over random starts, and a smoothed loss."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.overflow import or_inf
from lrtransfer.stages.functional.losses import SampleLoss, predictions


def random_steps(loss: SampleLoss, predictor: ArrayLike, noise: ArrayLike, lam: float) -> Array:
    """Where stages that begin at F + g end, for each g.

        F + g - grad l(F + g)/lam

    Parameters
    ----------
    loss
        l
    predictor
        F, (m, d)
    noise
        g, (n, m, d)
    lam
        positive

    Returns
    -------
    ndarray
        (n, m, d).

    Raises
    ------
    ValueError
        naming the argument.
    """
    f, kicks = predictions("predictor", predictor, loss), arguments.finite("noise", noise)
    arguments.broadcast(predictor=f, noise=kicks)
    begin = f + kicks
    return begin - loss.gradient(begin) / arguments.one("lam", arguments.positive("lam", lam))


def smoothed(loss: SampleLoss, predictor: ArrayLike, scale: ArrayLike, nodes: int = 60) -> tuple[Array, Array]:
    """Value and gradient at F of the smoothed loss E l(F + g), g_i Gaussian of mean 0 and deviation ``scale``_i.

    By Gauss-Hermite quadrature, exact for polynomials of degree below 2 ``nodes``: the loss is a mean over points, and
    the values at one point only need g at that point, so that g may be correlated between points in any way.

    Parameters
    ----------
    loss
        l
    predictor
        F, (m, 1)
    scale
        not negative, one number or one a point, (m, 1)
    nodes
        of the quadrature

    Returns
    -------
    value : ndarray
        one number
    gradient : ndarray
        (m, 1).

    Raises
    ------
    ValueError
        naming the argument.
    """
    f = predictions("predictor", predictor, loss)
    if f.shape[1] != 1:
        raise ValueError(f"predictor of shape {f.shape} is not allowed: predictor must be (m, 1).")
    size = arguments.finite("scale", scale, minimum=0.0)
    if size.shape not in ((), f.shape):
        raise ValueError(f"scale of shape {size.shape} is not allowed: scale must be one number or {f.shape}.")
    x, w = np.polynomial.hermite_e.hermegauss(arguments.count("nodes", nodes, minimum=1))
    at = f + size * x[:, None, None]
    w = w / w.sum()
    return np.asarray(w @ loss.value(at)), np.tensordot(w, loss.gradient(at), 1)


def minimise_stage(loss: SampleLoss, begin: ArrayLike, lam: float, *, linearised: bool = True) -> Array:
    """The minimiser of Assumption 2.1 by an actual minimisation (L-BFGS, started at 0).

    Parameters
    ----------
    loss
        l
    begin
        F0, (m, d)
    lam
        regularisation, positive
    linearised
        minimise l(F0) + <grad l(F0), F - F0> + (lam/2)|F - F0|^2; otherwise l(F) + (lam/2)|F - F0|^2, which the
        assumption simplifies

    Returns
    -------
    ndarray
        F, (m, d).

    Raises
    ------
    ValueError
        naming the argument.
    """
    from scipy.optimize import minimize

    f0 = predictions("begin", begin, loss)
    pull = arguments.one("lam", arguments.positive("lam", lam))
    arguments.flag("linearised", linearised)
    slope = loss.gradient(f0)

    def objective(flat: Array) -> tuple[float, Array]:
        f = flat.reshape(f0.shape)
        away = f - f0
        if linearised:
            value, gradient = float((slope * away).sum()), slope
        else:
            value, gradient = float(loss.value(f)) * f0.shape[0], loss.gradient(f)
        return value + pull / 2 * float((away * away).sum()), (gradient + pull * away).ravel()  # m times L2(D)'s

    options = {"ftol": 0.0, "gtol": 1e-12, "maxiter": 2000, "maxfun": 10000}
    return minimize(objective, np.zeros(f0.size), jac=True, method="L-BFGS-B", options=options).x.reshape(f0.shape)


def early_stopped(loss: SampleLoss, begin: ArrayLike, lr: float, steps: int) -> Array:
    """What the assumption stands for: functional gradient steps from F0, and no more.

    Parameters
    ----------
    loss
        l
    begin
        F0, (m, d)
    lr
        length of each step, positive
    steps
        how many

    Returns
    -------
    ndarray
        F after them, (m, d); inf where it diverged.

    Raises
    ------
    ValueError
        naming the argument.
    """
    f = predictions("begin", begin, loss)
    rate = arguments.one("lr", arguments.positive("lr", lr))
    with np.errstate(all="ignore"):
        for _ in range(arguments.count("steps", steps)):
            f = f - rate * loss.gradient(f)
    return or_inf(f)
