"""The residual networks as tasks of the sweeps: one for each of the four kinds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from lrtransfer.images.catalogue import KNOWN
from lrtransfer.numerics.arguments import choice, finite, one, positive, refuse
from lrtransfer.residual.networks import training
from lrtransfer.residual.networks.settings import KINDS, NetworkSettings, evaluation_steps, from_dict
from lrtransfer.sweeps.devices import PRECISIONS
from lrtransfer.sweeps.task_registry import Run, Task, by_settings

if TYPE_CHECKING:
    import torch

FILES = Path(__file__).resolve().parent.parent / "configs"
IMAGENET = 1_281_167  # images to train on in the whole of it; a folder may hold fewer


class ResidualTask(Task):
    """One kind of residual network."""

    precisions = PRECISIONS
    compiles = True

    def __init__(self, settings: type[NetworkSettings]) -> None:
        self.kind, self.settings = settings.kind, settings

    def from_fields(self, fields: Mapping[str, Any]) -> NetworkSettings:
        """The settings with these fields; ``epochs`` and ``warmup_epochs`` are allowed as in ``in_steps``."""
        return from_dict(in_steps({"kind": self.kind, **fields}))

    def evaluations(self, settings: NetworkSettings) -> int:
        """One loss for each of ``evaluation_steps``."""
        return len(evaluation_steps(settings))

    def ready(self, settings: NetworkSettings) -> None:
        """``DataUnavailable`` for images that are not here, ``ValueError`` where there are too few."""
        training.checked_data(settings)

    def work(self, settings: NetworkSettings) -> float:
        """Multiplications, but for a factor."""
        return float(max(settings.steps, 1) * settings.batch * settings.depth * settings.width**2)

    def describe(self, settings: NetworkSettings) -> str:
        """Kind, depth and width."""
        return f"{self.kind} of depth {settings.depth} and width {settings.width}"

    def groups(self, runs: Sequence[Run], device: torch.device, workers: int) -> list[list[Run]]:
        """Runs of equal settings, as many as ``training.group_size`` says."""
        return by_settings(runs, lambda settings: training.group_size(settings, device), workers)

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
        """``training.train_runs`` of a group, which has one settings object."""
        settings = runs[0].settings
        # A run that would be saved at its end only is stored at its end.
        if not 0 < settings.checkpoint_every < settings.steps:
            checkpoint = None
        return training.train_runs(
            settings,
            [run.lr for run in runs],
            [run.seed for run in runs],
            device=device,
            checkpoint=checkpoint,
            progress=None if progress is None else lambda updates: progress(updates / settings.steps),
            precision=precision,
            compile=compiled,
        )


def in_steps(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of the settings with ``epochs`` and ``warmup_epochs`` as steps.

    steps = epochs * images / batch, rounded; one epoch between evaluations and between checkpoints unless
    ``eval_every`` or ``checkpoint_every`` say otherwise. Raises ``ValueError`` naming the field.
    """
    out = dict(fields)
    epochs, warmup = out.pop("epochs", None), out.pop("warmup_epochs", None)
    if epochs is None and warmup is None:
        return out
    defaults = KINDS[choice("kind", out.get("kind"), tuple(KINDS))]
    data, batch = (out.get(name, getattr(defaults, name)) for name in ("data", "batch"))
    an_epoch = (KNOWN[choice("data", data, tuple(KNOWN))][1] or IMAGENET) / one("batch", positive("batch", batch))
    if epochs is not None:
        if "steps" in out:
            raise refuse("steps", out["steps"], "left out where epochs are given")
        out["steps"] = round(one("epochs", positive("epochs", epochs)) * an_epoch)
        out.setdefault("eval_every", max(1, round(an_epoch)))
        out.setdefault("checkpoint_every", max(1, round(an_epoch)))
    if warmup is not None:
        if "warmup_steps" in out:
            raise refuse("warmup_steps", out["warmup_steps"], "left out where warmup_epochs are given")
        out["warmup_steps"] = round(one("warmup_epochs", finite("warmup_epochs", warmup, minimum=0)) * an_epoch)
    return out


TASKS = tuple(map(ResidualTask, KINDS.values()))
