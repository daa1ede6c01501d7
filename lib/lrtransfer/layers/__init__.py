"""Learning rates of different layers: exact test losses of linear networks at any step, depth and width.

``circle``         two layers: gradient descent as a map on the circle; losses, curvature in the split
``deep``           three and more layers: the recursion of 2 x 2 matrices, averaged over draws
``deep_curvature`` three layers: curvature in the split, and where it changes sign
``closed_forms``   the surrogate's loss: the printed formulas, and closed forms for any number of steps
``symbolic``       what the printed formulas should be, by computer algebra
``decomposition``  the gradient as signal and self-interaction, measured
``balance``        when balanced rates stop being a local minimum, and the best split then
``experiments``    dense runs side by side: balanced against split rates, the schedule
``dense``          the same networks trained with dense matrices: Gaussian start, label noise
``relu``           three layers with ReLU
``schedule``       the norm-driven schedule, sharpness; two layers of many outputs under it
``quadrature``     averages over Haar eigenvalues with their error
"""

from lrtransfer.layers.balance import (
    best_split,
    crossings,
    last_balanced_step,
    last_balanced_time,
    law_loss,
    two_step_opening,
)
from lrtransfer.layers.circle import (
    BalanceCourse,
    Measured,
    balance_course,
    balance_curvature,
    expected_loss,
    expected_loss_with_error,
    loss_course,
)
from lrtransfer.layers.closed_forms import (
    deep_signal_loss,
    one_step_loss,
    signal_loss,
    three_layer_one_step_loss,
    three_layer_two_step_loss,
    two_step_loss,
)
from lrtransfer.layers.decomposition import deep_self_interaction, proposition_bound, self_interaction
from lrtransfer.layers.deep import deep_loss, deep_loss_course
from lrtransfer.layers.deep_curvature import deep_balanced_edge, deep_curvature, deep_curvature_course
from lrtransfer.layers.dense import chain_losses, two_layer_losses
from lrtransfer.layers.quadrature import QuadratureWarning
from lrtransfer.layers.relu import train_three_layers
from lrtransfer.layers.schedule import LayerRun, two_layer_schedule
from lrtransfer.layers.symbolic import symbolic_three_layers, symbolic_two_layers
from lrtransfer.numerics.estimates import Estimate

__all__ = [
    "BalanceCourse",
    "Estimate",
    "LayerRun",
    "Measured",
    "QuadratureWarning",
    "balance_course",
    "balance_curvature",
    "best_split",
    "chain_losses",
    "crossings",
    "deep_balanced_edge",
    "deep_curvature",
    "deep_curvature_course",
    "deep_loss",
    "deep_loss_course",
    "deep_self_interaction",
    "deep_signal_loss",
    "expected_loss",
    "expected_loss_with_error",
    "last_balanced_step",
    "last_balanced_time",
    "law_loss",
    "loss_course",
    "one_step_loss",
    "proposition_bound",
    "self_interaction",
    "signal_loss",
    "symbolic_three_layers",
    "symbolic_two_layers",
    "three_layer_one_step_loss",
    "three_layer_two_step_loss",
    "train_three_layers",
    "two_layer_losses",
    "two_layer_schedule",
    "two_step_loss",
    "two_step_opening",
]
