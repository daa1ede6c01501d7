"""Random initialisation of linear maps: moments, floors, runs against loops."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lrtransfer import stages as s


@pytest.mark.parametrize("composition", ["additive", "residual"])
def test_moments_of_random_initialisation(composition):
    """Expected loss and mean error by recursion against 2000 runs, within 4.5 standard errors."""
    teacher, covariance = s.problem(8.0, 1.0, 4)
    exact = s.random_moments(teacher, covariance, 40, scale=0.2, composition=composition)
    seen = s.random_run(teacher, covariance, 40, scale=0.2, draws=2000, composition=composition)
    assert seen.excess.shape == (41, 2000)
    error = seen.excess.std(axis=1, ddof=1) / np.sqrt(2000)
    assert (abs(seen.excess.mean(axis=1) - exact.excess) < 4.5 * error + 1e-15).all()
    # the direction of L is reset by every stage: there the error is rounding only, hence the 1e-14
    assert (abs(seen.mean - exact.mean) < 5 * seen.error + 1e-14).all()
    np.testing.assert_allclose(exact.mean, s.run("gd", teacher, covariance, 40).errors, rtol=0, atol=1e-13)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.floats(1.5, 30.0), st.floats(0.0, 0.15), st.sampled_from(["additive", "residual"]))
def test_floor_is_the_limit_of_the_moments(seed, kappa, scale, composition):
    teacher, covariance = s.problem(kappa, 0.5, 3, seed)
    moments = s.random_moments(teacher, covariance, 1500, scale=scale, composition=composition)
    # the slowest factor is (1 - 1/kappa)^2 (1 + scale^2), at most 0.957: e^-65 after 1500 stages
    assert moments.excess[-1] == pytest.approx(moments.floor, rel=1e-9, abs=1e-25)
    if scale == 0:
        np.testing.assert_allclose(
            moments.excess[:50], s.excess_loss("gd", teacher, covariance, 49), rtol=1e-8, atol=1e-20
        )


@pytest.mark.parametrize("composition", ["additive", "residual"])
def test_random_runs_are_what_a_loop_gives(composition):
    """In W and not in its error, with the draws of the same generator and a step that is not 1/L."""
    teacher, covariance = s.problem(8.0, 1.0, 3)
    seen = s.random_run(teacher, 5 * covariance, 9, scale=0.2, draws=4, composition=composition, step=0.3,
                        seed=np.random.default_rng(3))  # fmt: skip
    again = s.random_run(teacher, 5 * covariance, 9, scale=0.2, draws=4, composition=composition, step=0.3, seed=3)
    np.testing.assert_array_equal(seen.excess, again.excess)
    rng, networks = np.random.default_rng(3), [np.eye(3)] * 4
    for t in range(10):
        for r, W in enumerate(networks):
            away = W - teacher
            assert seen.excess[t, r] == pytest.approx(5 * np.trace(away @ covariance @ away.T) / 2, rel=1e-11)
        noise = 0.2 / np.sqrt(3) * rng.standard_normal((4, 3, 3))
        moved = [W + (n @ W if composition == "residual" else n) for W, n in zip(networks, noise, strict=True)]
        networks = [W - 0.3 * (W - teacher) @ covariance for W in moved]  # L = 5: step / L times 5 covariance


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 10**6), st.floats(1.5, 30.0), st.floats(0.05, 1.9))
def test_additive_floor(seed, kappa, step):
    """The closed form against the moments, and against the recursion v <- q (v + c) of every mode on its own."""
    teacher, covariance = s.problem(kappa, 0.5, 3, seed)
    floor = s.additive_floor(7 * covariance, scale=0.3, step=step)
    moments = s.random_moments(teacher, 7 * covariance, 1, scale=0.3, composition="additive", step=step)
    assert floor == pytest.approx(moments.floor, rel=1e-9)
    h, variance = np.geomspace(7 / kappa, 7, 3), np.zeros(3)
    for _ in range(6000):  # the slowest factor is (1 - 0.05 / 30)^2: e^-20
        variance = (1 - step * h / 7) ** 2 * (variance + 0.3**2 / 3)
    assert floor == pytest.approx(0.5 * 3 * (h * variance).sum(), rel=1e-7)


def test_additive_floor_of_small_steps_and_many():
    covariance = 4 * s.problem(10.0, 1.0, 5)[1]
    steps = np.array([1e-5, 0.1, 1.0])
    floors = s.additive_floor(covariance, scale=[[0.1], [0.2]], step=steps)
    assert floors.shape == (2, 3)
    np.testing.assert_allclose(floors[1], 4 * floors[0], rtol=1e-12)
    assert floors[0, 0] == pytest.approx(0.1**2 * 4 * 5 / (4 * 1e-5), rel=1e-4)  # the next term is of order the step
    assert (np.diff(floors[0]) < 0).all()


@pytest.mark.parametrize("composition", ["additive", "residual"])
def test_moments_at_another_step(composition):
    """2000 runs, 4.5 standard errors, as for the step 1/L."""
    teacher, covariance = s.problem(8.0, 1.0, 4)
    exact = s.random_moments(teacher, covariance, 40, scale=0.2, composition=composition, step=0.4)
    seen = s.random_run(teacher, covariance, 40, scale=0.2, draws=2000, composition=composition, step=0.4, seed=1)
    error = seen.excess.std(axis=1, ddof=1) / np.sqrt(2000)
    assert (abs(seen.excess.mean(axis=1) - exact.excess) < 4.5 * error + 1e-15).all()
    assert abs(exact.excess - s.random_moments(teacher, covariance, 40, scale=0.2).excess).max() > 0.1


def test_floor_can_be_infinite():
    teacher, covariance = s.problem(50.0, 0.5, 3)
    limit = np.sqrt(1 / (1 - 1 / 50) ** 2 - 1)
    assert np.isfinite(s.random_moments(teacher, covariance, 5, scale=0.99 * limit).floor)
    far = s.random_moments(teacher, covariance, 20000, scale=3.0)
    assert far.floor == np.inf and far.excess[-1] == np.inf and not np.isnan(far.excess).any()
    assert np.isfinite(s.random_moments(teacher, covariance, 5, scale=3.0, composition="additive").floor)


def test_runs_that_overflow_are_infinite_and_never_nan():
    teacher, covariance = s.problem(3.0, 1.0, 2)
    run = s.random_run(teacher, covariance, 6, scale=1e80, draws=3)
    assert np.isfinite(run.excess[0]).all() and np.isinf(run.excess[-1]).all()
    assert np.isinf(run.mean[-1]).all() and np.isinf(run.error[-1]).all() and np.isfinite(run.error[0]).all()
    assert not any(np.isnan(a).any() for a in (run.excess, run.mean, run.error))
