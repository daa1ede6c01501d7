r"""Two engines for the linear residual network at infinite width: block by block, and continuous in layer time.

At infinite width the residual stream h and its gradient g are Gaussian processes in the training time t, one
pair a layer. Cut the network at layer l. What the layers below contribute to h, and those above to g, is

    h = R g + n,      g = T h + m,      n and m independent Gaussians, R and T strictly lower in time,

because a change of h at time t comes from gradients at earlier times. Solving the pair,

    h = Q n + X m,    Q = 1 + R Y,    X = R Z        H = <h h'> = Q <nn'> Q' + X <mm'> X'
    g = Z m + Y n,    Z = 1 + T X,    Y = T Q        G = <g g'> = Z <mm'> Z' + Y <nn'> Y'

X is the response of h to the gradient's noise and Y that of g to the stream's: the A and B of the theory are
X and Y times the branch multiplier beta. One block moves the cut (c_s = lr gamma_0 Delta_s):

    h <- h + beta u + D g^{l+1},   D = beta^2 (X + H c)      g <- g + beta r + C h^l,   C = beta^2 (Y + G^{l+1} c)

with u ~ GP(0, H), r ~ GP(0, G^{l+1}); eliminating g, with V = (1 - R C)^-1 R and M = (1 - R C)^-1,

    R^{l+1} = V + D,    <nn'>^{l+1} = M <nn'> M' + beta^2 V G^{l+1} V' + beta^2 H,    and the mirror image for T, m.

Every row t needs earlier rows only, so one sweep up and one sweep down a training step is exact. At beta^2 =
1/L and L -> infinity the blocks become

    dR/dtau = R C R + D,    d<nn'>/dtau = R C <nn'> + <nn'> (R C)' + R G R' + H,     D = X + H c,  C = Y + G c,

which is linear in the row t: it is solved at Chebyshev nodes by Picard iteration, whose error falls faster
than any power, in the iterations and in the nodes alike.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.polynomial import chebyshev
from numpy.typing import NDArray

from lrtransfer.numerics.arrays import Array, Indices

_PICARD = 80  # iterations; convergent runs take 15 to 25
_CONVERGED, _FAILED = 1e-13, 1e-9  # relative change of a row


@dataclass
class _Side:
    """One direction of travel: the stream (R, n) or, mirrored, the gradient (T, m).

    ``points`` layers or nodes, ``runs`` runs, ``n`` times. ``pack`` = [X | A | E]: the response to the other
    side's noise, the factor on the own noise (Q or Z), and the block's coefficient (D or C) where the other
    side meets it. ``noise``: <nn'>. ``cov``: <hh'>.
    """

    points: int
    runs: int
    n: int
    pack: Array = field(init=False)
    noise: Array = field(init=False)
    cov: Array = field(init=False)
    work: Array = field(init=False)

    def __post_init__(self) -> None:
        p, b, n = self.points, self.runs, self.n
        self.pack, self.work = np.zeros((p, b, n, 3 * n)), np.zeros((p, b, n, 2 * n))
        self.noise, self.cov = np.zeros((p, b, n, n)), np.zeros((p, b, n, n))
        self.noise[...] = 1.0  # <w_0 w_0> and <h_0 h_0>; elsewhere it is overwritten row by row


def _row(matrix: Array, t: int, values: Array) -> None:
    """Write row and column t of a symmetric matrix, as far as known."""
    matrix[..., t, : t + 1] = values
    matrix[..., : t + 1, t] = values


def _times(row: Array, matrix: Array) -> Array:
    """Row vectors times matrices, (.., s) (.., s, k) -> (.., k)."""
    return (row[..., None, :] @ matrix)[..., 0, :]


def _meet(r: Array, t: int, own: _Side, other: _Side, at: int | slice) -> tuple[Array, Array, Array]:
    """Row t of the fields at a cut, from row t of R: X (.., t), R C (.., t) and H (.., t + 1)."""
    n, k = own.n, t + 1
    p = _times(r, other.pack[at][..., :t, :])
    q, x, w = p[..., :k].copy(), p[..., n : n + k], p[..., 2 * n : 2 * n + t]
    q[..., t] += 1.0
    own.pack[at][..., t, :k] = x
    own.pack[at][..., t, n : n + k] = q
    noise, factor = own.noise[at][..., :k, :k], own.pack[at]
    h = _times(_times(q, noise), factor[..., :k, n : n + k].swapaxes(-1, -2))
    h += _times(_times(x, other.noise[at][..., :k, :k]), factor[..., :k, :k].swapaxes(-1, -2))
    _row(own.cov[at], t, h)
    return x[..., :t], w, h


def _output(stream: _Side, c: Array, t: int, a: Array) -> Array:
    """f_t / y = <g h> / (gamma_0 y) at the last layer, where g = w_0 + sum_s c_s h_s."""
    x, h = stream.pack[-1, :, t, :t], stream.cov[-1, :, t, :t]
    return (x.sum(axis=-1) + (c[:, :t] * h).sum(axis=-1)) / a


def block_sweep(
    lr: Array, a: Array, depth: int, steps: int, square: float, *, responses: bool = True, kernels: bool = False
) -> tuple[Array, Array, Array]:
    """Output and kernels block by block, at finite depth; costs O(depth steps^3) a run.

    Parameters
    ----------
    lr, a
        base rate and gamma_0 |y|, (runs,) each
    depth, steps
        L and T
    square
        beta^2
    responses
        whether the fields respond to each other's noise, as in ``linear_limit``
    kernels
        whether the last row of G is wanted; it is left out otherwise

    Returns
    -------
    f : ndarray
        f_t / y, (steps + 1, runs)
    H, G : ndarray
        (layers, runs, times, times) each.
    """
    runs, n = lr.size, steps + 1
    stream, gradient = _Side(depth + 1, runs, n), _Side(depth + 1, runs, n)
    c, f, keep = np.zeros((runs, n)), np.full((n, runs), np.inf), float(responses)
    for t in range(n):
        for own, other, route in (
            (stream, gradient, range(depth + 1)),
            (gradient, stream, range(depth, -1, -1)),
        ):
            r = c[:, :t]
            forward = own is stream
            for at, after in zip(route, [*route[1:], None], strict=True):
                x, w, h = _meet(r, t, own, other, at)
                if after is None:
                    break
                step = square * (keep * x + c[:, :t] * h[:, :t])
                own.pack[after][:, t, 2 * n : 2 * n + t] = step
                mv = _times(w, own.work[at][:, :t])
                m, v = mv[:, : t + 1].copy(), mv[:, n : n + t] + r
                m[:, t] += 1.0
                own.work[at][:, t, : t + 1], own.work[at][:, t, n : n + t] = m, v
                noise = _times(_times(m, own.noise[at][:, : t + 1, : t + 1]), _turned(own.work[at], t, 0))
                noise += square * (_times(_times(v, other.cov[after][:, :t, :t]), _turned(own.work[at], t, n)) + h)
                _row(own.noise[after], t, noise)
                r = v + step
            if forward:
                f[t] = _output(stream, c, t, a)
                c[:, t] = lr * a * (1 - f[t])
                if (t == steps and not kernels) or not np.isfinite(f[t]).any():
                    return f, stream.cov, gradient.cov
    return f, stream.cov, gradient.cov


def _turned(work: Array, t: int, first: int) -> Array:
    """Transpose of the left (first = 0, M) or right (first = n, V) half of M | V, times up to t."""
    columns = t + 1 if first == 0 else t
    return work[..., : t + 1, first : first + columns].swapaxes(-1, -2)


def chebyshev_nodes(count: int) -> tuple[Array, Array]:
    """Chebyshev-Lobatto nodes on [0, 1], and integration between them.

    Parameters
    ----------
    count
        of the nodes, two or more

    Returns
    -------
    nodes : ndarray
        (count,), from 0 to 1
    integral : ndarray
        (count, count), from values at the nodes to the integral from 0 to each of them.
    """
    x = -np.cos(np.pi * np.arange(count) / (count - 1))
    series = np.linalg.inv(chebyshev.chebvander(x, count - 1))  # values -> coefficients
    integral = chebyshev.chebvander(x, count) @ chebyshev.chebint(series, lbnd=-1)
    return (x + 1) / 2, integral / 2


def at_layer_times(values: Array, tau: Array) -> Array:
    """The polynomial through values at the Chebyshev nodes, evaluated elsewhere.

    Parameters
    ----------
    values
        (nodes, ..)
    tau
        where, (n,), in [0, 1]

    Returns
    -------
    ndarray
        (n, ..).
    """
    count = values.shape[0]
    x = -np.cos(np.pi * np.arange(count) / (count - 1))
    weights = chebyshev.chebvander(2 * tau - 1, count - 1) @ np.linalg.inv(chebyshev.chebvander(x, count - 1))
    return np.tensordot(weights, values, 1)


def layer_time_sweep(
    lr: Array, a: Array, steps: int, nodes: int, *, responses: bool = True
) -> tuple[Array, Array, Array, Indices]:
    """Output and kernels at infinite depth, beta = 1/sqrt(L), at Chebyshev nodes of layer time.

    Parameters
    ----------
    lr, a, steps, responses
        as in ``block_sweep``
    nodes
        how many

    Returns
    -------
    f : ndarray
        f_t / y, (steps + 1, runs)
    H, G : ndarray
        (nodes, runs, times, times) each
    failed : ndarray
        (runs,), each run's first step at which the iteration failed (steps + 1: none): the features then move by dozens
        of their size in one step, which only runs about to diverge were seen to do.
    """
    runs, n = lr.size, steps + 1
    _, upward = chebyshev_nodes(nodes)
    downward = upward[-1] - upward  # the integral from a node to 1
    stream, gradient = _Side(nodes, runs, n), _Side(nodes, runs, n)
    # The first half of ``work`` is R or T, the second half R C or T D.
    c, f, failed = np.zeros((runs, n)), np.full((n, runs), np.inf), np.full(runs, n)
    for t in range(n):
        for own, other, integral in ((stream, gradient, upward), (gradient, stream, downward)):
            bad = _picard(own, other, c, t, integral, float(responses), failed < t)
            failed = np.where(bad, np.minimum(failed, t), failed)
            if own is stream:
                f[t] = _output(stream, c, t, a)
                c[:, t] = lr * a * (1 - f[t])
        if (failed <= t).all():
            break
        for array in (stream.pack, stream.noise, gradient.pack, gradient.noise):
            array[:, failed <= t] = 0.0  # left to the other engine; infinities would only slow the rest down
        c[failed <= t] = 0.0
    return f, stream.cov, gradient.cov, failed


def _picard(
    own: _Side, other: _Side, c: Array, t: int, integral: Array, keep: float, skip: NDArray[np.bool_]
) -> NDArray[np.bool_]:
    """Solve row t of one side at all nodes, not waiting for the runs ``skip``; returns which runs failed."""
    everywhere, n = slice(None), own.n
    r = np.broadcast_to(c[:, :t], (own.points, own.runs, t))
    noise = np.ones((own.points, own.runs, t + 1))
    change = np.full(own.runs, np.inf)
    for _ in range(_PICARD):
        own.work[..., t, :t] = r
        _row(own.noise, t, noise)
        x, w, h = _meet(r, t, own, other, everywhere)
        own.work[..., t, n : n + t] = w
        step = keep * x + c[:, :t] * h[..., :t]
        if ((change < _CONVERGED) | skip).all():
            break
        slope_r = _times(w, own.work[..., :t, :t]) + step
        slope_n = _times(w, own.noise[..., :t, : t + 1]) + h
        slope_n += _times(noise[..., :t], own.work[..., : t + 1, n : n + t].swapaxes(-1, -2))
        slope_n += _times(_times(r, other.cov[..., :t, :t]), own.work[..., : t + 1, :t].swapaxes(-1, -2))
        new_r, new_noise = c[:, :t] + _along(integral, slope_r), 1 + _along(integral, slope_n)
        change = np.maximum(_change(new_r, r), _change(new_noise, noise))
        r, noise = new_r, new_noise
    own.pack[..., t, 2 * n : 2 * n + t] = step
    return ~(change <= _FAILED)


def _along(integral: Array, slopes: Array) -> Array:
    return (integral @ slopes.reshape(len(integral), -1)).reshape(slopes.shape)


def _change(new: Array, old: Array) -> Array:
    """Largest change of a row over the nodes, relative to its largest entry, a run."""
    if new.shape[-1] == 0:
        return np.zeros(new.shape[1])
    size = np.abs(new).max(axis=(0, 2))
    return np.abs(new - old).max(axis=(0, 2)) / np.where(size > 0, size, 1.0)
