"""Deep linear residual networks trained one layer at a time: descent, stacking and Nesterov on the squared loss.

A network of t layers computes x -> W_t x with W_t = (I + w_t) .. (I + w_1). Stage t + 1 starts its layer at
w0 and then takes one functional step, so that with G(W) = (W - W*) Sigma and the excess loss

    (1/2) Tr((W - W*) Sigma (W - W*)'),

    gd         w0 = 0                            W_{t+1} = V - G(V)/L,  V = W_t
    nesterov   w0 = beta w_t (I + w_t)^-1                               V = W_t + beta (W_t - W_{t-1})
    stacking   w0 = beta w_t                                            V = (I + beta w_t) W_t

Stacking is Nesterov's step with the perturbation Delta_t = beta (W_t - W_{t-1}) W_{t-1}^{-1} (W_t - W_{t-1}).

The run is kept as the error E_t = W_t - W*, in which each update is linear plus Delta_t: errors stay accurate
relative to themselves long after W_t has converged to the last digit.

Source: "Stacking as accelerated gradient descent", Eqs. 5, 6, 8 and 22-24.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lrtransfer.numerics.arrays import Array
from lrtransfer.stages.linear.course import METHODS, Setting, SingularIterate, default_beta, frobenius, inverses
from lrtransfer.stages.linear.problems import problem

__all__ = [
    "METHODS",
    "Explosions",
    "SingularIterate",
    "StagesRun",
    "default_beta",
    "excess_loss",
    "explosions",
    "problem",
    "run",
]


@dataclass(frozen=True)
class StagesRun:
    """A stagewise run on T stages; ... are the leading axes of teacher, covariance and beta.

    Attributes
    ----------
    errors
        W_t - W*, (T + 1, ..., d, d); inf from where a run diverged
    excess
        excess loss, (T + 1, ...)
    teacher, covariance
        as given, broadcast to (..., d, d)
    previous
        W_{-1}, (..., d, d)
    smoothness, mu, kappa, beta
        L, the smallest eigenvalue of Sigma, L/mu, and the momentum, (...)
    method, warmup
        as given
    """

    errors: Array
    excess: Array
    teacher: Array
    covariance: Array
    previous: Array
    smoothness: Array
    mu: Array
    kappa: Array
    beta: Array
    method: str
    warmup: int

    @cached_property
    def iterates(self) -> Array:
        """The networks' matrices W_t, (T + 1, ..., d, d)."""
        return self.errors + self.teacher

    @cached_property
    def steps(self) -> Array:
        """W_t - W_{t-1}, (T + 1, ..., d, d); infinite where a run has diverged."""
        gone, before = self._gone, self._before
        with np.errstate(invalid="ignore", over="ignore"):
            step = self.errors - before
        return np.where(gone[..., None, None], np.inf, step)

    @cached_property
    def perturbations(self) -> Array:
        """What stacking adds to Nesterov's step at these iterates, Delta_t of Eq. 8, (T + 1, ..., d, d).

        Infinite where W_{t-1} is singular, or the run has diverged.
        """
        gone = self._gone[..., None, None]
        base = np.where(gone, np.eye(self.teacher.shape[-1]), self._before + self.teacher)
        step = np.where(gone, 0.0, self.steps)
        inverse, singular = inverses(base)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            delta = self.beta[..., None, None] * (step @ inverse @ step)
        bad = gone | (singular[..., None, None] & (step != 0).any(axis=(-2, -1), keepdims=True)) | ~np.isfinite(delta)
        return np.where(bad.any(axis=(-2, -1), keepdims=True), np.inf, delta)

    @cached_property
    def changes(self) -> Array:
        """Frobenius norm of W_t - W_{t-1}, (T + 1, ...)."""
        return frobenius(self.steps)

    @cached_property
    def deltas(self) -> Array:
        """Frobenius norm of Delta_t at these iterates (Eq. 8), (T + 1, ...); inf where W_{t-1} is singular."""
        return frobenius(self.perturbations)

    @cached_property
    def ratios(self) -> Array:
        """Size of the perturbation, |Delta_t| / |W_t - W_{t-1}|, (T + 1, ...); 0 where the network did not move."""
        ratio = np.zeros_like(self.changes)
        moved = (self.changes > 0) & np.isfinite(self.deltas) & np.isfinite(self.changes)
        with np.errstate(over="ignore", under="ignore"):
            np.divide(self.deltas, self.changes, out=ratio, where=moved)
        ratio[~np.isfinite(self.deltas)] = np.inf
        return ratio

    @cached_property
    def distances(self) -> Array:
        """Frobenius distance to the teacher, |W_t - W*|, (T + 1, ...)."""
        return frobenius(self.errors)

    @cached_property
    def _before(self) -> Array:
        return np.concatenate([(self.previous - self.teacher)[None], self.errors[:-1]])

    @cached_property
    def _gone(self) -> NDArray[np.bool_]:
        return np.asarray(~(np.isfinite(self.errors) & np.isfinite(self._before)).all(axis=(-2, -1)))


