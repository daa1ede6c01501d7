"""What `lrtransfer transfer` says of other batches and steps is what the page measures."""

import re
from pathlib import Path

import pytest

from lrtransfer.page import report
from lrtransfer.practice.command import PAGE, measured
from lrtransfer.residual.conditions import OCTAVES

BOOK = Path(__file__).resolve().parents[2] / "book"
NEEDED = (
    "import tempfile",
    "draw = torch.Generator",
    "def train(model, lr, make",
    "curves = practice.read",
    "def best_of(",
)


def cells() -> list[str]:
    """The cells of the page that hold its network, its training and what moves its rate."""
    text = (BOOK / "practice.md").read_text(encoding="utf-8")
    found = re.findall(r"```\{code-cell\} ipython3\n(?:---\n.*?\n---\n|:tags:[^\n]*\n)?(.*?)```", text, re.S)
    kept = [next(cell for cell in found if start in cell) for start in NEEDED]
    kept[3] = kept[3].splitlines()[0] + '\nstart = curves.get("base")'
    return kept


def test_the_commands_octaves_are_those_of_the_page(monkeypatch):
    monkeypatch.delenv("LRTRANSFER_PRESET", raising=False)
    for name in ("say", "table"):
        monkeypatch.setattr(report, name, lambda *_, **__: None)
    names: dict = {}
    for cell in cells():
        exec(cell, names)  # the book's own page, as a reader runs it
    found = {(word.lower(), name): move for (word, name), move in names["measured"].items()}
    told = {(by, name): octaves for by, each in PAGE.items() for name, octaves in each.items()}
    assert found.keys() == told.keys()
    for key, (value, error) in told.items():
        assert value == pytest.approx(found[key].value, abs=0.02), key
        assert error == pytest.approx(found[key].error, abs=0.02), key


@pytest.mark.parametrize("optimiser", ["sgd", "adam", "adamw"])
def test_what_moves_the_rate_is_told_with_errors(optimiser):
    lines = measured(optimiser)
    by = "sgd" if optimiser == "sgd" else "adam"
    assert len(lines) == 1 + any(who == by for who, _ in OCTAVES)
    assert re.search(r"four times the steps [+-]\d\.\d\d ± \d\.\d\d", lines[0])
