"""Shares of draws, such as how many of forty networks jump, with intervals that hold for few draws and at 0 and 1."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from lrtransfer.numerics.arguments import integer, one, positive, refuse
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.estimates import LEVEL


def share_interval(successes: ArrayLike, draws: ArrayLike, level: float = LEVEL) -> tuple[Array, Array]:
    """Wilson's interval for a share, from how many of so many draws succeeded; it has a length at 0 and at 1 too.

        (p + z^2/2n -+ z sqrt(p (1 - p)/n + z^2/4n^2)) / (1 + z^2/n),    p = successes / n

    with z the normal quantile of (1 + level)/2: all shares from which p is within z of their own standard errors. At
    p = 0 it ends at z^2/(n + z^2), near 3.8/n at 95 %.

    Parameters
    ----------
    successes
        whole numbers, >= 0 and at most ``draws``; shapes broadcast
    draws
        n, whole numbers, >= 1
    level
        of the two-sided interval, in (1/2, 1)

    Returns
    -------
    low, high : ndarray
        its ends, in [0, 1], of the broadcast shape.

    Raises
    ------
    ValueError
        naming the argument.

    References
    ----------
    Wilson, J. Am. Stat. Assoc. 22 (1927) 209.
    """
    hits, n = integer("successes", successes, minimum=0), integer("draws", draws)
    if np.any(hits > n):
        raise refuse("successes", successes, "at most as many as there are draws")
    share = one("level", positive("level", level))
    if not 0.5 < share < 1:
        raise refuse("level", level, "between 1/2 and 1")
    p, square = hits / n, float(ndtri((1 + share) / 2)) ** 2
    middle = p + square / (2 * n)
    reach = np.sqrt(square * p * (1 - p) / n + (square / (2 * n)) ** 2)
    low, high = (middle - reach) / (1 + square / n), (middle + reach) / (1 + square / n)
    return np.where(hits == 0, 0.0, low)[()], np.where(hits == n, 1.0, high)[()]
