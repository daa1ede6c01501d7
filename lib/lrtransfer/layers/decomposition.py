"""The gradient as signal and self-interaction, G = B - A, measured.

Two layers: A_1 = M W_2' / h is what the labels alone ask for, B_1 = W_1 W_2 W_2' / h^2 the weights' own
product. On the circle, in the units of ``circle``, A -> z conj(omega_2), B -> omega_1 omega_2 conj(omega_2),
G -> -e conj(omega_2). At the start omega_1 = omega_2 = h^(-1/4), and |B| / |G| = |omega_1 omega_2| / |e| is
1/(sqrt(h) - 1) for the mode z = 1, 1/(sqrt(h) + 1) for z = -1, 1/sqrt(h + 1) in Frobenius norm: Proposition
5.1's bound is the value of the worst mode before the first step.

k layers and a readout: both parts have rank one with the same right factor, so for layer i the ratio of norms
is |(W_1 .. W_{i-1})' theta| / |(W_1 .. W_{i-1})' r|, theta the network's linear form and r = theta - beta.

Source: arXiv 2606.00340, Proposition 5.1.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.layers.circle import in_critical_units, spike_width, squared, width_argument
from lrtransfer.layers.deep import over_draws, rates_argument, teacher_draws
from lrtransfer.layers.quadrature import haar_mean
from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array, Complex, Indices
from lrtransfer.numerics.estimates import Estimate


def proposition_bound(h: ArrayLike) -> Array:
    """Proposition 5.1's bound on |B| / |G|: 1 / (sqrt(h) - 1).

    Parameters
    ----------
    h
        >= 2; shapes broadcast.

    Returns
    -------
    array
        h's shape, without unit.

    Raises
    ------
    ValueError
        For h below 2.

    Source: arXiv 2606.00340, Proposition 5.1.
    """
    width = arguments.finite("h", h, minimum=2.0)
    return 1 / (np.sqrt(width) - 1)


def self_interaction(lr1: ArrayLike, lr2: ArrayLike, h: int, steps: int) -> Array:
    """|B_i| / |G_i| of the two layers along exact gradient descent: sqrt(E |B_i|_F^2 / E |G_i|_F^2).

    Parameters
    ----------
    lr1, lr2
        Rates, >= 0; shapes broadcast.
    h
        Width, >= 2.
    steps
        >= 0.

    Returns
    -------
    array
        Shape (steps + 1, 2) + the broadcast shape of the rates, layer on the second axis; 1/sqrt(h + 1) at step 0, near
        1 once the teacher is learned, inf where the run diverged.

    Raises
    ------
    ValueError
        For an argument out of its range, which it names.

    Source: arXiv 2606.00340, Proposition 5.1; on the circle this book's.
    """
    width, number = width_argument(h), arguments.count("steps", steps)
    k1, k2 = np.broadcast_arrays(in_critical_units("lr1", lr1, width), in_critical_units("lr2", lr2, width))
    shape, k1, k2 = k1.shape, k1.reshape(-1, 1), k2.reshape(-1, 1)

    def integrand(index: Indices, z: Complex) -> Array:
        r1, r2 = k1[index], k2[index]
        w1 = np.full(np.broadcast_shapes(r1.shape, z.shape), width**-0.25, dtype=complex)
        w2 = w1
        out = np.empty((number + 1, 2, 2, *w1.shape))  # step, layer, (B, G)
        for t in range(number + 1):
            product = w1 * w2
            e = z - product
            for layer, other in enumerate((w2, w1)):
                out[t, layer, 0] = squared(product * other)
                out[t, layer, 1] = squared(e * other)
            w1, w2 = w1 + r1 * e * w2.conj(), w2 + r2 * e * w1.conj()
        return out.reshape(-1, *w1.shape)

    spike = spike_width((np.sqrt(k1) * np.sqrt(k2))[:, 0], width, number)
    # B and G have degree 3^(t+1) at step t: the exact rule must know
    mean = haar_mean(integrand, k1.size, width, number + 1, spike).value
    parts = mean.reshape(number + 1, 2, 2, *shape)
    with np.errstate(all="ignore"):
        ratio = np.sqrt(parts[:, :, 0] / parts[:, :, 1])
    return np.where(np.isfinite(parts).all(axis=2), ratio, np.inf)


def deep_self_interaction(lrs: ArrayLike, h: int, steps: int, *, draws: int, seed: int) -> Estimate:
    """|B_i| / |G_i| of each trained matrix along gradient descent: mean over draws and its standard error.

    Parameters
    ----------
    lrs
        Rates (k,), >= 0.
    h
        Width, >= 2.
    steps
        >= 0.
    draws, seed
        As in ``deep_loss``, the same draws.

    Returns
    -------
    Estimate
        Shape (steps + 1, k) each; inf where a draw diverged.

    Raises
    ------
    ValueError
        For an argument out of its range, which it names.

    Source: arXiv 2606.00340, Proposition 5.1 for more layers; the reduction is this book's.
    """
    width, number = width_argument(h), arguments.count("steps", steps)
    rates = rates_argument(lrs, width)
    if rates.ndim != 1:
        raise arguments.refuse("lrs", lrs, "a flat sequence with one rate for each trained matrix")
    a, beta = teacher_draws(width, draws, seed)
    k = rates.size
    weights = [np.broadcast_to(np.eye(2), (a.shape[0], 2, 2)).copy() for _ in range(k)]
    ratios = np.empty((a.shape[0], number + 1, k))
    with np.errstate(all="ignore"):
        for t in range(number + 1):
            behind = [a]
            for weight in reversed(weights):
                behind.append(np.einsum("dij,dj->di", weight, behind[-1]))
            own = behind[k] / np.sqrt(width)
            before = own - beta
            for i, weight in enumerate(weights):
                ratios[:, t, i] = np.sqrt((own**2).sum(axis=1) / (before**2).sum(axis=1))
                update = rates[i] * before[:, :, None] * behind[k - 1 - i][:, None, :]
                own, before = (np.einsum("dij,di->dj", weight, v) for v in (own, before))
                weight -= update
        return over_draws(ratios)
