"""The experiments of the chapter: what each preset trains, and the functions that train it.

``families``: one network at several sizes, trained; ``plans`` lists what every figure trains, for every preset, and
``first_figure`` what the opening one does. ``readings`` reads moves, gains, exponents and distances off the runs, and
``recorded_optima`` off recorded ones. ``table1``: Table 1 read off networks that are built. ``blocks``: what the
residual blocks contribute; ``block_scalings``: multipliers and block rates under SGD and Adam. ``shapes``: wide against
deep at one budget. ``coordinates_against_sweeps``: what two small steps predict of a sweep. ``limits``: trained
networks beside their limit.
``miniatures``: the settings files in miniature, and a sweep that is ``interrupted`` and goes on. ``paper_figures``:
every figure of the paper and what stands for it.
"""

from lrtransfer.residual.experiments.block_scalings import WAYS, Way, WayResult, compare_ways
from lrtransfer.residual.experiments.blocks import (
    BlockWork,
    InnerWork,
    block_work,
    gradient_sizes,
    inner_work,
)
from lrtransfer.residual.experiments.coordinates_against_sweeps import CheckedFamily, checks_against_sweeps
from lrtransfer.residual.experiments.families import (
    Family,
    FamilyResult,
    further,
    optima_row,
    optimum_text,
    train,
    train_values,
)
from lrtransfer.residual.experiments.first_figure import depth_families
from lrtransfer.residual.experiments.interrupted import StopsAfter
from lrtransfer.residual.experiments.limits import away_from, compare_lazy, feature_sizes
from lrtransfer.residual.experiments.miniatures import miniature, settings_files, stop_and_resume
from lrtransfer.residual.experiments.paper_figures import PAPER_FIGURES, PaperFigure
from lrtransfer.residual.experiments.plans import THEMES, plan
from lrtransfer.residual.experiments.readings import (
    between_depths,
    beyond,
    changes_of,
    exponent_of,
    gain,
    move,
    power_of,
    widest,
)
from lrtransfer.residual.experiments.recorded_optima import (
    TRANSFORMERS,
    RecordedFamily,
    RecordedOptima,
    longer_decides,
    not_recorded,
    recorded_check,
    recorded_optima,
    recorded_transformers,
    recorded_values,
    recorded_ways,
)
from lrtransfer.residual.experiments.shapes import Shapes, compare_shapes, left_out, recorded_shapes
from lrtransfer.residual.experiments.table1 import built_over_symbols, built_row, symbol_values

__all__ = [
    "PAPER_FIGURES",
    "THEMES",
    "TRANSFORMERS",
    "WAYS",
    "BlockWork",
    "CheckedFamily",
    "Family",
    "FamilyResult",
    "InnerWork",
    "PaperFigure",
    "RecordedFamily",
    "RecordedOptima",
    "Shapes",
    "StopsAfter",
    "Way",
    "WayResult",
    "away_from",
    "between_depths",
    "beyond",
    "block_work",
    "built_over_symbols",
    "built_row",
    "changes_of",
    "checks_against_sweeps",
    "compare_lazy",
    "compare_shapes",
    "compare_ways",
    "depth_families",
    "exponent_of",
    "feature_sizes",
    "further",
    "gain",
    "gradient_sizes",
    "inner_work",
    "left_out",
    "longer_decides",
    "miniature",
    "move",
    "not_recorded",
    "optima_row",
    "optimum_text",
    "plan",
    "power_of",
    "recorded_check",
    "recorded_optima",
    "recorded_shapes",
    "recorded_transformers",
    "recorded_values",
    "recorded_ways",
    "settings_files",
    "stop_and_resume",
    "symbol_values",
    "train",
    "train_values",
    "widest",
]
