"""Teachers and covariances of a given condition number and distance, by seed."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.random import haar_orthogonal


def problem(kappa: ArrayLike, sigma: ArrayLike, d: int = 20, seed: ArrayLike = 0) -> tuple[Array, Array]:
    """Teacher and covariance of the synthetic experiments.

        W* = I + sigma S,   S = A A' / its largest eigenvalue;   Sigma = Q diag(1/kappa .. 1) Q'

    with A standard normal, Q Haar orthogonal and d eigenvalues in geometric progression. All arguments but ``d``
    broadcast.

    Parameters
    ----------
    kappa
        condition number of Sigma, at least 1
    sigma
        distance of the teacher from the identity, not negative
    d
        size of the matrices, at least 2
    seed
        whole number; equal seeds share S and Q whatever kappa and sigma are

    Returns
    -------
    teacher, covariance : ndarray
        (..., d, d) each.

    Raises
    ------
    ValueError
        for an argument outside these ranges.

    References
    ----------
    Sec. 4.2; the paper fixes neither Sigma's law nor S's, these are this book's.
    """
    k, s = arguments.finite("kappa", kappa, minimum=1.0), arguments.finite("sigma", sigma, minimum=0.0)
    seeds, d = arguments.integer("seed", seed, minimum=0), arguments.count("d", d, minimum=2)
    shape = arguments.broadcast(kappa=k, sigma=s, seed=seeds)
    unique, which = np.unique(seeds, return_inverse=True)
    draws = [_draw(int(one), d) for one in unique]
    spread = np.stack([draw[0] for draw in draws])[which.reshape(seeds.shape)]  # (..., d, d)
    basis = np.stack([draw[1] for draw in draws])[which.reshape(seeds.shape)]
    spectrum = np.exp(np.log(k)[..., None] * np.linspace(-1.0, 0.0, d))  # (..., d)
    covariance = (basis * spectrum[..., None, :]) @ np.swapaxes(basis, -1, -2)
    covariance = (covariance + np.swapaxes(covariance, -1, -2)) / 2
    return (np.broadcast_to(np.eye(d) + s[..., None, None] * spread, (*shape, d, d)).copy(),
            np.broadcast_to(covariance, (*shape, d, d)).copy())  # fmt: skip


def _draw(seed: int, d: int) -> tuple[Array, Array]:
    generator = np.random.default_rng(seed)
    a = generator.standard_normal((d, d))
    square = a @ a.T
    return square / np.linalg.eigvalsh(square)[-1], haar_orthogonal(d, generator)
