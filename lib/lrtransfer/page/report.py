"""Numbers of a run as text: sentences and tables that a chapter shows, in the book and in a plain notebook."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from typing import Any

from lrtransfer.numerics.arguments import refuse

_MATHS_OR_CODE = re.compile(r"(\$[^$]+\$|`[^`]+`)")
_BAR = re.compile(r"\\?\|")  # escaped already, or not


def say(text: str) -> None:
    """Display a Markdown sentence that carries numbers of the run, so that prose cannot drift from them.

    Parameters
    ----------
    text
        Markdown
    """
    from IPython.display import display

    # Not ``Markdown(text)``, which opens a file where the text happens to be the name of one, or an address.
    display({"text/markdown": text, "text/plain": text}, raw=True)


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], digits: int = 4) -> None:
    """Display a table.

    Parameters
    ----------
    columns
        headings
    rows
        one sequence a row, as long as ``columns``. Of Markdown, words may have emphasis, code, links and mathematics
        between dollar signs; HTML and bars are shown as they are written
    digits
        significant digits of numbers

    Raises
    ------
    ValueError
        for a row of another length.
    """
    say(markdown_table(columns, rows, digits))


def markdown_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], digits: int = 4) -> str:
    """The Markdown source of ``table``.

    Parameters
    ----------
    columns, rows, digits
        as in ``table``

    Returns
    -------
    str
        one line a row, headings first.

    Raises
    ------
    ValueError
        for a row of another length.
    """
    lines = ["| " + " | ".join(map(_shown, columns)) + " |", "|" + "---|" * len(columns)]
    for row in rows:
        if len(row) != len(columns):
            raise refuse("rows", row, f"rows of {len(columns)} entries, one for each column")
        lines.append("| " + " | ".join(_cell(entry, digits) for entry in row) + " |")
    return "\n".join(lines)


def _cell(entry: Any, digits: int) -> str:
    if isinstance(entry, float) or (hasattr(entry, "dtype") and not isinstance(entry, str)):
        value = float(entry)
        return "∞" if value == float("inf") else f"{value:.{digits}g}"
    return _shown(str(entry))


def _shown(text: str) -> str:
    """Words for a cell: its bars end no cell, its lines no row, and nothing in it is taken for HTML."""
    parts = _MATHS_OR_CODE.split(" ".join(text.splitlines()))  # every second one is mathematics or code
    return "".join(_verbatim(part) if i % 2 else _escaped(part) for i, part in enumerate(parts))


def _verbatim(part: str) -> str:
    if part.startswith("$"):  # TeX has words for bars, and readers of Markdown differ about escaped ones
        return re.sub(r"\\?\|", lambda bar: r"\Vert " if len(bar[0]) > 1 else r"\vert ", part)
    return _BAR.sub(r"\|", part)


def _escaped(part: str) -> str:
    return _BAR.sub(r"\|", html.escape(part, quote=False))
