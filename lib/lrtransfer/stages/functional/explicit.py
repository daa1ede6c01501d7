"""Stagewise training with the ensemble written out, as a list of functions or of layers: slow, and hard to get wrong.

The engines (``functional``, ``linear``) never hold an ensemble: they carry the predictor from stage to stage by the
recursion that the theory derives for it. Here the new function f or layer w is an object of its own, begun as a rule
says, put on top of the others, and trained by one functional step of the whole; the predictor is put together anew at
every stage. The chapter compares the two.

Source: "Stacking as accelerated gradient descent", Sec. 2, Assumption 2.1 and Eqs. 1, 3 and 22.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.stages.functional.losses import SampleLoss, predictions
from lrtransfer.stages.linear.course import EXPLODED, SingularIterate, frobenius, spectrum, square

Rule = Callable[[list[Array]], ArrayLike]  # from the functions or layers so far, first one first, to the next one


class ExplicitRun(NamedTuple):
    """A network of T stages; infinite from where it has grown by 1e8.

    Attributes
    ----------
    layers
        w_1 .. w_T, (T, d, d)
    products
        W_0 .. W_T, (T + 1, d, d)
    excess
        excess loss of each, (T + 1,)
    """

    layers: Array
    products: Array
    excess: Array


def explicit_sum(loss: SampleLoss, start: ArrayLike, stages: int, begin: Rule, *, step: float) -> Array:
    """Predictors F_t = f_0 + .. + f_t of an additive ensemble on its sample.

        f0 = begin([f_0, .., f_t]),     f_{t+1} = f0 - step grad l(f_0 + .. + f_t + f0)

    Parameters
    ----------
    loss
        l
    start
        f_0 on the sample, (m, d), not trained
    stages
        the last t
    begin
        the rule for a new function, for instance ``lambda functions: 0.9 * functions[-1]``
    step
        1/lambda, positive

    Returns
    -------
    ndarray
        t = 0 .. stages, (stages + 1, m, d).

    Raises
    ------
    ValueError
        for bad arguments, a rule that returns something of another shape among them.

    References
    ----------
    Eq. 1.
    """
    size = arguments.one("step", arguments.positive("step", step))
    functions = [predictions("start", start, loss)]
    arguments.function("begin", begin, "a function of the list of functions so far")
    for _ in range(arguments.count("stages", stages)):
        initial = _begun(begin(functions), functions[0].shape)
        predictor = np.sum(functions, axis=0) + initial
        functions.append(initial - size * loss.gradient(predictor))
    return np.cumsum(functions, axis=0)


def explicit_layers(teacher: ArrayLike, covariance: ArrayLike, stages: int, begin: Rule, *, step: float) -> ExplicitRun:
    """A deep linear residual network W_t = (I + w_t) .. (I + w_1), multiplied out from its layers at every stage.

        w0 = begin([w_1, .., w_t]),   V = (I + w0) W_t,   w_{t+1} solves (I + w_{t+1}) W_t = V - step (V - W*) Sigma

    Parameters
    ----------
    teacher, covariance
        W* and Sigma, (d, d)
    stages
        T
    begin
        the rule for a new layer, for instance ``lambda layers: 0.9 * layers[-1] if layers else 0.0``
    step
        1/lambda, positive; not in units of 1/L

    Returns
    -------
    ExplicitRun
        layers, products and losses.

    Raises
    ------
    ValueError
        for bad arguments.
    SingularIterate
        where a network that has not exploded has no inverse.

    References
    ----------
    Eqs. 3 and 22.
    """
    goal, sigma = square("teacher", teacher), square("covariance", covariance)
    if goal.ndim != 2 or goal.shape != sigma.shape:
        raise ValueError(f"teacher of shape {goal.shape} and covariance of shape {sigma.shape} must be equal, (d, d).")
    spectrum(sigma)  # refuses what is no covariance
    size, total = arguments.one("step", arguments.positive("step", step)), arguments.count("stages", stages)
    arguments.function("begin", begin, "a function of the list of layers so far")
    eye = np.eye(len(goal))
    far = EXPLODED * max(float(frobenius(goal)), float(frobenius(eye)))
    products, layers = np.full((total + 1, *goal.shape), np.inf), np.full((total, *goal.shape), np.inf)
    products[0] = eye
    grown: list[Array] = []
    for t in range(total):
        below = eye
        for w in grown:
            below = (eye + w) @ below
        predictor = (eye + _begun(begin(grown), goal.shape)) @ below
        trained = predictor - size * (predictor - goal) @ sigma
        if frobenius(trained) > far:
            break
        try:
            grown.append(np.asarray(np.linalg.solve(below.T, (trained - below).T).T, np.float64))
        except np.linalg.LinAlgError:
            raise SingularIterate(f"The network W_{t} is singular: no layer w_{t + 1} leads on from it.") from None
        layers[t], products[t + 1] = grown[-1], (eye + grown[-1]) @ below
    kept = np.asarray(np.isfinite(products).all(axis=(1, 2)))
    error = np.where(kept[:, None, None], products, goal) - goal
    loss = 0.5 * np.einsum("tij,jk,tik->t", error, sigma, error)
    return ExplicitRun(layers, products, np.where(kept, loss, np.inf))


def explicit_skips(teacher: ArrayLike, covariance: ArrayLike, stages: int, *, beta: float, step: float) -> ExplicitRun:
    """A deep linear network grown with skips that stay in it: Nesterov's start, built and not only described.

        x -> F_{t+1} x = (I + w_{t+1}) F_t x + beta (F_t - F_{t-1}) x,     F_0 = F_{-1} = I

    Stage t + 1 puts on a layer w = 0 and a skip with the two last outputs, which are there in any forward pass. The
    network begins the stage at F_t + beta (F_t - F_{t-1}), as Eq. 6 does; one functional step of the whole trains w.

    Parameters
    ----------
    teacher, covariance : arrays (d, d)
        W* and Sigma.
    stages : int
        Layers put on.
    beta : float
        Of the skips, in [0, 1].
    step : float
        1/lambda, positive; not in units of 1/L.

    Returns
    -------
    ExplicitRun

    Raises
    ------
    ValueError
        For bad arguments.
    SingularIterate
        Where a network has no inverse, so that no layer on top of it does what the step asks.
    """
    goal, sigma = square("teacher", teacher), square("covariance", covariance)
    if goal.ndim != 2 or goal.shape != sigma.shape:
        raise ValueError(f"teacher of shape {goal.shape} and covariance of shape {sigma.shape} must be equal, (d, d).")
    spectrum(sigma)  # refuses what is no covariance
    size, total = arguments.one("step", arguments.positive("step", step)), arguments.count("stages", stages)
    share = arguments.one("beta", arguments.finite("beta", beta, minimum=0.0))
    if share > 1:
        raise arguments.refuse("beta", beta, "in [0, 1]")
    eye, layers = np.eye(len(goal)), np.zeros((total, *goal.shape))

    def outputs(count: int) -> list[Array]:
        """F_0 .. F_count, from the layers and skips alone."""
        found = [eye]
        for t in range(count):
            before = found[t - 1] if t else eye
            found.append((eye + layers[t]) @ found[t] + share * (found[t] - before))
        return found

    for t in range(total):
        *_, below, start = outputs(t + 1)  # layer t is zero still
        try:
            layers[t] = np.linalg.solve(below.T, -size * ((start - goal) @ sigma).T).T
        except np.linalg.LinAlgError:
            raise SingularIterate(f"The network F_{t} is singular: no layer on top of it makes the step.") from None
    products = np.array(outputs(total))
    error = products - goal
    return ExplicitRun(layers, products, 0.5 * np.einsum("tij,jk,tik->t", error, sigma, error))


def last_layer_descent(
    teacher: ArrayLike, covariance: ArrayLike, stages: int, *, step: float, start: ArrayLike
) -> Array:
    """Stages whose step is taken on the last layer's weights, not on the function.

        W_{t+1} = W_t - step (W_t - W*) Sigma W_t' W_t,     new layers at zero

    Near the teacher it converges for step < 2 / (largest eigenvalue of Sigma W*'W*).

    Parameters
    ----------
    teacher, covariance, start
        W*, Sigma and W_0, (d, d)
    stages
        T
    step
        positive, not in units of 1/L

    Returns
    -------
    ndarray
        |W_t - W*|, (stages + 1,); inf from where the run has diverged.

    Raises
    ------
    ValueError
        for bad arguments.

    References
    ----------
    The chain rule on Eq. 22; the method is this book's, to set against the functional step.
    """
    goal, sigma, W = (square(n, v) for n, v in (("teacher", teacher), ("covariance", covariance), ("start", start)))
    if goal.ndim != 2 or not goal.shape == sigma.shape == W.shape:
        shapes = f"teacher of shape {goal.shape}, covariance of shape {sigma.shape} and start of shape {W.shape}"
        raise ValueError(f"{shapes} must be equal, (d, d).")
    spectrum(sigma)  # refuses what is no covariance
    size, total = arguments.one("step", arguments.positive("step", step)), arguments.count("stages", stages)
    far = EXPLODED * max(float(frobenius(goal)), float(frobenius(W)))
    distances = np.full(total + 1, np.inf)
    for t in range(total + 1):
        distances[t] = np.linalg.norm(W - goal)
        if distances[t] > far:
            distances[t] = np.inf
            break
        W = W - size * (W - goal) @ sigma @ W.T @ W
    return distances


def _begun(made: object, shape: tuple[int, ...]) -> Array:
    """What a rule made: a function or layer of the shape of the others, or the number 0 for one that is zero."""
    initial = arguments.number("begin", made)  # type: ignore[arg-type]
    if initial.shape != shape and not (initial.ndim == 0 and initial == 0):
        raise ValueError(
            f"begin returned the shape {initial.shape}, which is not allowed: begin must return {shape} or 0."
        )
    return initial
