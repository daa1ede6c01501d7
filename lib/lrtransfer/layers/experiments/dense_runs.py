"""Balanced against split rates in many dense runs.

``balance_runs``      dense networks at rates (1 + split, 1, 1 - split) times a mean rate, on common draws
``advantage``         by how much balanced rates win there, with its standard error
``split_over_seeds``  the split with the smallest mean loss over seeds, with its standard error
``split_statistics``  slope, curvature and gain of very uneven rates at every step, with their errors
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.layers.circle import one_number
from lrtransfer.layers.deep import over_draws
from lrtransfer.layers.dense import chain_losses, two_layer_losses
from lrtransfer.layers.experiments.window import gains
from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.estimates import Estimate, mean_and_error
from lrtransfer.rates import curve_minimum


def balance_runs(
    layers: int,
    rates: ArrayLike,
    h: int,
    steps: int,
    *,
    split: float,
    draws: int,
    seed: int,
    initialisation: str = "orthogonal",
    noise: float = 0.0,
) -> Array:
    """Test losses of dense networks at rates r (1 - split, 1 + split), (r, r) and r (1 + split, 1 - split).

    Parameters
    ----------
    layers
        2, or 3 (two trained matrices and a fixed readout).
    rates
        Mean rates r (n,), >= 0.
    split
        In (0, 1].
    h, steps, draws, seed, initialisation, noise
        As in ``two_layer_losses``.

    Returns
    -------
    array
        (steps + 1, draws, n, 3); all rates of a draw see the same networks and noise.

    Raises
    ------
    ValueError
        As there.

    Source: arXiv 2606.00340, the main table and the experiments with label noise.
    """
    if layers not in (2, 3):
        raise arguments.refuse("layers", layers, "2 or 3")
    part = one_number("split", arguments.positive("split", split))
    if part > 1:
        raise arguments.refuse("split", split, "above 0 and at most 1")
    mean = arguments.finite("rates", rates, minimum=0.0).reshape(-1, 1)
    lrs = np.stack([mean * (1 + part * np.array([-1, 0, 1])), mean * (1 - part * np.array([-1, 0, 1]))])
    if layers == 2:
        options = dict(draws=draws, seed=seed, initialisation=initialisation, noise=noise)
        return two_layer_losses(lrs[0], lrs[1], h, steps, **options)  # type: ignore[arg-type]
    return chain_losses(lrs, h, steps, draws=draws, seed=seed, initialisation=initialisation, noise=noise)


def advantage(losses: Array) -> Estimate:
    """By how much balanced rates win: (L(-split) + L(split)) / 2 - L(0), averaged over draws.

    Parameters
    ----------
    losses
        (steps + 1, draws, n, 3) of ``balance_runs``. The difference is taken within each draw, so what the three runs
        have in common cancels.

    Returns
    -------
    Estimate
        Mean and standard error, (steps + 1, n), in the unit of the loss; positive where balanced rates are the better,
        inf and inf where a run diverged.

    Source: this book.
    """
    return over_draws(np.moveaxis(gains(losses), 1, 0))


def split_over_seeds(
    splits: ArrayLike, losses: ArrayLike, *, resamples: int = 200, seed: int | np.random.Generator
) -> tuple[float, float]:
    """The split of the rates with the smallest mean loss over seeds, and its standard error.

    The vertex of the parabola through the lowest point of the mean curve and its two neighbours, as in
    ``lrtransfer.rates.best_lr`` but without logarithms; the end itself where the lowest point is an end, as no split
    lies beyond -1 and 1. Its error is the standard deviation of the same over resamples of the seeds, drawn with
    replacement (the bootstrap).

    Parameters
    ----------
    splits
        Shape (n,): increasing, three or more.
    losses
        Shape (seeds, n): at those splits, or their changes from any one split of the same seed; inf where a run
        diverged, which rules that split out.
    resamples
        >= 2.
    seed
        Anything ``numpy.random.default_rng`` accepts.

    Returns
    -------
    tuple[float, float]
        Split and standard error, numbers without unit. The error of a single seed is inf.

    Raises
    ------
    ValueError
        For an argument out of its range, which it names.

    Source: this book; the bootstrap is Efron's (1979).
    """
    at, table = arguments.finite("splits", splits), arguments.number("losses", losses)
    if at.ndim != 1 or at.size < 3 or not (np.diff(at) > 0).all():
        raise arguments.refuse("splits", splits, "a list of at least three increasing splits")
    if table.ndim != 2 or table.shape[1] != at.size or not len(table):
        raise arguments.refuse("losses", table.shape, f"of shape (seeds, {at.size}) (the value is its shape)")
    if np.isneginf(table).any() or not np.isfinite(table).all(axis=0).any():
        raise arguments.refuse(
            "losses", float(table.min()), "above -inf, and finite for every seed at one split or more"
        )
    number = arguments.count("resamples", resamples, minimum=2)
    best = curve_minimum(at, table.mean(axis=0))[0]
    if len(table) == 1:
        return best, float("inf")
    picks = np.random.default_rng(seed).integers(len(table), size=(number, len(table)))
    again = [curve_minimum(at, curve)[0] for curve in table[picks].mean(axis=1)]
    return best, float(np.std(again, ddof=1))


@dataclass(frozen=True)
class SplitStatistics:
    """What the test losses of many seeds say about the split, t = 0 .. steps; mean over seeds and standard error.

    slope, curvature (steps + 1, 2): central differences at balance over splits of 0.2
    one_sided, both_sides (steps + 1, 2): loss at the split 0.7, and mean of the losses at 0.7 and -0.7, less balance
    best (steps + 1, 2): ``split_over_seeds``
    seeds: how many
    """

    slope: Array
    curvature: Array
    one_sided: Array
    both_sides: Array
    best: Array
    seeds: int


def split_statistics(splits: ArrayLike, losses: ArrayLike, *, seed: int) -> SplitStatistics:
    """Slope, curvature, gain of very uneven rates, and the best split, step by step; differences within each seed.

    Parameters
    ----------
    splits
        Shape (n,): increasing; 0, -0.2, 0.2, -0.7 and 0.7 are among them.
    losses
        Shape (seeds, n, steps + 1), finite, of ``relu_losses``; at least two seeds.
    seed
        Of the bootstrap.

    Returns
    -------
    SplitStatistics
        In the unit of the loss; the best split without unit.

    Raises
    ------
    ValueError
        For an argument out of its range, which it names.

    Source: this book.
    """
    at, table = arguments.finite("splits", splits), arguments.finite("losses", losses)
    places = [np.flatnonzero(np.isclose(at, d)) for d in (0.0, -0.2, 0.2, -0.7, 0.7)]
    if at.ndim != 1 or any(place.size != 1 for place in places):
        raise arguments.refuse("splits", splits, "a list with 0, -0.2, 0.2, -0.7 and 0.7 among its numbers")
    if table.ndim != 3 or table.shape[1] != at.size or len(table) < 2:
        raise arguments.refuse("losses", table.shape, f"of shape (seeds, {at.size}, steps + 1) with two seeds or more")
    middle, below, above, low, high = (int(place[0]) for place in places)
    change = table - table[:, middle : middle + 1]
    rng = np.random.default_rng(arguments.seed("seed", seed))

    def over_seeds(values: Array) -> Array:
        return np.array(mean_and_error(values, axis=0)).T

    return SplitStatistics(
        over_seeds((change[:, above] - change[:, below]) / 0.4),
        over_seeds((change[:, above] + change[:, below]) / 0.04),  # the change is zero at balance
        over_seeds(change[:, high]),
        over_seeds((change[:, low] + change[:, high]) / 2),
        np.array([split_over_seeds(at, change[..., t], seed=rng) for t in range(table.shape[2])]),
        len(table),
    )
