"""Valid calls of ``lrtransfer.residual``: the engines and what trains."""

import numpy as np
from broken_calls import Call, call

from lrtransfer.residual import ResidualMLP

ONE = call()
SMALL = ResidualMLP(width=8, depth=2, steps=2, batch=8, eval_points=20)
LIMIT = {"lr": 0.05, "gamma0": 1.0, "steps": 2}
CALLS: dict[str, Call] = {
    "as_dict": ONE(settings=SMALL),
    "best_theory_lr": ONE(depth=2, branch=0.5, steps=2, gamma0=1.0, target=1.0),
    "coordinate_check": ONE(settings=SMALL, sizes=[8, 16], vary="width", lr=0.1, steps=1, seeds=[0, 1], batch=8),
    "depth_gaps": ONE(lr=0.05, gamma0=1.0, depths=[2, 4], steps=2),
    "doubling_gaps": ONE(lr=0.05, gamma0=1.0, width=8, depths=[1, 2, 4, 8], steps=1, draws=6, activation="linear"),
    "empirical_ntk": ONE(
        cos_angle=0.5, width=8, depth=2, draws=2, seed=0, branch=0.5, activation="relu", layers=["hidden"]
    ),
    "evaluation_steps": ONE(settings=SMALL),
    "final_losses": call("executor", "store")(
        settings=SMALL, lrs=np.array([0.1]), seeds=[0], device="cpu", executor=None, store=None
    ),
    "fitting_lr": ONE(lrs=np.array([0.1, 0.2, 0.3]), outputs=np.array([0.5, 0.9, 1.2]), target=1.0),
    "from_dict": ONE(fields={"kind": "mlp", "width": 8}),
    "group_size": call("device")(settings=SMALL, device=__import__("torch").device("cpu")),
    "layer_scale": ONE(
        role="read_in", parametrisation="mup", width=8, depth=2, fan_in=4, gamma0=1.0, branch=0.5, block_rate=0.5
    ),
    "layer_scales": ONE(parametrisation="mup", width=8, depth=2, input_dim=4, gamma0=1.0, branch=0.5, block_rate=0.5),
    "lazy_outputs": ONE(lr=0.1, kernel=np.eye(2), target=np.array([1.0, 0.5]), steps=2),
    "linear_kernels": ONE(
        **LIMIT, depth=2.0, target=1.0, branch=0.5, layer_time=np.array([0.0, 0.5, 1.0]), responses=True
    ),
    "linear_limit": ONE(**LIMIT, depth=2.0, target=1.0, branch=0.5, responses=True),
    "linear_ntk": ONE(depth=2, branch=0.5, layers=["hidden"]),
    "nonlinear_limit": ONE(
        **LIMIT,
        depth=1,
        activation="relu",
        target=np.array([1.0]),
        gram=np.eye(1),
        branch=0.5,
        neurons=200,
        draws=2,
        seed=0,
    ),
    "relu_ntk": ONE(cos_angle=0.5, depth=2.0, branch=0.5, layers=["hidden"]),
    "relu_profile": ONE(cos_angle=0.5, layer_time=np.array([0.0, 0.5]), depth=np.inf, branch=0.5),
    "schedule_factors": ONE(settings=SMALL),
    "table1": ONE(width=8, depth=2, gamma0=1.0),
    "train_ensemble": ONE(
        lr=0.1,
        gamma0=1.0,
        width=8,
        depth=2,
        steps=2,
        draws=2,
        seed=0,
        target=np.array([1.0]),
        gram=np.eye(1),
        branch=0.5,
        activation="linear",
        centred=True,
        finest=2,
    ),
    "train_sweep": call("executor", "store")(
        settings=SMALL, lrs=np.array([0.1]), seeds=[0], device="cpu", executor=None, store=None
    ),
    "width_gaps": ONE(lr=0.05, gamma0=1.0, depth=2, steps=2, draws={4: 6, 8: 6, 16: 6}),
}
