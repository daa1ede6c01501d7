"""What the Depth chapter's cells show, prepared: brute-force twins, runs and thresholds as arrays. No figures here."""

from lrtransfer.depth.experiments.courses import (
    Thresholds,
    half_times,
    integrated_course,
    thresholds,
)
from lrtransfer.depth.experiments.minima import (
    MeasuredOrders,
    UnbalancedDescent,
    flow_minimum,
    hessian_ratio,
    landscape_ratio,
    measured_orders,
    minimum_weight,
    separate_loss,
    unbalanced_descent,
)
from lrtransfer.depth.experiments.transfers import (
    Predictions,
    best_rates,
    carried_rate,
    compare_predictions,
    fastest_rate,
    pooled_errors,
    power_law_error,
    rate_panel,
    recorded_rates,
    targets_reached,
)

__all__ = [
    "MeasuredOrders",
    "Predictions",
    "Thresholds",
    "UnbalancedDescent",
    "best_rates",
    "carried_rate",
    "compare_predictions",
    "fastest_rate",
    "flow_minimum",
    "half_times",
    "hessian_ratio",
    "integrated_course",
    "landscape_ratio",
    "measured_orders",
    "minimum_weight",
    "pooled_errors",
    "power_law_error",
    "rate_panel",
    "recorded_rates",
    "separate_loss",
    "targets_reached",
    "thresholds",
    "unbalanced_descent",
]
