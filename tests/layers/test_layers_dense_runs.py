"""Balanced against split rates in dense runs, the schedule's runs, and the records made of them."""

from __future__ import annotations

import json

import numpy as np
import pytest

from lrtransfer.layers import chain_losses, expected_loss, recorded, two_layer_losses
from lrtransfer.layers.experiments import (
    ScheduleRuns,
    advantage,
    balance_runs,
    edges_of,
    gains,
    schedule_runs,
    split_over_seeds,
    split_statistics,
)
from lrtransfer.layers.relu import train_three_layers
from lrtransfer.sweeps import recorder


def test_runs_are_those_of_the_dense_networks():
    options = dict(draws=2, seed=3)
    two = balance_runs(2, [20.0, 30.0], 12, 2, split=0.4, **options)
    assert two.shape == (3, 2, 2, 3)
    np.testing.assert_array_equal(two[..., 2], two_layer_losses([28.0, 42.0], [12.0, 18.0], 12, 2, **options))
    three = balance_runs(3, [2.0], 12, 2, split=0.5, noise=0.1, **options)
    np.testing.assert_array_equal(three[:, :, 0, 0], chain_losses([1.0, 3.0], 12, 2, noise=0.1, **options))


def test_advantage_is_the_loss_difference():
    """Against the exact expectation, within 4 standard errors at every step."""
    h, rate, split = 24, 60.0, 0.5
    won = advantage(balance_runs(2, [rate], h, 3, split=split, draws=400, seed=0))
    for t in (1, 2, 3):
        exact = expected_loss(rate * (1 + split), rate * (1 - split), h, t) - expected_loss(rate, rate, h, t)
        assert abs(won.mean[t, 0] - exact) < 4 * won.standard_error[t, 0]
        assert abs(exact) > 8 * won.standard_error[t, 0]  # so that zero would not pass


def test_divergence_is_inf():
    won = advantage(balance_runs(2, [1e6], 8, 12, split=0.5, draws=2, seed=0))
    assert np.isinf(won.mean[-1]).all() and not np.isnan(won.mean).any()


def test_schedule_runs_are_paired():
    runs = schedule_runs(10, 0.5, 6, seeds=[4, 7], initialisation="gaussian")
    assert runs.test_loss.shape == (2, 2, 7) and runs.sharpness.shape == (2, 2)
    alone = train_three_layers(10, 0.5, 6, seed=7, schedule="norm", initialisation="gaussian", sharpness=True)
    np.testing.assert_array_equal(runs.train_loss[1, 1], alone.train_loss)
    assert runs.sharpness[1, 1] == alone.sharpness
    mean, error = runs.difference(runs.test_loss[:, :, -1])
    a, b = runs.test_loss[1, :, -1] - runs.test_loss[0, :, -1]
    assert mean == pytest.approx((a + b) / 2, abs=1e-15) and error == pytest.approx(abs(a - b) / 2)


def test_a_schedule_run_that_diverged_is_inf():
    finite = np.zeros((2, 2))
    runs = ScheduleRuns(finite, finite, finite, finite)
    assert tuple(runs.difference(np.array([[1.0, np.inf], [2.0, np.inf]]))) == (np.inf, np.inf)
    assert tuple(runs.difference(np.array([[1.0, 1.0], [2.0, np.inf]]))) == (np.inf, np.inf)


SPLITS = np.array([-1.0, -0.5, -0.2, 0.0, 0.2, 0.5, 1.0])


def test_the_best_split_of_parabolas_is_their_mean_vertex():
    """A mean of parabolas of one bend has its vertex at the mean of theirs; the bootstrap's error is theirs too."""
    rng = np.random.default_rng(0)
    vertices = 0.1 + 0.05 * rng.standard_normal(40)
    losses = 3 * (SPLITS - vertices[:, None]) ** 2 + rng.standard_normal((40, 1))
    best, error = split_over_seeds(SPLITS, losses, resamples=2000, seed=1)
    assert best == pytest.approx(vertices.mean(), abs=1e-12)
    # of resamples: the spread with n instead of n - 1, known to 1 / sqrt(2 * 2000) = 1.6%; four of these
    assert error == pytest.approx(vertices.std(ddof=0) / 40**0.5, rel=0.064)
    assert split_over_seeds(SPLITS, losses, seed=5) == split_over_seeds(SPLITS, losses, seed=5)
    shifted = losses - losses[:, :1]  # what a seed has in common at every split does not count
    assert split_over_seeds(SPLITS, shifted, resamples=2000, seed=1) == pytest.approx((best, error), abs=1e-12)


def test_the_best_split_at_an_end_and_of_one_seed():
    falling = np.array([-SPLITS, -2 * SPLITS])
    assert split_over_seeds(SPLITS, falling, seed=0) == (1.0, 0.0)
    assert split_over_seeds(SPLITS, falling[:1], seed=0) == (1.0, np.inf)
    falling[0, -1] = np.inf  # diverged for one seed: not the best for both
    assert split_over_seeds(SPLITS, falling, seed=0)[0] == 0.5


