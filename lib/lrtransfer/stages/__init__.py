"""Stacking: training a network stage by stage, and the start of a stage as momentum.

``linear``       deep linear residual networks: descent, stacking and Nesterov on the squared loss
``theory``       the constants of Theorem 3.1, Lemma 3.2 and Corollary 3.6; the ball around the teacher
``speed``        how fast a run falls: by theorem, and read off curves
``proof``        the potential and every inequality of the proof along a run
``robust``       Nesterov's method with errors: random, adversarial, and the exact thresholds
``functional``   stages in function space: zero, random and stacking starts, additive and residual
``explicit``     the same with every function and every layer written out, to check the others against
``random_init``  random starts in linear networks: mean, second moment and floor

Read from their own modules: ``convex`` (rates on convex problems), ``boosting`` (boosting on real data) and its
``learners``, ``all_layers`` (every layer trained), ``text`` and ``transformer`` (a masked language model grown block by
block), ``experiments`` (what the chapter trains of it, and its record).

Source: "Stacking as accelerated gradient descent".
"""

from lrtransfer.numerics.fits import power_law
from lrtransfer.stages.functional.explicit import ExplicitRun, explicit_layers, explicit_sum, last_layer_descent
from lrtransfer.stages.functional.operators import (
    FunctionalRun,
    SampleLoss,
    bent_problem,
    early_stopped,
    linear_draw,
    linear_extension,
    logistic_loss,
    minimise_stage,
    random_steps,
    smooth_extension,
    smoothed,
    squared_loss,
    train,
)
from lrtransfer.stages.linear.excess import (
    METHODS,
    Explosions,
    SingularIterate,
    StagesRun,
    default_beta,
    excess_loss,
    explosions,
    problem,
    run,
)
from lrtransfer.stages.linear.proof import Inequality, Tally, audit, inequalities, potential, tally
from lrtransfer.stages.linear.random_init import RandomMoments, RandomRun, additive_floor, random_moments, random_run
from lrtransfer.stages.linear.robust import (
    PerturbedRun,
    critical_alpha,
    one_step_factor,
    perturbed_nesterov,
    potential_growth,
    resonance,
    stability_alpha,
)
from lrtransfer.stages.linear.speed import (
    contraction,
    decay_rate,
    first_below,
    late_rates,
    windowed_rate,
)
from lrtransfer.stages.linear.theory import (
    Ball,
    Constants,
    WarmupStages,
    ball,
    constants,
    edge_start,
    lemma_bounds,
    printed_alpha,
    proof_alpha,
    rate,
    warmup_stages,
)

__all__ = [
    "METHODS",
    "Ball",
    "Constants",
    "ExplicitRun",
    "Explosions",
    "FunctionalRun",
    "Inequality",
    "PerturbedRun",
    "RandomMoments",
    "RandomRun",
    "SampleLoss",
    "SingularIterate",
    "StagesRun",
    "Tally",
    "WarmupStages",
    "additive_floor",
    "audit",
    "ball",
    "bent_problem",
    "constants",
    "contraction",
    "critical_alpha",
    "decay_rate",
    "default_beta",
    "early_stopped",
    "edge_start",
    "excess_loss",
    "explicit_layers",
    "explicit_sum",
    "explosions",
    "first_below",
    "inequalities",
    "last_layer_descent",
    "late_rates",
    "lemma_bounds",
    "linear_draw",
    "linear_extension",
    "logistic_loss",
    "minimise_stage",
    "one_step_factor",
    "perturbed_nesterov",
    "potential",
    "potential_growth",
    "power_law",
    "printed_alpha",
    "problem",
    "proof_alpha",
    "random_moments",
    "random_run",
    "random_steps",
    "rate",
    "resonance",
    "run",
    "smooth_extension",
    "smoothed",
    "squared_loss",
    "stability_alpha",
    "tally",
    "train",
    "warmup_stages",
    "windowed_rate",
]
