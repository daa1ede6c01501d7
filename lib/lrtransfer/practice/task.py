"""A reader's own training as a task of the sweeps: kind "own", the loss that ``train`` hands back."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.numerics.arguments import refuse
from lrtransfer.sweeps.task_registry import Run, Task

# torch's generator belongs to the process: two threads that train at once would draw from each other's numbers.
_ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True)
class OwnTraining:
    """What is trained: the reader's functions, and what a store knows of them, ``name`` and ``code``."""

    kind: ClassVar[str] = "own"
    name: str
    build: Any = field(default=None, compare=False, repr=False)
    train: Any = field(default=None, compare=False, repr=False)
    code: str = ""


class OwnTask(Task):
    """One run at a time: ``build`` under the run's seed, then ``train`` at its rate."""

    kind = OwnTraining.kind
    settings = OwnTraining

    def from_fields(self, fields: Mapping[str, Any]) -> OwnTraining:
        """Name and code alone, for reading stores; training asks for the functions."""
        return OwnTraining(**fields)

    def evaluations(self, settings: OwnTraining) -> int:
        """The final loss alone."""
        return 1

    def describe(self, settings: OwnTraining) -> str:
        """By its name."""
        return f"the training {settings.name!r}"

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
        """The losses (1, R); ``device`` and the rest are the reader's to choose, in ``build`` and ``train``."""
        import torch

        from lrtransfer.modules.checked_functions import checked_model, final_loss
        from lrtransfer.modules.watching import same_random_state

        losses = []
        for done, run in enumerate(runs, start=1):
            made = run.settings
            if made.build is None or made.train is None:
                raise refuse("kind", self.kind, "trained by lrtransfer.practice.rate_sweep: a file holds no functions")
            with _ONE_AT_A_TIME, same_random_state(run.seed), torch.enable_grad():
                model = checked_model(made.build(), "build()")
                losses.append(final_loss(made.train(model, float(run.lr))))
            if progress is not None:
                progress(done / len(runs))
        return np.array([losses])


TASKS = (OwnTask(),)
