"""The transformer grown in stages as a task of the sweeps: kind "staged", a method a settings object."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.numerics.arguments import refuse
from lrtransfer.numerics.arrays import Array
from lrtransfer.stages.transformer import training
from lrtransfer.stages.transformer.settings import GrownTransformer, StagedTransformer, evaluated_at
from lrtransfer.stages.transformer.text import topics_digest
from lrtransfer.stages.transformer.training import StageCurves
from lrtransfer.sweeps.task_registry import Run, Task

if TYPE_CHECKING:
    import torch


class StagedTask(Task):
    """A run hands back its losses, then the scalars of its blocks, then its final loss."""

    kind = GrownTransformer.kind
    settings = GrownTransformer

    def evaluations(self, settings: GrownTransformer) -> int:
        """Losses at every stage's evaluations, a scalar a stage, and the final loss."""
        return settings.stages * len(evaluated_at(settings)) + settings.stages + 1

    def ready(self, settings: GrownTransformer) -> None:
        """``ValueError`` for settings that were made with the text of another Python."""
        if settings.text != topics_digest():
            raise refuse("text", settings.text, f"{topics_digest()!r}, the digest of the text that this Python has")

    def work(self, settings: GrownTransformer) -> float:
        """Multiplications, but for a factor: stage s has s blocks."""
        blocks = settings.stages * (settings.stages + 1) / 2
        return blocks * settings.steps * settings.batch * settings.length * settings.width**2

    def data(self, settings: GrownTransformer) -> str:
        """The text."""
        return "topics of Python's documentation"

    def describe(self, settings: GrownTransformer) -> str:
        """Start, stages and width."""
        return f"transformer of {settings.stages} stages and width {settings.width}, start {settings.start!r}"

    def groups(self, runs: Sequence[Run], device: torch.device, workers: int) -> list[list[Run]]:
        """All methods of a network, a rate and a seed together, and as many of those as pay.

        Methods have the first stage in common. Beyond that small networks gain from company: on a CPU until their
        activations outgrow the cache, elsewhere until a layer's hold 2^24 numbers (64 MB; by this count, not
        measured). Nine runs of three methods and three seeds took, at width 32 with 256 characters a batch, 2.6 s
        together, 3.9 s by seed and 9 s one by one; at width 64 with 1024 characters 10 s in each way (one thread of a
        busy machine).
        """
        of: dict[StagedTransformer, dict[tuple[float, int], list[Run]]] = {}
        for run in runs:
            of.setdefault(run.settings.network, {}).setdefault((run.lr, run.seed), []).append(run)
        packed: list[list[Run]] = []
        for network, pairs in of.items():
            size = (2**18 if device.type == "cpu" else 2**24) // (network.batch * network.length * network.width)
            size = min(size, -(-sum(map(len, pairs.values())) // workers))
            fresh = True
            for together in pairs.values():
                if not fresh and len(packed[-1]) + len(together) <= size:
                    packed[-1] += together
                else:
                    packed.append(list(together))
                fresh = False
        return packed

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
        """``train_runs`` of a group, which has one network; a group takes minutes and is not saved on the way."""
        tell = None if progress is None else lambda done, total: progress(done / total)
        three = [(run.lr, run.seed, run.settings.growth) for run in runs]
        _, _, losses, betas, final = training.train_runs(runs[0].settings.network, three, device=device, progress=tell)
        return np.concatenate([losses, betas, final[None]])


def unpacked(settings: GrownTransformer, method: str, curve: Array) -> StageCurves:
    """What a run handed back, as ``train_stages`` returns it."""
    at = np.array(evaluated_at(settings))
    stages, last = settings.stages, settings.stages * len(at)
    return StageCurves(
        (method,),
        np.concatenate([stage * settings.steps + at for stage in range(stages)]),
        np.repeat(np.arange(1, stages + 1), len(at)),
        curve[:last, None],
        curve[last:-1, None],
        curve[-1:],
    )


TASKS = (StagedTask(),)
