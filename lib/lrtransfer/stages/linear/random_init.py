"""Random initialisation in linear networks: descent on average, above a floor of noise.

Stage t + 1 begins at W_t + N_t W_t (residual) or W_t + N_t (additive), N_t with independent entries of mean 0 and
variance scale^2 / d. With A = I - step Sigma/L and the error E = W - W*,

    E_{t+1} = (E_t + g_t) A,     g_t = N_t W_t  or  N_t,

so the mean error is that of plain descent, and the second moment M = E[E'E] obeys the linear recursion

    M <- A (M + scale^2 C) A,    C = E[W'W] (residual) or I (additive).

Source: "Stacking as accelerated gradient descent", Sec. 2; the moments are this book's.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.estimates import mean_and_error
from lrtransfer.stages.linear.course import Setting, spectrum, square


@dataclass(frozen=True)
class RandomRun:
    """Runs with randomly begun stages.

    Attributes
    ----------
    excess
        excess loss, (T + 1, draws)
    mean
        mean over draws of W_t - W*, (T + 1, d, d); inf where a draw has overflowed
    error
        standard error of that mean, (T + 1, d, d); inf there, too
    """

    excess: Array
    mean: Array
    error: Array


@dataclass(frozen=True)
class RandomMoments:
    """What is expected of such runs, exactly.

    Attributes
    ----------
    excess
        expected excess loss, (T + 1,)
    mean
        expected W_t - W*, (T + 1, d, d): plain descent
    floor
        the expected excess loss as T grows; inf where the second moment grows without bound
    """

    excess: Array
    mean: Array
    floor: float


def random_run(
    teacher: ArrayLike,
    covariance: ArrayLike,
    stages: int,
    *,
    scale: float,
    draws: int,
    composition: str = "residual",
    step: float = 1.0,
    start: ArrayLike | None = None,
    seed: int | np.random.Generator = 0,
) -> RandomRun:
    """Independent runs with randomly begun stages, as one array program.

    Parameters
    ----------
    teacher, covariance, stages, start
        one problem, (d, d), as in ``linear.run``
    scale
        of the noise N_t, whose entries have variance scale^2 / d; 0 or more
    draws
        how many runs, two or more
    composition
        "residual" or "additive"
    step
        length of the functional step in units of 1/L, positive
    seed
        whole number, or a generator that several calls draw from in turn

    Returns
    -------
    RandomRun
        a run that overflows has infinite excess.

    Raises
    ------
    ValueError
        for bad arguments.

    References
    ----------
    Sec. 2.
    """
    s, size = _setting(teacher, covariance, stages, scale, composition, start)
    draws, length = arguments.count("draws", draws, minimum=2), arguments.one("step", arguments.positive("step", step))
    generator = seed if isinstance(seed, np.random.Generator) else np.random.default_rng(arguments.seed("seed", seed))
    d = s.shape[-1]
    shrink = np.eye(d) - length * s.covariance / s.top
    error = np.broadcast_to(s.start - s.teacher, (draws, d, d))
    excess, mean, spread = [], [], []
    for t in range(s.stages + 1):
        excess.append(s.excess(error))
        middle, deviation = mean_and_error(np.where(np.isfinite(error), error, np.inf), axis=0)
        mean.append(middle)
        spread.append(deviation)
        with np.errstate(over="ignore", invalid="ignore"):
            if t < s.stages:
                noise = size / np.sqrt(d) * generator.standard_normal((draws, d, d))
                error = (error + (noise @ (error + s.teacher) if composition == "residual" else noise)) @ shrink
    return RandomRun(np.array(excess), np.array(mean), np.array(spread))


def random_moments(
    teacher: ArrayLike,
    covariance: ArrayLike,
    stages: int,
    *,
    scale: float,
    composition: str = "residual",
    step: float = 1.0,
    start: ArrayLike | None = None,
) -> RandomMoments:
    """Expected excess loss, expected error and floor of ``random_run``, by the recursion above.

    In Sigma's eigenbasis, with q the eigenvalues of A and P = scale^2 W*'W* (residual) or scale^2 I (additive), the
    second moment settles at

        M_ij = q_i q_j P_ij / (1 - q_i q_j (1 + scale^2))   (residual),    q_i q_j P_ij / (1 - q_i q_j)   (additive);

    the residual one needs q^2 (1 + scale^2) < 1 for every q, the additive one q^2 < 1.

    Parameters
    ----------
    teacher, covariance, stages, scale, composition, step, start
        as in ``random_run``

    Returns
    -------
    RandomMoments
        exact, without a draw.

    Raises
    ------
    ValueError
        for bad arguments.
    """
    s, size = _setting(teacher, covariance, stages, scale, composition, start)
    eigenvalues, basis = np.linalg.eigh(s.covariance)
    q = 1 - arguments.one("step", arguments.positive("step", step)) * eigenvalues / eigenvalues[-1]
    both, target = q[:, None] * q, s.teacher @ basis
    grows = size**2 if composition == "residual" else 0.0
    base = size**2 * (target.T @ target if composition == "residual" else np.eye(q.size))
    mean = (s.start - s.teacher) @ basis
    moment = mean.T @ mean
    excess, means = [], []
    with np.errstate(over="ignore", under="ignore"):
        for _ in range(s.stages + 1):
            excess.append(0.5 * float(eigenvalues @ np.diag(moment)))
            means.append(mean @ basis.T)
            cross = target.T @ mean
            fresh = base + (size**2 * (cross + cross.T) if composition == "residual" else 0.0)
            moment = both * (moment * (1 + grows) + fresh)
            mean = mean * q
    settles = q**2 * (1 + grows)
    floor = np.inf
    if (settles < 1).all():
        floor = 0.5 * float(eigenvalues @ (q**2 * np.diag(base) / (1 - settles)))
    return RandomMoments(np.where(np.isfinite(excess), excess, np.inf), np.array(means), float(floor))


def additive_floor(covariance: ArrayLike, *, scale: ArrayLike, step: ArrayLike = 1.0) -> Array:
    """Where the excess loss of additive random starts settles: the noise floor, in closed form.

        floor = (scale^2 / 2) sum_k h_k q_k^2 / (1 - q_k^2),    q_k = 1 - step h_k / L

    h_k are the eigenvalues of the covariance, each shared by d modes of variance scale^2 / d. For small steps the floor
    is scale^2 L d / (4 step). ``scale`` and ``step`` broadcast.

    Parameters
    ----------
    covariance
        (d, d)
    scale
        of the noise, 0 or more
    step
        in units of 1/L, above 0 and below 2

    Returns
    -------
    ndarray
        the floor of the broadcast shape, in the unit of the excess loss.

    Raises
    ------
    ValueError
        naming the argument.
    """
    h = spectrum(square("covariance", covariance))
    if h.ndim != 1:
        raise ValueError(f"covariance of shape {np.shape(covariance)} is not allowed: one matrix, (d, d).")
    size, length = arguments.finite("scale", scale, minimum=0.0), arguments.positive("step", step)
    arguments.broadcast(scale=size, step=length)
    if (length >= 2).any():
        raise arguments.refuse("step", float(length[length >= 2].flat[0]), "above 0 and below 2, in units of 1/L")
    q = (1 - length[..., None] * h / h[-1]) ** 2
    return (0.5 * size**2 * (h * q / (1 - q)).sum(axis=-1))[()]


def _setting(
    teacher: ArrayLike, covariance: ArrayLike, stages: int, scale: float, composition: str, start: ArrayLike | None
) -> tuple[Setting, float]:
    arguments.choice("composition", composition, ("additive", "residual"))
    setting = Setting("gd", teacher, covariance, stages, None, start, None, 0)
    if len(setting.shape) != 2:
        raise ValueError(f"teacher and covariance of shape {setting.shape} are not allowed: one problem, (d, d).")
    return setting, arguments.one("scale", arguments.finite("scale", scale, minimum=0.0))
