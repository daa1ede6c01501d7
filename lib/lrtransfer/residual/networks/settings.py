"""Settings of a training run: a network and how it is trained, all but its rate and its seed.

Four networks, one frozen dataclass each, with the same fields for the scaling and for the training:

    =================  ========  ==================================================================
    class              ``kind``  network
    =================  ========  ==================================================================
    ResidualMLP        "mlp"     one matrix a block (Eq. 1 of the paper)
    ConvNet            "conv"    one 3 x 3 convolution a block, no normalisation (Figs. 1, 4, B.1, B.2)
    ResNet             "resnet"  two convolutions a block, each with a normalisation (Figs. 2, B.4, B.6)
    VisionTransformer  "vit"     attention and MLP branches on patches (Fig. 3)
    =================  ========  ==================================================================

``as_dict`` and ``from_dict`` turn settings into plain values and back, for TOML files and stores.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lrtransfer.images.catalogue import DATASETS, KNOWN
from lrtransfer.numerics.arguments import choice, count, finite, one, refuse
from lrtransfer.residual.networks.parametrisation import check_parametrisation
from lrtransfer.sweeps.tasks import settings_from

ACTIVATIONS = ("relu", "linear", "tanh")
OPTIMISERS = ("sgd", "adam")
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
        "sgd" or "adam" (betas 0.9 and 0.999, epsilon 1e-8)
    momentum
        of SGD, at least 0 and below 1
    weight_decay
        lambda: every weight shrinks by lr * lambda a step at any width and depth (see ``parametrisation``)
    schedule
        "constant", "warmup" (linear over ``warmup_steps``, then constant) or "warmup_cosine" (then a cosine to zero at
        ``steps``)
    warmup_steps
        more than ``steps`` are refused, but for the default of the class, which is cut short
    adam_depth_exponent
        the exponent b of a factor L^-b on Adam's rate in the branches; 0: the paper; 1/2: a later convention
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
    momentum: float = 0.0
    weight_decay: float = 0.0
    schedule: str = "constant"
    warmup_steps: int = 0
    adam_depth_exponent: float = 0.0
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
            self._set(name, count(name, getattr(self, name), minimum=minimum))
        for name in ("warmup_steps", "eval_every", "checkpoint_every"):
            self._set(name, count(name, getattr(self, name)))
        for name in ("momentum", "weight_decay", "adam_depth_exponent"):
            self._set(name, one(name, finite(name, getattr(self, name), minimum=0.0)))
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
        if self.optimiser == "sgd" and self.adam_depth_exponent:
            raise refuse("adam_depth_exponent", self.adam_depth_exponent, "0 for optimiser 'sgd'")
        if self.schedule == "constant" and self.warmup_steps:
            raise refuse("warmup_steps", self.warmup_steps, "0 for schedule 'constant'")
        if self.schedule == "warmup" and not self.warmup_steps:
            raise refuse("warmup_steps", self.warmup_steps, "at least 1 for schedule 'warmup'")
        # A network's own default is cut short by fewer steps: nobody asked for it.
        if self.warmup_steps > self.steps and self.warmup_steps != type(self).warmup_steps:
            raise refuse("warmup_steps", self.warmup_steps, f"at most the {self.steps} steps")

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)


@dataclass(frozen=True)
class ResidualMLP(NetworkSettings):
    """A residual MLP, h^{l+1} = h^l + beta N^-1/2 W^l phi(h^l), and its training. Fields: ``NetworkSettings``.

    References
    ----------
    Eq. 1 of the paper.
    """

    kind: ClassVar[str] = "mlp"


@dataclass(frozen=True)
class _Images(NetworkSettings):
    """A network of convolutions: the fields of ``NetworkSettings`` and those of its two ends."""

    width: int = 16
    steps: int = 60
    batch: int = 64
    readout: str = "flatten"
    stem_stride: int = 2

    def __post_init__(self) -> None:
        super().__post_init__()
        choice("readout", self.readout, ("flatten", "pool"))
        self._set("stem_stride", count("stem_stride", self.stem_stride, minimum=1))


@dataclass(frozen=True)
class ConvNet(_Images):
    """The paper's convolutional residual network: a 3 x 3 stem, then one 3 x 3 convolution a block.

    ``width`` counts channels. ``readout``: "flatten" reads every position by weights of its own, "pool" the
    mean over positions. ``stem_stride``: the stem halves (2) or keeps (1) the image. No normalisation.
    Others: ``NetworkSettings``. Source: Sec. 3 and Figs. 1, 4, B.1, B.2 of the paper.
    """

    kind: ClassVar[str] = "conv"


@dataclass(frozen=True)
class ResNet(_Images):
    """The practical residual network: two 3 x 3 convolutions a block, each with a normalisation after it.

    ``norm``: "batch" (statistics of the batch at hand, at evaluation those of the evaluation points), "layer"
    (over channels, at every position) or None. ``affine``: whether every normalisation has a gain and a bias.
    Others: ``ConvNet``. Source: Sec. 3 and Figs. 2, B.4, B.6 of the paper.
    """

    kind: ClassVar[str] = "resnet"

    norm: str | None = "batch"
    affine: bool = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.norm is not None:
            choice("norm", self.norm, ("batch", "layer"))
        _check_flag("affine", self.affine)


@dataclass(frozen=True)
class VisionTransformer(NetworkSettings):
    """A vision transformer: every block has an attention and an MLP branch, each with the branch multiplier.

    ``patch``: side of a square patch in pixels, one token each. ``heads``: attention heads, a divisor of the
    width N. ``mlp_ratio``: hidden width of the MLP branch over N. ``norm``: True puts a LayerNorm in front of
    every branch and of the readout (pre-LN), False leaves them out; ``affine``: whether they have gains and
    biases. Logits of the attention are q.k / d_head. The readout reads the mean token. Trained by Adam with a
    warm-up unless told otherwise. Others: ``NetworkSettings``. Source: Sec. 3 and Fig. 3 of the paper.
    """

    kind: ClassVar[str] = "vit"
    activations: ClassVar[tuple[str, ...]] = (*ACTIVATIONS, "gelu")

    width: int = 32
    batch: int = 64
    optimiser: str = "adam"
    schedule: str = "warmup"
    warmup_steps: int = 5
    patch: int = 2
    heads: int = 4
    mlp_ratio: int = 4
    norm: bool = True
    affine: bool = True

    def __post_init__(self) -> None:
        for name in ("patch", "heads", "mlp_ratio"):
            self._set(name, count(name, getattr(self, name), minimum=1))
        super().__post_init__()
        if self.width % self.heads:
            raise refuse("heads", self.heads, f"a divisor of the width {self.width}")
        _check_flag("norm", self.norm)
        _check_flag("affine", self.affine)

    def check_images(self, shape: tuple[int, int, int], train: int | None, test: int | None) -> None:
        """Refuse a patch that does not divide the image too."""
        super().check_images(shape, train, test)
        height, width, _ = shape
        if height % self.patch or width % self.patch:
            raise refuse("patch", self.patch, f"a divisor of the {height} x {width} pixels of {self.data!r}")


KINDS: dict[str, type[NetworkSettings]] = {s.kind: s for s in (ResidualMLP, ConvNet, ResNet, VisionTransformer)}


def _check_flag(name: str, value: object) -> None:
    if not isinstance(value, bool):
        raise refuse(name, value, "True or False")


def check_settings(settings: object) -> None:
    """Refuse what is no settings object."""
    if not isinstance(settings, NetworkSettings):
        names = ", ".join(made.__name__ for made in KINDS.values())
        raise refuse("settings", settings, f"an object of one of the classes {names}")


def as_dict(settings: NetworkSettings) -> dict[str, Any]:
    """Plain values of all fields, with ``kind`` first: what a file or a store keeps of the settings."""
    check_settings(settings)
    return {"kind": settings.kind, **asdict(settings)}


def from_dict(fields: Mapping[str, Any]) -> NetworkSettings:
    """The settings with these fields; ``kind`` names the network, fields left out keep their defaults.

    TOML has no None: "none" stands for it in ``norm`` and ``branch``.
    Raises ``ValueError`` for an unknown kind or field, or a value that the field refuses.
    """
    if not isinstance(fields, Mapping):
        raise refuse("fields", fields, "a mapping from the names of fields to their values")
    values = dict(fields)
    made = KINDS[choice("kind", values.pop("kind", None), tuple(KINDS))]
    return settings_from(made, values)


def evaluation_steps(settings: NetworkSettings) -> NDArray[np.int64]:
    """Numbers of updates after which the loss is measured: see ``eval_every``.

    Parameters
    ----------
    settings
        of any kind

    Returns
    -------
    ndarray
        (evaluations,), increasing, ``steps`` last.
    """
    if settings.eval_every == 0:
        return np.array([settings.steps])
    regular = np.arange(0, settings.steps, settings.eval_every)
    return np.append(regular, settings.steps)


def schedule_factors(settings: NetworkSettings) -> NDArray[np.float64]:
    r"""Rate of every update over the base rate, shape (steps,).

    With w = ``warmup_steps`` and T = ``steps``, update t = 0 .. T - 1 has (t + 1) / w while t < w; after that
    1, or (1 + cos(pi (t - w) / (T - w))) / 2 for "warmup_cosine".
    """
    t = np.arange(settings.steps)
    w = settings.warmup_steps
    factors = np.ones(settings.steps)
    if settings.schedule == "warmup_cosine":
        factors = (1 + np.cos(np.pi * (t - w) / max(settings.steps - w, 1))) / 2
    return np.where(t < w, (t + 1) / max(w, 1), factors)
