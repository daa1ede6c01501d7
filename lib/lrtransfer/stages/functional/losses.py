"""Losses of predictors known by their values on a sample, with their gradients in L2(D)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array


@dataclass(frozen=True)
class SampleLoss:
    """A loss of predictions F (..., m, d), with its gradient in L2(D).

    Attributes
    ----------
    value
        F to an array (...)
    gradient
        F to an array of F's shape
    smoothness, convexity
        L and mu of the loss as a functional on L2(D)
    shape
        (m, d) of the predictions it takes; None where that is not known
    """

    value: Callable[[Array], Array]
    gradient: Callable[[Array], Array]
    smoothness: float
    convexity: float
    shape: tuple[int, int] | None = None


def squared_loss(targets: ArrayLike, metric: ArrayLike | None = None) -> SampleLoss:
    """mean_i (1/2) (F_i - y_i)' H (F_i - y_i).

    Parameters
    ----------
    targets
        y, (m, d)
    metric
        H, symmetric positive definite, (d, d). The identity by default, where one step with lam = 1 reaches the
        targets; another H has condition number L/mu, the ratio of its extreme eigenvalues

    Returns
    -------
    SampleLoss
        of predictions (m, d).

    Raises
    ------
    ValueError
        naming the argument.
    """
    y = sample_rows("targets", targets)
    h = np.eye(y.shape[1]) if metric is None else arguments.finite("metric", metric)
    if h.shape != (y.shape[1],) * 2 or not np.allclose(h, h.T, rtol=1e-12, atol=0):
        raise ValueError(f"metric of shape {h.shape} is not allowed: metric must be ({y.shape[1]},) * 2 and symmetric.")
    eigenvalues = np.linalg.eigvalsh(h)
    if eigenvalues[0] <= 0:
        raise arguments.refuse("metric", float(eigenvalues[0]), "positive definite (this is its smallest eigenvalue)")
    return SampleLoss(
        lambda f: 0.5 * np.einsum("...ij,...ij->...", (f - y) @ h, f - y) / y.shape[0],
        lambda f: (f - y) @ h,
        float(eigenvalues[-1]),
        float(eigenvalues[0]),
        (y.shape[0], y.shape[1]),
    )


def logistic_loss(labels: ArrayLike, ridge: float = 0.0) -> SampleLoss:
    """mean_i log(1 + exp(-y_i F_i)) + (ridge/2) F_i^2.

    Parameters
    ----------
    labels
        y = -1 or 1, (m,)
    ridge
        0 or more

    Returns
    -------
    SampleLoss
        of predictions (m, 1); L = 1/4 + ridge, mu = ridge.

    Raises
    ------
    ValueError
        naming the argument.
    """
    y = arguments.finite("labels", labels)
    if y.ndim != 1 or not np.isin(y, (-1.0, 1.0)).all():
        raise ValueError(f"labels of shape {y.shape} are not allowed: labels must be (m,), each -1 or 1.")
    extra = arguments.one("ridge", arguments.finite("ridge", ridge, minimum=0.0))
    column = y[:, None]
    return SampleLoss(
        lambda f: (np.logaddexp(0.0, -column * f) + extra / 2 * f * f).mean(axis=(-2, -1)),
        lambda f: -column * np.exp(-np.logaddexp(0.0, column * f)) + extra * f,
        0.25 + extra,
        extra,
        (y.size, 1),
    )


def predictions(name: str, value: ArrayLike, loss: SampleLoss) -> Array:
    """Checked predictions that a loss takes.

    Parameters
    ----------
    name
        of the argument, for the error
    value
        (m, d)
    loss
        the loss

    Returns
    -------
    ndarray
        the same as floats.

    Raises
    ------
    ValueError
        naming the argument, or ``loss`` if it is none.
    """
    if not isinstance(loss, SampleLoss):
        raise arguments.refuse("loss", loss, "a SampleLoss, such as squared_loss(targets) or logistic_loss(labels)")
    array = sample_rows(name, value)
    if loss.shape is not None and array.shape != loss.shape:
        raise ValueError(
            f"{name} of shape {array.shape} is not allowed: {name} must be {loss.shape}, as the loss takes."
        )
    return array


def sample_rows(name: str, value: ArrayLike) -> Array:
    """Finite values (m, d), one row a point of the sample."""
    array = arguments.finite(name, value)
    if array.ndim != 2 or not array.size:
        raise ValueError(f"{name} of shape {array.shape} is not allowed: {name} must be (m, d), one row a point.")
    return array
