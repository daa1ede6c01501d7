"""How far training moves the features, and scaling exponents with their errors."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.fits import PowerLaw, line
from lrtransfer.width.data import limit_lr_of, regression
from lrtransfer.width.network import Trained, draw, explore, one_step, padded, rate_unit
from lrtransfer.width.optimum import minimise_polynomial, report_edges


def feature_updates(
    width: float,
    X: ArrayLike,
    y: ArrayLike,
    hidden_layers: int,
    *,
    lr: float | None = None,
    steps: int = 1,
    parametrisation: str = "mup",
    seeds: Sequence[int],
) -> Array:
    """Size of the change of the hidden features, per entry: ``||Delta z_l|| / sqrt(n)``.

    ``z_l = W_l .. W_0 x``, and the square is averaged over the inputs:
    ``sqrt(mean_i ||z_l^(t)(x_i) - z_l^(0)(x_i)||^2 / n)``.

    Parameters
    ----------
    width, X, y, hidden_layers, parametrisation
        As in ``one_step_coefficients``.
    lr
        The rate in the parametrisation's own unit; by default each draw's best rate for one step on (0, 4
        eta_inf), divided by n under SP.
    steps
        Number of gradient steps, >= 1.
    seeds
        One draw of the weights a seed.

    Returns
    -------
    array
        Shape (seeds, L), layers l = 1 .. L; inf where the run overflowed. With one ``OnEdgeWarning`` that
        counts the draws whose best rate, where lr is left out, is an end of its interval.

    Raises
    ------
    ValueError
        As in ``one_step_coefficients``, for a rate that is not positive or steps below 1.

    Source: Hayou, 'A Proof of Learning Rate Transfer under muP' (2025), the discussion of muP (Delta z =
    Theta(1)).
    """
    data = regression(X, y)
    count = arguments.count("steps", steps, minimum=1)
    numbers = arguments.seeds("seeds", seeds)
    layers = draw(width, data.d, hidden_layers, parametrisation=parametrisation, seed=0).layers  # checks the arguments
    unit = rate_unit(width, parametrisation)
    rate = None if lr is None else arguments.one("lr", arguments.positive("lr", lr)) / unit
    inputs = data.R.T / math.sqrt(data.m)  # its outer product is X'X / m: d columns stand for the m samples
    updates, found = [], []
    high = 4 * limit_lr_of(data, layers) if rate is None else math.inf
    for seed in numbers:
        network = draw(width, data.d, layers, parametrisation=parametrisation, seed=seed)
        explore(network, data, count)
        eta = rate
        if eta is None:
            eta = float(minimise_polynomial(one_step(network, data)[None], data, 0.0, high)[0])
            found.append(eta * unit)
        squares = np.zeros(network.layers)
        trained = Trained(network, data, np.array([eta]), count)
        fresh = Trained(network, data, np.array([eta]), 0)
        for column in inputs.T:
            after, before = trained.forward(column[:, None]), fresh.forward(column[:, None])
            with np.errstate(over="ignore"):
                squares += [_distance(x, z) for x, z in zip(after[1:], before[1:], strict=True)]
        updates.append(np.where(trained.diverged, math.inf, np.sqrt(squares)))
    report_edges(np.array(found), 0.0, high * unit)
    return np.array(updates)


def scaling_exponent(sizes: ArrayLike, samples: ArrayLike) -> PowerLaw:
    """Slope of log rms against log size by weighted least squares, with its error from the spread over seeds.

    ``log sqrt(mean_seeds s^2) = intercept + slope log size``; the weight of a point is the inverse variance
    of its left side, to first order ``var(s^2) / (4 seeds mean(s^2)^2)``, and the slope's error follows from
    these variances (not from the residuals of the line, so that a bent curve is not hidden in a larger
    error).

    Parameters
    ----------
    sizes
        Widths, shape (sizes,), positive, at least two different ones.
    samples
        One number a size and seed, shape (sizes, seeds), at least two seeds; signs do not matter.

    Returns
    -------
    PowerLaw
        slope, error, intercept. Samples that do not differ between seeds at any size are fitted with equal
        weights and error 0.

    Raises
    ------
    ValueError
        For other shapes, non-finite samples, a size at which every sample is zero, or one at which the samples
        do not differ between seeds while they do at another: their weight would be infinite.

    Source: the delta method for the variance of a logarithm; ``lrtransfer.numerics.fits.line``.
    """
    widths, values = arguments.positive("sizes", sizes), arguments.finite("samples", samples)
    x = np.log(widths)
    if x.ndim != 1 or np.unique(x).size < 2:
        raise arguments.refuse("sizes", sizes, "a list of at least two different sizes")
    if values.ndim != 2 or values.shape[0] != x.size or values.shape[1] < 2:
        allowed = f"of shape (sizes, seeds) = ({x.size}, seeds) with two or more seeds (the value is its shape)"
        raise arguments.refuse("samples", values.shape, allowed)
    largest = np.abs(values).max(axis=1, keepdims=True)
    if not (largest > 0).all():
        raise arguments.refuse("samples", 0.0, "nonzero for some seed at every size")
    squares = (values / largest) ** 2
    mean = squares.mean(axis=1)
    variance = squares.var(axis=1, ddof=1) / (4 * values.shape[1] * mean**2)
    flat = variance <= 1e-24  # a spread at rounding level is no spread
    if flat.any() and not flat.all():
        allowed = f"different from seed to seed, which they are not at size {widths[flat][0]:g}, or alike at every size"
        raise arguments.refuse("samples", float(values[flat][0, 0]), allowed)
    weight = np.ones(x.size) if flat.all() else 1 / variance
    target = np.log(largest[:, 0]) + np.log(mean) / 2
    slope, intercept, information = line(x, target, weight)
    return PowerLaw(float(slope), 0.0 if flat.all() else information**-0.5, float(intercept))


def _distance(after: Array, before: Array) -> float:
    size = max(len(after), len(before))  # a shorter vector is one with zeros appended
    return float(np.sum((padded(after, size) - padded(before, size)) ** 2))
