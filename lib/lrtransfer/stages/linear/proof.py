"""Theorem 3.1's proof along a run: the potential, and every claim and fact as two sides to compare.

With y_t = W_t, x_t = W_t + beta (W_t - W_{t-1}) + Delta_t and z_t = x_t / tau - y_t (1 - tau) / tau, a stagewise run is
Nesterov's method with errors; here each inequality of Sec. 3 is evaluated on the iterates themselves.

Source: "Stacking as accelerated gradient descent", Sec. 3; the constants are in ``theory``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.stages.linear.ball import ball, edge_start
from lrtransfer.stages.linear.course import frobenius, inverses
from lrtransfer.stages.linear.excess import StagesRun
from lrtransfer.stages.linear.excess import run as run_stages
from lrtransfer.stages.linear.problems import problem
from lrtransfer.stages.linear.theory import Constants, constants, lemma_bounds, printed_alpha, proof_alpha


@dataclass(frozen=True)
class Inequality:
    """left <= right at the stages t = 1 .. T where the premise holds; all of shape (T, ...).

    Attributes
    ----------
    left, right
        the two sides
    premise
        where the inequality is claimed
    rounding
        how far rounding alone may move right - left
    """

    left: Array
    right: Array
    premise: NDArray[np.bool_]
    rounding: Array

    @property
    def slack(self) -> Array:
        """The room left, right - left."""
        return self.right - self.left

    @property
    def share(self) -> Array:
        """How much of the bound is used, left / right, where right is positive; 0 elsewhere (as in fact 3.8)."""
        bounded = self.right > 0
        with np.errstate(over="ignore", under="ignore"):
            return np.where(bounded, self.left / np.where(bounded, self.right, 1.0), 0.0)

    @property
    def holds(self) -> NDArray[np.bool_]:
        """Whether the inequality holds, or its premise does not, at every stage, up to rounding; shape (T, ...)."""
        return ~self.premise | (self.slack >= -self.rounding)


def potential(run: StagesRun, *, factor: bool = True) -> Array:
    """Lemma 3.2's potential along a run of stacking or Nesterov, at t = 0 .. T.

        Phi(t) = (1 + gamma/2)^t [l(W_t) - l* + (mu/2) |z_t - W*|^2 + 2 rho |W_t - W*|^2]

    Parameters
    ----------
    run
        of ``linear.run``, from plain descent (previous and warmup as by default), with the default momentum
    factor
        with (1 + gamma/2)^t, or without

    Returns
    -------
    ndarray
        (T + 1, ...).

    Raises
    ------
    ValueError
        for any other run, and for one that diverged.

    References
    ----------
    Eq. 11.
    """
    a = _Along(run)
    phi = a.phi
    if not arguments.flag("factor", factor):
        return phi
    t = np.arange(phi.shape[0]).reshape(-1, *(1,) * (phi.ndim - 1))
    with np.errstate(over="ignore"):
        return phi * a.c.growth**t


def inequalities(run: StagesRun, *, alpha: ArrayLike | None = None) -> dict[str, Inequality]:
    """Every inequality of Theorem 3.1's proof along a run, at t = 1 .. T.

    The premise stands in brackets; "small" is |Delta_t| <= alpha |W_t - W_{t-1}|, Eq. 10:

        fact 3.4                 |W_{t-1}^-1| <= sqrt(d) / (sigma_min - eta)            [W_{t-1} within eta < sigma_min]
        fact 3.4 spectral        the same in the spectral norm and without the sqrt(d)   [the same]
        claim 3.3                |Delta_t| <= alpha |W_t - W_{t-1}|                      [W_{t-1} and W_t within eta]
        claim 3.5 perturbation   the same                                                [excess at the start <= delta]
        claim 3.5 distance       |W_t - W*| <= eta                                       [excess at the start <= delta]
        claim 3.7                (1 + gamma/2) phi(t) <= phi(t - 1), phi without its factor           [small]
        fact 3.8                 Eq. 12 with the term its proof drops, -mu gamma/(2 (1 + gamma)) |z - x|^2, at right
        fact 3.9                 Eq. 13                                                              [small]
        eq 18                    Eq. 18
        eq 19                    Eq. 19, times mu/2                                                  [small]
        lemma 3.2 distance       the bound from |x_0 - x*|                               [small at every stage before t]
        lemma 3.2 gap            the bound from l(y_0) - l*                              [small at every stage before t]

    Parameters
    ----------
    run
        as in ``potential``
    alpha
        the size of errors allowed; ``printed_alpha`` by default (kappa > 9). delta and eta follow from it

    Returns
    -------
    dict
        ``Inequality`` by name.

    Raises
    ------
    ValueError
        as ``potential`` does, and at kappa <= 9 without ``alpha``.

    References
    ----------
    Sec. 3.
    """
    a = _Along(run)
    c = a.c
    size = printed_alpha(run.kappa) if alpha is None else arguments.positive("alpha", alpha)
    d, mu, top = run.teacher.shape[-1], run.mu, run.smoothness
    smallest = np.linalg.svd(run.teacher, compute_uv=False)[..., -1]
    near = ball(run.kappa, smallest, d, mu, alpha=size)
    eps = 64 * d * np.finfo(np.float64).eps
    inside = run.distances <= near.eta
    small = run.deltas <= size * run.changes
    begun = np.broadcast_to(run.excess[0] <= near.delta, small[1:].shape)
    always = np.ones_like(small[1:])
    sofar = np.concatenate([always[:1], np.logical_and.accumulate(small[1:-1], axis=0)])

    energy = eps * (top * (a.yy[1:] + a.yy[:-1]) + mu * (a.zz[1:] + a.zz[:-1] + a.free[1:]))
    gap, before = run.excess[1:], run.excess[:-1]
    rho = c.rho * mu
    inverse, _ = inverses(run.iterates[:-1])
    room = smallest - near.eta
    apart = inside[:-1] & (room > 0)
    room = np.where(room > 0, room, 1.0)
    frob, top_inverse = frobenius(inverse), np.linalg.norm(inverse, 2, axis=(-2, -1))
    bound_far, bound_gap = lemma_bounds(
        run.kappa, gap.shape[0], smoothness=top, distance=run.distances[0], gap=run.excess[0]
    )
    moved = size * run.changes[1:]
    sides = {
        "fact 3.4": (frob, np.sqrt(d) / room, apart, eps * frob),
        "fact 3.4 spectral": (top_inverse, 1 / room, apart, eps * top_inverse),
        "claim 3.3": (run.deltas[1:], moved, inside[1:] & inside[:-1], eps * moved),
        "claim 3.5 perturbation": (run.deltas[1:], moved, begun, eps * moved),
        "claim 3.5 distance": (run.distances[1:], near.eta, begun, eps * run.distances[1:]),
        "claim 3.7": (c.growth * a.phi[1:], a.phi[:-1], small[1:], energy),
        "fact 3.8": (
            (1 + c.gamma) * gap - before + mu / 2 * ((1 + c.gamma) * a.free[1:] - a.zz[:-1]),
            -mu * c.gamma / (2 * (1 + c.gamma)) * a.zx[:-1],
            always,
            energy,
        ),
        "fact 3.9": (
            c.growth * (mu / 2 * a.zz[1:] + 2 * rho * a.yy[1:]) - 2 * rho * a.yy[:-1],
            c.gamma / 2 * gap + (1 + c.gamma) * mu / 2 * a.free[1:],
            small[1:],
            energy,
        ),
        "eq 18": ((2 + c.gamma / 2) * 2 * rho * a.yy[1:], c.gamma / 2 * gap, always, energy),
        "eq 19": (
            mu / 2 * c.growth * a.zz[1:] - 2 * rho * (a.yy[:-1] + a.yy[1:]),
            mu / 2 * (1 + c.gamma) * a.free[1:],
            small[1:],
            energy,
        ),
        "lemma 3.2 distance": (gap, bound_far[1:], sofar, energy),
        "lemma 3.2 gap": (gap, bound_gap[1:], sofar, energy),
    }
    shape = gap.shape
    return {
        name: Inequality(*(np.broadcast_to(part, shape) for part in (left, right, premise, rounding)))
        for name, (left, right, premise, rounding) in sides.items()
    }


class Tally(NamedTuple):
    """One inequality over several runs: at how many stages its premise held and it failed, and how near it came.

    Attributes
    ----------
    applies, fails
        numbers of stages and runs
    used
        the largest share of the bound where the premise holds; 0 where it never does
    signed
        whether the bound is negative at some of these stages, so that a share of it means nothing
    """

    applies: int
    fails: int
    used: float
    signed: bool


def tally(lines: Sequence[Inequality]) -> Tally:
    """Count over the ``Inequality``s of several runs.

    Parameters
    ----------
    lines
        all of one name

    Returns
    -------
    Tally
        over all their stages.
    """
    used = [float(one.share[one.premise].max()) for one in lines if one.premise.any()]
    return Tally(
        sum(int(one.premise.sum()) for one in lines),
        sum(int((~one.holds).sum()) for one in lines),
        max(used, default=0.0),
        any(bool((one.right[one.premise] < 0).any()) for one in lines),
    )


def audit(
    kappa: float, stages: int, *, inside: bool, sigma: float = 1.0, d: int = 20, seed: int = 0
) -> tuple[StagesRun, dict[str, Inequality]]:
    """A stacking run on ``problem(kappa, sigma)`` and all its ``inequalities``, with the constant the proof supports.

    Parameters
    ----------
    kappa
        condition number, above 1
    stages
        length of the run
    inside
        begin at 0.999 of the ball's delta, on the way from the teacher to the identity, rather than at the identity
    sigma, d, seed
        as in ``problem``

    Returns
    -------
    run : StagesRun
        the run
    lines : dict
        as ``inequalities`` gives them.

    Raises
    ------
    ValueError
        at kappa <= 1.
    """
    teacher, covariance = problem(kappa, sigma, d, seed)
    alpha = float(proof_alpha(kappa))
    begin = None
    if inside:
        smallest = np.linalg.svd(teacher, compute_uv=False)[-1]
        begin = edge_start(teacher, covariance, 0.999 * ball(kappa, smallest, d, 1 / kappa, alpha=alpha).delta)
    path = run_stages("stacking", teacher, covariance, stages, start=begin)
    return path, inequalities(path, alpha=alpha)


class _Along:
    """Squared lengths along a run, (T + 1, ...): of y, z, z - x and of z without the last error, all from W*."""

    def __init__(self, run: StagesRun) -> None:
        if run.method == "gd" or run.warmup or run.steps[0].any():
            raise ValueError(
                f'run of method "{run.method}" and warmup {run.warmup} is not allowed: run must be of "stacking" or '
                '"nesterov", begun by plain descent. For what follows a warm-up, start a run at its last iterate.'
            )
        if not np.isfinite(run.errors).all():
            raise ValueError("run has diverged: the potential needs a run that stays finite.")
        self.c: Constants = constants(run.kappa)
        if not np.allclose(run.beta, self.c.beta, rtol=1e-12, atol=0):
            raise arguments.refuse("beta", run.beta.flat[0].item(), "the default, with which the lemma is stated")
        y = run.errors
        momentum, weight = run.beta[..., None, None], self.c.tau[..., None, None]
        free = y + momentum * run.steps  # x_t without its error
        x = free + run.perturbations if run.method == "stacking" else free
        z = x / weight - (1 - weight) / weight * y
        with np.errstate(under="ignore"):
            self.yy, self.zz, self.zx = ((v * v).sum(axis=(-2, -1)) for v in (y, z, z - x))
            free = free / weight - (1 - weight) / weight * y
            self.free = (free * free).sum(axis=(-2, -1))
            self.phi = run.excess + run.mu / 2 * self.zz + 2 * self.c.rho * run.mu * self.yy
