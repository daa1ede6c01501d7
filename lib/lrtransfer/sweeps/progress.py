"""How far a sweep is and how long the rest will take, on standard output."""

from __future__ import annotations

import sys
import time
from typing import Any, Protocol


class Progress(Protocol):
    """What a sweep reports to: an object with these three methods."""

    def update(self, work: float, runs: int) -> None:
        """So much more work is done, in the unit of the total, and so many more runs are finished."""

    def note(self, text: str) -> None:
        """A sentence for people, such as what the sweep is waiting for."""

    def close(self) -> None:
        """Nothing more will come."""


class Silent:
    """No bar; with ``notes``, the sentences all the same: they say what a log file should hold."""

    def __init__(self, notes: bool) -> None:
        self._notes = notes

    def update(self, work: float, runs: int) -> None:
        """Nothing."""

    def note(self, text: str) -> None:
        """Print it, or not."""
        if self._notes:
            print(text, flush=True)

    def close(self) -> None:
        """Nothing."""


_SOON, _FEW = 10.0, 0.03  # seconds, and part of the work
_BAR = "{{percentage:3.0f}}% |{{bar}}| {{desc}} [{{elapsed}}{left}]"


def can_tell(done: float, work: float, seconds: float) -> bool:
    """Whether the remaining time can be told from what is done: a few per cent, or whatever there is after 10 s.

    The first updates hold the imports and the loading of the data, and would make it many times too long.
    """
    return done > 0 and (done >= _FEW * work or seconds >= _SOON)


class Bar:
    """A bar of tqdm with the runs done, the elapsed and the remaining time.

    ``work``: the total, in any unit proportional to time: remaining = elapsed * (work left) / (work done), shown
    when ``can_tell`` says so. ``runs``: how many there are to do.
    """

    def __init__(self, work: float, runs: int) -> None:
        from tqdm import tqdm

        self._runs, self._done = runs, 0
        self._start = time.monotonic()
        self._bar: Any = tqdm(
            total=work,
            file=sys.stdout,
            smoothing=0,
            dynamic_ncols=True,
            bar_format=_BAR.format(left=""),
        )
        self.update(0.0, 0)

    def update(self, work: float, runs: int) -> None:
        """Move the bar."""
        self._done += runs
        self._bar.set_description_str(f"{self._done}/{self._runs} runs", refresh=False)
        # Work is counted in floats, and a bar beyond its end would drop its format.
        work = min(work, self._bar.total - self._bar.n)
        if can_tell(self._bar.n + work, self._bar.total, time.monotonic() - self._start):
            self._bar.bar_format = _BAR.format(left=", left {remaining}")
        self._bar.update(work)

    def note(self, text: str) -> None:
        """A line above the bar."""
        self._bar.write(text, file=sys.stdout)

    def close(self) -> None:
        """Leave the bar as it stands."""
        self._bar.refresh()
        self._bar.close()


class Lines:
    """The same in plain lines, at most one in ten seconds: where tqdm is not installed."""

    def __init__(self, work: float, runs: int) -> None:
        self._work, self._runs = work, runs
        self._done, self._finished = 0.0, 0
        self._start = self._last = time.monotonic()

    def update(self, work: float, runs: int) -> None:
        """Print a line if the last one is old."""
        self._done += work
        self._finished += runs
        now = time.monotonic()
        if now - self._last > _SOON and can_tell(self._done, self._work, now - self._start):
            self._last = now
            left = (now - self._start) * max(self._work - self._done, 0.0) / self._done
            self.note(f"{self._finished}/{self._runs} runs, about {left / 60:.1f} min left")

    def note(self, text: str) -> None:
        """Print a line."""
        print(text, flush=True)

    def close(self) -> None:
        """Nothing."""


def reporter(asked: bool | None, work: float, runs: int) -> Progress:
    """Where to report: a bar if asked for, or (None) if standard output is a terminal; nothing at all if refused."""
    if not (sys.stdout.isatty() if asked is None else asked):
        return Silent(notes=asked is None)
    try:
        return Bar(work, runs)
    except ImportError:
        return Lines(work, runs)
