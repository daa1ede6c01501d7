"""The data of a linear regression as the width engine uses it: checked, and reduced to d numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array

PARAMETRISATIONS = ("mup", "sp", "ntp")


LARGEST = 1e40  # of the data: the loss and the best rate hold fourth powers, which must stay finite


@dataclass(frozen=True)
class Regression:
    """Inputs X of shape (m, d) and targets y of shape (m,), with the loss ``|X theta - y|^2 / (2 m)``.

    With ``X = Q R`` the loss is ``(|R theta - z|^2 + rest) / (2 m)``, ``z = Q'y``: d numbers instead of m,
    and no cancellation against the part of y that no theta can fit.
    """

    X: Array
    y: Array
    R: Array
    z: Array
    rest: float

    @property
    def m(self) -> int:
        """Number of samples."""
        return self.X.shape[0]

    @property
    def d(self) -> int:
        """Input dimension."""
        return self.X.shape[1]

    def loss(self, theta: Array) -> Array:
        """Losses of linear forms theta of shape (d, ...), inf where theta is; shape (...)."""
        return (self.excess(theta) + self.rest) / (2 * self.m)

    def excess(self, theta: Array) -> Array:
        """``|R theta - z|^2``: 2 m times the loss above that of the best linear form; inf where theta is."""
        finite = np.isfinite(theta).all(axis=0)
        with np.errstate(over="ignore", invalid="ignore"):
            excess = np.sum(self._misfit(np.where(finite, theta, 0.0)) ** 2, axis=0)
        return np.where(finite & np.isfinite(excess), excess, math.inf)

    def gradient(self, theta: Array) -> Array:
        """``u = X'(X theta - y) / m``, the same for every layer, for theta of shape (d, ...)."""
        return np.tensordot(self.R.T, self._misfit(theta), 1) / self.m

    def _misfit(self, theta: Array) -> Array:
        return np.tensordot(self.R, theta, 1) - self.z.reshape(-1, *[1] * (theta.ndim - 1))

    @property
    def degenerate(self) -> bool:
        """Whether ``K y = 0`` (to rounding), that is ``X'y = 0``: one step then has nothing to learn."""
        size = float(np.linalg.norm(self.X) * np.linalg.norm(self.y))
        return bool(np.linalg.norm(self.X.T @ self.y) <= 4 * self.m * np.finfo(float).eps * size)


def regression(X: ArrayLike, y: ArrayLike) -> Regression:
    """Checked data, reduced by ``X = Q R`` to R, (min(m, d), d), and ``z = Q'y``, (min(m, d),).

    ``X`` inputs (m, d), ``y`` targets (m,), in any unit. Returns a ``Regression``. Raises ValueError naming the
    argument if they are not finite arrays of these shapes.
    """
    inputs = arguments.within("X", arguments.finite("X", X), LARGEST)
    targets = arguments.within("y", arguments.finite("y", y), LARGEST)
    if inputs.ndim != 2 or inputs.size == 0:
        raise arguments.refuse("X", inputs.shape, "an array of shape (m, d) with m, d >= 1 (the value is its shape)")
    if targets.shape != inputs.shape[:1]:
        allowed = f"of shape ({inputs.shape[0]},), one target a row of X (the value is its shape)"
        raise arguments.refuse("y", targets.shape, allowed)
    q, r = np.linalg.qr(inputs)
    z = q.T @ targets
    return Regression(inputs, targets, r, z, float(np.sum((targets - q @ z) ** 2)))


def widths_of(widths: Sequence[float]) -> list[float]:
    """The widths of a list, one at least. Raises ValueError naming ``widths``."""
    allowed = "a list of whole numbers, at least 1"
    listed = arguments.entries("widths", widths, allowed)
    return [arguments.one("widths", arguments.integer("widths", n, infinite=True)) for n in listed]  # type: ignore[arg-type]


def width_of(width: float, *, infinite: bool) -> float:
    """The width n >= 1 as a float; ``math.inf`` is let pass where ``infinite``.

    Raises ValueError naming ``width`` for anything but one whole number.
    """
    checked = arguments.integer("width", width, minimum=1, infinite=infinite)
    if checked.ndim:
        raise arguments.refuse("width", width, "one whole number, at least 1")
    return float(checked)


