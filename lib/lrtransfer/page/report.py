"""Numbers of a run as text: sentences and tables that a chapter shows, in the book and in a plain notebook."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from lrtransfer.numerics.arguments import refuse


def say(text: str) -> None:
    """Display a Markdown sentence that carries numbers of the run, so that prose cannot drift from them.

    Parameters
    ----------
    text
        Markdown
    """
    from IPython.display import Markdown, display

    display(Markdown(text))


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], digits: int = 4) -> None:
    """Display a table.

    Parameters
    ----------
    columns
        headings
    rows
        one sequence a row, as long as ``columns``
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
    lines = ["| " + " | ".join(columns) + " |", "|" + "---|" * len(columns)]
    for row in rows:
        if len(row) != len(columns):
            raise refuse("rows", row, f"rows of {len(columns)} entries, one for each column")
        lines.append("| " + " | ".join(_cell(entry, digits) for entry in row) + " |")
    return "\n".join(lines)


def _cell(entry: Any, digits: int) -> str:
    if isinstance(entry, float) or (hasattr(entry, "dtype") and not isinstance(entry, str)):
        value = float(entry)
        return "∞" if value == float("inf") else f"{value:.{digits}g}"
    return str(entry)
