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
from lrtransfer.stages.linear.course import Floats

INITS = ("zero", "random", "stacking", "nesterov")
Function = Callable[[Floats], Floats]
Extension = Callable[[Floats, Floats], Function]
Draw = Callable[[np.random.Generator, Floats], Floats]


@dataclass(frozen=True)
class SampleLoss:
    """A loss of predictions F (..., m, d), with its gradient in L2(D).

    Attributes
    ----------
    value
        F to an array (...)
    gradient
        F to an array of F's shape
    smoothness, convexity
        L and mu of the loss as a functional on L2(D)
    shape
        (m, d) of the predictions it takes; None where that is not known
    """

    value: Callable[[Floats], Floats]
    gradient: Callable[[Floats], Floats]
    smoothness: float
    convexity: float
    shape: tuple[int, int] | None = None


def squared_loss(targets: ArrayLike, metric: ArrayLike | None = None) -> SampleLoss:
    """mean_i (1/2) (F_i - y_i)' H (F_i - y_i).

    Parameters
    ----------
    targets
        y, (m, d)
    metric
        H, symmetric positive definite, (d, d). The identity by default, where one step with lam = 1 reaches the
        targets; another H has condition number L/mu, the ratio of its extreme eigenvalues

    Returns
    -------
    SampleLoss
        of predictions (m, d).

    Raises
    ------
    ValueError
        naming the argument.
    """
    y = _rows("targets", targets)
    h = np.eye(y.shape[1]) if metric is None else arguments.finite("metric", metric)
    if h.shape != (y.shape[1],) * 2 or not np.allclose(h, h.T, rtol=1e-12, atol=0):
        raise ValueError(f"metric of shape {h.shape} is not allowed: metric must be ({y.shape[1]},) * 2 and symmetric.")
    eigenvalues = np.linalg.eigvalsh(h)
    if eigenvalues[0] <= 0:
        raise arguments.refuse("metric", float(eigenvalues[0]), "positive definite (this is its smallest eigenvalue)")
    return SampleLoss(
        lambda f: 0.5 * np.einsum("...ij,...ij->...", (f - y) @ h, f - y) / y.shape[0],
        lambda f: (f - y) @ h,
        float(eigenvalues[-1]),
        float(eigenvalues[0]),
        (y.shape[0], y.shape[1]),
    )


def logistic_loss(labels: ArrayLike, ridge: float = 0.0) -> SampleLoss:
    """mean_i log(1 + exp(-y_i F_i)) + (ridge/2) F_i^2.

    Parameters
    ----------
    labels
        y = -1 or 1, (m,)
    ridge
        0 or more

    Returns
    -------
    SampleLoss
        of predictions (m, 1); L = 1/4 + ridge, mu = ridge.

    Raises
    ------
    ValueError
        naming the argument.
    """
    y = arguments.finite("labels", labels)
    if y.ndim != 1 or not np.isin(y, (-1.0, 1.0)).all():
        raise ValueError(f"labels of shape {y.shape} are not allowed: labels must be (m,), each -1 or 1.")
    extra = arguments.one("ridge", arguments.finite("ridge", ridge, minimum=0.0))
    column = y[:, None]
    return SampleLoss(
        lambda f: (np.logaddexp(0.0, -column * f) + extra / 2 * f * f).mean(axis=(-2, -1)),
        lambda f: -column * np.exp(-np.logaddexp(0.0, column * f)) + extra * f,
        0.25 + extra,
        extra,
        (y.size, 1),
    )


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

    predictions: Floats
    starts: Floats
    losses: Floats
    drift: Floats


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
        predictions, starts and losses of all stages.

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
    x = first if inputs is None else _rows("inputs", inputs)
    if x.shape[0] != first.shape[0]:
        raise ValueError(f"inputs of shape {x.shape} and start of shape {first.shape} do not match: one row a point.")
    extend = linear_extension if extend is None else extend
    draw = linear_draw(0.1, first.shape[1]) if draw is None else draw
    arguments.function("extend", extend, "a function of points and values that returns a function of points")
    arguments.function("draw", draw, "a function of a generator and points")
    generator = np.random.default_rng(arguments.count("seed", seed))
    reached, starts, drift = [first], [], []
    before = first
    for _ in range(stages):
        now = reached[-1]
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
    path = np.stack(reached)
    return FunctionalRun(path, np.array(starts).reshape(stages, *first.shape), loss.value(path), np.array(drift))


def bent_problem(sigma: float, *, m: int = 60, convexity: float = 0.01, seed: int = 4) -> tuple[SampleLoss, Floats]:
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
    generator = np.random.default_rng(arguments.count("seed", seed))
    points = generator.uniform(-1, 1, (arguments.count("m", m, minimum=1), 2))
    bend = np.stack([np.sin(2 * points[:, 1]), np.cos(2 * points[:, 0]) * points[:, 1]], axis=1)
    return squared_loss(points + far * bend, metric=np.diag([1.0, small])), points


def linear_extension(points: Floats, values: Floats) -> Function:
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


def smooth_extension(points: Floats, values: Floats) -> Function:
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


