"""How large the chapters compute, and where a reader's runs are kept: two environment variables.

``LRTRANSFER_PRESET`` is ``smoke`` (seconds, for tests), ``book`` (what the site is built with, the default) or
``full`` (the recorded runs under results/, hours or a GPU).

``LRTRANSFER_RUNS`` names a folder, on a mounted drive if you like; what a chapter trains is then kept there, and a
session that was stopped goes on where it was. Without it nothing is kept. Runs are known by their settings, not by the
program that trained them: empty the folder when the package changes.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeVar

from lrtransfer.numerics.arguments import choice

VARIABLE, RUNS = "LRTRANSFER_PRESET", "LRTRANSFER_RUNS"
PRESETS = ("smoke", "book", "full")

T = TypeVar("T")


def preset() -> str:
    """The preset in force.

    Returns
    -------
    str
        "smoke", "book" or "full".

    Raises
    ------
    ValueError
        when the environment variable holds any other word.
    """
    return choice(VARIABLE, os.environ.get(VARIABLE) or "book", PRESETS)


def choose(*, smoke: T, book: T, full: T) -> T:
    """The value that belongs to the preset in force.

    Parameters
    ----------
    smoke, book, full
        one value a preset

    Returns
    -------
    object
        one of the three.

    Raises
    ------
    ValueError
        as ``preset`` does.
    """
    return {"smoke": smoke, "book": book, "full": full}[preset()]


def runs_folder(name: str) -> Path | None:
    """A folder within ``LRTRANSFER_RUNS``, made if it is not there.

    Parameters
    ----------
    name
        of the folder

    Returns
    -------
    Path or None
        None where the variable is not set.

    Raises
    ------
    ValueError
        naming the variable where the folder cannot be made.
    """
    chosen = os.environ.get(RUNS)
    if not chosen:
        return None
    try:
        folder = Path(chosen).expanduser() / name
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, RuntimeError) as error:  # RuntimeError: ~ of a user without a home directory
        raise ValueError(f"{RUNS} = {chosen!r} is not a folder that can be written to: {error}.") from None
    return folder


def sentence() -> str:
    """What a chapter says before it trains: the preset in force, how to choose another, and whether runs are kept.

    Returns
    -------
    str
        Markdown.
    """
    chosen = os.environ.get(RUNS)
    kept = (
        f"runs are kept in `{chosen}`" if chosen else f"set `{RUNS}` to a folder to keep the runs of a stopped session"
    )
    return f"The preset is `{preset()}` (`{VARIABLE}`: smoke, book or full); {kept}."
