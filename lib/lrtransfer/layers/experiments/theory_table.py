"""The main table: the printed formula, the exact expectation of gradient descent and dense runs side by side."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.layers.circle import loss_course
from lrtransfer.layers.closed_forms import (
    one_step_loss,
    three_layer_one_step_loss,
    three_layer_two_step_loss,
    two_step_loss,
)
from lrtransfer.layers.deep import deep_loss_course
from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array

PRINTED: dict[tuple[int, int], Callable[..., Array]] = {
    (2, 1): one_step_loss,
    (2, 2): two_step_loss,
    (3, 1): three_layer_one_step_loss,
    (3, 2): three_layer_two_step_loss,
}
"""The formulas of the paper and of its authors' script, by the number of layers and of steps."""


@dataclass(frozen=True)
class AgainstTheory:
    """Losses at balanced rates and by how much balance wins over a split: (steps, rates) each, steps as asked for.

    formula, formula_wins: the printed formula (of the surrogate), NaN where there is none
    exact, exact_wins: expectation of gradient descent from orthogonal weights
    """

    formula: Array
    formula_wins: Array
    exact: Array
    exact_wins: Array


def against_theory(
    layers: int, rates: ArrayLike, h: int, steps: Sequence[int], *, split: float, draws: int, seed: int
) -> AgainstTheory:
    """What theory says of runs at rates r (1 + split) and r (1 - split), and at balance.

    Parameters
    ----------
    layers
        2, or 3 (two trained matrices and a readout).
    rates
        Mean rates r (n,), >= 0.
    h
        Width, >= 2.
    steps
        After which steps, each >= 0.
    split
        In [0, 1].
    draws, seed
        Of ``deep_loss``, for three layers Returns ``AgainstTheory``.

    Raises
    ------
    ValueError
        For an argument out of its range, which it names.

    Source: arXiv 2606.00340, the main table.
    """
    if layers not in (2, 3):
        raise arguments.refuse("layers", layers, "2 or 3")
    mean = arguments.finite("rates", rates, minimum=0.0)
    both = []
    for delta in (0.0, split):
        pair = np.array([mean * (1 + delta), mean * (1 - delta)])
        if layers == 2:
            course = loss_course(pair[0], pair[1], h, max(steps))
        else:
            course = deep_loss_course(pair, h, max(steps), draws=draws, seed=seed).value
        none = np.full(mean.shape, np.nan)
        printed = [PRINTED[layers, t](*pair, h) if (layers, t) in PRINTED else none for t in steps]
        both.append((np.array(printed), course[list(steps)]))
    (formula, exact), (formula_split, exact_split) = both
    return AgainstTheory(formula, formula_split - formula, exact, exact_split - exact)