def limit_lr(X: ArrayLike, y: ArrayLike, hidden_layers: int) -> float:
    """The best rate of one step at infinite width under muP.

    ``eta_inf = (m / L) y'K y / |K y|^2``, ``K = X X' / d``: in the limit one step moves the outputs to
    ``eta (L / m) K y`` and the loss is a parabola in eta.

    Parameters
    ----------
    X, y
        Inputs of shape (m, d) and targets of shape (m,).
    hidden_layers
        The number L of trained n x n matrices.

    Returns
    -------
    float
        The rate, dimensionless once x and y are.

    Raises
    ------
    ValueError
        For malformed data, and when ``K y = 0``: the loss then does not depend on the rate.

    Source: Hayou, 'A Proof of Learning Rate Transfer under muP' (2025), theorem for t = 1.
    """
    return limit_lr_of(regression(X, y), arguments.count("hidden_layers", hidden_layers, minimum=1))


def limit_lr_of(data: Regression, layers: int) -> float:
    """``limit_lr`` of data and a number of hidden layers that have passed their checks.

    Raises ValueError naming ``y`` when ``K y = 0``.
    """
    if data.degenerate:
        raise arguments.refuse("y", "a vector with K y = 0", "correlated with the inputs, X'y != 0")
    correlation = data.X.T @ data.y  # y'Ky = |X'y|^2 / d and |Ky|^2 = |X X'y|^2 / d^2
    image = data.X @ correlation
    return float(data.m * data.d * (correlation @ correlation) / (layers * (image @ image)))


def sp_limit_lr(X: ArrayLike, y: ArrayLike, hidden_layers: int, theta0: ArrayLike) -> Array:
    """The limit of n eta_n under SP (of eta_n under NTP), given the linear form at initialisation.

    ``(m / L) chi'K chi / |K chi|^2`` with ``chi = X theta_0 - y``. In the limit ``theta_0 ~ N(0, I / d)``
    stays random, so the limit is random unless all nonzero eigenvalues of K are equal (d = 1 in particular,
    where it is ``m / (L lambda)``).

    Parameters
    ----------
    X, y, hidden_layers
        As in ``limit_lr``.
    theta0
        One linear form or many, shape (..., d).

    Returns
    -------
    array
        One limit a form, shape (...); inf where K chi = 0 exactly (nothing to learn, any rate does).

    Raises
    ------
    ValueError
        For malformed data or a theta0 whose last axis is not d.

    Source: the theorem for t = 1 with y replaced by -chi; derived, not printed.
    """
    data = regression(X, y)
    layers = arguments.count("hidden_layers", hidden_layers, minimum=1)
    forms = arguments.within("theta0", arguments.finite("theta0", theta0), LARGEST)
    if forms.ndim == 0 or forms.shape[-1] != data.d:
        raise arguments.refuse("theta0", forms.shape, f"of shape (..., {data.d}) (the value is its shape)")
    slope = data.gradient(np.moveaxis(forms, -1, 0))  # X'chi / m
    above = np.sum(slope**2, axis=0)
    below = np.sum(np.tensordot(data.R, slope, 1) ** 2, axis=0)
    safe = np.where(below > 0, below, 1.0)
    return np.where(below > 0, data.m * data.d * above / (layers * safe), math.inf)


def synthetic_data(m: int = 1000, d: int = 1, noise_variance: float = 0.01, *, seed: int) -> tuple[Array, Array]:
    """Inputs and targets of the paper's experiment: ``y = w'x + eps``, x ~ N(0, I_d), w ~ N(0, I_d / d).

    Parameters
    ----------
    m, d
        numbers of samples and of input dimensions, whole, from 1 on
    noise_variance
        of eps, not negative
    seed
        whole number from 0; equal seeds give equal data

    Returns
    -------
    X, y : ndarray
        (m, d) and (m,).

    Raises
    ------
    ValueError
        naming the argument.

    References
    ----------
    Hayou, 'A Proof of Learning Rate Transfer under muP' (2025), setup of Fig. 2.
    """
    samples, dim = arguments.count("m", m, minimum=1), arguments.count("d", d, minimum=1)
    variance = arguments.one("noise_variance", arguments.finite("noise_variance", noise_variance, minimum=0.0))
    rng = np.random.default_rng(arguments.seed("seed", seed))
    X = rng.standard_normal((samples, dim))
    teacher = rng.standard_normal(dim) / math.sqrt(dim)
    return X, X @ teacher + math.sqrt(variance) * rng.standard_normal(samples)
