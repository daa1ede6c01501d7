"""What the chapter loops over, at small size, against the same in a few lines."""

import numpy as np
import pytest

from lrtransfer import stages as s
from lrtransfer.stages.all_layers import experiments as all_layers
from lrtransfer.stages.all_layers.training import train_all_layers
from lrtransfer.stages.functional import experiments as functions
from lrtransfer.stages.linear import contrast
from lrtransfer.stages.linear import experiments as linear
from lrtransfer.stages.linear.far_starts import course_grid
from lrtransfer.stages.linear.noise import noise_courses


def test_flow_departs_from_the_step_as_for_one_curvature():
    """On (1/2)|F - y|^2 flow has gone 1 - e^-s of the way and the step s of it: the departure is 1 - (1 - e^-s)/s."""
    times = np.array([1.0, 0.5, 0.01])
    found = functions.flow_departures(s.squared_loss(np.ones((3, 1))), np.zeros((3, 1)), times, 4000)
    np.testing.assert_allclose(found, 1 - (1 - np.exp(-times)) / times, rtol=1e-3)


def test_the_mean_of_random_stages():
    loss = s.logistic_loss([1.0, -1.0, 1.0], 0.01)
    now, g = np.array([[0.3], [0.2], [-1.0]]), np.array([[1.0], [0.5], [2.0]])
    found = functions.mean_stage(loss, now, g, 2.0, 4000, np.random.default_rng(0))
    assert found.from_smoothed.shape == (3, 1)
    assert np.abs(found.from_smoothed).max() < 4 < 10 < np.abs(found.from_plain).max()


def test_copy_rule_is_stacking():
    loss, start = s.logistic_loss([1.0, -1.0]), np.zeros((2, 1))
    copied = s.explicit_sum(loss, start, 6, functions.copy_rule(np.full(6, 0.7)), step=1 / loss.smoothness)
    np.testing.assert_allclose(copied, s.train(loss, start, 6, init="stacking", beta=0.7).predictions, atol=1e-14)


def test_bent_gaps_are_of_second_order():
    gaps = functions.bent_gaps([0.01, 0.02], 5, beta=0.8)
    assert gaps[1] / gaps[0] == pytest.approx(4, rel=0.05)


def test_noise_courses_draw_in_turn():
    teacher, covariance = s.problem(10.0, 1.0, d=3)
    found = noise_courses(teacher, covariance, [1.0, 0.5], scale=0.1, draws=3, seed=2)
    assert found.excess.shape == (2, 2, 402, 3) and found.floors("residual").shape == (2, 3)
    rng = np.random.default_rng(2)
    options = {"scale": 0.1, "draws": 3, "composition": "additive", "seed": rng}
    first, second = (s.random_run(teacher, covariance, 401, step=step, **options).excess for step in (1.0, 0.5))
    np.testing.assert_array_equal(found.excess[0, 1], second)
    np.testing.assert_array_equal(found.mean("additive", 1.0), first[:200].mean(axis=1))
    np.testing.assert_array_equal(found.floors("additive")[0], first[200:401].mean(axis=0))
    with pytest.raises(ValueError, match="composition"):
        found.mean("product", 1.0)


def test_far_summary():
    courses = course_grid([2.0, 100.0], [1.0, 20.0], 60, seeds=[0, 1], d=4)
    found = linear.far_summary(courses, 1e-2, descent=np.full((2, 2), 99.0))
    assert found.peaks.shape == found.lost.shape == (2, 2, 2) and not found.lost.any()
    assert (found.peaks[:, 0] == 1).all() and (found.peaks >= 1).all()
    one = s.excess_loss("stacking", *s.problem(100.0, 20.0, d=4, seed=1), 60)
    assert found.needed["stacking"][1, 1, 1] == s.first_below(one, 1e-2)
    assert found.peaks[1, 1, 1] == pytest.approx(one.max() / one[0], rel=1e-12)
    assert (found.needed["gd"] == 99).all()


def test_potentials_and_the_lemma():
    kappa, alpha = 100.0, float(s.proof_alpha(100.0))
    path = linear.tracked_potentials(kappa, [0.0, alpha, 0.5], 20)
    assert path.shape == (21, 3) and (np.diff(path[:, :2], axis=0) < 0).all() and path[-1, 2] > path[-1, 1]
    found = linear.lemma_test(kappa, alpha, "adversarial", 5)
    assert found.growth <= 1 and found.shares.shape == (61, 2, 5) and found.shares[1:].max() < 1
    assert linear.lemma_test(kappa, 1.0, "adversarial", 5).growth > 1


def test_from_the_edge_starts_at_delta():
    one = linear.from_the_edge(10.0, "proved")
    goal, _ = s.problem(10.0, 1.0)
    ball = s.ball(10.0, np.linalg.svd(goal, compute_uv=False)[-1], 20, 0.1, alpha=s.proof_alpha(10.0))
    assert one.delta == pytest.approx(float(ball.delta)) and one.alpha == pytest.approx(float(s.proof_alpha(10.0)))
    assert one.last_share < one.largest_share <= 1 and one.ratio <= one.alpha and one.exponent > 1
    bounds = s.lemma_bounds(10.0, one.promised, smoothness=1.0, distance=1.0, gap=one.delta)[1]
    assert bounds[-1] <= 1e-6 * one.delta < bounds[-2] and 0 < one.needed < one.promised


