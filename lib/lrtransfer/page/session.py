"""A reader's session: a folder that keeps what was trained, and a bar for what takes long.

``LRTRANSFER_RUNS`` names a folder, on a mounted drive if you like; what a chapter trains is then kept there, and a
session that was stopped goes on where it was. Without it nothing is kept. Runs are known by their settings, not by the
program that trained them: empty the folder when the package changes.

Bars appear after ten seconds, in a notebook or a terminal; ``LRTRANSFER_BARS=0`` hides them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from lrtransfer.numerics.arguments import choice
from lrtransfer.page.scale import VARIABLE, preset

RUNS, BARS = "LRTRANSFER_RUNS", "LRTRANSFER_BARS"
PATIENCE = 10.0  # seconds without a bar
T = TypeVar("T")


def runs_folder(name: str) -> Path | None:
    """The folder ``name`` within ``LRTRANSFER_RUNS``, made if it is not there; None where that is not set.

    Raises ``ValueError`` naming the variable where the folder cannot be made.
    """
    chosen = os.environ.get(RUNS)
    if not chosen:
        return None
    folder = Path(chosen).expanduser() / name
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"{RUNS} = {chosen!r} is not a folder that can be written to: {error}.") from None
    return folder


def sentence() -> str:
    """What a chapter says before it trains: the preset in force, how to choose another, and whether runs are kept."""
    chosen = os.environ.get(RUNS)
    kept = (
        f"runs are kept in `{chosen}`" if chosen else f"set `{RUNS}` to a folder to keep the runs of a stopped session"
    )
    return f"The preset is `{preset()}` (`{VARIABLE}`: smoke, book or full); {kept}."


@contextmanager
def bar(what: str) -> Iterator[Callable[[float], None]]:
    """A function to call with the share done so far, which shows a bar named ``what`` with the time left."""
    if not _shown():
        yield lambda share: None
        return
    from tqdm import tqdm

    form = "{desc} {percentage:3.0f}% |{bar}| {elapsed}, left {remaining}"
    with tqdm(
        total=1.0, desc=what, file=sys.stdout, delay=PATIENCE, leave=False, smoothing=0, bar_format=form
    ) as shown:

        def tell(share: float) -> None:
            shown.update(min(share, 1.0) - shown.n)

        yield tell


def watched(items: Sequence[T], what: str) -> Iterator[T]:
    """The ``items`` one by one, with a ``bar`` that counts them."""
    with bar(what) as tell:
        for done, item in enumerate(items, start=1):
            yield item
            tell(done / len(items))


def _shown() -> bool:
    asked = choice(BARS, os.environ.get(BARS) or "1", ("0", "1"))
    if asked == "0":
        return False
    try:
        import tqdm  # noqa: F401
    except ImportError:
        return False
    return "ipykernel" in sys.modules or sys.stdout.isatty()
