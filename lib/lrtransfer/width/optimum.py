"""The best rate on an interval: exactly for a polynomial, by scan and bracket for any loss curve."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import ArrayLike

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.rates import OnEdgeWarning
from lrtransfer.width.data import LARGEST, Regression, regression

# Losses this close (relative to the loss that can be gained at all) are a tie, and the smallest rate wins it.
# With d = 1 every root of theta(eta) = slope has the same loss, zero, and only rounding tells them apart.
_TIE_EXACT = 1e-15
_TIE_SCAN = 1e-10


def polynomial(coefficients: Array, lrs: Array) -> Array:
    """``sum_k c_k eta^k``, coefficients (draws, degree + 1, d), rates (draws or 1, P): (draws, P, d)."""
    value = np.zeros((1, 1, coefficients.shape[2]))
    for row in np.moveaxis(coefficients, 1, 0)[::-1]:  # Horner; row (draws, d)
        value = value * lrs[..., None] + row[:, None, :]
    return value


def excess(coefficients: Array, data: Regression, lrs: Array) -> Array:
    """``|R theta(eta) - z|^2``, shape (draws, P), for coefficients and rates as in ``polynomial``."""
    return data.excess(np.moveaxis(polynomial(coefficients, lrs), -1, 0))


def minimise_polynomial(coefficients: Array, data: Regression, low: float, high: float) -> Array:
    """The exact argmin over [low, high] of the loss of ``sum_k c_k eta^k``, the smallest rate in a tie.

    Coefficients (draws, L + 1, d); returns shape (draws,).
    """
    slopes = _slopes(coefficients, data)
    points = stationary_points(coefficients, data, low, high)
    ends = np.broadcast_to([low, high], (len(points), 2))
    points = np.sort(np.concatenate([points, ends], axis=1), axis=1)
    best = _lowest(points, excess(coefficients, data, points), _TIE_EXACT * float(data.z @ data.z))
    # Two approximations of one root tie as well, and the smaller need not be the better: polish the winner.
    return np.where((best > low) & (best < high), _newton(slopes, best[:, None], low, high)[:, 0], best)


def stationary_points(coefficients: Array, data: Regression, low: float, high: float) -> Array:
    """Rates in [low, high] where the one-step loss is stationary, shape (draws, P), padded with ``low``.

    Half the derivative of ``|R theta(eta) - z|^2`` is ``g = (R theta - z) . R theta'``, of degree 2 L - 1. It
    is written in Chebyshev polynomials of the interval, where coefficients below rounding are dropped: the
    power coefficients fall like n^(-(k-1)/2), so the degree that matters shrinks with width, and a companion
    matrix in powers of eta would divide by a leading coefficient of, say, 1e-20. Newton steps then bring the
    roots to rounding. An interval much longer than the scale of the first minimum is cut into pieces that
    grow by four, because the high powers at its far end would drown the near one in rounding.
    """
    slopes = _slopes(coefficients, data)
    misfit, tangent = coefficients[:, 0] @ data.R.T - data.z, coefficients[:, 1] @ data.R.T
    gain = float(np.median(np.linalg.norm(misfit, axis=1)))
    reach = 4 * gain / max(float(np.median(np.linalg.norm(tangent, axis=1))), np.finfo(float).tiny)
    pieces = 1 + max(0, math.ceil(math.log(high / reach, 4))) if 0 < reach < high else 1
    cuts = np.array([low, *(x for x in high * 4.0 ** -np.arange(pieces)[::-1] if x > low)])
    degree = 2 * coefficients.shape[1] - 3
    nodes = chebyshev.chebpts1(degree + 1)
    transform = chebyshev.chebvander(nodes, degree) * (2 / (degree + 1))  # values at the nodes -> coefficients
    transform[:, 0] /= 2
    found = []
    for left, right in itertools.pairwise(cuts):
        centre, half = (left + right) / 2, (right - left) / 2
        roots = centre + half * _chebyshev_roots(slopes(centre + half * nodes[None])[0] @ transform)
        found.append(np.where((roots >= left) & (roots <= right), roots, low))
    return _newton(slopes, np.concatenate(found, axis=1), low, high)


def minimise_scan(loss: Callable[[Array], Array], low: float, high: float, *, points: int, tie: float) -> float:
    """Argmin over [low, high] of a loss known only by its values: the lowest of its ``scan_minima``.

    Arguments as there; ``tie`` is in units of the loss: the smallest rate wins. ``low`` where no loss is finite.
    """
    centres, values = scan_minima(loss, low, high, points=points)
    return float(_lowest(centres[None], values[None], _TIE_SCAN * tie)[0]) if centres.size else low


def scan_minima(loss: Callable[[Array], Array], low: float, high: float, *, points: int) -> tuple[Array, Array]:
    """Local minima over [low, high], ends included, of a loss known only by its values (inf allowed).

    Every local minimum of a scan of ``points`` rates is bracketed by its neighbours and the brackets shrink
    together by eight a round, to 1e-8 of the interval; a minimum narrower than the scan's spacing can be
    missed, and two equal neighbours in the scan give one minimum twice.

    ``loss`` takes rates (P,) and returns losses (P,). Returns the rates, increasing, and their losses, (K,)
    each; K = 0 where no loss is finite.
    """
    lrs = np.linspace(low, high, points)
    values = loss(lrs)
    left, right = np.append(np.inf, values[:-1]), np.append(values[1:], np.inf)
    centres = lrs[np.isfinite(values) & (values <= left) & (values <= right)]
    if centres.size == 0:
        return centres, centres
    reach = lrs[1] - lrs[0]
    offsets = np.linspace(-1, 1, 17)
    while reach > 1e-8 * (high - low):
        fan = np.clip(centres + reach * offsets[:, None], low, high)  # (17, minima)
        best = np.argmin(loss(fan.ravel()).reshape(fan.shape), axis=0)
        centres = fan[best, np.arange(centres.size)]
        reach /= 8
    centres = np.sort(centres)
    return centres, loss(centres)


def coefficient_table(coefficients: ArrayLike, X: ArrayLike, y: ArrayLike) -> tuple[Array, Regression]:
    """Coefficients (..., L + 1, d) of draws and the data X, y they were drawn for, checked: ``ValueError``."""
    data = regression(X, y)
    table = arguments.within("coefficients", arguments.finite("coefficients", coefficients), LARGEST)
    if table.ndim < 2 or table.shape[-1] != data.d or table.shape[-2] < 2:
        raise arguments.refuse("coefficients", table.shape, f"of shape (..., L + 1, {data.d}) (the value is its shape)")
    return table, data


def tied_lrs(coefficients: ArrayLike, X: ArrayLike, y: ArrayLike, high: float = math.inf) -> Array:
    """All best rates of one draw with one input dimension, where several may share the least loss.

    With d = 1 the loss after one step is ``|x|^2 (theta(eta) - beta)^2 / (2 m)`` up to a constant, beta = x'y / |x|^2,
    so that it is least at every root of ``theta(eta) = beta``, an equation of degree L.

    Parameters
    ----------
    coefficients
        theta_0, Phi_1 .. Phi_L of one draw, (L + 1, 1)
    X, y
        the data the coefficients were drawn for, (m, 1) and (m,)
    high
        only rates below it, > 0; ``math.inf`` for all

    Returns
    -------
    ndarray
        the roots in (0, high), increasing, (K,) with K <= L; K = 0 where there is none.

    Raises
    ------
    ValueError
        naming the argument; for more than one draw or input dimension.

    References
    ----------
    Derived here; the definition of eta_n in Hayou, 'A Proof of Learning Rate Transfer under muP' (2025), assumes that
    the best rate is unique.
    """
    table, data = coefficient_table(coefficients, X, y)
    if data.d != 1 or table.ndim != 2:
        raise arguments.refuse("coefficients", table.shape, "of shape (L + 1, 1) (the value is its shape)")
    top = arguments.one("high", arguments.positive("high", high, infinite=True))
    if not data.R[0, 0]:
        raise arguments.refuse("X", 0.0, "inputs that are not all zero")
    shifted = table[:, 0].copy()
    shifted[0] -= float(data.z[0] / data.R[0, 0])  # beta
    roots = np.roots(shifted[::-1])
    real = roots.real[(np.abs(roots.imag) < 1e-9 * np.abs(roots)) & (roots.real > 0)]
    return np.sort(real[real < top])


def interval_argument(interval: tuple[float, float] | None, default: float) -> tuple[float, float]:
    """An interval (low, high) of rates with 0 <= low < high; (0, default) where None is given."""
    if interval is None:
        return 0.0, default
    ends = arguments.within("interval", arguments.finite("interval", interval, minimum=0.0), LARGEST)
    if ends.shape != (2,) or not ends[0] < ends[1]:
        raise arguments.refuse("interval", interval, "a pair (low, high) with 0 <= low < high")
    return float(ends[0]), float(ends[1])


def report_edges(best: Array, low: float, high: float, *, stacklevel: int = 3) -> None:
    """One ``OnEdgeWarning``, with the count, when best rates sit at an end of what was searched.

    ``best``, ``low`` and ``high`` in one unit, the caller's; the warning points at the caller's caller.
    """
    edge = int(np.count_nonzero((best <= low) | (best >= high)))
    if edge:
        warnings.warn(
            f"{edge} of {best.size} best rates lie at an end of what was searched ({low:g} to {high:g})",
            OnEdgeWarning,
            stacklevel=stacklevel,
        )


def _slopes(coefficients: Array, data: Regression) -> Callable[[Array], tuple[Array, Array]]:
    """Half the first and second derivative in eta of ``|R theta(eta) - z|^2``, for rates (draws or 1, P)."""
    powers = np.arange(1, coefficients.shape[1])[:, None]
    first = coefficients[:, 1:] * powers
    second = first[:, 1:] * powers[:-1]

    def slopes(x: Array) -> tuple[Array, Array]:
        misfit = polynomial(coefficients, x) @ data.R.T - data.z
        tangent = polynomial(first, x) @ data.R.T
        bend = polynomial(second, x) @ data.R.T
        return np.sum(misfit * tangent, axis=-1), np.sum(tangent**2 + misfit * bend, axis=-1)

    return slopes


def _newton(slopes: Callable[[Array], tuple[Array, Array]], points: Array, low: float, high: float) -> Array:
    for _ in range(3):
        g, curvature = slopes(points)
        moved = np.clip(points - g / np.where(curvature == 0, np.inf, curvature), low, high)
        points = np.where(np.abs(slopes(moved)[0]) < np.abs(g), moved, points)
    return points


def _lowest(points: Array, values: Array, tie: float) -> Array:
    """The first of the increasing points (draws, P) whose value is the lowest up to ``tie``."""
    first = np.argmax(values <= values.min(axis=1, keepdims=True) + tie, axis=1)
    return np.take_along_axis(points, first[:, None], axis=1)[:, 0]


def _chebyshev_roots(series: Array) -> Array:
    """Real parts of the roots of Chebyshev series (draws, degree + 1): (draws, degree), padded with inf.

    A double root may come out as a complex pair, so no root is dropped for its imaginary part: a rate that is
    not stationary has a higher loss than one that is, and does no harm.
    """
    roots = np.full((series.shape[0], series.shape[1] - 1), np.inf)
    size = np.abs(series)
    kept = size > 4 * np.finfo(float).eps * size.max(axis=1, keepdims=True)
    degrees = series.shape[1] - 1 - np.argmax(kept[:, ::-1], axis=1)
    for degree in np.unique(degrees):
        rows = np.flatnonzero((degrees == degree) & kept.any(axis=1))
        if degree == 0 or rows.size == 0:
            continue
        if degree == 1:
            roots[rows, 0] = -series[rows, 0] / series[rows, 1]
            continue
        unit = np.zeros(degree + 1)
        unit[-1] = 1.0
        companion = np.repeat(chebyshev.chebcompanion(unit)[None], rows.size, axis=0)
        balance = np.where(np.arange(degree) == 0, 1.0, np.sqrt(0.5)) / np.sqrt(0.5)
        companion[:, :, -1] -= series[rows, :degree] / series[rows, degree, None] * balance / 2
        roots[rows, :degree] = np.linalg.eigvals(companion).real
    return roots
