"""Means over seeds with their errors, and one rule for bounds on them: it holds, it fails, or it is not resolved."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import stdtrit

from lrtransfer.numerics.arguments import choice, count, one, positive, refuse
from lrtransfer.numerics.arrays import Array

HOLDS, FAILS, OPEN = "holds", "fails", "not resolved"
RELATIONS = ("within", "<=", ">=")
LEVEL = 0.95


@dataclass(frozen=True)
class Estimate:
    """A measured value with its standard error over so many seeds.

    Value and error are numbers, or arrays of one shape (the rule for bounds is for numbers); ``value, error =
    estimate`` takes them apart. With t the one-sided 95 % quantile of Student's distribution of ``seeds`` - 1 degrees
    of freedom, ``value`` + t ``error`` and ``value`` - t ``error`` are each beyond the true value in one draw of seeds
    of twenty.

    Attributes
    ----------
    value
        what was measured, as a rule a mean over seeds
    error
        its standard error, in the unit of ``value``; inf where it is not known
    seeds
        how many draws or seeds it is the mean of
    between
        for a number that was not measured but bounded: the least and the largest that it can be, -inf or inf where
        there is no bound on that side, each with the standard error ``error``; None for a measured number
    """

    value: Any
    error: Any
    seeds: int
    between: tuple[float, float] | None = None

    @classmethod
    def of(cls, values: ArrayLike, axis: int = -1) -> Estimate:
        """The mean over seeds with its error, as ``mean_and_error`` has them.

        Parameters
        ----------
        values
            (..., S, ...), one a draw or seed
        axis
            that of the S seeds

        Returns
        -------
        Estimate
            value and error without that axis.

        Raises
        ------
        ValueError
            as ``mean_and_error`` does.
        """
        mean, error = mean_and_error(values, axis)
        return cls(mean, error, np.shape(values)[axis])

    @classmethod
    def paired(cls, first: ArrayLike, second: ArrayLike) -> Estimate:
        """The mean of ``first`` less ``second`` over the same seeds.

        Parameters
        ----------
        first, second
            (seeds,) each, a pair from each seed; inf where a run diverged

        Returns
        -------
        Estimate
            where runs of one alone diverged the value is inf with the sign of the loser, where runs of both did it is
            inf; the error is then inf.
        """
        a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
        lost, won = bool(np.isinf(a).any()), bool(np.isinf(b).any())
        if lost or won:
            return cls(-math.inf if won and not lost else math.inf, math.inf, a.size)
        return cls.of(a - b)

    def __iter__(self) -> Iterator[Any]:
        return iter((self.value, self.error))

    def __getitem__(self, place: int) -> Any:
        return (self.value, self.error)[place]

    @property
    def mean(self) -> Any:
        """The value, by the name it has where it is a mean over draws."""
        return self.value

    @property
    def standard_error(self) -> Any:
        """The error, by its full name."""
        return self.error

    @property
    def in_errors(self) -> Any:
        """The value in units of its error: ``in_errors``."""
        return in_errors(self.value, self.error)

    @property
    def reach(self) -> float:
        """The error times ``quantile``; inf where the error is not known."""
        return quantile(self.seeds) * self.error if 0 < self.error < math.inf else self.error

    def half_width(self, confidence: float = LEVEL) -> Any:
        """Half the two-sided interval of Student's: the error times ``quantile`` at the level (1 + confidence) / 2.

        Parameters
        ----------
        confidence
            how often such intervals hold the true value, in (0, 1)

        Returns
        -------
        float or ndarray
            in the unit of ``error``; inf for one seed.

        Raises
        ------
        ValueError
            naming ``confidence``.
        """
        share = one("confidence", positive("confidence", confidence))
        if not share < 1:
            raise refuse("confidence", confidence, "between 0 and 1")
        return self.error * quantile(self.seeds, (1 + share) / 2)

    def interval(self, confidence: float = LEVEL) -> Array:
        """Both ends of the two-sided interval of Student's: the value less and plus ``half_width``.

        Parameters
        ----------
        confidence
            as in ``half_width``

        Returns
        -------
        ndarray
            (2, ...), in the unit of ``value``; infinite for one seed, both inf where the value is: a run diverged.

        Raises
        ------
        ValueError
            naming ``confidence``.
        """
        half = np.where(np.isfinite(self.value), self.half_width(confidence), 0.0)
        return np.array([self.value - half, self.value + half])

    def ends(self, relation: str) -> tuple[float, float]:
        """The unfavourable and the favourable end of what ``relation`` bounds: the value, or for "within" its size.

        Of a number that is only bounded the ends are those of ``between``: it holds a relation if all of it does, and
        fails it if none of it can.

        Parameters
        ----------
        relation
            "within", "<=" or ">="

        Returns
        -------
        worst, best : float
            in the unit of ``value``, each ``reach`` away from it.
        """
        low, high = (self.value, self.value) if self.between is None else self.between
        if choice("relation", relation, RELATIONS) == ">=":
            return low - self.reach, high + self.reach
        if relation == "within":
            low, high = size_range(low, high)
        return high + self.reach, low - self.reach

    def outcome(self, relation: str, bound: float) -> str:
        """Whether ``value`` is "<=" or ">=" a bound, or "within" it in size.

        Parameters
        ----------
        relation
            "within", "<=" or ">="
        bound
            in the unit of ``value``

        Returns
        -------
        str
            "holds" where the unfavourable end is, "fails" where the favourable end is not, "not resolved" between.
        """
        worst, best = self.ends(relation)
        if relation == ">=":
            worst, best, bound = -worst, -best, -bound
        return HOLDS if worst <= bound else FAILS if best > bound else OPEN

    def __str__(self) -> str:
        """Value and error to two digits of the error, and to two decimals at least; of a bound also what it says."""
        if not math.isfinite(self.error):
            return f"{self.value:+.2f} (bound)"
        if self.between is not None:
            low, high = (f"{end:+.2f} ± {self.error:.2f}" for end in self.between)
            sides = [math.isfinite(end) for end in self.between]
            told = f"from {low} to {high}" if all(sides) else f"at least {low}" if sides[0] else f"at most {high}"
            return f"{self.value:+.2f} (bound: {told})" if any(sides) else f"{self.value:+.2f} (bound)"
        places = max(2, 1 - math.floor(math.log10(self.error))) if self.error > 0 else 2
        return f"{self.value:+.{places}f} ± {self.error:.{places}f}"


def size_range(low: float, high: float) -> tuple[float, float]:
    """The least and the largest size of a number between two ends.

    Parameters
    ----------
    low, high
        the ends, in order, -inf and inf allowed

    Returns
    -------
    tuple of float
        0 first where the ends have different signs.
    """
    sizes = sorted((abs(low), abs(high)))
    return (0.0 if low <= 0 <= high else sizes[0]), sizes[1]


def mean_and_error(values: ArrayLike, axis: int = -1) -> tuple[Array, Array]:
    """Mean over the draws along ``axis`` and its standard error.

        mean = sum_s v_s / S,    error = sqrt(sum_s (v_s - mean)^2 / (S - 1) / S)

    Parameters
    ----------
    values
        v, (..., S, ...), S draws or seeds, one at least
    axis
        that of the draws

    Returns
    -------
    mean, error : ndarray
        without that axis. The error of a single draw is inf: it is not known. Where a value is not finite, mean and
        error are inf: a run diverged.

    Raises
    ------
    ValueError
        naming ``values`` where there is no draw, or a NaN.
    """
    given = np.asarray(values, dtype=float)
    if given.ndim == 0 or not given.shape[axis] or np.isnan(given).any():
        raise refuse("values", values, "numbers, one draw at least, without NaN")
    draws, sound = given.shape[axis], np.isfinite(given)
    whole, kept = sound.all(axis=axis), np.where(sound, given, 0.0)
    with np.errstate(over="ignore"):  # the squares of numbers beyond 1e154, sums of those near the largest
        error = kept.std(axis=axis, ddof=1) / math.sqrt(draws) if draws > 1 else np.full(whole.shape, np.inf)
        mean = kept.mean(axis=axis)
    return np.where(whole, mean, np.inf)[()], np.where(whole, error, np.inf)[()]


def in_errors(difference: ArrayLike, error: ArrayLike) -> Array:
    """A difference in units of its standard error.

    Parameters
    ----------
    difference, error
        arrays that broadcast, in one unit; the error inf where it is not known

    Returns
    -------
    ndarray
        their quotient; 0 where the difference is 0, and where the error is inf: nothing is resolved.

    Raises
    ------
    ValueError
        where a difference other than zero has the error zero: draws that do not differ cannot say how far a difference
        is from chance.
    """
    gap, unit = np.broadcast_arrays(np.asarray(difference, dtype=float), np.asarray(error, dtype=float))
    bad = ~(unit >= 0) | ((unit == 0) & (gap != 0))
    if bad.any():
        raise refuse("error", unit[bad][0], "positive, or inf where it is not known")
    plain = (unit > 0) & np.isfinite(unit)
    return np.asarray(np.divide(gap, unit, out=np.zeros(gap.shape), where=plain))[()]


def quantile(seeds: int, level: float = LEVEL) -> float:
    """One-sided quantile of Student's t for a mean over seeds.

    Parameters
    ----------
    seeds
        how many; t has one degree of freedom less
    level
        share of the distribution below the quantile, in (1/2, 1); the two-sided interval of confidence c takes the
        level (1 + c) / 2

    Returns
    -------
    float
        in units of the standard error; inf for one seed.

    Raises
    ------
    ValueError
        naming the argument.
    """
    degrees, share = count("seeds", seeds, minimum=1) - 1, one("level", positive("level", level))
    if not 0.5 < share < 1:
        raise refuse("level", level, "between 1/2 and 1")
    return float(stdtrit(degrees, share)) if degrees else math.inf
