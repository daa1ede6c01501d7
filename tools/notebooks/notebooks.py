"""Write the chapters as notebooks/NAME.ipynb for Colab: no outputs, no directives, an install cell in front.

python tools/notebooks/notebooks.py            write them
python tools/notebooks/notebooks.py --check    name each that is stale, missing or belongs to no chapter, and fail

jupytext reads the chapters and writes the notebooks; what stands on a page is what MyST's parser says. Our own is:

notebooks        cell ids from a cell's source (jupytext draws them anew each time), and Colab's word for hidden code
plain_markdown   directives in words; jupytext leaves them as they are, and Colab would show the colons and options
inline_markdown  the same for roles, citations and links within a paragraph
myst_blocks      from which lines and characters a token was made: the parser keeps the lines alone
book_numbers     numbers of equations, figures and theorems: Sphinx knows them only after a build of all pages
citations        "Author et al. (2026)" in a sentence: sphinxcontrib-bibtex writes it for Sphinx alone; pybtex reads
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import jupytext
import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "build"))

import repository
from book_numbers import Book, Page, read_book
from myst_blocks import DialectError
from plain_markdown import Translator

ROOT = Path(__file__).resolve().parents[2]
INSTALL = Path(__file__).with_name("install_cell.py")
HIDDEN = {"hide-input", "hide-cell", "remove-input", "remove-cell"}


def install_cell(address: str) -> str:
    """Source of the cell that installs the package from the repository at ``address`` where it is missing."""
    text = INSTALL.read_text("utf8")
    docstring = ast.parse(text).body[0].end_lineno
    code = "\n".join(text.splitlines()[docstring:]).strip().replace("  # noqa: E402", "")
    return code.replace('REPOSITORY = ""', f'REPOSITORY = "{address}"', 1)


def notebook(book: Book, page: Page, address: str) -> Any:
    """A page as a plain notebook without outputs."""
    translator, seen = Translator(book, page), Counter[str]()

    def identity(kind: str, source: str) -> str:
        """From its own source alone, so that editing one cell leaves the ids of the others."""
        digest = hashlib.sha256(f"{kind}\0{source}".encode()).hexdigest()[:12]
        seen[digest] += 1
        return digest if seen[digest] == 1 else f"{digest}-{seen[digest]}"

    cells = [new_code_cell(install_cell(address), id="install")]
    for cell, blocks in page.cells:
        name = ""
        if cell.cell_type == "code":
            name = identity("code", cell.source)
            cells.append(new_code_cell(cell.source, metadata=_metadata(cell.metadata.get("tags", [])), id=name))
        for source, text in translator.cells(blocks):
            own = f"{name}-caption" if name else identity("markdown", source)
            cells.append(new_markdown_cell(text, id=own))
    if translator.inline.cited and not translator.lists_references:
        cells.append(new_markdown_cell(f"## References\n\n{translator.references()}", id="references"))
    metadata = {
        "colab": {"toc_visible": True},
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    made = new_notebook(cells=cells, metadata=metadata, nbformat_minor=5)
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
            texts[f"{page.name}.ipynb"] = jupytext.writes(notebook(book, page, address), "ipynb") + "\n"
    return texts


def differences(texts: dict[str, str], folder: Path) -> list[str]:
    """One sentence for each file of ``folder`` that is missing, stale or not among ``texts``."""
    found = {path.name: path.read_text("utf8") for path in sorted(folder.glob("*.ipynb"))}
    missing = [f"{name} is missing" for name in texts if name not in found]
    stale = [f"{name} is stale" for name, text in texts.items() if name in found and text != found[name]]
    return missing + stale + [f"{name} belongs to no chapter" for name in found if name not in texts]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a notebook is not current")
    check = parser.parse_args(arguments).check
    folder = ROOT / "notebooks"
    try:
        texts = generate(read_book(ROOT), repository.configured(ROOT))
    except DialectError as error:
        print(error)
        return 1
    wrong = differences(texts, folder)
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