def test_the_audit_of_both_starts():
    found = linear.proof_audit((10.0, 20.0), 30)
    assert found.failures == 0 and found.inside.keys() == found.outside.keys()
    assert min(one.applies for one in found.inside.values()) == 60
    assert found.falls.keys() == {10.0, 20.0} and all(0 < share <= 1 for share in found.falls.values())


def test_warmup_study_counts_the_warmup():
    found = linear.warmup_study(100.0, [1.0, 20.0], [0, 7], seeds=[0, 1], target=1e-4)
    assert found.totals.shape == (2, 2, 2) and found.best.shape == (2,)
    path = s.run("stacking", *s.problem(100.0, 20.0, seed=1), 200, warmup=7).excess
    assert found.totals[1, 1, 1] == s.first_below(path, 1e-4)
    assert linear.rescued(100.0, 20.0, [1], warmup=7, stages=193)[0] == pytest.approx(path[-1] / path[0], rel=1e-9)


def test_all_layers_readings():
    run = train_all_layers((2.0, 100.0), d=4, samples=32, test_samples=16, batch=16, seeds=range(3), stages=3)
    assert all_layers.ended_below(run, "zero").shape == (2, 3)
    found = all_layers.growth_over_random(run, "stacking")
    copy, chance = (run.excess[-1, run.inits.index(name)] for name in ("stacking", "random"))
    assert found.mean == pytest.approx(np.mean(np.log(copy[1] / chance[1]) - np.log(copy[0] / chance[0])))
    with pytest.raises(ValueError, match="init"):
        all_layers.ended_below(run, "copy")


def test_curvature_at_zero_layers_counts_the_gradient():
    """t where W* = I; otherwise the largest eigenvalue of the quadratic form of the page, built entry by entry."""
    np.testing.assert_allclose(all_layers.curvature_at_zero([2.0, 10.0], 0.0, 4, d=3), 4, rtol=1e-9)
    teacher, covariance = s.problem(5.0, 2.0, d=2)
    gradient, basis = (np.eye(2) - teacher) @ covariance, np.eye(12).reshape(12, 3, 2, 2)

    def form(a, b):
        first, second = a.sum(axis=0), b.sum(axis=0)
        cross = sum(np.trace(gradient.T @ (a[k] @ b[j] + b[k] @ a[j])) for k in range(3) for j in range(k))
        return np.trace(first @ covariance @ second.T) + cross

    hessian = np.array([[form(a, b) for b in basis] for a in basis])
    found = all_layers.curvature_at_zero([5.0], 2.0, 3, d=2)[0]
    assert found == pytest.approx(np.linalg.eigvalsh(hessian)[-1], rel=1e-9) and found > 3.5


def test_batches_have_more_curvature_than_the_sample():
    few, many = (all_layers.batch_curvature([1.0, 100.0], size, d=5, draws=50) for size in (8, 20000))
    assert few[0] > few[1] > 1
    np.testing.assert_allclose(many, 1, atol=0.05)


def test_the_contrast_of_the_three_methods():
    """Two problems at two distances, against loops."""
    kappas, sigmas, seeds, noise = np.array([2.0, 100.0]), [1.0, 20.0], [0, 1, 2], 0.1
    courses = course_grid(kappas, sigmas, 60, seeds=seeds, d=4)
    first = np.array(
        [[[s.excess_loss("gd", *s.problem(k, g, 4, e), 0)[0] for e in seeds] for g in sigmas] for k in kappas]
    )
    found = contrast.contrast(kappas, courses, first, noise=noise, level=1e-2, descent=np.full((2, 3), 40.0))
    one = {m: s.excess_loss(m, *s.problem(100.0, 20.0, 4, 1), 60) for m in s.METHODS}
    ratios = [(one["gd"][t] + noise) / (one["stacking"][t] + noise) for t in range(2, 61)]
    assert found.gain["loss"][1, 1, 1] == pytest.approx(max(ratios))
    apart = [(one["stacking"][t] + noise) / (one["nesterov"][t] + noise) for t in range(61)]
    assert found.mirror["loss"][1, 1, 1] == pytest.approx(max(max(r, 1 / r) for r in apart))
    reach = {m: s.first_below(one[m], 1e-2) for m in ("stacking", "nesterov")}
    assert found.gain["stages"][1, 1, 1] == 40 / reach["stacking"]
    assert found.mirror["stages"][1, 1, 1] == reach["stacking"] / reach["nesterov"] > 1
    assert found.verdicts("no advantage", "loss")[0] == "holds" != found.verdicts("mirrors", "loss")[1]
    mean, low, high = found.interval("much faster", "stages")
    assert mean.shape == (1, 2) and (low <= mean).all() and (mean <= high).all()
    with pytest.raises(ValueError, match="sentence"):
        found.verdicts("faster", "loss")
