"""The linear engine at its limits: singular networks, divergence, no problems at all, arguments out of range."""

from __future__ import annotations

import numpy as np
import pytest

from lrtransfer import stages as s


def test_a_singular_start_is_refused_by_name():
    teacher, covariance = np.diag([2.0, 3.0]), np.diag([1.0, 0.5])
    start = np.diag([1.0, 0.0])
    s.run("stacking", teacher, covariance, 1, start=start)  # the first stage copies nothing
    s.run("stacking", teacher, covariance, 9, start=np.eye(2) - start, warmup=2)  # nor does a warm-up
    with pytest.raises(ValueError, match=r"start with singular values from 1 down to 0 is not allowed.*nesterov"):
        s.run("stacking", teacher, covariance, 2, start=start)
    with pytest.raises(
        ValueError, match="start with singular values from 1 down to 0"
    ):  # the second problem of the two
        s.excess_loss("stacking", teacher, covariance, 5, start=np.stack([np.eye(2), start]))
    with pytest.raises(ValueError, match="previous with singular values"):
        s.run("stacking", teacher, covariance, 2, start=np.eye(2), previous=start)
    nearly = np.array([[1.0, 1.0], [1.0, 1.0 + 1e-16]])
    with pytest.raises(ValueError, match="start with singular values from 2 down to"):
        s.run("stacking", teacher, covariance, 2, start=nearly)
    assert np.isfinite(s.run("nesterov", teacher, covariance, 9, start=start).excess).all()
    assert s.run("nesterov", teacher, covariance, 2, start=start).ratios[1] == np.inf
    assert np.isfinite(s.run("stacking", teacher, covariance, 9, start=start, beta=0.0).excess).all()


def test_a_singular_iterate_is_refused_with_the_stage():
    # one step of descent from 1 towards -1 at rate 1/2 ends at exactly 0
    goal, covariance = np.diag([1.0, -1.0]), np.diag([1.0, 0.5])
    with pytest.raises(s.SingularIterate, match=r"begin stage 3: the network W_1 is singular.*warmup, of run"):
        s.run("stacking", goal, covariance, 5)
    with pytest.raises(s.SingularIterate, match=r"W_1 of problem \(1,\)"):
        s.excess_loss("stacking", np.stack([2 * np.eye(2), goal]), covariance, 5)


def test_a_teacher_beside_which_the_start_is_rounded_away():
    """W_0 = I is not singular, whatever W* is; the first layer overflows, and the run is infinite."""
    loss = s.excess_loss("stacking", 1e200 * np.eye(2), np.diag([1.0, 0.5]), 5)
    assert loss[-1] == np.inf and not np.isnan(loss).any()
    # W* = 1e17: the start's digits are lost in W_0 - W*, but not in what the layer is made of
    far = s.run("stacking", 1e17 * np.eye(2), np.diag([1.0, 0.5]), 2)
    step = 0.5 * 1e17  # of the second coordinate; W_1 = 1 + step, w_1 = step / 1
    expected = 1e17 + (-step + far.beta * (step + step * step)) * 0.5
    assert far.iterates[2, 1, 1] == pytest.approx(1e17 + (expected - 1e17), rel=1e-12)


def test_explosions_are_those_of_the_runs():
    seen = s.explosions(1000.0, 50.0, 400, seeds=range(3))
    for seed in range(3):
        path = s.excess_loss("stacking", *s.problem(1000.0, 50.0, seed=seed), 400)
        assert seen.lost[seed] == (path[-1] == np.inf)
        assert seen.peak[seed] == path[path < np.inf].max() / path[0]
    assert seen.lost.any() and (seen.peak > 1e3).all()
    calm = s.explosions(10.0, 1.0, 50, seeds=[4, 5], d=4)
    assert not calm.lost.any() and (calm.peak == 1).all()


def test_a_run_that_cannot_go_on_is_lost(monkeypatch):
    from lrtransfer.stages.linear import excess as linear

    def refuse(*args):
        raise s.SingularIterate("no inverse")

    monkeypatch.setattr(linear, "excess_loss", refuse)
    seen = s.explosions(10.0, 1.0, 5, seeds=[0], d=3)
    assert seen.lost.all() and (seen.peak == np.inf).all()


