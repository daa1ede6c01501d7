"""Nesterov's method with errors in its momentum: how large may they be before it fails?

    y_{t+1} = x_t - (1/L) grad l(x_t)
    x_{t+1} = y_{t+1} + beta (y_{t+1} - y_t) + Delta_{t+1},      |Delta_t| <= alpha |y_t - y_{t-1}|

On a quadratic with its minimum at 0 everything decouples into curvatures h in [mu, L], coordinate by coordinate, but
for the budget alpha, which the coordinates share. That makes the worst case an eigenvalue problem:

``critical_alpha``   up to where Lemma 3.2's potential falls at every step, whatever the errors: about 0.72/sqrt(kappa)
``stability_alpha``  up to where no errors can keep the iterates from converging: about 2/sqrt(kappa)

Both are exact on quadratics; the proof supports 1/(4 kappa) (``theory.proof_alpha``).
Source: "Stacking as accelerated gradient descent", Lemma 3.2; the two thresholds are this book's.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.stages.errors.perturbed import PerturbedRun, perturbed_nesterov
from lrtransfer.stages.linear.course import default_beta
from lrtransfer.stages.linear.theory import constants

LIMIT = float(np.sqrt(1.5) - 0.5)
"""The limit of critical_alpha(kappa) sqrt(kappa) as kappa grows: sqrt(3/2) - 1/2 = 0.7247."""


def potential_growth(
    kappa: float, alpha: ArrayLike, perturb: str, runs: int, *, steps: int = 60, modes: int = 12, seed: int = 0
) -> tuple[Array, PerturbedRun]:
    """The largest Phi(t) / Phi(t - 1) over runs from random starts, for each alpha.

    A lower bound of what errors can do: above 1 at some alpha proves that the potential can rise there, below 1 proves
    nothing.

    Parameters
    ----------
    kappa
        condition number above 1
    alpha
        sizes of the errors, (n,) or one number
    perturb
        "random" or "adversarial", as in ``perturbed_nesterov``
    runs
        starts, Gaussian with variance h_i^-p at curvature h_i, p uniform on [0, 1], one p a start
    steps
        T
    modes
        curvatures, in geometric progression from 1 to kappa
    seed
        of starts and errors

    Returns
    -------
    growth : ndarray
        the ratios, (n,)
    run : PerturbedRun
        with leading axes (runs, n).

    Raises
    ------
    ValueError
        naming the argument.
    """
    sizes = np.atleast_1d(arguments.finite("alpha", alpha, minimum=0.0))
    starts, n = arguments.count("runs", runs, minimum=1), arguments.count("modes", modes, minimum=2)
    length = arguments.count("steps", steps, minimum=1)
    generator = np.random.default_rng(arguments.seed("seed", seed))
    h = np.geomspace(1, arguments.one("kappa", arguments.finite("kappa", kappa, minimum=1.0)), n)
    first = generator.standard_normal((starts, 1, n)) * h ** -generator.uniform(0, 0.5, (starts, 1, 1))
    run = perturbed_nesterov(h, first, length, perturb=perturb, alpha=sizes, seed=seed)
    with np.errstate(invalid="ignore"):
        ratio = run.potential[1:] / run.potential[:-1]
    return np.where(np.isfinite(ratio), ratio, np.inf).max(axis=(0, 1)), run


def critical_alpha(kappa: ArrayLike, *, modes: str = "all") -> Array:
    """The largest alpha at which Phi(t) <= Phi(t - 1) for every state and every error, on quadratics.

    By the S-lemma Phi cannot rise exactly if, for one multiplier lambda >= 0 and every curvature h, the 3 x 3 form

        Phi(t - 1) - Phi(t) - lambda (alpha^2 |y_t - y_{t-1}|^2 - |Delta_t|^2)

    in (y_{t-1}, x_{t-1}, Delta_t) is not negative. Delta_t is eliminated, alpha^2 read off for each lambda, and lambda
    found by search. Over 65 curvatures, which include mu and L: these two together are the worst case.

    Parameters
    ----------
    kappa
        condition number above 1, any shape
    modes
        "all": curvatures over the whole of [mu, L] that share the budget; "one": the worst single curvature

    Returns
    -------
    ndarray
        alpha of kappa's shape; 0 where the potential can rise without errors.

    Raises
    ------
    ValueError
        naming the argument.

    References
    ----------
    Claim 3.7; the threshold is this book's.
    """
    values = arguments.finite("kappa", kappa)
    arguments.choice("modes", modes, ("one", "all"))
    return np.vectorize(lambda k: _critical(float(k), modes), otypes=[float])(values)[()]


def stability_alpha(kappa: ArrayLike) -> Array:
    """The largest alpha at which no errors keep the iterates from converging, on quadratics with curvatures in [mu, L].

    It is 1 / max_{h, w} |G|, where G = (1 - e^{-iw}) q e^{-iw} / (1 - q (1 + beta) e^{-iw} + q beta e^{-2iw}) carries
    Delta_t to y_t - y_{t-1} at curvature h, q = 1 - h/L. Below it the loop contracts (small gain); above it the error
    Delta_t = alpha R (y_t - y_{t-1}), R the rotation by -arg G in a plane of two coordinates with the worst curvature,
    makes the iterates grow (``resonance``). The maximum over w is closed,

        max_w |G|^2 = 2 q^2 / (B + 4 (1 - q) sqrt(q beta)),   B = 2 q (1 + beta)(1 + q beta) - 8 q beta,

    and the one over h is searched.

    Parameters
    ----------
    kappa
        condition number above 1, any shape

    Returns
    -------
    ndarray
        alpha of kappa's shape.

    Raises
    ------
    ValueError
        for any other kappa.

    References
    ----------
    This book's; the paper has no such threshold.
    """
    values = arguments.finite("kappa", kappa)
    return np.vectorize(lambda k: 1 / _gain(float(k))[0], otypes=[float])(values)[()]


def resonance(kappa: float) -> tuple[float, float]:
    """The worst curvature, and the angle by which the worst errors turn y_t - y_{t-1}.

    Parameters
    ----------
    kappa
        condition number above 1

    Returns
    -------
    curvature, angle : float
        in units of L, and in radians.
    """
    k = arguments.one("kappa", arguments.finite("kappa", kappa))
    _, q, u = _gain(k)
    turn = np.exp(-1j * np.arccos(1 - u))
    beta = float(default_beta(k))
    g = (1 - turn) * q * turn / (1 - q * (1 + beta) * turn + q * beta * turn**2)
    return 1 - q, float(-np.angle(g))


def _critical(kappa: float, modes: str) -> float:
    c = constants(kappa)
    gain = float(c.gamma) / 2  # the potential's growth less 1
    h = np.geomspace(1.0, kappa, 65)
    h[-1] = kappa
    groups = [h] if modes == "all" else [h[i : i + 1] for i in range(h.size)]
    return min(_best_multiplier(group, kappa, float(c.rho), gain) for group in groups)


def _best_multiplier(h: Array, kappa: float, rho: float, gain: float) -> float:
    """Over lambda = (1 + theta) times its least value; alpha^2 is quasi-concave in lambda, as the form is linear."""
    logs = np.linspace(-14.0, 16.0, 121) + 0.5 * np.log(kappa)  # the best theta grows like sqrt(kappa)
    values = _alpha_squared(np.exp(logs)[:, None], h, kappa, rho, gain).min(axis=1)
    best = int(values.argmax())
    if values[best] <= 0:
        return 0.0
    around = (logs[max(best - 1, 0)], logs[min(best + 1, logs.size - 1)])
    found = minimize_scalar(
        lambda log: -_alpha_squared(np.exp(log), h, kappa, rho, gain).min(),
        bounds=around,
        method="bounded",
        options={"xatol": 1e-12},
    )
    return float(np.sqrt(max(-found.fun, values[best])))


def _alpha_squared(theta: Array, h: Array, kappa: float, rho: float, gain: float) -> Array:
    """The alpha^2 at which the form becomes singular, for multiplier theta and curvature h (units mu); -1 for never.

    ``gain`` is the growth of the potential less 1. In y and x the entries are of size kappa and cancel to size 1; they
    are written in y and e = x - y instead, with p = h/kappa and whatever cancels taken out by hand.
    """
    s, p = kappa**0.5, h / kappa
    q, weight = 1 - p, h / 2 + 2 * rho
    extra = gain + (1 + gain) / theta  # growth (1 + 1/theta), the factor of z~'^2 once Delta is eliminated, less 1
    fall = p * (2 - p) - gain * q * q  # 1 - growth q^2
    ahead = 1 - h / s  # z~' = s q e + ahead y,   y' - y = q e - p y,   z = y + (s + 1) e
    yy = weight * fall + h * (1 / s - p / 2) - extra * ahead * ahead / 2
    ye = 0.5 + h / 2 * (1 / s - p + fall) - 2 * rho * (1 - fall) - extra * s * q * ahead / 2
    ee = s + 0.5 + h * (1 - p / 2) - weight * (1 - fall) - extra * s * s * q * q / 2
    det = yy * ee - ye * ye
    quad = p * p * ee + 2 * p * q * ye + q * q * yy  # of (-p, q) in the adjugate
    positive = (det > 0) & (ee > 0)
    least = (1 + gain) * (s + 1) ** 2 / 2
    return np.where(positive, det / (least * (1 + theta) * np.where(positive, quad, 1.0)), -1.0)


def _gain(kappa: float) -> tuple[float, float, float]:
    """The largest |G|, the q = 1 - h/L where it is reached, and u = 1 - cos w there."""
    constants(kappa)  # refuses kappa <= 1
    beta = float(default_beta(kappa))

    def squared(q: Array | float) -> tuple[Array, Array]:
        b = q * beta
        linear, constant, square = 2 * q * (1 + beta) * (1 + b) - 8 * b, (1 - q) ** 2, 4 * b
        u = np.minimum(np.sqrt(constant / square), 2.0)
        return 2 * q * q * u / (constant + linear * u + square * u * u), u

    qs = 1 - np.geomspace(1 / kappa, 1.0, 400)[:-1]
    best = int(squared(qs)[0].argmax())
    q = float(qs[best])
    if 0 < best:
        low, high = float(qs[min(best + 1, qs.size - 1)]), float(qs[best - 1])
        q = float(minimize_scalar(lambda v: -squared(v)[0], bounds=(low, high), method="bounded").x)
    value, u = squared(q)
    return float(np.sqrt(value)), q, float(u)
