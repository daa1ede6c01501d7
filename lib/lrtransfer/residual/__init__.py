"""Residual networks trained in four parametrisations: does the best rate survive a change of depth and width?

``parametrisation``: multiplier, initial scale and rate of every layer, with reasons.
``data``: images that need no network. ``network``: many residual MLPs as one batched program.
``training``: settings in, losses out. ``experiments``: what the chapter trains under each preset.

Torch and scikit-learn are imported when something is trained, not before.
"""

from lrtransfer.residual.experiments import (
    DEPTH_PRESETS,
    DepthCurves,
    DepthPreset,
    DepthSweep,
    depth_sweep,
)
from lrtransfer.residual.parametrisation import PARAMETRISATIONS, LayerScale, Scales, layer_scales
from lrtransfer.residual.training import ResidualMLP, final_losses, train_sweep

__all__ = [
    "DEPTH_PRESETS",
    "PARAMETRISATIONS",
    "DepthCurves",
    "DepthPreset",
    "DepthSweep",
    "LayerScale",
    "ResidualMLP",
    "Scales",
    "depth_sweep",
    "final_losses",
    "layer_scales",
    "train_sweep",
]
