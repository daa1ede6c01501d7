"""The gradient-descent map of equal layers, as one array program over any mix of depths, rates and data.

The cost of a step is its power phi^(L - 1). ``numpy.power`` falls back to scalar code at a negative, infinite
or NaN base, which is what a diverging run is made of, so the power is taken here by repeated squaring: plain
products run at full speed on every value. With the few thousand runs of a figure a good part of a product's
time is the call itself, so a step is written in few calls.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array

ARCHITECTURES = ("chain", "residual1", "residual2")
LARGEST_DEPTH = 2**53  # whole numbers beyond it are not all floats, so the power's parity would be a guess
_MANY_RUNS = 64  # with more runs of equal depth than this, a masked product costs less than one call a run
_TINY = 1e-100  # a smaller phi may underflow in phi^L though it still grows at a rate that phi^(L - 1) sets


def aligned(*shape: int) -> Array:
    """An uninitialised array that starts on a cache line, where products of three arrays take about a third less."""
    size = math.prod(shape)
    room = np.empty(size + 7)
    start = -(room.__array_interface__["data"][0] // 8) % 8
    return room[start : start + size].reshape(shape)


class WholePower:
    """``base ** exponent`` for flat arrays, planned once for its exponents and then applied step after step.

    Binary powering from the highest bit: an entry starts as the base, and at every lower bit of its exponent
    it is squared and, where that bit is set, takes the base as a factor. All entries start together, so the
    first square reads the base and needs no copy of it. Neighbours that do the same share one product.

    A call takes the base and returns a buffer, which the next call overwrites.

    Parameters
    ----------
    exponent
        whole numbers, each standing for ``block`` neighbouring entries of the base
    """

    def __init__(self, exponent: NDArray[np.int64], block: int = 1) -> None:
        self._out = aligned(exponent.size * block)
        least = int(exponent.min(initial=2))
        self._squares_all = least >= 2
        self._ones = np.repeat(exponent == 0, block) if least == 0 else None
        # A plan entry: what is multiplied, by which part of the base (None: by itself), under which mask
        self._slices: list[tuple[Array, slice | None]] = []
        self._masks: list[tuple[NDArray[np.bool_], bool]] = []
        edges = [0, *(np.flatnonzero(exponent[1:] != exponent[:-1]) + 1).tolist(), exponent.size]
        runs = [(int(exponent[a]), a * block, b * block) for a, b in pairwise(edges) if b > a]
        if len(runs) <= _MANY_RUNS:
            self._plan_slices(runs)
        else:
            self._plan_masks(np.repeat(exponent, block))

    def _plan_slices(self, runs: list[tuple[int, int, int]]) -> None:
        lower = [e.bit_length() - 1 for e, _, _ in runs]  # bits below the highest: one square for each
        uneven = any(e & (e - 1) for e, _, _ in runs)  # powers of two are squares alone
        for stage in range(max(lower, default=0)):
            if stage or not self._squares_all:
                squared = [stage < bits for bits in lower]
                self._slices += [(self._out[part], None) for part in _stretches(squared, runs)]
            if uneven:
                times = [
                    stage < bits and e >> bits - 1 - stage & 1 > 0 for bits, (e, _, _) in zip(lower, runs, strict=True)
                ]
                self._slices += [(self._out[part], part) for part in _stretches(times, runs)]

    def _plan_masks(self, exponent: NDArray[np.int64]) -> None:
        lower = np.frexp(exponent.astype(np.float64))[1] - 1
        for stage in range(int(lower.max())):
            squared = stage < lower
            if stage or not self._squares_all:
                self._masks.append((squared, True))
            self._masks.append((squared & (exponent >> np.maximum(lower - 1 - stage, 0) & 1 > 0), False))

    def __call__(self, base: Array) -> Array:
        """The powers of ``base``."""
        out, square, multiply = self._out, np.square, np.multiply
        if self._squares_all:
            square(base, out)
        else:
            np.copyto(out, base)
        for part, factor in self._slices:
            if factor is None:
                square(part, part)
            else:
                multiply(part, base[factor], part)
        for mask, itself in self._masks:
            multiply(out, out if itself else base, out, where=mask)
        if self._ones is not None:
            np.copyto(out, 1.0, where=self._ones)
        return out


def _stretches(taken: list[bool], runs: list[tuple[int, int, int]]) -> list[slice]:
    """The longest slices of neighbouring runs that are all taken."""
    stretches: list[slice] = []
    for take, (_, start, stop) in zip(taken, runs, strict=True):
        if take and stretches and stretches[-1].stop == start:
            stretches[-1] = slice(stretches[-1].start, stop)
        elif take:
            stretches.append(slice(start, stop))
    return stretches


class LayerMap:
    """One gradient step of the per-layer variable, for a flat array of runs.

    The variable is phi, with a = phi^L the total weight, for the chain (phi = w) and for block one
    (phi = 1 + w/sqrt(L)), which is the chain at rate lr / L; it is w itself for block two (phi = 1 + w^2/L):

        phi <- phi + rate (mu_yx - mu_xx phi^L) phi^(L-1)
        w   <- w + (2 lr / L) (mu_yx - mu_xx phi^L) phi^(L-1) w

    ``variable`` holds the current iterate, flat: fill it, then call ``step``.

    Parameters
    ----------
    depth
        L, shape (runs,); or shape (depths, 1), each for the runs in its row of ``lr``
    lr
        shape (runs,) or (depths, runs of one depth)
    mu_yx, mu_xx
        broadcast with ``lr``
    divide
        take phi^(L-1) as phi^L / phi, in fewer calls than phi^L as phi^(L-1) phi. The price is NaN in the step after
        phi = 0, where several layers rest: ``settle`` restores it
    """

    def __init__(self, depth: Array, lr: Array, mu_yx: Array, mu_xx: Array, arch: str, *, divide: bool = False) -> None:
        rate = lr if arch == "chain" else (1.0 if arch == "residual1" else 2.0) * lr / depth
        self._pull = np.multiply(rate, mu_yx, aligned(*lr.shape)).ravel()
        self._push = np.multiply(rate, mu_xx, aligned(*lr.shape)).ravel()
        runs, layers = lr.size, depth.ravel().astype(np.int64)
        block = runs // max(layers.size, 1)
        self._divide = divide
        self._power = WholePower(layers if divide else layers - 1, block)
        self._single = np.repeat(layers == 1, block) if divide and layers.min(initial=2) == 1 else None
        self._buffer = aligned(runs)
        self._block_two = arch == "residual2"
        if self._block_two:
            self._phi = aligned(runs)
            self._inverse_depth = np.repeat(1.0 / depth.ravel(), block)
        self.variable = aligned(runs)

    def step(self, out: Array | None = None) -> None:
        """Replace ``variable`` by its next iterate: in place, or by ``out`` with the iterate written there.

        A diverged entry turns infinite and then NaN, and never becomes finite again; call under
        ``numpy.errstate(all="ignore")`` and clean up once at the end with ``settle``.
        """
        phi = variable = self.variable
        if self._block_two:
            phi = self._phi
            np.multiply(variable, variable, phi)
            np.multiply(phi, self._inverse_depth, phi)
            np.add(phi, 1.0, phi)
        if self._divide:
            total, slope = self._power(phi), self._buffer
            np.divide(total, phi, slope)
            if self._single is not None:  # phi / phi, also at phi = 0, which one layer may cross
                np.copyto(slope, 1.0, where=self._single)
        else:
            slope, total = self._power(phi), self._buffer
            np.multiply(phi, slope, total)
        term = total
        np.multiply(total, self._push, term)
        np.subtract(self._pull, term, term)
        np.multiply(term, slope, term)
        if self._block_two:
            np.multiply(term, variable, term)
        self.variable = variable if out is None else out
        np.add(variable, term, self.variable)


def may_divide(phi: Array) -> bool:
    """Whether runs from these phi keep phi^L / phi accurate: none starts so near 0 that phi^L underflows.

    Later iterates need no look: each is a difference of ordinary numbers, so it is 0 or not tiny.
    """
    size = np.abs(phi)
    return not bool(((size < _TINY) & (size > 0.0)).any())


def settle(values: Array) -> None:
    """In place, in an array with steps first: what is not finite has diverged and becomes ``inf``.

    NaN straight after an exact 0 is 0 / 0 from ``LayerMap(divide=True)``: that run rests at 0.
    """
    bad = ~np.isfinite(values[-1])
    if bad.any():  # divergence is for ever, so the last step shows every entry that needs care
        columns = values[:, bad]
        gone = ~np.isfinite(columns)
        first, each = gone.argmax(axis=0), np.arange(gone.shape[1])
        rests = np.isnan(columns[first, each]) & (columns[first - 1, each] == 0.0)
        values[:, bad] = np.where(gone, np.where(rests, 0.0, np.inf), columns)


def check_depth(depth: object, name: str = "depth") -> Array:
    """Finite whole depths that the power by squaring can take, from 1 to 2^53; ValueError naming ``name``."""
    array = arguments.integer(name, depth)  # type: ignore[arg-type]
    if (array > LARGEST_DEPTH).any():
        raise arguments.refuse(name, array.max(), f"a whole number from 1 to 2**53 = {LARGEST_DEPTH}")
    return array


def check_r(r: object, arch: str, name: str = "r") -> Array:
    """The ratio mu_yx / mu_xx: positive, and above 1 for block two, whose total weight is never below 1."""
    array = arguments.positive(name, r)  # type: ignore[arg-type]
    if arch == "residual2" and (array <= 1).any():
        raise arguments.refuse(name, array.min(), "above 1 for residual2, whose total weight is never below 1")
    return array


def check_init(init: object, arch: str) -> Array:
    """A start: w(0)^L, not negative, for the chain, and w(0) for the residual networks."""
    return arguments.finite("init", init, minimum=0.0 if arch == "chain" else None)  # type: ignore[arg-type]


def check_arch(arch: object) -> str:
    """One of the paper's three networks."""
    return arguments.choice("arch", arch, ARCHITECTURES)


def check_data(mu_yx: object, mu_xx: object, arch: str) -> tuple[Array, Array, Array]:
    """The data moments, positive, that broadcast, and their ratio r, in the range of ``check_r``."""
    yx, xx = arguments.positive("mu_yx", mu_yx), arguments.positive("mu_xx", mu_xx)  # type: ignore[arg-type]
    arguments.broadcast(mu_yx=yx, mu_xx=xx)
    with np.errstate(over="ignore"):  # the ratio is checked: infinite is refused
        r = yx / xx
    return yx, xx, check_r(r, arch, "mu_yx / mu_xx")
