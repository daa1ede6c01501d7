"""The transformer trained stage by stage: settings in, learning curves out.

Torch is imported when something is trained, not before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from lrtransfer.numerics.arguments import MOST_SEED, choice, count, one, positive, refuse
from lrtransfer.numerics.arrays import Array
from lrtransfer.stages.transformer.settings import COMPARED, METHODS, Growth, StagedTransformer, evaluated_at
from lrtransfer.stages.transformer.text import (
    MaskedBatches,
    Text,
    final_batches,
    held_out_batch,
    masked_batches,
    topics,
)
from lrtransfer.sweeps.devices import resolve_device


@dataclass(frozen=True)
class StageCurves:
    """Learning curves of several methods at one rate and seed. E evaluations, M methods.

    ``methods`` their names; ``steps`` (E,) updates done and ``stage`` (E,) the stage, from 1, at each evaluation:
    at a boundary there are two, before and after the new block arrives; ``losses`` (E, M) cross-entropy in nats a
    hidden character, on some held-out windows, inf once diverged; ``betas`` (stages, M) the scalars of the blocks at
    the end (1 where there is none, inf once diverged); ``final`` (M,) the loss after the last update over the
    whole held-out text or a share of it (``text.final_batches``).
    """

    methods: tuple[str, ...]
    steps: NDArray[np.int64]
    stage: NDArray[np.int64]
    losses: Array
    betas: Array
    final: Array


def train_stages(
    settings: StagedTransformer,
    lr: float,
    seed: int,
    *,
    methods: Mapping[str, Growth] | Sequence[str] = COMPARED,
    device: str = "auto",
    text: Text | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> StageCurves:
    """Train the transformer stage by stage with every method and return the held-out learning curves.

    ``lr``: AdamW's rate, positive. ``seed``: a whole number from 0; it fixes the first weights, the random draws
    for new blocks, windows and masks, for all methods and rates alike (common random numbers). ``methods``: names
    from ``METHODS``, or a mapping from names of your own to ``Growth``. ``device``: "auto" (cuda, else mps, else
    cpu), "cpu", "cuda" or "mps". ``text``: what to read, ``topics()`` by default. ``progress(done, total)`` is
    called at every evaluation, in updates of a run.

    The first stage is the same for all methods and is trained once; each method goes on from a copy. On a CPU equal
    arguments give the same result to the last bit, with equal versions and thread count.

    Returns ``StageCurves``. Raises ``ValueError`` for bad arguments or a device that this machine lacks.
    Source: Figs. 1, 2 and 7 of the paper, in small.
    """
    growths = checked_methods(methods)
    runs = [(lr, seed, growth) for growth in growths.values()]
    return StageCurves(tuple(growths), *train_runs(settings, runs, device=device, text=text, progress=progress))


def train_runs(
    settings: StagedTransformer,
    runs: Sequence[tuple[float, int, Growth]],
    *,
    device: str = "auto",
    text: Text | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64], Array, Array, Array]:
    """Train several runs, each of a rate, a seed and a method, as one program.

    Returns ``steps`` (E,), ``stage`` (E,), ``losses`` (E, runs), ``betas`` (stages, runs) and ``final`` (runs,), as in
    ``StageCurves``.
    Other arguments and errors as in ``train_stages``. Small networks gain by it: ``task.StagedTask.groups``.
    """
    growths = list(checked_methods({str(place): growth for place, (_, _, growth) in enumerate(runs)}).values())
    pairs = [(one("lr", positive("lr", lr)), count("seed", seed, maximum=MOST_SEED)) for lr, seed, _ in runs]
    where = resolve_device(device)  # says what to do where torch is missing
    from lrtransfer.stages.transformer.network import Stack

    text = topics() if text is None else text
    check = held_out_batch(text.held_out, settings.eval_windows, settings.length, mask=settings.mask)
    at = evaluated_at(settings)

    def tell(updates: int) -> None:
        if progress is not None:
            progress(s * settings.steps + updates, settings.stages * settings.steps)

    first = list(dict.fromkeys(pairs))  # the first stage has no method yet
    stack = Stack(settings, [lr for lr, _ in first], [seed for _, seed in first], text, where)
    losses = []
    for s in range(settings.stages):
        if s == 1:
            stack = stack.take([first.index(pair) for pair in pairs])
        if s:
            stack.grow(growths)
        batches = {seed: training_batches(settings, text, seed, s) for _, seed in first}
        losses.append(stack.stage(batches, check, at, tell))
    spread = [first.index(pair) for pair in pairs]
    losses[0] = losses[0][:, spread]
    final = stack.evaluate(
        final_batches(text.held_out, settings.length, mask=settings.mask, share=settings.final_share)
    )
    betas = stack.betas()
    if settings.stages == 1:
        final, betas = final[spread], betas[:, spread]
    stage = np.repeat(np.arange(1, settings.stages + 1), len(at))
    steps = np.concatenate([s * settings.steps + np.array(at) for s in range(settings.stages)])
    return steps, stage, np.concatenate(losses), betas, final


def training_batches(settings: StagedTransformer, text: Text, seed: int, stage: int) -> MaskedBatches:
    """What a seed reads in a stage, 0, 1, ..; the same for all rates and methods."""
    s = settings
    return masked_batches(text.train, s.steps, s.batch, s.length, seed=seed, part=stage, mask=s.mask)


def checked_methods(methods: Mapping[str, Growth] | Sequence[str]) -> dict[str, Growth]:
    """The methods as a mapping from names to ``Growth``; ``ValueError`` for an unknown name or none at all."""
    if isinstance(methods, Mapping):
        chosen = dict(methods)
    elif isinstance(methods, str):
        chosen = {methods: METHODS[choice("methods", methods, tuple(METHODS))]}
    else:
        chosen = {name: METHODS[choice("methods", name, tuple(METHODS))] for name in methods}
    if not chosen or not all(isinstance(growth, Growth) for growth in chosen.values()):
        raise refuse("methods", methods, "one or more names of METHODS, or a mapping from names to Growth")
    return chosen
