"""The experiments of the chapter: what each preset trains, and the functions that train it.

``depth`` has the opening figure. ``families`` trains one network at several sizes; ``plans`` lists what every figure
trains, for every preset. ``blocks`` measures what the residual blocks contribute, ``resume`` stops a sweep half way
and goes on with it.
"""

from lrtransfer.residual.experiments.blocks import BlockWork, InnerWork, block_work, inner_work, power
from lrtransfer.residual.experiments.depth import (
    DEPTH_PRESETS,
    DepthCurves,
    DepthPreset,
    DepthSweep,
    depth_sweep,
)
from lrtransfer.residual.experiments.families import (
    Family,
    FamilyResult,
    optima_row,
    optimum_text,
    train,
    train_values,
)
from lrtransfer.residual.experiments.plans import THEMES, plan
from lrtransfer.residual.experiments.resume import StopsAfter

__all__ = [
    "DEPTH_PRESETS",
    "THEMES",
    "BlockWork",
    "DepthCurves",
    "DepthPreset",
    "DepthSweep",
    "Family",
    "FamilyResult",
    "InnerWork",
    "StopsAfter",
    "block_work",
    "depth_sweep",
    "inner_work",
    "optima_row",
    "optimum_text",
    "plan",
    "power",
    "train",
    "train_values",
]
