"""Training curves and what becomes of them above the stability edge.

``integrated_course``    the training curve by an integrator that knows no closed form
``half_times``           the step at which a run has half of the target
``thresholds``           what happens above the stability edge, depth by depth
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.integrate import solve_ivp

from lrtransfer.depth.flow import rate_of_change
from lrtransfer.depth.regimes import first_divergence
from lrtransfer.depth.scalar_map import check_depth
from lrtransfer.depth.thresholds import crisis, end_of_two_cycle, flip_coefficient
from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array


def integrated_course(t: ArrayLike, alpha0: float, depth: float) -> Array:
    """The training curve alpha(t) at tau = 1 by DOP853 at relative tolerance 1e-12, which knows no closed form.

    Parameters
    ----------
    t
        times rising from 0, shape (T,), in units of tau
    alpha0, depth
        as in ``flow.time_course``, its closed form

    Returns
    -------
    ndarray
        alpha, shape (T,)
    """
    times = arguments.finite("t", t, minimum=0.0)
    answer = solve_ivp(
        lambda _, alpha: rate_of_change(alpha, depth),
        (0.0, float(times[-1])),
        [alpha0],
        method="DOP853",
        t_eval=times,
        rtol=1e-12,
        atol=1e-14,
    )
    return answer.y[0]


def half_times(total_weight: ArrayLike) -> Array:
    """The step, interpolated, at which each run first has a total weight of one half.

    Parameters
    ----------
    total_weight
        shape (T, runs), steps first; every run starts below one half and gets there

    Returns
    -------
    ndarray
        shape (runs,), in steps
    """
    path = np.asarray(total_weight, dtype=float)
    if path.ndim != 2 or (path[0] >= 0.5).any() or (path.max(axis=0) < 0.5).any():
        allowed = "runs, steps first, that rise through one half (the value is its shape)"
        raise arguments.refuse("total_weight", path.shape, allowed)
    last, runs = np.argmax(path >= 0.5, axis=0), np.arange(path.shape[1])
    before, after = path[last - 1, runs], path[last, runs]
    return last - 1 + (0.5 - before) / (after - before)


@dataclass(frozen=True)
class Thresholds:
    """What happens to the chain above its stability edge; NaN where there is no such rate, all of shape (D,).

    ``depth``; ``flip``, the coefficient of the period doubling at 1/tau = 2; then three values of 1/tau: ``end`` of the
    stable two-cycle, ``crisis``, below which nothing diverges, and ``first``, the first divergence seen.
    """

    depth: NDArray[np.int64]
    flip: Array
    end: Array
    crisis: Array
    first: Array


def thresholds(depths: ArrayLike, *, steps: int, spacing: float, deepest: int = 8) -> Thresholds:
    """The thresholds of every depth.

    Parameters
    ----------
    depths
        L, whole numbers, shape (D,). A single layer has no two-cycle, and its crisis is 1/tau = 2
    steps, spacing
        as in ``regimes.first_divergence``, the only one of these that is a search
    deepest
        the largest L for which that search is made

    Returns
    -------
    Thresholds
        of shape (D,) each
    """
    layers = np.atleast_1d(check_depth(depths, "depths")).astype(np.int64)
    alone = layers == 1
    several = np.where(alone, 2, layers)
    first = [
        first_divergence(int(depth), low=1.9, steps=steps, spacing=spacing) if depth <= deepest else np.nan
        for depth in layers
    ]
    return Thresholds(
        depth=layers,
        flip=np.atleast_1d(flip_coefficient(layers)),
        end=np.where(alone, np.nan, end_of_two_cycle(several)),
        crisis=np.where(alone, 2.0, crisis(several)),
        first=np.array(first),
    )
