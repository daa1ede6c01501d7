"""Valid calls of ``lrtransfer.width``."""

import numpy as np
from broken_calls import Call, call

from lrtransfer.width import one_step_coefficients, synthetic_data

ONE = call()
X, Y = synthetic_data(6, 2, 0.01, seed=0)
C = one_step_coefficients(16, X, Y, 2, seed=0)
X1, Y1 = synthetic_data(6, 1, 0.01, seed=0)
C1 = one_step_coefficients(16, X1, Y1, 2, seed=0)
LRS = np.array([0.1, 0.2, 0.4])
OPTIMA = np.array([[0.5, 0.6, 0.55], [0.5, 0.52, 0.51], [0.5, 0.505, 0.495]])
WIDTHS = np.array([16, 64, 1024])
CALLS: dict[str, Call] = {
    "Euclidean": ONE(dim=4, unit=1.0),
    "LazyGaussian": ONE(rows=4, cols=5, scale=1.0, seed=0),
    "Rotated": ONE(width=16.0),
    "break_probability": ONE(
        widths=WIDTHS, optima=OPTIMA, target=0.5, seeds=2, statistic="rms", replicas=20, seed=0, at=64
    ),
    "break_slopes": ONE(widths=np.array([16, 64, 256, 1024]), errors=np.array([0.5, 0.2, 0.1, 0.04]), at=64),
    "coefficient_draws": ONE(widths=[16, 32], X=X, y=Y, hidden_layers=2, seeds=[0, 1], parametrisation="mup"),
    "exact_argmin": ONE(coefficients=C, X=X, y=Y, interval=(0.0, 2.0), average=False),
    "feature_updates": ONE(width=16.0, X=X, y=Y, hidden_layers=2, lr=0.1, steps=1, parametrisation="mup", seeds=[0, 1]),
    "grid_argmin": ONE(coefficients=C, X=X, y=Y, lrs=LRS, average=False),
    "grid_rms": ONE(spacing=0.1, scatter=0.2),
    "limit_lr": ONE(X=X, y=Y, hidden_layers=2),
    "limit_spread": ONE(X=X, y=Y, hidden_layers=2),
    "lowest_minima": ONE(
        width=16.0,
        X=X,
        y=Y,
        hidden_layers=2,
        steps=1,
        count=2,
        interval=(0.0, 2.0),
        parametrisation="mup",
        seed=0,
        points=21,
    ),
    "one_step_coefficients": ONE(
        width=16.0, X=X, y=Y, hidden_layers=2, seed=0, parametrisation="mup", coordinates=False
    ),
    "one_step_cost": ONE(coefficients=np.stack([C, C * 1.1]), X=X, y=Y),
    "optimal_lr": ONE(
        width=16.0, X=X, y=Y, hidden_layers=2, steps=1, interval=(0.0, 2.0), parametrisation="mup", seed=0
    ),
    "predicted_cost": ONE(widths=WIDTHS, X=X, y=Y, hidden_layers=2),
    "scaling_exponent": ONE(sizes=WIDTHS, samples=np.array([[0.5, 0.6], [0.2, 0.22], [0.05, 0.04]])),
    "shows_break": ONE(early=np.array([-0.5, -0.4]), late=np.array([-0.1, -0.3])),
    "sp_limit_lr": ONE(X=X, y=Y, hidden_layers=2, theta0=np.array([0.1, 0.2])),
    "sweep_error": ONE(optima=OPTIMA, target=0.5, statistic="rms"),
    "synthetic_data": ONE(m=6, d=2, noise_variance=0.01, seed=0),
    "tied_lrs": ONE(coefficients=C1, X=X1, y=Y1, high=2.0),
    "training_loss": ONE(lrs=LRS, width=16.0, X=X, y=Y, hidden_layers=2, steps=2, seed=0, parametrisation="mup"),
    "transfer_cost": ONE(widths=[16, 32], X=X, y=Y, hidden_layers=2, steps=1, seeds=[0, 1, 2], lr=0.3),
    "two_step_form": ONE(lrs=LRS, X=X, y=Y, hidden_layers=2),
}
