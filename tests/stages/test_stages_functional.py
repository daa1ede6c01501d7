"""Stages in function space and random starts: each identity against a computation that does not assume it."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lrtransfer import stages as s


def losses(seed=0, m=12):
    g = np.random.default_rng(seed)
    metric = np.diag([1.0, 0.2, 0.03])
    labels = np.sign(g.standard_normal(m))
    return {
        "squared": (s.squared_loss(g.standard_normal((m, 3)), metric), g.standard_normal((m, 3))),
        "logistic": (s.logistic_loss(labels, ridge=0.05), g.standard_normal((m, 1))),
    }


@pytest.mark.parametrize("name", ["squared", "logistic"])
def test_gradients_are_those_of_the_inner_product(name):
    """l(F + eps G) - l(F - eps G) against 2 eps <grad l(F), G>, the mean over points."""
    loss, f = losses()[name]
    g, eps = np.random.default_rng(1).standard_normal(f.shape), 1e-5
    slope = (loss.value(f + eps * g) - loss.value(f - eps * g)) / (2 * eps)
    # the third derivative enters with eps^2 = 1e-10, rounding with 1e-16 / eps
    assert slope == pytest.approx((loss.gradient(f) * g).sum(axis=1).mean(), abs=1e-9)
    assert loss.value(np.stack([f, g])).shape == (2,)


@pytest.mark.parametrize("name", ["squared", "logistic"])
def test_smoothness_and_convexity(name):
    loss, f = losses()[name]
    for seed in range(20):
        other = f + np.random.default_rng(seed).standard_normal(f.shape) * 10.0 ** np.random.default_rng(seed).uniform(
            -2, 1
        )
        away = ((other - f) ** 2).sum(axis=1).mean()
        excess = loss.value(other) - loss.value(f) - ((loss.gradient(f) * (other - f)).sum(axis=1)).mean()
        assert loss.convexity / 2 * away * (1 - 1e-9) <= excess + 1e-15
        assert excess <= loss.smoothness / 2 * away * (1 + 1e-9) + 1e-15


@pytest.mark.parametrize("name", ["squared", "logistic"])
def test_assumption_2_1_by_minimisation(name):
    loss, f = losses()[name]
    lam = 1.3 * loss.smoothness
    step = f - loss.gradient(f) / lam
    # L-BFGS stops at a gradient of 1e-12 of an objective with curvature lam
    np.testing.assert_allclose(s.minimise_stage(loss, f, lam), step, rtol=0, atol=1e-9)
    proximal = s.minimise_stage(loss, f, lam, linearised=False)
    np.testing.assert_allclose(proximal, f - loss.gradient(proximal) / lam, rtol=0, atol=1e-6)
    assert abs(proximal - step).max() > 1e-3
    # one functional gradient step is the assumption exactly; many short ones are not
    np.testing.assert_array_equal(s.early_stopped(loss, f, 1 / lam, 1), f - (1 / lam) * loss.gradient(f))
    near, far = (abs(s.early_stopped(loss, f, 1 / (scale * lam) / 8, 8) - (f - loss.gradient(f) / (scale * lam))).max()
                 for scale in (100.0, 10.0))  # fmt: skip
    assert near == pytest.approx(far / 100, rel=0.3)  # they part at second order in 1/lam


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.floats(0.0, 1.0), st.sampled_from(["squared", "logistic"]))
def test_additive_stacking_is_nesterov(seed, beta, name):
    """The ensemble f_1 + .. + f_T, each new f begun at beta f_t, against Nesterov's two recursions."""
    loss, start = losses(seed)[name]
    step = 1 / loss.smoothness
    ensemble = [np.zeros_like(start)]
    y = [start]
    x = start
    for _ in range(25):
        begin = start + sum(ensemble) + beta * ensemble[-1]
        ensemble.append(beta * ensemble[-1] - step * loss.gradient(begin))
        y.append(x - step * loss.gradient(x))
        x = y[-1] + beta * (y[-1] - y[-2])
    run = s.train(loss, start, 25, init="stacking", beta=beta)
    sums = start + np.cumsum(ensemble, axis=0)
    # sums of 25 terms of size 1 to 10, each rounded: machine precision
    np.testing.assert_allclose(run.predictions, y, rtol=0, atol=1e-13)
    np.testing.assert_allclose(sums, y, rtol=0, atol=1e-12)
    same = s.train(loss, start, 25, init="nesterov", composition="residual", beta=beta)
    np.testing.assert_array_equal(run.predictions, same.predictions)
    assert (run.drift == 0).all()


