"""Write the chapters as notebooks/NAME.ipynb for Colab: no outputs, no directives, an install cell in front.

python tools/notebooks.py            write them
python tools/notebooks.py --check    name each that is stale, missing or belongs to no chapter, and fail
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import re
from collections import Counter
from pathlib import Path
from typing import Any

import nbformat

import repository
from book_numbers import Book, Page, read_book
from myst_blocks import DialectError
from plain_markdown import Translator

ROOT = Path(__file__).resolve().parent.parent
INSTALL = Path(__file__).with_name("install_cell.py")
# What must be in no Markdown cell: directives, targets, roles.
RAW = re.compile(r":::|(?:```|~~~)\s*\{|^\s*\([\w:.-]+\)=\s*$|\{[A-Za-z][\w:.+-]*\}`", re.M)
# The address as it stands in the JSON of a notebook.
ADDRESS = re.compile(r'"REPOSITORY = \\"[^"\\]*\\"')
HIDDEN = {"hide-input", "hide-cell", "remove-input", "remove-cell"}


def install_cell(address: str) -> str:
    """Source of the cell that installs the package from the repository at ``address`` where it is missing."""
    text = INSTALL.read_text("utf8")
    docstring = ast.parse(text).body[0].end_lineno
    code = "\n".join(text.splitlines()[docstring:]).strip().replace("  # noqa: E402", "")
    return code.replace('REPOSITORY = ""', f'REPOSITORY = "{address}"')


class _Cells:
    """Cells whose ids depend on their own source alone, so that editing one leaves the ids of the others."""

    def __init__(self) -> None:
        self.cells: list[Any] = []
        self._seen: Counter[str] = Counter()

    def markdown(self, text: str, source: str, page: Page, name: str = "") -> None:
        raw = RAW.search(re.sub(r"^( *>? *)(`{3,}|~{3,})\w*\n.*?\n\1\2$", "", text, flags=re.M | re.S))
        if raw:
            raise DialectError(f"{page.file}: {raw.group().strip()!r} is left in the cell that starts: {source[:70]!r}")
        self.cells.append(nbformat.v4.new_markdown_cell(text, id=name or self._id("markdown", source)))

    def code(self, text: str, metadata: dict[str, Any], name: str = "") -> str:
        name = name or self._id("code", text)
        self.cells.append(nbformat.v4.new_code_cell(text, metadata=metadata, id=name))
        return name

    def _id(self, kind: str, source: str) -> str:
        digest = hashlib.sha256(f"{kind}\0{source}".encode()).hexdigest()[:12]
        self._seen[digest] += 1
        return digest if self._seen[digest] == 1 else f"{digest}-{self._seen[digest]}"


def notebook(book: Book, page: Page, address: str) -> Any:
    """A page as a plain notebook without outputs."""
    translator, cells = Translator(book, page), _Cells()
    cells.code(install_cell(address), {}, "install")
    for line, cell in page.cells:
        if cell.cell_type == "markdown":
            for source, text in translator.cell(cell.source, line):
                cells.markdown(text, source, page)
        elif cell.cell_type == "code":
            name = cells.code(cell.source, _metadata(cell.metadata.get("tags", [])))
            figure = cell.metadata.get("mystnb", {}).get("figure") or {}
            if figure.get("caption"):
                cells.markdown(translator.caption(figure, line), figure["caption"], page, f"{name}-caption")
        else:
            raise DialectError(f"{page.file}:{line}: a raw cell has no translation")
    if translator.inline.cited and not translator.lists_references:
        cells.markdown(f"## References\n\n{translator.references()}", "", page, "references")
    metadata = {
        "colab": {"toc_visible": True},
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    made = nbformat.v4.new_notebook(cells=cells.cells, metadata=metadata, nbformat_minor=5)
    nbformat.validate(made)
    return made


def _metadata(tags: list[str]) -> dict[str, Any]:
    """What hides the code of a cell, in Jupyter's words and in Colab's."""
    hidden = {"jupyter": {"source_hidden": True}, "cellView": "form"} if HIDDEN & set(tags) else {}
    return {**hidden, **({"tags": list(tags)} if tags else {})}


def generate(book: Book, address: str) -> dict[str, str]:
    """The text of every notebook by file name."""
    texts: dict[str, str] = {}
    for page in book.pages.values():
        if page.executable:
            if f"{page.name}.ipynb" in texts:
                raise DialectError(f"{page.file}: two pages would become {page.name}.ipynb")
            texts[f"{page.name}.ipynb"] = nbformat.writes(notebook(book, page, address)) + "\n"
    return texts


def differences(texts: dict[str, str], folder: Path, address_counts: bool) -> list[str]:
    """One sentence for each file of ``folder`` that is missing, stale or not among ``texts``."""
    found = {path.name: path.read_text("utf8") for path in sorted(folder.glob("*.ipynb"))}

    def same(one: str, other: str) -> bool:
        return one == other or (not address_counts and ADDRESS.sub("", one) == ADDRESS.sub("", other))

    missing = [f"{name} is missing" for name in texts if name not in found]
    stale = [f"{name} is stale" for name, text in texts.items() if name in found and not same(text, found[name])]
    return missing + stale + [f"{name} belongs to no chapter" for name in found if name not in texts]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a notebook is not current")
    check = parser.parse_args(arguments).check
    folder = ROOT / "notebooks"
    try:
        texts = generate(read_book(ROOT), repository.address(ROOT))
    except DialectError as error:
        print(error)
        return 1
    # An address that _config.yml does not set is the clone's, and says nothing of the chapters.
    wrong = differences(texts, folder, address_counts=bool(repository.configured(ROOT)) or not check)
    for sentence in wrong:
        print(f"notebooks/{sentence}" + ("" if check else ": put right"))
    if check:
        print("Run make notebooks." if wrong else f"{len(texts)} notebooks are current.")
        return bool(wrong)
    folder.mkdir(exist_ok=True)
    for path in folder.glob("*.ipynb"):
        if path.name not in texts:
            path.unlink()
    for name, text in texts.items():
        (folder / name).write_text(text, "utf8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
