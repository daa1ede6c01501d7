"""A small transformer trained stage by stage: a new block on top at every stage, started in several ways.

One stage trains a bidirectional transformer on masked characters; the next puts a block on top and trains on.
What differs between the methods is how the new block starts. Everything else is common to them: the weights
before the first stage, the draws of new blocks, windows, masks, and the whole first stage.

``transformer_network`` has the network; here are settings in, learning curves out. Torch is imported when something
is trained, not before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from lrtransfer.numerics.arguments import choice, count, finite, one, positive, refuse
from lrtransfer.stages.transformer.text import (
    MaskedBatches,
    Text,
    final_batches,
    held_out_batch,
    masked_batches,
    topics,
    topics_digest,
)

Array = NDArray[np.float64]
STARTS = ("random", "zero", "stacking")


@dataclass(frozen=True)
class Growth:
    """How a new block starts: ``start`` "random", "zero" or "stacking", and a scalar on its output.

    "random": drawn like the first block. "zero": drawn so too, then its two output projections (attention, MLP)
    set to zero, so that f = 0. "stacking": a copy of the top block. ``beta``: None, or a number that multiplies f
    of the new block; ``train_beta``: whether it is trained with the rest.

    When stacking copies a block that has a scalar b of its own, the new one starts at beta b: f_{t+1} = beta f_t,
    as the theory has it, and not f_{t+1} = f_t beta / b. The first block has no scalar.
    """

    start: str
    beta: float | None = None
    train_beta: bool = True

    def __post_init__(self) -> None:
        choice("start", self.start, STARTS)
        if self.beta is not None:
            object.__setattr__(self, "beta", one("beta", finite("beta", self.beta)))


METHODS = {
    "random": Growth("random"),
    "zero": Growth("zero"),
    "stacking": Growth("stacking"),
    "beta 0.99": Growth("stacking", beta=0.99),
    "beta 0.9": Growth("stacking", beta=0.9),
}


@dataclass(frozen=True)
class StagedTransformer:
    """A transformer, its stages and their training: all a run depends on but its method, rate and seed.

    ``width`` n, ``heads`` H (a divisor of n), ``hidden`` the MLP's width in multiples of n, ``stages`` (one block
    each), ``steps`` updates a stage, ``batch`` windows of ``length`` characters, ``mask`` the share hidden.
    ``weight_decay`` of AdamW on matrices, in units of the rate; ``warmup`` steps of linearly rising rate at the
    start of every stage, constant after; ``trained`` "all" layers, as in practice, or only the "new" block (from
    stage two on; block one is trained with embedding and read-out).
    ``optimiser_state``, what becomes of AdamW's moments at a stage's end: "keep" them for the old weights and
    start the new block's from zero, or "reset" all of them. The copy of a block never copies its moments.
    ``eval_every``: steps between evaluations, on ``eval_windows`` held-out windows; ``final_share``: of the
    held-out characters, those whose prediction counts for the final loss.

    Raises ``ValueError`` naming the field, at construction.
    """

    width: int = 64
    heads: int = 4
    hidden: int = 2
    stages: int = 4
    steps: int = 1000
    batch: int = 16
    length: int = 16
    mask: float = 0.15
    weight_decay: float = 0.01
    warmup: int = 50
    trained: str = "all"
    optimiser_state: str = "keep"
    eval_every: int = 50
    eval_windows: int = 512
    final_share: float = 1.0

    def __post_init__(self) -> None:
        choice("trained", self.trained, ("all", "new"))
        choice("optimiser_state", self.optimiser_state, ("keep", "reset"))
        for name in ("width", "heads", "hidden", "stages", "steps", "batch", "length", "eval_every", "eval_windows"):
            object.__setattr__(self, name, count(name, getattr(self, name), minimum=1))
        object.__setattr__(self, "warmup", count("warmup", self.warmup))
        object.__setattr__(
            self, "weight_decay", one("weight_decay", finite("weight_decay", self.weight_decay, minimum=0.0))
        )
        object.__setattr__(self, "mask", one("mask", positive("mask", self.mask)))
        object.__setattr__(self, "final_share", one("final_share", positive("final_share", self.final_share)))
        for name in ("mask", "final_share"):
            if getattr(self, name) > 1:
                raise refuse(name, getattr(self, name), "a share above 0 and at most 1")
        if self.width % self.heads:
            raise refuse("heads", self.heads, f"a divisor of width, {self.width}")


@dataclass(frozen=True)
class GrownTransformer(StagedTransformer):
    """A ``StagedTransformer`` and one method: all a run depends on but its rate and seed, for the sweeps.

    ``start``, ``beta``, ``train_beta``: as in ``Growth``. ``text``: a digest of the text, that of this Python's
    ``topics`` unless given.

    Raises ``ValueError`` naming the field, at construction.
    """

    kind: ClassVar[str] = "staged"

    start: str = "random"
    beta: float | None = None
    train_beta: bool = True
    text: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "beta", self.growth.beta)
        object.__setattr__(self, "text", self.text or topics_digest())

    @property
    def growth(self) -> Growth:
        """The method."""
        return Growth(self.start, self.beta, self.train_beta)

    @property
    def network(self) -> StagedTransformer:
        """What is common to all methods."""
        return StagedTransformer(**{field.name: getattr(self, field.name) for field in fields(StagedTransformer)})


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
    methods: Mapping[str, Growth] | Sequence[str] = tuple(METHODS),
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
    from lrtransfer.sweeps.devices import resolve_device

    growths = list(checked_methods({str(place): growth for place, (_, _, growth) in enumerate(runs)}).values())
    pairs = [(one("lr", positive("lr", lr)), count("seed", seed)) for lr, seed, _ in runs]
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


def evaluated_at(settings: StagedTransformer) -> list[int]:
    """Updates within a stage after which the loss is measured."""
    return sorted({*range(0, settings.steps, settings.eval_every), settings.steps})


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
