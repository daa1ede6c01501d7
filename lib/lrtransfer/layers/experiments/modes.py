"""The modes of the two-layer map one by one, and its average by equispaced angles: what the figures show of it.

``circle`` averages over the modes with an error that it controls; here the modes are kept apart, and the average is
the plain one whose failure the chapter shows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.layers.circle import in_critical_units, one_number, squared, width_argument
from lrtransfer.layers.slider import rule
from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array, Complex
from lrtransfer.numerics.overflow import inf_from_overflow


def circle_points(theta: ArrayLike) -> Complex:
    """The eigenvalues exp(i theta), with exactly -1 at theta = pi: a rounded one would leave the saddle there.

    Parameters
    ----------
    theta
        Angles in radians; shapes broadcast.

    Returns
    -------
    array
        An array of their shape.

    Raises
    ------
    ValueError
        For an argument out of its range, which it names.

    Source: elementary.
    """
    angle = arguments.finite("theta", theta)
    return np.where(np.isclose(angle, np.pi, rtol=0, atol=1e-12), -1.0, np.exp(1j * angle))


def products(z: Complex, kappa1: ArrayLike, kappa2: ArrayLike, h: int, steps: int) -> Complex:
    """The product omega_1 omega_2 of every mode along gradient descent.

        omega_1 <- omega_1 + kappa_1 e conj(omega_2),    omega_2 <- omega_2 + kappa_2 e conj(omega_1),
        e = z - omega_1 omega_2,    omega_1 = omega_2 = h^(-1/4) at the start

    Parameters
    ----------
    z
        Eigenvalues, any shape.
    kappa1, kappa2
        Rates eta / h^(3/2), >= 0; a number, or one for each step.
    h
        Width, >= 2.
    steps
        >= 0.

    Returns
    -------
    array
        (steps + 1,) + the shape of z; inf from where a mode diverges. Its error |z - product|^2 is the mode's share of
        the loss.

    Raises
    ------
    ValueError
        For an argument out of its range, which it names.

    Source: the reduction of ``circle``.
    """
    width, number = width_argument(h), arguments.count("steps", steps)
    one_rate, two_rate = (
        np.broadcast_to(arguments.finite(name, value, minimum=0.0), (number,))
        for name, value in (("kappa1", kappa1), ("kappa2", kappa2))
    )
    points = np.asarray(z, dtype=complex)
    one = two = np.full(points.shape, width**-0.25, dtype=complex)
    out = [one * two]
    with np.errstate(all="ignore"):
        for k1, k2 in zip(one_rate, two_rate, strict=True):
            e = points - one * two
            one, two = one + k1 * e * two.conj(), two + k2 * e * one.conj()
            out.append(one * two)
    path = np.array(out)
    return np.where(np.logical_and.accumulate(np.isfinite(path), axis=0), path, np.inf)


def equispaced_loss(lr: float, h: int, steps: int, angles: int) -> float:
    """Expected loss at the rate ``lr`` of both layers by equispaced angles: the rule that misses a narrow spike.

    Parameters
    ----------
    lr
        Rate, >= 0.
    h
        Width, >= 2.
    steps
        >= 0.
    angles
        Intervals on [0, pi], >= 1, both ends included.

    Returns
    -------
    float
        One number, as ``expected_loss`` where the angles resolve the integrand.

    Raises
    ------
    ValueError
        For an argument out of its range, which it names.

    Source: the trapezoid rule for the average of ``quadrature``.
    """
    number, width = arguments.count("angles", angles, minimum=1), width_argument(h)
    kappa = one_number("lr", in_critical_units("lr", lr, width))
    z = circle_points(np.pi * np.arange(number + 1) / number)
    with np.errstate(over="ignore"):
        f = squared(z - products(z, kappa, kappa, width, steps)[-1])
    if not np.isfinite(f).all():
        return float("inf")
    mean = (f.sum() - (f[0] + f[-1]) / 2) / number
    return float(((width - 1) * mean + (f[0] + f[-1]) / 2) / width)


def scheduled_loss(splits: Sequence[float] | Array, lr: float, h: int) -> float:
    """Expected loss after a schedule of splits: step t has the rates lr (1 + split_t) and lr (1 - split_t).

    Parameters
    ----------
    splits
        Shape (steps,): each in [-1, 1].
    lr
        Mean rate, >= 0.
    h
        Width, >= 2.

    Returns
    -------
    float
        One number, by the fixed rule of ``slider``.

    Raises
    ------
    ValueError
        For an argument out of its range, which it names.

    Source: this book.
    """
    width, delta = width_argument(h), arguments.finite("splits", splits)
    if delta.ndim != 1 or (np.abs(delta) > 1).any():
        raise arguments.refuse("splits", splits, "a list of numbers between -1 and 1")
    kappa = one_number("lr", in_critical_units("lr", lr, width))
    s, weights = rule()
    z = np.append(-np.cos(s) + 1j * np.sin(s), [-1.0, 1.0])
    average = np.append((width - 1) / width * weights, [0.5 / width, 0.5 / width])
    last = products(z, kappa * (1 + delta), kappa * (1 - delta), width, delta.size)[-1]
    with np.errstate(over="ignore"):
        return float(np.abs(z - last) ** 2 @ average)


def spectrum_losses(cosines: ArrayLike, lr1: ArrayLike, lr2: ArrayLike, h: int, steps: Sequence[int]) -> Array:
    """Test loss of single networks from the eigenvalues of their rotated teachers: what a dense run would show.

    Parameters
    ----------
    cosines
        cos(theta) of all h eigenvalues of every draw, (draws, h), as ``haar_cosines`` gives them.
    lr1, lr2
        Rates (n,), >= 0.
    h
        Width, >= 2.
    steps
        The steps to report, each >= 0, increasing.

    Returns
    -------
    array
        The mean of |e|^2 over the eigenvalues, (len(steps), draws, n). Modes come in conjugate pairs, so the sign of
        theta does not matter. Inf from where a run diverges.

    Raises
    ------
    ValueError
        For an argument out of its range, which it names.

    Source: the reduction of ``circle``.
    """
    width, real = width_argument(h), np.clip(arguments.finite("cosines", cosines), -1, 1)
    if real.ndim != 2 or real.shape[1] != width:
        raise arguments.refuse("cosines", real.shape, f"of shape (draws, {width}) (the value is its shape)")
    wanted = [arguments.count("steps", t) for t in steps]
    if not wanted or sorted(set(wanted)) != wanted:
        raise arguments.refuse("steps", list(steps), "a list of increasing steps")
    z = (real + 1j * np.sqrt((1 - real) * (1 + real)))[..., None]
    k1, k2 = (in_critical_units(name, lr, width).reshape(-1) for name, lr in (("lr1", lr1), ("lr2", lr2)))
    one = two = np.full((*real.shape, max(k1.size, k2.size)), width**-0.25, dtype=complex)
    out = []
    with np.errstate(all="ignore"):
        for t in range(wanted[-1] + 1):
            e = z - one * two
            if t in wanted:
                out.append(squared(e).mean(axis=1))
            one, two = one + k1 * e * two.conj(), two + k2 * e * one.conj()
    return inf_from_overflow(out)
