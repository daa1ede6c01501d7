"""What the chapter measures of the linear network: far starts, perturbed runs, the ball of the theorem, warm-up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lrtransfer.numerics.arrays import Array
from lrtransfer.stages.errors.perturbed import perturbed_nesterov
from lrtransfer.stages.errors.thresholds import potential_growth
from lrtransfer.stages.linear.ball import ball, edge_start
from lrtransfer.stages.linear.course import METHODS
from lrtransfer.stages.linear.excess import run
from lrtransfer.stages.linear.problems import problem
from lrtransfer.stages.linear.proof import Tally, audit, potential, tally
from lrtransfer.stages.linear.speed import first_below
from lrtransfer.stages.linear.theory import lemma_bounds, printed_alpha, proof_alpha, rate

CONSTANTS = {"printed": printed_alpha, "proved": proof_alpha}


@dataclass(frozen=True)
class FarSummary:
    """``course_grid`` in numbers, each (kappas, sigmas, seeds).

    Attributes
    ----------
    peaks
        largest finite excess of stacking over its start
    lost
        whether stacking ends infinite
    needed
        by method: stages until the excess is below a level, inf where it never is
    """

    peaks: Array
    lost: NDArray[np.bool_]
    needed: dict[str, Array]


def far_summary(courses: dict[str, Array], level: float, *, descent: ArrayLike) -> FarSummary:
    """Peaks and stages to a level of the courses of ``course_grid``.

    Parameters
    ----------
    courses
        of ``course_grid``
    level
        of the excess over its start, positive
    descent
        stages that plain descent needs, (kappas, seeds), from longer runs: it does not depend on sigma

    Returns
    -------
    FarSummary
        for every problem of the grid.
    """
    stacked = courses["stacking"]
    needed = {name: first_below(courses[name], level) for name in METHODS}
    needed["gd"] = np.broadcast_to(np.asarray(descent)[:, None], stacked.shape[1:])
    return FarSummary(
        np.where(np.isfinite(stacked), stacked, 0.0).max(axis=0), np.logical_not(np.isfinite(stacked[-1])), needed
    )


def tracked_potentials(kappa: float, alphas: Sequence[float], steps: int, *, modes: int = 12) -> Array:
    """Phi(t) / Phi(0) with adversarial errors of each size, from |x_i| = h_i^(-1/2).

    Parameters
    ----------
    kappa
        condition number above 1
    alphas
        sizes of the errors, 0 or more
    steps
        T
    modes
        curvatures h_i, in geometric progression from 1 to kappa

    Returns
    -------
    ndarray
        (steps + 1, alphas).
    """
    h = np.geomspace(1, kappa, modes)
    path = perturbed_nesterov(h, h**-0.5, steps, perturb="adversarial", alpha=np.asarray(alphas, float))
    return path.potential / path.potential[0]


@dataclass(frozen=True)
class LemmaTest:
    """Runs of Nesterov's method with errors against Lemma 3.2, T steps.

    Attributes
    ----------
    growth
        largest Phi(t) / Phi(t - 1) over runs and steps
    shares
        loss over each of the lemma's two bounds, (T + 1, 2, runs)
    """

    growth: float
    shares: Array


def lemma_test(kappa: float, alpha: float, perturb: str, runs: int, *, steps: int = 60) -> LemmaTest:
    """``potential_growth`` at one size of errors, and how much of the lemma's bounds its runs use.

    Parameters
    ----------
    kappa, alpha, perturb, runs, steps
        as in ``potential_growth``, one number each

    Returns
    -------
    LemmaTest
        growth of the potential, and shares of the bounds.
    """
    growth, path = potential_growth(kappa, alpha, perturb, runs, steps=steps)
    distance = np.linalg.norm(path.y[0], axis=-1)
    bounds = lemma_bounds(path.kappa, steps, smoothness=path.kappa, distance=distance, gap=path.gap[0])
    return LemmaTest(float(growth.max()), np.stack([path.gap / bound for bound in bounds], axis=1)[..., 0])


@dataclass(frozen=True)
class EdgeRun:
    """Stacking from the edge of Theorem 3.1's ball.

    Attributes
    ----------
    alpha, delta
        the constant, and the excess loss at the start
    largest_share, last_share
        excess over the theorem's bound, largest after the start and at the end
    ratio
        largest |Delta| / |step| of the run
    exponent
        exponent of the later half of the run over the guaranteed one
    promised, needed
        stages to a millionth of delta, by the theorem's bound and as measured
    """

    alpha: float
    delta: float
    largest_share: float
    last_share: float
    ratio: float
    exponent: float
    promised: int
    needed: int


def from_the_edge(kappa: float, constant: str, *, sigma: float = 1.0) -> EdgeRun:
    """40 sqrt(kappa) stages of stacking on ``problem(kappa, sigma)`` from excess delta.

    Parameters
    ----------
    kappa, sigma
        as in ``problem``, kappa above 9 for the printed constant and above 1 for the other
    constant
        "printed" or "proved": which alpha sets delta

    Returns
    -------
    EdgeRun
        the run against the theorem's bound.
    """
    goal, spectrum = problem(kappa, sigma)
    alpha = float(CONSTANTS[constant](kappa))
    near = ball(kappa, np.linalg.svd(goal, compute_uv=False)[-1], len(goal), 1 / kappa, alpha=alpha)
    steps = int(40 * np.sqrt(kappa))
    path = run("stacking", goal, spectrum, steps, start=edge_start(goal, spectrum, near.delta))
    bound = lemma_bounds(kappa, steps, smoothness=1.0, distance=path.distances[0], gap=near.delta)[1]
    half = steps // 2
    exponent = np.log(path.excess[half] / path.excess[-1]) / (steps - half) / -np.log(rate(kappa))
    share, s = path.excess / bound, np.sqrt(kappa)
    promised = int(np.ceil(np.log(1e6 * 8 * s / (4 * s - 3)) / -np.log(rate(kappa))))
    needed = int(first_below(path.excess, 1e-6, start=near.delta))
    largest, last, ratio = float(share[1:].max()), float(share[-1]), float(path.ratios[1:].max())
    return EdgeRun(alpha, float(near.delta), largest, last, ratio, float(exponent), promised, needed)


@dataclass(frozen=True)
class ProofAudit:
    """Every inequality of the proof over runs at several condition numbers.

    Attributes
    ----------
    inside, outside
        ``Tally`` by name: from the edge of the ball, and from the identity
    falls
        share of the stages at which the potential falls on the runs from the identity, by kappa
    """

    inside: dict[str, Tally]
    outside: dict[str, Tally]
    falls: dict[float, float]

    @property
    def failures(self) -> int:
        """Violations where a premise holds."""
        return sum(one.fails for one in (*self.inside.values(), *self.outside.values()))


def proof_audit(kappas: Sequence[float], stages: int) -> ProofAudit:
    """``audit`` of runs from both starts at each condition number, tallied by inequality.

    Parameters
    ----------
    kappas
        above 1
    stages
        length of the runs

    Returns
    -------
    ProofAudit
        over all condition numbers.
    """
    runs = {inside: [audit(kappa, stages, inside=inside) for kappa in kappas] for inside in (True, False)}
    tallies = {
        inside: {name: tally([lines[name] for _, lines in found]) for name in found[0][1]}
        for inside, found in runs.items()
    }
    falls = {
        kappa: float((np.diff(potential(path)) <= 0).mean())
        for kappa, (path, _) in zip(kappas, runs[False], strict=True)
    }
    return ProofAudit(tallies[True], tallies[False], falls)


@dataclass(frozen=True)
class WarmupStudy:
    """Stages in all to a target, warm-up included.

    Attributes
    ----------
    warmups
        (n,), stages of plain descent before the first copy
    totals
        (n, sigmas, seeds), inf where the target is not reached
    """

    warmups: NDArray[np.int64]
    totals: Array

    @property
    def medians(self) -> Array:
        """Median over the seeds, (n, sigmas)."""
        return np.median(self.totals, axis=2)

    @property
    def best(self) -> NDArray[np.int64]:
        """The warm-up that is best in the median, (sigmas,)."""
        return self.warmups[self.medians.argmin(axis=0)]


def warmup_study(
    kappa: float, sigmas: ArrayLike, warmups: ArrayLike, *, seeds: ArrayLike, target: float, stages: int = 200
) -> WarmupStudy:
    """Stacking after each number of warm-up stages on ``problem(kappa, sigma, seed)``, until excess <= target * start.

    Parameters
    ----------
    kappa
        condition number, at least 1
    sigmas
        (s,), distances of the teacher from the identity
    warmups
        (n,), stages of plain descent, from 0
    seeds
        (k,), of the problems
    target
        of the excess loss, in units of the first
    stages
        after the warm-up

    Returns
    -------
    WarmupStudy
        stages in all, (n, s, k).
    """
    tried = np.asarray(warmups)
    goals, spectra = problem(kappa, np.asarray(sigmas, dtype=float)[:, None], seed=seeds)
    descended = run("gd", goals, spectra, int(tried.max()))
    begun, before = descended.iterates[tried], descended.iterates[np.maximum(tried - 1, 0)]  # the copy needs both
    path = run("stacking", goals, spectra, stages, start=begun, previous=before).excess
    reached = first_below(path, target, start=descended.excess[0])
    return WarmupStudy(tried, tried[:, None, None] + reached)


def rescued(kappa: float, sigma: float, seeds: Sequence[int], *, warmup: int, stages: int = 600) -> Array:
    """Excess over the start at the end of stacking after ``warmup`` stages of descent and ``stages`` more.

    Parameters
    ----------
    kappa, sigma
        as in ``problem``
    seeds
        of the problems
    warmup, stages
        before the first copy, and after it

    Returns
    -------
    ndarray
        (seeds,).
    """
    found = []
    for seed in seeds:
        path = run("stacking", *problem(kappa, sigma, seed=int(seed)), warmup + stages, warmup=warmup).excess
        found.append(path[-1] / path[0])
    return np.array(found)
