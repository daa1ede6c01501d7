"""The curve of a sweep with its band, for figures."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.numerics.arguments import positive, refuse
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.estimates import mean_and_error


@dataclass(frozen=True)
class MeanCurve:
    """Loss against rate over seeds; all arrays (kept,), of the rates at which no seed diverged.

    Attributes
    ----------
    lrs
        those rates
    middle
        geometric mean of the losses
    low, high
        ``middle`` divided and multiplied by exp(s), with s the standard error of the mean log loss (equal to
        ``middle`` for one seed)
    """

    lrs: Array
    middle: Array
    low: Array
    high: Array

    def at(self, lr: float) -> float:
        """Mean loss at a rate between those of the curve, by interpolation of logarithms; its ends hold beyond."""
        return float(np.exp(np.interp(np.log(lr), np.log(self.lrs), np.log(self.middle))))


def mean_curve(lrs: ArrayLike, losses: ArrayLike) -> MeanCurve:
    """The curve of a sweep, and a band of one standard error, for a figure.

    Parameters
    ----------
    lrs
        (lrs,), positive
    losses
        (lrs, seeds) or (lrs,), positive, inf where a run diverged

    Returns
    -------
    MeanCurve
        empty where at every rate some seed diverged.

    Raises
    ------
    ValueError
        for other values or shapes.
    """
    rates, table = positive("lrs", lrs), positive("losses", losses, infinite=True)
    if rates.ndim != 1 or not rates.size:
        raise refuse("lrs", lrs, "a list of rates")
    if rates.ndim != 1 or table.ndim not in (1, 2) or table.shape[0] != rates.size or not table.size:
        raise refuse("losses", losses, f"of shape (lrs, seeds) = ({rates.size}, seeds), a row for every rate")
    logs = np.log(table.reshape(rates.size, -1))
    keep = np.isfinite(logs).all(axis=1)
    middle, error = mean_and_error(logs[keep])
    if logs.shape[1] == 1:
        error = np.zeros_like(middle)  # nothing to draw a band from
    return MeanCurve(rates[keep], np.exp(middle), np.exp(middle - error), np.exp(middle + error))
