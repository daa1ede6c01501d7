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

from lrtransfer.numerics.arguments import choice, count, refuse
from lrtransfer.numerics.arrays import Array
from lrtransfer.residual.networks.shared_settings import ACTIVATIONS, NetworkSettings
from lrtransfer.sweeps.task_registry import settings_from


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
    """The paper's convolutional residual network: a 3 x 3 stem, then one 3 x 3 convolution a block, no normalisation.

    Other fields: ``NetworkSettings``.

    Parameters
    ----------
    width
        N, the number of channels
    readout
        "flatten" reads every position by weights of its own, "pool" the mean over positions
    stem_stride
        the stem halves (2) or keeps (1) the image

    References
    ----------
    Sec. 3 and Figs. 1, 4, B.1, B.2 of the paper.
    """

    kind: ClassVar[str] = "conv"


@dataclass(frozen=True)
class ResNet(_Images):
    """The practical residual network: two 3 x 3 convolutions a block, each with a normalisation after it.

    Other fields: ``ConvNet`` and ``NetworkSettings``.

    Parameters
    ----------
    norm
        "batch" (statistics of the batch at hand, at evaluation those of the evaluation points), "layer" (over channels,
        at every position) or None
    affine
        whether every normalisation has a gain and a bias
    readout, stem_stride
        as in ``ConvNet``

    References
    ----------
    Sec. 3 and Figs. 2, B.4, B.6 of the paper.
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

    Logits of the attention are q.k / d_head. The readout reads the mean token. Trained by Adam with a warm-up unless
    told otherwise. Other fields: ``NetworkSettings``.

    Parameters
    ----------
    patch
        side of a square patch in pixels, one token each
    heads
        of the attention, a divisor of the width N
    mlp_ratio
        hidden width of the MLP branch over N
    norm
        True puts a LayerNorm in front of every branch and of the readout (pre-LN), False leaves them out
    affine
        whether they have gains and biases

    References
    ----------
    Sec. 3 and Fig. 3 of the paper.
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
    """Plain values of all fields: what a file or a store keeps of the settings.

    Parameters
    ----------
    settings
        an object of one of the four classes

    Returns
    -------
    dict
        ``kind`` first.

    Raises
    ------
    ValueError
        for anything else.
    """
    check_settings(settings)
    return {"kind": settings.kind, **asdict(settings)}


def from_dict(fields: Mapping[str, Any]) -> NetworkSettings:
    """The settings with given fields.

    Parameters
    ----------
    fields
        a mapping; ``kind`` names the network, fields left out keep their defaults, and "none" stands for None in
        ``norm`` and ``branch``, for TOML has no word for it

    Returns
    -------
    NetworkSettings
        of the class of that kind.

    Raises
    ------
    ValueError
        for an unknown kind or field, or a value that the field refuses.
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


def schedule_factors(settings: NetworkSettings) -> Array:
    """Rate of every update over the base rate.

    With w = ``warmup_steps`` and T = ``steps``, update t = 0 .. T - 1 has

        (t + 1) / w                                 while t < w, and after that
        1
        (1 + cos(pi (t - w) / (T - w))) / 2         ("warmup_cosine")

    Parameters
    ----------
    settings
        of any kind

    Returns
    -------
    ndarray
        (steps,), from 0 to 1.
    """
    t = np.arange(settings.steps)
    w = settings.warmup_steps
    factors = np.ones(settings.steps)
    if settings.schedule == "warmup_cosine":
        factors = (1 + np.cos(np.pi * (t - w) / max(settings.steps - w, 1))) / 2
    return np.where(t < w, (t + 1) / max(w, 1), factors)
