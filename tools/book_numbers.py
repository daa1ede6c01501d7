"""What the pages of the book call their equations, figures and theorems: the numbers that the site shows."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

import execute
from myst_blocks import VERBATIM, Block, DialectError, blocks

STATEMENTS = {
    "algorithm", "assumption", "axiom", "conjecture", "corollary", "criterion", "definition", "example",
    "lemma", "notation", "observation", "property", "proposition", "remark", "theorem",
}  # fmt: skip


@dataclass
class Page:
    """One page of the table of contents."""

    doc: str  # as _toc.yml names it, such as book/depth
    chapter: int | None  # its number; None in a part without numbers
    cells: list[tuple[int, Any]]  # each cell as the site's own parser splits them, with its first line in the file
    executable: bool
    title: str = ""

    @property
    def name(self) -> str:
        """The page's one word, which its notebook is named after."""
        return Path(self.doc).name

    @property
    def file(self) -> str:
        """The file, as messages name it."""
        return f"{self.doc}.md"


@dataclass(frozen=True)
class Label:
    """What a label stands for.

    kind  "equation", "figure", "table", "exercise", "statement", "section" or "place"
    text  how a sentence calls it: "1.2" of an equation, "Figure 1.2", "Theorem 1.3", the title of a section
    """

    kind: str
    text: str
    page: Page


@dataclass
class Book:
    """The pages, their labels, and the number of each numbered block by page and line."""

    root: Path
    settings: dict[str, Any]
    pages: dict[str, Page] = field(default_factory=dict)
    labels: dict[str, Label] = field(default_factory=dict)
    numbers: dict[tuple[str, int], str] = field(default_factory=dict)
    _counts: Counter[tuple[str, int | None]] = field(default_factory=Counter)

    @property
    def macros(self) -> set[str]:
        """Names of the TeX macros that the site defines, which a plain notebook does not know."""
        tex = self.sphinx.get("mathjax3_config", {}).get("tex", {})
        return set(tex.get("macros", {}))

    @property
    def sphinx(self) -> dict[str, Any]:
        """The settings that _config.yml hands to Sphinx."""
        return self.settings.get("sphinx", {}).get("config", {})

    @property
    def bibliographies(self) -> list[Path]:
        """The .bib files."""
        return [self.root / name for name in self.settings.get("bibtex_bibfiles", [])]

    def number(self, page: Page, line: int, counter: str) -> str:
        """Give what stands at ``line`` the next number of its counter."""
        key = (counter, page.chapter)
        self._counts[key] += 1
        number = str(self._counts[key]) if page.chapter is None else f"{page.chapter}.{self._counts[key]}"
        self.numbers[page.doc, line] = number
        return number

    def name(self, label: str, kind: str, text: str, page: Page, line: int) -> None:
        """Record a label; two of the same name are an error."""
        if not label:
            return
        if label in self.labels:
            raise DialectError(f"{page.file}:{line}: the label {label} exists twice")
        self.labels[label] = Label(kind, text, page)


def read_book(root: Path, entries: list[tuple[str, bool]] | None = None) -> Book:
    """Read and number the pages of _toc.yml, or of ``entries``: each a page and whether it is numbered."""
    settings = yaml.safe_load((root / "_config.yml").read_text("utf8"))
    if settings.get("sphinx", {}).get("config", {}).get("numfig_secnum_depth", 1) != 1:
        raise DialectError("_config.yml: numbers are known only for numfig_secnum_depth: 1")
    book = Book(root, settings)
    chapter = 0
    for doc, numbered in execute.toc_entries() if entries is None else entries:
        chapter += numbered
        path = root / f"{doc}.md"
        if not path.is_file():
            raise DialectError(f"_toc.yml: there is no {doc}.md")
        notebook = execute.read_notebook(path)
        lines = path.read_text("utf8").splitlines()
        cells = []
        for start, cell in zip(notebook.metadata["source_map"], notebook.cells, strict=True):
            while cell.cell_type == "markdown" and not lines[start]:  # the reader drops blank lines in front
                start += 1
            cells.append((start + 1, cell))
        executable = {"jupytext", "kernelspec"} <= set(notebook.metadata)
        page = book.pages[doc] = Page(doc, chapter if numbered else None, cells, executable)
        for line, cell in cells:
            if cell.cell_type == "markdown":
                _walk(book, page, cell.source.splitlines(), line)
            else:
                _figure(book, page, cell.metadata.get("mystnb", {}).get("figure") or {}, line)
    return book


def _figure(book: Book, page: Page, options: dict[str, Any], line: int) -> None:
    if options.get("caption"):
        book.name(options.get("name", ""), "figure", f"Figure {book.number(page, line, 'figure')}", page, line)


def _walk(book: Book, page: Page, lines: list[str], first: int) -> None:
    targets: list[Block] = []
    for block in blocks(lines, page.file, first):
        if block.kind == "target":
            targets.append(block)
            continue
        if block.kind == "heading" and block.name == "#" and not page.title:
            page.title = block.title
        if block.kind == "text" and not any(map(str.strip, block.source)):
            continue
        for target in targets:
            if block.kind == "heading":
                book.name(target.name, "section", block.title, page, target.line)
            else:
                book.name(target.name, "place", "", page, target.line)
        targets = []
        if block.kind == "directive":
            _directive(book, page, block)
        elif block.kind == "math" and block.name:
            book.name(block.name, "equation", book.number(page, block.line, "equation"), page, block.line)
        elif block.kind == "environment" and not block.name.endswith("*"):
            book.number(page, block.line, "equation")


def _directive(book: Book, page: Page, block: Block) -> None:
    kind, options, line = block.name, block.options, block.line
    label = str(options.get("label") or options.get("name") or "")
    statement = kind.removeprefix("prf:")
    if kind.startswith("prf:") and statement in STATEMENTS:
        text = statement.title()
        if "nonumber" not in options:
            counter = book.sphinx.get("prf_realtyp_to_countertyp", {}).get(statement, statement)
            text += " " + book.number(page, line, counter)
        book.name(label, "statement", text, page, line)
    elif kind in {"exercise", "exercise-start"}:
        text = "Exercise" if "nonumber" in options else f"Exercise {book.number(page, line, 'exercise')}"
        book.name(label, "exercise", text, page, line)
    elif kind in {"table", "list-table", "csv-table"} and block.title:
        book.name(label, "table", f"Table {book.number(page, line, 'table')}", page, line)
    elif kind == "figure" and block.body:
        book.name(label, "figure", f"Figure {book.number(page, line, 'figure')}", page, line)
    elif kind == "math" and label:
        book.name(label, "equation", book.number(page, line, "equation"), page, line)
    if kind not in VERBATIM:
        _walk(book, page, block.body, block.body_line)