def test_statistics_of_parabolas():
    """Losses c_s (d - v_s)^2 t: slope -2 c v t, curvature 2 c t, and what the splits 0.7 and -0.7 lose."""
    splits = np.array([-1.0, -0.7, -0.2, 0.0, 0.2, 0.7, 1.0])
    rng = np.random.default_rng(0)
    vertex, bend = 0.1 * rng.standard_normal(30), 1 + rng.random(30)
    curves = bend[:, None] * (splits - vertex[:, None]) ** 2
    found = split_statistics(splits, curves[..., None] * np.arange(3), seed=0)
    assert found.seeds == 30 and found.best.shape == (3, 2)
    for values, expected in (
        (found.slope, -2 * bend * vertex),
        (found.curvature, 2 * bend),
        (found.one_sided, bend * (0.49 - 1.4 * vertex)),
        (found.both_sides, 0.49 * bend),
    ):
        np.testing.assert_allclose(values[2], 2 * np.array([expected.mean(), expected.std(ddof=1) / 30**0.5]))
    assert found.best[2, 0] == pytest.approx(np.average(vertex, weights=bend), abs=1e-12)


@pytest.mark.parametrize("name", list(recorded.SETTINGS))
def test_records_hold_their_settings_and_numbers(name, tmp_path):
    record = recorded.read(name)
    assert record is not None
    assert [run["settings"] for run in record["runs"]] == json.loads(json.dumps(recorded.SETTINGS[name]))
    assert record["cpu_seconds"] > 0 and record["versions"] and record["machine"]
    made_by = next(each for each in recorded.RECIPES if each.name == f"layers-{name}")
    small = [dict(settings) | {"h": 6, "steps": 1} for settings in made_by.settings["runs"]][:2]
    recipe = recorded.recipe(name, made_by.what, recorded.MAKERS[name], small)
    numbers = json.loads(recorder.record(recipe, folder=tmp_path, runs=tmp_path).read_text())["numbers"]
    assert [run.keys() for run in numbers["runs"]] == [record["runs"][0]["numbers"].keys()] * len(small)


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: balance_runs(4, [1.0], 8, 1, split=0.5, draws=2, seed=0), "layers"),
        (lambda: balance_runs(2, [1.0], 8, 1, split=1.5, draws=2, seed=0), "split"),
        (lambda: balance_runs(2, [-1.0], 8, 1, split=0.5, draws=2, seed=0), "rates"),
        (lambda: schedule_runs(8, 1.0, 1, seeds=[0]), "seeds"),
        (lambda: split_over_seeds([0.0, 0.1], np.ones((2, 2)), seed=0), "splits"),
        (lambda: split_over_seeds([0.0, 0.2, 0.1], np.ones((2, 3)), seed=0), "splits"),
        (lambda: split_over_seeds(SPLITS, np.ones((2, 3)), seed=0), "losses"),
        (lambda: split_over_seeds(SPLITS, np.full((2, 7), np.inf), seed=0), "losses"),
        (lambda: split_over_seeds(SPLITS, np.full((2, 7), np.nan), seed=0), "losses"),
        (lambda: split_over_seeds(SPLITS, [[-np.inf, *range(6)]], seed=0), "losses"),
        (lambda: split_over_seeds(SPLITS, np.ones((2, 7)), resamples=1, seed=0), "resamples"),
        (lambda: split_statistics(SPLITS, np.ones((2, 7, 2)), seed=0), "splits"),
        (lambda: split_statistics([-0.7, -0.2, 0.0, 0.2, 0.7], np.ones((1, 5, 2)), seed=0), "losses"),
        (lambda: recorded.read("nothing"), "name"),
        (lambda: gains(np.ones((2, 2))), "losses"),
        (lambda: gains(np.full((2, 3), np.nan)), "losses"),
        (lambda: edges_of([0.0, 1.0], [[1.0, -1.0]]), "values"),
        (lambda: edges_of([0.0, 1.0], np.ones((2, 3))), "values"),
        (lambda: edges_of([0.0, 1.0], [[1.0, np.inf], [1.0, 1.0]]), "values"),
    ],
)
def test_bad_input_is_named(call, name):
    with pytest.raises(ValueError, match=name):
        call()


def test_gains_are_taken_within_each_draw_and_inf_where_one_diverged():
    losses = np.array([[[3.0, 1.0, 2.0], [np.inf, 1.0, np.inf], [1.0, np.inf, 1.0]]])
    assert gains(losses).tolist() == [[1.5, np.inf, np.inf]]


def test_edges_of_noisy_lines_are_their_zeros_with_the_error_of_the_mean():
    """Lines y = c (x - a) with noise of sd s in each draw: the zero of the mean is known to s / (c sqrt(draws))."""
    x, place, slope, noise, draws = np.linspace(0, 1, 11), 0.437, 3.0, 0.05, 64
    rng, found = np.random.default_rng(0), []
    for _ in range(200):
        values = slope * (x - place) + noise * rng.standard_normal((draws, 1))  # common to a draw's samples
        (edge,) = edges_of(x, values)
        found.append(((edge.value - place) / edge.error, edge.error))
    off, errors = np.array(found).T
    assert np.mean(errors) == pytest.approx(noise / slope / draws**0.5, rel=0.05)
    assert np.std(off) == pytest.approx(1.0, abs=0.2)  # 200 draws know it to 0.05; four of these


def test_edges_know_the_bend_between_samples():
    """A cubic sampled coarsely, without scatter: the error is that of the line and covers the distance to the zero."""
    x = np.linspace(0, 2, 6)
    (edge,) = edges_of(x, np.tile(x**3 - 1.5, (3, 1)))
    assert 0 < abs(edge.value - 1.5 ** (1 / 3)) < 2 * edge.error < 0.1
    assert edges_of([0.0, 1.0], [[1.0, 2.0], [1.0, 3.0]]) == []
