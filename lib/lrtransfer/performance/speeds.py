"""What one core does at most, measured beside what is compared to it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass

import numpy as np

TIMES = 5  # each probe is repeated, and the fastest counts: nothing runs faster than the machine


@dataclass(frozen=True)
class Speeds:
    """What one core does in a second, at most.

    Attributes
    ----------
    product64, product32
        multiplications (each with its addition) in products of large matrices, double and single precision
    entries
        multiplications of two arrays that lie in the cache, entry by entry, double precision
    bytes
        read or written in copying an array that is far larger than the cache
    normals
        normal random numbers drawn
    calls
        calls of NumPy on arrays of one entry
    """

    product64: float
    product32: float
    entries: float
    bytes: float
    normals: float
    calls: float


@dataclass(frozen=True)
class Work:
    """What a computation must do at least; the fields are those of ``Speeds``, each in its unit.

    Attributes
    ----------
    product64, product32, entries, normals
        how many multiplications of each kind, and normal numbers
    bytes
        read or written in memory beyond the cache
    """

    product64: float = 0.0
    product32: float = 0.0
    entries: float = 0.0
    normals: float = 0.0
    bytes: float = 0.0

    def seconds(self, speeds: Speeds) -> float:
        """The least time in seconds: the arithmetic, one kind after the other, or the memory if that is slower.

        Parameters
        ----------
        speeds
            of the core

        Returns
        -------
        float
        """
        kinds = ("product64", "product32", "entries", "normals")
        arithmetic = sum(getattr(self, kind) / getattr(speeds, kind) for kind in kinds)
        return max(arithmetic, self.bytes / speeds.bytes)

    @property
    def bound(self) -> str:
        """The word for the kind of work of which there is any most: not a measurement."""
        return max(asdict(self), key=lambda kind: getattr(self, kind))


@contextmanager
def one_thread() -> Iterator[None]:
    """One thread for NumPy and torch while the block runs, whatever the environment says."""
    import torch
    from threadpoolctl import threadpool_limits

    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with threadpool_limits(1):
            yield
    finally:
        torch.set_num_threads(before)


def seconds_of(function: Callable[[], object]) -> float:
    """Seconds that one call of a function takes."""
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def fastest(function: Callable[[], object], times: int = TIMES) -> float:
    """Seconds of the fastest of some calls."""
    return min(seconds_of(function) for _ in range(times))


def quickest(function: Callable[[], object], within: float = 0.5) -> float:
    """Seconds of the fastest of three calls, or of those that fit into about ``within`` seconds."""
    spent = [seconds_of(function)]
    while len(spent) < 3 and sum(spent) < within:
        spent.append(seconds_of(function))
    return min(spent)


def measured(size: int = 1024) -> Speeds:
    """The speeds of this core now, about a second.

    Parameters
    ----------
    size
        of the matrices; smaller for tests

    Returns
    -------
    Speeds
    """
    rng = np.random.default_rng(0)
    wide = rng.standard_normal((size, size))
    single, out64 = wide.astype(np.float32), np.empty_like(wide)
    out32 = np.empty_like(single)
    short, one = np.ones(4096), np.ones(1)
    big = np.ones(max(size * size * 16, 4096))  # 128 MiB at the usual size

    def entries() -> None:
        for _ in range(200):
            np.multiply(short, short, short)

    def calls() -> None:
        for _ in range(2000):
            np.multiply(one, one, one)

    target = np.empty_like(big)
    return Speeds(
        product64=size**3 / fastest(lambda: np.matmul(wide, wide, out64)),
        product32=size**3 / fastest(lambda: np.matmul(single, single, out32)),
        entries=200 * short.size / fastest(entries),
        bytes=2 * big.nbytes / fastest(lambda: np.copyto(target, big)),
        normals=size * size / fastest(lambda: rng.standard_normal(out=out64)),
        calls=2000 / fastest(calls),
    )


def slower(size: int = 20, number: int = 32) -> dict[str, float]:
    """How many times longer some calls of NumPy take than their multiplications at the speed of the core.

    Parameters
    ----------
    size, number
        of matrices that are inverted in one call

    Returns
    -------
    dict of str to float
        "complex": products of complex arrays in the cache, four multiplications each; "inverse": inverses of small
        matrices, ``size`` cubed multiplications each; "product": products of such matrices.
    """
    speeds, rng = measured(), np.random.default_rng(0)
    short, many = np.full(2048, 1j), rng.standard_normal((number, size, size)) + 10 * np.eye(size)

    def products() -> None:
        for _ in range(200):
            np.multiply(short, short, short)

    cubes = number * size**3 / speeds.product64
    return {
        "complex": fastest(products) / (200 * 4 * short.size / speeds.entries),
        "inverse": fastest(lambda: np.linalg.inv(many), 50) / cubes,
        "product": fastest(lambda: many @ many, 50) / cubes,
    }
