r"""Finite networks against their limit: the distances and the best rates that the chapter's theory sections show.

``width_gaps``: linear networks, mean output and kernels against the limit of the same depth. ``depth_gaps``: the limit
at depth L against infinite depth. ``wide_gaps`` and ``doubling_gaps``: the same two questions for ReLU and tanh, where
the limit has to be sampled. (Best rates are compared in ``fitting``.)
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.estimates import mean_and_error
from lrtransfer.numerics.fits import PowerLaw, power_law
from lrtransfer.numerics.overflow import or_inf
from lrtransfer.residual.theory.control_variates import FEWEST, controlled_mean, initial_controls
from lrtransfer.residual.theory.linear_limit import linear_kernels
from lrtransfer.residual.theory.nonlinear_limit import NonlinearLimit, nonlinear_limit
from lrtransfer.residual.theory.trained_ensemble import train_ensemble


@dataclass(frozen=True)
class Gap:
    """Distances from a limit, size by size.

    Attributes
    ----------
    values, errors
        distances and their standard errors, (sizes,) each
    rate
        the fitted power of the size
    """

    values: Array
    errors: Array
    rate: PowerLaw


def _gap(sizes: ArrayLike, differences: ArrayLike, errors: ArrayLike) -> Gap:
    values = np.abs(differences)
    return Gap(values, np.asarray(errors), power_law(sizes, values, errors))


@dataclass(frozen=True)
class WidthGaps:
    """Result of ``width_gaps``: distances from the limit against width.

    Attributes
    ----------
    widths, draws
        (widths,), and the number of networks at each
    output, kernel
        distance of the mean over draws
    one_output, one_kernel
        distance of a single network, root mean square over draws
    mean
        mean output of the widest networks, (steps + 1,)
    """

    widths: NDArray[np.int64]
    draws: NDArray[np.int64]
    output: Gap
    kernel: Gap
    one_output: Gap
    one_kernel: Gap
    mean: Array


def width_gaps(lr: float, gamma0: float, depth: int, steps: int, draws: Mapping[int, int]) -> WidthGaps:
    """Distance of linear networks from ``linear_limit`` of the same depth, width by width.

    Two numbers of a run are compared, both averaged over steps 1 .. T, so that no step is picked by its noise: the
    output f_t, and the kernels (H_tt + G_tt) / 2 at the end that training moves most, H at the top and G at the
    bottom (which have one law, as the transposed network has the same). Means and their errors by
    ``controlled_mean``. Networks are centred (f_0 = 0, as in the limit); every width has random numbers of its own.

    Parameters
    ----------
    lr, gamma0, depth, steps
        as in ``linear_limit``, one number each, depth finite
    draws
        for every width N (three or more) the number of networks, six or more

    Returns
    -------
    WidthGaps
        distances with their fitted powers of the width.

    Raises
    ------
    ValueError
        naming the argument.
    """
    steps = arguments.count("steps", steps, minimum=1)
    limit = linear_kernels(lr, gamma0, depth, steps)
    after = np.arange(1, steps + 1)
    exact = np.array([limit.f[1:].mean(), (limit.H[after, after, -1] + limit.G[after, after, 0]).mean() / 2])
    rows, mean = [], limit.f
    for width, number in draws.items():
        count = arguments.count("draws", number, minimum=FEWEST)
        run = train_ensemble(lr, gamma0, width, depth, steps, draws=count, seed=width)
        found = np.array([run.f[1:].mean(axis=0), (run.H[1:, -1] + run.G[1:, 0]).mean(axis=0) / 2])  # (2, draws)
        controls = initial_controls(run)
        for values, target in zip(found, exact, strict=True):
            middle, error = controlled_mean(values, controls)
            square, square_error = mean_and_error((values - target) ** 2)
            rows.append([middle - target, error, math.sqrt(square), square_error / (2 * math.sqrt(square))])
        mean = mean_and_error(run.f)[0]
    widths, table = np.array(list(draws)), np.array(rows).reshape(len(draws), 2, 2, 2)
    output, kernel, one_output, one_kernel = (_gap(widths, *table[:, i, kind].T) for kind in (0, 1) for i in (0, 1))
    return WidthGaps(widths, np.array(list(draws.values())), output, kernel, one_output, one_kernel, mean)


def depth_gaps(lr: float, gamma0: float, depths: Sequence[int], steps: int) -> dict[str, Array]:
    """Largest distance over steps of the limit at depth L from the limit at infinite depth.

    Parameters
    ----------
    lr, gamma0, steps
        as in ``linear_limit``, one number each
    depths
        L, whole numbers

    Returns
    -------
    dict
        (depths,) each, absolute: "output" for f_t, "H at the top" for <h^L_t h^L_s>, "G at the bottom" for <g^0_t
        g^0_s>; inf where either run diverged.

    Raises
    ------
    ValueError
        naming the argument.
    """
    deep = linear_kernels(lr, gamma0, np.inf, steps, layer_time=[0.0, 1.0])
    rows = []
    for depth in depths:
        at = linear_kernels(lr, gamma0, depth, steps)
        pairs = ((at.f, deep.f), (at.H[..., -1], deep.H[..., -1]), (at.G[..., 0], deep.G[..., 0]))
        with np.errstate(invalid="ignore"):  # inf - inf: both diverged
            rows.append([or_inf(np.abs(here - there)).max() for here, there in pairs])
    return dict(zip(("output", "H at the top", "G at the bottom"), np.array(rows).T, strict=True))


@dataclass(frozen=True)
class WideGaps:
    """Result of ``wide_gaps``: mean outputs, and their distance from those of very wide networks.

    Attributes
    ----------
    widths
        (widths,)
    f, f_error
        mean outputs of every width and their standard errors, (widths, steps + 1)
    wide
        the very wide networks
    output
        distance of the output, averaged over steps
    """

    widths: NDArray[np.int64]
    f: Array
    f_error: Array
    wide: NonlinearLimit
    output: Gap


def wide_gaps(
    lr: float,
    gamma0: float,
    depth: int,
    steps: int,
    draws: Mapping[int, int],
    *,
    activation: str,
    neurons: int,
    wide_draws: int,
) -> WideGaps:
    """Distance of the mean output of stored networks from very wide ones of the same depth, width by width.

    The output is averaged over steps 1 .. T. The error is that of the stored mean and that of the reference, in
    quadrature; the latter is bounded by the average of its errors over steps, which move together.

    Parameters
    ----------
    lr, gamma0, depth, steps, activation
        as in ``nonlinear_limit``
    draws
        for every width N (three or more) the number of networks, two or more
    neurons, wide_draws
        ``neurons`` and ``draws`` of ``nonlinear_limit``

    Returns
    -------
    WideGaps
        distances with their fitted power of the width.

    Raises
    ------
    ValueError
        naming the argument.
    """
    steps = arguments.count("steps", steps, minimum=1)
    wide = nonlinear_limit(lr, gamma0, depth, steps, activation=activation, neurons=neurons, draws=wide_draws)
    means, errors, differences, spreads = [], [], [], []
    for width, number in draws.items():
        count = arguments.count("draws", number, minimum=2)
        f = train_ensemble(lr, gamma0, width, depth, steps, draws=count, seed=width, activation=activation).f
        middle, error = mean_and_error(f)
        whole, whole_error = mean_and_error(f[1:].mean(axis=0))
        means.append(middle)
        errors.append(error)
        differences.append(float(whole - wide.f[1:].mean()))
        spreads.append(math.hypot(float(whole_error), float(wide.f_error[1:].mean())))
    widths = np.array(list(draws))
    return WideGaps(widths, np.array(means), np.array(errors), wide, _gap(widths, differences, spreads))


def doubling_gaps(
    lr: float, gamma0: float, width: int, depths: Sequence[int], steps: int, *, draws: int, activation: str
) -> dict[str, Gap]:
    """Distance between the mean at depth L and at 2 L, against L, for networks of one width with coupled weights.

    A distance that falls like 1/L leaves differences that can be summed: the means have a limit in depth. The weights
    of all depths are sums of those of the last (``finest`` in ``train_ensemble``), so the differences have errors
    several times smaller than the means.

    Parameters
    ----------
    lr, gamma0, width, steps, activation
        as in ``train_ensemble``
    depths
        each twice the one before, four or more
    draws
        number of networks, two or more

    Returns
    -------
    dict
        a ``Gap`` with an entry for all depths but the last: "output" for f_t and "kernel" for <phi(h) phi(h)> in the
        last layer, both averaged over steps 1 .. T.

    Raises
    ------
    ValueError
        naming the argument.
    """
    steps, count = arguments.count("steps", steps, minimum=1), arguments.count("draws", draws, minimum=2)
    if len(depths) < 4 or any(deep != 2 * shallow for shallow, deep in itertools.pairwise(depths)):
        raise arguments.refuse("depths", depths, "four depths or more, each twice the one before")
    rows = []
    for depth in depths:
        run = train_ensemble(
            lr, gamma0, width, depth, steps, draws=count, activation=activation, finest=depths[-1]
        )  # fmt: skip
        rows.append([run.f[1:].mean(axis=0), run.H[1:, -1].mean(axis=0)])
    middle, error = mean_and_error(np.diff(rows, axis=0))  # (depths - 1, 2)
    return {name: _gap(depths[:-1], middle[:, i], error[:, i]) for i, name in enumerate(("output", "kernel"))}