def test_divergence_is_infinite_and_never_nan():
    covariance = np.diag([1.0, 0.5])
    for method in ("gd", "nesterov"):
        loss = s.excess_loss(method, np.eye(2), covariance, 3, start=1e200 * np.eye(2))
        assert loss[0] == np.inf and not np.isnan(loss).any()
    # a copied layer of 1e310 overflows in one stage; its neighbour in the batch goes on
    start = np.stack([1e300 * np.eye(2), 2 * np.eye(2)])
    previous = np.stack([1e-10 * np.eye(2), np.eye(2)])
    r = s.run("stacking", np.eye(2), covariance, 6, beta=1.0, start=start, previous=previous)
    assert np.isinf(r.excess[1:, 0]).all() and np.isinf(r.errors[1:, 0]).all()
    assert np.isinf(r.ratios[1:, 0]).all() and np.isinf(r.changes[1:, 0]).all()
    alone = s.run("stacking", np.eye(2), covariance, 6, beta=1.0, start=start[1], previous=previous[1])
    np.testing.assert_array_equal(r.errors[:, 1], alone.errors)
    # with beta = 1 and a far teacher stacking runs away for good; it has no inverse left long before it overflows
    far = s.run("stacking", *s.problem(100.0, [1.0, 50.0]), 60, beta=1.0)
    gone = np.isinf(far.excess)
    assert not gone[:, 0].any() and gone[-1, 1] and (np.diff(gone[:, 1].astype(int)) >= 0).all()
    assert far.excess[~gone[:, 1], 1].max() > 1e12 * far.excess[0, 1]
    assert not any(np.isnan(a).any() for a in (r.errors, r.excess, r.ratios, r.deltas, r.perturbations, r.iterates))


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda e: s.excess_loss("adam", e, e, 3), "method = 'adam'.*'gd', 'stacking', 'nesterov'"),
        (lambda e: s.excess_loss("gd", e[:1], e, 3), r"teacher of shape \(1, 2\)"),
        (lambda e: s.excess_loss("gd", e, np.eye(3), 3), r"covariance of shape \(3, 3\) and teacher of shape \(2, 2\)"),
        (lambda e: s.excess_loss("gd", e, e, 3, start=np.eye(3)), r"start of shape \(3, 3\)"),
        (lambda e: s.excess_loss("gd", e[0], e, 3), r"teacher of shape \(2,\)"),
        (lambda e: s.excess_loss("gd", np.zeros((2, 2, 2)), np.stack([e] * 3), 3), "do not broadcast"),
        (
            lambda e: s.excess_loss("gd", e, np.array([[1.0, 0.5], [0.2, 1.0]]), 3),
            r"symmetric.*\(0, 1\) and \(1, 0\) are 0.5 and 0.2",
        ),
        (lambda e: s.excess_loss("gd", e, np.stack([e, e + np.triu(e + 1, 1)]), 3), "not symmetric.* are 1 and 0:"),
        (lambda e: s.excess_loss("gd", e, np.diag([1.0, 0.0]), 3), "singular"),
        (lambda e: s.excess_loss("gd", e, np.ones((2, 2)), 3), "singular"),
        (lambda e: s.excess_loss("gd", e, np.diag([1.0, -0.5]), 3), "eigenvalue -0.5"),
        (lambda e: s.excess_loss("gd", e, -e, 3), "positive definite"),
        (lambda e: s.excess_loss("gd", e, 0 * e, 3), "positive definite"),
        (lambda e: s.excess_loss("gd", e * np.nan, e, 3), "teacher = nan"),
        (lambda e: s.excess_loss("gd", e, e, -1), "stages = -1"),
        (lambda e: s.excess_loss("gd", e, e, 2.5), "stages = 2.5"),
        (lambda e: s.excess_loss("stacking", e, e, 2, beta=1.1), "beta = 1.1"),
        (lambda e: s.excess_loss("stacking", e, e, 2, beta=[0.1, -0.2]), r"beta = -0.2"),
        (lambda e: s.run("stacking", e, e, 2, warmup=-1), "warmup = -1"),
        (lambda e: s.problem(0.5, 1.0), "kappa = 0.5"),
        (lambda e: s.problem(2.0, -1.0), "sigma = -1.0"),
        (lambda e: s.problem(2.0, 1.0, d=1), "d = 1"),
        (lambda e: s.problem(2.0, 1.0, seed=-1), "seed = -1"),
        (lambda e: s.problem([1.0, 2.0], [1.0, 2.0, 3.0]), r"kappa of shape \(2,\), sigma of shape \(3,\)"),
        (lambda e: s.default_beta(0.9), "kappa = 0.9"),
    ],
)
def test_refusals_name_the_argument_and_the_value(call, named):
    with pytest.raises(ValueError, match=named):
        call(np.eye(2))


def test_no_problem_at_all_has_no_losses():
    for method in ("stacking", "nesterov"):
        assert s.excess_loss(method, np.zeros((0, 3, 3)), np.eye(3), 5).shape == (6, 0)
