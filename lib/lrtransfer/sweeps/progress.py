"""How far something is and how long the rest will take: the one bar, on standard output.

``Bar`` counts work; ``bar`` and ``watched`` show one for what takes long, after ten seconds. A bar is for people: it
appears in a terminal and in a notebook, and not where output goes to a file. ``LRTRANSFER_BARS=0`` hides all of them.
Where tqdm is not installed plain lines take its place.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from lrtransfer.numerics.arguments import choice

BARS = "LRTRANSFER_BARS"
PATIENCE = 10.0  # seconds: no bar for what is shorter, no two lines closer
_FEW = 0.03  # part of the work
_BAR = "{{percentage:3.0f}}% |{{bar}}| {{desc}} [{{elapsed}}{left}]"
T = TypeVar("T")


def wanted() -> bool:
    """Whether bars are for somebody.

    Returns
    -------
    bool
        True in a notebook or a terminal, unless ``LRTRANSFER_BARS`` is 0.

    Raises
    ------
    ValueError
        where that is neither 0 nor 1.
    """
    if choice(BARS, os.environ.get(BARS) or "1", ("0", "1")) == "0":
        return False
    return "ipykernel" in sys.modules or sys.stdout.isatty()


def can_tell(done: float, work: float, seconds: float) -> bool:
    """Whether the remaining time can be told from what is done.

    The first updates hold the imports and the loading of the data, and would make it many times too long.

    Parameters
    ----------
    done, work
        what is done of the work, in one unit
    seconds
        since the start

    Returns
    -------
    bool
        after a few per cent, or whatever there is after 10 s.
    """
    return done > 0 and (done >= _FEW * work or seconds >= PATIENCE)


class Bar:
    """How much of a piece of work is done, with the elapsed and the remaining time; a context manager.

    Parameters
    ----------
    what
        Words for it, such as "Reading CIFAR-10".
    total
        The work, in any unit proportional to time: remaining = elapsed * (work left) / (work done). None where it is
        not known (then ``unit`` counts up).
    runs
        How many runs the work has; the bar then says how many are done instead of ``what``.
    unit
        A word for the unit of ``total`` ("B" for bytes): the bar then counts it, and says how fast.
    start
        Work that was done before.
    delay
        Seconds without a bar.
    show
        False for no bar; ``note`` prints all the same, for a log file should hold what it says.
    """

    def __init__(
        self,
        what: str,
        total: float | None,
        *,
        runs: int = 0,
        unit: str = "",
        start: float = 0.0,
        delay: float = 0.0,
        show: bool = True,
    ) -> None:
        self._what, self._total, self._runs, self._unit = what, total, runs, unit
        self._done, self._finished = float(start), 0
        self._show, self._delay = show, delay
        self._start = self._last = time.monotonic()
        self._bar: Any = _drawn(what, total, unit, start, delay, runs) if show else None

    def update(self, work: float, runs: int = 0) -> None:
        """Tell of work that was done since the last call.

        Parameters
        ----------
        work
            how much more, in the unit of ``total``
        runs
            how many more are finished
        """
        if self._total is not None:
            work = min(work, self._total - self._done)  # counted in floats; a bar beyond its end drops its format
        self._done += work
        self._finished += runs
        if not self._show:
            return
        if self._bar is None:
            self._line()
            return
        if self._runs:
            self._bar.set_description_str(f"{self._finished}/{self._runs} runs", refresh=False)
        if not self._unit and can_tell(self._done, float(self._total or 0.0), time.monotonic() - self._start):
            self._bar.bar_format = _BAR.format(left=", left {remaining}")
        self._bar.update(work)

    def reach(self, share: float) -> None:
        """Tell how far the whole is.

        Parameters
        ----------
        share
            that is done, from 0 to 1
        """
        self.update(share * float(self._total or 0.0) - self._done)

    def note(self, text: str) -> None:
        """A sentence for people above the bar, such as what a sweep is waiting for.

        Parameters
        ----------
        text
            the sentence
        """
        if self._bar is not None:
            self._bar.write(text, file=sys.stdout)
        else:
            print(text, flush=True)

    def close(self) -> None:
        """Leave the bar as it stands."""
        if self._bar is not None:
            if not self._delay:  # which would show a bar that nobody has had to wait for
                self._bar.refresh()
            self._bar.close()

    def __str__(self) -> str:
        """The bar as it stands; empty where none is drawn."""
        return "" if self._bar is None else str(self._bar)

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _line(self) -> None:
        """Where there is no tqdm: a plain line, if the last one is old."""
        now = time.monotonic()
        if now - self._last <= max(PATIENCE, self._delay) or self._total is None:
            return
        if can_tell(self._done, self._total, now - self._start):
            self._last = now
            left = (now - self._start) * max(self._total - self._done, 0.0) / self._done
            what = f"{self._finished}/{self._runs} runs" if self._runs else self._what
            self.note(f"{what}, about {left / 60:.1f} min left")


def _drawn(what: str, total: float | None, unit: str, start: float, delay: float, runs: int) -> Any:
    """A bar of tqdm, or None where that is not installed."""
    try:
        from tqdm import tqdm
    except ImportError:
        if what and not delay:
            print(f"{what} ...", flush=True)
        return None
    kwargs: dict[str, Any] = {"total": total, "initial": start, "delay": delay, "file": sys.stdout}
    if unit:
        return tqdm(desc=what, unit=unit, unit_scale=True, mininterval=0.5, **kwargs)
    first = f"0/{runs} runs" if runs else what
    kwargs |= {"smoothing": 0, "dynamic_ncols": True, "bar_format": _BAR.format(left=""), "leave": not delay}
    return tqdm(desc=first, **kwargs)


@contextmanager
def bar(what: str) -> Iterator[Callable[[float], None]]:
    """Show a bar for the block, if that takes long.

    Parameters
    ----------
    what
        its name

    Yields
    ------
    callable
        to be called with the share done so far, from 0 to 1.
    """
    with Bar(what, 1.0, delay=PATIENCE, show=wanted()) as shown:
        yield shown.reach


def watched(items: Sequence[T], what: str) -> Iterator[T]:
    """Items one by one, with a ``bar`` that counts them.

    Parameters
    ----------
    items
        what to go through
    what
        the bar's name

    Yields
    ------
    object
        each of the items, in order.
    """
    with bar(what) as tell:
        for done, item in enumerate(items, start=1):
            yield item
            tell(done / len(items))


def reporter(asked: bool | None, work: float, runs: int) -> Bar:
    """The bar of a sweep.

    Parameters
    ----------
    asked
        True to show it, None where ``wanted``; False is silence, notes included
    work
        in any unit proportional to time
    runs
        how many

    Returns
    -------
    Bar
    """
    if asked is False:
        return Silent()
    return Bar("", work, runs=runs, show=wanted() if asked is None else True)


class Silent(Bar):
    """No bar and no notes."""

    def __init__(self) -> None:
        super().__init__("", None, show=False)

    def note(self, text: str) -> None:
        """Nothing."""
