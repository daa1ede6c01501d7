"""Rate sweeps trained with torch, against plain numpy and against the exact linear theory; the slider's tables."""

import math
import re
from pathlib import Path

import numpy as np
import pytest

from lrtransfer.width import limit_lr, synthetic_data, training_loss
from lrtransfer.width.slider import DRAWS, LAYERS, OCTAVES, ONE_STEP, draws, script_table
from lrtransfer.width.torch_sweeps import initial_weights, trained_losses

LRS = np.array([0.05, 0.2, 0.5])
# Weights, gradients and Adam's moments are in single precision: some 1e-6 relative after a few steps of a small
# network at stable rates. A wrong factor anywhere shows at 1e-1.
SINGLE = {"rtol": 1e-4, "atol": 1e-7}


def reference(lr, n, X, y, layers, steps, seed, activation, optimiser, parametrisation):
    """The same training in double precision with numpy and the chain rule written out."""
    first, hidden, readout = initial_weights(n, X.shape[1], layers, activation, parametrisation, seed)
    W = [w.numpy().astype(float) for w in hidden]
    z0, v = X @ first.numpy().T.astype(float), readout.numpy().astype(float)
    if activation == "relu":
        phi, slope = (lambda z: np.maximum(z, 0)), (lambda z: (z > 0).astype(float))
    else:
        phi, slope = (lambda z: z), np.ones_like
    rate = lr / n if (optimiser, parametrisation) == ("adam", "mup") else lr
    moment, size = [0.0] * layers, [0.0] * layers
    for t in range(steps + 1):
        z = [z0]
        for w in W:
            z.append(phi(z[-1]) @ w.T)
        error = phi(z[-1]) @ v - y
        if t == steps:
            return np.mean(error**2) / 2
        back = error[:, None] * v / len(y) * slope(z[-1])
        gradients = []
        for k in reversed(range(layers)):
            gradients.insert(0, back.T @ phi(z[k]))
            back = (back @ W[k]) * slope(z[k])
        for k, g in enumerate(gradients):
            if optimiser == "gd":
                W[k] = W[k] - rate * g
                continue
            moment[k] = 0.9 * moment[k] + 0.1 * g
            size[k] = 0.999 * size[k] + 0.001 * g**2
            step = moment[k] / (1 - 0.9 ** (t + 1))
            W[k] = W[k] - rate * step / (np.sqrt(size[k] / (1 - 0.999 ** (t + 1))) + 1e-8)


@pytest.mark.parametrize("activation", ["linear", "relu"])
@pytest.mark.parametrize("optimiser", ["gd", "adam"])
@pytest.mark.parametrize("parametrisation", ["mup", "sp"])
def test_training_is_the_written_out_chain_rule(activation, optimiser, parametrisation):
    X, y = synthetic_data(6, 3, seed=1)
    lrs = LRS * (0.1 if parametrisation == "sp" else 1.0)
    options = {"activation": activation, "optimiser": optimiser, "parametrisation": parametrisation}
    ours = trained_losses(lrs, 12, X, y, 3, 3, seeds=(0, 5), **options)
    expected = [[reference(lr, 12, X, y, 3, 3, seed, *options.values()) for seed in (0, 5)] for lr in lrs]
    np.testing.assert_allclose(ours, expected, **SINGLE)


def test_linear_networks_follow_the_infinite_width_recursion():
    X, y = synthetic_data(20, 3, seed=2)
    lrs = limit_lr(X, y, 3) * np.array([0.2, 0.4])
    limit = training_loss(lrs, math.inf, X, y, 3, 4, seed=0)[-1]
    losses = trained_losses(lrs, 256, X, y, 3, 4, seeds=range(24), activation="linear")
    error = losses.std(axis=1, ddof=1) / math.sqrt(24)
    # The mean is off by its own error and by a bias of relative order 1/n times the square of the losses' relative
    # scatter (at most 1 here): four errors and twenty times 1/n.
    assert (np.abs(losses.mean(axis=1) - limit) < 4 * error + 20 / 256 * limit).all()
    assert (error < 0.2 * limit).all()


def test_a_run_that_overflows_is_inf_and_harms_no_other():
    X, y = synthetic_data(6, 3, seed=1)
    losses = trained_losses([0.2, 1e6], 12, X, y, 3, 6, seeds=(0,), activation="linear")
    alone = trained_losses([0.2], 12, X, y, 3, 6, seeds=(0,), activation="linear")
    assert losses[1, 0] == math.inf
    np.testing.assert_allclose(losses[0], alone[0], **SINGLE)


@pytest.mark.parametrize(
    ("change", "name"),
    [
        ({"lrs": [0.0]}, "lrs"),
        ({"lrs": [[0.1]]}, "lrs"),
        ({"width": 0}, "width"),
        ({"steps": -1}, "steps"),
        ({"hidden_layers": 0}, "hidden_layers"),
        ({"activation": "tanh"}, "activation"),
        ({"optimiser": "lion"}, "optimiser"),
        ({"parametrisation": "ntp"}, "parametrisation"),
        ({"y": np.ones(3)}, "y"),
    ],
)
def test_bad_input_names_the_argument(change, name):
    X, y = synthetic_data(6, 3, seed=1)
    arguments = {"lrs": [0.1], "width": 4, "X": X, "y": y, "hidden_layers": 2, "steps": 1, "seeds": (0,)}
    with pytest.raises(ValueError, match=f"^{name} = "):
        trained_losses(**(arguments | change))


def test_the_page_carries_the_tables_of_the_engine():
    script = Path(__file__).parents[2] / "book" / "_static" / "models" / "width.js"
    held = re.search(r"const SPREAD.*?\n\};", script.read_text("utf8"), re.S)
    assert held is not None and held.group() == script_table()


def test_the_slider_shows_the_lowest_loss_of_its_curve():
    for layers in LAYERS:
        for draw in DRAWS:
            for octave, row in zip(OCTAVES, draws(layers, draw), strict=True):
                curve, _, dot = ONE_STEP.picture(octave, layers, draw).panels[0].curves
                # The coefficients are rounded to seven digits, which moves a loss of order one by some 1e-6.
                inside = np.array(curve.x) <= 4
                assert dot.y[0] <= np.array(curve.y)[inside].min() + 1e-6
                assert dot.x[0] == pytest.approx(row[0] * layers)
