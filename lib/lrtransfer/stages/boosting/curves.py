"""Boosting over several splits of the data: curves, studies of the step, and the steps chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array, Indices
from lrtransfer.stages.boosting.ensembles import METHODS, BoostingRun, Rest, runs_of
from lrtransfer.stages.boosting.samples import SMOOTHNESS, Sample, checked_pair, load_sample


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
    X, y = checked_pair("X", sample.X, "y", sample.y, arguments.choice("loss", sample.loss, tuple(SMOOTHNESS)))
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
    return runs_of(methods, parts, stages, Rest(sample.loss, learner, lr, beta, depth, ridge, gamma))


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


def chosen_rates(losses: ArrayLike) -> tuple[Indices, Array]:
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
