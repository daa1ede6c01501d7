"""Two layers: gradient descent as a map on the circle, at any number of steps and any width.

The network f(x) = x' W_1 W_2 / h starts at orthogonal W_1 and W_2 and learns y = x' Q / sqrt(h), Q Haar
orthogonal, from data with X'X = n I. Rotate the two bases so that W_1 = W_2 = I; the teacher is then another
Haar matrix, and both weights stay polynomials in Q and Q'. They are normal and diagonal in the eigenbasis of
Q, so gradient descent is h copies of a map of two complex numbers, one copy per eigenvalue z = exp(i theta)
of Q. With w = h^(1/4) omega,

    omega_1 <- omega_1 + kappa_1 e conj(omega_2),   omega_2 <- omega_2 + kappa_2 e conj(omega_1),
    e = z - omega_1 omega_2,   kappa_i = eta_i / h^(3/2),   omega_1 = omega_2 = h^(-1/4) at the start,

and the test loss |W_1 W_2 / h - Q / sqrt(h)|_F^2 is the average of |e|^2 over the eigenvalues
(``quadrature``). The rates appear only through kappa: h^(3/2) is the critical scale. The signal-only
surrogate drops the weights' own product, e -> z, from the update but not from the loss.

Source: arXiv 2606.00340, two-layer model; the reduction is this book's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.layers.quadrature import haar_mean
from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array, Complex, Indices

_NO_RATE = 1e-280  # stands for a rate of zero: changes no weight, and its products do not underflow


@dataclass(frozen=True)
class Measured:
    """An expected loss or curvature with the quadrature's error.

    Attributes
    ----------
    value
        as the function without ``_with_error`` returns it
    error
        estimate of the absolute error, same shape; 0 where the value is not finite
    scale
        the average of |integrand|; the error stays below 1e-6 scale, else a ``QuadratureWarning`` is given
    nodes
        angles used on the half circle, largest over the problems
    """

    value: Array
    error: Array
    scale: Array
    nodes: int


@dataclass(frozen=True)
class BalanceCourse:
    """Loss at equal rates and its curvature in the split, t = 0 .. steps: (steps + 1,) + alpha's shape.

    Attributes
    ----------
    loss, curvature
        as ``expected_loss`` and ``balance_curvature`` give them
    loss_error, curvature_error
        the quadrature's estimates of their absolute errors
    """

    loss: Array
    curvature: Array
    loss_error: Array
    curvature_error: Array


def width_argument(h: object, *, dense: bool = False) -> int:
    """The width h as an int, at least 2; ``dense`` where matrices of h times h are made. ValueError naming ``h``."""
    return arguments.count("h", h, minimum=2, maximum=10**5 if dense else 10**15)


def one_number(name: str, value: ArrayLike) -> float:
    """One finite number as a float. ValueError naming the argument for an array or anything not finite."""
    array = arguments.finite(name, value)
    if array.ndim:
        raise arguments.refuse(name, value, "one number")
    return float(array)


def in_critical_units(name: str, lr: ArrayLike, h: int) -> Array:
    """The rates kappa = eta / h^(3/2), in the shape of ``lr``. ValueError naming the argument where one is negative."""
    return arguments.finite(name, lr, minimum=0.0) / float(h) ** 1.5


def spike_width(kappa: Array, h: int, steps: int) -> Array:
    """Where grading towards z = -1 may stop, in radians: the spike's width at the end, h^(1/4) (1 + kappa)^(-t).

    Parameters
    ----------
    kappa
        Shape (m,): rates eta / h^(3/2), >= 0.
    h
        Width.
    steps
        >= 0.

    Returns
    -------
    array
        (m,), between 1e-10 / h and 1: below, the flat part under the spike no longer counts against the atom at z = -1.

    Source: the linear part of the map near the saddle.
    """
    log_width = 0.25 * np.log(h) - steps * np.log1p(kappa)
    return np.exp(np.clip(log_width, np.log(1e-10 / h), 0.0))


def squared(e: Complex) -> Array:
    """|e|^2 of complex numbers, in their shape, without a square root."""
    return e.real * e.real + e.imag * e.imag


def angle_losses(k1: Array, k2: Array, z: Complex, h: int, steps: int, signal_only: bool, course: bool) -> Array:
    """|e|^2 for rates k (m, 1) and angles z (1 or m, nodes): (1 or steps + 1, m, nodes).

    In a = sqrt(kappa_2) omega_1, b = sqrt(kappa_1) omega_2 and E = sqrt(kappa_1 kappa_2) e the rates drop out
    of the map, a <- a + E conj(b), b <- b + E conj(a): three products a step instead of five.
    """
    root1, root2 = np.sqrt(np.maximum(k1, _NO_RATE)), np.sqrt(np.maximum(k2, _NO_RATE))
    scale = root1 * root2
    target = scale * z
    a = np.empty(target.shape, dtype=complex)
    b = np.empty_like(a)
    a[:], b[:] = root2 * h**-0.25, root1 * h**-0.25
    out = np.empty((steps + 1 if course else 1, *a.shape))
    for t in range(steps + 1):
        error = target - a * b
        if course or t == steps:
            out[t if course else 0] = squared(error / scale)
        if t < steps:
            push = target if signal_only else error
            a, b = a + push * b.conj(), b + push * a.conj()
    return out


def _expected(lr1: ArrayLike, lr2: ArrayLike, h: object, steps: object, signal_only: bool, course: bool) -> Measured:
    width, number = width_argument(h), arguments.count("steps", steps)
    arguments.flag("signal_only", signal_only)
    k1, k2 = in_critical_units("lr1", lr1, width), in_critical_units("lr2", lr2, width)
    try:
        k1, k2 = np.broadcast_arrays(k1, k2)
    except ValueError:
        raise arguments.refuse("lr2", np.shape(lr2), f"of a shape that broadcasts with lr1's {np.shape(lr1)}") from None
    shape, k1, k2 = k1.shape, k1.reshape(-1, 1), k2.reshape(-1, 1)

    def integrand(index: Indices, z: Complex) -> Array:
        return angle_losses(k1[index], k2[index], z, width, number, signal_only, course)

    spike = spike_width((np.sqrt(k1) * np.sqrt(k2))[:, 0], width, number)
    mean = haar_mean(integrand, k1.size, width, number, spike)
    out = (-1, *shape) if course else shape
    value, error, scale = (part.reshape(out) for part in (mean.value, mean.error, mean.scale))
    return Measured(value, error, scale, int(mean.nodes.max(initial=0)))


def expected_loss(lr1: ArrayLike, lr2: ArrayLike, h: int, steps: int, signal_only: bool = False) -> Array:
    """Expected test loss of the two-layer network after ``steps`` steps of gradient descent.

    Parameters
    ----------
    lr1, lr2
        Rates of the two layers, >= 0, in the units of the paper (critical scale h^(3/2)); shapes broadcast.
    h
        Width, input and output dimension, >= 2; the cost does not depend on it.
    steps
        >= 0.
    signal_only
        The surrogate that leaves the weights' own product out of the gradient.

    Returns
    -------
    array
        E |W_1 W_2 / h - M|_F^2 over Haar W_1, W_2 and sqrt(h) M, in the broadcast shape of the rates; 1 + 1/h at step
        0; inf where the run diverged. Relative error below 1e-6 for losses above 1e-18, where rounding of |e|^2 takes
        over, or else a ``QuadratureWarning`` (long runs close to divergence).

    Raises
    ------
    ValueError
        For h < 2, steps < 0 and negative rates.

    Source: arXiv 2606.00340; its one-step and two-step formulas are the cases ``signal_only``, steps 1 and 2.
    """
    return expected_loss_with_error(lr1, lr2, h, steps, signal_only).value


def expected_loss_with_error(lr1: ArrayLike, lr2: ArrayLike, h: int, steps: int, signal_only: bool = False) -> Measured:
    """``expected_loss`` with the quadrature's own estimate of its error.

    Parameters
    ----------
    lr1, lr2, h, steps, signal_only
        as in ``expected_loss``, whose errors and source hold here too

    Returns
    -------
    Measured
        in the broadcast shape of the rates.
    """
    return _expected(lr1, lr2, h, steps, signal_only, course=False)


def loss_course(lr1: ArrayLike, lr2: ArrayLike, h: int, steps: int, signal_only: bool = False) -> Array:
    """``expected_loss`` after every step 0 .. steps.

    Parameters
    ----------
    lr1, lr2, h, steps, signal_only
        as in ``expected_loss``, whose errors and source hold here too

    Returns
    -------
    array
        (steps + 1,) + the broadcast shape of the rates.
    """
    return _expected(lr1, lr2, h, steps, signal_only, course=True).value


def _jets(kappa: Array, z: Complex, h: int, steps: int, signal_only: bool, course: bool) -> Array:
    """|e|^2 and its second derivative in the split at equal rates: (2 or 2 (steps + 1), m, nodes).

    At rates kappa (1 +- delta) exchanging the layers changes the sign of delta, so omega_{1,2} = w +- delta p
    + delta^2 q and e = e0 + delta^2 e2. Differences of losses would lose all digits once the spike is narrow.
    """
    w = np.full(np.broadcast_shapes(kappa.shape, z.shape), h**-0.25, dtype=complex)
    p, q = np.zeros_like(w), np.zeros_like(w)
    out = np.empty((2, steps + 1 if course else 1, *w.shape))
    for t in range(steps + 1):
        e0, e2 = z - w * w, p * p - 2 * w * q
        if course or t == steps:
            at = t if course else 0
            out[0, at] = squared(e0)
            out[1, at] = 4 * (e0.real * e2.real + e0.imag * e2.imag)
        if t < steps:
            step = kappa * (z if signal_only else e0)
            again = 0.0 if signal_only else kappa * e2 * w.conj()
            w, p, q = (
                w + step * w.conj(),
                p + step * (w - p).conj(),
                q + step * (q - p).conj() + again,
            )
    return out.reshape(-1, *w.shape)


def _balance(alpha: ArrayLike, h: object, steps: object, signal_only: bool, course: bool) -> tuple[Measured, Measured]:
    width, number = width_argument(h), arguments.count("steps", steps)
    arguments.flag("signal_only", signal_only)
    exponent = arguments.finite("alpha", alpha)
    with np.errstate(over="ignore"):  # an absurd alpha is a rate of inf: it diverges
        kappa = float(width) ** (exponent.reshape(-1, 1) - 1.5)
    kappa = np.minimum(kappa, 1e300)

    def integrand(index: Indices, z: Complex) -> Array:
        return _jets(kappa[index], z, width, number, signal_only, course)

    mean = haar_mean(integrand, kappa.size, width, number, spike_width(kappa[:, 0], width, number))
    out = (2, -1, *exponent.shape) if course else (2, *exponent.shape)
    value, error, scale = (part.reshape(out) for part in (mean.value, mean.error, mean.scale))
    # The loss stayed finite but the derivative overflowed: the saddle at z = -1, whose curvature is negative.
    value[1] = np.where(np.isfinite(value[1]) | np.isinf(value[0]), value[1], -np.inf)
    nodes = int(mean.nodes.max(initial=0))
    return tuple(Measured(value[k], error[k], scale[k], nodes) for k in (0, 1))  # type: ignore[return-value]


def balance_curvature(alpha: ArrayLike, h: int, steps: int, signal_only: bool = False) -> Array:
    """Curvature of the loss in the split of the rates: positive where balanced rates are a local minimum.

    d^2/d delta^2 at delta = 0 of ``expected_loss`` at rates h^alpha (1 + delta) and h^alpha (1 - delta).

    Parameters
    ----------
    alpha
        Exponent of the mean rate; the paper studies 0 < alpha <= 3/2, others are computed all the same; shapes
        broadcast.
    h
        Width, >= 2.
    steps
        >= 0.
    signal_only
        Of the surrogate instead.

    Returns
    -------
    array
        An array of alpha's shape; inf where the loss diverged, -inf where only the derivative overflowed. The
        error is below 1e-6 of the average of |integrand|, or else a ``QuadratureWarning``.

    Raises
    ------
    ValueError
        For h < 2, steps < 0 and an alpha that is not finite.

    Source: arXiv 2606.00340, Corollary 5.4 (steps 1 and 2 of the surrogate); all other steps are this book's.
    """
    return _balance(alpha, h, steps, signal_only, course=False)[1].value


def balance_course(alpha: ArrayLike, h: int, steps: int, signal_only: bool = False) -> BalanceCourse:
    """Loss at equal rates and ``balance_curvature`` after every step 0 .. steps, from one run.

    Parameters
    ----------
    alpha, h, steps, signal_only
        as in ``balance_curvature``, whose errors and source hold here too

    Returns
    -------
    BalanceCourse
        (steps + 1,) + alpha's shape.
    """
    loss, curvature = _balance(alpha, h, steps, signal_only, course=True)
    return BalanceCourse(loss.value, curvature.value, loss.error, curvature.error)
