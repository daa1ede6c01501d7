"""Valid calls of ``lrtransfer.stages``."""

import numpy as np
from broken_calls import Call, call

from lrtransfer import stages

ONE = call()
TEACHER, COVARIANCE = stages.problem(10.0, 0.5, 3, 0)
START = np.eye(3) * 0.9
LOSS = stages.squared_loss(np.array([[1.0], [2.0], [0.5]]))
POINT = np.array([[0.1], [0.2], [0.3]])
RUN = stages.run("stacking", TEACHER, COVARIANCE, 5)
PAIR = {"teacher": TEACHER, "covariance": COVARIANCE}
LINES = list(stages.inequalities(RUN).values())


def begin(layers: list[np.ndarray]) -> np.ndarray:
    """Every layer starts at zero."""
    return np.zeros((3, 3))


def begin_sum(functions: list[np.ndarray]) -> np.ndarray:
    """Every function starts at zero."""
    return np.zeros((3, 1))


CALLS: dict[str, Call] = {
    "additive_floor": ONE(covariance=COVARIANCE, scale=0.1, step=1.0),
    "audit": ONE(kappa=10.0, stages=4, inside=True, sigma=0.5, d=4, seed=0),
    "ball": ONE(kappa=10.0, sigma_min=0.5, d=3, mu=1.0, alpha=0.01),
    "bent_problem": ONE(sigma=0.5, m=6, convexity=0.01, seed=0),
    "constants": ONE(kappa=10.0),
    "contraction": ONE(beta=0.5, kappa=10.0),
    "critical_alpha": ONE(kappa=10.0, modes="all"),
    "decay_rate": ONE(excess=0.5 ** np.arange(50.0), high=1e-4, low=1e-12),
    "default_beta": ONE(kappa=10.0),
    "early_stopped": ONE(loss=LOSS, begin=POINT, lr=0.1, steps=3),
    "edge_start": ONE(**PAIR, delta=0.1),
    "excess_loss": ONE(method="stacking", **PAIR, stages=4, beta=0.5, start=START),
    "explicit_layers": ONE(**PAIR, stages=3, begin=begin, step=1.0),
    "explicit_skips": ONE(**PAIR, stages=3, beta=0.5, step=1.0),
    "explicit_sum": ONE(loss=LOSS, start=POINT, stages=3, begin=begin_sum, step=0.1),
    "explosions": ONE(kappa=10.0, sigma=0.5, stages=4, seeds=[0, 1], d=4),
    "first_below": ONE(curves=np.array([[1.0, 0.5, 0.1], [1.0, 0.4, 0.2]]), level=0.5, start=np.ones(3)),
    "inequalities": ONE(run=RUN, alpha=0.01),
    "last_layer_descent": ONE(**PAIR, stages=3, step=1.0, start=START),
    "late_rates": ONE(method="gd", kappas=np.array([10.0, 20.0]), sigma=0.5, d=4, seed=0),
    "lemma_bounds": ONE(kappa=10.0, steps=4, smoothness=1.0, distance=1.0, gap=0.5),
    "linear_draw": ONE(scale=0.1, outputs=1),
    "linear_extension": ONE(points=np.array([[0.0], [1.0], [2.0]]), values=POINT),
    "logistic_loss": ONE(labels=np.array([1.0, -1.0, 1.0]), ridge=0.1),
    "minimise_stage": ONE(loss=LOSS, begin=POINT, lam=0.5, linearised=True),
    "perturbed_nesterov": ONE(
        curvatures=np.array([0.1, 1.0]), start=np.array([1.0, 1.0]), steps=4, perturb="none", alpha=0.01, seed=0
    ),
    "potential": ONE(run=RUN, factor=True),
    "potential_growth": ONE(kappa=10.0, alpha=np.array([0.01]), perturb="none", runs=2, steps=4, modes=3, seed=0),
    "power_law": ONE(
        sizes=np.array([2.0, 4.0, 8.0]), values=np.array([1.0, 0.5, 0.24]), standard_errors=np.array([0.1, 0.1, 0.1])
    ),
    "printed_alpha": ONE(kappa=10.0),
    "problem": ONE(kappa=10.0, sigma=0.5, d=4, seed=0),
    "proof_alpha": ONE(kappa=10.0),
    "random_moments": ONE(**PAIR, stages=3, scale=0.1, composition="residual", step=1.0, start=START),
    "random_run": ONE(**PAIR, stages=3, scale=0.1, draws=2, composition="residual", step=1.0, start=START, seed=0),
    "random_steps": ONE(loss=LOSS, predictor=POINT, noise=np.full((2, 3, 1), 0.1), lam=0.5),
    "rate": ONE(kappa=10.0),
    "run": ONE(method="stacking", **PAIR, stages=4, beta=0.5, start=START, previous=START, warmup=1),
    "smooth_extension": ONE(points=np.array([[0.0], [1.0], [2.0]]), values=POINT),
    "smoothed": ONE(loss=LOSS, predictor=POINT, scale=0.1, nodes=5),
    "squared_loss": ONE(targets=POINT, metric=np.eye(1)),
    "stability_alpha": ONE(kappa=10.0),
    "tally": ONE(lines=LINES),
    "train": ONE(
        loss=LOSS,
        start=POINT,
        stages=2,
        init="random",
        composition="additive",
        lam=0.5,
        beta=0.5,
        inputs=np.array([[0.0], [1.0], [2.0]]),
        extend=stages.linear_extension,
        draw=stages.linear_draw(0.1, 1),
        seed=0,
    ),
    "warmup_stages": ONE(**PAIR, start=START, alpha=0.5, cap=50),
    "windowed_rate": ONE(curves=0.5 ** np.arange(20.0), window=3, lag=2),
}
