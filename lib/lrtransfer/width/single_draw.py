"""One draw of the weights: its one-step coefficients, its loss against the rate, its best rate and the runners-up."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.rates import OnEdgeWarning
from lrtransfer.width.data import Regression, limit_lr_of, regression
from lrtransfer.width.network import Network, Trained, draw, explore, one_step, rate_unit
from lrtransfer.width.optimum import interval_argument, minimise_polynomial, minimise_scan, scan_minima

_SCAN = 129  # rates in the scan of a loss curve after several steps


def one_step_coefficients(
    width: float,
    X: ArrayLike,
    y: ArrayLike,
    hidden_layers: int,
    *,
    seed: int,
    parametrisation: str = "mup",
    coordinates: bool = False,
) -> Array:
    """The linear form after one step as a polynomial in the rate, for one draw of the weights.

    ``theta(eta) = theta_0 + sum_{k=1..L} Phi_k eta^k`` and ``f(x) = theta(eta)' x``; Phi_k falls like
    n^(-(k-1)/2).

    Parameters
    ----------
    width
        n >= 1; ``math.inf`` gives the limit ``theta_0 = 0, Phi_1 = L X'y / (m d), Phi_k = 0`` under muP.
    X, y
        Inputs of shape (m, d) and targets of shape (m,).
    hidden_layers
        The number L of trained n x n matrices.
    seed
        Equal seeds (and widths) give equal weights in every function of this package.
    parametrisation
        "mup", "sp" or "ntp".
    coordinates
        Keep vectors of R^n (memory linear in n) instead of rotated coordinates (memory independent of n):
        another draw from the same law.

    Returns
    -------
    array
        theta_0, Phi_1 .. Phi_L, shape (L + 1, d).

    Raises
    ------
    ValueError
        For malformed data, a width below 1, or an infinite width with a parametrisation other than muP.

    Source: Hayou, 'A Proof of Learning Rate Transfer under muP' (2025), phi_k and Lemma 1.
    """
    data = regression(X, y)
    network = draw(width, data.d, hidden_layers, parametrisation=parametrisation, seed=seed, coordinates=coordinates)
    coefficients = one_step(network, data)
    return coefficients * rate_unit(width, parametrisation) ** -np.arange(len(coefficients))[:, None]


def training_loss(
    lrs: ArrayLike,
    width: float,
    X: ArrayLike,
    y: ArrayLike,
    hidden_layers: int,
    steps: int,
    *,
    seed: int,
    parametrisation: str = "mup",
) -> Array:
    """Training loss after 0 .. steps gradient steps, at many rates and for one draw of the weights.

    ``|X theta^(t) - y|^2 / (2 m)`` with ``f(x) = theta' x``.

    No n x n matrix is formed: after t steps a layer is its initial matrix and t rank-one updates, and the
    initial matrix is revealed by its products, in rotated coordinates. ``width = math.inf`` is the limit by
    the same recursion (see ``lrtransfer.numerics.lazy_gaussian``), under muP.

    Parameters
    ----------
    lrs
        Learning rates eta >= 0, any shape.
    width, X, y, hidden_layers, seed, parametrisation
        As in ``one_step_coefficients``. For L <= 3 the weights do not depend on the rates asked for (losses
        agree to 1e-12). For more layers, beyond one step, they do: by less than rounding near the best rate
        and by up to some per cent of the loss at isolated higher rates (L = 8, 5 steps). One call is always
        one draw.
    steps
        Number of full-batch steps, >= 0.

    Returns
    -------
    array
        Shape (steps + 1,) + shape of lrs; inf from the step where a run overflowed.

    Raises
    ------
    ValueError
        For malformed data, negative rates, a width below 1, or an infinite width other than under muP.

    Source: Hayou, 'A Proof of Learning Rate Transfer under muP' (2025), gradient descent of the setup.
    """
    data = regression(X, y)
    rates = arguments.finite("lrs", lrs, minimum=0.0)
    count = arguments.count("steps", steps)
    network = draw(width, data.d, hidden_layers, parametrisation=parametrisation, seed=seed)
    explore(network, data, count)
    losses = _losses(network, data, rates.ravel() / rate_unit(width, parametrisation), count)
    return losses.reshape(count + 1, *rates.shape)


def optimal_lr(
    width: float,
    X: ArrayLike,
    y: ArrayLike,
    hidden_layers: int,
    *,
    steps: int = 1,
    interval: tuple[float, float] | None = None,
    parametrisation: str = "mup",
    seed: int,
) -> float:
    """The rate with the lowest training loss after some steps, on an interval, for one draw of the weights.

    ``argmin_{eta in I} |X theta^(t)(eta) - y|^2 / (2 m)``. One step: exactly, from the stationary points of
    the loss polynomial of degree 2 L. More steps: a scan of 129 rates, every local minimum refined to 1e-8 of
    the interval. Where several rates attain the minimum (with d = 1 the loss is zero at each root of
    theta(eta) = slope) the smallest is returned.

    Parameters
    ----------
    width, X, y, hidden_layers, parametrisation, seed
        As in ``one_step_coefficients``; ``math.inf`` is the limit under muP.
    steps
        Number of gradient steps, >= 1.
    interval
        (low, high) with 0 <= low < high, in units of the parametrisation's own rate; by default (0, 4
        eta_inf), divided by n under SP.

    Returns
    -------
    float
        The best rate. With an ``OnEdgeWarning`` when it is an end of the interval.

    Raises
    ------
    ValueError
        For malformed data or interval, ``K y = 0``, a width below 1, or an infinite width other than under
        muP.

    Source: Hayou, 'A Proof of Learning Rate Transfer under muP' (2025), theorem for t = 1 and the definition
    of eta_n^(t).
    """
    data = regression(X, y)
    count = arguments.count("steps", steps, minimum=1)
    network = draw(width, data.d, hidden_layers, parametrisation=parametrisation, seed=seed)
    unit = rate_unit(width, parametrisation)
    ends = interval_argument(interval, 4 * limit_lr_of(data, network.layers) * unit)
    low, high = ends[0] / unit, ends[1] / unit
    best = best_rate(network, data, count, low, high)
    if min(best - low, high - best) <= 1e-7 * (high - low) * (count > 1):
        best = low if best - low < high - best else high
        warnings.warn(
            f"the best rate lies at the end {best * unit:g} of the interval ({ends[0]:g}, {ends[1]:g})",
            OnEdgeWarning,
            stacklevel=2,
        )
    return best * unit


def best_rate(network: Network, data: Regression, steps: int, low: float, high: float) -> float:
    """The argmin over [low, high], in normalised rates, of the loss after ``steps`` >= 1 steps: see ``optimal_lr``."""
    if steps == 1:
        return float(minimise_polynomial(one_step(network, data)[None], data, low, high)[0])
    explore(network, data, steps)
    return minimise_scan(excess_curve(network, data, steps), low, high, points=_SCAN, tie=float(data.z @ data.z))


class Minima(NamedTuple):
    """Local minima of a loss against the rate, lowest first: rates and excess losses, (count,) each."""

    lr: Array
    excess: Array


def lowest_minima(
    width: float,
    X: ArrayLike,
    y: ArrayLike,
    hidden_layers: int,
    *,
    steps: int,
    count: int = 2,
    interval: tuple[float, float] | None = None,
    parametrisation: str = "mup",
    seed: int,
    points: int = 801,
) -> Minima:
    """The lowest local minima of the training loss inside an interval of rates: the best rate and its runners-up.

    Excess loss ``(|X theta^(t)(eta) - y|^2 - min_theta |X theta - y|^2) / (2 m)``, by a scan of ``points``
    rates, every local minimum refined to 1e-8 of the interval. A minimum narrower than the scan's spacing can
    be missed.

    Parameters
    ----------
    width, X, y, hidden_layers, parametrisation, seed
        As in ``one_step_coefficients``; ``math.inf`` is the limit under muP.
    steps
        Number of gradient steps, >= 1.
    count
        How many minima, >= 1.
    interval
        As in ``optimal_lr``. An end of it is no local minimum.
    points
        Rates in the scan, >= 3.

    Returns
    -------
    Minima
        Rates in the parametrisation's own unit and excess losses, lowest first; inf and inf where the loss
        has fewer minima.

    Raises
    ------
    ValueError
        As ``optimal_lr``, and for a count below 1 or fewer than three points.

    Source: a question to the definition of eta_n^(t) in Hayou, 'A Proof of Learning Rate Transfer under muP'
    (2025): how near the runner-up of the argmin is.
    """
    data = regression(X, y)
    number, wanted = arguments.count("steps", steps, minimum=1), arguments.count("count", count, minimum=1)
    scanned = arguments.count("points", points, minimum=3)
    network = draw(width, data.d, hidden_layers, parametrisation=parametrisation, seed=seed)
    unit = rate_unit(width, parametrisation)
    low, high = (end / unit for end in interval_argument(interval, 4 * limit_lr_of(data, network.layers) * unit))
    explore(network, data, number)
    lrs, excess = scan_minima(excess_curve(network, data, number), low, high, points=scanned)
    apart = 1e-7 * (high - low)  # the scan's refinement ends well below this
    inside = (lrs > low + apart) & (lrs < high - apart) & (np.diff(lrs, prepend=-math.inf) > apart)
    lrs, excess = lrs[inside], excess[inside]
    order = np.argsort(excess, kind="stable")[:wanted]
    missing = np.full(wanted - order.size, math.inf)
    return Minima(np.append(lrs[order] * unit, missing), np.append(excess[order] / (2 * data.m), missing))


def excess_curve(network: Network, data: Regression, steps: int) -> Callable[[Array], Array]:
    """``|R theta - z|^2`` after the steps, as a function of the rates (P,)."""
    return lambda lrs: data.excess(Trained(network, data, lrs, steps).theta[-1])


def _losses(network: Network, data: Regression, lrs: Array, steps: int) -> Array:
    theta = Trained(network, data, lrs, steps).theta  # (steps + 1, d, R)
    return data.loss(np.moveaxis(theta, 1, 0))
