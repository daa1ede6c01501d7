"""Losses and ratios over rates, widths and splits, as the figures show them.

Every function loops over an engine of the chapter and returns its numbers side by side; nothing new is computed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.layers.balance import crossings
from lrtransfer.layers.circle import balance_curvature, expected_loss, one_number, width_argument
from lrtransfer.layers.decomposition import proposition_bound, self_interaction
from lrtransfer.layers.deep import deep_loss_course
from lrtransfer.layers.relu import train_three_layers
from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array


def interaction_over_bound(alpha: float, widths: Sequence[int], steps: int) -> Array:
    """The first layer's ``self_interaction`` at equal rates h^alpha over Proposition 5.1's bound.

    Parameters
    ----------
    alpha
        Exponent.
    widths
        Shape (n,): each >= 2.
    steps
        >= 0.

    Returns
    -------
    array
        (n, steps + 1).

    Raises
    ------
    ValueError
        For an argument out of its range, which it names.

    Source: arXiv 2606.00340, Proposition 5.1.
    """
    exponent = one_number("alpha", alpha)
    return np.array(
        [
            self_interaction(float(w) ** exponent, float(w) ** exponent, int(w), steps)[:, 0] / proposition_bound(w)
            for w in widths
        ]
    )


def surrogate_errors(alphas: ArrayLike, widths: Sequence[int], steps: int) -> Array:
    """Relative error of the surrogate's loss at equal rates h^alpha; inf where gradient descent diverged.

    Parameters
    ----------
    alphas
        Shape (m,): exponents.
    widths
        Shape (n,): each >= 2.
    steps
        >= 0.

    Returns
    -------
    array
        |surrogate / gradient descent - 1|, (n, m).

    Raises
    ------
    ValueError
        For an argument out of its range, which it names.

    Source: this book.
    """
    exponents = arguments.finite("alphas", alphas)
    out = np.empty((len(widths), exponents.size))
    for row, w in zip(out, widths, strict=True):
        rates = float(w) ** exponents
        true = expected_loss(rates, rates, int(w), steps)
        with np.errstate(invalid="ignore"):  # inf over inf: both diverged
            row[:] = np.abs(expected_loss(rates, rates, int(w), steps, signal_only=True) / true - 1)
        row[~np.isfinite(true)] = np.inf
    return np.where(np.isfinite(out), out, np.inf)


def valley_edges(alphas: ArrayLike, widths: Iterable[int], steps: int, *, signal_only: bool = False) -> Array:
    """First and last exponent at which ``balance_curvature`` changes sign.

    Parameters
    ----------
    alphas
        Shape (m,): increasing exponents, between which the sign is interpolated.
    widths
        Shape (n,): each >= 2.
    steps
        >= 0.
    signal_only
        Of the surrogate.

    Returns
    -------
    array
        (2, n), NaN where the sign does not change.

    Raises
    ------
    ValueError
        For an argument out of its range, which it names.

    Source: this book.
    """
    found = [crossings(alphas, balance_curvature(alphas, int(w), steps, signal_only)) for w in widths]
    return np.array([[e[end] if e.size else np.nan for e in found] for end in (0, -1)])


def first_rate_losses(
    matrices: int, total: float, units: ArrayLike, h: int, steps: int, *, draws: int, seeds: Iterable[int]
) -> Array:
    """Losses of ``deep_loss_course`` when the first matrix gets a share of the budget and the others split the rest.

    Parameters
    ----------
    matrices
        Trained matrices k, >= 2.
    total
        Sum of the rates, > 0.
    units
        Shape (n,): first rate over the balanced one, total / k; from 0 to k.
    h, steps, draws
        As in ``deep_loss``.
    seeds
        One average over draws for each.

    Returns
    -------
    array
        (seeds, steps + 1, n).

    Raises
    ------
    ValueError
        For an argument out of its range, which it names.

    Source: arXiv 2606.00340, networks of four and eight layers.
    """
    k, budget = (
        arguments.count("matrices", matrices, minimum=2),
        one_number("total", arguments.positive("total", total)),
    )
    first = budget * arguments.finite("units", units, minimum=0.0) / k
    if (first > budget).any():
        raise arguments.refuse("units", units, f"between 0 and {k}")
    lrs = np.array([first, *([(budget - first) / (k - 1)] * (k - 1))])
    return np.array([deep_loss_course(lrs, h, steps, draws=draws, seed=s).value for s in seeds])


def relu_losses(h: int, lr: float, steps: int, *, splits: Sequence[float] | Array, seeds: Iterable[int]) -> Array:
    """Test losses of three layers with ReLU at rates lr (1 +- split), the same seeds at every split.

    Parameters
    ----------
    h, lr, steps
        As in ``train_three_layers``.
    splits
        Shape (n,): in [-1, 1].
    seeds
        The same at every split.

    Returns
    -------
    array
        (seeds, n, steps + 1).

    Raises
    ------
    ValueError
        For an argument out of its range, which it names.

    Source: arXiv 2606.00340, the network with ReLU.
    """
    width = width_argument(h)
    return np.array(
        [[train_three_layers(width, lr, steps, seed=s, split=float(d)).test_loss for d in splits] for s in seeds]
    )
