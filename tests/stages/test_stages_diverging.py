"""Runs that diverge: infinity from where they do, no NaN and no warning (warnings are errors here)."""

import numpy as np
import pytest

from lrtransfer.stages import early_stopped, explosions, late_rates, logistic_loss, squared_loss, train
from lrtransfer.stages.boosting.ensembles import smoothed_nesterov
from lrtransfer.stages.functional.convex import nesterov

POINTS = np.random.default_rng(0).standard_normal((6, 2))
LOSS = squared_loss(POINTS + 1.0)


def only_inf_after_finite(path):
    """A course that is finite, then inf to its end."""
    assert not np.isnan(path).any() and np.isposinf(path[~np.isfinite(path)]).all()
    good = np.isfinite(path)
    np.testing.assert_array_equal(good, np.logical_and.accumulate(good, axis=0))
    return not good[-1].any()


@pytest.mark.parametrize("lr", [1e3, 1e150, 1e300])
def test_steps_from_a_start(lr):
    end = early_stopped(LOSS, POINTS, lr, 400)
    assert np.isposinf(end).all()
    fitted = early_stopped(LOSS, POINTS, 1.0, 3)
    np.testing.assert_allclose(fitted, POINTS + 1.0)


@pytest.mark.parametrize("composition", ["additive", "residual"])
@pytest.mark.parametrize("init", ["zero", "random", "stacking", "nesterov"])
@pytest.mark.parametrize("lam", [1e-3, 1e-300])
def test_training_stage_by_stage(composition, init, lam):
    run = train(LOSS, POINTS, 300, init=init, composition=composition, lam=lam)
    assert all(map(only_inf_after_finite, (run.predictions, run.losses, run.starts, run.drift[:, None])[:3]))
    assert not np.isnan(run.drift).any()


def test_the_logistic_loss():
    run = train(logistic_loss(np.sign(POINTS[:, 0]), 0.1), POINTS[:, :1], 300, init="nesterov", lam=1e-4)
    assert not np.isnan(run.losses).any() and np.isposinf(run.losses[-1])


def test_nesterov_s_method_with_and_without_a_smoother():
    path = nesterov(lambda e: np.array([1.0, 0.5]) * e, np.ones(2), lr=[10.0, 0.5], betas=np.full(900, 0.9))
    assert np.isposinf(path[-1, 0]) and np.isfinite(path[:, 1]).all()
    only_inf_after_finite(path)
    smoother = POINTS @ POINTS.T
    for loss, y in (("squared", POINTS[:, 0]), ("logistic", np.sign(POINTS[:, 0]))):
        for lr in (1e3, 1e300):
            losses = smoothed_nesterov("schedule", smoother, y, 200, loss=loss, lr=lr)
            assert not np.isnan(losses).any()
            if loss == "squared":
                assert only_inf_after_finite(losses)


def test_how_high_and_how_fast():
    still = explosions(10.0, 0.0, 5, seeds=range(2), d=3)
    assert still.peak.tolist() == [1.0, 1.0] and not still.lost.any()
    far = explosions(10.0, 1e200, 5, seeds=range(2), d=3)
    assert np.isposinf(far.peak).all() and far.lost.all()
    assert late_rates("stacking", [1e3], 1e3, d=3).tolist() == [-np.inf]  # it explodes
    assert late_rates("gd", [4.0], 0.0, d=3).tolist() == [np.inf]  # there from the start
