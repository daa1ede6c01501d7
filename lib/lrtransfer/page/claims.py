"""The claim record: what a paper states, what a cell of the book measured, and the verdict.

A chapter states a claim once, beside the cell that shows it::

    claim("depth.sharpness", Check("top Hessian eigenvalue over S", measured=top / S, expected=1, tolerance=1e-9))

The reader sees the verdict there, in the book and in any notebook. The record also travels inside the cell's output
under a media type of its own (``MEDIA_TYPE``), so the ledger page and claims.json are read off the executed chapters
(``lrtransfer.page.ledger``) and cannot disagree with them.
"""

from __future__ import annotations

import csv
import html
from dataclasses import asdict, dataclass
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.numerics.arguments import choice, flag, refuse
from lrtransfer.numerics.estimates import FAILS, HOLDS, Estimate
from lrtransfer.numerics.estimates import OPEN as UNDECIDED

MEDIA_TYPE = "application/vnd.lrtransfer.claim+json"
REPRODUCED, CORRECTED, UNRESOLVED, FAILED, OPEN = (
    "reproduced",
    "reproduced with a correction",
    "not resolved",
    "not reproduced",
    "open",
)
MARKS = {REPRODUCED: "✓", CORRECTED: "✓*", UNRESOLVED: "?", FAILED: "✗", OPEN: "○"}


@dataclass(frozen=True)
class Statement:
    """One row of claims.csv: what a paper states and what must be shown for it.

    Attributes
    ----------
    id
        ``chapter.name``
    chapter
        whose page states it
    seed_label
        where it stands in the paper
    claim
        what the paper states
    show
        what must be shown for it
    """

    id: str
    chapter: str
    seed_label: str
    claim: str
    show: str


@cache
def statements() -> dict[str, Statement]:
    """Every result of the five papers.

    Returns
    -------
    dict
        ``Statement`` by id, in the order of claims.csv.
    """
    text = files("lrtransfer.page").joinpath("claims.csv").read_text(encoding="utf-8")
    return {row["id"]: Statement(**row) for row in csv.DictReader(text.splitlines())}


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
        """Plain values for claims.json."""
        numbers = {k: _json_number(v) for k, v in asdict(self).items()}
        return numbers | {"passed": self.passed, "outcome": self.outcome}


@dataclass(frozen=True)
class Claim:
    """A statement together with the checks that a chapter made of it; displays itself with its verdict.

    Attributes
    ----------
    id
        of the statement in claims.csv
    checks
        in the order in which they are shown
    correction
        what must change in the printed statement for the checks to hold; empty when it holds as printed
    """

    id: str
    checks: tuple[Check, ...]
    correction: str = ""

    @property
    def statement(self) -> Statement:
        """The row of claims.csv this claim is about."""
        return statements()[self.id]

    @property
    def verdict(self) -> str:
        """What the checks of the paper's own statement say; those of this book's decide nothing.

        ``not reproduced`` if one fails; else ``not resolved`` if one is undecided; else ``reproduced``, with a
        correction if one is stated.
        """
        outcomes = {check.outcome for check in self.checks if not check.ours}
        if FAILS in outcomes:
            return FAILED
        if UNDECIDED in outcomes:
            return UNRESOLVED
        return CORRECTED if self.correction else REPRODUCED

    @property
    def anchor(self) -> str:
        """The id of this claim's place in the page."""
        return "claim-" + self.id.replace(".", "-")

    def as_dict(self) -> dict[str, Any]:
        """Plain values for claims.json; the scalar fields are those of the paper's check nearest to failing."""
        worst = max((check for check in self.checks if not check.ours), key=_strain)
        return {
            "id": self.id,
            "chapter": self.statement.chapter,
            "seed_label": self.statement.seed_label,
            "verdict": self.verdict,
            "measured": _json_number(worst.measured),
            "expected": _json_number(worst.expected),
            "tolerance": worst.tolerance,
            "relation": worst.relation,
            "correction": self.correction,
            "checks": [check.as_dict() for check in self.checks],
        }

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        return {MEDIA_TYPE: self.as_dict(), "text/html": self._html(), "text/plain": self._text()}

    def _text(self) -> str:
        lines = [f"{self.id} ({self.statement.seed_label}): {self.verdict}"]
        marks = {HOLDS: "ok ", UNDECIDED: "?? ", FAILS: "NO "}
        lines += [f"  {marks[c.outcome]} {_whose(c)}{c.what}: {_sentence(c)}" for c in self.checks]
        return "\n".join(lines + ([f"  correction: {self.correction}"] if self.correction else []))

    def _html(self) -> str:
        # Inline styles are the fallback for notebooks without the book's style sheet.
        rows = "".join(f"<li>{_state(c)}{_whose(c)}{html.escape(c.what)}: {_sentence(c)}</li>" for c in self.checks)
        more = f"<p><em>Correction.</em> {html.escape(self.correction)}</p>" if self.correction else ""
        kind = self.verdict.replace(" ", "-")
        return (
            f'<div class="lr-claim lr-{kind}" id="{self.anchor}" '
            'style="border-left:4px solid; padding:.3em .8em; margin:1em 0">'
            f"<p><strong>{MARKS[self.verdict]} {self.verdict}</strong> "
            f"<code>{self.id}</code> ({html.escape(self.statement.seed_label)}). "
            f"{html.escape(self.statement.claim)}</p>"
            f"<ul>{rows}</ul>{more}</div>"
        )


