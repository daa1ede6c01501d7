"""Courses of stacking in as many digits as they need: what double precision loses where the loss explodes.

The recursion is that of ``course``, E_{t+1} = (E_t + beta (S_t + S_t W_{t-1}^{-1} S_t)) (I - Sigma/L) with steps
S_t = E_t - E_{t-1} and W_{t-1} = E_{t-1} + W*. Once E has grown to 10^k and some singular value of W not, an inverse
needs k digits more than a double has. Every course is computed twice, with all digits and with two thirds of them, side
by side: where the two part, the digits are too few, and the course is refused.

Needs python-flint, whose matrices of balls also refuse an inverse that their digits cannot tell from a singular one.
Source: "Stacking as accelerated gradient descent", Eq. 23 and Fig. 5.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.stages.linear.course import Setting

AGREE = 1e-6
"""How far log10 of the excess with two thirds of the digits may be from that with all."""


@dataclass(frozen=True)
class ExactCourse:
    """One run of stacking.

    Attributes
    ----------
    log10
        of the excess loss over its start, (T + 1,)
    digits
        it was computed with
    error
        largest distance of ``log10`` from the same with two thirds of the digits
    """

    log10: Array
    digits: int
    error: float

    @property
    def peak(self) -> float:
        """The largest ``log10``."""
        return float(self.log10.max())


def exact_course(
    teacher: ArrayLike, covariance: ArrayLike, stages: int, *, digits: int, until: float | None = None
) -> ExactCourse:
    """Stacking from the identity, as ``excess_loss("stacking", ...)`` has it, in so many decimal digits.

    Parameters
    ----------
    teacher, covariance : arrays (d, d)
        One problem; its numbers, 1/L and the default beta are taken as the doubles they are.
    stages : int
        At most so many.
    digits : int
        Of every number, at least 15.
    until : float, optional
        Stop where the excess, after its largest value, is below ``until`` times its start.

    Returns
    -------
    ExactCourse

    Raises
    ------
    ValueError
        For digits that are too few for the course: where two thirds of them give another one, or no inverse.
    ModuleNotFoundError
        Without python-flint.
    """
    flint = _flint()
    setting = Setting("stacking", teacher, covariance, stages, None, None, None, 0)
    if len(setting.shape) != 2:
        raise ValueError(f"teacher and covariance of shape {setting.shape} are not allowed: one problem, (d, d).")
    many = arguments.count("digits", digits, minimum=15)
    goal = None if until is None else float(np.log10(arguments.one("until", arguments.positive("until", until))))
    before = flint.ctx.dps
    try:
        return _lockstep(flint, setting, many, goal)
    finally:
        flint.ctx.dps = before


def in_enough_digits(
    teacher: ArrayLike, covariance: ArrayLike, stages: int, *, digits: int = 100, until: float | None = None
) -> ExactCourse:
    """``exact_course`` with ``digits``, or twice, four, eight .. times as many until they are enough."""
    while True:
        try:
            return exact_course(teacher, covariance, stages, digits=digits, until=until)
        except ValueError as error:
            if not str(error).startswith("digits"):
                raise
            digits *= 2


def _lockstep(flint: ModuleType, setting: Setting, digits: int, goal: float | None) -> ExactCourse:
    full, part = _Course(flint, setting, digits), _Course(flint, setting, max(2 * digits // 3, 10))
    found, error = [0.0], 0.0
    for t in range(1, setting.stages + 1):
        try:
            part.advance()
            full.advance()
            value, other = full.log10(), part.log10()
        except (ZeroDivisionError, ValueError):
            value = other = np.nan
        gap = abs(value - other)
        if not gap <= AGREE:
            why = f"as the course with {part.digits} of them leaves it at stage {t}"
            raise arguments.refuse("digits", digits, f"more, {why}")
        error = max(error, gap)
        found.append(value)
        if goal is not None and value < goal:
            break
    return ExactCourse(np.array(found), digits, error)


class _Course:
    """A run in so many digits; every stage starts from numbers without error bounds, which would grow beyond use."""

    def __init__(self, flint: ModuleType, setting: Setting, digits: int) -> None:
        self.flint, self.digits = flint, digits
        self._use()
        eye = flint.arb_mat(np.eye(setting.shape[-1]).tolist())
        self.teacher, self.sigma = (flint.arb_mat(m.tolist()) for m in (setting.teacher, setting.covariance))
        self.beta, one = flint.arb(float(setting.beta)), flint.arb(1)
        self.shrink = (eye - self.sigma * (one / flint.arb(float(setting.top)))).mid()
        self.error = self.before = eye - self.teacher
        self.first = self._excess()

    def _use(self) -> None:
        self.flint.ctx.dps = self.digits

    def _excess(self) -> Any:
        weighted = (self.error * self.sigma).entries()
        return sum(a * b for a, b in zip(weighted, self.error.entries(), strict=True)).mid()

    def advance(self) -> None:
        """One stage; ZeroDivisionError where the digits cannot tell the network from a singular one."""
        self._use()
        step, ahead = self.error - self.before, self.error
        if any(entry != 0 for entry in step.entries()):  # not in the first stage
            below = (self.before + self.teacher).transpose()
            copied = below.solve(step.transpose()).transpose()
            ahead = self.error + self.beta * (step + copied * step)
        self.before, self.error = self.error, (ahead * self.shrink).mid()

    def log10(self) -> float:
        """Of the excess over its start."""
        self._use()
        return float((self._excess() / self.first).log() / self.flint.arb(10).log())


def _flint() -> ModuleType:
    try:
        import flint
    except ModuleNotFoundError:
        raise ModuleNotFoundError("Exact courses need python-flint: pip install python-flint.") from None
    return flint
