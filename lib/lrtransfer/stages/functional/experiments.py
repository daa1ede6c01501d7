"""What the chapter measures of stages in function space: one stage against its model, random and copied starts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.estimates import in_errors, mean_and_error
from lrtransfer.stages.functional.losses import SampleLoss
from lrtransfer.stages.functional.operators import bent_problem, smooth_extension, train
from lrtransfer.stages.functional.steps import early_stopped, random_steps, smoothed


def flow_departures(loss: SampleLoss, start: ArrayLike, times: ArrayLike, steps: int) -> Array:
    """How far gradient flow stopped at time s is from the one step F - s grad l(F), relative to that step's length.

    Parameters
    ----------
    loss
        its gradient is l's
    start
        F, where the stage begins, (m, d)
    times
        s, (n,), positive
    steps
        by which the flow is followed, each of length s / steps

    Returns
    -------
    ndarray
        (n,), root mean square distance over that of the step; of order s for small s.

    References
    ----------
    Assumption 2.1, which puts the step in place of the flow.
    """
    first, total = np.asarray(start, dtype=float), arguments.count("steps", steps, minimum=1)
    slope, found = loss.gradient(first), []
    for s in arguments.positive("times", times):
        gap = early_stopped(loss, first, float(s) / total, total) - (first - s * slope)
        found.append(np.sqrt(np.mean(gap**2) / np.mean((s * slope) ** 2)))
    return np.array(found)


@dataclass(frozen=True)
class MeanStage:
    """The mean after a stage begun at random, in its own standard errors at each of m points, (m, 1) each.

    Attributes
    ----------
    from_smoothed
        its distance from a step on the smoothed loss
    from_plain
        its distance from a step on the loss itself
    """

    from_smoothed: Array
    from_plain: Array


def mean_stage(
    loss: SampleLoss, predictor: ArrayLike, g: ArrayLike, spread: float, draws: int, rng: np.random.Generator
) -> MeanStage:
    """Begin a stage at F + a g with Gaussian a, many times, and compare the mean of what comes out.

    Parameters
    ----------
    loss
        of predictions (m, 1)
    predictor, g
        F and the random function's shape, (m, 1) each: f0(x) for sums, f0(F(x)) for compositions
    spread
        standard deviation of a, positive
    draws
        antithetic pairs a and -a
    rng
        draws a

    Returns
    -------
    MeanStage
        the mean against steps on both losses.

    References
    ----------
    Sec. 2, random initialisation as stochastic gradient descent on a smoothed loss.
    """
    shape, now, step = np.asarray(g, dtype=float), np.asarray(predictor, dtype=float), 1 / loss.smoothness
    size, many = arguments.one("spread", arguments.positive("spread", spread)), arguments.count("draws", draws)
    kicks = size * rng.standard_normal(many)[:, None, None] * shape
    pairs = 0.5 * sum(random_steps(loss, now, sign * kicks, loss.smoothness) for sign in (1, -1))
    mean, error = mean_and_error(pairs, axis=0)
    gradients = smoothed(loss, now, size * np.abs(shape))[1], loss.gradient(now)
    return MeanStage(*(in_errors(mean - (now - step * slope), error) for slope in gradients))


def copy_rule(betas: ArrayLike) -> Callable[[list[Array]], Array]:
    """The rule for ``explicit_sum`` that begins function t + 1 at betas[t] times the last.

    Parameters
    ----------
    betas
        (stages,)

    Returns
    -------
    callable
        the functions so far to the next one's start.
    """
    share = arguments.finite("betas", betas)
    return lambda functions: share[len(functions) - 1] * functions[-1]


def bent_gaps(sigmas: ArrayLike, stages: int, *, beta: float) -> Array:
    """Largest distance between stacking and Nesterov on ``bent_problem(sigma)``, nonlinear layers, for each sigma.

    The distance of two predictors is the root of the mean over points of |F(x) - G(x)|^2; largest over the stages.
    Layers are thin-plate splines between their points.

    Parameters
    ----------
    sigmas
        (n,), positive
    stages
        T
    beta
        in [0, 1]

    Returns
    -------
    ndarray
        (n,).
    """
    found = []
    for sigma in arguments.positive("sigmas", sigmas):
        problem = bent_problem(float(sigma))
        one, other = (
            train(*problem, stages, init=name, composition="residual", beta=beta, extend=smooth_extension).predictions
            for name in ("stacking", "nesterov")
        )
        found.append(np.sqrt(((one - other) ** 2).sum(axis=2).mean(axis=1)).max())
    return np.array(found)
