"""Stagewise training in function space: what the start of a stage makes of the functional step.

Predictors are known by their values on a sample, F of shape (m, d) for m points; the inner product is that of
L2(D), <F, G> = mean_i F_i . G_i, and the gradient is the one this inner product gives: its row i is the gradient of
sample i's loss. A stage that begins at F0 and is stopped early ends (Assumption 2.1) at

    F_{t+1} = argmin_F l(F0) + <grad l(F0), F - F0> + (lam/2) |F - F0|^2 = F0 - grad l(F0) / lam,

and the start F0 is

                additive                                 residual
    zero        F_t                                      F_t
    random      F_t + f                                  F_t + f o F_t
    stacking    F_t + beta (F_t - F_{t-1})               F_t + beta f_t o F_t
    nesterov    F_t + beta (F_t - F_{t-1})               the same: beta f_t o F_{t-1} is beta (F_t - F_{t-1})

In the residual column f_t is known at the points F_{t-1}(x_i) and asked for at F_t(x_i): a class of functions
must supply the values between (``linear_extension``, ``smooth_extension``). The paper's Eq. 3 leaves this open.

Source: "Stacking as accelerated gradient descent", Sec. 2, Eqs. 1-4.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.overflow import inf_from_overflow, or_inf
from lrtransfer.stages.functional.losses import SampleLoss, predictions, sample_rows, squared_loss

INITS = ("zero", "random", "stacking", "nesterov")


Function = Callable[[Array], Array]


Extension = Callable[[Array, Array], Function]


Draw = Callable[[np.random.Generator, Array], Array]


@dataclass(frozen=True)
class FunctionalRun:
    """Stagewise training for T stages on m points.

    Attributes
    ----------
    predictions
        F_t at t = 0 .. T, (T + 1, m, d)
    starts
        F0 of stages 1 .. T, (T, m, d)
    losses
        l(F_t), (T + 1,)
    drift
        |f_t o F_t - f_t o F_{t-1}| / |f_t o F_{t-1}| at the beginning of each stage, (T,): how far residual stacking is
        from Nesterov; 0 for everything else and where f_t = 0
    """

    predictions: Array
    starts: Array
    losses: Array
    drift: Array


def train(
    loss: SampleLoss,
    start: ArrayLike,
    stages: int,
    *,
    init: str = "zero",
    composition: str = "additive",
    lam: float | None = None,
    beta: float = 1.0,
    inputs: ArrayLike | None = None,
    extend: Extension | None = None,
    draw: Draw | None = None,
    seed: int = 0,
) -> FunctionalRun:
    """Train stage by stage under Assumption 2.1.

    Parameters
    ----------
    loss
        ``squared_loss``, ``logistic_loss`` or any ``SampleLoss``
    start
        F_0 on the sample, (m, d); f_0 = 0, so that the first stage of stacking is a plain step
    stages
        T
    init
        "zero", "random", "stacking" or "nesterov"
    composition
        "additive" or "residual"
    lam
        regularisation: the step is 1/lam; the loss's smoothness by default
    beta
        in [0, 1], the share of f_t that stacking copies
    inputs
        x, (m, p): where additive random functions are drawn; ``start`` by default
    extend
        how f_t is known off its points in residual stacking; ``linear_extension`` by default
    draw
        the random f, ``linear_draw(0.1)`` by default
    seed
        of ``draw``

    Returns
    -------
    FunctionalRun
        predictions, starts and losses of all stages; inf from where the run diverged, its squares no longer finite.

    Raises
    ------
    ValueError
        for bad arguments.

    References
    ----------
    Eqs. 1-4.
    """
    first, stages = predictions("start", start, loss), arguments.count("stages", stages)
    arguments.choice("init", init, INITS)
    arguments.choice("composition", composition, ("additive", "residual"))
    step = 1 / arguments.one("lam", arguments.positive("lam", loss.smoothness if lam is None else lam))
    share = arguments.one("beta", arguments.finite("beta", beta, minimum=0.0))
    if share > 1:
        raise arguments.refuse("beta", beta, "in [0, 1]")
    x = first if inputs is None else sample_rows("inputs", inputs)
    if x.shape[0] != first.shape[0]:
        raise ValueError(f"inputs of shape {x.shape} and start of shape {first.shape} do not match: one row a point.")
    extend = linear_extension if extend is None else extend
    draw = linear_draw(0.1, first.shape[1]) if draw is None else draw
    arguments.function("extend", extend, "a function of points and values that returns a function of points")
    arguments.function("draw", draw, "a function of a generator and points")
    generator = np.random.default_rng(arguments.seed("seed", seed))
    reached, starts, drift = [first], [], []
    before = first
    for _ in range(stages):
        now = reached[-1]
        with np.errstate(all="ignore"):
            if not np.isfinite(np.square(now)).all():  # diverged: no extension goes through such points
                starts.append(np.full(first.shape, np.inf))
                drift.append(np.inf)
                reached.append(starts[-1])
                continue
            change, off = now - before, 0.0
            if init == "random":
                begin = now + draw(generator, x if composition == "additive" else now)
            elif init == "stacking" and composition == "residual" and change.any():
                copied = extend(before, change)(now)
                begin = now + share * copied
                off = float(np.linalg.norm(copied - change) / np.linalg.norm(change))
            else:
                begin = now + (0.0 if init == "zero" else share) * change
            starts.append(begin)
            drift.append(off)
            before = now
            reached.append(begin - step * loss.gradient(begin))
    path, begun = inf_from_overflow(np.stack(reached)), np.array(starts).reshape(stages, *first.shape)
    with np.errstate(all="ignore"):
        losses = np.where(np.isfinite(path).all(axis=(-2, -1)), or_inf(loss.value(path)), np.inf)
    return FunctionalRun(path, inf_from_overflow(begun), losses, or_inf(drift))


def bent_problem(sigma: float, *, m: int = 60, convexity: float = 0.01, seed: int = 4) -> tuple[SampleLoss, Array]:
    """A nonlinear target at distance sigma from the identity, on m points of the square [-1, 1]^2.

        y = x + sigma (sin 2 x_2, x_2 cos 2 x_1),    loss of Eq. 22's form with metric diag(1, convexity)

    ``train(*bent_problem(sigma), stages, composition="residual", ..)`` begins at the identity.

    Parameters
    ----------
    sigma
        0 or more
    m
        how many points
    convexity
        second entry of the metric, positive
    seed
        of the points

    Returns
    -------
    loss : SampleLoss
        of predictions (m, 2)
    points : ndarray
        (m, 2).

    Raises
    ------
    ValueError
        naming the argument.
    """
    far = arguments.one("sigma", arguments.finite("sigma", sigma, minimum=0.0))
    small = arguments.one("convexity", arguments.positive("convexity", convexity))
    generator = np.random.default_rng(arguments.seed("seed", seed))
    points = generator.uniform(-1, 1, (arguments.count("m", m, minimum=1), 2))
    bend = np.stack([np.sin(2 * points[:, 1]), np.cos(2 * points[:, 0]) * points[:, 1]], axis=1)
    return squared_loss(points + far * bend, metric=np.diag([1.0, small])), points


def linear_extension(points: Array, values: Array) -> Function:
    """The linear map that fits values at points best: exact where they are linear and the points span.

    Parameters
    ----------
    points, values
        (m, p) and (m, d)

    Returns
    -------
    callable
        points (n, p) to values (n, d).
    """
    weights = np.linalg.lstsq(points, values, rcond=None)[0]
    return lambda at: at @ weights


def smooth_extension(points: Array, values: Array) -> Function:
    """The thin-plate spline through values at distinct points: exact there, smooth between.

    Parameters
    ----------
    points, values
        (m, p) and (m, d)

    Returns
    -------
    callable
        points (n, p) to values (n, d).
    """
    from scipy.interpolate import RBFInterpolator

    return RBFInterpolator(points, values)


def linear_draw(scale: float, outputs: int) -> Draw:
    """Random layers f(x) = N x with N Gaussian of mean 0, its entries of variance scale^2 / outputs.

    Parameters
    ----------
    scale
        0 or more
    outputs
        d, the number of entries of f(x)

    Returns
    -------
    callable
        a generator and points (m, p) to values (m, d) of a new f.

    Raises
    ------
    ValueError
        naming the argument.
    """
    size = arguments.one("scale", arguments.finite("scale", scale, minimum=0.0)) / np.sqrt(outputs)
    return lambda generator, points: points @ (size * generator.standard_normal((points.shape[-1], outputs)))
