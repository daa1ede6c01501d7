"""What the chapter reads off compared transformers: differences with their errors, stage by stage where asked.

Differences are paired by seed, as in ``StageComparison``, and judged by the one-sided 95 % quantile of Student's t.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from lrtransfer.numerics.arguments import choice, refuse
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


def together(first: StageComparison, second: StageComparison) -> StageComparison:
    """Two comparisons of different methods as one, on the seeds of ``second``, so that any two are paired by seed.

    Rates searched and swept are those of ``first``, for its methods alone unless ``second`` has the same.

    Raises ``ValueError`` where the settings differ, a method is in both, a seed of ``second`` is not in ``first``, or
    the losses before the first step differ by more than rounding: then the seeds did not draw the same. From there on
    runs that were trained in other company may part: their sums are rounded in another order.
    """
    seeds = [first.seeds.index(seed) for seed in second.seeds if seed in first.seeds]
    alike = first.settings == second.settings and len(seeds) == len(second.seeds)
    if not alike or set(first.methods) & set(second.methods):
        raise refuse("second", second.methods, f"other methods than {first.methods} on the same settings and seeds")
    drawn, again = first.curves[0, :1, seeds].T, second.curves[0]  # (1, S), (M, S)
    if not np.allclose(again, drawn, rtol=1e-5, atol=0):
        raise refuse("second", np.abs(again / drawn - 1).max(), "a first loss that is the first comparison's")
    joined = replace(
        first,
        seeds=second.seeds,
        methods=first.methods + second.methods,
        chosen=np.concatenate([first.chosen, second.chosen]),
        curves=np.concatenate([first.curves[..., seeds], second.curves], axis=1),
        final=np.concatenate([first.final[:, seeds], second.final]),
        betas=np.concatenate([first.betas[..., seeds], second.betas], axis=1),
        sweep=first.sweep[..., seeds],
    )
    if not all(np.array_equal(*rates) for rates in ((first.lrs, second.lrs), (first.swept, second.swept))):
        return joined
    return replace(
        joined,
        tuned=first.tuned + second.tuned,
        selection=np.concatenate([first.selection, second.selection], axis=1),
        sweep=np.concatenate([joined.sweep, second.sweep], axis=1),
    )


def stage_ends(result: StageComparison, method: str, other: str) -> list[Estimate]:
    """Loss of ``method`` less that of ``other`` as each stage from the second on ends, in nats, paired by seed.

    On the windows of the learning curves, each method at its own rate.
    """
    steps, gap, error = result.course(method, other)
    done = [np.flatnonzero(steps == k * result.settings.steps)[0] for k in range(2, result.settings.stages + 1)]
    return [Estimate(gap[e], error[e], len(result.seeds)) for e in done]


def arrival(result: StageComparison, method: str) -> list[Estimate]:
    """What putting the block on does to a method's loss, at the boundary before each stage from the second on, nats."""
    place = result.methods.index(choice("method", method, result.methods))
    stages = [result.curves[result.stage == k, place] for k in range(1, result.settings.stages + 1)]  # (e, S) each
    return [Estimate.paired(after[0], before[-1]) for before, after in pairwise(stages)]
