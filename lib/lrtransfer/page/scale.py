"""How large the chapters compute: one word, chosen by one environment variable.

``LRTRANSFER_PRESET`` is ``smoke`` (seconds, for tests), ``book`` (what the site is built with, the default) or
``full`` (the recorded runs under results/, hours or a GPU).
"""

from __future__ import annotations

import os
from typing import TypeVar

from lrtransfer.numerics.arguments import choice

VARIABLE = "LRTRANSFER_PRESET"
PRESETS = ("smoke", "book", "full")

T = TypeVar("T")


def preset() -> str:
    """The preset in force: ``"smoke"``, ``"book"`` or ``"full"``.

    Raises ``ValueError`` when the environment variable holds any other word.
    """
    return choice(VARIABLE, os.environ.get(VARIABLE) or "book", PRESETS)


def choose(*, smoke: T, book: T, full: T) -> T:
    """The value that belongs to the preset in force."""
    return {"smoke": smoke, "book": book, "full": full}[preset()]
