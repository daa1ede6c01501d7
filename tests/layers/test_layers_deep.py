"""Three and more layers: the 2 x 2 recursion against dense networks, and what follows from it."""

from __future__ import annotations

import numpy as np
import pytest

from lrtransfer.layers import (
    chain_losses,
    deep_balanced_edge,
    deep_curvature,
    deep_curvature_course,
    deep_loss,
    deep_loss_course,
    deep_self_interaction,
)
from lrtransfer.layers.deep import network_losses, over_draws, teacher_draws
from lrtransfer.layers.dense import chain_descent
from lrtransfer.numerics.random import haar_orthogonal


@pytest.mark.parametrize("k", [1, 2, 3, 7])
def test_every_draw_is_the_two_by_two_recursion(k):
    h, steps = 40, 5
    rng = np.random.default_rng(k)
    weights = [haar_orthogonal(h, rng) for _ in range(k)]
    a, beta = rng.standard_normal((2, h)) / np.sqrt(h)
    lrs = rng.uniform(1, 12 / k, k)
    dense = chain_descent(weights, a, beta, beta, lrs.tolist(), steps)
    rotated = beta
    for weight in weights:
        rotated = weight.T @ rotated
    size = np.linalg.norm(a)
    along = rotated @ a / size
    across = np.sqrt(rotated @ rotated - along**2)
    reduced = network_losses(
        lrs[:, None] / np.sqrt(h), np.array([[size, 0.0]]), np.array([[along, across]]), h, steps, False, True
    )
    np.testing.assert_allclose(reduced[:, 0, 0], dense, rtol=1e-11)  # rounding; measured 2e-14 at k = 7


@pytest.mark.parametrize("k", [2, 3])
def test_mean_over_dense_draws(k):
    h, draws = 20, 1500
    lrs = [2.0, 3.0, 1.0][:k]
    dense = chain_losses(lrs, h, 3, draws=draws, seed=11)
    reduced = deep_loss_course(lrs, h, 3, draws=40_000, seed=12)
    error = np.hypot(dense.std(axis=1, ddof=1) / np.sqrt(draws), reduced.standard_error)
    assert (np.abs(dense.mean(axis=1) - reduced.mean) < 4 * error).all()
    assert (error < 0.1 * reduced.mean).all()


def test_one_trained_matrix_is_linear_regression():
    """Each draw shrinks its starting residual by 1 - eta |a|^2 / h a step."""
    h, eta, steps = 30, 12.0, 4
    a, beta = teacher_draws(h, 500, 5)
    residual = a / np.sqrt(h) - beta
    shrink = (1 - eta * (a**2).sum(axis=1) / h) ** (2 * steps)
    expected = np.mean((residual**2).sum(axis=1) * shrink)
    assert float(deep_loss([eta], h, steps, draws=500, seed=5).mean) == pytest.approx(expected, rel=1e-12)


def test_loss_at_the_start():
    mean, error = deep_loss([1.0, 2.0, 3.0], 50, 0, draws=20_000, seed=0)
    assert abs(float(mean) - (1 + 1 / 50)) < 4 * float(error)


@pytest.mark.parametrize("signal_only", [False, True])
@pytest.mark.parametrize("steps", [1, 2, 5])
def test_curvature_is_the_second_derivative(steps, signal_only):
    """On the same draws; fourth-order differences, truncation d^4."""
    h, alpha, d = 400, 0.35, 0.02
    deltas = d * np.arange(-2, 3)
    lrs = h**alpha * np.stack([1 + deltas, 1 - deltas])
    losses = deep_loss(lrs, h, steps, draws=300, seed=4, signal_only=signal_only).mean
    difference = np.dot([-1, 16, -30, 16, -1], losses) / (12 * d * d)
    found = deep_curvature(alpha, h, steps, draws=300, seed=4, signal_only=signal_only)
    assert float(found.mean) == pytest.approx(difference, rel=1e-4)


def test_transition_of_three_layers():
    """h = 1000: a maximum after one step; a minimum after two below h^(1/2), not at h^0.7 and above."""
    for alpha in (0.2, 0.35, 0.5):
        one, two = (deep_curvature(alpha, 1000, t, draws=2000, seed=0) for t in (1, 2))
        assert float(one.mean) < -4 * float(one.standard_error)
        assert float(two.mean) > 4 * float(two.standard_error)
    for alpha in (0.7, 0.8):
        two = deep_curvature(alpha, 1000, 2, draws=2000, seed=0)
        assert float(two.mean) < -4 * float(two.standard_error)


@pytest.mark.parametrize("signal_only", [False, True])
def test_the_balanced_edge_is_where_the_curvature_changes_sign(signal_only):
    options = dict(draws=200, seed=3, signal_only=signal_only)
    edge = deep_balanced_edge(1000, 2, tolerance=1e-5, **options)
    below, above = (float(deep_curvature(edge + d, 1000, 2, **options).mean) for d in (-1e-4, 1e-4))
    assert below > 0 > above