@pytest.mark.parametrize("composition", ["additive", "residual"])
@pytest.mark.parametrize("name", ["squared", "logistic"])
def test_zero_initialisation_is_gradient_descent(name, composition):
    loss, start = losses()[name]
    run = s.train(loss, start, 10, init="zero", composition=composition, lam=2.0)
    for t in range(11):
        np.testing.assert_allclose(run.predictions[t], s.early_stopped(loss, start, 0.5, t), rtol=0, atol=1e-14)
    np.testing.assert_array_equal(run.starts, run.predictions[:-1])
    np.testing.assert_allclose(run.losses, [loss.value(f) for f in run.predictions], rtol=1e-14)


def test_residual_stacking_of_linear_maps():
    """f_t o F_t on the sample against matrices: V = (I + beta w_t) W_t, W_{t+1} = V - H (V - W*)/lam."""
    g = np.random.default_rng(0)
    x, metric, beta = g.standard_normal((9, 3)), np.diag([1.0, 0.4, 0.1]), 0.6
    teacher = np.eye(3) + 0.2 * g.standard_normal((3, 3))
    loss = s.squared_loss(x @ teacher.T, metric)
    run = s.train(loss, x, 15, init="stacking", composition="residual", beta=beta)
    other = s.train(loss, x, 15, init="nesterov", composition="residual", beta=beta)
    w, before = np.eye(3), np.eye(3)
    for t in range(15):
        np.testing.assert_allclose(run.predictions[t], x @ w.T, rtol=0, atol=1e-12)
        layer = w @ np.linalg.inv(before) - np.eye(3)
        if t:
            gap = np.linalg.norm(x @ (layer @ w - (w - before)).T) / np.linalg.norm(x @ (w - before).T)
            assert run.drift[t] == pytest.approx(gap, rel=1e-7)
        begin = (np.eye(3) + beta * layer) @ w
        np.testing.assert_allclose(run.starts[t], x @ begin.T, rtol=0, atol=1e-12)
        before, w = w, begin - metric @ (begin - teacher)
    assert abs(run.predictions[:2] - other.predictions[:2]).max() == 0
    assert abs(run.predictions[3] - other.predictions[3]).max() > 1e-4
    # as F_t and F_{t-1} come together so do f_t o F_t and f_t o F_{t-1}
    assert run.drift[-1] < 0.05 * run.drift[1]


def test_extensions_agree_where_they_know_the_function():
    g = np.random.default_rng(0)
    points, values = g.standard_normal((30, 2)), g.standard_normal((30, 2))
    np.testing.assert_allclose(s.smooth_extension(points, values)(points), values, rtol=0, atol=1e-9)
    matrix = g.standard_normal((2, 2))
    for extend in (s.linear_extension, s.smooth_extension):
        np.testing.assert_allclose(extend(points, points @ matrix)(0.5 * points), 0.5 * points @ matrix, atol=1e-9)
    loss = s.squared_loss(np.tanh(points), np.diag([1.0, 0.1]))
    run = s.train(loss, points, 12, init="stacking", composition="residual", beta=0.5, extend=s.smooth_extension)
    assert run.losses[-1] < 0.01 * run.losses[0] and run.drift[1:].min() > 0


