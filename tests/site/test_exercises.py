"""The exercises on the pages: enough of them, numbers that stay, and solutions that pass their own check."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import book_numbers
import execute
from lrtransfer.exercises import exercises

ROOT = Path(__file__).resolve().parents[2]
# What readers and notebooks refer to by number. New exercises go to the end of a list; none is taken away.
NUMBERS = {
    "depth": ["pencil", "conservation", "command", "flip", "budget", "units", "wait", "two-rates", "project"],
    "width": ["pencil", "eigen", "grid", "random", "depth", "enough", "one-layer", "project"],
    "residual": ["cost", "common", "noise", "knobs", "own", "adam", "one-line", "shares", "seeds"],
    "layers": ["pencil", "opening", "cubes", "determinant", "edge", "turn", "one-step-best", "lets-go", "project"],
    "stages": "orders boosting scalar step anneal weights rule seeds how-many project".split(),
    "synthesis": "edge share rules pair copy momentum power project".split(),
    "practice": "pencil half tied depth batch paired store project".split(),
}
CALL = re.compile(r'^ *check_answer\("([\w.]+)"(,?)', re.M)
LABEL = re.compile(r"^:::\{exercise\}.*\n:label: (\S+)$|^`{4}\{solution-start\} (\S+)$", re.M)


@pytest.mark.parametrize("chapter", NUMBERS)
def test_numbers_stay(chapter):
    labels = book_numbers.read_book(ROOT).labels
    mine = {
        name: label.text for name, label in labels.items() if label.kind == "exercise" and label.page.name == chapter
    }
    number = next(iter(mine.values())).split()[1].split(".")[0]
    assert mine == {f"ex-{chapter}-{word}": f"Exercise {number}.{k}" for k, word in enumerate(NUMBERS[chapter], 1)}
    assert len(mine) >= 8


@pytest.mark.parametrize("chapter", NUMBERS)
def test_every_answer_that_can_be_checked_has_its_line_and_its_solution_uses_it(chapter):
    text = (ROOT / "book" / f"{chapter}.md").read_text("utf8")
    events = sorted(
        [(m.start(), "exercise" if m[1] else "solution", m[1] or m[2]) for m in LABEL.finditer(text)]
        + [(m.start(), "check" if m[2] else "ask", m[1]) for m in CALL.finditer(text)]
    )
    where, found = ("", ""), {}
    for _, kind, name in events:
        if kind in {"exercise", "solution"}:
            where = kind, name.removeprefix(f"ex-{chapter}-")
        else:
            assert (where[0], kind) in {("exercise", "ask"), ("solution", "check")}, (where, name)
            assert name == f"{chapter}.{NUMBERS[chapter].index(where[1]) + 1}"
            found.setdefault(name, []).append(kind)
    assert found == {name: ["ask", "check"] for name in exercises(chapter)}


@pytest.mark.parametrize("chapter", NUMBERS)
def test_solutions_pass_their_own_check(site, chapter):
    said = {}
    for cell in execute.executed_notebook(chapter).cells:
        if cell.cell_type == "code" and (call := CALL.search(cell.source)) and call[2]:
            said[call[1]] = [o.data["text/markdown"] for o in cell.outputs if "text/markdown" in o.get("data", {})][-1]
    assert list(said) == list(exercises(chapter))
    assert all(text.startswith(f"`{name}`: right") for name, text in said.items()), said
