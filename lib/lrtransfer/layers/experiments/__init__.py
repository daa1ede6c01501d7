"""The chapter's experiments: what prepares, loops and arranges, as functions that return arrays and draw nothing.

``dense_runs``       dense networks at balanced and at split rates, on common draws
``schedules``        the norm-driven schedule beside uniform rates, on common seeds
``random_matrices``  checks that share nothing with the reductions: Haar traces, first gradients, dense surrogates
``modes``            the modes of the two-layer map one by one, and its average by equispaced angles
``scans``            losses and ratios over rates, widths and splits, as the figures show them
``theory_table``     the main table: printed formula, exact expectation and runs side by side
``window``           where balance begins and ceases to win in dense runs, with the errors of the places
"""

from lrtransfer.layers.experiments.dense_runs import (
    SplitStatistics,
    advantage,
    balance_runs,
    split_over_seeds,
    split_statistics,
)
from lrtransfer.layers.experiments.modes import (
    circle_points,
    equispaced_loss,
    products,
    scheduled_loss,
    spectrum_losses,
)
from lrtransfer.layers.experiments.random_matrices import (
    first_gradients,
    haar_cosines,
    haar_traces,
    saddle_losses,
    signal_only_chain_losses,
    signal_only_losses,
)
from lrtransfer.layers.experiments.scans import (
    first_rate_losses,
    interaction_over_bound,
    relu_losses,
    surrogate_errors,
    valley_edges,
)
from lrtransfer.layers.experiments.schedules import (
    ScheduleRuns,
    conserved_drift,
    schedule_runs,
    two_layer_schedule_runs,
)
from lrtransfer.layers.experiments.theory_table import PRINTED, AgainstTheory, against_theory
from lrtransfer.layers.experiments.window import edges_of, gains

__all__ = [
    "PRINTED",
    "AgainstTheory",
    "ScheduleRuns",
    "SplitStatistics",
    "advantage",
    "against_theory",
    "balance_runs",
    "circle_points",
    "conserved_drift",
    "edges_of",
    "equispaced_loss",
    "first_gradients",
    "first_rate_losses",
    "gains",
    "haar_cosines",
    "haar_traces",
    "interaction_over_bound",
    "products",
    "relu_losses",
    "saddle_losses",
    "schedule_runs",
    "scheduled_loss",
    "signal_only_chain_losses",
    "signal_only_losses",
    "spectrum_losses",
    "split_over_seeds",
    "split_statistics",
    "surrogate_errors",
    "two_layer_schedule_runs",
    "valley_edges",
]