@pytest.mark.parametrize("scale", [0.3, 1.5])
def test_random_initialisation_descends_the_smoothed_loss_on_average(scale):
    """Mean over 20000 starts against F - grad l_t(F)/lam with l_t by quadrature; 4.5 standard errors of 12 means."""
    loss, f = losses()["logistic"]
    noise = scale * np.random.default_rng(5).standard_normal((20000, *f.shape))
    ends = s.random_steps(loss, f, noise, 0.4)
    value, gradient = s.smoothed(loss, f, scale)
    error = ends.std(axis=0, ddof=1) / np.sqrt(len(noise))
    assert (abs(ends.mean(axis=0) - (f - gradient / 0.4)) < 4.5 * error).all()
    values = loss.value(f + noise)
    assert abs(values.mean() - value) < 4.5 * values.std(ddof=1) / np.sqrt(len(noise))
    if scale > 1:  # and the gradient without smoothing is told apart
        assert (abs(ends.mean(axis=0) - (f - loss.gradient(f) / 0.4)) > 6 * error).any()


def test_smoothing_by_quadrature():
    quadratic = s.squared_loss(np.zeros((3, 1)))
    f = np.array([[0.5], [1.0], [-2.0]])
    value, gradient = s.smoothed(quadratic, f, 0.7)
    np.testing.assert_allclose(gradient, f, rtol=1e-13)
    assert value == pytest.approx(quadratic.value(f) + 0.49 / 2, rel=1e-13)
    loss, f = losses()["logistic"]
    coarse, fine = s.smoothed(loss, f, 1.0, nodes=40), s.smoothed(loss, f, 1.0, nodes=80)
    np.testing.assert_allclose(coarse[1], fine[1], rtol=0, atol=1e-6)
    np.testing.assert_allclose(s.smoothed(loss, f, 0.0)[1], loss.gradient(f), rtol=1e-13)


def test_smoothing_of_a_different_size_at_every_point():
    """Only the marginal law matters: point by point the loss smoothed with that point's deviation."""
    loss, f = losses()["logistic"]
    scale = np.linspace(0.1, 2.0, len(f))[:, None]
    gradient = s.smoothed(loss, f, scale)[1]
    for i, size in enumerate(scale[:, 0]):
        np.testing.assert_allclose(gradient[i], s.smoothed(loss, f, size)[1][i], rtol=1e-13)
    # and the kicks of the points may be one and the same: a g with one Gaussian a, 20000 draws, 4.5 standard errors
    kicks = np.random.default_rng(7).standard_normal((20000, 1, 1)) * scale
    ends = s.random_steps(loss, f, kicks, 1.0)
    error = ends.std(axis=0, ddof=1) / np.sqrt(20000)
    assert (abs(ends.mean(axis=0) - (f - gradient)) < 4.5 * error).all()


def test_the_bent_problem():
    loss, points = s.bent_problem(0.5, m=20)
    assert points.shape == (20, 2) and loss.smoothness / loss.convexity == pytest.approx(100)
    x, y = points.T
    target = points + 0.5 * np.stack([np.sin(2 * y), np.cos(2 * x) * y], axis=1)
    assert loss.value(target) == 0 and (loss.gradient(target) == 0).all()
    away = points - target
    assert loss.value(points) == pytest.approx((away[:, 0] ** 2 + 0.01 * away[:, 1] ** 2).mean() / 2, rel=1e-12)


