"""What the chapter reads off compared transformers: differences with their errors, where a copy is behind in a stage.

Differences are paired by seed, as in ``StageComparison``, and judged by the one-sided 95 % quantile of Student's t.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from lrtransfer.numerics.arguments import choice
from lrtransfer.numerics.estimates import FAILS, HOLDS, Estimate
from lrtransfer.stages.transformer.experiments import StageComparison


def told(estimate: Estimate, words: tuple[str, str, str] = ("better", "worse", "not resolved")) -> str:
    """What the seeds say of a difference: below zero, above zero, or neither."""
    return {HOLDS: words[0], FAILS: words[1]}.get(estimate.outcome("<=", 0), words[2])


@dataclass(frozen=True)
class EarlyStage:
    """A method against another while a stage is young.

    stage     from 2 on
    arrival   difference as the block arrives; next: at the evaluation after that
    outcomes  whether each of the two is at least zero
    level     steps until the mean difference is first at or below zero; None where it is not within the stage
    end       difference at the stage's last evaluation
    """

    stage: int
    arrival: Estimate
    next: Estimate
    outcomes: tuple[str, str]
    level: int | None
    end: Estimate


def early_stages(result: StageComparison, method: str = "stacking", other: str = "random") -> list[EarlyStage]:
    """The stages from the second on, on the windows of the learning curves, each method at its own rate."""
    choice("method", method, result.methods)
    s, (steps, gap, error) = result.settings, result.course(method, other)
    found = []
    for k in range(1, s.stages):
        here = np.flatnonzero((steps >= k * s.steps) & (steps <= (k + 1) * s.steps))
        here = here[1:] if k > 1 else here  # the stage before ends at the same step
        first, second = (Estimate(gap[e], error[e], len(result.seeds)) for e in here[:2])
        level = here[np.flatnonzero(gap[here] <= 0)]
        outcomes = (first.outcome(">=", 0), second.outcome(">=", 0))
        reached = int(steps[level[0]] - k * s.steps) if level.size else None
        done = np.flatnonzero(steps == (k + 1) * s.steps)[0]  # before the next block arrives
        last = Estimate(gap[done], error[done], len(result.seeds))
        found.append(EarlyStage(k + 1, first, second, outcomes, reached, last))
    return found
