"""Random draws by name: a stream for every purpose of a seed, and orthogonal matrices."""

from __future__ import annotations

import numpy as np

from lrtransfer.numerics.arrays import Array


def stream(seed: int, *key: int) -> np.random.Generator:
    """Random numbers of one seed for one purpose; purposes do not disturb each other.

    Equal seeds and keys give equal draws, whatever else was drawn. Its callers check the arguments.

    Parameters
    ----------
    seed
        whole number, not negative
    *key
        whole numbers that name the purpose

    Returns
    -------
    numpy.random.Generator
        at the beginning of that stream.
    """
    return np.random.default_rng(np.random.SeedSequence(seed, spawn_key=key))


def haar_orthogonal(h: int, generator: np.random.Generator, count: int | None = None) -> Array:
    """An orthogonal matrix with the Haar distribution: QR of a Gaussian matrix, the signs of R's diagonal fixed.

    Parameters
    ----------
    h
        size of the matrix; the callers check the arguments
    generator
        what it is drawn from
    count
        how many matrices; one, without an axis for it, by default

    Returns
    -------
    ndarray
        (h, h), or with a ``count`` a stack (count, h, h), the same matrices as that many single calls give.

    References
    ----------
    Mezzadri, Notices of the AMS 54 (2007) 592.
    """
    shape = (h, h) if count is None else (count, h, h)
    q, r = np.linalg.qr(generator.standard_normal(shape))
    return q * np.sign(np.diagonal(r, axis1=-2, axis2=-1))[..., None, :]
