"""notation.md has every symbol that the chapters use, says where it is defined, and the glossary its terms."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from page_symbols import DECORATIONS, formulas, symbols, used

import book_numbers
import execute

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "book"
CHAPTERS = ("depth", "width", "residual", "layers", "stages", "synthesis")
NOTATION = (BOOK / "notation.md").read_text("utf8")
ONCE = 2  # a letter that stands once on a page is explained where it stands


def rows(section: str) -> list[list[str]]:
    """The cells of the table under a heading of notation.md."""
    text = re.split(r"^## ", NOTATION, flags=re.M)
    mine = next(part for part in text if part.startswith(f"{section}\n"))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in mine.splitlines() if line[:3] == "| $"]


def listed(section: str) -> set[str]:
    """The symbols in the first column of a section's table."""
    return {each for row in rows(section) for formula in re.findall(r"\$(.+?)\$", row[0]) for each in symbols(formula)}


def bare(symbol: str) -> str:
    """A symbol without a dot, a bar or a hat on it: notation.md says once what these mean."""
    dress, _, letter = symbol.partition(" ")
    return letter if dress.removeprefix("\\") in DECORATIONS else symbol


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_symbol_of_a_chapter_is_in_the_notation(chapter):
    known = listed("Everywhere") | listed(chapter.capitalize())
    counts = {symbol: n for symbol, n in used(BOOK / f"{chapter}.md").items() if n >= ONCE}
    lacking = {symbol: n for symbol, n in counts.items() if {symbol, bare(symbol)}.isdisjoint(known)}
    assert not lacking, f"notation.md lacks {lacking}"


@pytest.mark.parametrize("path", execute.chapters(), ids=lambda path: path.stem)
def test_every_symbol_of_a_page_is_in_some_table(path):
    known = set().union(*(listed(section) for section in ("Everywhere", *map(str.capitalize, CHAPTERS))))
    lacking = {s: n for s, n in used(path).items() if n >= ONCE and {s, bare(s)}.isdisjoint(known)}
    assert not lacking, f"notation.md lacks {lacking}"


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_the_notation_has_nothing_that_a_chapter_does_not_use(chapter):
    mine = {bare(symbol) for symbol in used(BOOK / f"{chapter}.md")} | set(used(BOOK / f"{chapter}.md"))
    assert listed(chapter.capitalize()) <= mine


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_line_says_where_its_symbols_are_defined(chapter):
    labels = book_numbers.read_book(ROOT).labels
    for row in rows(chapter.capitalize()):
        assert len(row) == 4 and row[1], row
        places = re.findall(r"\{(?:eq|ref)\}`(?:[^`<]*<)?([\w-]+)>?`", row[2])
        assert places and all(labels[place].page.name == chapter for place in places), row


def test_names_of_the_package_are_there():

    source = "\n".join(path.read_text("utf8") for path in (ROOT / "lib" / "lrtransfer").rglob("*.py"))
    for section in ("Everywhere", *map(str.capitalize, CHAPTERS)):
        for row in rows(section):
            for name in re.findall(r"`([\w.]+)`", row[-1]):
                assert re.search(rf"\b{name.rpartition('.')[2]}\b", source), name


def test_symbols_are_found_in_formulas(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "A $\\hat w_l$ and $$\n\\mathcal L = \\operatorname{tr} A\\dots\n$$ (eq)\n\n"
        "```{code-cell} ipython3\n---\ncaption: of $\\xi$\n---\nprint('$Q$')\n```\n\n`$Z$` costs \\$5\n",
        "utf8",
    )
    assert list(formulas(page)) == ["\\hat w_l", "\n\\mathcal L = \\operatorname{tr} A\\dots\n", "\\xi"]
    assert list(used(page)) == ["\\hat w", "l", "\\mathcal L", "A", "\\xi"]
    assert list(symbols("\\mathbb 1 + \\text{of } e^{\\tilde{z}}")) == ["\\mathbb 1", "e", "\\tilde z"]
