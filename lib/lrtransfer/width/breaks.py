"""The break at n = 1024 in paper Fig. 2: what counts as one, and how often a grid of rates or few seeds make one.

Nothing here knows a network: all functions read best rates of a pool of draws, exact or swept on a grid.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.fits import line
from lrtransfer.width.spread import exact_argmin, grid_argmin, sweep_error


def break_slopes(widths: ArrayLike, errors: ArrayLike, at: float = 1024) -> tuple[Array, Array]:
    """Least-squares slopes of log error against log width up to ``at`` and from ``at`` on.

    Parameters
    ----------
    widths
        (widths,), positive
    errors
        (widths, ...), nonnegative, in any unit
    at
        the width that both parts include; two widths or more on either side, itself among them

    Returns
    -------
    early, late : ndarray
        (...) each; -inf for a part that contains an error of exactly zero, which a sweep over a grid can produce.

    Raises
    ------
    ValueError
        naming the argument.

    References
    ----------
    The break at n = 1024 that Hayou (2025) reports in Fig. 2.
    """
    sizes, values = arguments.positive("widths", widths), arguments.finite("errors", errors, minimum=0.0)
    if sizes.ndim != 1 or not sizes.size:
        raise arguments.refuse("widths", sizes.shape, "of shape (widths,) (the value is its shape)")
    middle = arguments.one("at", arguments.positive("at", at))
    if values.shape[:1] != sizes.shape:
        raise arguments.refuse(
            "errors", values.shape, f"of shape (widths, ...) = ({sizes.size}, ...) (the value is its shape)"
        )
    if min(np.unique(sizes[sizes <= middle]).size, np.unique(sizes[sizes >= middle]).size) < 2:
        raise arguments.refuse("at", at, "a width with two or more widths on either side, itself included")
    slopes = []
    for part in (sizes <= middle, sizes >= middle):
        e = values[part]
        slope, _, _ = line(np.log(sizes[part]), np.log(np.where(e > 0, e, 1.0)))
        slopes.append(np.where((e > 0).all(axis=0), slope, -math.inf))
    return slopes[0], slopes[1]


def shows_break(early: ArrayLike, late: ArrayLike) -> NDArray[np.bool_]:
    """Whether slopes look like the printed figure: n^(-1/2) at first, clearly faster from the break on.

        |early + 1/2| < 0.2    and    late < -0.8

    Parameters
    ----------
    early, late
        as ``break_slopes`` returns them, same shape; -inf in ``late`` counts as faster

    Returns
    -------
    ndarray
        of that shape, bool.

    Raises
    ------
    ValueError
        for a NaN.

    References
    ----------
    The break at n = 1024 that Hayou (2025) reports in Fig. 2; the bounds are this book's.
    """
    before, after = arguments.number("early", early), arguments.number("late", late)
    arguments.broadcast(early=before, late=after)
    return (np.abs(before + 0.5) < 0.2) & (after < -0.8)


def break_probability(
    widths: ArrayLike,
    optima: ArrayLike,
    target: float,
    *,
    seeds: int,
    statistic: str = "rms",
    replicas: int = 4000,
    seed: int = 0,
    at: float = 1024,
) -> float:
    """How often an experiment with few seeds shows a break like the printed one: a share of ``shows_break``.

    Parameters
    ----------
    widths, at
        as in ``break_slopes``
    optima
        (widths, draws), a large pool
    target, statistic
        as in ``sweep_error``
    seeds
        draws that each replica picks at every width, with replacement
    replicas
        experiments
    seed
        of the picks

    Returns
    -------
    float
        a fraction of ``replicas`` in [0, 1], with standard error at most (4 replicas)^(-1/2).

    Raises
    ------
    ValueError
        naming the argument.

    References
    ----------
    This book, on Fig. 2 of Hayou (2025).
    """
    pool = arguments.finite("optima", optima)
    few, many = arguments.count("seeds", seeds, minimum=1), arguments.count("replicas", replicas, minimum=1)
    sizes = arguments.positive("widths", widths)
    if pool.ndim != 2 or pool.shape[1] == 0 or pool.shape[:1] != sizes.shape:
        allowed = f"of shape (widths, draws), for widths of shape {sizes.shape} (the value is its shape)"
        raise arguments.refuse("optima", pool.shape, allowed)
    picks = np.random.default_rng(arguments.seed("seed", seed)).integers(0, pool.shape[1], size=(len(pool), many, few))
    errors = sweep_error(np.take_along_axis(pool[:, None, :], picks, axis=2), target, statistic)
    early, late = break_slopes(widths, errors, at)
    return float(np.mean(shows_break(early, late)))


@dataclass(frozen=True)
class BreakShares:
    """Shares of experiments that show a break, in [0, 1].

    Attributes
    ----------
    any
        of either kind
    finite
        those whose slope beyond the break is finite
    """

    any: float
    finite: float

    @classmethod
    def of(cls, early: ArrayLike, late: ArrayLike) -> BreakShares:
        """The shares among slopes.

        Parameters
        ----------
        early, late
            as ``break_slopes`` returns them, (experiments,) each

        Returns
        -------
        BreakShares
        """
        seen = shows_break(early, late)
        return cls(float(seen.mean()), float((seen & np.isfinite(late)).mean()))


def shares_over_offsets(
    coefficients: ArrayLike,
    X: ArrayLike,
    y: ArrayLike,
    *,
    widths: ArrayLike,
    target: float,
    spacing: float,
    offsets: int = 24,
    at: float = 1024,
) -> BreakShares:
    """How often a grid of rates that nobody placed on the limit shows a break, with all draws of the pool.

    The grids are ``target (1 + spacing (j + o))`` with ``offsets`` values of o evenly in (-1/2, 1/2), from a tenth of
    the target to four times it; each is swept over the same draws, and the distance is the root mean square.

    Parameters
    ----------
    coefficients
        (widths, seeds, L + 1, d) as ``coefficient_draws`` returns them
    X, y
        the data they were drawn for
    widths, at
        as in ``break_slopes``
    target
        the limit, normalised rate
    spacing
        of a grid, in units of the target, positive
    offsets
        number of grids, whole, from 1 on

    Returns
    -------
    BreakShares
        over the grids.

    Raises
    ------
    ValueError
        naming the argument.

    References
    ----------
    This book, on Fig. 2 of Hayou (2025).
    """
    step = arguments.one("spacing", arguments.positive("spacing", spacing))
    places = (np.arange(arguments.count("offsets", offsets, minimum=1)) + 0.5) / offsets - 0.5
    cells = np.arange(math.ceil(-0.9 / step), round(3 / step))
    swept = [grid_argmin(coefficients, X, y, target * (1 + step * (cells + o))) for o in places]
    errors = np.array([sweep_error(optima, target) for optima in swept]).T
    return BreakShares.of(*break_slopes(widths, errors, at))


def shares_over_seeds(
    optima: ArrayLike,
    target: float,
    *,
    widths: ArrayLike,
    seeds: int,
    replicas: int,
    rng: np.random.Generator,
    at: float = 1024,
) -> BreakShares:
    """How often an experiment with few draws of a pool shows a break by the root mean square, its draws picked anew.

    Else as ``break_probability``.

    Parameters
    ----------
    optima
        the pool, (widths, draws)
    target
        as in ``sweep_error``
    widths, at
        as in ``break_slopes``
    seeds
        draws that each experiment picks at every width, with replacement
    replicas
        experiments
    rng
        of the picks

    Returns
    -------
    BreakShares
        over the experiments.
    """
    pool = arguments.finite("optima", optima)
    picks = rng.integers(0, pool.shape[1], size=(len(pool), replicas, seeds))
    return BreakShares.of(
        *break_slopes(widths, sweep_error(np.take_along_axis(pool[:, None], picks, axis=2), target), at)
    )


def average_break_probability(
    widths: ArrayLike,
    coefficients: ArrayLike,
    X: ArrayLike,
    y: ArrayLike,
    target: float,
    *,
    seeds: int,
    replicas: int = 1000,
    seed: int = 0,
    at: float = 1024,
) -> float:
    """``break_probability`` where an experiment reports one rate a width: the optimum of the loss averaged over seeds.

    Parameters
    ----------
    widths, seeds, replicas, seed, at
        as in ``break_probability``
    coefficients
        the pool, (widths, draws, L + 1, d) as ``coefficient_draws`` returns them
    X, y
        the data they were drawn for
    target
        what the distance of the one optimum is taken from, normalised rate

    Returns
    -------
    float
        as ``break_probability``.

    References
    ----------
    This book, on Fig. 2 of Hayou (2025).
    """
    pool = arguments.finite("coefficients", coefficients)
    few, many = arguments.count("seeds", seeds, minimum=1), arguments.count("replicas", replicas, minimum=1)
    picks = np.random.default_rng(arguments.seed("seed", seed)).integers(0, pool.shape[1], size=(len(pool), many, few))
    optima = [exact_argmin(row[chosen], X, y, average=True) for row, chosen in zip(pool, picks, strict=True)]
    early, late = break_slopes(widths, np.abs(np.array(optima) - target), at)
    return float(np.mean(shows_break(early, late)))
