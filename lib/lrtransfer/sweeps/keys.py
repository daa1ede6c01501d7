"""What identifies a run: a hash of its settings, rate and seed that is the same everywhere and stays the same.

The hash is taken over canonical JSON: sorted names, plain values, fields at their default left out. So it does
not depend on the process, the order of the fields or the version of Python, and a field added later with a
default leaves the runs of before where they are.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import MISSING, Field, fields, is_dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from lrtransfer.numerics.arguments import choice, count, one, positive, refuse
from lrtransfer.sweeps.devices import PRECISIONS

# Says how often a run is saved, not what comes out of it.
NO_PART_OF_THE_RESULT = ("checkpoint_every",)
HIGHEST_SEED = 2**63 - 1  # SQLite's, and int64's


def kind_of(settings: object) -> str:
    """The word for the class of a settings object in files and hashes.

    Parameters
    ----------
    settings
        an instance of a dataclass

    Returns
    -------
    str
        the class attribute ``kind``, such as "mlp"; a class without one is called by its name.

    Raises
    ------
    ValueError
        for anything but an instance of a dataclass.
    """
    if not is_dataclass(settings) or isinstance(settings, type):
        raise refuse("settings", settings, "a settings object, an instance of a frozen dataclass")
    return str(getattr(settings, "kind", type(settings).__name__))


def _plain(name: str, value: object) -> Any:
    """The value in the types of JSON; nested settings without their defaults."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float):
        if not math.isfinite(value):
            raise refuse(name, value, "finite: a hash needs one spelling for every number")
        return value
    if isinstance(value, (tuple, list)):
        return [_plain(name, entry) for entry in value]
    if isinstance(value, dict):
        return {str(key): _plain(name, entry) for key, entry in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        return {"kind": kind_of(value), **_fields_of(value, defaults=False)}
    raise refuse(name, value, "a number, a word, a bool, None, or a tuple, dict or settings object of these")


def _default(field: Field[Any]) -> Any:
    return field.default_factory() if field.default_factory is not MISSING else field.default


def _fields_of(settings: Any, *, defaults: bool) -> dict[str, Any]:
    """Fields that decide the result, as plain values; with or without those at their default."""
    plain = {}
    for field in fields(settings):
        if not field.compare or field.name in NO_PART_OF_THE_RESULT:
            continue
        value, default = getattr(settings, field.name), _default(field)
        if defaults or default is MISSING or value != default:
            plain[field.name] = _plain(field.name, value)
    return plain


def _dumps(value: object) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


# A curve of many rates and seeds asks for the same settings again and again. Their repr is part of the cache's
# key because 1, 1.0 and True are equal, and a hash must not depend on which of them was asked for first.
@lru_cache(maxsize=256)
def _canonical(settings: Any, _: str) -> tuple[str, str]:
    described = {"kind": kind_of(settings)}
    return _dumps(described | _fields_of(settings, defaults=False)), _dumps(_fields_of(settings, defaults=True))


def canonical_settings(settings: object) -> str:
    """The settings as canonical JSON: the kind and every field that decides the result and is not at its default.

    Parameters
    ----------
    settings
        an instance of a dataclass

    Returns
    -------
    str

    Raises
    ------
    ValueError
        for anything else, and for a field that JSON cannot hold.
    """
    kind_of(settings)
    return _canonical(settings, repr(settings))[0]


def full_settings(settings: object) -> str:
    """The settings as JSON for people: every field that decides the result, defaults included, by name.

    Parameters
    ----------
    settings
        as in ``canonical_settings``

    Returns
    -------
    str

    Raises
    ------
    ValueError
        as ``canonical_settings`` does.
    """
    kind_of(settings)
    return _canonical(settings, repr(settings))[1]


def checked_rate(lr: object) -> float:
    """A rate, if it is one.

    Parameters
    ----------
    lr
        positive and finite

    Returns
    -------
    float

    Raises
    ------
    ValueError
        naming it.
    """
    if type(lr) is float and 0 < lr < math.inf:  # a sweep asks thousands of times, and arrays cost 20 times as much
        return lr
    return one("lr", positive("lr", lr))  # type: ignore[arg-type]


def checked_seed(seed: object) -> int:
    """A seed, if it is one.

    Parameters
    ----------
    seed
        a whole number from 0 to 2^63 - 1, which a store can hold

    Returns
    -------
    int

    Raises
    ------
    ValueError
        naming it.
    """
    return seed if type(seed) is int and 0 <= seed <= HIGHEST_SEED else count("seed", seed, maximum=HIGHEST_SEED)


def run_key(settings: object, lr: float, seed: int, *, precision: str = "float32") -> str:
    """The name of a run in a store.

    Fields declared with ``dataclasses.field(compare=False)``, and ``checkpoint_every``, change no result and do not
    enter. Changing the default of a field would give old hashes a new meaning: the store keeps the full settings beside
    the hash and refuses to hand out a run whose settings differ.

    Parameters
    ----------
    settings
        a settings object: an instance of a frozen dataclass
    lr
        the base rate, positive
    seed
        a whole number from 0
    precision
        "float32" (left out of the hash) or "bf16"

    Returns
    -------
    str
        SHA-256, in hexadecimal, of the run's canonical JSON.

    Raises
    ------
    ValueError
        naming the argument.
    """
    return run_keys(settings, [lr], [seed], precision=precision)[0]


def run_keys(settings: object, lrs: Sequence[float], seeds: Sequence[int], *, precision: str = "float32") -> list[str]:
    """``run_key`` of every rate with every seed, in a fraction of the time: the settings are described once.

    Parameters
    ----------
    settings, precision
        as in ``run_key``
    lrs, seeds
        lists

    Returns
    -------
    list of str
        seeds changing fastest.

    Raises
    ------
    ValueError
        naming the argument.
    """
    word = "" if choice("precision", precision, PRECISIONS) == "float32" else f'"precision":"{precision}",'
    whole, tail = [int(checked_seed(seed)) for seed in seeds], f'}},"settings":{canonical_settings(settings)}}}'
    heads = [f'{{"run":{{"lr":{float(checked_rate(lr))!r},{word}"seed":' for lr in lrs]
    return [hashlib.sha256(f"{head}{seed}{tail}".encode()).hexdigest() for head in heads for seed in whole]


def group_name(keys: Sequence[str], device: str) -> str:
    """A short name for runs that train together on a device: their checkpoint's file name.

    Parameters
    ----------
    keys
        of the runs, in any order
    device
        as it was asked for

    Returns
    -------
    str
        32 hexadecimal digits.
    """
    return hashlib.sha256("\n".join([device, *sorted(keys)]).encode()).hexdigest()[:32]
