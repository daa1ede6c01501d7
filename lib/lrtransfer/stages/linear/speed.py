"""How fast a run falls: rates by theorem, rates and stages read off curves.

Curves have the stage along their first axis. A *rate* here is minus the slope of log(excess loss) per stage, which is
twice that of the distance to the minimum.

Source: "Stacking as accelerated gradient descent", Sec. 4; ``contraction`` is this book's.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.fits import line
from lrtransfer.stages.linear.excess import excess_loss
from lrtransfer.stages.linear.problems import problem

_WINDOWS = {"gd": (2, 4, 1.0), "stacking": (40, 80, 0.5), "nesterov": (40, 80, 0.5)}  # from, to, in kappa ** power


def contraction(beta: ArrayLike, kappa: ArrayLike) -> Array:
    """By how much the distance shrinks each stage in the long run, on a quadratic, with momentum beta and step 1/L.

    With a = 1 - 1/kappa it is the larger root of r^2 - (1 + beta) a r + beta a = 0 in modulus,

        (1/2) [(1 + beta) a + sqrt((1 + beta)^2 a^2 - 4 beta a)]    where the root is real,    else sqrt(beta a),

    least at beta = (sqrt(kappa) - 1)/(sqrt(kappa) + 1), where it is 1 - 1/sqrt(kappa).

    Parameters
    ----------
    beta
        momentum in [0, 1]
    kappa
        condition number, 1 or more

    Returns
    -------
    ndarray
        the factor of the broadcast shape.

    Raises
    ------
    ValueError
        naming the argument.

    References
    ----------
    This book's.
    """
    share, k = _share(beta), arguments.finite("kappa", kappa, minimum=1.0)
    arguments.broadcast(beta=share, kappa=k)
    a = 1 - 1 / k
    inside = ((1 + share) * a) ** 2 - 4 * share * a
    real = 0.5 * ((1 + share) * a + np.sqrt(np.maximum(inside, 0)))
    return np.where(inside > 0, real, np.sqrt(share * a))[()]


def first_below(curves: ArrayLike, level: float, *, start: ArrayLike | None = None) -> Array:
    """First stage at which each curve is below ``level`` times its start.

    Parameters
    ----------
    curves
        (T + 1, ...), inf allowed
    level
        positive
    start
        (...), positive; the curve's own first value by default

    Returns
    -------
    ndarray
        (...), inf where a curve never is.

    Raises
    ------
    ValueError
        naming the argument.
    """
    values = arguments.number("curves", curves)
    if not values.ndim or not len(values):
        raise arguments.refuse("curves", curves, "an array with stages along its first axis")
    base = values[0] if start is None else arguments.positive("start", start)
    below = values < arguments.one("level", arguments.positive("level", level)) * base
    return np.where(below.any(axis=0), below.argmax(axis=0), np.inf)[()]


def windowed_rate(curves: ArrayLike, window: int, lag: int) -> Array:
    """Rate between two windows: log(mean over the earlier / mean over the last ``window`` stages) / lag.

    The means smooth what oscillates, as momentum does.

    Parameters
    ----------
    curves
        (T + 1, ...), positive
    window
        stages in each window; window + lag <= T + 1
    lag
        stages by which the earlier window lies before

    Returns
    -------
    ndarray
        (...), per stage.

    Raises
    ------
    ValueError
        naming the argument.
    """
    values = arguments.positive("curves", curves)
    width, shift = arguments.count("window", window, minimum=1), arguments.count("lag", lag, minimum=1)
    if not values.ndim or width + shift > len(values):
        raise ValueError(f"curves of shape {values.shape} are too short for window = {width} and lag = {shift}.")
    late, early = values[len(values) - width :], values[len(values) - width - shift : len(values) - shift]
    return (-np.log(late.mean(axis=0) / early.mean(axis=0)) / shift)[()]


def late_rates(method: str, kappas: ArrayLike, sigma: float = 1.0, *, d: int = 20, seed: int = 0) -> Array:
    """Rate of one run of ``linear.excess_loss`` on ``problem(kappa, sigma)`` for each condition number.

    Past the transient: between stages 2 kappa and 4 kappa for "gd", 40 and 80 sqrt(kappa) for the other two.

    Parameters
    ----------
    method
        "gd", "stacking" or "nesterov"
    kappas
        (n,), 2 or more each
    sigma, d, seed
        as in ``problem``

    Returns
    -------
    ndarray
        (n,), per stage; -inf where the run diverged, inf where it is at the teacher to the last digit.

    Raises
    ------
    ValueError
        naming the argument.

    References
    ----------
    Sec. 4.
    """
    conditions = arguments.finite("kappas", kappas, minimum=2.0)
    if conditions.ndim != 1:
        raise arguments.refuse("kappas", kappas, "a sequence of numbers, at least 2 each")
    low, high, power = _WINDOWS[arguments.choice("method", method, tuple(_WINDOWS))]
    rates = []
    for kappa in conditions:
        first, last = (int(x * kappa**power) for x in (low, high))
        path = excess_loss(method, *problem(kappa, sigma, d, seed), last)
        if not np.isfinite(path[last]):
            rates.append(-np.inf)
        else:
            rates.append(np.log(path[first] / path[last]) / (last - first) if path[last] > 0 else np.inf)
    return np.array(rates)


def decay_rate(excess: ArrayLike, *, high: float = 1e-4, low: float = 1e-12) -> Array:
    """How fast a run falls: minus the slope of log excess against the stage, by least squares.

    Parameters
    ----------
    excess
        excess loss, (T + 1, ...)
    high, low
        the stages used are those with low < excess / excess at 0 < high: past the transient

    Returns
    -------
    ndarray
        (...), per stage.

    Raises
    ------
    ValueError
        where fewer than three stages lie between.
    """
    values = arguments.finite("excess", excess, minimum=0.0)
    if values.ndim == 0:
        raise arguments.refuse("excess", excess, "an array with stages along its first axis")
    with np.errstate(invalid="ignore", divide="ignore"):
        used = (values > low * values[:1]) & (values < high * values[:1])
    counts = used.sum(axis=0)
    if (counts < 3).any():
        raise ValueError(
            f"excess has {int(counts.min())} stages between {low:g} and {high:g} of its start: at least 3 are needed."
        )
    t = np.arange(values.shape[0], dtype=float)
    pairs = zip(values.reshape(t.size, -1).T, used.reshape(t.size, -1).T, strict=True)
    slopes = [line(t[among], np.log(curve[among]))[0] for curve, among in pairs]
    return -np.reshape(slopes, values.shape[1:])[()]


def _share(beta: ArrayLike) -> Array:
    share = arguments.finite("beta", beta, minimum=0.0)
    if (share > 1).any():
        raise arguments.refuse("beta", float(share[share > 1].flat[0]), "in [0, 1]")
    return share
