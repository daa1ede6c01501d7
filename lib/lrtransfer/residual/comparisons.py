r"""Finite networks against their limit: the distances and the best rates that the chapter's theory sections show.

``width_gaps``: mean output of trained networks against the limit of the same depth. ``depth_gaps``: the limit at
depth L against infinite depth. ``fitting_lr``: the best rate of a task so small that it can be fitted exactly, for
the limit (``predicted_lrs``) and for trained networks (``trained_lrs``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lrtransfer import _check
from lrtransfer.fits import PowerLaw, power_law
from lrtransfer.residual.finite import train_ensemble
from lrtransfer.residual.linear_limit import best_theory_lr, linear_kernels, linear_limit

Array = NDArray[np.float64]


@dataclass(frozen=True)
class WidthGaps:
    """Result of ``width_gaps``; the arrays have shape (widths,).

    ``gaps``: largest distance over steps of the mean output from the limit; ``errors``: its standard error over
    draws, at that step; ``rate``: the fitted power of the width; ``mean``: mean output of the widest networks,
    shape (steps + 1,).
    """

    widths: NDArray[np.int64]
    draws: NDArray[np.int64]
    gaps: Array
    errors: Array
    rate: PowerLaw
    mean: Array


def width_gaps(lr: float, gamma0: float, depth: int, steps: int, draws: Mapping[int, int]) -> WidthGaps:
    """Distance of the linear network's mean output from ``linear_limit`` of the same depth, width by width.

    ``draws``: for every width N (three or more) the number of networks. Other arguments as in ``linear_limit``.
    Networks are centred (f_0 = 0, as in the limit); every width has random numbers of its own. Raises ValueError.
    """
    limit = linear_limit(lr, gamma0, depth, steps)
    gaps, errors, mean = [], [], limit
    for width, count in draws.items():
        f = train_ensemble(lr, gamma0, width, depth, steps, draws=count, seed=width).f  # (steps + 1, draws)
        mean = f.mean(axis=-1)
        worst = int(np.abs(mean - limit).argmax())
        gaps.append(abs(mean[worst] - limit[worst]))
        errors.append(f[worst].std(ddof=1) / np.sqrt(count))
    widths = np.array(list(draws))
    rate = power_law(widths, gaps, errors)
    return WidthGaps(widths, np.array(list(draws.values())), np.array(gaps), np.array(errors), rate, mean)


def depth_gaps(lr: float, gamma0: float, depths: Sequence[int], steps: int) -> dict[str, Array]:
    """Largest distance over steps of the limit at depth L from the limit at infinite depth, shape (depths,).

    Keys: "output" for f_t, "H at the top" for <h^L_t h^L_s>, "G at the bottom" for <g^0_t g^0_s>, all absolute.
    """
    deep = linear_kernels(lr, gamma0, np.inf, steps, layer_time=[0.0, 1.0])
    rows = []
    for depth in depths:
        at = linear_kernels(lr, gamma0, depth, steps)
        pairs = ((at.f, deep.f), (at.H[..., -1], deep.H[..., -1]), (at.G[..., 0], deep.G[..., 0]))
        rows.append([np.abs(here - there).max() for here, there in pairs])
    return dict(zip(("output", "H at the top", "G at the bottom"), np.array(rows).T, strict=True))


def fitting_lr(lrs: ArrayLike, outputs: ArrayLike, target: float = 1.0) -> Array:
    """The lowest rate at which the loss (f - target)^2 / 2 stops falling as the rate grows.

    As a rule the output reaches the target there, and the loss is zero: the rate is then interpolated linearly in its
    logarithm. Beyond it the output swings about the target as the rate grows, and the loss has further zeros.
    Where the output turns back before it gets there, the rate of the turn on the grid is given.

    ``lrs`` (rates,) increasing; ``outputs`` (rates, ...) at the last step; ``target`` not 0. Returns shape (...),
    ``inf`` where the loss falls, or rises, all along the grid. Raises ValueError naming the argument.
    """
    x = np.log(_check.positive("lrs", lrs))
    rest = 1 - np.asarray(outputs, dtype=float) / target  # positive below the target
    if x.ndim != 1 or x.size < 3 or not (np.diff(x) > 0).all():
        raise _check.refuse("lrs", lrs, "a list of three or more increasing rates")
    if rest.shape[:1] != x.shape:
        raise _check.refuse("outputs", outputs, f"of shape ({x.size}, ...), one entry a rate")
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
    """log2 of the best rate: theory at ``theory_depths``; trained networks at ``depths``, mean and standard error."""

    theory_depths: NDArray[np.int64]
    theory: Array
    depths: NDArray[np.int64]
    trained: Array
    error: Array

    @property
    def theory_move(self) -> float:
        """Change of the predicted log2 rate between the first and the last trained depth."""
        ends = np.searchsorted(self.theory_depths, self.depths[[0, -1]])
        return float(np.diff(self.theory[ends])[0])

    @property
    def trained_move(self) -> tuple[float, float]:
        """Change of the trained log2 rate over the same depths, and its standard error."""
        return float(self.trained[-1] - self.trained[0]), float(np.hypot(self.error[0], self.error[-1]))


def fitting_rates(
    theory_depths: Sequence[int], depths: Sequence[int], branch: float, steps: int, *, width: int, draws: int
) -> FittingRates:
    """The best rate by theory alone and of trained networks, against depth, for one branch exponent.

    The task: one input, target 1, gamma_0 = 1, ``steps`` noise-free updates of a linear network; the best rate is
    ``fitting_lr``. ``width`` N, ``draws`` networks a depth; every network is swept over six octaves about the
    prediction in sixteenths of an octave. ``depths`` must be among ``theory_depths``. Raises ValueError.
    """
    if not set(depths) <= set(theory_depths):
        raise _check.refuse("depths", depths, f"taken from theory_depths, {list(theory_depths)}")
    theory = best_theory_lr(theory_depths, branch, steps)
    mean, error = [], []
    for depth in depths:
        guess = theory[list(theory_depths).index(depth)]
        lrs = guess * 2.0 ** np.arange(-3, 3 + 1 / 32, 1 / 16)
        f = train_ensemble(lrs, 1.0, width, depth, steps, draws=draws, seed=1, branch=branch).f[-1]  # (rates, draws)
        found = np.log2(fitting_lr(lrs, f))
        mean.append(found.mean())
        error.append(found.std(ddof=1) / np.sqrt(draws) if np.isfinite(found).all() else np.inf)
    return FittingRates(np.array(theory_depths), np.log2(theory), np.array(depths), np.array(mean), np.array(error))
