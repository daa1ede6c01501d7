"""The trained networks of the chapter as a task of the sweeps: kind "width", the loss after the last step."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import ArrayLike

from lrtransfer.sweeps.task_registry import Run, Task
from lrtransfer.width.torch_sweeps import WidthNetwork, train_rates

if TYPE_CHECKING:
    import torch


class WidthTask(Task):
    """Full-batch training of a regression."""

    kind = WidthNetwork.kind
    settings = WidthNetwork

    def from_fields(self, fields: Mapping[str, Any]) -> WidthNetwork:
        """Refused: the data are arrays."""
        raise ValueError("kind = 'width' holds arrays, which a file cannot name: build WidthNetwork in Python.")

    def evaluations(self, settings: WidthNetwork) -> int:
        """The final loss alone."""
        return 1

    def work(self, settings: WidthNetwork) -> float:
        """Multiplications, but for a factor."""
        return float((settings.steps + 1) * settings.hidden_layers * settings.width**2 * len(settings.y))

    def describe(self, settings: WidthNetwork) -> str:
        """Layers and width."""
        return f"{settings.activation} network of {settings.hidden_layers} hidden layers and width {settings.width}"

    def groups(self, runs: Sequence[Run], device: torch.device, workers: int) -> list[list[Run]]:
        """All rates of a seed: they have the first weights in common."""
        of: dict[tuple[WidthNetwork, int], list[Run]] = {}
        for run in runs:
            of.setdefault((run.settings, run.seed), []).append(run)
        return list(of.values())

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
        """``train_rates`` of a group, which has one settings object and one seed; too short to be saved."""
        return train_rates(runs[0].settings, [run.lr for run in runs], runs[0].seed, device)[None]


TASKS = (WidthTask(),)
