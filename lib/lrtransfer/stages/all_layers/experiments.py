"""What the chapter reads off runs in which all layers train."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.stages.all_layers.comparison import Interval, log_interval
from lrtransfer.stages.all_layers.curvature import largest_curvature
from lrtransfer.stages.all_layers.training import AllLayersRun
from lrtransfer.stages.linear.problems import problem


def curvature_at_zero(kappas: ArrayLike, sigma: float, layers: int, *, d: int = 20, seed: int = 0) -> Array:
    """Largest eigenvalue of the Hessian over all layers at zero layers, in units of sigma_max(Sigma): (kappas,).

    For the expected loss on ``problem(kappa, sigma, d, seed)``, by Lanczos to convergence; ``layers`` if sigma = 0.
    """
    teacher, covariance = problem(arguments.finite("kappas", kappas, minimum=1.0), sigma, d, seed)
    zero = np.zeros((arguments.count("layers", layers, minimum=1), *teacher.shape))
    return largest_curvature(zero, covariance, teacher @ covariance, iterations=60)


def batch_curvature(kappas: ArrayLike, batch: int, *, d: int = 20, draws: int = 200, seed: int = 0) -> Array:
    """Mean largest eigenvalue of a batch's second moment (1/batch) sum x x', in units of sigma_max(Sigma): (kappas,).

    Inputs are Gaussian with the covariance of ``problem``, whose eigenvectors do not matter here.
    """
    conditions = arguments.finite("kappas", kappas, minimum=1.0)
    roots = conditions[:, None] ** (np.linspace(-1.0, 0.0, arguments.count("d", d, minimum=2)) / 2)  # (kappas, d)
    rng, size = np.random.default_rng(seed), arguments.count("batch", batch, minimum=1)
    z = rng.standard_normal((arguments.count("draws", draws, minimum=1), size, d))
    white = np.swapaxes(z, -1, -2) @ z / size  # (draws, d, d)
    coloured = roots[:, None, :, None] * white * roots[:, None, None, :]
    return np.asarray(np.linalg.eigvalsh(coloured)[..., -1].mean(axis=1), dtype=np.float64)


def ended_below(run: AllLayersRun, init: str) -> NDArray[np.bool_]:
    """Whether each run from one start ends below its beginning.

    Parameters
    ----------
    run
        of ``train_all_layers``
    init
        one of its inits

    Returns
    -------
    ndarray
        (kappas, seeds), of True and False.
    """
    column = run.inits.index(arguments.choice("init", init, run.inits))
    return np.asarray(run.excess[-1, column] < run.excess[0, column])


def growth_over_random(run: AllLayersRun, init: str) -> Interval:
    """Whether an advantage over the random start grows with the condition number, from the first kappa to the last.

        ln of (excess of ``init`` / excess of random at the last kappa) / (the same at the first)

    Seeds are paired. Below 0 the advantage grows, above 0 it shrinks.

    Parameters
    ----------
    run
        of ``train_all_layers``, "random" among its inits
    init
        one of its inits

    Returns
    -------
    Interval
        of numbers.
    """
    column = run.inits.index(arguments.choice("init", init, run.inits))
    over = run.excess[-1, column] / run.excess[-1, run.inits.index("random")]  # (kappas, seeds)
    return log_interval(over[-1] / over[0])
