"""The transformer experiments of the chapter: what each preset trains, how rates are chosen, what is recorded.

Rates are chosen on one seed and reported on others, so that no method is judged on the draw that chose its rate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from lrtransfer.numerics.arguments import choice, refuse
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.estimates import Estimate
from lrtransfer.stages.transformer.settings import COMPARED, METHODS, StagedTransformer
from lrtransfer.stages.transformer.sweep import Run, train_or_read
from lrtransfer.stages.transformer.training import StageCurves


@dataclass(frozen=True)
class StagesPreset:
    """One row of ``STAGES_PRESETS``: the network, the rates tried on ``selection_seed``, the ``seeds`` reported.

    ``swept``: those of ``lrs`` at which the reported seeds are trained with every tuned method, chosen or not.
    """

    transformer: StagedTransformer
    lrs: tuple[float, ...]
    seeds: tuple[int, ...]
    swept: tuple[float, ...] = ()
    selection_seed: int = 0


# On one thread: smoke under a second, book two minutes, full about an hour and a half of processor time. Full reports
# eight seeds: at the rates chosen three leave a standard error of half the difference. In book and full the rates
# tried bracket the best one of every method on the selection seed. Short is a network like book's in many stages, each
# too short for a copy to earn back what it costs: about ten minutes.
STAGES_PRESETS = {
    "smoke": StagesPreset(
        StagedTransformer(
            width=8, heads=2, stages=3, steps=6, batch=4, length=16, warmup=2, eval_every=3, eval_windows=16
        ),
        lrs=(2e-3, 8e-3),
        seeds=(1, 2),
    ),
    "book": StagesPreset(
        StagedTransformer(
            width=32, heads=2, stages=3, steps=700, warmup=20, eval_every=50, eval_windows=256, final_share=0.3
        ),
        lrs=(1e-3, 4e-3, 1.6e-2),
        seeds=(1, 2, 3),
        swept=(1e-3, 4e-3),
    ),
    "full": StagesPreset(
        StagedTransformer(batch=32, length=32, eval_windows=256),
        lrs=(5e-4, 2e-3, 8e-3),
        seeds=tuple(range(1, 9)),
        swept=(5e-4, 2e-3),
    ),
    "short": StagesPreset(
        StagedTransformer(
            width=32, heads=2, stages=8, steps=50, warmup=20, eval_every=25, eval_windows=256, final_share=0.3
        ),
        lrs=(1e-3, 4e-3, 1.6e-2),
        seeds=tuple(range(1, 33)),
        swept=(1e-3, 4e-3),
    ),
}


@dataclass(frozen=True)
class StageComparison:
    """Methods compared: M methods, S reported seeds, R rates, E evaluations, K methods that have a rate of their own.

    ``settings`` of the network; ``lrs`` (R,); ``tuned`` the K names and ``selection`` (R, K) their final losses on
    ``selection_seed``; ``methods`` the M names and ``chosen`` (M,) the rate of each: its best of ``selection``, and
    stacking's for stacking with a scalar, which is an addition to it and not a method to be tuned. ``seeds`` (S,);
    ``steps``, ``stage`` (E,) as in ``StageCurves``; ``curves`` (E, M, S) at the chosen rates, and ``final`` (M, S) and
    ``betas`` (stages, M, S) at their end; ``swept`` (Q,) the rates at which all tuned methods are reported, and
    ``sweep`` (Q, K, S) their final losses there.
    Losses are held-out cross-entropies in nats a hidden character, inf where diverged; final ones on the whole held-out
    text or a share of it, those of ``curves`` on some windows of it.
    """

    preset: str
    settings: StagedTransformer
    lrs: Array
    tuned: tuple[str, ...]
    selection_seed: int
    selection: Array
    methods: tuple[str, ...]
    chosen: Array
    seeds: tuple[int, ...]
    steps: NDArray[np.int64]
    stage: NDArray[np.int64]
    curves: Array
    final: Array
    betas: Array
    swept: Array
    sweep: Array

    def course(self, method: str, other: str) -> tuple[NDArray[np.int64], Array, Array]:
        """Loss of ``method`` less that of ``other`` from the second stage on, each at its chosen rate, paired by seed.

        Returns the steps (e,), the means and their standard errors (e,), in nats, as ``difference`` has them;
        before that the runs are the same.
        """
        a, b = (
            self.methods.index(choice(word, name, self.methods))
            for word, name in (("method", method), ("other", other))
        )
        late = self.stage >= 2
        pairs = zip(self.curves[late, a], self.curves[late, b], strict=True)
        mean, error = np.array([tuple(Estimate.paired(*losses)) for losses in pairs]).T
        return self.steps[late], mean, error

    def difference(self, method: str, other: str, lr: float | None = None) -> Estimate:
        """Final loss of ``method`` less that of ``other``, paired by seed: mean and standard error, in nats.

        Negative where ``method`` is the better. ``lr``: None for each at its chosen rate, or a rate of ``swept`` for
        both at that rate (tuned methods only). A single seed has the standard error inf; so has a diverged run,
        and then the mean is inf with the sign of the loser, or inf where both diverged.
        """
        names = self.methods if lr is None else self.tuned
        a, b = (names.index(choice(key, name, names)) for key, name in (("method", method), ("other", other)))
        if lr is None:
            table = self.final
        elif lr not in self.swept:
            raise refuse("lr", lr, "None" + "".join(f" or {rate:g}" for rate in self.swept))
        else:
            table = self.sweep[self.swept.tolist().index(lr)]
        return Estimate.paired(table[a], table[b])


def compare_starts(
    preset: str | StagesPreset = "book",
    *,
    methods: Sequence[str] = COMPARED,
    stacking_lr: float | None = None,
    device: str = "auto",
    store: str | Path | None = None,
    progress: Callable[[float], None] | None = None,
) -> StageComparison:
    """Train the staged transformer with each of ``methods``: choose rates on one seed, report on the others.

    ``preset``: a name of ``STAGES_PRESETS``, or a row of your own. ``methods``: names of ``METHODS``; those without a
    scalar are tuned. ``stacking_lr``: the rate of those with one, where "stacking" is not itself compared. ``device``:
    as in ``train_stages``. ``store``: a folder for finished runs; with it a second call takes them from there.
    ``progress(share)`` is told the share done, at every evaluation.

    1. Every tuned method is trained on ``selection_seed`` at every rate; its rate is the one with the lowest final
       loss. 2. Every method is trained on the reported seeds at its rate, the tuned ones at the swept rates as well.
       Runs of one rate and seed share weights, windows, masks and the first stage.

    Returns ``StageComparison``. Raises ``ValueError`` for an unknown preset or method, a row that reports its selection
    seed or sweeps a rate it does not try, and scalars without a rate of stacking. Source: Figs. 2 and 7 of the paper,
    in small.
    """
    name = "own" if isinstance(preset, StagesPreset) else choice("preset", preset, tuple(STAGES_PRESETS))
    row = preset if isinstance(preset, StagesPreset) else STAGES_PRESETS[name]
    if row.selection_seed in row.seeds:
        raise refuse("seeds", row.seeds, f"without the seed that chooses the rates, {row.selection_seed}")
    if not row.seeds or not row.lrs:
        raise refuse("seeds and lrs", (row.seeds, row.lrs), "at least one of each")
    if not set(row.swept) <= set(row.lrs):
        raise refuse("swept", row.swept, f"rates of lrs, {row.lrs}")
    methods = tuple(choice("methods", method, tuple(METHODS)) for method in methods)
    tuned = tuple(method for method in methods if METHODS[method].beta is None)
    if len(tuned) < len(methods) and "stacking" not in tuned and stacking_lr not in row.lrs:
        raise refuse(
            "stacking_lr", stacking_lr, f"a rate of lrs, {row.lrs}, where scalars are compared and not stacking"
        )
    # How many runs are to report is not known before the rates are chosen: for the progress an estimate will do.
    trials = len(tuned) * len(row.lrs)
    first = trials / (trials + len(row.seeds) * (len(methods) + len(tuned) * max(0, len(row.swept) - 1)))

    def trained(runs: list[Run], low: float, high: float) -> dict[Run, StageCurves]:
        def tell(share: float) -> None:
            if progress is not None:
                progress(low + (high - low) * share)

        return train_or_read(row.transformer, runs, device=device, store=store, progress=tell)

    tried = trained([(lr, row.selection_seed, method) for lr in row.lrs for method in tuned], 0.0, first)
    selection = np.array([[tried[lr, row.selection_seed, m].final[0] for m in tuned] for lr in row.lrs])  # (R, K)
    best = dict(zip(tuned, np.array(row.lrs)[selection.argmin(axis=0)].tolist(), strict=True))
    copied = best["stacking"] if "stacking" in tuned else float(stacking_lr or 0)  # 0: there is nothing to copy
    chosen = {method: best.get(method, copied) for method in methods}
    reported = [
        (lr, seed, method)
        for seed in row.seeds
        for lr in row.lrs
        for method in methods
        if chosen[method] == lr or (lr in row.swept and method in tuned)
    ]
    curves = trained(reported, first, 1.0)
    picked = [[curves[chosen[method], seed, method] for seed in row.seeds] for method in methods]  # M lists of S
    sweep = [[[curves[lr, seed, m].final[0] for seed in row.seeds] for m in tuned] for lr in row.swept]
    steps = picked[0][0].steps
    return StageComparison(
        preset=name,
        settings=row.transformer,
        lrs=np.array(row.lrs),
        tuned=tuned,
        selection_seed=row.selection_seed,
        selection=selection,
        methods=methods,
        chosen=np.array(list(chosen.values())),
        seeds=tuple(row.seeds),
        steps=steps,
        stage=picked[0][0].stage,
        curves=np.moveaxis(np.array([[run.losses[:, 0] for run in runs] for runs in picked]), -1, 0),
        final=np.array([[run.final[0] for run in runs] for runs in picked]),
        betas=np.moveaxis(np.array([[run.betas[:, 0] for run in runs] for runs in picked]), -1, 0),
        swept=np.array(row.swept, dtype=float),
        sweep=np.array(sweep, dtype=float).reshape(len(row.swept), len(tuned), len(row.seeds)),
    )
