"""What is left of a run that overflows: infinity from there on, and no NaN."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.numerics.arrays import Array


def or_inf(values: ArrayLike) -> Array:
    """Inf in place of every number that is not finite, a NaN included.

    Parameters
    ----------
    values
        any shape

    Returns
    -------
    ndarray
        of that shape.
    """
    given = np.asarray(values, dtype=float)
    return np.where(np.isfinite(given), given, np.inf)


def inf_from_overflow(path: ArrayLike) -> Array:
    """Inf from the first step at which a course is no longer finite; it does not come back.

    Parameters
    ----------
    path
        (steps, ...), a course along the first axis for each of the rest

    Returns
    -------
    ndarray
        of that shape.
    """
    given = np.asarray(path, dtype=float)
    return np.where(np.logical_and.accumulate(np.isfinite(given), axis=0), given, np.inf)
