r"""The lazy limit: kernels frozen at initialisation, given by differential equations in layer time.

Proposition. Let gamma_0 -> 0 after N -> infinity, branches L^(-1/2), Gaussian weights, |x|^2 / D = 1. Then h and g =
gamma_0 N df/dh keep their initial law, and gradient descent on the mean of (f - y)^2 / 2 over P inputs is

    f_{t+1} = f_t + (lr / P) K (y - f_t),      K = Phi(1) + int_0^1 G Phi dtau + G(0) K^x,

readout, hidden layers and read-in in this order, where at layer time tau = l / L, for L -> infinity,

    dH/dtau = Phi,   H(0) = K^x;      dG/dtau = -G Phidot,   G(1) = Phidot(1)

with Phi = E phi(u) phi(u'), Phidot = E phi'(u) phi'(u') over Gaussians (u, u') of covariance H(tau). At finite L the
equations are Euler steps: H^{l+1} = H^l + Phi^l / L, G^l = G^{l+1} (1 + Phidot^l / L). For ReLU, |x|^2 / D = 1 gives
H = q = e^(tau/2) on the diagonal, H = q cos(theta) off it, and with
J(c) = (sqrt(1 - c^2) + c (pi - arccos c)) / (2 pi),

    Phi = q J(cos theta),   Phidot = (pi - theta) / (2 pi),   d cos(theta) / dtau = J(cos theta) - cos(theta) / 2,

so that K = (5/4) sqrt(e) for equal inputs. A linear network has Phi = H, Phidot = 1: K = 3e cos(theta).

Source: Proposition 2 and Sec. 4.3.1 of the paper; the arc-cosine kernels of Cho and Saul (2009).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import solve_ivp

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array

LAYERS = ("read_in", "hidden", "readout")


_RTOL, _ATOL = 1e-11, 1e-13


@dataclass(frozen=True)
class LazyProfile:
    """Frozen kernels of two inputs along the layers, each (layers,) + shape of ``cos_angle``.

    Attributes
    ----------
    layer_time
        l / L, (layers,)
    H
        <h h'>
    G
        <g g'>
    phi
        Phi = <phi(h) phi(h')>
    phi_dot
        Phidot = <phi'(h) phi'(h')>
    """

    layer_time: Array
    H: Array
    G: Array
    phi: Array
    phi_dot: Array


def relu_ntk(
    cos_angle: ArrayLike, depth: float = math.inf, *, branch: float = 0.5, layers: Sequence[str] = LAYERS
) -> Array:
    """Neural tangent kernel of the ReLU residual network at infinite width, inputs with |x|^2 / D = 1.

        K = Phi(1) + int_0^1 G Phi dtau + G(0) cos_angle        (readout, hidden, read-in; symbols above)

    Parameters
    ----------
    cos_angle
        cosine of the angle between the inputs, in [-1, 1], any shape
    depth
        L, a whole number or ``math.inf``
    branch
        exponent a of the branch multiplier L^-a; infinite depth needs a >= 1/2 (above it the blocks vanish)
    layers
        which layers are trained, of "read_in", "hidden", "readout"

    Returns
    -------
    ndarray
        K of the shape of ``cos_angle``: (5/4) sqrt(e) at cos_angle = 1 and infinite depth. The differential equations
        are solved to 1e-14 (measured: the change with tolerances a hundred times tighter); depth L differs from
        infinite depth by O(1/L).

    Raises
    ------
    ValueError
        naming the argument.

    References
    ----------
    Proposition 2 of the paper.
    """
    cosine, blocks, square = _arguments(cos_angle, depth, branch)
    trained = check_layers(layers)
    if math.isinf(blocks):
        grid = np.array([0.0, 1.0])
        c, p, hidden = _solve(cosine.ravel(), grid) if square else _still(cosine.ravel(), grid)
        end = _phi_dot(c[-1]) * np.exp(p[-1])  # G(0)
        readout, inner = math.exp(0.5 if square else 0.0) * _arc_cosine(c[-1]), end * hidden[-1]
        total = (readout, inner, end * cosine.ravel())
    else:
        profile = _blocks(cosine.ravel(), int(blocks), square)
        inner = square * (profile.G[1:] * profile.phi[:-1]).sum(axis=0)
        # G carries phi' of the last layer; see _blocks.
        total = (profile.phi[-1], inner, profile.G[0] * cosine.ravel())
    chosen = [term for name, term in zip(("readout", "hidden", "read_in"), total, strict=True) if name in trained]
    return np.sum(chosen, axis=0).reshape(cosine.shape)[()]


def relu_profile(
    cos_angle: ArrayLike, layer_time: ArrayLike | None = None, depth: float = math.inf, *, branch: float = 0.5
) -> LazyProfile:
    """Kernels H, G, Phi and Phidot of the ReLU residual network at initialisation, along the layers.

    On the diagonal H = e^(tau/2), G = e^((1 - tau)/2) / 2.

    Parameters
    ----------
    cos_angle, depth, branch
        as in ``relu_ntk``
    layer_time
        infinite depth only, increasing numbers in [0, 1], (layers,); by default 41 equal steps. At finite depth the
        layers are l / L, l = 0 .. L

    Returns
    -------
    LazyProfile
        the kernels in every layer.

    Raises
    ------
    ValueError
        naming the argument.

    References
    ----------
    Proposition 2 of the paper.
    """
    cosine, blocks, square = _arguments(cos_angle, depth, branch)
    if math.isfinite(blocks):
        if layer_time is not None:
            raise arguments.refuse("layer_time", layer_time, "None at finite depth, where the layers are l / L")
        flat = _blocks(cosine.ravel(), int(blocks), square)
    else:
        tau = np.linspace(0, 1, 41) if layer_time is None else arguments.finite("layer_time", layer_time, minimum=0.0)
        if tau.ndim != 1 or tau.size == 0 or (tau > 1).any() or (np.diff(tau) <= 0).any():
            raise arguments.refuse("layer_time", layer_time, "a list of increasing numbers from 0 to 1")
        grid = np.unique(np.concatenate([tau, [0.0, 1.0]]))
        c, p, _ = _solve(cosine.ravel(), grid) if square else _still(cosine.ravel(), grid)
        at = np.searchsorted(grid, tau)
        q = np.exp(tau / 2 if square else 0 * tau)[:, None]
        g = _phi_dot(c[-1]) * np.exp(p[-1] - p[at])
        flat = LazyProfile(tau, q * c[at], g, q * _arc_cosine(c[at]), _phi_dot(c[at]))
    fields = (k.reshape(-1, *cosine.shape) for k in (flat.H, flat.G, flat.phi, flat.phi_dot))
    return LazyProfile(flat.layer_time, *fields)


def linear_ntk(depth: ArrayLike, branch: float = 0.5, *, layers: Sequence[str] = LAYERS) -> Array:
    """Neural tangent kernel of the linear residual network for one input with |x|^2 / D = 1, infinite width.

        K = (1 + b)^L (1 + L b / (1 + b) + 1),    b = L^(-2 branch)          (readout, hidden, read-in)

    and 3e at infinite depth and branch = 1/2. For two inputs multiply by the cosine of their angle.

    Parameters
    ----------
    depth
        L, whole numbers of any shape, or ``math.inf`` (branch >= 1/2)
    branch
        exponent of the branch multiplier L^-branch
    layers
        those trained, of "read_in", "hidden", "readout"

    Returns
    -------
    ndarray
        K of the shape of ``depth``, ``inf`` where it overflows.

    Raises
    ------
    ValueError
        naming the argument.
    """
    blocks = arguments.integer("depth", depth, infinite=True)
    exponent = _exponent(branch, np.isinf(blocks).any())
    trained = check_layers(layers)
    endless = np.isinf(blocks)
    finite_depth = np.where(endless, 1.0, blocks)
    b = finite_depth ** (-2 * exponent)
    with np.errstate(over="ignore"):
        growth = np.where(endless, math.e if exponent == 0.5 else 1.0, (1 + b) ** finite_depth)
        inner = np.where(endless, 1.0 if exponent == 0.5 else 0.0, finite_depth * b / (1 + b))
        return (growth * (("read_in" in trained) + ("readout" in trained) + ("hidden" in trained) * inner))[()]


def _arc_cosine(c: Array) -> Array:
    """J(c): E relu(u) relu(u') for unit variances and correlation c."""
    c = np.clip(c, -1.0, 1.0)
    return (np.sqrt((1 - c) * (1 + c)) + c * (np.pi - np.arccos(c))) / (2 * np.pi)


def _phi_dot(c: Array) -> Array:
    """Probability that two Gaussians of correlation c are both positive."""
    return (np.pi - np.arccos(np.clip(c, -1.0, 1.0))) / (2 * np.pi)


def _still(cosine: Array, grid: Array) -> tuple[Array, Array, Array]:
    """``_solve`` without blocks."""
    c = np.broadcast_to(cosine, (grid.size, cosine.size))
    return c, np.zeros_like(c), np.zeros_like(c)


def _solve(cosine: Array, grid: Array) -> tuple[Array, Array, Array]:
    """Three functions of layer time on ``grid``: c = cos(theta), int Phidot, int exp(-int Phidot) Phi, each from 0.

    Integrated in s = sqrt(tau): from opposite inputs, c = -1, the solution is a power series in s, not in tau.
    """
    size = cosine.size

    def slope(s: float, state: Array) -> Array:
        c, p, _ = state.reshape(3, size)
        j = _arc_cosine(c)
        return 2 * s * np.concatenate([j - c / 2, _phi_dot(c), np.exp(s * s / 2 - p) * j])

    start = np.concatenate([cosine, np.zeros(2 * size)])
    times = np.sqrt(grid)
    # The solver's norm is an average over the angles: the factor keeps the tolerance for each of them.
    strict = max(1.0, math.sqrt(size))
    found = solve_ivp(slope, (0.0, 1.0), start, "DOP853", times, rtol=max(_RTOL / strict, 3e-14), atol=_ATOL / strict)
    c, p, hidden = found.y.T.reshape(grid.size, 3, size).transpose(1, 0, 2)
    return np.clip(c, -1.0, 1.0), p, hidden


def _blocks(cosine: Array, depth: int, square: float) -> LazyProfile:
    """The recursion at finite depth: kernels at layers 0 .. L."""
    h = np.empty((depth + 1, cosine.size))
    c, q = np.empty_like(h), (1 + square / 2) ** np.arange(depth + 1.0)
    h[0] = c[0] = cosine
    for block in range(depth):
        h[block + 1] = h[block] + square * q[block] * _arc_cosine(c[block])
        c[block + 1] = np.clip(h[block + 1] / q[block + 1], -1.0, 1.0)
    dot = _phi_dot(c)
    g = np.empty_like(h)
    g[-1] = dot[-1]
    g[:-1] = dot[-1] * np.cumprod(1 + square * dot[:-1][::-1], axis=0)[::-1]
    return LazyProfile(np.arange(depth + 1) / depth, h, g, q[:, None] * _arc_cosine(c), dot)


def _exponent(branch: float, endless: bool | np.bool_) -> float:
    exponent = arguments.one("branch", arguments.finite("branch", branch, minimum=0.0))
    if endless and exponent < 0.5:
        raise arguments.refuse("branch", branch, "at least 0.5 at infinite depth: below it the kernel has no limit")
    return exponent


def check_layers(layers: Sequence[str]) -> Sequence[str]:
    """The names of the layers that are trained, checked.

    Parameters
    ----------
    layers
        one or more of "read_in", "hidden", "readout"

    Returns
    -------
    sequence of str
        the same.

    Raises
    ------
    ValueError
        for anything else.
    """
    known = not isinstance(layers, str) and len(layers) > 0 and all(name in LAYERS for name in layers)
    if not known:
        raise arguments.refuse("layers", layers, "a list of one or more of 'read_in', 'hidden', 'readout'")
    return layers


def _arguments(cos_angle: ArrayLike, depth: float, branch: float) -> tuple[Array, float, float]:
    """Checked cosine and depth, and the squared branch multiplier (at infinite depth 1 for branch 1/2, else 0)."""
    cosine = arguments.finite("cos_angle", cos_angle, minimum=-1.0)
    if (cosine > 1).any():
        raise arguments.refuse("cos_angle", float(cosine[cosine > 1].flat[0]), "from -1 to 1")
    blocks = arguments.one("depth", arguments.integer("depth", depth, infinite=True))
    exponent = _exponent(branch, math.isinf(blocks))
    square = float(exponent == 0.5) if math.isinf(blocks) else blocks ** (-2 * exponent)
    return cosine, blocks, square
