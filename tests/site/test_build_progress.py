"""What a build says while it runs, with and without a terminal."""

from __future__ import annotations

import io

import pytest

from progress import EVERY, Progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


def test_without_a_terminal_lines_at_starts_and_ends_and_now_and_then(clock):
    stream = io.StringIO()
    progress = Progress(stream, clock)
    progress.started("depth", 3, "its cells")
    progress.started("width", 4, "not executed yet")
    for clock.now in (10.0, 20.0, EVERY, EVERY + 1, EVERY + 2):
        progress.tick()
    progress.cell("depth")
    clock.now = 2 * EVERY
    progress.cell("depth")
    clock.now += 1.5
    progress.cell("depth")
    progress.ended("depth", wrong=False)
    progress.ended("width", wrong=True)
    clock.now += 2 * EVERY
    progress.tick()
    assert stream.getvalue().splitlines() == [
        "  started   depth        3 cells (its cells)",
        "  started   width        4 cells (not executed yet)",
        "  running   depth 0 of 3 cells, 30 s; width 0 of 4 cells, 30 s",
        "  running   depth 2 of 3 cells, 60 s; width 0 of 4 cells, 60 s",
        "  executed  depth        3 cells, 61.5 s",
        "  failed    width        0 of 4 cells, 61.5 s",
    ]


def test_on_a_terminal_one_line_is_rewritten_below_those_that_stay(clock, monkeypatch):
    monkeypatch.setenv("COLUMNS", "30")
    stream = Terminal()
    progress = Progress(stream, clock)
    progress.started("depth", 3, "its cells")
    clock.now = 2.0
    progress.cell("depth")
    progress.started("width", 4, "its cells")
    progress.ended("depth", wrong=False)
    progress.ended("width", wrong=False)
    lines = stream.getvalue().split("\n")
    shown = [line.split("\r\x1b[K")[1:] for line in lines]
    assert shown == [
        ["  started   depth        3 cells (its cells)"],
        ["depth 0 of 3 cells, 0 s", "depth 1 of 3 cells, 2 s", "  started   width        4 cells (its cells)"],
        ["depth 1 of 3 cells, 2 s; widt", "  executed  depth        3 cells, 2.0 s"],
        ["width 0 of 4 cells, 0 s", "  executed  width        4 cells, 0.0 s"],
        [""],
    ]
