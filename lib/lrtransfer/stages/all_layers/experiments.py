"""What the chapter reads off runs in which all layers train."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from lrtransfer.numerics import arguments
from lrtransfer.stages.all_layers.comparison import Interval, log_interval
from lrtransfer.stages.all_layers.training import AllLayersRun


def ended_below(run: AllLayersRun, init: str) -> NDArray[np.bool_]:
    """Whether each run from one start ends below its beginning.

    Parameters
    ----------
    run
        of ``train_all_layers``
    init
        one of its inits

    Returns
    -------
    ndarray
        (kappas, seeds), of True and False.
    """
    column = run.inits.index(arguments.choice("init", init, run.inits))
    return np.asarray(run.excess[-1, column] < run.excess[0, column])


def growth_over_random(run: AllLayersRun, init: str) -> Interval:
    """Whether an advantage over the random start grows with the condition number, from the first kappa to the last.

        ln of (excess of ``init`` / excess of random at the last kappa) / (the same at the first)

    Seeds are paired. Below 0 the advantage grows, above 0 it shrinks.

    Parameters
    ----------
    run
        of ``train_all_layers``, "random" among its inits
    init
        one of its inits

    Returns
    -------
    Interval
        of numbers.
    """
    column = run.inits.index(arguments.choice("init", init, run.inits))
    over = run.excess[-1, column] / run.excess[-1, run.inits.index("random")]  # (kappas, seeds)
    return log_interval(over[-1] / over[0])
