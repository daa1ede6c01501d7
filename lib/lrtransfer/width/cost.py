"""What transfer costs: the loss lost by training a network at the rate of infinite width and not at its own best."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.width.data import limit_lr_of, regression, widths_of
from lrtransfer.width.network import draw, explore
from lrtransfer.width.optimum import excess
from lrtransfer.width.single_draw import best_rate, excess_curve
from lrtransfer.width.spread import exact_argmin, limit_spread


@dataclass(frozen=True)
class TransferCost:
    """Networks of several widths at transferred rates and at their own best rates.

    Attributes
    ----------
    lr
        the rates transferred, any shape
    best
        best rates, (widths, seeds)
    lost
        lr.shape + (widths, seeds): the loss at ``lr`` less that at ``best``, over what the training gains at infinite
        width
    """

    lr: Array
    best: Array
    lost: Array


def one_step_cost(coefficients: ArrayLike, X: ArrayLike, y: ArrayLike) -> TransferCost:
    """``transfer_cost`` of one step from coefficients that were drawn before.

    Parameters
    ----------
    coefficients
        (widths, seeds, L + 1, d), under muP, as ``coefficient_draws`` returns them
    X, y
        the data they were drawn for

    Returns
    -------
    TransferCost
        ``lr`` is eta_inf, a number.

    Raises
    ------
    ValueError
        naming the argument.
    """
    best = exact_argmin(coefficients, X, y)
    table, data = np.asarray(coefficients, dtype=float), regression(X, y)
    layers = table.shape[-2] - 1
    limit = limit_lr_of(data, layers)
    flat = table.reshape(-1, layers + 1, data.d)
    at, lowest = excess(flat, data, np.column_stack([np.full(best.size, limit), best.ravel()])).T
    form = limit * layers * data.X.T @ data.y / data.X.size  # of infinite width at its best rate
    gain = float(data.z @ data.z - data.excess(form))
    return TransferCost(np.asarray(limit), best, np.maximum(at - lowest, 0.0).reshape(best.shape) / gain)


def transfer_cost(
    widths: Sequence[int],
    X: ArrayLike,
    y: ArrayLike,
    hidden_layers: int,
    *,
    steps: int,
    seeds: Sequence[int],
    lr: ArrayLike | None = None,
) -> TransferCost:
    """The loss lost by training at given rates, by default the best at infinite width, under muP, draw by draw.

        lost = (loss_n(lr) - min_eta loss_n(eta)) / (loss(0) - min_eta loss_inf(eta))

    over (0, 4 eta_inf of one step), with loss(0) that of the output zero. Never below 0.

    Parameters
    ----------
    widths
        finite widths
    X, y, hidden_layers
        inputs (m, d), targets (m,), and the number L of trained matrices
    steps
        number of gradient steps, from 1 on
    seeds
        one draw of the weights a seed, the same seeds at every width
    lr
        the rates that are transferred, positive, any shape; by default eta_inf, the best at infinite width

    Returns
    -------
    TransferCost

    Raises
    ------
    ValueError
        as ``optimal_lr`` does.

    References
    ----------
    Derived here, a consequence of the theorem of Hayou, 'A Proof of Learning Rate Transfer under muP' (2025).
    """
    data, count = regression(X, y), arguments.count("steps", steps, minimum=1)
    layers = draw(math.inf, data.d, hidden_layers, parametrisation="mup", seed=0).layers  # checks hidden_layers
    high = 4 * limit_lr_of(data, layers)

    def one(width: float, seed: int, rates: Array) -> Array:
        """The best rate, and 2 m times the excess loss there and at ``rates``: (2 + rates,)."""
        network = draw(width, data.d, layers, parametrisation="mup", seed=seed)
        explore(network, data, count)
        best = best_rate(network, data, count, 0.0, high)
        return np.append(best, excess_curve(network, data, count)(np.append(best, rates)))

    sizes, numbers = widths_of(widths), arguments.seeds("seeds", seeds)
    limit, floor = one(math.inf, 0, np.array([]))
    moved = np.asarray(limit if lr is None else arguments.positive("lr", lr))
    found = np.array(
        [[one(width, seed, moved.ravel()) for seed in numbers] for width in sizes]
    )  # (widths, seeds, 2 + R)
    lost = np.maximum(found[..., 2:] - found[..., 1:2], 0.0) / (float(data.z @ data.z) - floor)
    return TransferCost(moved, found[..., 0], np.moveaxis(lost, -1, 0).reshape(*moved.shape, *found.shape[:2]))


def predicted_cost(widths: ArrayLike, X: ArrayLike, y: ArrayLike, hidden_layers: int) -> Array:
    """Mean of ``lost`` after one step, to leading order: ``(c / eta_inf)^2 / n`` with c of ``limit_spread``.

    The loss after one step at infinite width is a parabola with its vertex at eta_inf, so a rate off by a share e of
    eta_inf loses the share e^2 of what the step gains.

    Parameters
    ----------
    widths
        n, any shape, positive
    X, y, hidden_layers
        as in ``limit_spread``

    Returns
    -------
    ndarray
        of the shape of ``widths``, without unit.

    Raises
    ------
    ValueError
        naming the argument.

    References
    ----------
    Derived here.
    """
    data = regression(X, y)
    relative = limit_spread(X, y, hidden_layers) / limit_lr_of(data, hidden_layers)
    return relative**2 / arguments.positive("widths", widths)
