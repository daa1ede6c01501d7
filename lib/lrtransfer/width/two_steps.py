"""Two gradient steps at infinite width, by hand: the linear form after them as a function of the rate."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.overflow import or_inf
from lrtransfer.width.data import regression


def two_step_form(lrs: ArrayLike, X: ArrayLike, y: ArrayLike, hidden_layers: int) -> Array:
    """The linear form theta after two steps at infinite width under muP, for rates eta.

    With ``u_0 = -X'y / m``, ``theta_1 = -eta L u_0 / d``, ``u_1 = X'(X theta_1 - y) / m``, the unit vector e along u_0
    and ``s = eta |u_0| / sqrt(d)``,

        theta_2 = theta_1 + sum_j h_j (u_1 + s^2 S_{j-1} (e'u_1) e) / d,      S_l = l (l+1) (2l+1) / 6,
        h_j = -eta (1 + s^2 S_{L-j}  +  sum_{i > j} h_i T_ij),
        T_ij = -s (e'u_1) / sqrt(d) (L (i - j) + s^2 C_ij),
        C_ij = sum_{j < l < i} (i - l) (i + l - 1) / 2 * (l - j) (2L + 1 - l - j) / 2.

    Parameters
    ----------
    lrs
        Rates, any shape.
    X, y, hidden_layers
        Inputs (m, d), targets (m,) and the number L of trained matrices.

    Returns
    -------
    array
        Shape lrs.shape + (d,); inf where it overflows.

    Raises
    ------
    ValueError
        Naming the argument; for K y = 0, where no step moves anything.

    Source: derived here; Hayou, 'A Proof of Learning Rate Transfer under muP' (2025), proves that the limit exists.
    """
    data, rates = regression(X, y), arguments.finite("lrs", lrs)
    layers = arguments.count("hidden_layers", hidden_layers, minimum=1)
    if data.degenerate:
        raise arguments.refuse("y", "a vector with K y = 0", "correlated with the inputs, X'y != 0")
    eta = rates.reshape(-1, 1)
    start = data.gradient(np.zeros(data.d))  # u_0, (d,)
    unit, s = start / np.linalg.norm(start), eta * np.linalg.norm(start) / math.sqrt(data.d)  # s (R, 1)
    with np.errstate(all="ignore"):
        theta = -eta * layers / data.d * start  # (R, d)
        u = data.gradient(theta.T).T
        along = u @ unit[:, None]  # (R, 1)
    h: dict[int, Array] = {}
    with np.errstate(all="ignore"):
        for j in range(layers, 0, -1):
            h[j] = 1 + s**2 * _squares(layers - j)
            for i in range(j + 1, layers + 1):
                between = sum((i - k) * (i + k - 1) * (k - j) * (2 * layers + 1 - k - j) / 4 for k in range(j + 1, i))
                h[j] = h[j] - h[i] * s * along / math.sqrt(data.d) * (layers * (i - j) + s**2 * between)
            h[j] = -eta * h[j]
            theta = theta + h[j] * (u + s**2 * _squares(j - 1) * along * unit) / data.d
    return or_inf(theta).reshape(*rates.shape, data.d)


def _squares(count: int) -> float:
    """1 + 4 + .. + count^2."""
    return count * (count + 1) * (2 * count + 1) / 6