def test_the_balanced_edge_of_the_surrogate_tends_to_two_thirds():
    """2/3 - ln 4 / (3 ln h); the distance measured 0.058, 0.0046 and 0.0006 at h = 10^2, 10^4, 10^6."""
    widths = [10**2, 10**4, 10**6]
    edges = [deep_balanced_edge(h, 2, draws=400, seed=0, signal_only=True) for h in widths]
    distance = np.abs(np.array(edges) - (2 - np.log(4) / np.log(widths)) / 3)
    assert (distance[1:] < 0.5 * distance[:-1]).all() and distance[-1] < 0.002


def test_an_interval_without_an_edge_is_refused():
    for interval in ((0.35, 0.4), (0.8, 0.9), (0.9, 0.5), (0.3, 0.5, 0.9)):
        with pytest.raises(ValueError, match=r"^interval = "):
            deep_balanced_edge(1000, 2, draws=50, seed=0, interval=interval)
    with pytest.raises(ValueError, match=r"^interval = "):
        deep_balanced_edge(1000, 1, draws=50, seed=0)  # a hill at every rate
    with pytest.raises(ValueError, match=r"^tolerance = "):
        deep_balanced_edge(1000, 2, draws=50, seed=0, tolerance=0.0)


def test_learned_networks_are_stable_below_the_root_of_the_width():
    h = 1000
    below, above = (deep_loss([u * h**0.5] * 2, h, 60, draws=200, seed=0).mean for u in (0.8, 1.2))
    assert below < 1e-6
    assert above > 1e-2


def test_grids_courses_and_seeds():
    grid = np.array([[1.0, 5.0, 9.0], [2.0, 4.0, 30.0]])
    whole = deep_loss(grid, 60, 4, draws=50, seed=9)
    assert whole.mean.shape == whole.standard_error.shape == (3,)
    for j in range(3):
        single = deep_loss(grid[:, j], 60, 4, draws=50, seed=9)
        np.testing.assert_allclose(single.mean, whole.mean[j], rtol=1e-12)
        course = deep_loss_course(grid[:, j], 60, 4, draws=50, seed=9)
        np.testing.assert_allclose(course.mean[-1], single.mean, rtol=1e-12)
    curve = deep_curvature_course(0.3, 60, 4, draws=50, seed=9)
    np.testing.assert_array_equal(curve.mean[-1], deep_curvature(0.3, 60, 4, draws=50, seed=9).mean)
    assert curve.mean[0] == 0
    assert deep_loss([1, 2], 60, 2, draws=50, seed=1).mean != deep_loss([1, 2], 60, 2, draws=50, seed=2).mean


def test_divergence_is_inf_and_never_nan():
    course = deep_loss_course([1e5, 1e5, 1e300], 20, 12, draws=20, seed=0)
    assert not np.isnan(course.mean).any() and not np.isnan(course.standard_error).any()
    assert course.mean[-1] == course.standard_error[-1] == np.inf
    curvature = deep_curvature(50.0, 20, 12, draws=20, seed=0)
    assert curvature.mean == curvature.standard_error == np.inf


def test_self_interaction_at_the_start():
    """|theta| / |theta - beta| with |theta|^2 = |a|^2 / h: near 1 / sqrt(h + 1), the same for every layer."""
    start = deep_self_interaction([10.0, 20.0, 5.0], 400, 2, draws=4000, seed=0)
    assert start.mean.shape == (3, 3)
    np.testing.assert_allclose(start.mean[0], start.mean[0, 0], rtol=1e-12)
    assert start.mean[0, 0] == pytest.approx(1 / np.sqrt(401), rel=5e-3)  # relative order 1/h, plus sampling


@pytest.mark.parametrize(
    ("lrs", "h", "steps", "draws", "seed", "name"),
    [
        ([], 10, 1, 10, 0, "lrs"),
        (3.0, 10, 1, 10, 0, "lrs"),
        ([1.0, -1.0], 10, 1, 10, 0, "lrs"),
        ([1.0, np.nan], 10, 1, 10, 0, "lrs"),
        ([1.0], 1, 1, 10, 0, "h"),
        ([1.0], 10, -1, 10, 0, "steps"),
        ([1.0], 10, 1, 1, 0, "draws"),
        ([1.0], 10, 1, 10, -3, "seed"),
    ],
)
def test_bad_input_is_named(lrs, h, steps, draws, seed, name):
    with pytest.raises(ValueError, match=rf"^{name} = "):
        deep_loss(lrs, h, steps, draws=draws, seed=seed)


def test_both_or_neither_are_finite():
    """Squares of 1e200 overflow, but the values do not: the standard error scales with its values."""
    values = np.array([[1.0, 1.0], [2.0, np.inf], [4.0, 3.0]])
    small, large = over_draws(values), over_draws(1e200 * values)
    assert large.mean[0] == pytest.approx(1e200 * small.mean[0], rel=1e-15)
    assert large.standard_error[0] == pytest.approx(1e200 * small.standard_error[0], rel=1e-15)
    assert small.mean[1] == small.standard_error[1] == large.mean[1] == large.standard_error[1] == np.inf
    near = over_draws(np.full((3, 1), 1.7e308))
    assert np.isfinite(near.mean).all() and np.isfinite(near.standard_error).all()
