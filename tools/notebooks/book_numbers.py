"""What the pages of the book call their equations, figures and theorems: the numbers that the site shows.

Sphinx knows them only after a build; the notebooks are made without one, and a test holds the two against each other.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from sphinx_proof.proof_type import PROOF_TYPES

import execute
from myst_blocks import Block, DialectError, blocks

STATEMENTS = set(PROOF_TYPES)


@dataclass
class Page:
    """One page of the table of contents.

    doc      as _toc.yml names it, such as book/depth
    chapter  its number; None in a part without numbers
    cells    each cell, and the blocks of its text or of its figure's caption
    """

    doc: str
    chapter: int | None
    executable: bool
    cells: list[tuple[Any, list[Block]]] = field(default_factory=list)
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
    """The pages and their labels."""

    root: Path
    settings: dict[str, Any]
    pages: dict[str, Page] = field(default_factory=dict)
    labels: dict[str, Label] = field(default_factory=dict)
    _counts: Counter[tuple[str, int | None]] = field(default_factory=Counter)

    @property
    def sphinx(self) -> dict[str, Any]:
        """The settings that _config.yml hands to Sphinx."""
        return self.settings.get("sphinx", {}).get("config", {})

    @property
    def macros(self) -> set[str]:
        """Names of the TeX macros that the site defines, which a plain notebook does not know."""
        return set(self.sphinx.get("mathjax3_config", {}).get("tex", {}).get("macros", {}))

    @property
    def bibliographies(self) -> list[Path]:
        """The .bib files."""
        return [self.root / name for name in self.settings.get("bibtex_bibfiles", [])]

    def number(self, page: Page, counter: str) -> str:
        """The next number of a counter."""
        key = (counter, page.chapter)
        self._counts[key] += 1
        return str(self._counts[key]) if page.chapter is None else f"{page.chapter}.{self._counts[key]}"

    def name(self, label: str, kind: str, text: str, page: Page, line: int) -> None:
        """Record a label; two of the same name are an error."""
        if label in self.labels:
            raise DialectError(f"{page.file}:{line}: the label {label} exists twice")
        if label:
            self.labels[label] = Label(kind, text, page)


def read_book(root: Path, entries: list[tuple[str, bool]] | None = None) -> Book:
    """Read and number the pages of _toc.yml, or of ``entries``: each a page and whether it is numbered."""
    book = Book(root, yaml.safe_load((root / "_config.yml").read_text("utf8")))
    if book.sphinx.get("numfig_secnum_depth", 1) != 1:
        raise DialectError("_config.yml: numbers are known only for numfig_secnum_depth: 1")
    chapter = 0
    for doc, numbered in execute.toc_entries() if entries is None else entries:
        chapter += numbered
        path = root / f"{doc}.md"
        if not path.is_file():
            raise DialectError(f"_toc.yml: there is no {doc}.md")
        # Not by jupytext's reader: it knows no ::: and cuts a directive in two where it finds a cell in it.
        notebook, lines = execute.read_notebook(path), path.read_text("utf8").splitlines()
        executable = {"jupytext", "kernelspec"} <= set(notebook.metadata)
        page = book.pages[doc] = Page(doc, chapter if numbered else None, executable)
        for line, cell in zip(notebook.metadata["source_map"], notebook.cells, strict=True):
            while cell.cell_type == "markdown" and not lines[line]:  # the reader drops blank lines in front
                line += 1
            figure = cell.metadata.get("mystnb", {}).get("figure") or {}
            if cell.cell_type == "markdown":
                found = blocks(cell.source, page.file, line + 1)
            elif caption := str(figure.get("caption") or "").strip():
                inside = blocks(caption, page.file, line + 1)
                found = [Block("figure", line + 1, [], str(figure.get("name") or ""), children=inside)]
            else:
                found = [Block("foreign", line + 1, [], title="a raw cell")] if cell.cell_type == "raw" else []
            page.cells.append((cell, found))
            _number(book, page, found)
    return book


def _number(book: Book, page: Page, found: list[Block]) -> None:
    targets: list[Block] = []
    for block in found:
        if block.kind == "target":
            targets.append(block)
            continue
        if block.kind == "heading" and block.name == "#" and not page.title:
            page.title = block.title
        kind = "section" if block.kind == "heading" else "place"
        for target in targets:
            book.name(target.name, kind, block.title if kind == "section" else "", page, target.line)
        targets = []
        if kind := _kind(block):
            statement = block.name.removeprefix("prf:")
            counter = book.sphinx.get("prf_realtyp_to_countertyp", {}).get(statement, statement)
            if "nonumber" not in block.options:
                block.number = book.number(page, counter if kind == "statement" else kind)
            called = {"equation": "", "statement": statement}.get(kind, kind).title()
            label = block.options.get("label") or block.options.get("name") or ""
            label = block.name if block.kind in {"math", "figure"} else str(label)
            book.name(label, kind, f"{called} {block.number}".strip(), page, block.line)
        _number(book, page, block.children)


def _kind(block: Block) -> str:
    """What a numbered block is, in the words of ``Label``; "" where it has no number."""
    name = block.name
    if (block.kind == "math" and name) or (block.kind == "environment" and not name.endswith("*")):
        return "equation"
    if block.kind == "figure":
        return "figure"
    if block.kind == "directive" and name.startswith("prf:") and name.removeprefix("prf:") in STATEMENTS:
        return "statement"
    if block.kind == "directive" and (name in {"exercise", "exercise-start"} or (name == "table" and block.title)):
        return name.removesuffix("-start")
    return ""
