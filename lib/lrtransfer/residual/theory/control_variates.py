r"""Means over random networks with control variates: quantities whose mean over draws is known, subtracted with weight.

The output and the kernels of a trained network fluctuate by O(N^(-1/2)) about a mean that differs from the limit by
O(1/N) alone. Most of the fluctuation is already visible before training, where the means are known exactly; taken out,
it leaves errors one and a half (N = 8) to four times smaller (N = 128, measured), worth two to sixteen times the draws.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.residual.theory.descent import FiniteRun
from lrtransfer.residual.theory.lazy import linear_ntk

FEWEST = 6  # draws for a mean with the four controls of ``initial_controls``, with a degree of freedom left


def controlled_mean(values: ArrayLike, controls: ArrayLike) -> tuple[float, float]:
    """Mean over draws with control variates, and its standard error: the intercept of the regression on them.

        v_s = mean + sum_k b_k x_ks + e_s,    error^2 = sum_s (a_s e_s / (1 - p_s))^2

    with a = first row of (A'A)^-1 A', p = diagonal of A (A'A)^-1 A', A = (1, x): nearly the jackknife over draws, which
    does not ask that all draws scatter alike. (They do not: narrow and deep networks have long tails, for which the
    usual formula is too small.)

    Parameters
    ----------
    values
        v, (S,), one a draw; S >= k + 2
    controls
        x, (k, S), whose expectation is zero

    Returns
    -------
    mean, error : float
        both inf where a value is not finite: a run diverged.

    Raises
    ------
    ValueError
        naming the argument.

    References
    ----------
    MacKinnon and White, J. Econometrics 29 (1985) 305 (their HC3).
    """
    v, x = np.asarray(values, dtype=float), np.asarray(controls, dtype=float)
    if v.ndim != 1 or np.isnan(v).any():
        raise arguments.refuse("values", values, "a list of numbers, one a draw, without NaN")
    if x.ndim != 2 or x.shape[1] != v.size or not np.isfinite(x).all():
        raise arguments.refuse("controls", controls, f"finite, of shape (controls, {v.size})")
    if v.size < len(x) + 2:
        raise arguments.refuse("values", values, f"{len(x) + 2} draws or more, with {len(x)} controls")
    if not np.isfinite(v).all():
        return math.inf, math.inf
    design = np.column_stack([np.ones(v.size), x.T])
    inverse = np.linalg.pinv(design)
    fitted = inverse @ v
    pull = np.einsum("sk,ks->s", design, inverse)  # at most 1, where a draw alone decides its own fit
    without_it = (v - design @ fitted) / np.maximum(1 - pull, 1e-9)
    return float(fitted[0]), float(np.linalg.norm(inverse[0] * without_it))


def initial_controls(run: FiniteRun, branch: float = 0.5) -> Array:
    """Four controls of a linear network on one input, from its untrained state.

        K_0 / E K_0 - 1,    f_0,    H^L / (1 + b)^L - 1,    G^0 / (1 + b)^L - 1,    b = L^(-2 branch)

    with K_0 = H^L + b sum_l G^{l+1} H^l + G^0 the tangent kernel of the very network. A block adds to h^l a vector
    that is independent of it and has b times its mean square, at every width, and the blocks above and below a matrix
    are independent; so all four have expectation zero at every width, exactly.

    Parameters
    ----------
    run
        of ``train_ensemble`` with ``activation="linear"`` and a single target; at several rates the first is as good as
        any
    branch
        exponent of the branch multiplier, as in the run

    Returns
    -------
    ndarray
        (4, draws).
    """
    h, g = (k[0, :, 0] if k.ndim == 4 else k[0] for k in (run.H, run.G))  # (L + 1, draws), before training
    depth = len(h) - 1
    b = depth ** (-2 * branch)
    kernel = h[-1] + b * (g[1:] * h[:-1]).sum(axis=0) + g[0]
    growth = (1 + b) ** depth
    expected = float(linear_ntk(depth, branch))
    return np.array([kernel / expected - 1, run.start, h[-1] / growth - 1, g[0] / growth - 1])
