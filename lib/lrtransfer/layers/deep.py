"""Three and more layers: k trained matrices and a fixed readout, as a recursion of 2 x 2 matrices.

The network f(x) = x' W_1 .. W_k a / sqrt(h) starts at orthogonal W_i, the teacher is y = x' beta, the data
have X'X = n I, and a, beta ~ N(0, I/h). Rotate so that every W_i starts at I. With the residual
r = W_1 .. W_k a / sqrt(h) - beta, gradient descent on (f - y)^2 / 2 is

    W_i <- W_i - (eta_i / sqrt h) (W_1 .. W_{i-1})' r (W_{i+1} .. W_k a)',

so every update lives in span{a, beta}, and so does r: the whole network is k matrices of 2 x 2, whatever h
is. A draw is three numbers, |a|^2, a'beta and |beta|^2. The signal-only surrogate puts -beta for r in the
update.

Two scales of the rate matter at k = 2. One step learns the teacher at eta ~ h / 2, the paper's critical
scale. But a learned network has |W_1|^2 = |W_2|^2 = sqrt(h) along the teacher, the loss curves like 2 /
sqrt(h) there, and gradient descent settles only below eta = sqrt(h).

The paper counts the readout as a layer: its 3, 4 and 8 layers are k = 2, 3 and 7 here.

Source: arXiv 2606.00340, three-layer model; the reduction is this book's.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.layers.circle import width_argument
from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.estimates import Estimate, mean_and_error

_BLOCK = 200_000  # draws x rates advanced at once


def teacher_draws(h: int, draws: int, seed: int) -> tuple[Array, Array]:
    """Draws of a, beta ~ N(0, I/h) in a basis of their span, first vector along a: (draws, 2) each.

    |a|^2 is chi-square with h degrees of freedom over h; beta has a normal component along a and the square of the rest
    is chi-square with h - 1 degrees of freedom over h. Equal seeds give equal draws everywhere in this module.

    Parameters
    ----------
    h
        Width, >= 2.
    draws
        >= 2.
    seed
        >= 0.

    Returns
    -------
    tuple[Array, Array]
        a and beta, (draws, 2) each.

    Raises
    ------
    ValueError
        For an argument out of its range, which it names.

    Source: arXiv 2606.00340, three-layer model; the reduction is this book's.
    """
    width = width_argument(h)
    number, start = arguments.count("draws", draws, minimum=2), arguments.seed("seed", seed)
    rng = np.random.default_rng(start)
    a, beta = np.zeros((number, 2)), np.empty((number, 2))
    a[:, 0] = np.sqrt(rng.chisquare(width, number) / width)
    beta[:, 0] = rng.standard_normal(number) / np.sqrt(width)
    beta[:, 1] = np.sqrt(rng.chisquare(width - 1, number) / width)
    return a, beta


def over_draws(values: Array) -> Estimate:
    """Mean over the first axis and its standard error: ``mean_and_error``, with both finite or neither.

    Parameters
    ----------
    values
        Shape (draws, ...): one a draw.

    Returns
    -------
    Estimate
        Mean and error; inf and inf where a value is not finite, a NaN included: that draw diverged. Finite values give
        a finite mean and error however large they are, as squares are taken in units of the largest.

    Raises
    ------
    ValueError
        For less than one draw.
    """
    values = np.where(np.isfinite(values), values, np.inf)
    with np.errstate(all="ignore"):
        # in units of the largest value where sums or squares would overflow; 1 elsewhere keeps every digit
        largest = np.abs(values).max(axis=0)
        unit = np.where((largest > 1e150) & np.isfinite(largest), largest, 1.0)
        mean, error = mean_and_error(values / unit, axis=0)
        return Estimate(unit * mean, unit * error, len(values))


def rates_argument(lrs: ArrayLike, h: int) -> Array:
    """Checked rates eta_i >= 0 over sqrt(h), shape (k,) + grid. ValueError naming ``lrs``, for k = 0 too."""
    rates = arguments.finite("lrs", lrs, minimum=0.0)
    if rates.ndim == 0 or rates.shape[0] == 0:
        raise arguments.refuse("lrs", lrs, "a sequence with one rate for each trained matrix")
    return rates / np.sqrt(h)


def network_losses(rates: Array, a: Array, beta: Array, h: int, steps: int, signal_only: bool, course: bool) -> Array:
    """|W_1 .. W_k a / sqrt(h) - beta|^2 for each draw: (1 or steps + 1, draws, grid).

    One matrix is (2, 2, draws, grid), rows first. Arguments that have passed their checks.

    Parameters
    ----------
    rates
        Shape (k, grid): already over sqrt(h).
    a, beta
        Shape (draws, 2): a draw each.
    h, steps, signal_only
        As in ``deep_loss``.
    course
        Every step, not only the last.

    Source: the recursion in the module's docstring.
    """
    k, grid = rates.shape
    draws = a.shape[0]
    eye = np.broadcast_to(np.eye(2)[:, :, None, None], (2, 2, draws, grid))
    weights = [eye.copy() for _ in range(k)]
    readout, teacher = (np.broadcast_to(v.T[:, :, None], (2, draws, grid)) for v in (a, beta))
    out = np.empty((steps + 1 if course else 1, draws, grid))
    for t in range(steps + 1):
        behind = [readout]  # W_{i+1} .. W_k a, from i = k down to 0
        for weight in reversed(weights):
            behind.append(weight[:, 0] * behind[-1][0] + weight[:, 1] * behind[-1][1])
        residual = behind[k] / np.sqrt(h) - teacher
        if course or t == steps:
            out[t if course else 0] = (residual**2).sum(axis=0)
        if t < steps:
            before = -teacher if signal_only else residual  # (W_1 .. W_{i-1})' r
            for i, weight in enumerate(weights):
                update = rates[i] * before[:, None] * behind[k - 1 - i][None]
                before = weight[0] * before[0] + weight[1] * before[1]  # before the update: all layers move at once
                weight -= update
    return out


def _deep(lrs: ArrayLike, h: object, steps: object, draws: int, seed: int, signal_only: bool, course: bool) -> Estimate:
    width, number = width_argument(h), arguments.count("steps", steps)
    arguments.flag("signal_only", signal_only)
    rates = rates_argument(lrs, width)
    a, beta = teacher_draws(width, draws, seed)
    shape, flat = rates.shape[1:], rates.reshape(rates.shape[0], -1)
    block = max(1, _BLOCK // a.shape[0])
    parts: list[Estimate] = []
    with np.errstate(all="ignore"):
        for start in range(0, flat.shape[1], block):
            part = flat[:, start : start + block]
            losses = network_losses(part, a, beta, width, number, signal_only, course)
            parts.append(over_draws(np.moveaxis(losses, 1, 0)))
    mean, error = (np.concatenate(column, axis=1) for column in zip(*parts, strict=True))
    out = (-1, *shape) if course else shape
    return Estimate(mean.reshape(out), error.reshape(out), len(a))


def deep_loss(lrs: ArrayLike, h: int, steps: int, *, draws: int, seed: int, signal_only: bool = False) -> Estimate:
    """Expected test loss of the network with k = len(lrs) trained matrices after ``steps`` steps.

    Parameters
    ----------
    lrs
        One rate >= 0 for each trained matrix, first layer first, in the paper's units (critical scale h for k = 2); an
        array (k,) + grid evaluates a grid of rates with the same draws.
    h
        Width, >= 2; the cost does not depend on it.
    steps
        >= 0.
    draws
        Draws of (a, beta), >= 2.
    seed
        Equal seeds give equal draws.
    signal_only
        The surrogate that leaves the network's own output out of the gradient.

    Returns
    -------
    Estimate
        (mean, standard error) of E (f - y)^2 over draws, shape of the grid; inf where a draw diverged.

    Raises
    ------
    ValueError
        For h < 2, steps < 0, negative rates, fewer than two draws.

    Source: arXiv 2606.00340, three-layer model.
    """
    return _deep(lrs, h, steps, draws, seed, signal_only, course=False)


def deep_loss_course(
    lrs: ArrayLike, h: int, steps: int, *, draws: int, seed: int, signal_only: bool = False
) -> Estimate:
    """``deep_loss`` after every step 0 .. steps.

    Parameters
    ----------
    lrs, h, steps, draws, seed, signal_only
        as in ``deep_loss``, whose errors and source hold here too

    Returns
    -------
    Estimate
        mean and standard error, (steps + 1,) + grid each.
    """
    return _deep(lrs, h, steps, draws, seed, signal_only, course=True)
