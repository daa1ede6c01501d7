"""Valid calls of ``lrtransfer.depth``."""

import numpy as np
from broken_calls import Call, call

ONE = call()
WEIGHTS = np.array([0.9, 0.9, 0.9])
CALLS: dict[str, Call] = {
    "agnostic_lr": ONE(x=0.5, depth=3, r=2.0, mu_xx=1.0, arch="chain"),
    "agnostic_optimum": ONE(depth=3, r=2.0, arch="chain"),
    "attractor": ONE(inv_tau=0.5, depth=3, alpha0=0.01, burn=20, keep=5),
    "classify": ONE(inv_tau=0.5, depth=3, alpha0=0.01, burn=200),
    "conserved": ONE(weights=WEIGHTS, arch="chain"),
    "crisis": ONE(depth=3),
    "effective_exponent": ONE(from_depth=2, to_depth=8, r=2.0),
    "end_of_two_cycle": ONE(depth=3),
    "first_divergence": ONE(depth=2, alpha0=0.01, low=0.0, high=8.0, spacing=0.5, steps=50),
    "fit_transfer": ONE(
        depths=np.array([2, 4, 8]), lrs=np.array([0.3, 0.2, 0.1]), errors=np.array([0.01, 0.02, 0.01]), arch="chain"
    ),
    "flip_coefficient": ONE(depth=3),
    "flow_lr": ONE(depth=3, r=2.0, arch="chain", rule="exact", steps=5, threshold=1e-6, init=0.5),
    "full_gradient_descent": ONE(lr=0.1, weights0=WEIGHTS, steps=3, mu_yx=1.0, mu_xx=1.0, arch="chain"),
    "full_hessian": ONE(weights=WEIGHTS, mu_yx=1.0, mu_xx=1.0, arch="chain"),
    "gradient_descent": ONE(lr=0.1, depth=3, steps=4, mu_yx=2.0, mu_xx=1.0, init=0.5, arch="chain"),
    "gradient_flow_full": ONE(t=np.array([0.0, 1.0]), weights0=WEIGHTS, mu_yx=1.0, mu_xx=1.0, lr=1.0, arch="chain"),
    "landing_lrs": ONE(depth=3, r=2.0, arch="chain", steps=3, init=0.5, high=2.0, points=50),
    "loss": ONE(weight=0.9, depth=3, mu_yx=2.0, mu_xx=1.0, arch="chain"),
    "max_stable_lr": ONE(depth=3, r=2.0, mu_xx=1.0, arch="chain", tau=1.0),
    "momentum_edge": ONE(depth=3, momentum=0.5, steps=20, high=6.0, tolerance=0.1),
    "plateau_duration": ONE(alpha0=0.01, depth=3, tau=1.0),
    "rate_of_change": ONE(alpha=0.5, depth=3, tau=1.0),
    "relative_weight": ONE(weight=0.9, depth=3, mu_yx=2.0, mu_xx=1.0, arch="chain"),
    "sharpness": ONE(depth=3, r=2.0, mu_xx=1.0, arch="chain"),
    "stability_edge": ONE(depth=3, r=2.0, mu_xx=1.0, arch="chain"),
    "substitution_orders": ONE(depth=3, r=2.0, mu_xx=1.0, arch="chain"),
    "sufficient_lr": ONE(
        depth=3, r=2.0, arch="chain", rule="exact", steps=5, threshold=1e-6, init=0.5, high=4.0, spacing=0.1
    ),
    "sweep": ONE(x=np.array([0.1, 0.5]), depth=3, r=2.0, arch="chain", rule="exact", steps=5, init=0.5),
    "time_course": ONE(t=np.array([0.0, 1.0]), alpha0=0.01, depth=3.0, tau=1.0),
    "time_to_reach": ONE(alpha=0.5, alpha0=0.01, depth=3, tau=1.0),
    "total_weight": ONE(weight=0.9, depth=3, arch="chain"),
    "transfer_lr": ONE(lr=0.1, from_depth=2, to_depth=8, r=2.0, arch="chain"),
}
