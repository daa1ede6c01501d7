"""The fields that the settings of all networks share, and what they may be."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from lrtransfer.images.catalogue import DATASETS, KNOWN
from lrtransfer.numerics.arguments import choice, count, finite, one, positive, refuse
from lrtransfer.residual.networks.parametrisation import check_parametrisation
from lrtransfer.sweeps.optimisers import EPSILON

ACTIVATIONS = ("relu", "linear", "tanh")
OPTIMISERS = ("sgd", "adam")
MOST_UNITS, MOST_STEPS = 10**6, 10**9  # of width and depth, of steps and images: no machine holds more
SCHEDULES = ("constant", "warmup", "warmup_cosine")


@dataclass(frozen=True)
class NetworkSettings:
    """What the settings of all networks share, for training on cross-entropy; use one of its four subclasses.

    Parameters
    ----------
    width, depth
        N, and L, the number of blocks
    parametrisation
        "sp", "ntp", "mup" or "mup_sqrt_depth"; symbols: ``lrtransfer.residual.networks.parametrisation``
    activation
        "relu", "linear" or "tanh" ("gelu" too in a transformer)
    gamma0
        gamma_0, 1 for sp and ntp
    branch
        the exponent a of the branch multiplier L^-a; None: the parametrisation's own
    steps, batch
        the number of updates, and the images a minibatch
    data
        the data set's name
    eval_points, eval_split
        the loss is measured on the first so many images of "train" (as in the paper's sweeps) or "test" (held out)
    optimiser
        "sgd" or "adam" (betas 0.9 and 0.999)
    adam_epsilon
        epsilon of Adam, added to the root of the second moment, in units of the gradient of a weight as it is stored
    momentum
        of SGD, at least 0 and below 1
    weight_decay
        lambda: every weight shrinks by lr * lambda a step at any width and depth (see ``parametrisation``)
    schedule
        "constant", "warmup" (linear over ``warmup_steps``, then constant) or "warmup_cosine" (then a cosine to zero at
        ``steps``)
    warmup_steps
        more than ``steps`` are refused, but for the default of the class, which is cut short
    block_rate
        the exponent c of a factor L^c on the rate of all that lies in the blocks, under either optimiser; 0: the paper;
        -1/2: a later convention for Adam; 1 with ``branch`` 1 under SGD: the learning of 1/sqrt(L) without its noise
    eval_every
        updates between two measurements, besides those at the start and at the end; 0 measures at the end only
    checkpoint_every
        updates between two checkpoints of ``train_runs``, 0 for none but the last

    Raises
    ------
    ValueError
        naming the field, at construction.
    """

    kind: ClassVar[str] = ""
    activations: ClassVar[tuple[str, ...]] = ACTIVATIONS

    width: int = 64
    depth: int = 6
    parametrisation: str = "mup_sqrt_depth"
    activation: str = "relu"
    gamma0: float = 1.0
    branch: float | None = None
    steps: int = 40
    batch: int = 128
    data: str = "digits"
    eval_points: int = 600
    eval_split: str = "train"
    optimiser: str = "sgd"
    adam_epsilon: float = EPSILON
    momentum: float = 0.0
    weight_decay: float = 0.0
    schedule: str = "constant"
    warmup_steps: int = 0
    block_rate: float = 0.0
    eval_every: int = 1
    checkpoint_every: int = 500

    def __post_init__(self) -> None:
        if not self.kind:
            raise TypeError("NetworkSettings has no network; use ResidualMLP, ConvNet, ResNet or VisionTransformer.")
        check_parametrisation(self.parametrisation, self.gamma0, self.branch)
        choice("activation", self.activation, self.activations)
        choice("data", self.data, DATASETS)
        choice("eval_split", self.eval_split, ("train", "test"))
        choice("optimiser", self.optimiser, OPTIMISERS)
        choice("schedule", self.schedule, SCHEDULES)
        # Plain numbers only, so that equal settings compare, print and hash alike (16, 16.0, numpy's 16).
        for name, minimum in (("width", 1), ("depth", 1), ("steps", 0), ("batch", 1), ("eval_points", 1)):
            most = MOST_UNITS if name in ("width", "depth") else MOST_STEPS
            self._set(name, count(name, getattr(self, name), minimum=minimum, maximum=most))
        for name in ("warmup_steps", "eval_every", "checkpoint_every"):
            self._set(name, count(name, getattr(self, name)))
        for name, least in (("momentum", 0.0), ("weight_decay", 0.0), ("block_rate", None)):
            self._set(name, one(name, finite(name, getattr(self, name), minimum=least)))
        self._set("adam_epsilon", one("adam_epsilon", positive("adam_epsilon", self.adam_epsilon)))
        self._set("gamma0", float(self.gamma0))
        self._set("branch", None if self.branch is None else float(self.branch))
        self._check_training()
        self.check_images(*KNOWN[self.data])

    def check_images(self, shape: tuple[int, int, int], train: int | None, test: int | None) -> None:
        """Refuse more images than these ``train`` and ``test`` (None: not known); transformers check ``shape`` too."""
        if train is not None and self.batch > train:
            raise refuse("batch", self.batch, f"at most the {train} training images of {self.data!r}")
        points = train if self.eval_split == "train" else test
        if points is not None and self.eval_points > points:
            allowed = f"at most the {points} {self.eval_split} images of {self.data!r}"
            raise refuse("eval_points", self.eval_points, allowed)

    def _check_training(self) -> None:
        """Refuse settings that would set nothing, or that contradict each other."""
        if self.momentum >= 1:
            raise refuse("momentum", self.momentum, "at least 0 and below 1")
        if self.optimiser == "adam" and self.momentum:
            raise refuse("momentum", self.momentum, "0 for optimiser 'adam', which has its own")
        if self.optimiser == "sgd" and self.adam_epsilon != EPSILON:
            raise refuse(
                "adam_epsilon", self.adam_epsilon, f"its default {EPSILON:g} for optimiser 'sgd', which has none"
            )
        if self.schedule == "constant" and self.warmup_steps:
            raise refuse("warmup_steps", self.warmup_steps, "0 for schedule 'constant'")
        if self.schedule == "warmup" and not self.warmup_steps:
            raise refuse("warmup_steps", self.warmup_steps, "at least 1 for schedule 'warmup'")
        # A network's own default is cut short by fewer steps: nobody asked for it.
        if self.warmup_steps > self.steps and self.warmup_steps != type(self).warmup_steps:
            raise refuse("warmup_steps", self.warmup_steps, f"at most the {self.steps} steps")

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)