_session: dict[str, Claim] = {}


def judge(id: str, *checks: Check, correction: str = "") -> Claim:
    """A claim with its checks, as a value (``claim`` also displays and remembers it).

    Parameters
    ----------
    id
        of the statement in claims.csv
    *checks
        one of the paper's own statement at least
    correction
        what must change in the printed statement for the checks to hold; empty when it holds as printed

    Returns
    -------
    Claim
        with its verdict.

    Raises
    ------
    ValueError
        for an id that claims.csv does not list, and when there is no check of the paper's own statement.
    """
    if id not in statements():
        raise refuse("id", id, "an id of claims.csv, such as 'depth.sharpness'")
    if not checks:
        raise refuse("checks", checks, "at least one Check: a verdict needs a measurement")
    if all(check.ours for check in checks):
        raise refuse("checks", [check.what for check in checks], "with one of the paper's own statement at least")
    return Claim(id, tuple(checks), correction)


def claim(id: str, *checks: Check, correction: str = "") -> None:
    """State a claim where it is shown: judge it, remember it for the scorecard, display it.

    Parameters
    ----------
    id, *checks, correction
        as in ``judge``

    Raises
    ------
    ValueError
        as ``judge`` does.
    """
    from IPython.display import display

    _session[id] = record = judge(id, *checks, correction=correction)
    display(record)


@dataclass(frozen=True)
class Scorecard:
    """The claims of one chapter with the verdicts reached so far in this session; displays itself as a table.

    Attributes
    ----------
    rows
        statement and verdict of each, in the order of claims.csv
    """

    rows: tuple[tuple[Statement, str], ...]

    def _repr_markdown_(self) -> str:
        lines = ["| | Claim | In the paper | Verdict |", "|---|---|---|---|"]
        lines += [
            f"| {MARKS[verdict]} | `{s.id}` | {s.seed_label.replace('|', '/')} | {verdict} |"
            for s, verdict in self.rows
        ]
        reached = sum(verdict != OPEN for _, verdict in self.rows)
        return "\n".join([*lines, "", f"{reached} of {len(self.rows)} claims have a verdict."])

    def __repr__(self) -> str:
        return "\n".join(f"{MARKS[verdict]:2} {s.id}: {verdict}" for s, verdict in self.rows)


def scorecard(chapter: str) -> Scorecard:
    """The scorecard of a chapter, for the end of its page.

    Parameters
    ----------
    chapter
        a chapter of claims.csv, such as "depth"

    Returns
    -------
    Scorecard
        claims not yet stated show as "open".

    Raises
    ------
    ValueError
        for any other chapter.
    """
    rows = [s for s in statements().values() if s.chapter == chapter]
    if not rows:
        raise refuse("chapter", chapter, "a chapter of claims.csv, such as 'depth'")
    return Scorecard(tuple((s, _session[s.id].verdict if s.id in _session else OPEN) for s in rows))


def _strain(check: Check) -> float:
    """How near a check is to failing: 1 at its limit, more beyond it, less within.

    The unit is the tolerance or, for a bound without one, the size of the bound.
    """
    slack = check.tolerance - check.distance
    unit = check.tolerance or abs(float(check.expected)) or 1.0  # type: ignore[arg-type]
    return 1.0 - slack / unit


def _json_number(value: Any) -> Any:
    """JSON has no infinity: it travels as the word that ``float`` reads back."""
    return str(value) if isinstance(value, float) and not np.isfinite(value) else value


def _state(check: Check) -> str:
    return "" if check.passed else f"<strong>{check.outcome}:</strong> "


def _whose(check: Check) -> str:
    return "(ours) " if check.ours else ""


def _sentence(check: Check) -> str:
    relation = {"=": "expected", "<=": "at most", ">=": "at least"}[check.relation]
    slack = f" ± {float(check.tolerance):.3g}" if check.tolerance else ""
    return f"measured {float(check.measured):.6g}, {relation} {float(check.expected):.6g}{slack}"  # type: ignore[arg-type]
