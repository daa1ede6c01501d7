"""The claim record: what a paper states, what a cell of the book measured, and the verdict.

A chapter states a claim once, beside the cell that shows it::

    claim("depth.sharpness", Check("top Hessian eigenvalue over S", measured=top / S, expected=1, tolerance=1e-9))

The reader sees the verdict there, in the book and in any notebook. The record also travels inside the cell's output
under a media type of its own (``MEDIA_TYPE``), so the ledger page and claims.json are read off the executed chapters
(``lrtransfer.page.ledger``) and cannot disagree with them.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from lrtransfer.numerics.arguments import refuse
from lrtransfer.numerics.estimates import FAILS
from lrtransfer.numerics.estimates import OPEN as UNDECIDED
from lrtransfer.page.boxes import box, name, plain
from lrtransfer.page.checks import Check, json_number, strain
from lrtransfer.page.wording import typeset

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
    """One row of claims.csv and of sentences.csv: what a paper states and what must be shown for it.

    Attributes
    ----------
    id
        ``chapter.name``
    chapter
        whose page states it
    seed_label
        where it stands in the paper
    claim
        what the paper states, in plain characters
    show
        what must be shown for it
    sentence
        what the paper states as a reader meets it, with its mathematics between dollar signs
    """

    id: str
    chapter: str
    seed_label: str
    claim: str
    show: str
    sentence: str


@cache
def statements() -> dict[str, Statement]:
    """Every result of the five papers.

    Returns
    -------
    dict
        ``Statement`` by id, in the order of claims.csv.
    """
    sentences = {row["id"]: row["sentence"] for row in _rows("sentences.csv")}
    return {row["id"]: Statement(**row, sentence=sentences[row["id"]]) for row in _rows("claims.csv")}


def _rows(file: str) -> list[dict[str, str]]:
    text = files("lrtransfer.page").joinpath(file).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines()))


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
        worst = max((check for check in self.checks if not check.ours), key=strain)
        return {
            "id": self.id,
            "chapter": self.statement.chapter,
            "seed_label": self.statement.seed_label,
            "verdict": self.verdict,
            "measured": json_number(worst.measured),
            "expected": json_number(worst.expected),
            "tolerance": worst.tolerance,
            "relation": worst.relation,
            "correction": self.correction,
            "checks": [check.as_dict() for check in self.checks],
        }

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        return {MEDIA_TYPE: self.as_dict(), "text/markdown": self._markdown(), "text/plain": self._text()}

    def _text(self) -> str:
        return plain(f"{self.id} ({self.statement.seed_label}): {self.verdict}", self.checks, self.correction)

    def _markdown(self) -> str:
        stands = typeset(self.statement.seed_label)
        lead = f"<strong>{MARKS[self.verdict]} {self.verdict}</strong> {name(self.id)} {stands}"
        kind = self.verdict.replace(" ", "-")
        return box(self.anchor, kind, lead, self.statement.sentence, self.checks, self.correction)


session: dict[str, Claim] = {}


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

    session[id] = record = judge(id, *checks, correction=correction)
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
        lines = ["| Verdict | Claim | In the paper |", "|---|---|---|"]
        lines += [f"| {MARKS[verdict]} {verdict} | {_to(s, verdict)} | {_label(s)} |" for s, verdict in self.rows]
        return "\n".join(lines)

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
    return Scorecard(tuple((s, session[s.id].verdict if s.id in session else OPEN) for s in rows))


def _to(statement: Statement, verdict: str) -> str:
    """The name of a claim, as a link to its place in the page once it is stated there."""
    named = f"<code>{statement.id}</code>"
    return named if verdict == OPEN else f'<a href="#claim-{statement.id.replace(".", "-")}">{named}</a>'


def _label(statement: Statement) -> str:
    return typeset(statement.seed_label).replace("|", "/")
