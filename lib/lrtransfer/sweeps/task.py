"""What a kind of settings tells the sweeps: how its runs are grouped and trained, and what they hand back."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields as fields_of
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from numpy.typing import ArrayLike

from lrtransfer.numerics.arguments import choice, refuse

if TYPE_CHECKING:
    import torch


class CheckpointError(ValueError):
    """A checkpoint that cannot be resumed from: damaged, or of other runs."""


class Run(NamedTuple):
    """One thing to train.

    Attributes
    ----------
    settings
        of any kind
    lr, seed
        the base rate, and the seed
    key
        its name in a store
    """

    settings: Any
    lr: float
    seed: int
    key: str


class Task:
    """One kind of settings and how it is trained; a chapter's tasks override what is not true of theirs.

    Attributes
    ----------
    kind
        the word for it in files, stores and keys
    settings
        the frozen dataclass; its instances have ``kind`` as an attribute
    precisions, compiles
        what it can be asked for: "float32", "bf16"; torch.compile
    """

    kind: str
    settings: type[Any]
    precisions: tuple[str, ...] = ("float32",)
    compiles: bool = False

    def check(self, precision: str, compiled: bool) -> None:
        """Refuse what this kind cannot be asked for on any device.

        Parameters
        ----------
        precision, compiled
            as in ``train``

        Raises
        ------
        ValueError
            naming the argument.
        """
        choice("precision", precision, self.precisions)
        if compiled and not self.compiles:
            raise refuse("compile", compiled, f"False for kind = {self.kind!r}")

    def from_fields(self, fields: Mapping[str, Any]) -> Any:
        """The settings with given fields, as a file or a store has them.

        Parameters
        ----------
        fields
            by name; those left out keep their defaults

        Returns
        -------
        object
            of the class ``settings``.

        Raises
        ------
        ValueError
            for a field that the settings lack, or a value that the field refuses.
        """
        return settings_from(self.settings, fields)

    def evaluations(self, settings: Any) -> int:
        """How many numbers a run hands back.

        Parameters
        ----------
        settings
            of this kind

        Returns
        -------
        int
        """
        raise NotImplementedError

    def ready(self, settings: Any) -> None:
        """Raise what the data of the settings, which may have to be fetched, have against them.

        Parameters
        ----------
        settings
            of this kind
        """

    def work(self, settings: Any) -> float:
        """What the remaining time is told from.

        Parameters
        ----------
        settings
            of this kind

        Returns
        -------
        float
            proportional to the time of one run, comparable within a kind.
        """
        return 1.0

    def data(self, settings: Any) -> str:
        """What it learns.

        Parameters
        ----------
        settings
            of this kind

        Returns
        -------
        str
            a word.
        """
        return str(getattr(settings, "data", "its own"))

    def describe(self, settings: Any) -> str:
        """The settings in a few words, for a message.

        Parameters
        ----------
        settings
            of this kind

        Returns
        -------
        str
        """
        return self.kind

    def groups(self, runs: Sequence[Run], device: torch.device, workers: int) -> list[list[Run]]:
        """The runs, all of this kind, in the groups that train together; one by one unless a task knows better.

        Parameters
        ----------
        runs
            in the order in which they were asked for. Equal runs must give equal groups, so that a group that was
            interrupted is found again with its checkpoint
        device
            where they train
        workers
            how many train at once: there should be a group for each

        Returns
        -------
        list of list of Run
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
            R runs of this kind: one of ``groups``, or what is missing of it
        device
            "auto", "cpu", "cuda" or "mps"
        checkpoint
            a file to save the group to from time to time and to resume from, or None. It may be left alone
        progress
            to be called with the share of the updates done, from 0 to 1
        precision, compiled
            one of ``precisions``; with torch.compile. Both are checked, also against the device, before

        Returns
        -------
        ndarray
            (``evaluations``, R), the final losses last, inf where a run diverged.

        Raises
        ------
        CheckpointError
            for a checkpoint that is damaged or of other runs; training then starts anew.
        """
        raise NotImplementedError


def settings_from(made: type[Any], fields: Mapping[str, Any]) -> Any:
    """An object of a class of settings.

    Parameters
    ----------
    made
        the class
    fields
        by name; "none" stands for None, for TOML has no word for it

    Returns
    -------
    object
        of that class.

    Raises
    ------
    ValueError
        for a field that the class lacks, or a value that it refuses.
    """
    known = [field.name for field in fields_of(made) if field.init]
    for name in fields:
        if name not in known:
            raise ValueError(f"{name} is no field of kind = {made.kind!r}; its fields are {', '.join(known)}.")
    return made(
        **{name: None if isinstance(value, str) and value == "none" else value for name, value in fields.items()}
    )


def by_settings(runs: Sequence[Run], size: Callable[[Any], int], workers: int) -> list[list[Run]]:
    """Groups of equal settings, in order.

    Parameters
    ----------
    runs
        of one kind
    size
        ``size(settings)``: the most runs in a group
    workers
        how many train at once: there is at least one group for each, if there are as many runs

    Returns
    -------
    list of list of Run
    """
    of: dict[Any, list[Run]] = {}
    for run in runs:
        of.setdefault(run.settings, []).append(run)
    groups = []
    for settings, mine in of.items():
        most = max(1, min(size(settings), -(-len(mine) // workers)))
        groups += [mine[i : i + most] for i in range(0, len(mine), most)]
    return groups
