"""The chapter's experiments: what prepares, loops and arranges, as functions that return arrays and draw nothing.

``dense_runs``       dense networks at balanced and at split rates, on common draws; the schedule's runs
``random_matrices``  checks that share nothing with the reductions: Haar traces, first gradients, dense surrogates
``modes``            the modes of the two-layer map one by one, and its average by equispaced angles
``scans``            losses and ratios over rates, widths and splits, as the figures show them
``theory_table``     the main table: printed formula, exact expectation and runs side by side
"""

from lrtransfer.layers.experiments.dense_runs import (
    ScheduleRuns,
    advantage,
    balance_runs,
    conserved_drift,
    schedule_runs,
    split_over_seeds,
)
from lrtransfer.layers.experiments.modes import circle_points, equispaced_loss, products, scheduled_loss
from lrtransfer.layers.experiments.random_matrices import (
    first_gradients,
    haar_traces,
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
from lrtransfer.layers.experiments.theory_table import PRINTED, AgainstTheory, against_theory

__all__ = [
    "PRINTED",
    "AgainstTheory",
    "ScheduleRuns",
    "advantage",
    "against_theory",
    "balance_runs",
    "circle_points",
    "conserved_drift",
    "equispaced_loss",
    "first_gradients",
    "first_rate_losses",
    "haar_traces",
    "interaction_over_bound",
    "products",
    "relu_losses",
    "schedule_runs",
    "scheduled_loss",
    "signal_only_chain_losses",
    "signal_only_losses",
    "split_over_seeds",
    "surrogate_errors",
    "valley_edges",
]
