"""Trained networks beside their limit: feature sizes along the stream, and small lazy networks beside their kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.estimates import Estimate, in_errors, mean_and_error
from lrtransfer.residual.theory.gaps import Gap
from lrtransfer.residual.theory.lazy import relu_ntk
from lrtransfer.residual.theory.lazy_outputs import lazy_outputs
from lrtransfer.residual.theory.linear_limit import linear_kernels
from lrtransfer.residual.theory.trained_ensemble import train_ensemble


@dataclass(frozen=True)
class FeatureSizes:
    """Mean square of the stream H_tt of trained linear networks of one depth, against the limit of that depth.

    ``means``, ``errors``: over networks, before and after training, at every block, (2, L + 1). ``shares``,
    ``in_errors``: distance from the limit at the top, relative and in standard errors, (2,). ``expected``: the limit
    there, (2,). ``draws``: how many networks.
    """

    depth: int
    means: Array
    errors: Array
    shares: Array
    in_errors: Array
    expected: Array
    draws: int

    def relative(self, k: int) -> Estimate:
        """Mean at the top over that of the limit, less one: before (k = 0) and after training (k = 1)."""
        top, error = self.means[k, -1], self.errors[k, -1]
        return Estimate(float(top / self.expected[k] - 1), float(error / self.expected[k]), self.draws)


def feature_sizes(
    lr: float, gamma0: float, width: int, depths: Sequence[int], steps: int, *, draws: int
) -> list[FeatureSizes]:
    """Train ``draws`` linear networks of every depth on one input and target 1, and measure their features.

    Arguments as in ``lrtransfer.residual.train_ensemble``. Source: Sec. 4.3.2 of the paper.
    """
    found = []
    for depth in depths:
        trained = train_ensemble(lr, gamma0, width, depth, steps, draws=draws, seed=7)
        theory = linear_kernels(lr, gamma0, depth, steps)
        means, errors = (part[[0, steps]] for part in mean_and_error(trained.H))
        expected = np.array([theory.H[t, t, -1] for t in (0, steps)])
        off = means[:, -1] - expected
        away = np.abs(off) / expected, in_errors(off, errors[:, -1])
        found.append(FeatureSizes(depth, means, errors, *away, expected, draws))
    return found


@dataclass(frozen=True)
class LazyComparison:
    """Mean output of trained networks less that of the frozen kernel, and its standard error, (steps + 1, inputs)."""

    difference: Array
    error: Array

    @property
    def reach(self) -> Array:
        """Size of the difference and two standard errors."""
        return np.abs(self.difference) + 2 * self.error


def compare_lazy(
    lr: float, gamma0: float, width: int, depth: int, steps: int, *, inputs: ArrayLike, targets: ArrayLike, draws: int
) -> LazyComparison:
    """ReLU networks with a small ``gamma0`` beside Proposition 2 at the same depth.

    ``inputs``: Gram matrix of the inputs over D, (P, P); ``targets`` (P,). Others as in ``train_ensemble``.
    """
    frozen = lazy_outputs(lr, relu_ntk(inputs, depth), targets, steps)
    trained = train_ensemble(
        lr, gamma0, width, depth, steps, draws=draws, target=targets, gram=inputs, activation="relu", seed=3
    )
    mean, error = mean_and_error(trained.f, axis=-2)
    return LazyComparison(mean - frozen, error)


def away_from(power: float, gap: Gap, draws: Mapping[int, int] | ArrayLike) -> Estimate:
    """A fitted exponent less the ``power`` expected, with its error; ``draws`` by width, or one number."""
    numbers = list(draws.values()) if isinstance(draws, Mapping) else np.atleast_1d(draws)
    return Estimate(gap.rate.slope - power, gap.rate.error, int(min(numbers)))
