"""The best rate of a trained network, where anything was learned."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lrtransfer.images.catalogue import CLASSES
from lrtransfer.rates import BestLR, OnEdgeWarning, best_lr
from lrtransfer.residual.networks.settings import NetworkSettings

FLOOR = 1e-12  # a loss of exactly 0 has no logarithm


def best_trained(settings: NetworkSettings, lrs: ArrayLike, losses: ArrayLike) -> BestLR | None:
    """The best rate by final losses, as ``rates.best_lr`` finds it; a rate at which nothing was learned is none.

    With C classes a network that says nothing has the cross-entropy ln C. Where the lowest mean log loss is not below
    ln ln C the runs went anywhere but down, and their best rate is only a bound: it is flagged like one on an edge.

    Parameters
    ----------
    settings
        of the network; its data set says how many classes there are
    lrs
        the rates, (lrs,), increasing
    losses
        final losses in nats, (lrs, seeds), inf where a run diverged; those below 1e-12 count as 1e-12

    Returns
    -------
    BestLR or None
        edges and untrained rates flagged by ``on_edge``, without a warning; an untrained one bounds nothing. None with
        fewer than three rates, or where at every rate some seed diverged.

    Raises
    ------
    ValueError
        as ``rates.best_lr`` does.
    """
    final = np.maximum(np.asarray(losses, dtype=float), FLOOR)
    if np.size(lrs) < 3 or not np.isfinite(final).all(axis=1).any():
        return None
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OnEdgeWarning)
        found = best_lr(lrs, final)
    return replace(found, on_edge=True, between=(0.0, math.inf)) if untrained(settings, final) else found


def untrained(settings: NetworkSettings, losses: ArrayLike) -> bool:
    """Whether the lowest mean log loss over the rates is that of a network that says nothing, or above it.

    Parameters
    ----------
    settings
        of the network
    losses
        (lrs, seeds), positive, inf where a run diverged

    Returns
    -------
    bool
        False for a data set whose number of classes is not known before it is read.
    """
    classes = CLASSES[settings.data]
    means: NDArray[np.float64] = np.log(np.asarray(losses, dtype=float)).mean(axis=1)
    return classes is not None and bool(means.min() >= math.log(math.log(classes)))
