"""The three methods on a grid of condition numbers and distances of the teacher; runs that are lost end infinite.

Source: "Stacking as Accelerated Gradient Descent", Figs. 4 and 5; the first varies kappa, the second sigma.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.stages.linear.course import METHODS, Setting, SingularIterate
from lrtransfer.stages.linear.excess import excess_loss
from lrtransfer.stages.linear.problems import problem


def course_grid(
    kappas: Sequence[float], sigmas: Sequence[float], stages: int, *, seeds: Sequence[int], d: int = 20
) -> dict[str, Array]:
    """Excess loss over its start on ``problem(kappa, sigma, d, seed)``, from the identity, for each of ``METHODS``.

    Descent and Nesterov do not depend on sigma: their errors are linear in the first one, -sigma S.

    Parameters
    ----------
    kappas
        condition numbers, each >= 1
    sigmas
        distances, each > 0
    stages
        length of the runs
    seeds
        of the problems, not empty
    d
        size of the matrices, at least 2

    Returns
    -------
    dict
        arrays (stages + 1, kappas, sigmas, seeds) by method; inf from where a run diverged, or can no longer be stacked
        because its network has become singular.

    Raises
    ------
    ValueError
        naming the argument.

    References
    ----------
    Figs. 4 and 5.
    """
    k, s = arguments.finite("kappas", kappas, minimum=1.0), arguments.positive("sigmas", sigmas)
    draws = arguments.integer("seeds", seeds, minimum=0)
    for name, value in (("kappas", k), ("sigmas", s), ("seeds", draws)):
        if value.ndim != 1 or not value.size:
            raise arguments.refuse(name, value.tolist(), "a sequence of one number at least")
    teacher, covariance = problem(k[:, None, None], s[:, None], d, draws)
    size, shape = arguments.count("stages", stages), (k.size, s.size, draws.size)
    paths = {name: excess_loss(name, teacher, covariance, size) for name in METHODS if name != "stacking"}
    flat = stacked_course(teacher.reshape(-1, d, d), covariance.reshape(-1, d, d), size)
    paths["stacking"] = flat.reshape(size + 1, *shape)
    return {name: paths[name] / paths[name][0] for name in METHODS}


def stacked_course(teacher: Array, covariance: Array, stages: int) -> Array:
    """Excess losses of stacking, (stages + 1, n); one singular network stops a whole batch, so batches are halved."""
    try:
        return excess_loss("stacking", teacher, covariance, stages)
    except SingularIterate:
        half = len(teacher) // 2
    if half:
        parts = (slice(None, half), slice(half, None))
        return np.concatenate([stacked_course(teacher[part], covariance[part], stages) for part in parts], axis=1)
    path = np.full((stages + 1, 1), np.inf)
    setting = Setting("stacking", teacher, covariance, stages, None, None, None, 0)
    try:
        for t, error in enumerate(setting.course()):
            path[t] = setting.excess(error)
    except SingularIterate:
        pass  # what follows stays infinite
    return path
