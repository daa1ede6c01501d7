"""Many runs of the staged transformer, through the sweeps: each kept as its group ends, so a stopped sweep goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path

from lrtransfer.stages.transformer import task
from lrtransfer.stages.transformer.settings import METHODS, GrownTransformer, StagedTransformer
from lrtransfer.stages.transformer.training import StageCurves
from lrtransfer.sweeps.keys import run_key
from lrtransfer.sweeps.progress import Bar, Silent
from lrtransfer.sweeps.run import curves_of
from lrtransfer.sweeps.store import Store
from lrtransfer.sweeps.task_registry import Run as SweepRun

Run = tuple[float, int, str]  # rate, seed, name of a method


def train_or_read(
    settings: StagedTransformer,
    runs: Sequence[Run],
    *,
    device: str = "auto",
    store: str | Path | None = None,
    progress: Callable[[float], None] | None = None,
) -> dict[Run, StageCurves]:
    """The curves of each run, from a store if they are there, else trained and kept.

    Parameters
    ----------
    settings
        What all runs have in common.
    runs
        Rate, seed and name of a method of each.
    device
        As in ``train_stages``.
    store
        A folder, in which runs.sqlite is the store; None keeps nothing. A store knows settings, rate, seed, method
        and text, but not the program: empty it when that changes.
    progress
        Is told what share of the runs is done.
    """
    common = asdict(settings)
    grown = {method: GrownTransformer(**common, **asdict(METHODS[method])) for method in {run[2] for run in runs}}
    asked = [SweepRun(grown[method], lr, seed, run_key(grown[method], lr, seed)) for lr, seed, method in runs]

    def report(work: float, missing: int) -> Bar:
        return Silent() if progress is None else _Shares(progress, work / missing, len(runs) - missing, len(runs))

    with ExitStack() as stack:
        kept = None if store is None else stack.enter_context(Store(Path(store) / "runs.sqlite"))
        curves = curves_of(asked, kept, device=device, report=report)
    return {run: task.unpacked(grown[run[2]], run[2], curve) for run, curve in zip(runs, curves, strict=True)}


class _Shares(Silent):
    """Tells the share of the runs that is done: ``done`` of ``total`` before, each of the others ``work``."""

    def __init__(self, tell: Callable[[float], None], work: float, done: int, total: int) -> None:
        super().__init__()
        self._tell, self._work, self._runs_done, self._of = tell, work, done, total
        self._ahead = self._told = 0.0

    def update(self, work: float, runs: int = 0) -> None:
        """So much more work is done, and so many more runs are finished."""
        self._runs_done += runs
        self._ahead = 0.0 if runs else self._ahead + work / self._work
        self._told = max(self._told, (self._runs_done + self._ahead) / self._of)  # floats: never back
        self._tell(self._told)
