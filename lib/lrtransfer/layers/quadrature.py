"""Averages over the eigenvalues of a Haar orthogonal matrix, with an error that is controlled and reported.

A test loss of the two-layer network is a sum over the eigenvalues z = exp(i theta) of one Haar orthogonal
matrix Q of size h. For a function f(z) that is even in theta,

    E (1/h) sum_z f(z) = [ (h - 1) mean_theta f + (f(1) + f(-1)) / 2 ] / h,

for every h >= 2 and every f: the densities of the two halves of O(h), determinant +1 and -1, add up to a flat
one and two half atoms at z = 1 and z = -1. Equivalently E tr Q^k is 1 for even k >= 2 and 0 for odd k.

The atoms are put in exactly. That matters at z = -1, where f grows a spike whose width falls like exp(-t): a
point exp(i pi) rounded to floating point leaves the saddle it should stay on. Angles are therefore measured
from there, theta = pi - s, so that a small s keeps its relative precision.

Two rules compute the flat part on half the circle:

* up to ``EXACT_STEPS`` steps f is a trigonometric polynomial of degree 2 * 3^(t - 1). The trapezoid rule with
  N intervals on [0, pi] is exact once 2 N exceeds the degree; N is doubled until two rules agree or that
  point is reached;
* later, Gauss-Kronrod panels graded geometrically towards s = 0 and bisected where their error is too large.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from lrtransfer.numerics.arrays import Array, Complex, Indices

#: f(index, z): the values of problems ``index`` (m,) at z, (m or 1, nodes), as (rows, m, nodes)
Integrand = Callable[[Indices, Complex], Array]

EXACT_STEPS = 8
TOLERANCE = 1e-8  # asked of each rule, relative to the average of |f|
PROMISE = 1e-6  # what a result must meet; a larger error warns
_POINTS = 4096  # nodes evaluated at once: their arrays stay in a core's cache
MAX_NODES = 30_000  # per problem, graded rule
_RATIO = 4.0  # geometric grading of the first panels

# The 7-point Gauss, 15-point Kronrod pair on [-1, 1]: positive half of the symmetric rule, outermost first.
_X = (0.9914553711208126, 0.9491079123427585, 0.8648644233597691, 0.7415311855993945,
      0.5860872354676911, 0.4058451513773972, 0.2077849550078985, 0.0)  # fmt: skip
_K = (0.0229353220105292, 0.0630920926299786, 0.1047900103222502, 0.1406532597159259,
      0.1690047266392679, 0.1903505780647854, 0.2044329400752989, 0.2094821410847278)  # fmt: skip
_G = (0.0, 0.1294849661688697, 0.0, 0.2797053914892767, 0.0, 0.3818300505051189, 0.0, 0.4179591836734694)
_NODES = np.array([-x for x in _X] + list(_X[-2::-1]))
_KRONROD = np.array(_K + _K[-2::-1])
_GAUSS = np.array(_G + _G[-2::-1])


class QuadratureWarning(UserWarning):
    """The error of an average over the circle is above 1e-6; the result carries its estimate."""


@dataclass(frozen=True)
class CircleMean:
    """An average over the circle: the value, an estimate of its error, and what it took.

    value, error: same shape; error is absolute, 0 where the value is not finite
    scale: the average of |f|, to which the error is to be compared (equal to value for a loss)
    nodes: nodes on the half circle, one number a problem
    """

    value: Array
    error: Array
    scale: Array
    nodes: Indices


def _unit(s: Array) -> Complex:
    """The points z = exp(i (pi - s)), exact at s = 0 and s = pi."""
    z = np.empty(s.shape, dtype=complex)
    z.real = -np.cos(s)
    z.imag = np.where(s == np.pi, 0.0, np.sin(s))
    return z


def _finite(values: Array) -> Array:
    """An overflow shows up as inf, or as nan once infs have met; both mean inf."""
    return np.where(np.isfinite(values), values, np.inf)


def _rounding(scale: Array) -> Array:
    """Floor of the error: |e|^2 with e known to a few 1e-15, so losses below 1e-18 are no longer 1e-6 exact.

    The relative part covers powers of degree 2 * 3^7: where the loss is huge its rounding is 3e-13
    (measured).
    """
    return 1e-12 * scale + 5e-15 * np.sqrt(scale) + 1e-27


def haar_mean(f: Integrand, problems: int, h: int, steps: int, width: Array) -> CircleMean:
    """E (1/h) sum_z f(z) for each of ``problems`` functions with ``rows`` components each.

        [ (h - 1) mean_theta f + (f(1) + f(-1)) / 2 ] / h

    Parameters
    ----------
    f
        An ``Integrand``, even in theta.
    problems
        How many.
    h
        Width, >= 2.
    steps
        >= 0, f being of degree 2 * 3^(steps - 1) or less where that is used, up to ``EXACT_STEPS``.
    width
        Shape (problems,): where the grading towards z = -1 may stop, in radians; used above ``EXACT_STEPS`` only.

    Returns
    -------
    CircleMean
        a ``CircleMean`` of shapes (rows, problems); components of very different size are each held to the tolerance,
        and a ``QuadratureWarning`` says where an error stays above 1e-6. Its callers check the arguments.

    Source: the module's docstring.
    """
    with np.errstate(all="ignore"):
        index = np.arange(problems)
        atoms = _finite(f(index, np.array([[-1.0 + 0j, 1.0 + 0j]])))  # (rows, problems, 2)
        rule = _trapezoid if steps <= EXACT_STEPS else _graded
        flat, error, scale, nodes = rule(f, atoms, h, steps, width)
        value = ((h - 1) * flat + atoms.mean(axis=2)) / h
        error *= (h - 1) / h
        scale = ((h - 1) * scale + np.abs(atoms).mean(axis=2)) / h
        floor = _rounding(scale)
        missed = np.isfinite(value) & (error > PROMISE * scale + floor)
        error = np.where(np.isfinite(value), error + floor, 0.0)
    if missed.any():
        worst = float((error[missed] / scale[missed]).max())
        message = f"relative error up to {worst:.1e} after {int(nodes.max())} angles: the modes do not settle."
        warnings.warn(message, QuadratureWarning, stacklevel=4)
    return CircleMean(value, error, scale, nodes)


def _sample(f: Integrand, index: Indices, s: Array) -> tuple[Array, Array]:
    """Sums of f and of |f| over the common angles s (nodes,), for problems ``index``: (rows, m) each."""
    z = _unit(s)
    block = max(1, _POINTS // min(s.size, _POINTS))
    pieces = []
    for start in range(0, index.size, block):
        part = index[start : start + block]
        total = size = np.zeros(())
        for first in range(0, s.size, _POINTS):
            values = _finite(f(part, z[None, first : first + _POINTS]))
            total, size = total + values.sum(axis=2), size + np.abs(values).sum(axis=2)
        pieces.append((total, size))
    return np.concatenate([p[0] for p in pieces], axis=1), np.concatenate([p[1] for p in pieces], axis=1)


def _trapezoid(f: Integrand, atoms: Array, h: int, steps: int, width: Array) -> tuple[Array, Array, Array, Indices]:
    """Mean over theta by nested trapezoid rules: doubled until two agree, or until exact."""
    exact = 3 ** max(steps - 1, 0) + 1  # intervals on [0, pi] that integrate degree 2 * 3^(t - 1)
    n = exact
    while n > 20:
        n = (n + 1) // 2
    ends, end_size = atoms.mean(axis=2), np.abs(atoms).mean(axis=2)
    live = np.flatnonzero(np.isfinite(ends).any(axis=0))  # a problem that overflows at an atom needs no nodes
    flat, scale, error = ends.copy(), end_size.copy(), np.zeros_like(ends)
    nodes = np.full(ends.shape[1], 2, dtype=np.intp)
    inner, inner_size = _sample(f, live, np.pi * np.arange(1, n) / n) if live.size else (ends[:, live],) * 2
    total, size = inner + ends[:, live], inner_size + end_size[:, live]
    while live.size:
        flat[:, live], scale[:, live], nodes[live] = total / n, size / n, n + 1
        if n >= exact:
            error[:, live] = 0.0  # the rule is exact: what is left is rounding
            break
        middle, middle_size = _sample(f, live, np.pi * (np.arange(n) + 0.5) / n)
        gap = np.abs(total - middle) / n
        total, size, n = total + middle, size + middle_size, 2 * n
        flat[:, live], scale[:, live], nodes[live] = total / n, size / n, n + 1
        error[:, live] = gap / 2
        keep = (gap > TOLERANCE * size / n + _rounding(size / n)).any(
            axis=0
        )  # a nan gap (inf - inf) is settled: the value is inf
        live, total, size = live[keep], total[:, keep], size[:, keep]
    return flat, error, scale, nodes


def _graded(f: Integrand, atoms: Array, h: int, steps: int, width: Array) -> tuple[Array, Array, Array, Indices]:
    """Mean over theta by Gauss-Kronrod panels in s = pi - theta, graded towards s = 0."""
    rows, problems, _ = atoms.shape
    count = np.ceil(np.log(np.pi / np.clip(width, None, 1.0)) / np.log(_RATIO)).astype(int)
    item = np.repeat(np.arange(problems), count + 1)
    rank = np.concatenate([np.arange(0), *(np.arange(c + 1) for c in count)])  # 0 is the outermost panel
    hi = np.pi * _RATIO ** -rank.astype(float)
    lo = np.where(rank == count[item], 0.0, hi / _RATIO)
    atom_size = np.abs(atoms).mean(axis=2)
    flat, error, scale = (np.zeros((rows, problems)) for _ in range(3))
    nodes = np.zeros(problems, dtype=np.intp)
    while item.size:
        mean, gap, size = _panels(f, item, lo, hi)
        np.add.at(nodes, item, _NODES.size)
        pending = np.zeros((rows, problems))
        np.add.at(pending.T, item, size.T)
        whole = (scale + pending) + atom_size / max(h - 1, 1)
        share = (TOLERANCE * whole + _rounding(whole)) / np.bincount(item, minlength=problems)
        split = (gap > share[:, item]).any(axis=0) & (nodes[item] < MAX_NODES)
        done = ~split
        for target, part in ((flat, mean), (error, gap), (scale, size)):
            np.add.at(target.T, item[done], part[:, done].T)
        middle = (lo[split] + hi[split]) / 2
        lo, hi = np.concatenate([lo[split], middle]), np.concatenate([middle, hi[split]])
        item = np.tile(item[split], 2)
    return flat, error, scale, nodes


def _panels(f: Integrand, item: Indices, lo: Array, hi: Array) -> tuple[Array, Array, Array]:
    """Each panel's part of the mean over theta, its error, and the part of |f|: (rows, panels) each."""
    pieces = []
    block = _POINTS // _NODES.size
    for start in range(0, item.size, block):
        part = slice(start, start + block)
        half = (hi[part] - lo[part]) / 2
        s = lo[part, None] + half[:, None] * (1 + _NODES)
        values = _finite(f(item[part], _unit(s)))
        kronrod, gauss = values @ _KRONROD, values @ _GAUSS
        size = np.abs(values) @ _KRONROD
        gap = np.abs(kronrod - gauss)
        # the pair's difference measures the Gauss rule; this power law is the usual estimate for Kronrod's
        gap = np.where(gap > 0, size * np.minimum(1.0, (200 * gap / size) ** 1.5), 0.0)
        weight = half / np.pi
        pieces.append((kronrod * weight, gap * weight, size * weight))
    mean, error, size = (np.concatenate([piece[k] for piece in pieces], axis=1) for k in range(3))
    return mean, error, size
