"""How long a chapter's main line takes to read: its words as they stand on the page, with all folds closed.

A formula counts as one word. Left out are code, output of cells but for claims and captions, all that is folded (of a
second reading its sentence counts), and the sections that one works through rather than reads.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html.parser import HTMLParser

WORDS_A_MINUTE = 200  # of prose with formulas in it; running text is read at 240
WORKED = ("exercises", "quiz", "scorecard")
VOID = {"area", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "wbr"}
OUTPUT = {"main output": "main", "further output": "further"}
SILENT = {"pre", "script", "style", "button", "svg", "form"}
# Most of a page by length; what is inside is not looked at.
UNREAD = re.compile(r"<(math|pre|svg|script)\b.*?</\1>", re.DOTALL)


@dataclass(frozen=True)
class Reading:
    """Words of the main line, and of what the sections of second reading hold, and how many these are."""

    words: int
    further_words: int
    sections: int

    @property
    def minutes(self) -> int:
        """Of the main line."""
        return max(1, round(self.words / WORDS_A_MINUTE))

    @property
    def sentence(self) -> str:
        """For the reader."""
        line = f"About {self.minutes} minutes for the main line ({self.words:,} words)"
        if not self.sections:
            return f"{line}."
        many = "one section" if self.sections == 1 else f"{self.sections} sections"
        more = max(1, round(self.further_words / WORDS_A_MINUTE))
        return f"{line}; {many} of second reading, folded, {'take' if self.sections > 1 else 'takes'} {more} more."


class _Counter(HTMLParser):
    """Counts words while it walks: each open element says what becomes of the text in it."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[tuple[str, str]] = []  # element, and where the words in it belong
        self.counts = dict.fromkeys(("main", "further", "none", *OUTPUT), 0)
        self.sections = 0

    @property
    def state(self) -> str:
        return self.open[-1][1] if self.open else "main"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in VOID:
            return
        given = {name: value or "" for name, value in attrs}
        self.open.append((tag, self._state_in(tag, given)))

    def _state_in(self, tag: str, given: dict[str, str]) -> str:
        classes, before = given.get("class", "").split(), self.state
        if before in OUTPUT:
            return OUTPUT[before] if tag == "figcaption" or "lr-claim" in classes else before
        if before == "none" or tag in SILENT or {"headerlink", "toc"} & set(classes):
            return "none"
        if tag == "section" and given.get("id", "").split("-")[0] in WORKED:
            return "none"
        if "math" in classes or tag == "math":
            self.counts[before] += 1
            return "none"
        if tag == "details":
            if "lr-further" in classes:
                self.sections += 1
                return "further"
            return "none"
        if tag == "summary":
            above = self.open[-2][1] if len(self.open) > 1 else "main"
            return above if before == "further" else "none"
        if "cell_input" in classes or {"admonition", "dropdown"} <= set(classes):
            return "none"
        return f"{before} output" if "cell_output" in classes else before

    def handle_endtag(self, tag: str) -> None:
        if any(name == tag for name, _ in self.open):
            while self.open.pop()[0] != tag:
                pass

    def handle_data(self, data: str) -> None:
        self.counts[self.state] += sum(any(c.isalnum() for c in word) for word in data.split())


def of(body: str) -> Reading:
    """The reading of a page.

    Parameters
    ----------
    body
        its HTML

    Returns
    -------
    Reading
    """
    counter = _Counter()
    counter.feed(UNREAD.sub(r"<\1></\1>", body))
    return Reading(counter.counts["main"], counter.counts["further"], counter.sections)
