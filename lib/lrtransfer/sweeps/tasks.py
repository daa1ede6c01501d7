"""What can be trained: a task for every kind of settings, found by the kind's name when it is asked for.

A chapter describes its networks to the sweeps in a module that holds ``TASKS``, a tuple of tasks; ``PROVIDERS`` says by
name which module that is, and the module is imported when one of its kinds is first met. A task of one's own:
``register`` it, in every process that trains.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields as fields_of
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from numpy.typing import ArrayLike

from lrtransfer.numerics.arguments import choice, refuse
from lrtransfer.sweeps.keys import kind_of

if TYPE_CHECKING:
    import torch

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

_known: dict[str, Task] = {}


class CheckpointError(ValueError):
    """A checkpoint that cannot be resumed from: damaged, or of other runs."""


class Run(NamedTuple):
    """One thing to train: ``settings`` at a rate ``lr`` from a ``seed``; ``key`` is its name in a store."""

    settings: Any
    lr: float
    seed: int
    key: str


class Task:
    """One kind of settings and how it is trained; a chapter's tasks override what is not true of theirs.

    Attributes
    ----------
    kind
        The word for it in files, stores and keys.
    settings
        The frozen dataclass; its instances have ``kind`` as an attribute.
    precisions, compiles
        What it can be asked for: "float32", "bf16"; torch.compile.
    """

    kind: str
    settings: type[Any]
    precisions: tuple[str, ...] = ("float32",)
    compiles: bool = False

    def check(self, precision: str, compiled: bool) -> None:
        """Refuse what this kind cannot be asked for on any device."""
        choice("precision", precision, self.precisions)
        if compiled and not self.compiles:
            raise refuse("compile", compiled, f"False for kind = {self.kind!r}")

    def from_fields(self, fields: Mapping[str, Any]) -> Any:
        """The settings with these fields, as a file or a store has them; those left out keep their defaults.

        Raises
        ------
        ValueError
            For a field that the settings lack, or a value that the field refuses.
        """
        return settings_from(self.settings, fields)

    def evaluations(self, settings: Any) -> int:
        """How many numbers a run hands back."""
        raise NotImplementedError

    def ready(self, settings: Any) -> None:
        """Raise what the data of the settings, which may have to be fetched, have against them."""

    def work(self, settings: Any) -> float:
        """Proportional to the time of one run, comparable within a kind: what the remaining time is told from."""
        return 1.0

    def data(self, settings: Any) -> str:
        """A word for what it learns."""
        return str(getattr(settings, "data", "its own"))

    def describe(self, settings: Any) -> str:
        """The settings in a few words, for a message."""
        return self.kind

    def groups(self, runs: Sequence[Run], device: torch.device, workers: int) -> list[list[Run]]:
        """The runs, all of this kind, in the groups that train together; one by one unless a task knows better.

        Parameters
        ----------
        runs
            In the order in which they were asked for. Equal runs must give equal groups, so that a group that was
            interrupted is found again with its checkpoint.
        device
            Where they train.
        workers
            How many train at once: there should be a group for each.
        """
        return [[run] for run in runs]

    def train(
        self,
        runs: Sequence[Run],
        *,
        device: str,
        checkpoint: Path | None,
        progress: Callable[[float], None] | None,
        precision: str,
        compiled: bool,
    ) -> ArrayLike:
        """Train a group together.

        Parameters
        ----------
        runs
            R runs of this kind: one of ``groups``, or what is missing of it.
        device
            "auto", "cpu", "cuda" or "mps".
        checkpoint
            A file to save the group to from time to time and to resume from, or None. It may be left alone.
        progress
            To be called with the share of the updates done, from 0 to 1.
        precision, compiled
            One of ``precisions``; with torch.compile. Both are checked, also against the device, before.

        Returns
        -------
        array
            Shape (``evaluations``, R), the final losses last, inf where a run diverged.

        Raises
        ------
        CheckpointError
            For a checkpoint that is damaged or of other runs; training then starts anew.
        """
        raise NotImplementedError


def register(task: Task) -> None:
    """Make a task known in this process, under its kind."""
    if not isinstance(task, Task):
        raise refuse("task", task, "a Task")
    _known[task.kind] = task


def kinds() -> tuple[str, ...]:
    """All kinds that can be trained."""
    return tuple(dict.fromkeys((*PROVIDERS, *_known)))


def is_known(kind: str) -> bool:
    """Whether a kind can be trained: asked once a stored run."""
    return kind in PROVIDERS or kind in _known


def task(kind: object) -> Task:
    """The task of a kind; ``ValueError`` for a kind that nobody provides."""
    name = choice("kind", kind, kinds())
    if name not in _known:
        for found in importlib.import_module(PROVIDERS[name]).TASKS:
            register(found)
    return _known[name]


def task_of(settings: object) -> Task:
    """The task that trains a settings object; ``ValueError`` for an object that none does."""
    kind = kind_of(settings)
    found = _known.get(kind)
    if found is not None and isinstance(settings, found.settings):
        return found
    if not is_known(kind) or not isinstance(settings, task(kind).settings):
        raise refuse("settings", settings, f"a settings object of one of the kinds {', '.join(kinds())}")
    return task(kind)


def settings_from(made: type[Any], fields: Mapping[str, Any]) -> Any:
    """An object of the class ``made`` of settings; TOML has no None, so "none" stands for it. Raises ``ValueError``."""
    known = [field.name for field in fields_of(made) if field.init]
    for name in fields:
        if name not in known:
            raise ValueError(f"{name} is no field of kind = {made.kind!r}; its fields are {', '.join(known)}.")
    return made(
        **{name: None if isinstance(value, str) and value == "none" else value for name, value in fields.items()}
    )


def from_dict(fields: Mapping[str, Any]) -> Any:
    """The settings that a mapping describes: ``kind`` names the task, the rest is for its ``from_fields``."""
    if not isinstance(fields, Mapping):
        raise refuse("fields", fields, "a mapping from the names of fields to their values")
    rest = dict(fields)
    return task(rest.pop("kind", None)).from_fields(rest)


def files() -> Iterator[Path]:
    """The sweeps, TOML files, that the chapters bring along: all in the folders named ``FILES`` of their modules."""
    for module in dict.fromkeys(PROVIDERS.values()):
        folder = getattr(importlib.import_module(module), "FILES", None)
        if folder is not None:
            yield from sorted(folder.glob("*.toml"))


def by_settings(runs: Sequence[Run], size: Callable[[Any], int], workers: int) -> list[list[Run]]:
    """Groups of equal settings in order, of at most ``size(settings)`` runs and at least one group a worker."""
    of: dict[Any, list[Run]] = {}
    for run in runs:
        of.setdefault(run.settings, []).append(run)
    groups = []
    for settings, mine in of.items():
        most = max(1, min(size(settings), -(-len(mine) // workers)))
        groups += [mine[i : i + most] for i in range(0, len(mine), most)]
    return groups
