"""Tables fit on paper: one that is too wide says how many letters it needs, and is printed that much smaller."""

from __future__ import annotations

import re
from html import unescape

TABLE = re.compile(r"<table\b[^>]*>.*?</table>", re.DOTALL)
ROW = re.compile(r"<tr\b.*?</tr>", re.DOTALL)
CELL = re.compile(r"<t[dh]\b[^>]*>(.*?)</t[dh]>", re.DOTALL)
FORMULA = re.compile(r"<math\b.*?</math>", re.DOTALL)
MARGIN = 1.0  # letters: what a cell keeps free beside its words
FITS = 75  # letters, at the size at which tables are printed


def width(table: str) -> float:
    """Letters that the columns need at least: of each, the longest word, or formula, that no line may end in."""
    widest: list[int] = []
    for row in ROW.findall(table):
        for place, cell in enumerate(CELL.findall(row)):
            cell = FORMULA.sub(lambda found: re.sub(r"\s|<(?!wbr)[^>]*>", "", found[0]).replace(" ", ""), cell)
            words = re.split(r"\s+|(?<=[\w)])[-/](?=\w)", unescape(re.sub(r"<wbr>", " ", _plain(cell)))) or [""]
            longest = max(map(len, words))
            if place == len(widest):
                widest.append(longest)
            else:
                widest[place] = max(widest[place], longest)
    return sum(widest) + MARGIN * len(widest)


def _plain(cell: str) -> str:
    """The words of a cell; blocks in it stand apart."""
    return re.sub(r"<(?!wbr)[^>]*>", "", re.sub(r"</?(?:p|li|ul|br|div)\b[^>]*>", " ", cell))


def lean(page: str) -> str:
    """Return the page with the width of every table that is too wide for paper, for the style sheet to divide by."""

    def said(found: re.Match[str]) -> str:
        letters = width(found[0])
        return (
            found[0] if letters <= FITS else found[0].replace("<table", f'<table style="--lr-letters:{letters:.0f}"', 1)
        )

    return TABLE.sub(said, page)
