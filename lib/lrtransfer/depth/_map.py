"""The gradient-descent map of equal layers, as one array program over any mix of depths, rates and data.

The cost of a step is its power phi^(L - 1). ``numpy.power`` falls back to scalar code at a negative, infinite
or NaN base, which is what a diverging run is made of, so the power is taken here by repeated squaring: plain
products run at full speed on every value.
"""

from __future__ import annotations

from itertools import groupby, pairwise

import numpy as np
from numpy.typing import NDArray

from lrtransfer import _check

Floats = NDArray[np.float64]
ARCHITECTURES = ("chain", "residual1", "residual2")
LARGEST_DEPTH = 2**53  # whole numbers beyond it are not all floats, so the power's parity would be a guess
_MANY_RUNS = 64  # with more runs of equal depth than this, a masked product costs less than one call a run


class WholePower:
    """``base ** exponent`` for flat arrays, planned once for its exponents and then applied step after step.

    Binary powering from the highest bit: an entry starts as the base at its own highest bit, is squared at
    every lower bit, and takes the base as a factor where that bit is set. Neighbours that do the same share
    one product on a slice. The caller fills ``base`` and calls; the answer is a buffer that the next call
    overwrites.
    """

    def __init__(self, exponent: NDArray[np.int64]) -> None:
        self.base = np.empty(exponent.shape)
        self._out = np.empty(exponent.shape)
        self._products: list[tuple[Floats, Floats]] = []
        self._masked: list[tuple[Floats, NDArray[np.bool_]]] = []
        self._ones: NDArray[np.bool_] | None = exponent == 0 if (exponent == 0).any() else None
        edges = [0, *(np.flatnonzero(exponent[1:] != exponent[:-1]) + 1).tolist(), exponent.size]
        runs = [] if len(edges) > _MANY_RUNS else [(int(exponent[a]), a, b) for a, b in pairwise(edges) if b > a]
        for bit in reversed(range(int(exponent.max(initial=0)).bit_length() - 1)):
            if runs:
                self._plan(self._out, [(e >> bit + 1 > 0, a, b) for e, a, b in runs])
                self._plan(self.base, [(e >> bit + 1 > 0 and e >> bit & 1 > 0, a, b) for e, a, b in runs])
            else:
                started = exponent >> bit + 1 > 0
                self._masked.append((self._out, started))
                self._masked.append((self.base, started & (exponent >> bit & 1 > 0)))

    def _plan(self, factor: Floats, runs: list[tuple[bool, int, int]]) -> None:
        """Note one product of the result by ``factor`` for each stretch of neighbouring runs that take it."""
        for taken, stretch in groupby(runs, key=lambda run: run[0]):
            parts = list(stretch)
            if taken:
                part = slice(parts[0][1], parts[-1][2])
                self._products.append((self._out[part], factor[part]))

    def __call__(self) -> Floats:
        """The powers of ``base``."""
        out, multiply = self._out, np.multiply
        np.copyto(out, self.base)
        for part, factor in self._products:
            multiply(part, factor, part)
        for factor, mask in self._masked:
            multiply(out, factor, out, where=mask)
        if self._ones is not None:
            np.copyto(out, 1.0, where=self._ones)
        return out


class LayerMap:
    """One gradient step of the per-layer variable, for flat arrays of equal length.

    The variable is phi, with a = phi^L the total weight, for the chain (phi = w) and for block one
    (phi = 1 + w/sqrt(L)), which is the chain at rate lr / L; it is w itself for block two (phi = 1 + w^2/L):

        phi <- phi + rate (mu_yx - mu_xx phi^L) phi^(L-1)
        w   <- w + (2 lr / L) (mu_yx - mu_xx phi^L) phi^(L-1) w

    ``variable`` holds the current iterate: fill it, then call ``step``.
    """

    def __init__(self, depth: Floats, lr: Floats, mu_yx: Floats, mu_xx: Floats, arch: str) -> None:
        rate = {"chain": lr, "residual1": lr / depth, "residual2": 2.0 * lr / depth}[arch]
        self._pull, self._push = rate * mu_yx, rate * mu_xx
        self._power = WholePower(depth.astype(np.int64) - 1)
        self._term = np.empty(depth.shape)
        self._block_two = arch == "residual2"
        self._inverse_depth = 1.0 / depth
        self.variable = np.empty(depth.shape) if self._block_two else self._power.base

    def step(self) -> None:
        """Replace ``variable`` by its next iterate.

        A diverged entry turns infinite and then NaN, and never becomes finite again; call under
        ``numpy.errstate(all="ignore")`` and clean up once at the end with ``settle``.
        """
        variable, phi, term = self.variable, self._power.base, self._term
        if self._block_two:
            np.multiply(variable, variable, phi)
            np.multiply(phi, self._inverse_depth, phi)
            np.add(phi, 1.0, phi)
        power = self._power()
        np.multiply(phi, power, term)
        np.multiply(term, self._push, term)
        np.subtract(self._pull, term, term)
        np.multiply(term, power, term)
        if self._block_two:
            np.multiply(term, variable, term)
        np.add(variable, term, variable)


def settle(values: Floats) -> None:
    """In place, in an array with steps first: whatever is not finite has diverged and becomes ``inf``."""
    bad = ~np.isfinite(values[-1])
    if bad.any():  # divergence is for ever, so the last step shows every entry that needs care
        columns = values[:, bad]
        columns[~np.isfinite(columns)] = np.inf
        values[:, bad] = columns


def check_depth(depth: object, name: str = "depth") -> Floats:
    """A finite whole depth that the power by squaring can take."""
    array = _check.integer(name, depth)  # type: ignore[arg-type]
    if (array > LARGEST_DEPTH).any():
        raise _check.refuse(name, array.max(), f"a whole number from 1 to 2**53 = {LARGEST_DEPTH}")
    return array


def check_r(r: object, arch: str, name: str = "r") -> Floats:
    """The ratio mu_yx / mu_xx: positive, and above 1 for block two, whose total weight is never below 1."""
    array = _check.positive(name, r)  # type: ignore[arg-type]
    if arch == "residual2" and (array <= 1).any():
        raise _check.refuse(name, array.min(), "above 1 for residual2, whose total weight is never below 1")
    return array


def check_arch(arch: object) -> str:
    """One of the paper's three networks."""
    return _check.choice("arch", arch, ARCHITECTURES)
