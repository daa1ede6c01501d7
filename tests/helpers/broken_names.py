"""The public names whose arguments are broken, found in the package itself, and their valid calls."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import is_dataclass
from typing import Any

from broken_calls import Call

import lrtransfer

ROOMS = sorted(
    module.name.removeprefix("lrtransfer.")
    for module in pkgutil.walk_packages(lrtransfer.__path__, "lrtransfer.")
    if hasattr(importlib.import_module(module.name), "__all__")
)


def _record(value: Any) -> bool:
    """Whether a class only holds what the package found: a dataclass or named tuple that checks nothing."""
    holds = is_dataclass(value) or hasattr(value, "_fields")
    return holds and "__post_init__" not in vars(value) and not any("__post_init__" in vars(b) for b in value.__mro__)


def _called(value: Any) -> bool:
    """A function, or a class that readers build: no exception, no protocol and no record."""
    if not inspect.isclass(value):
        return callable(value)
    return not (
        issubclass(value, BaseException)
        or getattr(value, "_is_protocol", False)
        or _record(value)
        or ("__init__" not in vars(value) and not is_dataclass(value))
    )


def public() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every public callable once, under the first room that hands it out."""
    seen: set[int] = set()
    for room in ROOMS:
        module = importlib.import_module(f"lrtransfer.{room}")
        for name in module.__all__:
            value = getattr(module, name)
            if _called(value) and id(value) not in seen:
                seen.add(id(value))
                yield f"{room}.{name}", value


PUBLIC = dict(public())
OWN = tuple(
    {
        value
        for room in ROOMS
        for value in vars(importlib.import_module(f"lrtransfer.{room}")).values()
        if inspect.isclass(value) and issubclass(value, Exception) and value.__module__.startswith("lrtransfer.")
    }
)


def table(room: str) -> dict[str, Call]:
    """The valid calls of a room."""
    try:
        calls = importlib.import_module(f"valid_calls.{room.removeprefix('sweeps.').replace('.', '_')}")
    except ModuleNotFoundError:
        return {}
    found: dict[str, Call] = calls.CALLS
    return found


def valid(name: str) -> Call | None:
    """The valid call of a public name such as ``depth.loss``."""
    room, _, function = name.rpartition(".")
    return table(room).get(function)
