"""Processor time of the Stages chapter, section by section, beside what it is meant to take on one thread.

Run ``PYTHONPATH=lib python tests/bench_stages.py [--quick]`` from the repository root. It executes book/stages.md in
one kernel, figures included, and prints seconds of processor time: everything but the transformer beside thirty, the
transformer of the book preset beside two minutes. With ``--quick`` the transformer trains in the smoke preset. It is
no test: other programs on the machine count for little in processor time, the machine itself for much.
"""

from __future__ import annotations

import argparse
import re
import sys
import tempfile
from pathlib import Path

import nbformat

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tools" / "build"))

import execute  # noqa: E402

PAGE_S, TRANSFORMER_S = 30.0, 120.0
TRANSFORMER = ("sec-stages-transformer", "sec-stages-open", "sec-stages-trainable")
CLOCK = "import time; print(time.process_time())"  # of the kernel, all its threads; a figure counts for its cell
PRESET = "import os; os.environ['LRTRANSFER_PRESET'] = {!r}; "


def timed_cells(quick: bool) -> tuple[nbformat.NotebookNode, list[str]]:
    """The page with a reading of the clock before its first cell and after each, and the section of each cell."""
    page = execute.read_notebook(ROOT / "book" / "stages.md")
    cells, sections = [nbformat.v4.new_code_cell(CLOCK)], []
    section = label = "head"
    for cell in page.cells:
        if cell.cell_type != "code":
            for name, heading in re.findall(r"^(?:\((sec-[\w-]+)\)=\n)?## +(.+)$", cell.source, re.MULTILINE):
                label, section = name, heading
            continue
        trained = label in TRANSFORMER
        sections.append(f"* {section}" if trained else section)
        before = PRESET.format("smoke" if quick and trained else "book")
        cells += [nbformat.v4.new_code_cell(before + CLOCK), cell, nbformat.v4.new_code_cell(CLOCK)]
    return nbformat.v4.new_notebook(cells=cells, metadata=page.metadata), sections


def main() -> None:
    """Print the seconds of each section, and the two sums."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="train the transformer in the smoke preset")
    quick = parser.parse_args().quick
    notebook, sections = timed_cells(quick)
    with tempfile.TemporaryDirectory() as folder:
        done, _, wrong = execute.run_notebook(notebook, folder, {"PYTHONPATH": str(ROOT / "lib")})
    if wrong:
        sys.exit(wrong)
    clock = [float(done.cells[i].outputs[0].text) for i in range(len(done.cells)) if i % 3 != 2]
    spent: dict[str, float] = {}
    for section, start, end in zip(sections, clock[1::2], clock[2::2], strict=True):
        spent[section] = spent.get(section, 0.0) + end - start
    for section, seconds in spent.items():
        print(f"{seconds:7.2f} s  {section}")
    trained = sum(seconds for section, seconds in spent.items() if section.startswith("* "))
    print(f"everything but the transformer {sum(spent.values()) - trained:.1f} s, meant to take {PAGE_S:g} s at most")
    preset = "smoke" if quick else "book"
    print(f"* the transformer, {preset} preset {trained:.1f} s, meant to take {TRANSFORMER_S:g} s at most (book)")


if __name__ == "__main__":
    main()
