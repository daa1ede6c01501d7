"""What the chapter reads off its runs: means with errors, differences in standard errors, distances of curves."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lrtransfer._check import choice
from lrtransfer.residual.coordinates import CoordinateCheck

if TYPE_CHECKING:
    from lrtransfer.residual.experiments.families import FamilyResult

Array = NDArray[np.float64]


def mean_and_error(values: ArrayLike) -> tuple[Array, Array]:
    """Mean of ``values`` (*, seeds) over seeds and its standard error, (*,) each; the error of one seed is zero."""
    values = np.asarray(values, dtype=float)
    seeds = values.shape[-1]
    mean = np.asarray(values.mean(axis=-1))
    if seeds == 1:
        return mean, np.zeros_like(mean)
    return mean, np.asarray(values.std(axis=-1, ddof=1) / math.sqrt(seeds))


def in_errors(difference: ArrayLike, error: ArrayLike) -> Array:
    """``difference`` in units of its standard ``error``, arrays that broadcast.

    An error below 1e-9 counts as 1e-9, so that equal runs give zero and not NaN.
    """
    return np.asarray(np.asarray(difference, dtype=float) / np.maximum(error, 1e-9))


def further(worse: FamilyResult, better: FamilyResult) -> float:
    """(|shift of worse| - |shift of better|) over its standard error: how much further the best value moves."""
    difference = abs(worse.shift) - abs(better.shift)
    return float(in_errors(difference, math.hypot(worse.shift_error, better.shift_error)))


def gains(logs: ArrayLike, errors: ArrayLike) -> tuple[Array, Array]:
    """Fall of the mean log losses ``logs`` (sizes,) from each size to the next, and its standard error, (sizes - 1,).

    ``errors`` (sizes,): standard errors of ``logs``, taken as independent.
    """
    errors = np.asarray(errors, dtype=float)
    return -np.diff(np.asarray(logs, dtype=float)), np.hypot(errors[1:], errors[:-1])


def between_depths(curves: ArrayLike) -> Array:
    """Root mean square distance of the depths' mean log losses from their common mean, at every evaluation.

    ``curves``: losses (depths, evaluations, seeds). Returns (evaluations,).
    """
    return np.asarray(np.log(np.asarray(curves, dtype=float)).mean(axis=2).std(axis=0))


def changes_of(check: CoordinateCheck, layer: str) -> Array:
    """Changes of one watched layer of a coordinate check, (sizes, seeds).

    Raises ``ValueError`` for a layer that was not watched.
    """
    return check.changes[:, check.layers.index(choice("layer", layer, check.layers))]
