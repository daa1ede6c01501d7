"""The first minimum of a loss that is a polynomial in the rate, found without a scan that could step over it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.polynomial import chebyshev

from lrtransfer.numerics.arrays import Array

_DEGREE = 32  # of the polynomial in the rate that is fitted to an interval of rates
_POINTS = np.cos(np.pi * (np.arange(_DEGREE + 1) + 0.5) / (_DEGREE + 1))  # Chebyshev's, in (-1, 1)
_TO_SERIES = np.linalg.inv(chebyshev.chebvander(_POINTS, _DEGREE))
_TALL, _RESOLVED = 4.0, 1e-11


def first_minimum(rest: Callable[[Array], Array]) -> float:
    """The lowest x in (0, 1] at which |rest| has a local minimum, for a polynomial with rest(0) = 1 and rest(1) = 0.

    Before the first minimum rest lies between 0 and 1. So an interval on which it is not below ``_TALL`` in size, or
    not a polynomial of low degree to rounding, is halved; where it is one, its zeros and those of its slope are all
    known, and none is stepped over however steep it is.

    Parameters
    ----------
    rest
        (points,) to (points,): what is left to learn at a rate x, falling at 0; inf where the run diverged

    Returns
    -------
    float
        that x; 1 where no lower one is found.
    """
    low, high = 0.0, 1.0
    while low < 1.0:
        values = rest(low + (high - low) * (1 + _POINTS) / 2)
        series = chebyshev.Chebyshev(_TO_SERIES @ values) if (np.abs(values) < _TALL).all() else None
        if series is None or np.abs(series.coef[-4:]).max() > _RESOLVED * np.abs(series.coef).max():
            high = low + (high - low) / 2
            continue
        slope = series.deriv()
        zeros, flats = (_real_roots(each) for each in (series, slope))
        dips = flats[(series(flats) > 0) & (slope.deriv()(flats) > 0)]
        first = np.concatenate([zeros, dips])
        if first.size:
            return _zoom(rest, low + (high - low) * (1 + first.min()) / 2, (high - low) / 100)
        low, high = high, min(high + 2 * (high - low), 1.0)
    return 1.0


def _zoom(rest: Callable[[Array], Array], place: float, reach: float) -> float:
    """The minimum of |rest| within the reach of a place, by values, which know roots that nearly coincide better."""
    for _ in range(4):
        x = np.linspace(place - reach, place + reach, 17)
        values = rest(x)
        crossed = np.flatnonzero((values[:-1] > 0) & (values[1:] <= 0))
        at = int(np.argmin(np.abs(values)))
        place = float(x[crossed[0]] + x[crossed[0] + 1]) / 2 if crossed.size else float(x[at])
        reach /= 8 if crossed.size == 0 else 16
    return place


def _real_roots(series: chebyshev.Chebyshev) -> Array:
    """Real zeros of a series in (-1, 1], those of its highest terms that are rounding left out."""
    roots = series.trim(_RESOLVED * float(np.abs(series.coef).max())).roots()
    real = np.real(roots[np.abs(np.imag(roots)) < 1e-7])
    return real[(real > -1) & (real <= 1)]
