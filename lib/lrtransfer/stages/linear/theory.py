"""Constants of Theorem 3.1, Lemma 3.2 and Corollary 3.6, and where they let a run begin.

With s = sqrt(kappa) throughout, kappa = L/mu the condition number of the loss:

    beta = (s - 1)/(s + 1),   tau = 1/(s + 1),   gamma = 1/(s - 1),   rho = mu / (4 (4 s - 3)).

Source: "Stacking as accelerated gradient descent", Sec. 3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.stages.linear.course import default_beta


@dataclass(frozen=True)
class Constants:
    """What the proof of Lemma 3.2 uses at condition number kappa, each of kappa's shape.

    Attributes
    ----------
    kappa
        condition number L/mu
    beta, tau, gamma
        momentum, weight of z in x, and 1/(sqrt(kappa) - 1)
    rho
        penalty on |y - x*|^2, in units of mu
    growth
        1 + gamma/2, by which the potential's factor grows each step
    rate
        1/growth, the contraction each step
    proof_alpha
        largest perturbation the proof supports; ``printed_alpha`` has the paper's
    """

    kappa: Array
    beta: Array
    tau: Array
    gamma: Array
    rho: Array
    growth: Array
    rate: Array
    proof_alpha: Array


def constants(kappa: ArrayLike) -> Constants:
    """All constants of Lemma 3.2 but the printed alpha.

    Parameters
    ----------
    kappa
        condition numbers above 1, any shape

    Returns
    -------
    Constants
        of kappa's shape.

    Raises
    ------
    ValueError
        at kappa <= 1, where gamma does not exist.

    References
    ----------
    Lemma 3.2 and its proof, Sec. 3.
    """
    k = at_least("kappa", kappa, 1.0)
    s = np.sqrt(k)
    return Constants(
        kappa=k[()],
        beta=default_beta(k),
        tau=(1 / (s + 1))[()],
        gamma=(1 / (s - 1))[()],
        rho=(1 / (4 * (4 * s - 3)))[()],
        growth=((2 * s - 1) / (2 * s - 2))[()],
        rate=rate(k),
        proof_alpha=proof_alpha(k),
    )


def rate(kappa: ArrayLike) -> Array:
    """The contraction of Lemma 3.2 each step.

        (2 s - 2)/(2 s - 1),   s = sqrt(kappa)

    Parameters
    ----------
    kappa
        condition numbers, 1 or more, any shape

    Returns
    -------
    ndarray
        the factor in [0, 1) of kappa's shape.

    Raises
    ------
    ValueError
        for a kappa below 1.

    References
    ----------
    Lemma 3.2.
    """
    s = np.sqrt(arguments.finite("kappa", kappa, minimum=1.0))
    return ((2 * s - 2) / (2 * s - 1))[()]


def printed_alpha(kappa: ArrayLike) -> Array:
    """The size of perturbation that Theorem 3.1 prints.

        1/alpha = (kappa - 1) sqrt(2 s (kappa - 1) (s - 3)),   s = sqrt(kappa)

    It exists only for kappa > 9; up to kappa = (2 + sqrt 2)^2 = 11.66 it exceeds ``proof_alpha``.

    Parameters
    ----------
    kappa
        condition numbers above 9, any shape

    Returns
    -------
    ndarray
        alpha of kappa's shape.

    Raises
    ------
    ValueError
        at kappa <= 9.

    References
    ----------
    Theorem 3.1.
    """
    k = at_least("kappa", kappa, 9.0, "as the printed alpha is the root of a negative number below; see proof_alpha")
    s = np.sqrt(k)
    return (1 / ((k - 1) * np.sqrt(2 * s * (k - 1) * (s - 3))))[()]


def proof_alpha(kappa: ArrayLike) -> Array:
    """The largest alpha with which the proof of Lemma 3.2 goes through.

        1/alpha = (s + 1) sqrt(2 s (2 s - 1) (4 s - 3) / (s - 1)),   s = sqrt(kappa) > 1

    It approaches 1/(4 kappa).

    Parameters
    ----------
    kappa
        condition numbers above 1, any shape

    Returns
    -------
    ndarray
        alpha of kappa's shape.

    Raises
    ------
    ValueError
        at kappa <= 1.

    References
    ----------
    Fact 3.9's last display, (2 + 2/gamma)(1 + gamma/2) alpha^2 / tau^2 <= 2 rho / mu, with equality.
    """
    s = np.sqrt(at_least("kappa", kappa, 1.0))
    return (np.sqrt((s - 1) / (2 * s * (2 * s - 1) * (4 * s - 3))) / (s + 1))[()]


def lemma_bounds(
    kappa: ArrayLike, steps: int, *, smoothness: ArrayLike, distance: ArrayLike, gap: ArrayLike
) -> tuple[Array, Array]:
    """Both bounds of Lemma 3.2 on the excess loss at t = 0 .. steps.

        rate^t (L/2 + 8 s mu / (4 (4 s - 3))) |x_0 - x*|^2      and      rate^t 8 s / (4 s - 3) (l(y_0) - l(x*))

    All arguments but ``steps`` broadcast.

    Parameters
    ----------
    kappa
        condition number, >= 1, s its root
    steps
        the last t
    smoothness
        L, positive
    distance
        |x_0 - x*|
    gap
        l(y_0) - l(x*)

    Returns
    -------
    from_distance, from_gap : ndarray
        the two bounds, (steps + 1, ...) each.

    Raises
    ------
    ValueError
        naming the argument.

    References
    ----------
    Lemma 3.2.
    """
    k = arguments.finite("kappa", kappa, minimum=1.0)
    top = arguments.positive("smoothness", smoothness)
    far, excess = arguments.finite("distance", distance, minimum=0.0), arguments.finite("gap", gap, minimum=0.0)
    shape = arguments.broadcast(kappa=k, smoothness=top, distance=far, gap=excess)
    s, t = np.sqrt(k), np.arange(arguments.count("steps", steps) + 1.0).reshape(-1, *(1,) * len(shape))
    with np.errstate(under="ignore"):
        fall = rate(k) ** t
        first = fall * ((top / 2 + 2 * s * (top / k) / (4 * s - 3)) * far**2)
        second = fall * (8 * s / (4 * s - 3) * excess)
    return np.broadcast_to(first, (t.shape[0], *shape)), np.broadcast_to(second, (t.shape[0], *shape))


def at_least(name: str, value: ArrayLike, least: float, why: str = "") -> Array:
    """Finite numbers above ``least``; ``why`` ends the refusal."""
    array = arguments.finite(name, value)
    if (array <= least).any():
        bad = float(array[array <= least].flat[0]) if array.ndim else float(array)
        raise arguments.refuse(name, bad, f"above {least:g}{', ' + why if why else ''}")
    return array
