"""What the chapter measures of boosting: linear and perfect learners, own steps, damped runs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.stages.boosting.curves import chosen_rates, rate_study
from lrtransfer.stages.boosting.ensembles import BoostingRun, boost, smoothed_nesterov
from lrtransfer.stages.boosting.learners import kernel_smoother
from lrtransfer.stages.boosting.samples import SMOOTHNESS, load_sample

PLAIN = ("zero", "stacking", "schedule")
"""The methods that have a Nesterov counterpart."""
SPLIT = 300
"""Examples that the linear learner trains on, the first of the sample."""


@dataclass(frozen=True)
class LinearLearner:
    """Boosting with kernel ridge regression at the step 1/L, by method of ``PLAIN``: losses (stages + 1,) each.

    Attributes
    ----------
    train, test
        of the ensemble
    nesterov
        training loss of Nesterov's method on the smoothed loss
    """

    train: dict[str, Array]
    test: dict[str, Array]
    nesterov: dict[str, Array]

    @property
    def gap(self) -> float:
        """Largest relative difference of the training loss from Nesterov's method, over methods and stages."""
        return max(float(np.abs(self.train[name] / self.nesterov[name] - 1).max()) for name in PLAIN)


def linear_learner(data: str, stages: int, *, ridge: float = 0.01) -> LinearLearner:
    """``boost`` with the learner "kernel" on the first ``SPLIT`` examples of a data set, tested on the others.

    Parameters
    ----------
    data
        a name of ``load_sample``
    stages
        T
    ridge
        of the learner, positive

    Returns
    -------
    LinearLearner
        at the step 1/L.
    """
    X, y, loss = load_sample(data)
    parts, eta = (X[:SPLIT], y[:SPLIT], X[SPLIT:], y[SPLIT:]), 1 / SMOOTHNESS[loss]
    smoother, _ = kernel_smoother(X[:SPLIT], X[SPLIT:], ridge)
    runs = {name: boost(name, *parts, stages, loss=loss, lr=eta, learner="kernel", ridge=ridge) for name in PLAIN}
    ideal = {name: smoothed_nesterov(name, smoother, y[:SPLIT], stages, loss=loss, lr=eta) for name in PLAIN}
    return LinearLearner({n: r.train for n, r in runs.items()}, {n: r.test for n, r in runs.items()}, ideal)


def perfect_learners(data: str, shares: Sequence[float], stages: int) -> Array:
    """Training loss of Nesterov's method, with the growing factor, where every example has a prediction of its own.

    Parameters
    ----------
    data
        a name of ``load_sample``
    shares
        the steps, in units of 1/L
    stages
        T

    Returns
    -------
    ndarray
        (stages + 1, shares).
    """
    _, y, loss = load_sample(data)
    steps = [share / SMOOTHNESS[loss] for share in arguments.positive("shares", shares)]
    eye = np.eye(SPLIT)
    return np.stack([smoothed_nesterov("schedule", eye, y[:SPLIT], stages, loss=loss, lr=s) for s in steps], axis=1)


@dataclass(frozen=True)
class OwnSteps:
    """Every method of ``PLAIN`` at the step that was best for it on the first split; S splits in all.

    Attributes
    ----------
    shares
        (rates,), the steps searched, in units of 1/L
    chosen
        (methods,), the best share of each
    losses
        (methods, S - 1), at that step on the other splits
    """

    shares: Array
    chosen: Array
    losses: Array

    @property
    def at_end(self) -> NDArray[np.bool_]:
        """Whether the best share is an end of those searched, (methods,)."""
        return np.isin(self.chosen, (self.shares.min(), self.shares.max()))


def own_steps(
    data: str, study: BoostingRun, shares: Sequence[float], more: Sequence[float], **options: Any
) -> dict[str, OwnSteps]:
    """Every method at its own step.

    Parameters
    ----------
    data
        a name of ``load_sample``
    study
        ``rate_study(data, shares, ..)``, the methods of ``PLAIN`` first
    shares, more
        the steps of ``study``, and those to search beside them, in units of 1/L
    **options
        of ``study``: stages, splits, gamma

    Returns
    -------
    dict
        ``OwnSteps`` of the final training loss ("train") and of the lowest test loss ("test").
    """
    beside, k = rate_study(data, more, methods=PLAIN, **options), len(PLAIN)
    parts = ((study.train, beside.train), (study.test, beside.test))
    train, test = (np.concatenate([one[:, :, :k], other], axis=1) for one, other in parts)
    searched, found = np.array([*shares, *more]), {}
    for word, losses in (("train", train[-1]), ("test", test.min(axis=0))):
        which, own = chosen_rates(losses)
        found[word] = OwnSteps(searched, searched[which], own)
    return found


def damped_runs(gammas: Sequence[float], *, share: float = 1.0, **options: Any) -> dict[str, Array]:
    """Training losses on diabetes at one step: corrected and not corrected for every gamma, and plain.

    Parameters
    ----------
    gammas
        in (0, 1]
    share
        the step, in units of 1/L
    **options
        as in ``rate_study``

    Returns
    -------
    dict
        arrays (stages + 1, splits) by name, "corrected, γ = 0.01" or "zero".
    """
    found = {}
    for gamma in gammas:
        run = rate_study("diabetes", (share,), methods=("corrected", "damped"), **options | {"gamma": gamma}).train
        found[f"corrected, γ = {gamma:g}"], found[f"not corrected, γ = {gamma:g}"] = run[:, 0, 0], run[:, 0, 1]
    run = rate_study("diabetes", (share,), methods=("zero", "schedule"), **options).train
    return found | {"zero": run[:, 0, 0], "schedule": run[:, 0, 1]}
