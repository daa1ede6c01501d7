"""One rule for bounds on what seeds were averaged for: it holds, it fails, or the seeds at hand do not resolve it."""

from __future__ import annotations

import math
from dataclasses import dataclass

from scipy.special import stdtrit

from lrtransfer.numerics.arguments import choice, count, one, positive, refuse

HOLDS, FAILS, OPEN = "holds", "fails", "not resolved"
RELATIONS = ("within", "<=", ">=")
LEVEL = 0.95


@dataclass(frozen=True)
class Estimate:
    """A measured number ``value`` with its standard ``error`` over so many ``seeds``; the error is inf if unknown.

    With t the one-sided 95 % quantile of Student's distribution of ``seeds`` - 1 degrees of freedom, ``value`` + t
    ``error`` and ``value`` - t ``error`` are each beyond the true value in one draw of seeds of twenty.
    """

    value: float
    error: float
    seeds: int

    @property
    def reach(self) -> float:
        """The error times ``quantile``; inf where the error is not known."""
        return quantile(self.seeds) * self.error if 0 < self.error < math.inf else self.error

    def ends(self, relation: str) -> tuple[float, float]:
        """The unfavourable and the favourable end of what ``relation`` bounds: the value, or for "within" its size."""
        if choice("relation", relation, RELATIONS) == ">=":
            return self.value - self.reach, self.value + self.reach
        size = abs(self.value) if relation == "within" else self.value
        return size + self.reach, size - self.reach

    def outcome(self, relation: str, bound: float) -> str:
        """Whether ``value`` is "<=" or ">=" a ``bound``, or "within" it in size.

        "holds" where the unfavourable end is, "fails" where the favourable end is not, "not resolved" between.
        """
        worst, best = self.ends(relation)
        if relation == ">=":
            worst, best, bound = -worst, -best, -bound
        return HOLDS if worst <= bound else FAILS if best > bound else OPEN

    def __str__(self) -> str:
        """Value and error to two digits of the error, and to two decimals at least."""
        if not math.isfinite(self.error):
            return f"{self.value:+.2f} (bound)"
        places = max(2, 1 - math.floor(math.log10(self.error))) if self.error > 0 else 2
        return f"{self.value:+.{places}f} ± {self.error:.{places}f}"


def quantile(seeds: int, level: float = LEVEL) -> float:
    """The ``level`` quantile, in (1/2, 1), of Student's t with ``seeds`` - 1 degrees of freedom; inf for one seed.

    One-sided: the two-sided interval of confidence c takes the level (1 + c) / 2.
    """
    degrees, share = count("seeds", seeds, minimum=1) - 1, one("level", positive("level", level))
    if not 0.5 < share < 1:
        raise refuse("level", level, "between 1/2 and 1")
    return float(stdtrit(degrees, share)) if degrees else math.inf
