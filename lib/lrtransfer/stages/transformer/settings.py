"""Settings of a small transformer trained stage by stage: a new block on top at every stage, started in several ways.

One stage trains a bidirectional transformer on masked characters; the next puts a block on top and trains on.
What differs between the methods is how the new block starts. Everything else is common to them: the weights
before the first stage, the draws of new blocks, windows, masks, and the whole first stage.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import ClassVar

from lrtransfer.numerics.arguments import choice, count, finite, one, positive, refuse
from lrtransfer.stages.transformer.text import topics_digest

STARTS = ("random", "zero", "stacking", "silent")
COPIES, SILENT = ("stacking", "silent"), ("zero", "silent")  # weights of the top block; output projections at zero
FACTORS = ("times parent's", "given", "parent's")


@dataclass(frozen=True)
class Growth:
    """How a new block starts: its weights by ``start``, a scalar on its output, and a skip past it.

    ``start``: "random", drawn like the first block; "zero", drawn so too, then its two output projections (attention,
    MLP) set to zero, so that f = 0; "stacking", a copy of the top block; "silent", such a copy with the two output
    projections set to zero, so that f = 0 again.

    ``beta``: None, or a number that the scalar on f of the new block starts from; ``train_beta``: whether it is
    trained with the rest. ``factor`` says what a scalar starts at in stage three and later, where the block copied,
    the parent, has one of its own, b:

        "times parent's"   beta b: f_{t+1} = beta f_t, as the theory has it
        "given"            beta, whatever b is
        "parent's"         b, which training has moved from beta: the copy is exact from stage three on

    In stage two the parent is the first block, which has no scalar, and all three start at beta.

    ``skip``: a fixed number s that stays in the network, F_{t+1} = F_t + f_{t+1}(F_t) + s (F_t - F_{t-1}) for the
    residual stream F_t after t blocks, as both are at the time. With ``start`` "zero" the stage begins at
    F_t + s (F_t - F_{t-1}), where a step of Nesterov's method with momentum s does: a Nesterov start.
    ``still``: True to divide the last move, F_t - F_{t-1}, by 1 + s as the skip comes, through scalars that are not
    trained: then F_t + s (F_t - F_{t-1}) is the old F_t, and the network has the skip without the move.
    """

    start: str
    beta: float | None = None
    train_beta: bool = True
    factor: str = FACTORS[0]
    skip: float = 0.0
    still: bool = False

    def __post_init__(self) -> None:
        choice("start", self.start, STARTS)
        choice("factor", self.factor, FACTORS)
        if self.beta is not None:
            object.__setattr__(self, "beta", one("beta", finite("beta", self.beta)))
        object.__setattr__(self, "skip", one("skip", finite("skip", self.skip)))
        if self.still and (self.skip <= -1 or self.beta is not None):
            raise refuse("still", self.still, "False where skip is -1 or less, or beta is given")


METHODS = {
    "random": Growth("random"),
    "zero": Growth("zero"),
    "stacking": Growth("stacking"),
    "beta 0.99": Growth("stacking", beta=0.99),
    "beta 0.9": Growth("stacking", beta=0.9),
    "silent": Growth("silent"),
    "nesterov 1": Growth("zero", skip=1.0),
    "nesterov 0.9": Growth("zero", skip=0.9),
    "beta 0.9, given": Growth("stacking", beta=0.9, factor="given"),
    "beta 0.9, parent's": Growth("stacking", beta=0.9, factor="parent's"),
    "still 0.9": Growth("zero", skip=0.9, still=True),
}
COMPARED, LATER = tuple(METHODS)[:5], tuple(METHODS)[5:10]
"""The methods of the first comparison, and those of the second."""


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

    ``start``, ``beta``, ``train_beta``, ``factor``, ``skip``, ``still``: as in ``Growth``. ``text``: a digest of the
    text, that of this Python's ``topics`` unless given.

    Raises ``ValueError`` naming the field, at construction.
    """

    kind: ClassVar[str] = "staged"

    start: str = "random"
    beta: float | None = None
    train_beta: bool = True
    text: str = ""
    factor: str = FACTORS[0]
    skip: float = 0.0
    still: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "beta", self.growth.beta)
        object.__setattr__(self, "skip", self.growth.skip)
        object.__setattr__(self, "text", self.text or topics_digest())

    @property
    def growth(self) -> Growth:
        """The method."""
        return Growth(self.start, self.beta, self.train_beta, self.factor, self.skip, self.still)

    @property
    def network(self) -> StagedTransformer:
        """What is common to all methods."""
        return StagedTransformer(**{field.name: getattr(self, field.name) for field in fields(StagedTransformer)})


def evaluated_at(settings: StagedTransformer) -> list[int]:
    """Updates within a stage after which the loss is measured."""
    return sorted({*range(0, settings.steps, settings.eval_every), settings.steps})
