"""Nesterov's method with errors in its momentum: runs with random and adversarial errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.stages.linear.theory import constants

PERTURBATIONS = ("none", "random", "adversarial")


@dataclass(frozen=True)
class PerturbedRun:
    """A run of Eq. 7 on a quadratic, T steps; ... are the leading axes of start and alpha, n the coordinates.

    Attributes
    ----------
    y, x, z
        iterates, and z = x/tau - y (1 - tau)/tau, each (T + 1, ..., n)
    deltas
        the errors Delta_t, (T + 1, ..., n), 0 at t = 0
    gap
        l(y_t) - l*, (T + 1, ...)
    potential
        Phi(t) of Eq. 11, (T + 1, ...), with its factor (1 + gamma/2)^t
    kappa
        condition number
    """

    y: Array
    x: Array
    z: Array
    deltas: Array
    gap: Array
    potential: Array
    kappa: float


def perturbed_nesterov(
    curvatures: ArrayLike,
    start: ArrayLike,
    steps: int,
    *,
    perturb: str | Callable[[Array, Array], Array] = "none",
    alpha: ArrayLike = 0.0,
    seed: int = 0,
) -> PerturbedRun:
    """Nesterov's method on l(x) = (1/2) sum_i h_i x_i^2 with errors of size alpha |y_t - y_{t-1}| exactly.

    Parameters
    ----------
    curvatures
        h, (n,), positive; L and mu are the largest and the smallest
    start
        x_0 = y_0, (..., n)
    steps
        T
    perturb
        direction of Delta_t: "random", uniform on the sphere; "adversarial", the one that makes Phi(t) largest, which
        is that of the unperturbed z_t; "none"; or a function of y_t and y_{t-1}, (..., n) each, that returns a vector,
        (..., n), used by its direction
    alpha
        size, not negative, broadcast with the leading axes of ``start``
    seed
        of "random"

    Returns
    -------
    PerturbedRun
        iterates, errors, gap and potential.

    Raises
    ------
    ValueError
        for bad arguments, among them curvatures that are all equal.

    References
    ----------
    Eqs. 7, 10 and 11.
    """
    h, first = arguments.positive("curvatures", curvatures), arguments.finite("start", start)
    if h.ndim != 1 or first.ndim < 1 or first.shape[-1] != h.size:
        raise ValueError(f"curvatures of shape {h.shape} and start of shape {first.shape} do not match: (n,), (.., n).")
    top, mu = float(h.max()), float(h.min())
    if top == mu:
        raise arguments.refuse("curvatures", mu, "not all equal, as gamma = 1/(sqrt(kappa) - 1)")
    size, steps = arguments.finite("alpha", alpha, minimum=0.0), arguments.count("steps", steps)
    if not callable(perturb):
        arguments.choice("perturb", perturb, PERTURBATIONS)
    shape = (*arguments.broadcast(start=first[..., 0], alpha=size), h.size)
    generator = np.random.default_rng(arguments.seed("seed", seed))
    c = constants(top / mu)
    y, x, z, deltas = np.zeros((4, steps + 1, *shape))
    y[0] = x[0] = z[0] = first
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        for t in range(1, steps + 1):
            y[t] = (1 - h / top) * x[t - 1]
            change = y[t] - y[t - 1]
            ahead = y[t] + c.beta * change
            if perturb != "none":
                if callable(perturb):
                    towards = _direction(perturb(y[t], y[t - 1]), shape)
                elif perturb == "random":
                    towards = generator.standard_normal(shape)
                else:
                    towards = ahead / c.tau - (1 - c.tau) / c.tau * y[t]
                deltas[t] = (size * _length(change))[..., None] * _unit(towards)
            x[t] = ahead + deltas[t]
            z[t] = x[t] / c.tau - (1 - c.tau) / c.tau * y[t]
        gap = 0.5 * (h * y * y).sum(axis=-1)
        phi = gap + mu / 2 * (z * z).sum(axis=-1) + 2 * mu * c.rho * (y * y).sum(axis=-1)
        phi *= (float(c.growth) ** np.arange(steps + 1.0)).reshape(-1, *(1,) * (phi.ndim - 1))
    y, x, z, deltas, gap, phi = (np.where(np.isfinite(a), a, np.inf) for a in (y, x, z, deltas, gap, phi))
    return PerturbedRun(y, x, z, deltas, gap, phi, float(top / mu))


def _direction(found: object, shape: tuple[int, ...]) -> Array:
    """What a caller's ``perturb`` returned, if it is a vector a run."""
    towards = arguments.number("perturb", found)  # type: ignore[arg-type]
    pairs = list(zip(towards.shape[::-1], shape[::-1], strict=False))
    if not 0 < towards.ndim <= len(shape) or pairs[0][0] != shape[-1] or any(own not in (1, n) for own, n in pairs):
        raise ValueError(
            f"perturb returned the shape {towards.shape}, which is not allowed: perturb must return {shape}."
        )
    return towards


def _length(v: Array) -> Array:
    return np.sqrt((v * v).sum(axis=-1))


def _unit(v: Array) -> Array:
    """Unit vectors; the first axis where a vector is zero."""
    size = _length(v)[..., None]
    zero = size == 0
    return np.where(zero, np.eye(v.shape[-1])[0], v) / np.where(zero, 1.0, size)
