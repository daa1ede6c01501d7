"""Valid calls of ``lrtransfer.layers``."""

import numpy as np
from broken_calls import Call, call

ONE = call()
RATES = {"lr1": 0.5, "lr2": 0.4, "h": 8}
DRAWN = {"h": 4, "steps": 2, "draws": 3, "seed": 0}
CALLS: dict[str, Call] = {
    "balance_course": ONE(alpha=0.5, h=8, steps=2, signal_only=False),
    "balance_curvature": ONE(alpha=0.5, h=8, steps=2, signal_only=False),
    "best_split": ONE(alpha=0.5, h=8, steps=2, resolution=5),
    "chain_losses": ONE(lrs=np.array([0.5, 0.4]), **DRAWN, initialisation="orthogonal", noise=0.1),
    "crossings": ONE(x=np.array([0.0, 1.0, 2.0]), y=np.array([1.0, -1.0, 1.5])),
    "deep_balanced_edge": ONE(h=32, steps=2, draws=4, seed=0, signal_only=False, interval=(0.35, 0.95), tolerance=0.1),
    "deep_curvature": ONE(alpha=0.5, **DRAWN, signal_only=False),
    "deep_curvature_course": ONE(alpha=0.5, **DRAWN, signal_only=False),
    "deep_loss": ONE(lrs=np.array([0.5, 0.4]), **DRAWN, signal_only=False),
    "deep_loss_course": ONE(lrs=np.array([0.5, 0.4]), **DRAWN, signal_only=False),
    "deep_self_interaction": ONE(lrs=np.array([0.5, 0.4]), **DRAWN),
    "deep_signal_loss": ONE(lrs=np.array([0.5, 0.4]), h=8, steps=2),
    "expected_loss": ONE(**RATES, steps=2, signal_only=False),
    "expected_loss_with_error": ONE(**RATES, steps=2, signal_only=False),
    "last_balanced_step": ONE(alpha=0.6, h=64, longest=200),
    "last_balanced_time": ONE(h=64),
    "law_loss": ONE(alpha=0.4, h=16, t=2.0, split=0.1),
    "loss_course": ONE(**RATES, steps=2, signal_only=False),
    "one_step_loss": ONE(**RATES),
    "proposition_bound": ONE(h=64),
    "self_interaction": ONE(**RATES, steps=2),
    "signal_loss": ONE(**RATES, steps=2),
    "symbolic_three_layers": ONE(steps=1, signal_only=True, unit_norms=False),
    "symbolic_two_layers": ONE(steps=1, signal_only=True),
    "three_layer_one_step_loss": ONE(**RATES),
    "three_layer_two_step_loss": ONE(**RATES),
    "train_three_layers": ONE(
        h=4,
        lr=0.1,
        steps=2,
        seed=0,
        split=0.1,
        schedule="uniform",
        activation="relu",
        initialisation="orthogonal",
        noise=0.1,
        scale=1.0,
        sharpness=True,
    ),
    "two_layer_losses": ONE(lr1=0.5, lr2=0.4, **DRAWN, initialisation="orthogonal", noise=0.1),
    "two_layer_schedule": ONE(
        h=4, lr=0.1, steps=2, seed=0, schedule="uniform", scale=1.0, initialisation="gaussian", sharpness=True
    ),
    "two_step_loss": ONE(**RATES),
    "two_step_opening": ONE(noise=0.1),
}
