"""Lint and format the code cells of book/*.md as ruff does the package.

ruff reads notebooks and no MyST: it is handed the cells of a page as one. (jupytext --pipe would write the whole page
anew, and tells lines of its own copy.)

python tools/notebooks/cells.py format              format the cells of every page, in place
python tools/notebooks/cells.py format depth width  those of these pages
python tools/notebooks/cells.py check               name what is wrong, as book/depth.md:123:5: ..., and fail
python tools/notebooks/cells.py check depth         the same for one page

A page is one program: a name defined in one cell and used in another is known, an import that no cell uses is not.
The rules are those of pyproject.toml, and a cell has at most 40 lines, not counting its options. ``# noqa: RULE`` works
as in a module. What surrounds the code (options, tags, magics, fences) stays as it is. Exit status 1: something is
wrong; 2: a page could not be read.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import nbformat

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "build"))

import execute

ROOT = execute.ROOT
LONGEST = 40  # lines of a cell
RUFF = str(Path(sys.executable).with_name("ruff"))


class CellError(ValueError):
    """A page whose cells cannot be read or formatted."""


@dataclass(frozen=True)
class Cell:
    """The code of a cell, and the number in the file of its first line, from 1."""

    line: int
    source: str

    @property
    def lines(self) -> list[str]:
        """The code, line by line."""
        return self.source.split("\n")


def where(path: Path, line: int) -> str:
    """A place as messages name it."""
    return f"{path.parent.name}/{path.name}:{line}"


def read(path: Path) -> list[Cell]:
    """The code cells of a page that have code, as the site's own parser finds them."""
    notebook, text = execute.read_notebook(path), path.read_text("utf8").split("\n")
    starts = [*notebook.metadata["source_map"], len(text)]
    cells = []
    for start, end, cell in zip(starts, starts[1:], notebook.cells, strict=False):
        if cell.cell_type == "code" and cell.source.strip():
            # The parser says where the options begin; the code is the first run of lines after that equal to it.
            code = cell.source.split("\n")
            at = next((k for k in range(start, end) if text[k : k + len(code)] == code), None)
            if at is None:
                raise CellError(f"{where(path, start)}: the code of this cell is indented or not in this file")
            cells.append(Cell(at + 1, cell.source))
    return cells


def _ruff(path: Path, sources: list[str], *command: str) -> str:
    """What ruff writes about a notebook of ``sources`` that it takes for one beside ``path``."""
    cells = [nbformat.v4.new_code_cell(source, id=str(k)) for k, source in enumerate(sources)]
    book = nbformat.writes(nbformat.v4.new_notebook(cells=cells))
    call = [RUFF, *command, "--stdin-filename", str(path.with_suffix(".ipynb")), "-"]
    done = subprocess.run(call, input=book, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CellError(f"{path.parent.name}/{path.name}: {done.stderr.strip()}")
    return done.stdout


def formatted(path: Path, sources: list[str]) -> list[str]:
    """The same cells with imports sorted and code laid out."""
    for command in (("check", "--fix-only", "--select", "I"), ("format",)):
        notebook = nbformat.reads(_ruff(path, sources, *command), as_version=4)
        sources = [cell.source for cell in notebook.cells]
    return sources


def faults(path: Path) -> list[str]:
    """What is wrong with the cells of a page, by line."""
    cells = read(path)
    if not cells:
        return []
    sources = [cell.source for cell in cells]
    found: list[tuple[int, str]] = []
    for fault in json.loads(_ruff(path, sources, "check", "--exit-zero", "--output-format", "json")):
        line = cells[fault["cell"] - 1].line + fault["location"]["row"] - 1
        found.append((line, f"{fault['location']['column']}: {fault['code'] or 'syntax'} {fault['message']}"))
    if not any("syntax" in message for _, message in found):
        for cell, source in zip(cells, formatted(path, sources), strict=True):
            if cell.source != source:
                found.append((cell.line, " the cell is not formatted"))
    for cell in cells:
        if len(cell.lines) > LONGEST:
            found.append((cell.line, f" the cell has {len(cell.lines)} lines; at most {LONGEST} are allowed"))
    return [f"{where(path, line)}:{message}" for line, message in sorted(found)]


def rewrite(path: Path) -> int:
    """Format the cells of a page in its file; returns how many changed."""
    cells, text = read(path), path.read_text("utf8").split("\n")
    new = formatted(path, [cell.source for cell in cells]) if cells else []
    changed = [(cell, source) for cell, source in zip(cells, new, strict=True) if cell.source != source]
    for cell, source in reversed(changed):
        text[cell.line - 1 : cell.line - 1 + len(cell.lines)] = source.split("\n")
    if changed:
        path.write_text("\n".join(text), "utf8")
    return len(changed)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=("check", "format"))
    parser.add_argument("pages", nargs="*", help="such as depth; without any, all of book/")
    chosen = parser.parse_args(arguments)
    pages = {path.stem: path for path in sorted((ROOT / "book").glob("*.md"))}
    if unknown := [name for name in chosen.pages if name not in pages]:
        parser.error(f"there is no page {', '.join(unknown)}; the pages are {', '.join(pages)}")
    wrong = 0
    try:
        for name in chosen.pages or pages:
            if chosen.action == "format":
                if changed := rewrite(pages[name]):
                    print(f"book/{name}.md: {changed} cells formatted")
            else:
                for message in faults(pages[name]):
                    print(message)
                    wrong += 1
    except CellError as error:
        print(error)
        return 2
    if chosen.action == "check" and not wrong:
        print("The cells are clean.")
    return bool(wrong)


if __name__ == "__main__":
    raise SystemExit(main())
