"""Residual networks in four parametrisations: does the best rate survive a change of depth and width?

Source: Bordelon, Noci, Li, Hanin and Pehlevan, 'Depthwise hyperparameter transfer in residual networks' (2024).

``networks``, which train
    ``parametrisation``: multiplier, initial scale and rates of every layer, with reasons; ``paper_table``: the same
    as the paper prints it. ``settings``: a network and its training, a frozen dataclass for each of four kinds.
    ``training``: settings in, losses out, many runs as one program: by ``residual_mlp`` for the plain MLP, by
    ``stacked`` with ``torch_networks`` for everything else; ``training_loop`` is the loop they share. ``task``: the
    same as a task of ``lrtransfer.sweeps``. ``coordinates``: how far every layer moves, also in a model of your own;
    ``stepping``: the optimisers there.
``theory``, the limit
    ``linear_limit``: linear networks at infinite width, any depth, by the fields of ``linear_fields``. ``lazy``: frozen
    features. ``nonlinear_limit``: very wide networks that learn features. ``trained_ensemble``: networks to hold them
    to, stepped by ``descent``. ``gaps`` compares outputs and kernels, ``fitting`` best rates; ``control_variates``
    makes their errors small.
``experiments``, what the chapter trains and reads off its runs
``slider``, the figure that moves; ``configs``, settings files, one a figure or record
``recorded``, the sweeps of results/; ``conditions``, what a transferred rate takes for granted, read off one of them

Torch, scikit-learn, pooch, distributed and pyarrow are imported when they are used, not before.
"""

from lrtransfer.residual.conditions import Condition, read_conditions
from lrtransfer.residual.networks.coordinates import (
    CoordinateCheck,
    coordinate_check,
    coordinate_check_model,
)
from lrtransfer.residual.networks.paper_table import table1
from lrtransfer.residual.networks.parametrisation import (
    PARAMETRISATIONS,
    LayerScale,
    Scales,
    layer_scale,
    layer_scales,
)
from lrtransfer.residual.networks.settings import (
    KINDS,
    ConvNet,
    NetworkSettings,
    ResidualMLP,
    ResNet,
    VisionTransformer,
    as_dict,
    evaluation_steps,
    from_dict,
    schedule_factors,
)
from lrtransfer.residual.networks.training import final_losses, group_size, train_runs, train_sweep
from lrtransfer.residual.recorded import optima_by
from lrtransfer.residual.recorded import read as read_recorded
from lrtransfer.residual.theory.fitting import fitting_lr, fitting_rates
from lrtransfer.residual.theory.gaps import depth_gaps, doubling_gaps, wide_gaps, width_gaps
from lrtransfer.residual.theory.lazy import LazyProfile, linear_ntk, relu_ntk, relu_profile
from lrtransfer.residual.theory.lazy_outputs import lazy_outputs
from lrtransfer.residual.theory.linear_limit import LinearLimit, best_theory_lr, linear_kernels, linear_limit
from lrtransfer.residual.theory.nonlinear_limit import NonlinearLimit, nonlinear_limit
from lrtransfer.residual.theory.trained_ensemble import empirical_ntk, train_ensemble
from lrtransfer.sweeps.run import run as run_sweep
from lrtransfer.sweeps.settings_file import read_sweep, shipped
from lrtransfer.sweeps.store import Store, StoreError
from lrtransfer.sweeps.store.export import export
from lrtransfer.sweeps.sweep import Curve, CurveResult, Sweep, summary

__all__ = [
    "KINDS",
    "PARAMETRISATIONS",
    "Condition",
    "ConvNet",
    "CoordinateCheck",
    "Curve",
    "CurveResult",
    "LayerScale",
    "LazyProfile",
    "LinearLimit",
    "NetworkSettings",
    "NonlinearLimit",
    "ResNet",
    "ResidualMLP",
    "Scales",
    "Store",
    "StoreError",
    "Sweep",
    "VisionTransformer",
    "as_dict",
    "best_theory_lr",
    "coordinate_check",
    "coordinate_check_model",
    "depth_gaps",
    "doubling_gaps",
    "empirical_ntk",
    "evaluation_steps",
    "export",
    "final_losses",
    "fitting_lr",
    "fitting_rates",
    "from_dict",
    "group_size",
    "layer_scale",
    "layer_scales",
    "lazy_outputs",
    "linear_kernels",
    "linear_limit",
    "linear_ntk",
    "nonlinear_limit",
    "optima_by",
    "read_conditions",
    "read_recorded",
    "read_sweep",
    "relu_ntk",
    "relu_profile",
    "run_sweep",
    "schedule_factors",
    "shipped",
    "summary",
    "table1",
    "train_ensemble",
    "train_runs",
    "train_sweep",
    "wide_gaps",
    "width_gaps",
]
