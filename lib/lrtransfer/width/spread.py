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
from numpy.typing import ArrayLike, NDArray

from lrtransfer import _check
from lrtransfer.fits import line
from lrtransfer.width.data import Regression, _limit_lr, regression
from lrtransfer.width.network import one_step
from lrtransfer.width.optimum import excess, minimise_polynomial, report_edges
from lrtransfer.width.training import _interval, _network

Array = NDArray[np.float64]
STATISTICS = ("rms", "mean_abs", "abs_mean")


def synthetic_data(m: int = 1000, d: int = 1, noise_variance: float = 0.01, *, seed: int) -> tuple[Array, Array]:
    """Inputs and targets of the paper's experiment: ``y = w'x + eps``, x ~ N(0, I_d), w ~ N(0, I_d / d).

    Returns X of shape (m, d) and y of shape (m,). Source: Hayou (2025), setup of Fig. 2.
    """
    samples, dim = _check.count("m", m, minimum=1), _check.count("d", d, minimum=1)
    variance = float(_check.finite("noise_variance", noise_variance, minimum=0.0))
    rng = np.random.default_rng(_check.count("seed", seed))
    X = rng.standard_normal((samples, dim))
    teacher = rng.standard_normal(dim) / math.sqrt(dim)
    return X, X @ teacher + math.sqrt(variance) * rng.standard_normal(samples)


def coefficient_draws(
    widths: Sequence[int],
    X: ArrayLike,
    y: ArrayLike,
    hidden_layers: int,
    *,
    seeds: Sequence[int],
    parametrisation: str = "mup",
) -> Array:
    """``one_step_coefficients`` in normalised rates for many widths and seeds: (widths, seeds, L + 1, d).

    Normalised: the rate under muP and NTP, n times the rate under SP. Draws are independent over widths and
    seeds.
    """
    data = regression(X, y)
    return np.array(
        [
            [one_step(_network(width, data, hidden_layers, parametrisation, seed), data) for seed in seeds]
            for width in widths
        ]
    )


def exact_argmin(
    coefficients: ArrayLike, X: ArrayLike, y: ArrayLike, interval: tuple[float, float] | None = None
) -> Array:
    """The exact one-step optimum of every draw on an interval, (0, 4 eta_inf) by default.

    ``coefficients`` of shape (..., L + 1, d) as ``coefficient_draws`` returns them; returns shape (...), with
    one ``OnEdgeWarning`` that counts the draws whose optimum is an end of the interval.
    """
    table, data = _table(coefficients, X, y)
    low, high = _interval(interval, 4 * _limit_lr(data, table.shape[-2] - 1))
    flat = table.reshape(-1, *table.shape[-2:])
    best = minimise_polynomial(flat, data, low, high)
    report_edges(best, low, high)
    return best.reshape(table.shape[:-2])


def grid_argmin(coefficients: ArrayLike, X: ArrayLike, y: ArrayLike, lrs: ArrayLike, *, average: bool = False) -> Array:
    """The rate of a grid with the lowest one-step loss, as a sweep would report it.

    Parameters
    ----------
    coefficients
        Shape (..., seeds, L + 1, d) as ``coefficient_draws`` returns them.
    X, y
        The data the coefficients were drawn for.
    lrs
        The grid, shape (R,), nonnegative.
    average
        False: one optimum a draw, shape (..., seeds). True: the optimum of the loss averaged over the seeds,
        shape (...).

    One ``OnEdgeWarning`` counts the optima at the lowest or the highest rate of the grid.
    """
    table, data = _table(coefficients, X, y)
    rates = _check.finite("lrs", lrs, minimum=0.0)
    if rates.ndim != 1 or rates.size == 0:
        raise _check.refuse("lrs", rates.shape, "a list of rates (the value is its shape)")
    flat = table.reshape(-1, *table.shape[-2:])
    losses = excess(flat, data, rates[None]).reshape(*table.shape[:-2], rates.size)
    best = rates[np.argmin(losses.mean(axis=-2) if average else losses, axis=-1)]
    report_edges(best, float(rates.min()), float(rates.max()))
    return best


