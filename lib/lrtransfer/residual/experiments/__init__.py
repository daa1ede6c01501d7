"""The experiments of the chapter: what each preset trains, and the functions that train it.

``families`` trains one network at several sizes; ``plans`` lists what every figure trains, for every preset, and
``depth`` what the opening one does. ``measures`` reads means, errors and distances off the runs. ``blocks`` measures
what the residual blocks contribute, ``resume`` stops a sweep half way and goes on with it.
"""

from lrtransfer.fits import power_by_seed as power
from lrtransfer.residual.experiments.blocks import BlockWork, InnerWork, block_work, inner_work
from lrtransfer.residual.experiments.depth import depth_families
from lrtransfer.residual.experiments.families import (
    Family,
    FamilyResult,
    optima_row,
    optimum_text,
    train,
    train_values,
)
from lrtransfer.residual.experiments.measures import (
    between_depths,
    changes_of,
    further,
    gains,
    in_errors,
    mean_and_error,
)
from lrtransfer.residual.experiments.plans import THEMES, plan
from lrtransfer.residual.experiments.resume import StopsAfter

__all__ = [
    "THEMES",
    "BlockWork",
    "Family",
    "FamilyResult",
    "InnerWork",
    "StopsAfter",
    "between_depths",
    "block_work",
    "changes_of",
    "depth_families",
    "further",
    "gains",
    "in_errors",
    "inner_work",
    "mean_and_error",
    "optima_row",
    "optimum_text",
    "plan",
    "power",
    "train",
    "train_values",
]
