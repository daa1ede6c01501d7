"""Means over seeds with intervals, and initialisations compared in pairs on the same draws.

Excess losses differ by factors, so means and intervals are of their logarithms. An interval is Student's, of
confidence ``CONFIDENCE``: high, as a page of many comparisons would otherwise find a winner by chance. A bound counts
as shown where the end of the interval is on its side.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.estimates import Estimate, in_errors, mean_and_error
from lrtransfer.stages.all_layers.training import AllLayersRun

CONFIDENCE = 0.999


class Interval(NamedTuple):
    """Mean of a logarithm over the seeds and the two ends of its interval, (...) each.

    Attributes
    ----------
    mean, low, high
        an end is infinite where a single seed is given; all three are inf where a value is not finite
    """

    mean: Array
    low: Array
    high: Array


class Paired(NamedTuple):
    """Two initialisations on the same draws, for each condition number: (kappas,) each.

    Attributes
    ----------
    log_ratio
        mean over seeds of ln(excess of the one / excess of the other), below 0 where the one is better
    standard_error
        of that mean
    low, high
        ends of its interval
    wins
        share of the seeds in which the one has the smaller excess
    """

    log_ratio: Array
    standard_error: Array
    low: Array
    high: Array
    wins: Array

    @property
    def in_errors(self) -> Array:
        """``log_ratio`` in standard errors."""
        return in_errors(self.log_ratio, self.standard_error)

    @property
    def verdict(self) -> NDArray[np.int64]:
        """-1 where the one is better beyond its interval, +1 where the other is, 0 where the seeds cannot tell."""
        return np.asarray((self.low > 0).astype(int) - (self.high < 0).astype(int))


class Band(NamedTuple):
    """Excess loss over the seeds after each stage, (stages + 1, kappas) each; inf once one of the runs has diverged.

    Attributes
    ----------
    mean
        geometric mean
    low, high
        two standard errors of the mean of the logarithm below and above it
    """

    mean: Array
    low: Array
    high: Array


def log_interval(values: ArrayLike) -> Interval:
    """Mean of ln(value) over the seeds, and its interval.

    Parameters
    ----------
    values
        (..., seeds), positive or inf

    Returns
    -------
    Interval
        (...) each.

    Raises
    ------
    ValueError
        naming ``values``.
    """
    given = arguments.positive("values", values, infinite=True)
    found = Estimate.of(np.log(given))
    return Interval(found.mean, *found.interval(CONFIDENCE))


def paired(run: AllLayersRun, one: str, other: str, stage: int = -1) -> Paired:
    """Compare the excess losses of two initialisations over common draws.

    Parameters
    ----------
    run
        of two seeds or more
    one, other
        two of its inits
    stage
        after how many stages; -1: the last

    Returns
    -------
    Paired
        the one against the other, for each condition number.

    Raises
    ------
    ValueError
        for other names, a single seed, and runs that have diverged by then.
    """
    columns = [run.inits.index(arguments.choice("init", name, run.inits)) for name in (one, other)]
    first, second = run.excess[stage][columns]
    _several(run)
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise ValueError(f"Runs from {one!r} or {other!r} have diverged by stage {stage}: compare an earlier stage.")
    found = Estimate.of(np.log(first) - np.log(second))
    low, high = found.interval(CONFIDENCE)
    return Paired(found.mean, found.error, low, high, (first < second).mean(axis=-1))


def geometric_band(run: AllLayersRun, init: str) -> Band:
    """Geometric mean and band over the seeds of the excess losses of one initialisation.

    Parameters
    ----------
    run
        of two seeds or more
    init
        one of its inits

    Returns
    -------
    Band
        for every stage and condition number.

    Raises
    ------
    ValueError
        for another name, and a single seed.
    """
    losses = run.excess[:, run.inits.index(arguments.choice("init", init, run.inits))]  # (stages + 1, kappas, seeds)
    _several(run)
    mean, error = mean_and_error(np.log(losses))
    error = np.where(np.isfinite(mean), error, 0.0)
    with np.errstate(over="ignore"):
        return Band(np.exp(mean), np.exp(mean - 2 * error), np.exp(mean + 2 * error))


def _several(run: AllLayersRun) -> None:
    if len(run.seeds) < 2:
        raise arguments.refuse("seeds", run.seeds, "two seeds or more, for a standard error")
