"""Stacking: training a network stage by stage, and the start of a stage as momentum.

Importable from here is what needs no module's name beside it. By folder:

``linear``        deep linear residual networks, one layer trained at a time
    ``course``, ``excess``        the loop over stages; runs and excess losses
    ``problems``                  the problems of the chapter
    ``far_starts``                the three methods on a grid of condition numbers and distances
    ``speed``                     how fast a run falls: by theorem, and read off curves
    ``theory``, ``ball``          constants of the theorem, its ball, and the warm-up that leads there
    ``proof``                     every inequality of the proof along a run
    ``random_init``, ``noise``    random layers: mean, second moment and floor; courses at several steps
``errors``        Nesterov's method with errors in its momentum: ``perturbed`` runs, ``thresholds`` of their size
``functional``    stages in function space
    ``losses``, ``operators``     losses of predictors; the starts of a stage
    ``steps``, ``explicit``       a stage's end; the same with every function and layer written out
    ``convex``                    rates on convex problems
``boosting``      boosting with copied learners on real data: ``ensembles``, ``curves``, ``learners``, ``samples``
``all_layers``    every layer trained: ``training``, ``curvature``, ``comparison`` of starts in pairs
``transformer``   a masked language model grown block by block: ``text``, ``settings``, ``network``, ``training``,
                  ``task`` and ``sweep``: the sweeps, ``readings`` of what was compared
``recorded``      the runs under results/: how they are made, and where they are read
``slider``        the page's slider figure

``experiments`` in each folder has what the page trains and loops over; it returns numbers and draws nothing.

Source: "Stacking as accelerated gradient descent".
"""

from lrtransfer.numerics.fits import power_law
from lrtransfer.stages.errors.perturbed import PerturbedRun, perturbed_nesterov
from lrtransfer.stages.errors.thresholds import critical_alpha, potential_growth, stability_alpha
from lrtransfer.stages.functional.explicit import (
    ExplicitRun,
    explicit_layers,
    explicit_skips,
    explicit_sum,
    last_layer_descent,
)
from lrtransfer.stages.functional.losses import SampleLoss, logistic_loss, squared_loss
from lrtransfer.stages.functional.operators import (
    FunctionalRun,
    bent_problem,
    linear_draw,
    linear_extension,
    smooth_extension,
    train,
)
from lrtransfer.stages.functional.steps import early_stopped, minimise_stage, random_steps, smoothed
from lrtransfer.stages.linear.ball import Ball, WarmupStages, ball, edge_start, warmup_stages
from lrtransfer.stages.linear.excess import (
    METHODS,
    Explosions,
    SingularIterate,
    StagesRun,
    default_beta,
    excess_loss,
    explosions,
    run,
)
from lrtransfer.stages.linear.problems import problem
from lrtransfer.stages.linear.proof import Inequality, Tally, audit, inequalities, potential, tally
from lrtransfer.stages.linear.random_init import RandomMoments, RandomRun, additive_floor, random_moments, random_run
from lrtransfer.stages.linear.speed import (
    contraction,
    decay_rate,
    first_below,
    late_rates,
    windowed_rate,
)
from lrtransfer.stages.linear.theory import Constants, constants, lemma_bounds, printed_alpha, proof_alpha, rate

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