def random_steps(loss: SampleLoss, predictor: ArrayLike, noise: ArrayLike, lam: float) -> Floats:
    """Where stages that begin at F + g end, for each g.

        F + g - grad l(F + g)/lam

    Parameters
    ----------
    loss
        l
    predictor
        F, (m, d)
    noise
        g, (n, m, d)
    lam
        positive

    Returns
    -------
    ndarray
        (n, m, d).

    Raises
    ------
    ValueError
        naming the argument.
    """
    f, kicks = predictions("predictor", predictor, loss), arguments.finite("noise", noise)
    arguments.broadcast(predictor=f, noise=kicks)
    begin = f + kicks
    return begin - loss.gradient(begin) / arguments.one("lam", arguments.positive("lam", lam))


def smoothed(loss: SampleLoss, predictor: ArrayLike, scale: ArrayLike, nodes: int = 60) -> tuple[Floats, Floats]:
    """Value and gradient at F of the smoothed loss E l(F + g), g_i Gaussian of mean 0 and deviation ``scale``_i.

    By Gauss-Hermite quadrature, exact for polynomials of degree below 2 ``nodes``: the loss is a mean over points, and
    the values at one point only need g at that point, so that g may be correlated between points in any way.

    Parameters
    ----------
    loss
        l
    predictor
        F, (m, 1)
    scale
        not negative, one number or one a point, (m, 1)
    nodes
        of the quadrature

    Returns
    -------
    value : ndarray
        one number
    gradient : ndarray
        (m, 1).

    Raises
    ------
    ValueError
        naming the argument.
    """
    f = predictions("predictor", predictor, loss)
    if f.shape[1] != 1:
        raise ValueError(f"predictor of shape {f.shape} is not allowed: predictor must be (m, 1).")
    size = arguments.finite("scale", scale, minimum=0.0)
    if size.shape not in ((), f.shape):
        raise ValueError(f"scale of shape {size.shape} is not allowed: scale must be one number or {f.shape}.")
    x, w = np.polynomial.hermite_e.hermegauss(arguments.count("nodes", nodes, minimum=1))
    at = f + size * x[:, None, None]
    w = w / w.sum()
    return np.asarray(w @ loss.value(at)), np.tensordot(w, loss.gradient(at), 1)


def minimise_stage(loss: SampleLoss, begin: ArrayLike, lam: float, *, linearised: bool = True) -> Floats:
    """The minimiser of Assumption 2.1 by an actual minimisation (L-BFGS, started at 0).

    Parameters
    ----------
    loss
        l
    begin
        F0, (m, d)
    lam
        regularisation, positive
    linearised
        minimise l(F0) + <grad l(F0), F - F0> + (lam/2)|F - F0|^2; otherwise l(F) + (lam/2)|F - F0|^2, which the
        assumption simplifies

    Returns
    -------
    ndarray
        F, (m, d).

    Raises
    ------
    ValueError
        naming the argument.
    """
    from scipy.optimize import minimize

    f0 = predictions("begin", begin, loss)
    pull = arguments.one("lam", arguments.positive("lam", lam))
    slope = loss.gradient(f0)

    def objective(flat: Floats) -> tuple[float, Floats]:
        f = flat.reshape(f0.shape)
        away = f - f0
        if linearised:
            value, gradient = float((slope * away).sum()), slope
        else:
            value, gradient = float(loss.value(f)) * f0.shape[0], loss.gradient(f)
        return value + pull / 2 * float((away * away).sum()), (gradient + pull * away).ravel()  # m times L2(D)'s

    options = {"ftol": 0.0, "gtol": 1e-12, "maxiter": 2000, "maxfun": 10000}
    return minimize(objective, np.zeros(f0.size), jac=True, method="L-BFGS-B", options=options).x.reshape(f0.shape)


def early_stopped(loss: SampleLoss, begin: ArrayLike, lr: float, steps: int) -> Floats:
    """What the assumption stands for: functional gradient steps from F0, and no more.

    Parameters
    ----------
    loss
        l
    begin
        F0, (m, d)
    lr
        length of each step, positive
    steps
        how many

    Returns
    -------
    ndarray
        F after them, (m, d).

    Raises
    ------
    ValueError
        naming the argument.
    """
    f = predictions("begin", begin, loss)
    rate = arguments.one("lr", arguments.positive("lr", lr))
    for _ in range(arguments.count("steps", steps)):
        f = f - rate * loss.gradient(f)
    return f


def predictions(name: str, value: ArrayLike, loss: SampleLoss) -> Floats:
    """Checked predictions that a loss takes.

    Parameters
    ----------
    name
        of the argument, for the error
    value
        (m, d)
    loss
        the loss

    Returns
    -------
    ndarray
        the same as floats.

    Raises
    ------
    ValueError
        naming the argument, or ``loss`` if it is none.
    """
    if not isinstance(loss, SampleLoss):
        raise arguments.refuse("loss", loss, "a SampleLoss, such as squared_loss(targets) or logistic_loss(labels)")
    array = _rows(name, value)
    if loss.shape is not None and array.shape != loss.shape:
        raise ValueError(
            f"{name} of shape {array.shape} is not allowed: {name} must be {loss.shape}, as the loss takes."
        )
    return array


def _rows(name: str, value: ArrayLike) -> Floats:
    array = arguments.finite(name, value)
    if array.ndim != 2 or not array.size:
        raise ValueError(f"{name} of shape {array.shape} is not allowed: {name} must be (m, d), one row a point.")
    return array
