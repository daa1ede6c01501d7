"""The most memory that a process has held, as Linux counts it."""

from __future__ import annotations

import re
from pathlib import Path


def peak_mib(pid: int | None) -> float | None:
    """The most resident memory of a process so far, MiB; None where the system does not say.

    Its own alone: of processes that it started nothing is counted.
    """
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
    except OSError:  # another system, or the process is gone
        return None
    found = re.search(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
    return int(found[1]) / 1024 if found else None


def larger(one: float | None, other: float | None) -> float | None:
    """The larger of two peaks, None where neither is known."""
    return max((peak for peak in (one, other) if peak is not None), default=None)
