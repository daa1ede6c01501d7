"""The public names of the package, room by room, and where the cells of a page use them."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from collections.abc import Container, Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any

PAPERS = ("depth", "width", "residual", "layers", "stages")
ROOMS = (
    *PAPERS,
    "synthesis",
    "practice",
    "exercises",
    "rates",
    "sweeps",
    "images",
    "modules",
    "page",
    "numerics",
    "performance",
)


@dataclass(frozen=True)
class Name:
    """A function or class that a room hands out.

    ``path`` is where it is defined, ``lrtransfer.depth.scaling.max_stable_lr``; ``short`` how a reader writes it.
    """

    room: str
    path: str
    short: str
    value: Any

    @property
    def signature(self) -> str:
        """Name and arguments."""
        try:
            written = f"{self.short}{inspect.signature(self.value)}"
        except (TypeError, ValueError):
            return self.short
        return re.sub(r"<function (?:[\w.<>]+\.)?(<lambda>|\w+) at 0x[0-9a-f]+>", r"\1", written)


@dataclass
class Uses:
    """What the cells of one page use: sections, by path; and the path of each name as it is written there."""

    sections: dict[str, dict[str, str]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)


def defined_at(value: Any) -> str:
    """The module and name under which a function or class is defined."""
    value = inspect.unwrap(value) if callable(value) else value
    return f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', '')}"


def _is_public(name: str, value: Any) -> bool:
    is_ours = defined_at(value).startswith("lrtransfer.")
    return (
        not name.startswith("_") and is_ours and (inspect.isclass(value) or inspect.isfunction(inspect.unwrap(value)))
    )


@cache
def of_room(room: str) -> tuple[Name, ...]:
    """What a room hands out at its door, and then what its modules hold besides, by place of definition."""
    package = importlib.import_module(f"lrtransfer.{room}")
    door = {name: value for name, value in vars(package).items() if _is_public(name, value)}
    known = {defined_at(value): Name(room, defined_at(value), f"{room}.{name}", value) for name, value in door.items()}
    for found in pkgutil.walk_packages(package.__path__, f"lrtransfer.{room}."):
        if found.name.rsplit(".", 1)[1].startswith("_"):
            continue
        module = importlib.import_module(found.name)
        for name, value in vars(module).items():
            if _is_public(name, value) and defined_at(value).startswith(f"{found.name}."):
                short = f"{found.name.removeprefix('lrtransfer.')}.{name}"
                known.setdefault(defined_at(value), Name(room, defined_at(value), short, value))
    return tuple(sorted(known.values(), key=lambda name: (name.short.count("."), name.short.lower())))


@cache
def by_path() -> dict[str, Name]:
    """Every public name by where it is defined."""
    return {name.path: name for room in ROOMS for name in of_room(room)}


def _resolved(dotted: str, known: Container[str]) -> str | None:
    """Where a dotted name of the package is defined; None for what is no public name."""
    module, _, last = dotted.rpartition(".")
    try:
        value = getattr(importlib.import_module(module), last)
    except (ImportError, AttributeError):
        return None
    path = defined_at(value)
    return path if path in known else None


def uses(cells: Iterable[tuple[str, str, str]], known: Container[str]) -> Uses:
    """The names of those known that cells use, from (source, id of the section, its title), in order."""
    found = Uses()
    imported: dict[str, str] = {}
    for source, anchor, title in cells:
        try:
            tree = ast.parse(source)
        except SyntaxError:
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("lrtransfer"):
                imported |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
        for node in ast.walk(tree):
            written = None
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in imported:
                written, dotted = f"{node.value.id}.{node.attr}", f"{imported[node.value.id]}.{node.attr}"
            elif isinstance(node, ast.Name) and node.id in imported:
                written, dotted = node.id, imported[node.id]
            if written and (path := _resolved(dotted, known)):
                found.names[written] = path
                found.sections.setdefault(path, {})[anchor] = title
    return found
