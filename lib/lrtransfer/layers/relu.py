"""Three layers with ReLU, the norm-driven schedule, and sharpness: what has no reduction.

The network f(x) = phi(phi(x W_1) W_2) a / sqrt(h), phi = ReLU or the identity, W_1 and W_2 trained, a ~ N(0,
I/h) fixed; the teacher is linear, y = x'beta, beta ~ N(0, I/h), with optional label noise. Training is
full-batch gradient descent on the mean of (f - y)^2 / 2 over n = h inputs with X'X = n I; the test loss is
the mean of (f - y)^2 over 4 h fresh inputs x ~ N(0, I) with noiseless labels.

The norm-driven schedule gives layer i the rate 2 |W_j|_F / (|W_1|_F + |W_2|_F) lr, j the other layer: the
rates keep the sum 2 lr and approach each other as the norms do.

Source: arXiv 2606.00340, experiments with ReLU and with the layer-wise scheduler.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from lrtransfer.layers.circle import one_number, width_argument
from lrtransfer.layers.dense import INITIALISATIONS, initial_weight
from lrtransfer.layers.schedule import SCHEDULES, LayerRun, layer_rates, top_curvature
from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.random import haar_orthogonal

ACTIVATIONS = ("relu", "linear")


@dataclass(frozen=True)
class ThreeLayerProblem:
    """The least squares of one data set: inputs (n, h), labels (n,) and the readout over sqrt(h), (h,)."""

    inputs: Array
    labels: Array
    readout: Array
    relu: bool

    def forward(self, w1: Array, w2: Array) -> tuple[Array, Array, Array]:
        """Hidden activations (n, h) twice and the residual f - y (n,)."""
        first = self.inputs @ w1
        if self.relu:
            np.maximum(first, 0.0, out=first)
        second = first @ w2
        if self.relu:
            np.maximum(second, 0.0, out=second)
        return first, second, second @ self.readout - self.labels

    def slopes(self, hidden: Array) -> Array | float:
        """The derivative phi' from phi: the ReLU's 0 or 1."""
        return (hidden > 0).astype(float) if self.relu else 1.0

    def gradient(self, w1: Array, w2: Array) -> tuple[Array, Array, Array]:
        """Gradients of mean (f - y)^2 / 2 and the residual."""
        first, second, residual = self.forward(w1, w2)
        back2 = np.outer(residual / residual.size, self.readout) * self.slopes(second)
        back1 = (back2 @ w2.T) * self.slopes(first)
        return self.inputs.T @ back1, first.T @ back2, residual

    def hessian_product(self, w1: Array, w2: Array, v1: Array, v2: Array) -> tuple[Array, Array]:
        """The Hessian of mean (f - y)^2 / 2 times (v1, v2): the gradient differentiated along it, exactly."""
        first, second, residual = self.forward(w1, w2)
        slope1, slope2 = self.slopes(first), self.slopes(second)
        back2 = np.outer(residual / residual.size, self.readout) * slope2
        d_first = (self.inputs @ v1) * slope1
        d_second = (d_first @ w2 + first @ v2) * slope2
        d_back2 = np.outer(d_second @ self.readout / residual.size, self.readout) * slope2
        d_back1 = (d_back2 @ w2.T + back2 @ v2.T) * slope1
        return self.inputs.T @ d_back1, d_first.T @ back2 + first.T @ d_back2


def train_three_layers(
    h: int,
    lr: float,
    steps: int,
    *,
    seed: int,
    split: float = 0.0,
    schedule: str = "uniform",
    activation: str = "relu",
    initialisation: str = "orthogonal",
    noise: float = 0.0,
    scale: float = 1.0,
    sharpness: bool = False,
) -> LayerRun:
    """Train the two matrices of a three-layer network by full-batch gradient descent.

        W_i <- W_i - lr_i d/dW_i (1/2) mean (f - y)^2,    lr_i as the module's docstring says

    Parameters
    ----------
    h
        Width, input dimension and number of inputs, >= 2.
    lr
        Mean rate, > 0, in the paper's units (the gradient is of order 1/h a layer).
    steps
        >= 0.
    seed
        Equal seeds give equal data, teacher, readout and start, whatever the other arguments.
    split
        In [-1, 1]; the rates are lr (1 + split) and lr (1 - split), under either schedule.
    schedule
        "uniform", or "norm", the Frobenius-norm-driven one.
    activation
        "relu" or "linear".
    initialisation
        "orthogonal" or "gaussian".
    noise
        Variance of the label noise, >= 0.
    scale
        W_1 starts that many times larger, W_2 that many times smaller; > 0. Their product does not change.
    sharpness
        Measure it at the end.

    Returns
    -------
    LayerRun
        a ``LayerRun``; losses and norms are inf from where the run diverged.

    Raises
    ------
    ValueError
        For arguments outside these ranges.

    Source: arXiv 2606.00340, experiments with ReLU and with the layer-wise scheduler.
    """
    width, number, start = width_argument(h, dense=True), arguments.count("steps", steps), arguments.seed("seed", seed)
    rate = one_number("lr", arguments.positive("lr", lr))
    part = one_number("split", split)
    if abs(part) > 1:
        raise arguments.refuse("split", split, "between -1 and 1")
    arguments.choice("schedule", schedule, SCHEDULES)
    arguments.choice("activation", activation, ACTIVATIONS)
    arguments.choice("initialisation", initialisation, INITIALISATIONS)
    variance = one_number("noise", arguments.finite("noise", noise, minimum=0.0))
    larger = one_number("scale", arguments.positive("scale", scale))

    rng = np.random.default_rng(start)
    beta, a = rng.standard_normal((2, width)) / np.sqrt(width)
    inputs = np.sqrt(width) * haar_orthogonal(width, rng)
    fresh = rng.standard_normal((4 * width, width))
    labels = inputs @ beta + np.sqrt(variance) * rng.standard_normal(width)
    w1, w2 = initial_weight(width, initialisation, rng) * larger, initial_weight(width, initialisation, rng) / larger
    relu, readout = activation == "relu", a / np.sqrt(width)
    train, test = (
        ThreeLayerProblem(inputs, labels, readout, relu),
        ThreeLayerProblem(fresh, fresh @ beta, readout, relu),
    )

    train_loss, test_loss = np.full((2, number + 1), np.inf)
    norms = np.full((number + 1, 2), np.inf)
    final: float | None = np.inf if arguments.flag("sharpness", sharpness) else None
    with np.errstate(all="ignore"):
        for t in range(number + 1):
            g1, g2, residual = train.gradient(w1, w2)
            here = np.mean(residual**2), np.mean(test.forward(w1, w2)[2] ** 2)
            if not np.isfinite(here).all():
                break
            train_loss[t], test_loss[t] = here
            norms[t] = np.linalg.norm(w1), np.linalg.norm(w2)
            if t == number:
                if sharpness:
                    final = top_curvature(partial(train.hessian_product, w1, w2), w1.shape, rng, 1e-4)
                break
            rate1, rate2 = layer_rates(schedule, rate, norms[t, 0], norms[t, 1])
            w1 = w1 - rate1 * (1 + part) * g1
            w2 = w2 - rate2 * (1 - part) * g2
    return LayerRun(train_loss, test_loss, norms, final)
