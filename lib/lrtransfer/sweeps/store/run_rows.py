"""What a store keeps of a run: its values checked, and turned into a row of the table."""

from __future__ import annotations

import json
import platform
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import cache, lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer import __version__
from lrtransfer.numerics.arguments import choice, finite, number, one, refuse
from lrtransfer.numerics.arrays import Array
from lrtransfer.sweeps import task_registry
from lrtransfer.sweeps.devices import PRECISIONS
from lrtransfer.sweeps.keys import checked_rate, checked_seed, full_settings, kind_of, run_key

COLUMNS = "key, kind, settings, lr, seed, precision, curve, checksum, final, seconds, device, versions, finished"
_CURVE, _CHECKSUM = 6, 7  # places among the columns


@contextmanager
def named_file(path: Path) -> Iterator[None]:
    """Make errors of reading or writing in the block name the file; a full disk's, for one, does not.

    Parameters
    ----------
    path
        the file
    """
    try:
        yield
    except OSError as error:
        if error.filename is None and error.errno is not None:
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


@dataclass(frozen=True)
class StoredRun:
    """A finished run: its row in the store.

    Attributes
    ----------
    key
        ``run_key`` of the rest
    kind, settings
        the class of the network and all its fields
    lr, seed, precision
        of the run
    curve
        losses (evaluations,), inf from the evaluation at which the run had diverged
    seconds
        its duration; runs that trained together share theirs equally
    device
        on which it was trained
    versions
        of Python and packages
    finished
        when, in UTC
    """

    key: str
    kind: str
    settings: dict[str, Any]
    lr: float
    seed: int
    precision: str
    curve: Array
    seconds: float
    device: str
    versions: dict[str, str]
    finished: str


@cache
def versions() -> dict[str, str]:
    """Versions of Python and of the packages that decide a result.

    Returns
    -------
    dict of str to str
    """
    found = {"python": platform.python_version(), "lrtransfer": __version__}
    for package in ("numpy", "torch"):
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return found


def checksum(row: Sequence[Any]) -> int:
    """CRC-32 over every column but itself; the repr of the others tells their types apart too.

    Parameters
    ----------
    row
        values of ``COLUMNS``

    Returns
    -------
    int
        what the row's own ``checksum`` must be.
    """
    others = repr((*row[:_CURVE], *row[_CHECKSUM + 1 :]))
    return zlib.crc32(row[_CURVE], zlib.crc32(others.encode()))


def read_row(row: Sequence[Any]) -> StoredRun:
    """The run of a row.

    Parameters
    ----------
    row
        values of ``COLUMNS``

    Returns
    -------
    StoredRun

    Raises
    ------
    ValueError
        saying what is wrong where it is not what was stored.
    """
    if not isinstance(row[_CURVE], bytes) or checksum(row) != row[_CHECKSUM] or len(row[_CURVE]) % 8:
        raise ValueError(f"the row of run {row[0]} is not what was stored")
    key, kind, settings, lr, seed, precision, curve, _, _, seconds, device, packages, finished = row
    try:
        fields, made_with = json.loads(settings), json.loads(packages)
    except ValueError as error:
        raise ValueError(f"the row of run {key} holds no JSON where it should: {error}") from error
    losses = np.frombuffer(curve, "<f8").astype(np.float64)
    return StoredRun(key, kind, fields, lr, seed, precision, losses, seconds, device, made_with, finished)


def has_its_key(run: StoredRun) -> bool:
    """Whether a run's key is that of its settings.

    Parameters
    ----------
    run
        from ``read_row``

    Returns
    -------
    bool
        True too for settings of a class that is not known here.
    """
    settings = _settings(run.kind, json.dumps(run.settings))
    return settings is None or run.key == run_key(settings, run.lr, run.seed, precision=run.precision)


@lru_cache(maxsize=256)
def _settings(kind: str, fields: str) -> Any:
    if not task_registry.is_known(kind):
        return None
    try:
        return task_registry.from_dict({"kind": kind, **json.loads(fields)})
    except ValueError:  # of another lrtransfer, which had other fields; the checksum answers for the row
        return None


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
    """A row for ``Store.put_many``.

    Parameters
    ----------
    settings, lr, seed, curve, seconds, device, precision
        as in ``Store.put``
    packages
        the versions that made the run

    Returns
    -------
    tuple
        values of ``COLUMNS``.

    Raises
    ------
    ValueError
        naming a bad argument.
    """
    losses = number("curve", curve)
    if losses.ndim != 1 or losses.size == 0:
        raise ValueError(f"curve of shape {losses.shape} is not allowed: curve must have shape (evaluations,).")
    if not isinstance(device, str) or not device:
        raise refuse("device", device, "a word, such as 'cpu'")
    kind = kind_of(settings)
    task = task_registry.task_of(settings) if task_registry.is_known(kind) else None
    if task is not None and losses.size != (expected := task.evaluations(settings)):
        raise ValueError(
            f"curve of shape {losses.shape} is not allowed: curve must have one loss for each of the {expected} "
            "evaluations of these settings."
        )
    key = run_key(settings, lr, seed, precision=choice("precision", precision, PRECISIONS))
    blob = losses.astype("<f8").tobytes()
    row = [
        key,
        kind,
        full_settings(settings),
        checked_rate(lr),
        checked_seed(seed),
        precision,
        blob,
        0,
        float(losses[-1]) + 0.0,  # SQLite has no -0.0
        one("seconds", finite("seconds", seconds, minimum=0)) + 0.0,
        device,
        json.dumps(packages, sort_keys=True),
        datetime.now(timezone.utc).isoformat(timespec="seconds"),
    ]
    row[_CHECKSUM] = checksum(row)
    return tuple(row)
