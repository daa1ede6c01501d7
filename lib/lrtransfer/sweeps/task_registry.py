"""What can be trained: a task for every kind of settings, found by the kind's name when it is asked for.

A chapter describes its networks to the sweeps in a module that holds ``TASKS``, a tuple of tasks; ``PROVIDERS`` says by
name which module that is, and the module is imported when one of its kinds is first met. A task of one's own:
``register`` it, in every process that trains. What a task is: ``lrtransfer.sweeps.task``.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lrtransfer.numerics.arguments import choice, refuse
from lrtransfer.sweeps.keys import kind_of
from lrtransfer.sweeps.task import CheckpointError, Run, Task, by_settings, settings_from

__all__ = [
    "PROVIDERS",
    "CheckpointError",
    "Run",
    "Task",
    "by_settings",
    "files",
    "from_dict",
    "is_known",
    "kinds",
    "register",
    "settings_from",
    "task",
    "task_of",
]

_RESIDUAL = "lrtransfer.residual.networks.task"
PROVIDERS = {
    "mlp": _RESIDUAL,
    "conv": _RESIDUAL,
    "resnet": _RESIDUAL,
    "vit": _RESIDUAL,
    "staged": "lrtransfer.stages.transformer.task",
    "width": "lrtransfer.width.task",
    "own": "lrtransfer.practice.task",
}
"""The module that provides each kind."""

registered: dict[str, Task] = {}


def register(task: Task) -> None:
    """Make a task known in this process, under its kind.

    Parameters
    ----------
    task
        of one's own

    Raises
    ------
    ValueError
        for what is no ``Task``.
    """
    if not isinstance(task, Task):
        raise refuse("task", task, "a Task")
    registered[task.kind] = task


def kinds() -> tuple[str, ...]:
    """All kinds that can be trained.

    Returns
    -------
    tuple of str
    """
    return tuple(dict.fromkeys((*PROVIDERS, *registered)))


def is_known(kind: str) -> bool:
    """Whether a kind can be trained: asked once a stored run.

    Parameters
    ----------
    kind
        a word

    Returns
    -------
    bool
    """
    return kind in PROVIDERS or kind in registered


def task(kind: object) -> Task:
    """The task of a kind.

    Parameters
    ----------
    kind
        one of ``kinds()``

    Returns
    -------
    Task

    Raises
    ------
    ValueError
        for a kind that nobody provides.
    """
    name = choice("kind", kind, kinds())
    if name not in registered:
        for found in importlib.import_module(PROVIDERS[name]).TASKS:
            register(found)
    return registered[name]


def task_of(settings: object) -> Task:
    """The task that trains a settings object.

    Parameters
    ----------
    settings
        of a kind that is known

    Returns
    -------
    Task

    Raises
    ------
    ValueError
        for an object that none does.
    """
    kind = kind_of(settings)
    found = registered.get(kind)
    if found is not None and isinstance(settings, found.settings):
        return found
    if not is_known(kind) or not isinstance(settings, task(kind).settings):
        raise refuse("settings", settings, f"a settings object of one of the kinds {', '.join(kinds())}")
    return task(kind)


def from_dict(fields: Mapping[str, Any]) -> Any:
    """The settings that a mapping describes.

    Parameters
    ----------
    fields
        ``kind`` names the task, the rest is for its ``from_fields``

    Returns
    -------
    object
        settings of that kind.

    Raises
    ------
    ValueError
        for an unknown kind, and as ``from_fields`` does.
    """
    if not isinstance(fields, Mapping):
        raise refuse("fields", fields, "a mapping from the names of fields to their values")
    rest = dict(fields)
    return task(rest.pop("kind", None)).from_fields(rest)


def files() -> Iterator[Path]:
    """The sweeps, TOML files, that the chapters bring along.

    Yields
    ------
    Path
        all in the folders named ``FILES`` of their modules.
    """
    for module in dict.fromkeys(PROVIDERS.values()):
        folder = getattr(importlib.import_module(module), "FILES", None)
        if folder is not None:
            yield from sorted(folder.glob("*.toml"))