def run(
    method: str,
    teacher: ArrayLike,
    covariance: ArrayLike,
    stages: int,
    *,
    beta: ArrayLike | None = None,
    start: ArrayLike | None = None,
    previous: ArrayLike | None = None,
    warmup: int = 0,
) -> StagesRun:
    """One stage at a time, ``stages`` times: iterates, excess losses and what stacking adds to Nesterov's step.

    All leading axes broadcast.

    Parameters
    ----------
    method
        "gd", "stacking" or "nesterov", as in this module's formulas
    teacher
        W*, (..., d, d)
    covariance
        Sigma, symmetric positive definite, (..., d, d); its largest eigenvalue L sets the step 1/L
    stages
        T
    beta
        momentum in [0, 1], (...); (sqrt(kappa) - 1)/(sqrt(kappa) + 1) by default, kappa = L/mu
    start
        W_0, (..., d, d); the identity by default
    previous
        W_{-1}; ``start`` by default, so that the first step is plain descent and W_0 stays a factor of the network. The
        identity here instead makes the first layer w_0 = W_0 - I
    warmup
        so many first stages begin at zero, whatever the method (Corollary 3.6)

    Returns
    -------
    StagesRun
        ``inf`` from where a run overflows, or has grown by 1e8 and lost its inverse.

    Raises
    ------
    ValueError
        for a bad argument, among them a start or previous without an inverse where stacking needs one.
    SingularIterate
        when stacking needs the inverse of a network that has become singular on the way.

    References
    ----------
    Eqs. 5, 6, 23 and 24.
    """
    setting = Setting(method, teacher, covariance, stages, beta, start, previous, warmup)
    errors = np.empty((setting.stages + 1, *setting.shape))
    for row, error in zip(errors, setting.course(), strict=True):
        row[...] = error
    s = setting
    return StagesRun(
        errors, s.excess(errors), s.teacher, s.covariance, s.previous, s.top, s.mu, s.kappa, s.beta, s.method, s.warmup
    )


def excess_loss(
    method: str,
    teacher: ArrayLike,
    covariance: ArrayLike,
    stages: int,
    *,
    beta: ArrayLike | None = None,
    start: ArrayLike | None = None,
) -> Array:
    """Excess loss of a stagewise run.

        (1/2) Tr((W_t - W*) Sigma (W_t - W*)')      at t = 0 .. stages

    Keeps no iterates, so that long runs cost little: descent and Nesterov go eigenvalue by eigenvalue, as W_t - W* =
    (W_0 - W*) p_t(Sigma) with a polynomial p_t.

    Parameters
    ----------
    method, teacher, covariance, stages, beta, start
        as in ``run``

    Returns
    -------
    ndarray
        (stages + 1,) + the broadcast leading axes; ``inf`` from where a run diverged.

    Raises
    ------
    ValueError, SingularIterate
        as ``run`` does.

    References
    ----------
    Eqs. 22-24.
    """
    setting = Setting(method, teacher, covariance, stages, beta, start, None, 0)
    if setting.method == "stacking":
        return setting.losses()
    return _excess_by_eigenvalue(setting)


@dataclass(frozen=True)
class Explosions:
    """How high stacking rises on some problems, (n,) each.

    Attributes
    ----------
    peak
        largest finite excess loss over the first one; inf where not even the course of the run is known
    lost
        whether the run ends infinite, or cannot go on because its network has become singular
    """

    peak: Array
    lost: NDArray[np.bool_]


def explosions(kappa: float, sigma: float, stages: int, *, seeds: Iterable[int], d: int = 20) -> Explosions:
    """Stacking from the identity on ``problem(kappa, sigma, d, seed)`` for each seed: which runs survive their start.

    Parameters
    ----------
    kappa, sigma, d
        as in ``problem``, one number each
    stages
        length of the runs
    seeds
        (n,), of the problems

    Returns
    -------
    Explosions
        in the order of the seeds.

    Raises
    ------
    ValueError
        as ``problem`` and ``excess_loss`` do.

    References
    ----------
    Fig. 5, which stops short of what is lost.
    """
    peaks, lost = [], []
    for seed in seeds:
        try:
            path = excess_loss("stacking", *problem(kappa, sigma, d, seed), stages)
        except SingularIterate:
            path = np.array([1.0, np.inf])
            peaks.append(np.inf)
        else:
            finite = path[np.isfinite(path)]
            still = finite.size and finite.max() == path[0]  # at the teacher from the start, for one
            with np.errstate(over="ignore"):
                peaks.append(1.0 if still else finite.max() / path[0] if finite.size and path[0] > 0 else np.inf)
        lost.append(not np.isfinite(path[-1]))
    return Explosions(np.array(peaks), np.array(lost, dtype=bool))


def _excess_by_eigenvalue(s: Setting) -> Array:
    eigenvalues, basis = np.linalg.eigh(s.covariance)
    with np.errstate(over="ignore", under="ignore"):
        along = np.swapaxes((s.start - s.teacher) @ basis, -1, -2)  # (..., d, d), a row for each eigenvalue
        sizes = np.sqrt(eigenvalues / 2) * frobenius(along[..., None, :])  # (..., d)
        q = np.maximum(1 - eigenvalues / s.top[..., None], 0.0)
        if s.method == "gd":
            p = q ** np.arange(s.stages + 1.0).reshape(-1, *(1,) * q.ndim)
        else:
            p, ahead = np.empty((s.stages + 1, *q.shape)), 1 + s.beta[..., None]
            p[0], p[1:2] = 1.0, q
            back, forth = q * (ahead - 1), q * ahead
            for t in range(1, s.stages):
                p[t + 1] = forth * p[t] - back * p[t - 1]
        return ((sizes * p) ** 2).sum(axis=-1)
