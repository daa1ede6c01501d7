"""One draw of the weights: its one-step coefficients, its loss against the rate, and its best rate."""

from __future__ import annotations

import math
import warnings

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lrtransfer import _check
from lrtransfer.rates import OnEdgeWarning
from lrtransfer.width.data import PARAMETRISATIONS, Regression, _limit_lr, regression, width_of
from lrtransfer.width.network import Network, Trained, draw, one_step
from lrtransfer.width.optimum import minimise_polynomial, minimise_scan

Array = NDArray[np.float64]
_SCAN = 129  # rates in the scan of a loss curve after several steps
_NODES = 48  # rates that fix the part of the weights several steps can reach


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
    network = _network(width, data, hidden_layers, parametrisation, seed, coordinates=coordinates)
    coefficients = one_step(network, data)
    return coefficients * _rate_unit(width, parametrisation) ** -np.arange(len(coefficients))[:, None]


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
    the same recursion (see ``lrtransfer.width.gaussian``), under muP.

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
    rates = _check.finite("lrs", lrs, minimum=0.0)
    count = _check.count("steps", steps)
    network = _network(width, data, hidden_layers, parametrisation, seed)
    _explore(network, data, count)
    losses = _losses(network, data, rates.ravel() / _rate_unit(width, parametrisation), count)
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
    count = _check.count("steps", steps, minimum=1)
    network = _network(width, data, hidden_layers, parametrisation, seed)
    unit = _rate_unit(width, parametrisation)
    ends = _interval(interval, 4 * _limit_lr(data, network.layers) * unit)
    low, high = ends[0] / unit, ends[1] / unit
    if count == 1:
        best = float(minimise_polynomial(one_step(network, data)[None], data, low, high)[0])
    else:
        _explore(network, data, count)
        best = minimise_scan(
            lambda lrs: data.excess(Trained(network, data, lrs, count).theta[-1]),
            low,
            high,
            points=_SCAN,
            tie=float(data.z @ data.z),
        )
    if min(best - low, high - best) <= 1e-7 * (high - low) * (count > 1):
        best = low if best - low < high - best else high
        warnings.warn(
            f"the best rate lies at the end {best * unit:g} of the interval ({ends[0]:g}, {ends[1]:g})",
            OnEdgeWarning,
            stacklevel=2,
        )
    return best * unit


def _network(
    width: float, data: Regression, layers: int, parametrisation: str, seed: int, *, coordinates: bool = False
) -> Network:
    _check.choice("parametrisation", parametrisation, PARAMETRISATIONS)
    n = width_of(width, infinite=parametrisation == "mup" and not coordinates)
    depth = _check.count("hidden_layers", layers, minimum=1)
    entropy = _check.count("seed", seed)
    return draw(n, data.d, depth, parametrisation=parametrisation, seed=entropy, coordinates=coordinates)


def _rate_unit(width: float, parametrisation: str) -> float:
    """A rate of the parametrisation over the normalised rate of ``network``."""
    return 1 / width if parametrisation == "sp" else 1.0


def _interval(interval: tuple[float, float] | None, default: float) -> tuple[float, float]:
    if interval is None:
        return 0.0, default
    ends = _check.finite("interval", interval, minimum=0.0)
    if ends.shape != (2,) or not ends[0] < ends[1]:
        raise _check.refuse("interval", interval, "a pair (low, high) with 0 <= low < high")
    return float(ends[0]), float(ends[1])


def _explore(network: Network, data: Regression, steps: int) -> None:
    """Reveal what training can reach, in an order that does not depend on the rates somebody asks for.

    A lazily revealed matrix depends on the order of the questions. The loss at two rates of one call belongs
    to one draw in any case, but the draw would differ between two calls with other rates. Runs at fixed rates
    up to the edge of stability 2 m / (L lambda_max(K)) of the linearised dynamics span what runs at the rates
    between need: exactly for L <= 3, where the space that training can reach has some (d + 1) t dimensions a
    layer; nearly for more layers, where it grows exponentially with the number of steps.
    """
    one_step(network, data)
    if steps >= 2:
        edge = 2 * data.m * data.d / (network.layers * float(np.linalg.norm(data.R, 2)) ** 2)
        nodes = edge * (1 - np.cos(math.pi * (np.arange(_NODES) + 0.5) / _NODES)) / 2
        Trained(network, data, nodes, steps)


def _losses(network: Network, data: Regression, lrs: Array, steps: int) -> Array:
    theta = Trained(network, data, lrs, steps).theta  # (steps + 1, d, R)
    return data.loss(np.moveaxis(theta, 1, 0))
