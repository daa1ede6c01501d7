"""The ball around the teacher within which the theorem holds, and how many stages of warm-up lead into it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.stages.linear.course import Setting, default_beta
from lrtransfer.stages.linear.theory import at_least, printed_alpha


@dataclass(frozen=True)
class Ball:
    """The neighbourhood of Theorem 3.1.

    Attributes
    ----------
    delta
        excess loss at the start
    eta
        distance |W_t - W*| along the run
    """

    delta: Array
    eta: Array


def ball(
    kappa: ArrayLike, sigma_min: ArrayLike, d: int, mu: ArrayLike = 1.0, *, alpha: ArrayLike | None = None
) -> Ball:
    """How near the optimum Theorem 3.1 must start, and how near its proof keeps the iterates.

        delta = mu alpha^2 sigma_min^2 / (256 beta^2 d),   eta = sqrt(16 delta / mu)

    All arguments but ``d`` broadcast.

    Parameters
    ----------
    kappa
        condition number, > 9 with the printed alpha and > 1 otherwise
    sigma_min
        smallest singular value of the teacher, positive
    d
        size of the matrices
    mu
        strong convexity: the smallest eigenvalue of Sigma
    alpha
        perturbation allowed; ``printed_alpha`` by default

    Returns
    -------
    Ball
        delta and eta of the broadcast shape.

    Raises
    ------
    ValueError
        naming the argument.

    References
    ----------
    Theorem 3.1.
    """
    k = at_least("kappa", kappa, 1.0)
    size = printed_alpha(k) if alpha is None else arguments.positive("alpha", alpha)
    smallest, strong = arguments.positive("sigma_min", sigma_min), arguments.positive("mu", mu)
    d = arguments.count("d", d, minimum=1)
    arguments.broadcast(kappa=k, sigma_min=smallest, mu=strong, alpha=size)
    eta = size * smallest / (4 * default_beta(k) * np.sqrt(d))
    return Ball((strong * eta**2 / 16)[()], eta[()])


def edge_start(teacher: ArrayLike, covariance: ArrayLike, delta: ArrayLike) -> Array:
    """A start on the way from the teacher to the identity whose excess loss is delta: the edge of the ball.

        W_0 = W* + c (I - W*),    c > 0 such that (1/2) Tr((W_0 - W*) Sigma (W_0 - W*)') = delta

    Parameters
    ----------
    teacher, covariance
        as in ``linear.run``, (..., d, d), the teacher not the identity
    delta
        positive, (...)

    Returns
    -------
    ndarray
        W_0, (..., d, d).

    Raises
    ------
    ValueError
        naming the argument, a teacher that is the identity among them.
    """
    target = arguments.positive("delta", delta)
    s = Setting("gd", teacher, covariance, 0, None, None, None, 0)
    offset = np.eye(s.shape[-1]) - s.teacher
    whole = s.excess(offset)
    if not (whole > 0).all():
        raise ValueError("teacher is the identity: there is no way from it to the identity to start on.")
    arguments.broadcast(delta=target, teacher=whole)
    return s.teacher + np.sqrt(target / whole)[..., None, None] * offset


@dataclass(frozen=True)
class WarmupStages:
    """Stages until Theorem 3.1 applies, from the first iterate.

    Attributes
    ----------
    delta
        excess loss at which stacking may begin
    formula
        T_0 of Corollary 3.6, kappa log((l(W_1) - l*)/delta) + 2, and 0 where that is negative
    descent
        first stage at which plain descent is at most delta
    stacking
        the same for stacking from the first stage; -1 if not within ``cap`` stages
    """

    delta: float
    formula: float
    descent: int
    stacking: int


def warmup_stages(
    teacher: ArrayLike,
    covariance: ArrayLike,
    *,
    start: ArrayLike | None = None,
    alpha: float | None = None,
    cap: int = 5000,
) -> WarmupStages:
    """How long the warm-up of Corollary 3.6 is: by its formula, as plain descent needs it, and without one.

    Parameters
    ----------
    teacher, covariance, start
        one problem, (d, d) each, as in ``linear.run``
    alpha
        the perturbation allowed; ``printed_alpha`` by default
    cap
        stages after which stacking is given up

    Returns
    -------
    WarmupStages
        all three, and delta.

    Raises
    ------
    ValueError
        as ``linear.run`` and ``ball`` do, and for more than one problem.

    References
    ----------
    Corollary 3.6.
    """
    s = Setting("gd", teacher, covariance, 1, None, start, None, 0)
    if len(s.shape) != 2:
        raise ValueError(f"teacher and covariance of shape {s.shape} are not allowed: one problem, (d, d), at a time.")
    smallest = float(np.linalg.svd(s.teacher, compute_uv=False)[-1])
    delta = float(ball(s.kappa, smallest, s.shape[-1], s.mu, alpha=alpha).delta)
    eigenvalues, basis = np.linalg.eigh(s.covariance)
    weights = 0.5 * eigenvalues * (((s.start - s.teacher) @ basis) ** 2).sum(axis=0)
    shrink = 1 - eigenvalues / eigenvalues[-1]

    def plain(t: int) -> float:
        with np.errstate(under="ignore"):
            return float(weights @ shrink ** (2 * t))

    low, high = 0, 1
    while plain(high) > delta:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if plain(middle) > delta else (low, middle)
    descent = 0 if plain(0) <= delta else high
    stacked = Setting("stacking", teacher, covariance, cap, None, start, None, 0)
    reached = next((t for t, error in enumerate(stacked.course()) if stacked.excess(error) <= delta), -1)
    over = plain(1) / delta
    formula = max(float(s.kappa) * float(np.log(over)) + 2, 0.0) if over > 0 else 0.0
    return WarmupStages(delta, formula, descent, reached)
