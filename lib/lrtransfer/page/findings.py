"""What this book found that no paper has: statements of its own, each with the checks of the cell that shows it.

A chapter states a finding once, beside the cell that shows it, as it states a claim::

    finding("width.cost", Check("share that is lost over the formula's", lost / formula, expected=1, tolerance=0.1))

The record travels in the cell's output, and the second table of the claims page is read off it.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any

from lrtransfer.numerics.arguments import refuse
from lrtransfer.numerics.estimates import FAILS, HOLDS
from lrtransfer.numerics.estimates import OPEN as UNDECIDED
from lrtransfer.page.boxes import box, name, plain
from lrtransfer.page.checks import Check

FINDING_TYPE = "application/vnd.lrtransfer.finding+json"
OUTCOMES = {HOLDS: "✓", UNDECIDED: "?", FAILS: "✗"}


@dataclass(frozen=True)
class Found:
    """One row of findings.csv.

    Attributes
    ----------
    id
        ``chapter.name``
    chapter
        whose page shows it
    sentence
        what is stated, with its mathematics between dollar signs
    """

    id: str
    chapter: str
    sentence: str


@cache
def found() -> dict[str, Found]:
    """Every finding.

    Returns
    -------
    dict
        ``Found`` by id, in the order of findings.csv.
    """
    text = files("lrtransfer.page").joinpath("findings.csv").read_text(encoding="utf-8")
    return {row["id"]: Found(**row) for row in csv.DictReader(text.splitlines())}


@dataclass(frozen=True)
class Finding:
    """A finding together with the checks that its chapter made; displays itself with its outcome.

    Attributes
    ----------
    id
        in findings.csv
    checks
        in the order in which they are shown
    """

    id: str
    checks: tuple[Check, ...]

    @property
    def outcome(self) -> str:
        """``fails`` if a check fails; else ``not resolved`` if one is undecided; else ``holds``."""
        outcomes = {check.outcome for check in self.checks}
        return next((word for word in (FAILS, UNDECIDED) if word in outcomes), HOLDS)

    def as_dict(self) -> dict[str, Any]:
        """Plain values for findings.json."""
        return {
            "id": self.id,
            "chapter": found()[self.id].chapter,
            "outcome": self.outcome,
            "checks": [check.as_dict() for check in self.checks],
        }

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        lead = f"<strong>Found here: {OUTCOMES[self.outcome]} {self.outcome}</strong> {name(self.id)}"
        anchor = "finding-" + self.id.replace(".", "-")
        kind = "finding lr-" + self.outcome.replace(" ", "-")
        return {
            FINDING_TYPE: self.as_dict(),
            "text/markdown": box(anchor, kind, lead, found()[self.id].sentence, self.checks),
            "text/plain": plain(f"{self.id} (found here): {self.outcome}", self.checks),
        }


def finding(id: str, *checks: Check) -> None:
    """State a finding where it is shown: judge it and display it.

    Parameters
    ----------
    id
        in findings.csv
    *checks
        one at least; all are of this book's own statement

    Raises
    ------
    ValueError
        for an id that findings.csv does not list, and without a check.
    """
    from IPython.display import display

    if id not in found():
        raise refuse("id", id, "an id of findings.csv, such as 'width.cost'")
    if not checks:
        raise refuse("checks", checks, "at least one Check: an outcome needs a measurement")
    display(Finding(id, tuple(replace(check, ours=False) for check in checks)))
