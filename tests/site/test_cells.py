"""The code cells of the pages: faults named by their line in the page, layout repaired in place."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

import cells

SAMPLE = Path(__file__).resolve().parents[1] / "data" / "sample" / "book"


@pytest.fixture
def page(tmp_path):
    """Write a page of the sample book with other cells, each under a heading; returns its path."""
    folder = tmp_path / "book"
    folder.mkdir()
    shutil.copy(Path(cells.ROOT, "pyproject.toml"), tmp_path)
    front = (SAMPLE / "second.md").read_text("utf8").split("---\n")[1]

    def write(*sources):
        path = folder / "page.md"
        fenced = (f"# A heading\n\n```{{code-cell}} ipython3\n{source}\n```\n" for source in sources)
        path.write_text(f"---\n{front}---\n" + "\n".join(fenced), "utf8")
        return path

    return write


def found(path):
    """Each fault as the text of the line that it names, and the first word of what it says."""
    lines = path.read_text("utf8").split("\n")
    split = [re.match(r"book/page\.md:(\d+):(?:\d+:)? (\S+)", fault) for fault in cells.faults(path)]
    return [(lines[int(match[1]) - 1], match[2]) for match in split]


def test_lines_are_those_of_the_file():
    for path in (SAMPLE / "first.md", SAMPLE / "second.md", Path(cells.ROOT, "book", "residual.md")):
        lines = path.read_text("utf8").split("\n")
        for cell in cells.read(path):
            assert lines[cell.line - 1 : cell.line - 1 + len(cell.lines)] == cell.lines
            assert any(line.startswith("```{code-cell}") for line in lines[: cell.line])
    assert [cell.source for cell in cells.read(SAMPLE / "first.md")][1:] == ["answer = 42", "answer"]


@pytest.mark.parametrize("name", ["first", "second", "plain"])
def test_the_sample_is_clean(name):
    assert cells.faults(SAMPLE / f"{name}.md") == []


def test_a_page_is_one_program(page):
    options = "---\ntags: [hide-input]\n---\n"
    path = page(f"{options}import os\nimport sys", "def f():\n    return sys.argv, later", "later = f()\nlater")
    assert found(path) == [("import os", "F401")]
    path = page("print(absent)", ":tags: [hide-input]\n\nx = 1\nx == 2\nx")
    assert found(path) == [("print(absent)", "F821"), ("x == 2", "B015")]


def test_long_lines_and_long_cells(page):
    wide = "x = " + " + ".join(["1"] * 40)
    assert len(wide) > 120
    assert found(page(wide)) == [(wide, "the"), (wide, "E501")]  # it is not formatted either
    tall = "\n".join(f"x{k} = {k}" for k in range(cells.LONGEST))
    assert cells.faults(page(":tags: [hide-input]\n" + tall)) == []
    [fault] = cells.faults(page("---\ntags: [hide-input]\n---\n" + tall + "\nx0"))
    assert fault == "book/page.md:17: the cell has 41 lines; at most 40 are allowed"


def test_a_broken_cell_is_named_once(page):
    assert {line for line, _ in found(page("x = 1", "y = (\nz = 2"))} == {"z = 2"}


def test_format_changes_layout_only(page):
    messy = "---\ntags: [hide-input]\n---\nx = {  'a':1}\nx;"
    magic = "%matplotlib inline\n!ls\ny = x['a']"
    shell = "%%bash\necho   'a'"
    imports = "import sys\nimport os\n(os, sys, y)"
    path = page(messy, magic, shell, imports, ":tags: [a]")
    before = path.read_text("utf8")
    assert cells.rewrite(path) == 3
    expected = before.replace("{  'a':1}", '{"a": 1}').replace("x['a']", 'x["a"]')
    expected = expected.replace("import sys\nimport os\n(os", "import os\nimport sys\n\n(os")
    assert path.read_text("utf8") == expected
    assert cells.faults(path) == [] and cells.rewrite(path) == 0


def test_what_cannot_be_read(page):
    path = page("x = (")
    with pytest.raises(cells.CellError, match=r"book/page.md: .*Failed"):
        cells.rewrite(path)
    path = page("x = 1")
    path.write_text(path.read_text("utf8").replace("```{", "  ```{").replace("x =", "  x ="), "utf8")
    with pytest.raises(cells.CellError, match=r"book/page\.md:\d+: the code of this cell is indented"):
        cells.read(path)


def test_command_line(capsys):
    with pytest.raises(SystemExit):
        cells.main(["check", "nothing"])
    assert "there is no page nothing; the pages are claims, course, depth," in capsys.readouterr().err
    assert cells.main(["check", "notation"]) == 0
    assert capsys.readouterr().out == "The cells are clean.\n"
