"""The plain scripts and the engines compute the same numbers: the record compares one thing done in two ways."""

from __future__ import annotations

import numpy as np
import pytest
from small_performance import SMALL

from lrtransfer.layers import expected_loss
from lrtransfer.layers.dense import two_layer_descent
from lrtransfer.numerics.random import haar_orthogonal
from lrtransfer.performance import cases, plain
from lrtransfer.performance.recorded import makers
from lrtransfer.width.data import regression
from lrtransfer.width.network import Trained, draw

torch = pytest.importorskip("torch")
DOUBLE, SINGLE = 1e-12, 3e-6  # of the largest number, in the precision in which both compute
SAME = {
    "depth-floats": DOUBLE,
    "depth-arrays": DOUBLE,
    "layers-dense": DOUBLE,
    "stages-stacking": DOUBLE,
    "stages-nesterov": DOUBLE,
    "limit-fields": DOUBLE,
    "sweep-8": SINGLE,
    "transformer-one": SINGLE,
    "transformer-four": SINGLE,
}
IN_LAW = {"width-dense", "width-wide", "width-vectors", "layers-grid", "layers-wide"}  # other draws of the same law


def test_every_case_is_compared():
    assert set(makers(SMALL)) == set(SAME) | IN_LAW
    assert {name for name, make in makers(SMALL).items() if not make().same} == IN_LAW


@pytest.mark.parametrize("name", SAME)
def test_a_script_gives_the_numbers_of_its_engine(name):
    case = makers(SMALL)[name]()
    assert case.engine().shape == case.script().shape and case.engine().size > 1
    assert case.difference < SAME[name]


def test_a_difference_is_seen():
    one = cases.Case("some", lambda: np.array([1.0, 2.0]), lambda: np.array([1.0, 2.5]), cases.Work())
    other = cases.Case("some", lambda: np.array([1.0, np.inf]), lambda: np.array([1.0, 2.0]), cases.Work())
    assert one.difference == pytest.approx(0.2) and other.difference == np.inf


@pytest.mark.parametrize("n", [5, 60])
def test_dense_matrices_train_as_those_that_are_revealed(n):
    rng = np.random.default_rng(3)
    X, lrs = rng.standard_normal((16, 3)), np.linspace(0.05, 0.4, 4)
    y = X @ [1.0, 2.0, -1.0] + 0.3 * rng.standard_normal(16)
    data = regression(X, y)
    network = draw(n, 3, 3, parametrisation="mup", seed=1, coordinates=True)
    engine = data.loss(Trained(network, data, lrs, 4).theta.transpose(1, 0, 2))
    dense = [weight.known() for weight in network.weights]  # matrices that give every answer that was given
    script = plain.linear_descent(dense, network.readout, X, y, lrs.tolist(), 4)
    np.testing.assert_allclose(script, engine, rtol=1e-10)


def test_dense_layers_are_on_average_what_the_circle_gives():
    h, steps, lr = 24, 4, 0.4 * 24**1.5
    losses = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        w1, w2, teacher = (haar_orthogonal(h, rng) for _ in range(3))
        losses.append(plain.two_layer_descent(w1, w2, teacher / np.sqrt(h), [(lr, lr)], steps)[-1, 0])
        if not seed:
            engine = two_layer_descent(w1, w2, teacher / np.sqrt(h), teacher / np.sqrt(h), lr, lr, steps)
            np.testing.assert_allclose(losses[0], engine[-1], rtol=1e-12)
    error = np.std(losses, ddof=1) / np.sqrt(len(losses))
    assert abs(np.mean(losses) - expected_loss(lr, lr, h, steps)) < 3 * error < 0.02 * np.mean(losses)
