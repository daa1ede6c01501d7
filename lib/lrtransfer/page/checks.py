"""One comparison of a measured number with the expected one: does it hold, fail, or is it undecided?"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.numerics.arguments import choice, flag, refuse
from lrtransfer.numerics.estimates import FAILS, HOLDS, Estimate
from lrtransfer.numerics.estimates import OPEN as UNDECIDED


@dataclass(frozen=True)
class Check:
    """One comparison of a measured number with the expected one.

    Attributes
    ----------
    what
        what was measured, in a few words
    measured
        a number, or an array of which every entry is compared (the worst one is kept)
    expected
        the paper's number, or the corrected one
    tolerance
        largest allowed distance, absolute, in the unit of ``measured``
    relation
        "=" (|measured - expected| <= tolerance), "<=" or ">=" (a bound, with the tolerance as slack)
    ours
        whether the statement is this book's and not the paper's: it is shown, and decides no verdict
    undecided
        whether the error of what was measured leaves a check that does not pass undecided (``Check.of`` says)

    Raises
    ------
    ValueError
        naming the argument.
    """

    what: str
    measured: ArrayLike
    expected: ArrayLike
    tolerance: float = 0.0
    relation: str = "="
    ours: bool = False
    undecided: bool = False

    def __post_init__(self) -> None:
        for name in ("ours", "undecided"):
            flag(name, getattr(self, name))
        choice("relation", self.relation, ("=", "<=", ">="))
        if not (isinstance(self.tolerance, (int, float, np.number)) and 0 <= self.tolerance < np.inf):
            raise refuse("tolerance", self.tolerance, "a finite number not below 0")
        measured, expected = np.broadcast_arrays(
            np.asarray(self.measured, dtype=float), np.asarray(self.expected, dtype=float)
        )
        if measured.size == 0:
            raise refuse("measured", self.measured, "at least one number")
        with np.errstate(invalid="ignore"):
            distance = {
                "=": np.abs(measured - expected),
                "<=": measured - expected,
                ">=": expected - measured,
            }[self.relation]
        distance = np.where(np.isnan(distance), np.inf, distance)  # a NaN never passes
        worst = int(np.argmax(distance))
        object.__setattr__(self, "measured", float(measured.flat[worst]))
        object.__setattr__(self, "expected", float(expected.flat[worst]))
        object.__setattr__(self, "tolerance", float(self.tolerance))
        object.__setattr__(self, "_distance", float(distance.flat[worst]))

    @classmethod
    def of(cls, estimate: Estimate, what: str, relation: str, bound: float, *, ours: bool = False) -> Check:
        """The check whose outcome is that of an estimate: it passes only where that is "holds".

        Parameters
        ----------
        estimate
            what was measured, with its error over seeds
        what
            in a few words
        relation, bound
            "<=", ">=" or "within" (in size) a bound, in the unit of the estimate
        ours
            as in ``Check``

        Returns
        -------
        Check
            its words give value, error and outcome; measured is the end of the interval that is unfavourable.
        """
        outcome = estimate.outcome(relation, bound)
        found = f"{what}: {estimate} over {estimate.seeds} seeds, {outcome}; 95 % end"
        way = ">=" if relation == ">=" else "<="
        return cls(found, estimate.ends(relation)[0], bound, 0.0, way, ours, undecided=outcome == UNDECIDED)

    @property
    def distance(self) -> float:
        """How far the worst entry is from what was expected (for a bound: by how much it is exceeded)."""
        return self._distance  # type: ignore[attr-defined]

    @property
    def passed(self) -> bool:
        """Whether the distance is within the tolerance."""
        return bool(self.distance <= self.tolerance)

    @property
    def outcome(self) -> str:
        """One of "holds", "fails" and "not resolved"."""
        return HOLDS if self.passed else UNDECIDED if self.undecided else FAILS

    def as_dict(self) -> dict[str, Any]:
        """Plain values for claims.json.

        Returns
        -------
        dict
            all fields, with ``passed`` and ``outcome``; a number that is not finite is a word.
        """
        numbers = {k: json_number(v) for k, v in asdict(self).items()}
        return numbers | {"passed": self.passed, "outcome": self.outcome}


def strain(check: Check) -> float:
    """How near a check is to failing.

    Parameters
    ----------
    check
        the check

    Returns
    -------
    float
        1 at its limit, more beyond it, less within; the unit is the tolerance or, for a bound without one, the size of
        the bound.
    """
    slack = check.tolerance - check.distance
    unit = check.tolerance or abs(float(check.expected)) or 1.0  # type: ignore[arg-type]
    return 1.0 - slack / unit


def json_number(value: Any) -> Any:
    """JSON has no infinity: it travels as the word that ``float`` reads back.

    Parameters
    ----------
    value
        anything

    Returns
    -------
    object
        the same, or a word for a number that is not finite.
    """
    return str(value) if isinstance(value, float) and not np.isfinite(value) else value


def sentence(check: Check) -> str:
    """What was measured and what was expected, in words.

    Parameters
    ----------
    check
        the check

    Returns
    -------
    str
        with its tolerance, if it has one.
    """
    relation = {"=": "expected", "<=": "at most", ">=": "at least"}[check.relation]
    slack = f" ± {float(check.tolerance):.3g}" if check.tolerance else ""
    return f"measured {float(check.measured):.6g}, {relation} {float(check.expected):.6g}{slack}"  # type: ignore[arg-type]
