"""How eta_n scatters about eta_inf: the statistics behind Fig. 2, for exact optima and for optima on a grid.

The exact optimum of a draw deviates by ``c xi / sqrt(n)`` with xi standard normal in the limit. A sweep over
a grid with spacing delta sees only the cell that eta_n falls into. Once ``c / sqrt(n)`` is small against the
distance from eta_inf to the nearest border of its cell, nearly all draws report the same grid point: the
scatter about that point falls like a Gaussian tail, faster than any power of n, and the distance from eta_inf
stops falling at all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.overflow import or_inf
from lrtransfer.width.data import LARGEST, limit_lr_of, regression, widths_of
from lrtransfer.width.network import draw, one_step
from lrtransfer.width.optimum import coefficient_table, excess, interval_argument, minimise_polynomial, report_edges

STATISTICS = ("rms", "mean_abs", "abs_mean")
_CELLS = 60  # cells on either side of the limit: spacings from a tenth of the scatter on


def coefficient_draws(
    widths: Sequence[int],
    X: ArrayLike,
    y: ArrayLike,
    hidden_layers: int,
    *,
    seeds: Sequence[int],
    parametrisation: str = "mup",
) -> Array:
    """``one_step_coefficients`` in normalised rates for many widths and seeds, drawn independently over both.

        theta(eta) = theta_0 + sum_k Phi_k eta^k

    Parameters
    ----------
    widths, seeds
        lists
    X, y, hidden_layers, parametrisation
        as in ``one_step_coefficients``

    Returns
    -------
    ndarray
        theta_0, Phi_1 .. Phi_L, (widths, seeds, L + 1, d), in the normalised rate: the rate under muP and NTP, n times
        the rate under SP.

    Raises
    ------
    ValueError
        as ``one_step_coefficients`` does.

    References
    ----------
    Hayou, 'A Proof of Learning Rate Transfer under muP' (2025), phi_k and Lemma 1.
    """
    data = regression(X, y)

    def one(width: float, seed: int) -> Array:
        return one_step(draw(width, data.d, hidden_layers, parametrisation=parametrisation, seed=seed), data)

    numbers = arguments.seeds("seeds", seeds)
    return np.array([[one(width, seed) for seed in numbers] for width in widths_of(widths)])


def exact_argmin(
    coefficients: ArrayLike,
    X: ArrayLike,
    y: ArrayLike,
    interval: tuple[float, float] | None = None,
    *,
    average: bool = False,
) -> Array:
    """The exact one-step optimum of every draw on an interval I: ``argmin_{eta in I} |X theta(eta) - y|^2``.

    Parameters
    ----------
    coefficients
        (..., L + 1, d) as ``coefficient_draws`` returns them, with ``average`` (..., seeds, L + 1, d)
    X, y
        the data they were drawn for, (m, d) and (m,)
    interval
        (low, high) with 0 <= low < high, by default (0, 4 eta_inf)
    average
        whether to average the loss over the last axis of the draws first

    Returns
    -------
    ndarray
        best rates, normalised: one a draw, (...), or with ``average`` one for each (..., seeds).

    Raises
    ------
    ValueError
        naming the argument.

    Warns
    -----
    OnEdgeWarning
        once, with the number of optima that are an end of the interval.

    References
    ----------
    Hayou, 'A Proof of Learning Rate Transfer under muP' (2025), theorem for t = 1.
    """
    table, data = coefficient_table(coefficients, X, y)
    low, high = interval_argument(interval, 4 * limit_lr_of(data, table.shape[-2] - 1))
    if arguments.flag("average", average):
        if table.ndim < 3:
            raise arguments.refuse(
                "coefficients", table.shape, "of shape (..., seeds, L + 1, d) (the value is its shape)"
            )
        # The mean over S draws is the loss of one network with S outputs: their forms side by side, one data set each.
        seeds = table.shape[-3]
        data = regression(np.kron(np.eye(seeds), data.R), np.tile(data.z, seeds))
        table = np.moveaxis(table, -3, -2).reshape(*table.shape[:-3], table.shape[-2], -1)
    flat = table.reshape(-1, *table.shape[-2:])
    best = minimise_polynomial(flat, data, low, high)
    report_edges(best, low, high)
    return best.reshape(table.shape[:-2])


def grid_argmin(coefficients: ArrayLike, X: ArrayLike, y: ArrayLike, lrs: ArrayLike, *, average: bool = False) -> Array:
    """The rate of a grid with the lowest one-step loss, as a sweep would report it.

    Parameters
    ----------
    coefficients
        (..., seeds, L + 1, d) as ``coefficient_draws`` returns them
    X, y
        the data the coefficients were drawn for
    lrs
        the grid, (lrs,), nonnegative
    average
        whether to average the loss over the seeds first

    Returns
    -------
    ndarray
        one optimum a draw, (..., seeds), or with ``average`` that of the mean loss, (...).

    Raises
    ------
    ValueError
        naming the argument.

    Warns
    -----
    OnEdgeWarning
        once, with the number of optima at the lowest or the highest rate of the grid.

    References
    ----------
    Hayou, 'A Proof of Learning Rate Transfer under muP' (2025), Fig. 2, which sweeps a grid.
    """
    table, data = coefficient_table(coefficients, X, y)
    rates = arguments.finite("lrs", lrs, minimum=0.0)
    if rates.ndim != 1 or rates.size == 0:
        raise arguments.refuse("lrs", rates.shape, "a list of rates (the value is its shape)")
    flat = table.reshape(-1, *table.shape[-2:])
    with np.errstate(all="ignore"):
        losses = or_inf(excess(flat, data, rates[None])).reshape(*table.shape[:-2], rates.size)
    best = rates[np.argmin(losses.mean(axis=-2) if arguments.flag("average", average) else losses, axis=-1)]
    report_edges(best, float(rates.min()), float(rates.max()))
    return best


def limit_spread(X: ArrayLike, y: ArrayLike, hidden_layers: int) -> float:
    """The constant c in ``eta_n - eta_inf ~ c xi / sqrt(n)`` for one step under muP, xi standard normal.

    With ``S = X'X / m``, ``rho = X'y / m``, ``v = (|rho|^2 / rho'S rho) S rho - rho`` (orthogonal to rho) and L hidden
    layers,

        L^2 (c / eta_inf)^2 = 4 H (1 + |v|^2 / |rho|^2) + |2 L S v / |rho|^2 - eta_inf C(L+1, 3) rho|^2 / d
                              + eta_inf^2 |rho|^2 Q / d,
        H = L^2 + L (L-1) (2L-1) / 6,    Q = sum_{1 <= j < i <= L-1} j^2 (L-i)^2.

    With one input dimension v = 0, and with the slope beta = x'y / |x|^2 of the best line

        (c / eta_inf)^2 = 4 H / L^2 + (beta / L^2)^2 (C(L+1, 3)^2 + Q).

    First order in 1/sqrt(n). The first term is the scatter of norms and inner products in Phi_1: each matrix, asked
    once from either side, contributes a relative variance 2/n to a norm. The second is theta_0, which for d = 1 cancels
    from Phi_1 and is left in Phi_2: a product a'J'J J'b through p matrices is (p + 1) f^(0) plus p (p + 1) / 2
    independent terms N(0, 1/n), the first factor being the second moment of a product of p Wishart-like matrices, and
    C(L+1, 3) = sum_p (L-1-p)(p+1) counts them. The third is those independent terms.

    Parameters
    ----------
    X, y
        inputs (m, d) and targets (m,)
    hidden_layers
        L, whole, from 1 on

    Returns
    -------
    float
        c, in the unit of the rate.

    Raises
    ------
    ValueError
        as ``limit_lr`` does.

    References
    ----------
    Derived here; Hayou, 'A Proof of Learning Rate Transfer under muP' (2025), gives only the order n^(-1/2).
    """
    data = regression(X, y)
    layers = arguments.count("hidden_layers", hidden_layers, minimum=1)
    limit = limit_lr_of(data, layers)
    second, rho = data.R.T @ data.R / data.m, data.R.T @ data.z / data.m
    size = rho @ rho
    across = size / (rho @ second @ rho) * second @ rho - rho
    norms = 4 * (layers**2 + layers * (layers - 1) * (2 * layers - 1) / 6) * (1 + across @ across / size)
    start = 2 * layers / size * second @ across - limit * math.comb(layers + 1, 3) * rho
    passed = sum(j**2 * (layers - i) ** 2 for i in range(2, layers) for j in range(1, i))
    variance = norms + (start @ start + limit**2 * size * passed) / data.d
    return float(limit / layers * math.sqrt(variance))


def grid_rms(spacing: ArrayLike, scatter: ArrayLike) -> Array:
    """Root mean square distance from the limit of best rates on a grid of rates that contains the limit.

        sqrt(sum_j (j spacing)^2 P(|scatter xi - j spacing| < spacing / 2)),    xi standard normal:

    the best grid rate of a draw is the centre of the cell that its exact best rate falls into.

    Parameters
    ----------
    spacing, scatter
        of the grid, and ``c / sqrt(n)`` of the exact best rates; positive, in one unit; they broadcast

    Returns
    -------
    ndarray
        the distance of the broadcast shape, in that unit.

    Raises
    ------
    ValueError
        naming the argument.

    References
    ----------
    Derived here, on Fig. 2 of Hayou (2025).
    """
    cell, width = np.broadcast_arrays(arguments.positive("spacing", spacing), arguments.positive("scatter", scatter))
    ratio = np.asarray(cell / width)
    j = np.arange(-_CELLS, _CELLS + 1).reshape(-1, *[1] * ratio.ndim)
    share = ndtr((j + 0.5) * ratio) - ndtr((j - 0.5) * ratio)
    return np.asarray(cell * np.sqrt((j**2 * share).sum(axis=0)))[()]


def sweep_error(optima: ArrayLike, target: float, statistic: str = "rms") -> Array:
    """The distance of best rates from a target, one number for all seeds.

        sqrt(mean (eta - target)^2)        ("rms")
        mean |eta - target|                ("mean_abs")
        |mean eta - target|                ("abs_mean")

    The last is the one number a curve of mean optimum against width suggests. As long as noise dominates its scatter
    over experiments is as large as itself; with more seeds than about n (c / bias)^2 the bias ``bias / n`` of the
    optimum takes over.

    Parameters
    ----------
    optima
        eta, (..., seeds), finite
    target
        in the unit of ``optima``
    statistic
        "rms", "mean_abs" or "abs_mean"

    Returns
    -------
    ndarray
        (...), in that unit.

    Raises
    ------
    ValueError
        naming the argument.

    References
    ----------
    The statistics that Fig. 2 of Hayou (2025) may show; it does not say which.
    """
    arguments.choice("statistic", statistic, STATISTICS)
    pool = arguments.within("optima", arguments.finite("optima", optima), LARGEST)
    if not pool.ndim or not pool.shape[-1]:
        raise arguments.refuse("optima", pool.shape, "of shape (..., seeds) (the value is its shape)")
    off = pool - arguments.one("target", arguments.within("target", arguments.finite("target", target), LARGEST))
    if statistic == "abs_mean":
        return np.abs(off.mean(axis=-1))
    return np.abs(off).mean(axis=-1) if statistic == "mean_abs" else np.sqrt((off**2).mean(axis=-1))
