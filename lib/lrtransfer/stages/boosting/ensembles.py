"""Boosting on real data, each stage started at beta times the last: train and test curves over several splits.

The ensemble is F_t = f_1 + .. + f_t. Stage t + 1 starts its function at beta_t f_t, sees the negative functional
gradient there, r_i = -l'(V_t(x_i), y_i) with V_t = F_t + beta_t f_t, fits a weak learner h to r by least squares and
sets

    f_{t+1} = beta_t f_t + eta h,

so that f_t is the last stage's sum of weak learners copied, shrunk and updated. beta = 0 is gradient boosting. If the
learner is linear in what it is given, h = S r with S symmetric and positive semidefinite, then with F = S^(1/2) u this
is Nesterov's method on u -> loss(S^(1/2) u), exactly. A regression tree is no such map: it returns r projected on its
own partition, and momentum carries the part of r that it misses along. "corrected" remembers that part and hands it
to a second tree of the stage, in three sequences with theta_t = 2/(t + 2):

    V = (1 - theta_t) F_t + theta_t H_t         F_{t+1} = V + eta h(r)
    c_t = r + (t + 1)/(t + 2) (c_{t-1} - h(c_{t-1}))    H_{t+1} = H_t + gamma eta/theta_t h(c_t)

With h the identity and gamma = 1 these are "schedule". The guarantee behind them asks for a gamma that is small
against the share of r a tree captures, and the price is speed; a larger one can diverge. "damped" is the control: the
same sequences with c_t = r, so that nothing is corrected and gamma alone is left.

Source: "Stacking as Accelerated Gradient Descent", Section 2 and Fig. 3; corrected residuals: Lu, Karimireddy,
Ponomareva and Mirrokni, Accelerating Gradient Boosting Machines, arXiv 1903.08708.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.overflow import or_inf
from lrtransfer.stages.boosting.learners import Learner, kernel_smoother, tree_learner
from lrtransfer.stages.boosting.samples import SMOOTHNESS, checked_pair, mean_loss, pseudo_residual
from lrtransfer.stages.functional.convex import MOMENTA, momenta, nesterov

METHODS = ("zero", "stacking", "schedule", "corrected", "damped")


_MOMENTA = {name: name if name in MOMENTA else "schedule" for name in METHODS}


@dataclass(frozen=True)
class BoostingRun:
    """Curves of boosting over stages 0 .. T; stage 0 is F = 0. Inf once a run has diverged.

    Attributes
    ----------
    train, test
        mean loss on both parts, (T + 1, methods, splits) or (T + 1,) for a single run
    captured
        cos^2 of the angle between r and what the learner returns for it, (T, ...); 1 where the step is the gradient's
        own, and 0 where r vanishes or the run has diverged
    """

    train: Array
    test: Array
    captured: Array


def _cosine_squared(a: Array, b: Array) -> Array:
    """Of the angle between the last axes; 0 where one of the two vanishes."""
    sizes = np.linalg.norm(a, axis=-1), np.linalg.norm(b, axis=-1)
    some = (sizes[0] > 0) & (sizes[1] > 0)
    one, other = (z / np.where(some, size, 1.0)[..., None] for z, size in zip((a, b), sizes, strict=True))
    return np.where(some, np.minimum((one * other).sum(axis=-1) ** 2, 1.0), 0.0)


def boost(
    method: str,
    X: ArrayLike,
    y: ArrayLike,
    X_test: ArrayLike,
    y_test: ArrayLike,
    stages: int,
    *,
    loss: str = "squared",
    learner: str = "tree",
    lr: float = 0.1,
    beta: float = 0.9,
    depth: int = 2,
    ridge: float = 0.1,
    gamma: float = 0.1,
) -> BoostingRun:
    """One ensemble: its curves on a sample and on a test part.

    Leading axes of all four arrays are samples of one size, and follow the first axis of the curves.

    Parameters
    ----------
    method
        "zero" gradient boosting; "stacking" beta_t = beta; "schedule" beta_t = (t - 1)/(t + 2); "corrected" the same
        with corrected residuals, two weak learners a stage; "damped" those without the correction
    X, y
        the sample, (n, features) and (n,)
    X_test, y_test
        the test part, (m, features) and (m,)
    stages
        T
    loss
        "squared", or "logistic" for y of -1 and +1
    learner
        "tree" of ``depth`` levels, or "kernel" with ``ridge``
    lr
        eta, > 0
    beta
        of "stacking", 0 <= beta < 1
    depth, ridge
        of the learner
    gamma
        of "corrected" and "damped", 0 < gamma <= 1

    Returns
    -------
    BoostingRun
        curves (stages + 1,).

    Raises
    ------
    ValueError
        for arguments out of range.
    """
    rate = arguments.one("lr", arguments.positive("lr", lr))
    rest = Rest(loss, learner, rate, beta, depth, ridge, gamma)
    run = runs_of((method,), (X, y, X_test, y_test), stages, rest)
    return BoostingRun(run.train[:, 0], run.test[:, 0], run.captured[:, 0])


class Rest(NamedTuple):
    """Arguments of ``boost`` that are common to all its methods and samples."""

    loss: str
    learner: str
    lr: ArrayLike
    beta: float
    depth: int
    ridge: float
    gamma: float


def runs_of(methods: Sequence[str], parts: Sequence[ArrayLike], stages: int, rest: Rest) -> BoostingRun:
    """Checked arguments of ``boost`` for several methods; parts with leading axes (splits...), lr (rates...,)."""
    names = [arguments.choice("method", name, METHODS) for name in methods]
    total, kind = arguments.count("stages", stages), arguments.choice("loss", rest.loss, tuple(SMOOTHNESS))
    inputs, targets = checked_pair("X", parts[0], "y", parts[1], kind)
    others, truth = checked_pair("X_test", parts[2], "y_test", parts[3], kind)
    if others.shape[-1] != inputs.shape[-1]:
        raise ValueError(f"X_test has {others.shape[-1]} features and X has {inputs.shape[-1]}: they must agree.")
    damping = arguments.one("gamma", arguments.positive("gamma", rest.gamma))
    if damping > 1:
        raise arguments.refuse("gamma", rest.gamma, "above 0 and at most 1")
    if arguments.choice("learner", rest.learner, ("tree", "kernel")) == "tree":
        fit = tree_learner(inputs, others, rest.depth)
    else:
        fit = _smoothing(*kernel_smoother(inputs, others, rest.ridge))
    betas = np.stack([momenta(_MOMENTA[name], total, rest.beta) for name in names], axis=1)
    return boost_with(names, fit, targets, truth, kind, arguments.positive("lr", rest.lr), damping, betas)


def _smoothing(smoother: Array, rows: Array) -> Learner:
    return lambda r: ((smoother @ r[..., None])[..., 0], (rows @ r[..., None])[..., 0])


def boost_with(
    methods: Sequence[str], fit: Learner, y: Array, y_test: Array, loss: str, lr: Array, gamma: float, betas: Array
) -> BoostingRun:
    """Curves (stages + 1, rates..., methods, splits...), all runs as one array program.

    fit  for r (rates..., methods, splits..., n); y, y_test (splits..., n), (splits..., m); lr (rates...,)
    betas  (stages, methods)
    """
    n, splits = y.shape[-1], y.shape[:-1]
    behind = (1,) * (len(splits) + 1)  # axes after the methods
    rate, runs = lr.reshape(*lr.shape, 1, *behind), (*lr.shape, len(methods), *splits)
    second = [k for k, name in enumerate(methods) if name in ("corrected", "damped")]
    twice: Any = (..., second, *[slice(None)] * len(behind))  # those with two learners a stage
    owed = np.array([methods[k] == "corrected" for k in second], float).reshape(-1, *behind)
    # one vector holds a function on the sample and on the test inputs
    F, f = np.zeros((*runs, n + y_test.shape[-1])), np.zeros(1)
    H, missed = np.zeros(F[twice].shape), np.zeros(1)
    train, test = np.full((2, len(betas) + 1, *runs), np.inf)
    captured, alive = np.zeros((len(betas), *runs)), np.ones((*runs, 1), bool)
    with np.errstate(all="ignore"):
        for t in range(len(betas) + 1):
            losses = mean_loss(F[..., :n], y, loss), mean_loss(F[..., n:], y_test, loss)
            alive[..., 0] &= np.isfinite([*losses, np.abs(F).max(axis=-1) ** 2]).all(axis=0)
            train[t], test[t] = (np.where(alive[..., 0], one, np.inf) for one in losses)
            if t == len(betas):
                break
            theta = 2 / (t + 2)
            V = F + betas[t].reshape(-1, *behind) * f
            V[twice] = (1 - theta) * F[twice] + theta * H
            r = np.where(alive, pseudo_residual(V[..., :n], y, loss), 0.0)  # nothing to learn after divergence
            h = np.concatenate(fit(r), axis=-1)
            captured[t] = _cosine_squared(r, h[..., :n])
            F, f = V + rate * h, V + rate * h - F
            if H.size:
                c = np.where(alive[twice], r[twice] + owed * (t + 1) / (t + 2) * missed, 0.0)
                h = np.concatenate(fit(c), axis=-1)
                missed = c - h[..., :n]
                H = H + gamma * rate / theta * h
    return BoostingRun(train, test, captured)


def smoothed_nesterov(
    method: str,
    smoother: ArrayLike,
    y: ArrayLike,
    stages: int,
    *,
    loss: str = "squared",
    lr: float = 0.1,
    beta: float = 0.9,
) -> Array:
    """Training losses of Nesterov's method on u -> loss(S^(1/2) u) from u = 0.

    What ``boost`` with the learner "kernel" must reproduce; computed without any ensemble.

    Parameters
    ----------
    method
        "zero", "stacking" or "schedule"
    smoother
        S, (n, n), symmetric, positive semidefinite
    y
        (n,)
    stages
        T
    loss, lr, beta
        as in ``boost``

    Returns
    -------
    ndarray
        (stages + 1,); inf from where the run diverged.

    Raises
    ------
    ValueError
        naming the argument.
    """
    values, vectors = np.linalg.eigh(arguments.finite("smoother", smoother))
    root = (vectors * np.sqrt(np.maximum(values, 0.0))) @ vectors.T
    targets = arguments.finite("y", y)
    kind = arguments.choice("loss", loss, ("squared", "logistic"))
    iterates = nesterov(
        lambda u: -root @ pseudo_residual(root @ u, targets, kind),
        np.zeros(targets.size),
        lr=lr,
        betas=momenta(method, stages, beta),
    )
    with np.errstate(all="ignore"):
        losses = mean_loss(iterates @ root, targets, kind)
    return np.where(np.isfinite(iterates).all(axis=1), or_inf(losses), np.inf)
