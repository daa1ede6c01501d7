"""Deep scalar linear networks: how the learning rate must change with depth, exactly.

Three networks with total weight a, trained on f(x) = a x by gradient descent from equal layers:

    chain        a = w_1 .. w_L
    residual1    a = prod (1 + w_l / sqrt(L))
    residual2    a = prod (1 + w_l^2 / L)

``scaling``        sharpness, stability edge, the exact and the data-agnostic rule
``dynamics``       gradient descent of equal layers, whole grids in one array program
``flow``           the same in continuous time, in closed form
``criteria``       the loss after a finite number of steps, and the rates that are lucky
``budget``         the smallest rate that suffices, measured and as the flow predicts it
``fitted_rule``    the rule of transfer from rates tuned at two depths or more, without knowing the data
``regimes``        what happens above the stability edge
``thresholds``     where: two-cycle, its end, divergence
``full_network``   L separate weights: the brute-force twin
``experiments``    what the chapter's cells show, prepared

Source: "Optimal learning rate scaling depends on data in deep scalar linear networks".
"""

from lrtransfer.depth.budget import flow_lr, sufficient_lr
from lrtransfer.depth.criteria import (
    Landings,
    landing_lrs,
    sweep,
)
from lrtransfer.depth.dynamics import gradient_descent, loss, relative_weight, total_weight
from lrtransfer.depth.fitted_rule import TransferFit, UnresolvedDataWarning, fit_transfer
from lrtransfer.depth.flow import plateau_duration, rate_of_change, time_course, time_to_reach
from lrtransfer.depth.full_network import (
    Curvatures,
    conserved,
    full_gradient_descent,
    full_hessian,
    gradient_flow_full,
    substitution_orders,
)
from lrtransfer.depth.regimes import (
    attractor,
    classify,
    first_divergence,
    momentum_edge,
)
from lrtransfer.depth.scalar_map import ARCHITECTURES
from lrtransfer.depth.scaling import (
    agnostic_lr,
    agnostic_optimum,
    effective_exponent,
    max_stable_lr,
    sharpness,
    stability_edge,
    transfer_lr,
)
from lrtransfer.depth.thresholds import crisis, end_of_two_cycle, flip_coefficient

__all__ = [
    "ARCHITECTURES",
    "Curvatures",
    "Landings",
    "TransferFit",
    "UnresolvedDataWarning",
    "agnostic_lr",
    "agnostic_optimum",
    "attractor",
    "classify",
    "conserved",
    "crisis",
    "effective_exponent",
    "end_of_two_cycle",
    "first_divergence",
    "fit_transfer",
    "flip_coefficient",
    "flow_lr",
    "full_gradient_descent",
    "full_hessian",
    "gradient_descent",
    "gradient_flow_full",
    "landing_lrs",
    "loss",
    "max_stable_lr",
    "momentum_edge",
    "plateau_duration",
    "rate_of_change",
    "relative_weight",
    "sharpness",
    "stability_edge",
    "substitution_orders",
    "sufficient_lr",
    "sweep",
    "time_course",
    "time_to_reach",
    "total_weight",
    "transfer_lr",
]
