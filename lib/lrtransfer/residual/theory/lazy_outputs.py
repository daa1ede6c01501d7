"""Outputs of a frozen network under descent: linear maps of what is left to learn, exactly at any step."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array


def lazy_outputs(lr: float, kernel: ArrayLike, target: ArrayLike, steps: int) -> Array:
    """Training in the lazy limit: f_{t+1} = f_t + (lr / P) K (y - f_t), f_0 = 0, for P inputs.

    Parameters
    ----------
    lr
        base rate, not negative
    kernel
        K, (P, P), symmetric; for a single input it and the target may be two numbers
    target
        y, (P,)
    steps
        number of updates

    Returns
    -------
    ndarray
        f_t, (steps + 1,) + shape of ``target``; ``inf`` where a run overflows.

    Raises
    ------
    ValueError
        naming the argument.

    References
    ----------
    Proposition 2 of the paper.
    """
    rate = arguments.one("lr", arguments.finite("lr", lr, minimum=0.0))
    k, y = arguments.finite("kernel", kernel), arguments.finite("target", target)
    steps = arguments.count("steps", steps)
    if y.ndim > 1 or k.shape != y.shape * 2 or not np.allclose(k, k.T):
        raise arguments.refuse("kernel", kernel, f"symmetric, of shape (P, P) for P = {max(y.size, 1)} targets")
    matrix = np.atleast_2d(k)
    rest = np.empty((steps + 1, y.size))
    rest[0] = y.ravel()
    with np.errstate(all="ignore"):
        for t in range(steps):
            rest[t + 1] = rest[t] - rate / y.size * matrix @ rest[t]
        f = y.ravel() - rest
    finite_so_far = np.logical_and.accumulate(np.isfinite(f).all(axis=1))
    return np.where(finite_so_far[:, None], f, np.inf).reshape(steps + 1, *y.shape)