@pytest.mark.parametrize("composition", ["additive", "residual"])
def test_random_stages_begin_where_they_say(composition):
    loss, start = losses()["squared"]
    inputs = np.random.default_rng(2).standard_normal((12, 4))
    run = s.train(loss, start, 3, init="random", composition=composition, inputs=inputs, draw=s.linear_draw(0.5, 3))
    for t in range(3):
        moved = run.starts[t] - run.predictions[t]
        at = inputs if composition == "additive" else run.predictions[t]
        layer = np.linalg.lstsq(at, moved, rcond=None)[0]
        np.testing.assert_allclose(at @ layer, moved, rtol=0, atol=1e-12)
        assert abs(layer).max() > 0.05
    again = s.train(loss, start, 3, init="random", composition=composition, inputs=inputs, draw=s.linear_draw(0.5, 3))
    np.testing.assert_array_equal(run.predictions, again.predictions)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda loss, f: s.train(loss, f, 3, init="copy"), "init = 'copy'"),
        (lambda loss, f: s.train(loss, f, 3, composition="sum"), "composition = 'sum'"),
        (lambda loss, f: s.train(loss, f, -1), "stages = -1"),
        (lambda loss, f: s.train(loss, f, 3, lam=0.0), "lam = 0.0"),
        (lambda loss, f: s.train(loss, f, 3, beta=1.5), "beta = 1.5"),
        (lambda loss, f: s.train(loss, f[:, 0], 3), r"start of shape \(12,\)"),
        (lambda loss, f: s.train(loss, f, 3, inputs=f[:5]), r"inputs of shape \(5, 3\)"),
        (lambda loss, f: s.train("squared", f, 3), "loss = 'squared' is not allowed.*squared_loss"),
        (lambda loss, f: s.train(loss, f[:5], 3), r"start of shape \(5, 3\).*\(12, 3\)"),
        (lambda loss, f: s.train(loss, f, 3, extend=3), "extend = 3"),
        (lambda loss, f: s.train(loss, f, 3, init="random", draw=0.1), "draw = 0.1"),
        (lambda loss, f: s.random_steps(loss, f[:, :2], f, 1.0), r"predictor of shape \(12, 2\)"),
        (lambda loss, f: s.random_steps(loss, f, f[:5], 1.0), r"noise of shape \(5, 3\)"),
        (lambda loss, f: s.early_stopped(loss, f[:5], 0.1, 2), r"begin of shape \(5, 3\)"),
        (lambda loss, f: s.minimise_stage(None, f, 1.0), "loss = None"),
        (lambda loss, f: s.squared_loss(f, np.eye(2)), r"metric of shape \(2, 2\)"),
        (lambda loss, f: s.squared_loss(f, np.diag([1.0, 1.0, 0.0])), "metric = 0.0"),
        (lambda loss, f: s.logistic_loss([0.0, 1.0]), "each -1 or 1"),
        (lambda loss, f: s.smoothed(loss, f, 0.1), r"predictor must be \(m, 1\)"),
        (lambda loss, f: s.minimise_stage(loss, f, -1.0), "lam = -1.0"),
        (lambda loss, f: s.early_stopped(loss, f, 0.1, -2), "steps = -2"),
        (lambda loss, f: s.linear_draw(-0.1, 2), "scale = -0.1"),
        (lambda loss, f: s.random_moments(*s.problem(2.0, 1.0, 2), 3, scale=-1.0), "scale = -1.0"),
        (lambda loss, f: s.random_run(*s.problem(2.0, 1.0, 2), 3, scale=0.1, draws=1), "draws = 1"),
        (lambda loss, f: s.random_run(*s.problem([2.0, 3.0], 1.0, 2), 3, scale=0.1, draws=5), r"shape \(2, 2, 2\)"),
        (
            lambda loss, f: s.smoothed(s.logistic_loss([1.0, -1.0]), np.zeros((2, 1)), [0.1, 0.2]),
            r"scale of shape \(2,\)",
        ),
        (lambda loss, f: s.bent_problem(-1.0), "sigma = -1.0"),
        (lambda loss, f: s.random_run(*s.problem(2.0, 1.0, 2), 3, scale=0.1, draws=5, step=0.0), "step = 0.0"),
        (lambda loss, f: s.random_moments(*s.problem(2.0, 1.0, 2), 3, scale=0.1, step=-1.0), "step = -1.0"),
        (lambda loss, f: s.additive_floor(np.eye(2), scale=0.1, step=[1.0, 2.0]), "step = 2.0"),
        (lambda loss, f: s.additive_floor(np.eye(2), scale=-0.1), "scale = -0.1"),
        (lambda loss, f: s.additive_floor(np.stack([np.eye(2)] * 2), scale=0.1), r"shape \(2, 2, 2\)"),
        (lambda loss, f: s.random_moments(*s.problem(2.0, 1.0, 2), 3, scale=0.1, composition="x"), "composition = 'x'"),
    ],
)
def test_refusals_name_the_argument_and_the_value(call, named):
    with pytest.raises(ValueError, match=named):
        call(*losses()["squared"])
