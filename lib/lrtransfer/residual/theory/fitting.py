r"""The best rate of a task that can be fitted exactly, in the limit and for trained linear networks.

``fitting_lr`` reads it off outputs against rates; ``fitting_rates`` compares theory and networks over depths. The task:
one input, one target, a few noise-free steps, so that the best rate is where the output first reaches the target.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.estimates import Estimate
from lrtransfer.numerics.fits import line
from lrtransfer.residual.theory.control_variates import FEWEST, controlled_mean, initial_controls
from lrtransfer.residual.theory.descent import FiniteRun
from lrtransfer.residual.theory.linear_limit import best_theory_lr
from lrtransfer.residual.theory.trained_ensemble import train_ensemble


def fitting_lr(lrs: ArrayLike, outputs: ArrayLike, target: float = 1.0) -> Array:
    """The lowest rate at which the loss (f - target)^2 / 2 stops falling as the rate grows.

    As a rule the output reaches the target there, and the loss is zero: the rate is then interpolated linearly in its
    logarithm. Beyond it the output swings about the target as the rate grows, and the loss has further zeros.
    Where the output turns back before it gets there, the rate of the turn on the grid is given.

    Parameters
    ----------
    lrs
        (rates,), positive and increasing, three or more
    outputs
        f, (rates, ...), at the last step
    target
        not 0

    Returns
    -------
    ndarray
        (...), ``inf`` where the loss falls, or rises, all along the grid.

    Raises
    ------
    ValueError
        naming the argument.
    """
    x = np.log(arguments.positive("lrs", lrs))
    rest = 1 - np.asarray(outputs, dtype=float) / target  # positive below the target
    if x.ndim != 1 or x.size < 3 or not (np.diff(x) > 0).all():
        raise arguments.refuse("lrs", lrs, "a list of three or more increasing rates")
    if rest.shape[:1] != x.shape:
        raise arguments.refuse("outputs", outputs, f"of shape ({x.size}, ...), one entry a rate")
    loss = np.where(np.isfinite(rest), np.abs(rest), np.inf)
    crossed = (rest[1:] <= 0) & (rest[:-1] > 0)
    turned = np.zeros_like(crossed)
    turned[1:] = (loss[2:] > loss[1:-1]) & (loss[1:-1] <= loss[:-2]) & (rest[1:-1] > 0)  # at the point on its left
    found = crossed | turned
    first = found.argmax(axis=0)[None]  # 0 where there is none
    low, high = (np.take_along_axis(rest[k:], first, axis=0)[0] for k in (0, 1))
    inside = np.take_along_axis(crossed, first, axis=0)[0] & np.isfinite(high)
    share = np.where(inside, low / np.where(inside, low - high, 1.0), 0.0)
    at = np.exp(x[first[0]] + share * (x[first[0] + 1] - x[first[0]]))
    return np.where(found.any(axis=0) & (rest[0] > 0), at, np.inf)


@dataclass(frozen=True)
class FittingRates:
    """log2 of the best rate against depth.

    Attributes
    ----------
    theory_depths, theory
        depths, and the best rates by theory at them
    depths, widths
        of the trained networks
    trained, error
        mean over draws and its standard error, (depths, widths)
    endless, endless_error
        extrapolated to infinite width, and the standard error, (depths,)
    draws
        the fewest networks of any width
    """

    theory_depths: NDArray[np.int64]
    theory: Array
    depths: NDArray[np.int64]
    widths: NDArray[np.int64]
    trained: Array
    error: Array
    endless: Array
    endless_error: Array
    draws: int

    @property
    def farthest(self) -> Estimate:
        """Extrapolated less predicted log2 rate, with its error, at the depth where it may be farthest from zero."""
        gaps = [
            Estimate(float(gap), float(error), self.draws)
            for gap, error in zip(self.endless - self.predicted, self.endless_error, strict=True)
        ]
        return max(gaps, key=lambda gap: gap.ends("within")[0])

    @property
    def predicted(self) -> Array:
        """Theory at the trained depths."""
        return self.theory[np.searchsorted(self.theory_depths, self.depths)]

    @property
    def theory_move(self) -> float:
        """Change of the predicted log2 rate between the first and the last trained depth."""
        return float(self.predicted[-1] - self.predicted[0])

    @property
    def trained_move(self) -> tuple[float, float]:
        """Change of the log2 rate extrapolated to infinite width over the same depths, and its standard error."""
        change = float(self.endless[-1] - self.endless[0])
        return change, float(np.hypot(self.endless_error[0], self.endless_error[-1]))


def fitting_rates(
    theory_depths: Sequence[int], depths: Sequence[int], branch: float, steps: int, draws: Mapping[int, int]
) -> FittingRates:
    """The best rate by theory alone and of trained networks, against depth, for one branch exponent.

    The task: one input, target 1, gamma_0 = 1, ``steps`` noise-free updates of a linear network; the best rate is
    ``fitting_lr``, its log2 averaged over draws by ``controlled_mean``. The average differs from the limit by O(1/N):
    a straight line in 1/N through two widths or more gives it at infinite width.

    Parameters
    ----------
    theory_depths, depths
        increasing; ``depths``, where networks are trained, among ``theory_depths``
    branch, steps
        as in ``best_theory_lr``
    draws
        for every width N, two or more, the number of networks at each depth, six or more

    Returns
    -------
    FittingRates
        a network that is not fitted within the sweep gives inf.

    Raises
    ------
    ValueError
        naming the argument.

    Notes
    -----
    Every network is swept twice: in quarters of an octave about the prediction, further than the tangent kernels of
    the draws scatter, then in 24ths of one about what was found.
    """
    for name, sizes in (("theory_depths", theory_depths), ("depths", depths)):
        if len(sizes) == 0 or (np.diff(sizes) <= 0).any():
            raise arguments.refuse(name, sizes, "a list of increasing depths")
    if not set(depths) <= set(theory_depths):
        raise arguments.refuse("depths", depths, f"taken from theory_depths, {list(theory_depths)}")
    if len(draws) < 2:
        raise arguments.refuse("draws", draws, "the numbers of networks of two widths or more")
    theory = best_theory_lr(theory_depths, branch, steps)
    means = np.empty((len(depths), len(draws), 2))
    for i, depth in enumerate(depths):
        guess = float(theory[list(theory_depths).index(depth)])
        for j, (width, number) in enumerate(draws.items()):
            count = arguments.count("draws", number, minimum=FEWEST)
            means[i, j] = _trained(guess, width, depth, steps, branch, count)
    widths = np.array(list(draws))
    ends = np.array([at_infinite_width(widths, *row.T) for row in means])
    trained = (*means.T.swapaxes(1, 2), *ends.T, min(draws.values()))
    return FittingRates(np.array(theory_depths), np.log2(theory), np.array(depths), widths, *trained)


def _trained(guess: float, width: int, depth: int, steps: int, branch: float, draws: int) -> tuple[float, float]:
    """log2 of the best rate of trained networks, mean and standard error."""

    def outputs(lrs: Array, last: int) -> FiniteRun:
        return train_ensemble(lrs, 1.0, width, depth, last, draws=draws, seed=width, branch=branch)

    controls = initial_controls(outputs(np.array(guess), 0), branch)
    scatter = -np.log2(1 + controls[0])  # octaves: the best rate follows 1 / K_0
    coarse = guess * 2.0 ** np.arange(scatter.min() - 2, scatter.max() + 1.5, 1 / 4)
    near = fitting_lr(coarse, outputs(coarse, steps).f[-1])  # (draws,)
    # What the coarse sweep steps over, a touch of the target or two crossings, lies just below what it finds.
    fine = 2.0 ** np.arange(-0.5, 0.25 + 1 / 48, 1 / 24)
    lrs = np.where(np.isfinite(near), near, guess)[:, None] * fine
    found = np.where(np.isfinite(near), lrs[:, 0] * fitting_lr(fine / fine[0], outputs(lrs, steps).f[-1]), np.inf)
    return controlled_mean(np.log2(found), controls)


def at_infinite_width(widths: Array, values: Array, errors: Array) -> tuple[float, float]:
    """Least squares for values = limit + c / N: the limit and its standard error; inf where one is not known."""
    if not np.isfinite(errors).all():
        return math.inf, math.inf
    x, weights = 1 / widths, errors**-2.0
    _, limit, information = line(x, values, weights)
    centre = float(np.average(x, weights=weights))
    return float(limit), math.sqrt(1 / float(weights.sum()) + centre**2 / information)
