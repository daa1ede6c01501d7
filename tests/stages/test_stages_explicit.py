"""Ensembles written out: against the recursions of the engines, numerical derivatives, and their own definitions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lrtransfer import stages as s

EYE = np.eye(4)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.0, 1.0), st.floats(0.3, 1.0))
def test_a_sum_of_functions_is_the_recursion_of_its_predictor(seed, beta, step):
    g = np.random.default_rng(seed)
    loss = s.logistic_loss(np.sign(g.standard_normal(9)), ridge=0.05)
    start, size = g.standard_normal((9, 1)), step / loss.smoothness
    path = s.explicit_sum(loss, start, 20, lambda f: beta * f[-1] if len(f) > 1 else 0.0, step=size)
    run = s.train(loss, start, 20, init="stacking", beta=beta, lam=1 / size)
    np.testing.assert_allclose(path, run.predictions, rtol=0, atol=1e-13)  # twenty sums of numbers of size 1 to 10
    still = s.explicit_sum(loss, start, 7, lambda f: np.zeros((9, 1)), step=size)
    np.testing.assert_allclose(still[-1], s.early_stopped(loss, start, size, 7), rtol=0, atol=1e-13)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.floats(1.5, 100.0), st.floats(1e-2, 1.0), st.sampled_from(["gd", "stacking"]))
def test_a_product_of_layers_is_the_recursion_of_the_network(seed, kappa, sigma, method):
    teacher, covariance = s.problem(kappa, sigma, 4, seed)
    beta = float(s.default_beta(kappa)) if method == "stacking" else 0.0
    rule = lambda layers: beta * layers[-1] if layers else 0 * EYE  # noqa: E731
    seen = s.explicit_layers(teacher, covariance, 25, rule, step=1.0)
    run = s.run(method, teacher, covariance, 25)
    # W of size 2 at most, multiplied out from 25 layers
    np.testing.assert_allclose(seen.products, run.iterates, rtol=0, atol=1e-11)
    np.testing.assert_allclose(seen.excess, run.excess, rtol=0, atol=1e-11 * run.excess[0] + 1e-22)


def test_layers_do_what_they_say():
    """Any rule: the layers multiply to the products, and each stage is one functional step from the rule's start."""
    teacher, covariance = s.problem(5.0, 0.8, 4, 3)
    g = np.random.default_rng(1)
    draws = 0.05 * g.standard_normal((12, 4, 4))
    seen = s.explicit_layers(teacher, covariance, 12, lambda layers: draws[len(layers)], step=0.6)
    product = EYE
    for t in range(12):
        begin = (EYE + draws[t]) @ product
        product = (EYE + seen.layers[t]) @ product
        np.testing.assert_allclose(product, begin - 0.6 * (begin - teacher) @ covariance, rtol=0, atol=1e-13)
        np.testing.assert_allclose(product, seen.products[t + 1], rtol=0, atol=1e-13)
        away = seen.products[t] - teacher
        assert seen.excess[t] == pytest.approx(np.trace(away @ covariance @ away.T) / 2, rel=1e-12)


def test_layers_that_explode_and_layers_that_end():
    teacher, covariance = s.problem(100.0, 1.0, 4)
    gone = s.explicit_layers(teacher, covariance, 200, lambda layers: 3.0 * layers[-1] if layers else 0 * EYE, step=1.0)
    assert gone.excess[-1] == np.inf and np.isinf(gone.products[-1]).all() and np.isinf(gone.layers[-1]).all()
    assert np.isfinite(gone.excess[:5]).all() and not np.isnan(gone.excess).any()
    first = int(np.isinf(gone.excess).argmax())
    assert np.isinf(gone.excess[first:]).all() and gone.excess[first - 1] > gone.excess[0]
    with pytest.raises(s.SingularIterate, match="W_1"):  # one whole step to the teacher 0, and no layer leads out of it
        s.explicit_layers(np.zeros((2, 2)), np.eye(2), 3, lambda layers: np.zeros((2, 2)), step=1.0)


def test_last_layer_descent_is_a_step_on_the_weights():
    """The first step against central differences of the loss in w at (I + w) W_0."""
    teacher, covariance = s.problem(6.0, 0.7, 3, 2)
    start, step, eps = teacher + 0.3 * np.random.default_rng(0).standard_normal((3, 3)), 0.05, 1e-5

    def loss(w):
        away = (np.eye(3) + w) @ start - teacher
        return np.trace(away @ covariance @ away.T) / 2

    slope = np.zeros((3, 3))
    for i in range(3):
        for j in range(3):
            unit = np.zeros((3, 3))
            unit[i, j] = eps
            slope[i, j] = (loss(unit) - loss(-unit)) / (2 * eps)  # exact but for rounding, as the loss is quadratic
    expected = np.linalg.norm((np.eye(3) - step * slope) @ start - teacher)
    seen = s.last_layer_descent(teacher, covariance, 1, step=step, start=start)
    assert seen[0] == pytest.approx(np.linalg.norm(start - teacher), rel=1e-14)
    assert seen[1] == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize(("share", "settles"), [(0.97, True), (1.03, False)])
