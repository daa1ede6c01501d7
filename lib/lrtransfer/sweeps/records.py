"""Recorded results: runs too long for the build, written once under results/ and read by the chapters.

A record is one JSON file, results/NAME/record.json. ``write`` makes it from settings and numbers and adds what
the run depended on: versions, machine, date and duration. ``read`` gives it back, or refuses it with a sentence
if it is half-written or was changed by hand.

``save`` and ``load`` are the file alone, for records with fields of their own.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import math
import os
import platform
import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, is_dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np

from lrtransfer.numerics.arguments import finite, one, refuse

FIELDS = ("name", "made_by", "settings", "numbers", "versions", "machine", "date", "seconds", "digest")
INFINITY = "inf"  # how a diverged run is written: JSON has no infinity


class DamagedRecord(ValueError):
    """A record that cannot be trusted: half-written, changed by hand, or not a record."""


def write(
    name: str,
    settings: Any,
    numbers: Mapping[str, Any],
    *,
    seconds: float,
    folder: str | os.PathLike[str] | None = None,
    made_by: str = "",
    packages: Sequence[str] = ("numpy",),
) -> Path:
    """Write FOLDER/NAME/record.json in one move; an old record stays whole until then.

    Parameters
    ----------
    name
        lower-case words joined by hyphens
    settings
        a dataclass or a mapping of numbers, words, arrays, lists and mappings; inf is kept, NaN is refused
    numbers
        a mapping of the same
    seconds
        how long the run took
    folder
        results/ of the repository by default
    made_by
        the call that repeats the run
    packages
        those whose versions matter, next to Python's

    Returns
    -------
    Path
        of the record.

    Raises
    ------
    ValueError
        for bad arguments.
    FileNotFoundError
        where there is no results/ to write to.
    """
    record = {
        "name": _checked(name),
        "made_by": made_by,
        "settings": plain("settings", settings),
        "numbers": plain("numbers", numbers),
        "versions": versions(*packages),
        "machine": machine(),
        "date": datetime.now(timezone.utc).date().isoformat(),
        "seconds": round(one("seconds", finite("seconds", seconds, minimum=0.0)), 1),
    }
    return save(_path(name, folder, must_exist=True), record | {"digest": digest(record)})


def read(name: str, *, folder: str | os.PathLike[str] | None = None) -> dict[str, Any] | None:
    """The record NAME below a folder; an installed package carries no results, so there every record is None.

    Parameters
    ----------
    name
        lower-case words joined by hyphens
    folder
        results/ of the repository by default

    Returns
    -------
    dict or None
        all ``FIELDS``; lists come back as lists, inf as ``math.inf``. None if there is no such record.

    Raises
    ------
    DamagedRecord
        a ``ValueError``, naming the file and what is wrong with it.
    """
    path = _path(_checked(name), folder)
    record = load(path, FIELDS)
    if record is None:
        return None
    content = {field: value for field, value in record.items() if field != "digest"}
    if record["digest"] != digest(content):
        raise DamagedRecord(f"{path} is not as it was written: its digest does not match. Make the record again.")
    if record["name"] != name:
        raise DamagedRecord(f"{path} holds the record {record['name']!r}, not {name!r}. Make the record again.")
    return record | {"numbers": with_infinity(record["numbers"])}


def save(path: Path, record: Mapping[str, Any]) -> Path:
    """Write a record as JSON so that a reader sees the old file or the new one, never a part.

    Parameters
    ----------
    path
        the file; missing folders are made
    record
        plain values

    Returns
    -------
    Path
        ``path``.
    """
    text = json.dumps(record, indent=1, allow_nan=False) + "\n"
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".part")
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, 0o644)  # mkstemp's files are private, results are to be read
        os.replace(temporary, path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return path


def load(path: Path, fields: Sequence[str]) -> dict[str, Any] | None:
    """The JSON object in a file.

    Parameters
    ----------
    path
        the file
    fields
        what the object must have at least

    Returns
    -------
    dict or None
        None if there is no such file.

    Raises
    ------
    DamagedRecord
        where the file does not parse, is not an object or lacks a field.
    """
    try:
        # Opened without a look whether it is there: the build notes what a chapter opens, found or not.
        record = json.loads(path.read_text(encoding="utf-8"), parse_constant=_no_constant)
    except FileNotFoundError:
        return None
    except ValueError as error:  # JSONDecodeError and UnicodeDecodeError are ValueErrors
        raise DamagedRecord(f"{path} is damaged or half-written: {error}. Make the record again.") from None
    missing = [field for field in fields if field not in record] if isinstance(record, dict) else list(fields)
    if missing:
        raise DamagedRecord(f"{path} is not a record: it lacks {', '.join(missing)}. Make the record again.")
    return record


def versions(*packages: str) -> dict[str, str]:
    """The versions of Python and of some packages.

    Parameters
    ----------
    *packages
        their names

    Returns
    -------
    dict of str to str
    """
    return {"python": platform.python_version()} | {
        name: str(importlib.import_module(name).__version__) for name in packages
    }


def machine() -> str:
    """The machine in a line, without its name.

    Returns
    -------
    str
        processor family, cores, system and the number of threads.
    """
    return (
        f"{platform.machine()} CPU, {os.cpu_count()} cores, {platform.system()}; OMP_NUM_THREADS="
        f"{os.environ.get('OMP_NUM_THREADS', 'not set')}"
    )


def results() -> Path:
    """Where records lie.

    Returns
    -------
    Path
        results/ of the repository, whether it exists or not.
    """
    return Path(__file__).resolve().parents[3] / "results"


def _checked(name: object) -> str:
    if not isinstance(name, str) or not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
        raise refuse("name", name, "lower-case words joined by hyphens, such as 'stages-transformer'")
    return name


def _path(name: str, folder: str | os.PathLike[str] | None, *, must_exist: bool = False) -> Path:
    if folder is None:
        folder = results()
        if must_exist and not folder.is_dir():
            raise FileNotFoundError("This installation has no results folder: name one, folder='results'.")
    return Path(folder) / name / "record.json"


def digest(content: Mapping[str, Any]) -> str:
    """A sum over plain values that tells whether they were changed.

    Parameters
    ----------
    content
        plain values, by name

    Returns
    -------
    str
        SHA-256, in hexadecimal, of their canonical JSON.
    """
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def _no_constant(word: str) -> float:
    raise ValueError(f"{word} is not a number of a record")


def plain(name: str, value: Any) -> Any:
    """A value in JSON's own types; inf becomes a word.

    Parameters
    ----------
    name
        what to call it in a refusal
    value
        numbers, words, arrays, lists, mappings and dataclasses, nested

    Returns
    -------
    object

    Raises
    ------
    ValueError
        naming a value that has no such form: NaN, -inf, other objects.
    """
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, Mapping):
        return {str(key): plain(f"{name}[{key!r}]", entry) for key, entry in value.items()}
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, (list, tuple, range)):
        return [plain(name, entry) for entry in value]
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float) and value == math.inf:
        return INFINITY
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise refuse(name, value, "made of numbers (not NaN, not -inf), words, lists and mappings")


def with_infinity(value: Any) -> Any:
    """Plain values with the word for infinity as ``math.inf`` again.

    Parameters
    ----------
    value
        what ``plain`` returned

    Returns
    -------
    object
    """
    if isinstance(value, dict):
        return {key: with_infinity(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [with_infinity(entry) for entry in value]
    return math.inf if value == INFINITY else value
