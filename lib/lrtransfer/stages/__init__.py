"""Stacking: training a network stage by stage, and the start of a stage as momentum.

Importable from here is what needs no module's name beside it. By folder:

``linear``        deep linear residual networks, one layer trained at a time
    ``course``, ``excess``        the loop over stages; runs, excess losses, the problems of the chapter
    ``far_starts``                the three methods on a grid of condition numbers and distances
    ``speed``                     how fast a run falls: by theorem, and read off curves
    ``theory``, ``proof``         constants of the theorem and its ball; every inequality of the proof along a run
    ``robust``                    Nesterov's method with errors: random, adversarial, the exact thresholds
    ``random_init``, ``noise``    random layers: mean, second moment and floor; courses at several steps
``functional``    stages in function space
    ``operators``, ``explicit``   the starts of a stage; the same with every function and layer written out
    ``convex``                    rates on convex problems
``boosting``      boosting with copied learners on real data: ``ensembles``, ``learners``, ``samples``
``all_layers``    every layer trained: ``training``, ``curvature``, ``comparison`` of starts in pairs
``transformer``   a masked language model grown block by block: ``text``, ``settings``, ``network``, ``training``,
                  ``task`` and ``runs`` of the sweeps, ``readings`` of what was compared
``recorded``      the runs under results/: how they are made, and where they are read
``slider``        the page's slider figure

``experiments`` in each folder has what the page trains and loops over; it returns numbers and draws nothing.

Source: "Stacking as accelerated gradient descent".
"""

from lrtransfer.numerics.fits import power_law
from lrtransfer.stages.functional.explicit import (
    ExplicitRun,
    explicit_layers,
    explicit_skips,
    explicit_sum,
    last_layer_descent,
)
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
    "explicit_skips",
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