def test_last_layer_descent_has_the_edge_of_its_linearisation(share, settles):
    goal, covariance = s.problem(10.0, 1.0, 4, 1)
    edge = 2 / np.linalg.eigvals(covariance @ goal.T @ goal).real.max()
    away = 1e-6 * np.random.default_rng(0).standard_normal((4, 4))
    seen = s.last_layer_descent(goal, covariance, 300, step=share * edge, start=goal + away)
    # the mode at the edge has the factor 1 - 2 share: 0.94^300 or 1.06^300, the others are slower than 1e-2
    assert (seen[-1] < seen[0]) == settles
    far = s.last_layer_descent(goal, covariance, 300, step=9 * edge, start=goal + 1e6 * away)
    assert far[-1] == np.inf and not np.isnan(far).any()


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda t, c: s.explicit_sum(s.squared_loss(t), t, -1, lambda f: 0 * t, step=1.0), "stages = -1"),
        (lambda t, c: s.explicit_sum(s.squared_loss(t), t, 2, lambda f: 0 * t, step=0.0), "step = 0.0"),
        (lambda t, c: s.explicit_layers(t, np.eye(3), 2, lambda w: 0 * t, step=1.0), "teacher of shape"),
        (
            lambda t, c: s.explicit_layers(t, t + np.triu(t), 2, lambda w: 0 * t, step=1.0),
            "covariance is not symmetric",
        ),
        (lambda t, c: s.explicit_sum("squared", t, 2, lambda f: 0 * t, step=1.0), "loss = 'squared'.*squared_loss"),
        (lambda t, c: s.explicit_sum(s.squared_loss(t), t[:2], 2, lambda f: 0.0, step=1.0), r"start of shape \(2, 4\)"),
        (lambda t, c: s.explicit_sum(s.squared_loss(t), t, 2, None, step=1.0), "begin = None"),
        (
            lambda t, c: s.explicit_sum(s.squared_loss(t), t, 2, lambda f: t[:3], step=1.0),
            r"begin returned the shape \(3, 4\)",
        ),
        (
            lambda t, c: s.explicit_sum(s.squared_loss(t), t, 2, lambda f: 0.5, step=1.0),
            r"begin returned the shape \(\)",
        ),
        (lambda t, c: s.explicit_layers(t, c, 2, None, step=1.0), "begin = None"),
        (lambda t, c: s.explicit_layers(t, c, 2, lambda w: np.zeros(4), step=1.0), r"begin returned the shape \(4,\)"),
        (lambda t, c: s.explicit_layers(t, c, 2, lambda w: t * np.nan, step=1.0), "begin = nan"),
        (lambda t, c: s.last_layer_descent(t, -c, 2, step=1.0, start=t), "positive definite"),
        (lambda t, c: s.explicit_layers(t, c, 2, lambda w: 0 * t, step=-1.0), "step = -1.0"),
        (lambda t, c: s.last_layer_descent(t, c, 2, step=0.0, start=t), "step = 0.0"),
        (lambda t, c: s.last_layer_descent(t, c, 2, step=1.0, start=np.eye(2)), "start of shape"),
    ],
)
def test_refusals_name_the_argument_and_the_value(call, named):
    with pytest.raises(ValueError, match=named):
        call(*s.problem(3.0, 0.5, 4))


@pytest.mark.parametrize(("kappa", "sigma"), [(10.0, 1.0), (1000.0, 50.0)])
def test_skips_are_nesterov(kappa, sigma):
    """Also where stacking leaves double precision."""
    problem = s.problem(kappa, sigma, d=6)
    beta = float(s.default_beta(kappa))
    found = s.explicit_skips(*problem, 60, beta=beta, step=1.0)
    ideal = s.run("nesterov", *problem, 60)
    np.testing.assert_allclose(found.products, ideal.iterates, rtol=1e-9, atol=1e-9 * sigma)
    assert found.layers.shape == (60, 6, 6)
    plain = s.explicit_skips(*problem, 20, beta=0.0, step=1.0)
    np.testing.assert_allclose(plain.excess, s.excess_loss("gd", *problem, 20), rtol=1e-8)


def test_skips_refuse():
    problem = s.problem(10.0, 1.0, d=2)
    for options, word in (({"beta": 1.5, "step": 1.0}, "beta"), ({"beta": 0.5, "step": 0.0}, "step")):
        with pytest.raises(ValueError, match=word):
            s.explicit_skips(*problem, 3, **options)
    with pytest.raises(ValueError, match="equal"):
        s.explicit_skips(np.eye(3), problem[1], 3, beta=0.5, step=1.0)
