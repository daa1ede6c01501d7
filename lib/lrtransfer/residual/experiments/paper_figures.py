"""Every figure of the paper with an experiment in it: its setting, what stands for it in the chapter, what differs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from lrtransfer.numerics.arguments import choice


@dataclass(frozen=True)
class PaperFigure:
    """A figure, or panels of one.

    Attributes
    ----------
    name : str
        Such as "1a".
    setting : str
        What the paper's text states of it.
    ours, differs : str
        What the chapter trains in its place, and what is not the same; empty ``ours`` where nothing was trained.
    claim : str
        The claim of the ledger that judges it.
    """

    name: str
    setting: str
    ours: str
    differs: str
    claim: str

    @property
    def command(self) -> str:
        """The line that trains it at the paper's own scale, on a machine with a GPU."""
        return " && ".join(f"lrtransfer sweep {name}" for name in _FILES[self.name])

    def verdict(self, verdicts: Mapping[str, str]) -> str:
        """The verdict of the claim, or that nothing was run.

        Parameters
        ----------
        verdicts : mapping
            Verdict of every claim, by its id.

        Returns
        -------
        str
            "not resolved: not run here" for a figure without a run.

        Raises
        ------
        ValueError
            Where ``verdicts`` lacks the claim.
        """
        found = verdicts[choice("claim", self.claim, tuple(verdicts))]
        return found if self.ours else "not resolved: not run here"


# The settings files of a figure.
_FILES = {
    "1a": ("fig1",),
    "1b": ("fig1",),
    "2": ("fig2",),
    "3a-c": ("fig3a", "fig3b", "fig3c"),
    "3d": ("fig3d",),
    "3e, 3f": ("fig3e", "fig3f"),
    "4": ("fig4",),
    "5": ("fig5",),
    "B.1": ("figB1",),
    "B.2": ("figB2",),
    "B.4": ("figB4",),
    "B.6": ("figB6",),
    "B.7": ("figB7",),
}
_SMALL = "images, size, steps"
PAPER_FIGURES = (
    PaperFigure(
        "1a",
        "CIFAR-10, one convolution a block, SGD, 20 epochs, `mup`",
        "MLP and convolutions on digits, over depth and width",
        _SMALL,
        "residual.mup-depth-fails",
    ),
    PaperFigure(
        "1b",
        "the same with branches over √L",
        "the same; one MLP sweep with 36 recorded seeds",
        _SMALL,
        "residual.sqrt-depth-transfers",
    ),
    PaperFigure(
        "2",
        "CIFAR-10, two convolutions a block, BatchNorm",
        "two convolutions a block on digits, BatchNorm; recipe for 312 updates",
        _SMALL,
        "residual.normalisation",
    ),
    PaperFigure(
        "3a-c",
        "ViT on Tiny ImageNet, Adam, warm-up, LayerNorm or none",
        "ViT on digits in four patches, Adam, warm-up; seven recipes for 600 updates on colour patches",
        f"{_SMALL}; which panel shows which setting is our reading",
        "residual.vit",
    ),
    PaperFigure(
        "3d",
        "warm-up and cosine decay",
        "the ViT and the MLP on digits under both schedules",
        _SMALL,
        "residual.schedules",
    ),
    PaperFigure("3e, 3f", "ViT on ImageNet, over depth and width", "", "settings files only", "residual.scale-up"),
    PaperFigure(
        "4",
        "CIFAR-10, convolutions: momentum, weight decay, γ₀, curves over depth",
        "MLPs on digits, the same hyperparameters and curves; 300 and, for weight decay, 3000 recorded updates",
        f"{_SMALL}, network",
        "residual.other-hps",
    ),
    PaperFigure(
        "5",
        "convergence over width and depth on CIFAR-10",
        "linear, ReLU and tanh networks on one input against their limits",
        "task: one input, known limits",
        "residual.limit",
    ),
    PaperFigure(
        "B.1",
        "depth against width at a fixed budget, CIFAR-10",
        "six shapes of the MLP on digits, two budgets",
        _SMALL,
        "residual.depth-width-tradeoff",
    ),
    PaperFigure(
        "B.2",
        "CIFAR-10, convolutions, standard parametrisation",
        "MLP and convolutions in `sp`; recorded widths to 1024",
        _SMALL,
        "residual.mup-depth-fails",
    ),
    PaperFigure(
        "B.4",
        "CIFAR-10, two convolutions a block, LayerNorm",
        "two convolutions a block on digits, LayerNorm",
        _SMALL,
        "residual.normalisation",
    ),
    PaperFigure("B.6", "ResNets with BatchNorm on ImageNet", "", "settings file only", "residual.scale-up"),
    PaperFigure(
        "B.7",
        "finite-size error of kernels, widths crossed with depths",
        "kernels of linear and ReLU networks against their limits",
        "task: one input, known limits",
        "residual.limit",
    ),
)
