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
from numpy.typing import ArrayLike, NDArray

from lrtransfer.numerics import arguments
from lrtransfer.stages.boosting.learners import Learner, kernel_smoother, tree_learner
from lrtransfer.stages.boosting.samples import SMOOTHNESS, Sample, load_sample, mean_loss, pseudo_residual
from lrtransfer.stages.functional.convex import MOMENTA, momenta, nesterov

Array = NDArray[np.float64]
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
    rest = _Rest(loss, learner, rate, beta, depth, ridge, gamma)
    run = _runs((method,), (X, y, X_test, y_test), stages, rest)
    return BoostingRun(run.train[:, 0], run.test[:, 0], run.captured[:, 0])


class _Rest(NamedTuple):
    """Arguments of ``boost`` that are common to all its methods and samples."""

    loss: str
    learner: str
    lr: ArrayLike
    beta: float
    depth: int
    ridge: float
    gamma: float


def _runs(methods: Sequence[str], parts: Sequence[ArrayLike], stages: int, rest: _Rest) -> BoostingRun:
    """Checked arguments of ``boost`` for several methods; parts with leading axes (splits...), lr (rates...,)."""
    names = [arguments.choice("method", name, METHODS) for name in methods]
    total, kind = arguments.count("stages", stages), arguments.choice("loss", rest.loss, tuple(SMOOTHNESS))
    inputs, targets = _pair("X", parts[0], "y", parts[1], kind)
    others, truth = _pair("X_test", parts[2], "y_test", parts[3], kind)
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
    return _boost(names, fit, targets, truth, kind, arguments.positive("lr", rest.lr), damping, betas)


def _smoothing(smoother: Array, rows: Array) -> Learner:
    return lambda r: ((smoother @ r[..., None])[..., 0], (rows @ r[..., None])[..., 0])


def _boost(
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


def _pair(name: str, X: ArrayLike, target: str, y: ArrayLike, loss: str) -> tuple[Array, Array]:
    inputs, targets = arguments.finite(name, X), arguments.finite(target, y)
    if inputs.ndim < 2 or targets.shape != inputs.shape[:-1] or inputs.size == 0:
        raise ValueError(
            f"{name} of shape {inputs.shape} and {target} of shape {targets.shape} are not allowed: they must be "
            "(n, features) and (n,)."
        )
    if loss == "logistic" and not (np.abs(targets) == 1).all():
        raise arguments.refuse(target, float(targets[np.abs(targets) != 1][0]), "-1 or +1 for the logistic loss")
    return inputs, targets


def boosting_curves(
    data: str | Sample = "diabetes",
    *,
    methods: Sequence[str] = METHODS,
    stages: int = 60,
    splits: Sequence[int] = range(6),
    test_share: float = 0.3,
    learner: str = "tree",
    lr: ArrayLike = 0.1,
    beta: float = 0.9,
    depth: int = 2,
    ridge: float = 0.1,
    gamma: float = 0.1,
) -> BoostingRun:
    """``boost`` for several methods on several random splits of a data set.

    Parameters
    ----------
    data
        a name of ``load_sample`` or a ``Sample``
    methods
        as in ``boost``
    stages
        T
    splits
        seeds, each one division into training and test part, the same for all methods
    test_share
        of the examples, between 0 and 1
    lr
        eta, or several (rates...,), which puts their axes before the methods
    learner, beta, depth, ridge, gamma
        as in ``boost``

    Returns
    -------
    BoostingRun
        curves (stages + 1, methods, splits).

    Raises
    ------
    ValueError
        for arguments out of range.
    """
    sample = load_sample(data) if isinstance(data, str) else data
    X, y = _pair("X", sample.X, "y", sample.y, arguments.choice("loss", sample.loss, tuple(SMOOTHNESS)))
    share = arguments.one("test_share", arguments.positive("test_share", test_share))
    held_out = round(share * len(y))
    if not 0 < held_out < len(y):
        raise arguments.refuse("test_share", test_share, "a share that leaves examples on both sides")
    seeds = arguments.integer("splits", splits, minimum=0)
    if not len(methods) or seeds.ndim != 1 or not seeds.size or not np.size(lr):
        raise ValueError("methods and splits must be sequences, and neither they nor lr may be empty.")
    orders = [np.random.default_rng(int(seed)).permutation(len(y)) for seed in seeds]
    test, train = np.split(np.stack(orders), [held_out], axis=1)  # (splits, m), (splits, n)
    parts = X[train], y[train], X[test], y[test]
    return _runs(methods, parts, stages, _Rest(sample.loss, learner, lr, beta, depth, ridge, gamma))


def rate_study(
    data: str | Sample,
    shares: Sequence[float] = (0.1, 0.3, 1.0),
    **options: Any,
) -> BoostingRun:
    """``boosting_curves`` at several learning rates, eta = share / L.

    At one eta methods are not compared fairly: momentum moves 1/(1 - beta) times as far, and each has a best rate.

    Parameters
    ----------
    data
        as in ``boosting_curves``
    shares
        of 1/L, the step of the theory, L = ``SMOOTHNESS`` of the sample's loss; positive
    **options
        of ``boosting_curves``, other than ``lr``

    Returns
    -------
    BoostingRun
        curves (stages + 1, rates, methods, splits).

    Raises
    ------
    ValueError
        naming the argument.
    """
    sample = load_sample(data) if isinstance(data, str) else data
    rates = arguments.positive("shares", shares)
    if rates.ndim != 1 or not rates.size:
        raise arguments.refuse("shares", shares, "a list of positive numbers")
    loss = arguments.choice("loss", sample.loss, tuple(SMOOTHNESS))
    return boosting_curves(sample, lr=rates / SMOOTHNESS[loss], **options)


def chosen_rates(losses: ArrayLike) -> tuple[NDArray[np.intp], Array]:
    """Every method at the rate that is best for it on the first split, on the other splits.

    The split that chooses is not reported, so that no method is judged on what tuned it.

    Parameters
    ----------
    losses
        (rates, methods, splits), two splits at least, inf where a run has diverged

    Returns
    -------
    index : ndarray
        of each method's rate, (methods,)
    chosen : ndarray
        its losses there, (methods, splits - 1).

    Raises
    ------
    ValueError
        naming ``losses``.
    """
    values = arguments.number("losses", losses)
    if values.ndim != 3 or values.shape[2] < 2 or not values.size:
        raise ValueError(
            f"losses of shape {values.shape} are not allowed: losses must be (rates, methods, splits >= 2)."
        )
    best = values[:, :, 0].argmin(axis=0)
    return best, values[best, np.arange(values.shape[1]), 1:]


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
        (stages + 1,).

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
    return mean_loss(iterates @ root, targets, kind)
