"""How far a build is: on a terminal one line that is rewritten, elsewhere plain lines at starts, ends and between."""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO

EVERY = 30.0  # seconds between two lines on what is running, where nothing can be rewritten


@dataclass
class _Page:
    cells: int
    start: float
    done: int = 0


class Progress:
    """Pages as they are executed, on ``stream`` (standard output); any thread may report.

    ``clock``: seconds from anywhere.
    """

    def __init__(self, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = sys.stdout if stream is None else stream
        self._clock = clock
        self._terminal = self._stream.isatty()
        self._running: dict[str, _Page] = {}
        self._last = clock()
        self._lock = threading.RLock()

    def started(self, page: str, cells: int, why: str) -> None:
        """A page starts, with so many cells of code, for a reason."""
        with self._lock:
            self._running[page] = _Page(cells, self._clock())
            self.say(f"  started   {page:12} {cells} cells ({why})")

    def cell(self, page: str) -> None:
        """A cell of a page is done."""
        with self._lock:
            self._running[page].done += 1
            self.tick()

    def ended(self, page: str, wrong: bool, peak: float | None = None) -> None:
        """A page has been executed, or has failed; ``peak``: the most memory of its kernel, MiB, where it is known."""
        with self._lock:
            ended = self._running.pop(page)
            count = f"{ended.done} of {ended.cells} cells" if wrong else f"{ended.cells} cells"
            seconds = self._clock() - ended.start
            held = "" if peak is None else f", at most {peak:.0f} MiB"
            self.say(f"  {'failed  ' if wrong else 'executed'}  {page:12} {count}, {seconds:.1f} s{held}")

    def tick(self) -> None:
        """Time has passed: rewrite the line, or print one if the last is old."""
        with self._lock:
            if self._terminal:
                self._rewrite()
            elif self._running and self._clock() - self._last >= EVERY:
                self.say(f"  running   {self._line()}")

    def say(self, text: str) -> None:
        """Print a line that stays."""
        with self._lock:
            self._stream.write(f"\r\x1b[K{text}\n" if self._terminal else f"{text}\n")
            self._last = self._clock()
            if self._terminal:
                self._rewrite()
            self._stream.flush()

    def _rewrite(self) -> None:
        width = shutil.get_terminal_size().columns - 1
        self._stream.write(f"\r\x1b[K{self._line()[:width]}")
        self._stream.flush()

    def _line(self) -> str:
        now = self._clock()
        pages = self._running.items()
        return "; ".join(f"{name} {page.done} of {page.cells} cells, {now - page.start:.0f} s" for name, page in pages)
