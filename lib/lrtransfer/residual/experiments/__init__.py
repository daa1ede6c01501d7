"""The experiments of the chapter: what each preset trains, and the functions that train it.

``families`` trains one network at several sizes; ``plans`` lists what every figure trains, for every preset, and
``depth`` what the opening one does. ``measures`` reads moves, gains and distances off the runs, ``verdicts`` is the
rule by which a bound holds, fails or is not resolved. ``blocks`` measures what the residual blocks contribute,
``built`` reads Table 1 off a network, ``resume`` stops a sweep half way and goes on with it.
"""

from lrtransfer.numerics.fits import power_by_seed as power
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
from lrtransfer.residual.experiments.interrupted import StopsAfter
from lrtransfer.residual.experiments.measures import (
    between_depths,
    changes_of,
    further,
    gain,
    move,
    widest,
)
from lrtransfer.residual.experiments.plans import THEMES, plan
from lrtransfer.residual.experiments.table1 import built_row, symbol_values

__all__ = [
    "THEMES",
    "BlockWork",
    "Family",
    "FamilyResult",
    "InnerWork",
    "StopsAfter",
    "between_depths",
    "block_work",
    "built_row",
    "changes_of",
    "depth_families",
    "further",
    "gain",
    "inner_work",
    "move",
    "optima_row",
    "optimum_text",
    "plan",
    "power",
    "symbol_values",
    "train",
    "train_values",
    "widest",
]
