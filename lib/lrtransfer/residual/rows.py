"""What a store keeps of a run: its values checked, and turned into a row of the table."""

from __future__ import annotations

import json
import platform
import zlib
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cache
from importlib import metadata
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lrtransfer import __version__
from lrtransfer._check import choice, finite, number, one, refuse
from lrtransfer.residual.keys import checked_rate, checked_seed, full_settings, kind_of, run_key
from lrtransfer.residual.training import PRECISIONS


@dataclass(frozen=True)
class StoredRun:
    """A finished run: its row in the store.

    ``key``: ``run_key`` of the rest. ``kind`` and ``settings``: the class of the network and all its fields.
    ``curve`` (evaluations,): losses, inf from the evaluation at which the run had diverged. ``seconds``: its
    duration; runs that trained together share theirs equally. ``versions``: of Python and packages.
    ``finished``: when, in UTC.
    """

    key: str
    kind: str
    settings: dict[str, Any]
    lr: float
    seed: int
    precision: str
    curve: NDArray[np.float64]
    seconds: float
    device: str
    versions: dict[str, str]
    finished: str


@cache
def versions() -> dict[str, str]:
    """Versions of Python and of the packages that decide a result."""
    found = {"python": platform.python_version(), "lrtransfer": __version__}
    for package in ("numpy", "torch"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def checksum(key: str, curve: bytes) -> int:
    """Tells a curve, or a curve under another key, from what was stored."""
    return zlib.crc32(curve, zlib.crc32(key.encode()))


def run_row(
    settings: object,
    lr: float,
    seed: int,
    curve: ArrayLike,
    seconds: float,
    device: str,
    precision: str,
    packages: dict[str, str],
) -> tuple[Any, ...]:
    """A row for ``Store.put_many``; arguments as in ``Store.put``, ``packages`` the versions that made the run.

    Raises ``ValueError`` naming a bad argument.
    """
    losses = number("curve", curve)
    if losses.ndim != 1 or losses.size == 0:
        raise ValueError(f"curve of shape {losses.shape} is not allowed: curve must have shape (evaluations,).")
    if not isinstance(device, str) or not device:
        raise refuse("device", device, "a word, such as 'cpu'")
    key = run_key(settings, lr, seed, precision=choice("precision", precision, PRECISIONS))
    blob = losses.astype("<f8").tobytes()
    return (
        key,
        kind_of(settings),
        full_settings(settings),
        checked_rate(lr),
        checked_seed(seed),
        precision,
        blob,
        checksum(key, blob),
        float(losses[-1]),
        one("seconds", finite("seconds", seconds, minimum=0)),
        device,
        json.dumps(packages, sort_keys=True),
        datetime.now(timezone.utc).isoformat(timespec="seconds"),
    )
