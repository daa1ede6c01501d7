"""Errors from halves of the seeds: the delete-d jackknife, for statistics that a formula has no error for."""

from __future__ import annotations

import itertools
import math
from functools import cache

import numpy as np
from numpy.typing import ArrayLike


@cache
def halves_of(seeds: int) -> tuple[tuple[int, ...], ...]:
    """Every choice of seeds with ``seeds // 2`` of them left out; above 11 seeds 200 such choices, always the same.

    Parameters
    ----------
    seeds
        how many seeds there are

    Returns
    -------
    tuple of tuples
        the indices of the seeds that are kept, ``seeds - seeds // 2`` a choice.
    """
    kept = seeds - seeds // 2
    if math.comb(seeds, kept) <= 500:
        return tuple(itertools.combinations(range(seeds), kept))
    random = np.random.default_rng(0)
    return tuple(tuple(int(k) for k in random.permutation(seeds)[:kept]) for _ in range(200))


def half_error(values: ArrayLike, seeds: int) -> float:
    """Standard error of a statistic of all seeds, from its values for every half of ``halves_of``.

        error = sqrt((n - d) / d * mean of (v - mean v)^2),    n seeds, d = n // 2 of them left out

    For a mean over seeds that is its usual standard error. Unlike the spread of the seeds' own values it also knows
    what a statistic that jumps does, such as the place of a minimum among noisy points.

    Parameters
    ----------
    values
        v, the statistic for each half, (halves,)
    seeds
        n

    Returns
    -------
    float
        the error in the unit of ``values``; inf for one seed.

    References
    ----------
    The delete-d jackknife, Shao and Wu, Ann. Statist. 17 (1989) 1176.
    """
    left = seeds // 2
    if left == 0:
        return math.inf
    return float(np.sort(np.asarray(values, dtype=float)).std()) * math.sqrt((seeds - left) / left)
