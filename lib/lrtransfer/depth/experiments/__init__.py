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
    hessian_ratio,
    landscape_ratio,
    measured_orders,
    minimum_weight,
    separate_loss,
    unbalanced_descent,
)
from lrtransfer.depth.experiments.transfers import (
    carried_rate,
    fastest_rate,
    pooled_errors,
    power_law_error,
    rate_panel,
    targets_reached,
)

__all__ = [
    "MeasuredOrders",
    "Thresholds",
    "UnbalancedDescent",
    "carried_rate",
    "fastest_rate",
    "half_times",
    "hessian_ratio",
    "integrated_course",
    "landscape_ratio",
    "measured_orders",
    "minimum_weight",
    "pooled_errors",
    "power_law_error",
    "rate_panel",
    "separate_loss",
    "targets_reached",
    "thresholds",
    "unbalanced_descent",
]
