"""One folder in another's place, so that a reader at any moment finds the old one or the new one, whole."""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
import sys
from pathlib import Path

_EXCHANGE, _HERE = 2, -100  # RENAME_EXCHANGE and AT_FDCWD of Linux
# What a kernel or a file system says that cannot exchange.
_UNABLE = {errno.EINVAL, errno.ENOSYS, errno.EXDEV, errno.EOPNOTSUPP, errno.EPERM}


def put_in_place(new: Path, place: Path) -> None:
    """Move the folder ``new`` to ``place`` and remove what was there.

    Linux exchanges the two in one step. Elsewhere the old one is moved aside first, and for a moment there is none.
    Both must be on one file system.
    """
    if not place.exists():
        new.rename(place)
        return
    if not exchange(new, place):
        old = place.with_name(f"{place.name}.old")
        shutil.rmtree(old, ignore_errors=True)
        place.rename(old)
        new.rename(place)
        new = old
    shutil.rmtree(new, ignore_errors=True)


def exchange(one: Path, other: Path) -> bool:
    """Exchange two folders in one step; whether this system can."""
    if not sys.platform.startswith("linux"):
        return False
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    if rename(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0:
        return True
    error = ctypes.get_errno()
    if error in _UNABLE:
        return False
    raise OSError(error, os.strerror(error), str(one))