def limit_spread(X: ArrayLike, y: ArrayLike, hidden_layers: int) -> float:
    """The constant c in ``eta_n - eta_inf ~ c xi / sqrt(n)`` for one input dimension, xi standard normal.

    With slope beta = x'y / |x|^2 and L hidden layers,

        (c / eta_inf)^2 = 4/L^2 (L^2 + L (L-1) (2L-1) / 6)
                          + (beta/L^2)^2 (C(L+1, 3)^2 + sum_{1 <= j < i <= L-1} j^2 (L-i)^2).

    First order in 1/sqrt(n): f^(0) cancels between theta_0 and Phi_1. What is left is the scatter of the
    squared norms in Phi_1 (each matrix, asked once from either side, contributes a relative variance 2/n) and
    of Phi_2: a product a'J'J J'b through p matrices is (p + 1) f^(0) plus p (p + 1) / 2 independent terms
    N(0, 1/n), the first factor being the second moment of a product of p Wishart-like matrices, and C(L+1, 3)
    = sum_p (L-1-p)(p+1) counts them.

    Source: derived here; the paper gives only the order n^(-1/2). ValueError when d > 1 or K y = 0.
    """
    data = regression(X, y)
    layers = _check.count("hidden_layers", hidden_layers, minimum=1)
    if data.d != 1:
        raise _check.refuse("X", data.X.shape, "of shape (m, 1) (the value is its shape)")
    slope = float(data.z[0] / data.R[0, 0])
    norms = 4 * (1 + (layers - 1) * (2 * layers - 1) / (6 * layers))
    passed = sum(j**2 * (layers - i) ** 2 for i in range(2, layers) for j in range(1, i))
    second = (slope / layers**2) ** 2 * (math.comb(layers + 1, 3) ** 2 + passed)
    return _limit_lr(data, layers) * math.sqrt(norms + second)


def sweep_error(optima: ArrayLike, target: float, statistic: str = "rms") -> Array:
    """The distance of best rates (..., seeds) from a target, one number for all seeds; shape (...).

    "rms" ``sqrt(mean (eta - target)^2)``, "mean_abs" ``mean |eta - target|``, "abs_mean" ``|mean eta -
    target|``. The last is the one number a curve of mean optimum against width suggests. As long as noise
    dominates its scatter over experiments is as large as itself; with more seeds than about n (c / bias)^2
    the bias ``bias / n`` of the optimum takes over.
    """
    _check.choice("statistic", statistic, STATISTICS)
    off = _check.finite("optima", optima) - float(_check.finite("target", target))
    if statistic == "abs_mean":
        return np.abs(off.mean(axis=-1))
    return np.abs(off).mean(axis=-1) if statistic == "mean_abs" else np.sqrt((off**2).mean(axis=-1))


def break_slopes(widths: ArrayLike, errors: ArrayLike, at: float = 1024) -> tuple[Array, Array]:
    """Least-squares slopes of log error against log width up to ``at`` and from ``at`` on.

    ``errors`` of shape (widths, ...), nonnegative; returns two arrays of shape (...). A part that contains an
    error of exactly zero (a grid sweep can produce it) has slope -inf.
    """
    sizes, values = _check.positive("widths", widths), _check.finite("errors", errors, minimum=0.0)
    if sizes.ndim != 1 or values.shape[:1] != sizes.shape:
        raise _check.refuse("errors", values.shape, f"of shape ({sizes.size}, ...) (the value is its shape)")
    if min(np.unique(sizes[sizes <= at]).size, np.unique(sizes[sizes >= at]).size) < 2:
        raise _check.refuse("at", at, "a width with two or more widths on either side, itself included")
    slopes = []
    for part in (sizes <= at, sizes >= at):
        e = values[part]
        slope, _, _ = line(np.log(sizes[part]), np.log(np.where(e > 0, e, 1.0)))
        slopes.append(np.where((e > 0).all(axis=0), slope, -math.inf))
    return slopes[0], slopes[1]


def break_probability(
    widths: ArrayLike,
    optima: ArrayLike,
    target: float,
    *,
    seeds: int,
    statistic: str = "rms",
    replicas: int = 4000,
    seed: int = 0,
    at: float = 1024,
) -> float:
    """How often an experiment with few seeds shows a break like the printed one.

    A break: the slope is in (-0.7, -0.3) up to ``at`` and below -0.8 from there on.

    ``optima`` of shape (widths, draws) is a large pool; each replica picks ``seeds`` draws of every width,
    with replacement, and forms ``sweep_error`` and ``break_slopes``. Returns a fraction of ``replicas``.
    """
    pool = _check.finite("optima", optima)
    few, many = _check.count("seeds", seeds, minimum=1), _check.count("replicas", replicas, minimum=1)
    if pool.ndim != 2 or pool.shape[1] == 0:
        raise _check.refuse("optima", pool.shape, "of shape (widths, draws) (the value is its shape)")
    picks = np.random.default_rng(seed).integers(0, pool.shape[1], size=(len(pool), many, few))
    errors = sweep_error(np.take_along_axis(pool[:, None, :], picks, axis=2), target, statistic)
    early, late = break_slopes(widths, errors, at)
    return float(np.mean((np.abs(early + 0.5) < 0.2) & (late < -0.8)))


def _table(coefficients: ArrayLike, X: ArrayLike, y: ArrayLike) -> tuple[Array, Regression]:
    data = regression(X, y)
    table = _check.finite("coefficients", coefficients)
    if table.ndim < 2 or table.shape[-1] != data.d or table.shape[-2] < 2:
        raise _check.refuse("coefficients", table.shape, f"of shape (..., L + 1, {data.d}) (the value is its shape)")
    return table, data
