r"""When balanced rates stop being the best: the late-time law of the two-layer network.

With equal rates the mode at z = -1 keeps omega_1 = omega_2 real and runs into the saddle at 0: it is never
learned. Modes near it leave the saddle late, so at late times they are all that is left of the loss, and a
split of the rates is what lets them leave earlier. The law follows from three steps. Write tau = kappa t and
s = sqrt(1 - delta^2).

1. Balance. For small kappa the map is a flow, which conserves |omega_1|^2/(1+delta) - |omega_2|^2/(1-delta).
   At large h the start is near 0, so omega_1 = sqrt(1+delta) nu_1, omega_2 = sqrt(1-delta) nu_2 with |nu_1| =
   |nu_2|, and nu obeys the flow of equal rates slowed down by s.
2. Near the start the flow is linear. Its growing part has |m|^2 = (1/s^2 + cos(theta)/s) / (2 sqrt h) and
   grows like exp(s tau); along it the product omega_1 omega_2 conj(z) = s rho^2 is real and follows rho' = s
   rho (1 - s rho^2). Hence s rho^2 = g / (1 + g) with g = s |m|^2 exp(2 s tau) = A (1/s + cos theta), A =
   exp(2 s tau) / (2 sqrt h).
3. Average |e|^2 = (1 + g)^-2 over theta:

       L(t, delta) = a / (a^2 - A^2)^(3/2),   a = 1 + A/s,

       d^2 L / d delta^2 at 0 = [(A' - A)(2 + A) - 3 A^2 (1 + A)] / (1 + 2A)^(5/2),   A' = dA/ds = 2 tau A.

The positive term is the time lost by a split, tau; the negative one the faster escape at z = -1. They cancel
at A = (2 tau - 1) / 3 to leading order, that is

       tau = (1/4) ln h + (1/2) ln((2/3) (2 tau - 1)),   t = tau h^(3/2 - alpha).

Over h = 100 to 10^5 this looks like 0.33 ln h; the slope in ln h tends to 1/4. Beyond that time the best
split is the minimum of L over s; at large tau it tends to delta = sqrt(3 / (4 tau)).

The functions below use A = [(1 + s kappa)^(2t) - (1 - s kappa)^(2t)] / (2 sqrt h), the discrete growth and
decay of the linear part, which tends to the A above at small kappa once tau is not small.

At early times the same balance of terms of order 1/h (products of the starting weights) against tau^3 /
sqrt(h) makes equal rates a local minimum only from t = 3 h^(1 - alpha) on, for alpha < 1; near and above 1
this is a few steps.

Source: this book. The paper (arXiv 2606.00340) states local optimality up to 512 steps.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq

from lrtransfer.layers.circle import balance_course, expected_loss, one_number, width_argument
from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array


def _growth(t: Array, kappa: Array, s: Array, h: Array) -> Array:
    """A, the discrete growth and decay of the linear part."""
    grown = np.exp(np.minimum(2 * t * np.log(1 + s * kappa), 500.0))
    # a fractional t has no power of a negative base: the decaying part is negligible where it would matter
    decay = np.exp(2 * t * np.log(np.maximum(1 - s * kappa, 1e-300)))
    return (grown - decay) / (2 * np.sqrt(h))


def law_loss(alpha: ArrayLike, h: ArrayLike, t: ArrayLike, split: ArrayLike = 0.0) -> Array:
    """Large-width law for the loss at rates h^alpha (1 +- split) after t steps, the atom at z = -1 left out.

    Parameters
    ----------
    alpha, h, t, split
        Broadcast together; t >= 0 need not be whole, 0 <= split < 1.

    Returns
    -------
    array
        L(t, split) of the module's derivation.

    Raises
    ------
    ValueError
        For a split outside [0, 1) and for h below 2.

    Source: this book.
    """
    exponent = arguments.finite("alpha", alpha)
    width, time = arguments.finite("h", h, minimum=2.0), arguments.finite("t", t, minimum=0.0)
    delta = arguments.finite("split", split, minimum=0.0)
    if (delta >= 1).any():
        raise arguments.refuse("split", float(delta.max()), "at least 0 and below 1")
    s = np.sqrt(1 - delta * delta)
    with np.errstate(over="ignore", under="ignore"):
        big = _growth(time, width ** (exponent - 1.5), s, width)
        big = np.minimum(big, 1e90)
        # a^2 - A^2 without cancellation
        a = 1 + big / s
        return a / ((1 + big * (1 / s - 1)) * (1 + big * (1 / s + 1))) ** 1.5


def crossings(x: ArrayLike, y: ArrayLike) -> Array:
    """Where a sampled curve changes sign, by linear interpolation between the samples on either side.

        x_k + y_k (x_{k+1} - x_k) / (y_k - y_{k+1})    for each k at which one of y_k, y_{k+1} is positive, one not

    Parameters
    ----------
    x
        Shape (n,): increasing, two or more.
    y
        Shape (n,): finite.

    Returns
    -------
    array
        The places, increasing, in the unit of x; off by the curve's bend over a spacing. A zero among the samples
        counts once.

    Raises
    ------
    ValueError
        For an argument out of its range, which it names.

    Source: elementary.
    """
    at, values = arguments.finite("x", x), arguments.finite("y", y)
    if at.ndim != 1 or at.size < 2 or not (np.diff(at) > 0).all():
        raise arguments.refuse("x", x, "a list of at least two increasing numbers")
    if values.shape != at.shape:
        raise arguments.refuse("y", values.shape, f"of shape {at.shape}, as x is (the value is its shape)")
    k = np.flatnonzero(np.diff(values > 0))
    return at[k] - values[k] * (at[k + 1] - at[k]) / (values[k + 1] - values[k])


def last_balanced_time(h: ArrayLike) -> Array:
    """Time tau = kappa t at which balanced rates stop being a local minimum, for small kappa.

    Parameters
    ----------
    h
        >= 50 (below, the law may have no interval of positive curvature left to end); shapes broadcast.

    Returns
    -------
    array
        tau of h's shape, without unit: multiply by h^(3/2 - alpha) for steps. Tends to (1/4) ln h + (1/2) ln((2/3)(2
        tau - 1)).

    Raises
    ------
    ValueError
        For h below 50.

    Source: this book.
    """
    width = arguments.finite("h", h, minimum=50.0)

    def zero(one: float) -> float:
        def bracket(tau: float) -> float:
            big = np.sinh(2 * tau) / np.sqrt(one)
            return (2 * tau / np.tanh(2 * tau) - 1) * (2 + big) - 3 * big * (1 + big)

        return brentq(bracket, 0.25 * np.log(one), 0.25 * np.log(one) + 10.0)

    return np.array([zero(float(one)) for one in width.flat]).reshape(width.shape)


def last_balanced_step(alpha: float, h: int, *, longest: int = 4096) -> float:
    """Measured step at which the exact curvature changes from positive to negative for the last time.

    Parameters
    ----------
    alpha
        One exponent.
    h
        Width, >= 50.
    longest
        Refuse runs longer than this.

    Returns
    -------
    float
        The zero of the curvature interpolated between the two steps it lies between (its floor is the last balanced
        step), 0.0 where the curvature is never positive. Runs twice as long as the law asks.

    Raises
    ------
    ValueError
        If that is more than ``longest``.

    Source: this book; the paper states local optimality up to 512 steps.
    """
    width = width_argument(h)
    exponent = one_number("alpha", alpha)
    steps = int(2 * float(last_balanced_time(width)) * width ** (1.5 - exponent)) + 4
    if steps > arguments.count("longest", longest, minimum=1):
        raise arguments.refuse("alpha", alpha, f"large enough for a run of at most {longest} steps (here {steps})")
    curvature = balance_course(exponent, width, steps).curvature
    positive = np.flatnonzero((curvature[:-1] > 0) & np.isfinite(curvature[:-1]))
    if positive.size == 0:
        return 0.0
    last = int(positive[-1])
    after = curvature[last + 1]
    return float(last + (curvature[last] / (curvature[last] - after) if np.isfinite(after) else 0.0))


def best_split(alpha: float, h: int, steps: int, *, resolution: int = 200) -> tuple[float, float]:
    """The split delta in [0, 1] with the smallest ``expected_loss`` at rates h^alpha (1 +- delta).

    A grid of ``resolution`` splits and then the same grid between the neighbours of its best point. Meaningful while
    the loss is above rounding (1e-18).

    Parameters
    ----------
    alpha
        Exponent of the mean rate.
    h
        Width, >= 2.
    steps
        >= 0.
    resolution
        >= 3.

    Returns
    -------
    tuple[float, float]
        (split, loss at it).

    Raises
    ------
    ValueError
        For an argument out of its range, which it names.

    Source: this book.
    """
    width = width_argument(h)
    number = arguments.count("resolution", resolution, minimum=3)
    rate = 10.0 ** min(one_number("alpha", alpha) * np.log10(width), 300.0)
    low, high = 0.0, 1.0
    split = loss = 0.0
    for _ in range(2):
        deltas = np.linspace(low, high, number)
        losses = expected_loss(rate * (1 + deltas), rate * (1 - deltas), width, steps)
        best = int(np.argmin(losses))
        split, loss = float(deltas[best]), float(losses[best])
        low, high = float(deltas[max(best - 1, 0)]), float(deltas[min(best + 1, number - 1)])
    return split, loss


def two_step_opening(noise: ArrayLike = 0.0) -> Array:
    """Rate over h from which balanced rates are a local minimum after two steps, at large width, under label noise.

        (6 + zeta) / (2 + 4 zeta),    zeta = rho h

    With noise the weights train on Q + sqrt(zeta) Xi, Xi Gaussian with entries of variance 1/h, and are tested on Q. At
    fixed k_1 + k_2 = 2 kappa the loss changes with k_1 k_2 by -8 kappa (1 + 2 zeta) h^(-1/2) + (24 + 4 zeta) / h to
    leading order.

    Parameters
    ----------
    noise
        zeta, the squared Frobenius norm of the noise over the teacher's, >= 0; any shape.

    Returns
    -------
    array
        The shape of ``noise``: 3 without noise, falling to 1/4.

    Raises
    ------
    ValueError
        For an argument out of its range, which it names.

    Source: this book.
    """
    zeta = arguments.finite("noise", noise, minimum=0.0)
    return (6 + zeta) / (2 + 4 * zeta)
