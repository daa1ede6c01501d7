"""The chapters' own notebooks: current, plain, with the site's numbers, and the cells that jupytext reads too."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jupytext
import nbformat
import pytest

import book_numbers
import execute
import notebooks

ROOT = Path(__file__).resolve().parents[2]
GENERATED = sorted((ROOT / "notebooks").glob("*.ipynb"))


def markdown(notebook):
    return [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]


@pytest.mark.parametrize("path", execute.chapters(), ids=lambda path: path.stem)
def test_jupytext_reads_the_cells_that_the_site_executes(path):
    def cells(notebook):
        return [(cell.cell_type, cell.source, dict(cell.metadata)) for cell in notebook.cells]

    read = jupytext.read(path)
    assert cells(read) == cells(execute.read_notebook(path))
    assert read.metadata["kernelspec"]["name"] == "python3"
    generated = nbformat.read(ROOT / "notebooks" / f"{path.stem}.ipynb", as_version=4)
    code = [[cell.source for cell in notebook.cells if cell.cell_type == "code"] for notebook in (generated, read)]
    assert code[0][1:] == code[1]  # all but the install cell


def test_notebooks_are_current(capsys):
    code = notebooks.main(["--check"])
    assert code == 0, capsys.readouterr().out


@pytest.mark.parametrize("file", GENERATED, ids=lambda file: file.stem)
def test_generated_notebook_is_plain(file):
    notebook = nbformat.read(file, as_version=nbformat.NO_CONVERT)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert code[0].source.startswith("# Installs the book's package")
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)
    for text in markdown(notebook):
        for raw in (":::", "```{", "~~~{", "{{", ")=\n", ":label:", ":class:", "<a name"):
            assert raw not in text
        assert not re.search(r"\{[\w:.+-]+\}`|^\([\w:.-]+\)=|\$\$ *\([\w:.-]+\)|\[\^|^%", text, re.M)
        assert text.count("<details>") == text.count("</details>") == text.count("<summary>")


def numbers_in(texts):
    """Every number that a notebook shows, by kind, in order."""
    text = "\n".join(texts)
    patterns = {
        "equation": r"\\tag\{([\d.]+)\}",
        "figure": r"^\*Figure ([\d.]+)\.\*",
        "statement": r"^(?:[> ]*\*\*|<summary>)((?:"
        + "|".join(s.title() for s in sorted(book_numbers.STATEMENTS))
        + r") [\d.]+)\b",
        "exercise": r"^#### Exercise ([\d.]+)",
    }
    return {kind: re.findall(pattern, text, re.M) for kind, pattern in patterns.items()}


def numbers_on(page):
    """Every number that a page of the site shows, by kind, in order."""
    captions = re.findall(r'class="caption-number">([^<]*?)\s*<', page)
    return {
        "equation": re.findall(r'class="eqno">\(([\d.]+)\)', page),
        "figure": [c.removeprefix("Fig. ") for c in captions if c.startswith("Fig.")],
        "statement": [c for c in captions if c.split()[0].lower() in book_numbers.STATEMENTS],
        "exercise": [c.removeprefix("Exercise ") for c in captions if c.startswith("Exercise")],
    }


def test_numbers_are_those_of_the_site(site):
    book = book_numbers.read_book(ROOT)
    html = {page.doc: (Path(site) / f"{page.doc}.html").read_text("utf8") for page in book.pages.values()}
    for page in book.pages.values():
        if page.executable:
            cells = json.loads((ROOT / "notebooks" / f"{page.name}.ipynb").read_text("utf8"))["cells"]
            shown = numbers_in("".join(c["source"]) for c in cells if c["cell_type"] == "markdown")
            assert shown == numbers_on(html[page.doc]), page.doc
    # and each label has the number that the site gives it
    for name, label in book.labels.items():
        if label.kind == "equation":
            found = re.search(rf'id="equation-{name}".*?class="eqno">\(([\d.]+)\)', html[label.page.doc], re.S)
        elif label.kind in {"figure", "statement", "exercise"}:
            found = re.search(rf'id="{name}".*?class="caption-number">([^<]*?)\s*<', html[label.page.doc], re.S)
        else:
            continue
        assert found and found[1].replace("Fig.", "Figure") == label.text, name


def test_chapters_are_those_that_the_site_executes():
    book = book_numbers.read_book(ROOT)
    assert [f"{page.name}.ipynb" for page in book.pages.values() if page.executable] == [
        f"{path.stem}.ipynb" for path in execute.chapters()
    ]
