"""What a rule of transfer brings to another depth, by runs.

``rate_panel``           one panel of Fig. 2: the loss after 30 steps over rates and depths
``fastest_rate``         the rate at which one step next to the minimum neither falls short nor goes beyond
``power_law_error``      how far the best single exponent stays from the exact rule
``carried_rate``, ``targets_reached``    what the agnostic rule brings to a deep network
``pooled_errors``        standard errors of best rates, the spacing of their grid included
``best_rates``, ``recorded_rates``    best rates over depth of trained networks, with their errors
``compare_predictions``  a fit to two tuned depths against the rates measured at the others, beside two plainer rules
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lrtransfer.depth.criteria import rule_lr, sweep
from lrtransfer.depth.dynamics import gradient_descent, total_weight
from lrtransfer.depth.experiments.minima import minimum_weight
from lrtransfer.depth.fitted_rule import POWERS, TransferFit, UnresolvedDataWarning, fit_transfer
from lrtransfer.depth.scalar_map import check_depth
from lrtransfer.depth.scaling import agnostic_optimum, max_stable_lr, transfer_lr
from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.rates import OnEdgeWarning, best_lr


def rate_panel(
    depths: ArrayLike, r: float, arch: str = "chain", rule: str = "exact", *, points: int = 100
) -> tuple[Array, Array]:
    """One panel of Fig. 2: the loss after 30 steps for every depth, over rates in units of a rule.

    Parameters
    ----------
    depths
        L, whole numbers, shape (D,)
    r, arch, rule
        as in ``criteria.sweep``
    points
        number of rates X, evenly spaced up to 2; under the agnostic rule of the chain and of block one up to twice the
        least range that holds its optimum at L = 128, where that is more

    Returns
    -------
    tuple[ndarray, ndarray]
        rates x of shape (X,) and losses of shape (X, D)
    """
    scale = 1.0 if rule == "exact" else max(1.0, float(agnostic_optimum(128, r, arch)) * 1.6) / 2 + 0.5
    x = np.linspace(0.01, 2, points) * scale
    return x, sweep(x[:, None], depths, r, arch, rule)


def fastest_rate(depths: ArrayLike, r: float, arch: str = "chain", rule: str = "exact") -> Array:
    """The rate of fastest convergence at the end of training, in units of a rule, found by runs and no closed form.

    One step from next to the minimum falls short of it at lower rates and goes beyond it at higher ones; bisection
    finds the rate between. It depends on no grid and on no number of steps.

    Parameters
    ----------
    depths
        L, whole numbers, shape (D,)
    r, arch, rule
        as in ``criteria.sweep``

    Returns
    -------
    ndarray
        x of shape (D,), to about 1e-6
    """
    layers = np.atleast_1d(check_depth(depths, "depths"))
    beside = np.array([minimum_weight(int(one), r * (1 - 1e-7), arch) for one in layers])
    start = beside**layers if arch == "chain" else beside
    lower, upper = np.zeros(layers.shape), np.full(layers.shape, 16.0)
    for _ in range(60):
        middle = 0.5 * (lower + upper)
        lr = rule_lr(middle, layers, r, arch, rule)
        after = total_weight(gradient_descent(lr, layers, 1, mu_yx=r, init=start, arch=arch)[1], layers, arch)
        lower, upper = np.where(after < r, middle, lower), np.where(after < r, upper, middle)
    return upper


def power_law_error(source: int, targets: ArrayLike, ratios: ArrayLike, *, exponents: int = 401) -> float:
    """The largest error, in octaves, of the best single exponent p in (L / L0)^-p, over depths and data at once.

        min over p of max over L, r of |log2 (L / L0)^-p - log2 eta_L / eta_L0|

    Parameters
    ----------
    source
        L0
    targets, ratios
        L of shape (D,) and r of shape (R,)
    exponents
        number of p tried, evenly from 0 to 2
    """
    depths, data = np.atleast_1d(targets), np.atleast_1d(ratios)
    exact = np.log2(transfer_lr(1.0, source, depths, data[:, None]))
    powers = np.linspace(0, 2, exponents)[:, None, None]
    return float(np.abs(-powers * np.log2(depths / source) - exact).max(axis=(1, 2)).min())


def carried_rate(source: ArrayLike, depth: int, r: ArrayLike) -> Array:
    """The rate that the 1/L rule brings from a source depth, in units of the chain's exact rule at ``depth``.

    At the source it is 1/tau = 1, so this is r^(2 (1/L0 - 1/L)).

    Parameters
    ----------
    source, r
        L0 and r, which broadcast
    depth
        L, where the rate is used
    """
    layers = check_depth(source, "source")
    return max_stable_lr(layers, r) * layers / depth / max_stable_lr(depth, r)


def targets_reached(source: int, depth: int, targets: ArrayLike, *, threshold: float = 1e-6) -> NDArray[np.bool_]:
    """For which targets r the rate of ``carried_rate`` brings the loss below ``threshold`` in 30 steps.

    Parameters
    ----------
    source, depth
        L0 and L
    targets
        r, positive, any shape
    threshold
        loss to reach

    Returns
    -------
    ndarray
        booleans of the shape of ``targets``
    """
    r = arguments.positive("targets", targets)
    return sweep(r ** (2 * (1 / source - 1 / depth)), depth, r) < threshold


def pooled_errors(spreads: ArrayLike, spacing: float) -> Array:
    """Standard errors of log2 of best rates: that over seeds, and a grid of rates that is even to ``spacing``.

        (spread^2 + spacing^2 / 12)^(1/2)

    Parameters
    ----------
    spreads
        over seeds, in octaves, any shape (``rates.BestLR.spread``)
    spacing
        of the grid, in octaves; an optimum is known to a share of it, taken as uniform

    Returns
    -------
    ndarray
        in octaves, of the shape of ``spreads``
    """
    return np.hypot(arguments.finite("spreads", spreads, minimum=0.0), spacing / np.sqrt(12.0))


def best_rates(lrs: ArrayLike, losses: ArrayLike) -> tuple[Array, Array]:
    """Best rates of sweeps over several depths with one grid of rates, and their errors.

    Parameters
    ----------
    lrs
        rates, shape (R,), rising by a constant factor
    losses
        shape (D, R, seeds); a best rate beside the border of divergence counts as it is found

    Returns
    -------
    tuple[ndarray, ndarray]
        rates, and standard errors of their log2 (``pooled_errors``), each of shape (D,)
    """
    rates = np.asarray(lrs, dtype=float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OnEdgeWarning)
        best = [best_lr(rates, table) for table in np.asarray(losses, dtype=float)]
    spacing = float(np.log2(rates[1] / rates[0]))
    return np.array([one.lr for one in best]), pooled_errors([one.spread for one in best], spacing)


def recorded_rates(record: Mapping[str, Any], **settings: Any) -> tuple[NDArray[np.int64], Array, Array]:
    """Best rates over depth in a record of sweeps (``sweeps.records.read``), with their errors.

    Parameters
    ----------
    record
        its settings hold the curves, its numbers their losses (rates, seeds)
    **settings
        which curves: those whose settings agree. Of several at one depth the first counts; one whose best rate lies on
        the edge of its rates is left out

    Returns
    -------
    tuple[ndarray, ndarray, ndarray]
        depths, rising; rates; standard errors of log2 of the rates (``pooled_errors``); each of shape (D,)

    Raises
    ------
    ValueError
        where no curve agrees.
    """
    found: dict[int, tuple[float, float]] = {}
    for curve, losses in zip(record["settings"]["curves"], record["numbers"]["losses"], strict=True):
        given = curve["settings"]
        if given["depth"] in found or any(given[name] != value for name, value in settings.items()):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", OnEdgeWarning)  # it is left out below
            best = best_lr(curve["lrs"], np.asarray(losses, dtype=float))
        if not best.on_edge:
            spacing = float(np.log2(curve["lrs"][1] / curve["lrs"][0]))
            found[given["depth"]] = (best.lr, float(pooled_errors(best.spread, spacing)))
    if not found:
        raise arguments.refuse("settings", settings, "those of a curve of the record")
    depths = np.array(sorted(found), dtype=np.int64)
    rates, errors = np.array([found[int(depth)] for depth in depths]).T
    return depths, rates, errors


@dataclass(frozen=True)
class Predictions:
    """Rates predicted from two tuned depths, less the measured ones, in octaves, at the depths beyond; each (D,).

    ``fit`` the rule; ``fitted`` its differences and ``errors`` their standard errors, those of the measured rates
    included; ``agnostic``, the rule L^-p from the deeper of the two; ``power``, the power law through both.
    """

    fit: TransferFit
    depths: tuple[int, ...]
    fitted: Array
    errors: Array
    agnostic: Array
    power: Array


def compare_predictions(
    depths: ArrayLike, lrs: ArrayLike, errors: ArrayLike, pair: tuple[int, int], *, arch: str = "chain"
) -> Predictions:
    """Fit the rule of transfer to the rates of two depths and compare it with the rates measured at all deeper ones.

    Parameters
    ----------
    depths, lrs, errors, arch
        as in ``tuned.fit_transfer``, shape (K,)
    pair
        the two depths to tune at, both in ``depths``, rising

    Returns
    -------
    Predictions
    """
    layers, rates, spread = (np.asarray(v, dtype=float) for v in (depths, lrs, np.broadcast_to(errors, np.shape(lrs))))
    low, high = (int(np.flatnonzero(layers == one)[0]) for one in pair)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnresolvedDataWarning)  # the fit itself says so
        fit = fit_transfer(layers[[low, high]], rates[[low, high]], spread[[low, high]], arch=arch)
    deeper = layers > pair[1]
    measured, beyond = np.log2(rates[deeper]), layers[deeper]
    steps = np.log2(beyond / pair[1])
    exponent = np.log2(rates[high] / rates[low]) / np.log2(pair[1] / pair[0])
    return Predictions(
        fit=fit,
        depths=tuple(int(one) for one in beyond),
        fitted=np.log2(fit.lr(beyond)) - measured,
        errors=np.hypot(fit.error(beyond), spread[deeper]),
        agnostic=np.log2(rates[high]) - POWERS[arch] * steps - measured,
        power=np.log2(rates[high]) + exponent * steps - measured,
    )
