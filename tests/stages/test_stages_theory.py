"""Theorem 3.1, Lemma 3.2 and their proof: constants, runs, worst cases against brute force, and every inequality."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lrtransfer import stages as s

PRINTED = 5e-9  # the independent numbers were printed to nine digits


def test_constants_of_the_proof():
    # kappa: beta, gamma, tau, rho / mu, printed alpha, alpha of the proof, delta at d = 20, sigma_min = 1, mu = 1/kappa
    expected = {
        10: [0.519493853, 0.462475296, 0.240253073, 0.0259091236, 0.0365587947, 0.0195985693, 9.67281655e-08],
        12: [0.551981525, 0.40582742, 0.224009238, 0.0230278777, 0.0152860094, 0.0166525343, 1.24821086e-08],
        25: [0.666666667, 0.25, 0.166666667, 0.0147058824, 0.00190181444, 0.00852183321, 6.35782878e-11],
        1000: [0.93869314, 0.032655432, 0.03065343, 0.00202443728, 7.44356336e-07, 0.000243284453, 1.22813054e-19],
    }
    for kappa, values in expected.items():
        c = s.constants(kappa)
        near = s.ball(kappa, 1.0, 20, 1 / kappa)
        got = [c.beta, c.gamma, c.tau, c.rho, s.printed_alpha(kappa), c.proof_alpha, near.delta]
        np.testing.assert_allclose(got, values, rtol=PRINTED)
        assert near.eta == pytest.approx(np.sqrt(16 * near.delta * kappa), rel=1e-14)
        assert c.rate == pytest.approx(1 / (1 + c.gamma / 2), rel=1e-14) == s.rate(kappa)


@given(st.floats(1.01, 1e8))
def test_proof_alpha_saturates_the_last_display_of_fact_3_9(kappa):
    c = s.constants(kappa)
    left = (2 + 2 / c.gamma) * (1 + c.gamma / 2) * c.proof_alpha**2 / c.tau**2
    assert left == pytest.approx(2 * c.rho, rel=1e-12)  # sqrt(kappa) - 1 loses two digits at 1.01


def test_where_the_printed_alpha_goes():
    with pytest.raises(ValueError, match=r"kappa = 9.0 is not allowed: kappa must be above 9.*proof_alpha"):
        s.printed_alpha([10, 9])
    crossing = (2 + np.sqrt(2)) ** 2
    assert s.printed_alpha(crossing) == pytest.approx(s.proof_alpha(crossing), rel=1e-12)
    assert s.printed_alpha(crossing - 0.01) > s.proof_alpha(crossing - 0.01)
    assert s.printed_alpha(crossing + 0.01) < s.proof_alpha(crossing + 0.01)
    # 4 kappa alpha = 1 + 1/(8 s) + .. in s = sqrt(kappa)
    assert 4 * 1e12 * s.proof_alpha(1e12) == pytest.approx(1, abs=1e-6)


def test_claim_3_3_needs_eta_at_most_half_of_sigma_min():
    """With the printed alpha at d = 20 that fails only next to kappa = 9."""
    for kappa, small in ((9 + 1e-5, False), (9 + 1e-3, True), (10.0, True)):
        assert (s.ball(kappa, 1.0, 20).eta <= 0.5) == small


def near_the_teacher(kappas, alpha=None):
    """Problems with starts inside the ball of Theorem 3.1: plain descent until then."""
    teacher, covariance = s.problem(kappas, 1.0, 8)
    starts = []
    for i, kappa in enumerate(kappas):
        warm = s.warmup_stages(teacher[i], covariance[i], alpha=None if alpha is None else float(alpha(kappa)))
        starts.append(s.run("gd", teacher[i], covariance[i], warm.descent).iterates[-1])
    return teacher, covariance, np.array(starts)


@pytest.mark.parametrize("method", ["stacking", "nesterov"])
def test_every_inequality_from_within_the_ball(method):
    kappas = np.array([12.0, 40.0, 120.0])
    teacher, covariance, starts = near_the_teacher(kappas)
    r = s.run(method, teacher, covariance, 150, start=starts)
    found = s.inequalities(r)
    assert len(found) == 12
    for name, one in found.items():
        assert one.left.shape == (150, 3)
        assert one.premise.all(), name
        assert one.holds.all(), name
    assert (found["claim 3.7"].share < 1 + 1e-12).all()
    p = s.potential(r)
    assert (p[1:] < p[:-1]).all()


def test_every_inequality_with_the_alpha_of_the_proof():
    kappas = np.array([4.0, 9.0, 100.0])
    teacher, covariance, starts = near_the_teacher(kappas, s.proof_alpha)
    r = s.run("stacking", teacher, covariance, 100, start=starts)
    for name, one in s.inequalities(r, alpha=s.proof_alpha(kappas)).items():
        assert one.premise.all() and one.holds.all(), name
    with pytest.raises(ValueError, match=r"kappa = (4|3\.99)"):
        s.inequalities(r)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.floats(9.5, 300.0), st.floats(0.1, 5.0))
def test_inequalities_that_need_no_ball_hold_from_the_identity(seed, kappa, sigma):
    r = s.run("stacking", *s.problem(kappa, sigma, 4, seed), 40)
    found = s.inequalities(r, alpha=s.critical_alpha(kappa))
    for name in ("fact 3.8", "eq 18", "claim 3.7"):
        assert found[name].holds.all(), name
    assert found["fact 3.8"].premise.all() and found["eq 18"].premise.all()
    # with proof_alpha Fact 3.9 holds wherever the error of that stage is small
    found = s.inequalities(r, alpha=s.proof_alpha(kappa))
    assert found["fact 3.9"].holds.all() and found["eq 19"].holds.all()


def test_inequalities_can_fail():
    """Far from the teacher the errors are too large: the sides are still shown, the premises are false."""
    r = s.run("stacking", *s.problem(100.0, 20.0), 30)
    found = s.inequalities(r)
    assert not found["claim 3.3"].premise[:5].any() and (found["claim 3.3"].slack[:5] < 0).all()
    assert (found["claim 3.7"].slack < 0).any() and not found["claim 3.7"].premise[0]
    assert found["claim 3.7"].holds.all() and not found["claim 3.5 distance"].premise.any()
    one = found["claim 3.5 distance"]
    assert not s.Inequality(one.left, one.right, np.ones_like(one.premise), one.rounding).holds.any()


def test_potential_against_its_definition():
    teacher, covariance = s.problem(20.0, 0.5, 4)
    r = s.run("stacking", teacher, covariance, 10)
    c = s.constants(20.0)
    t = 6
    x = r.errors[t] + c.beta * (r.errors[t] - r.errors[t - 1]) + r.perturbations[t]
    z = x / c.tau - (1 - c.tau) / c.tau * r.errors[t]
    own = r.excess[t] + r.mu / 2 * (z**2).sum() + 2 * c.rho * r.mu * (r.errors[t] ** 2).sum()
    assert s.potential(r, factor=False)[t] == pytest.approx(own, rel=1e-12)
    assert s.potential(r)[t] == pytest.approx(own * (1 + c.gamma / 2) ** t, rel=1e-12)


def test_warm_up():
    teacher, covariance = s.problem(100.0, 1.0)
    warm = s.warmup_stages(teacher, covariance)
    assert round(warm.formula) == 2935 and warm.descent == 1246 and warm.stacking == 139
    loss = s.excess_loss("gd", teacher, covariance, 1300)
    assert loss[1246] <= warm.delta < loss[1245]
    assert warm.formula == pytest.approx(100 * np.log(loss[1] / warm.delta) + 2, rel=1e-10)
    stacked = s.excess_loss("stacking", teacher, covariance, 200)
    assert (stacked <= warm.delta).argmax() == 139
    assert s.warmup_stages(teacher, covariance, cap=138).stacking == -1
    assert s.warmup_stages(teacher, covariance, start=teacher).descent == 0
    # Corollary 3.6: after the warm-up the bound of the lemma holds for as many stages as one likes
    start = s.run("gd", teacher, covariance, 1246)
    r = s.run("stacking", teacher, covariance, 1246 + 200, warmup=1247)
    bound = s.lemma_bounds(100.0, 200, smoothness=1.0, distance=0.0, gap=start.excess[-1])[1]
    assert (r.excess[1246:] <= bound).all()


def test_edge_start_has_the_excess_asked_for():
    teacher, covariance = s.problem([10.0, 50.0], 1.0, 4)
    delta = np.array([[1e-8, 1e-3], [2.0, 1e-20]])
    starts = s.edge_start(teacher, covariance, delta)
    assert starts.shape == (2, 2, 4, 4)
    for i in range(2):
        for j in range(2):
            away = starts[i, j] - teacher[j]
            assert np.trace(away @ covariance[j] @ away.T) / 2 == pytest.approx(delta[i, j], rel=1e-5)  # W* is rounded
            cosine = (away * (np.eye(4) - teacher[j])).sum() / np.linalg.norm(away)
            assert cosine == pytest.approx(np.linalg.norm(np.eye(4) - teacher[j]), rel=1e-5)
    with pytest.raises(ValueError, match="teacher is the identity"):
        s.edge_start(np.eye(3), np.eye(3), 0.1)
    with pytest.raises(ValueError, match=r"delta = 0\.0"):
        s.edge_start(teacher, covariance, 0.0)


def test_tally_by_hand():
    yes, no = np.array([True, True, False]), np.array([False, False, False])
    one = s.Inequality(np.array([1.0, 3.0, 9.0]), np.array([2.0, 2.0, 1.0]), yes, np.zeros(3))  # fails once, at t = 2
    assert s.tally([one, one]) == (4, 2, 1.5, False)
    assert s.tally([s.Inequality(one.left, one.right, no, np.zeros(3))]) == (0, 0, 0.0, False)
    below = s.Inequality(-one.left, -one.right, yes, np.full(3, 0.5))
    assert s.tally([below, one]) == (4, 2, 1.5, True)  # -1 <= -2 fails; -3 <= -2 holds


def test_audit_begins_where_it_says():
    run, found = s.audit(40.0, 30, inside=True, d=5, seed=2)
    teacher, covariance = s.problem(40.0, 1.0, 5, 2)
    least = np.linalg.svd(teacher, compute_uv=False)[-1]
    delta = s.ball(40.0, least, 5, 1 / 40, alpha=s.proof_alpha(40.0)).delta
    assert run.excess[0] == pytest.approx(0.999 * delta, rel=1e-6)
    assert all(one.premise.all() and one.holds.all() for one in found.values())
    outside, found = s.audit(40.0, 30, inside=False, d=5, seed=2)
    np.testing.assert_array_equal(outside.iterates[0], np.eye(5))
    np.testing.assert_array_equal(outside.excess, s.run("stacking", teacher, covariance, 30).excess)
    assert not found["claim 3.5 distance"].premise.any()


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: s.printed_alpha(8.5), "kappa = 8.5"),
        (lambda: s.proof_alpha([2.0, 1.0]), "kappa = 1.0"),
        (lambda: s.constants(0.5), "kappa = 0.5"),
        (lambda: s.critical_alpha(1.0), "kappa = 1.0"),
        (lambda: s.stability_alpha([4.0, -1.0]), "kappa = -1.0"),
        (lambda: s.ball(9.0, 1.0, 20), "kappa = 9.0"),
        (lambda: s.ball(10.0, 0.0, 20), "sigma_min = 0.0"),
        (lambda: s.ball(10.0, 1.0, 0), "d = 0"),
        (lambda: s.critical_alpha(10.0, modes="two"), "modes = 'two'"),
        (lambda: s.perturbed_nesterov([1.0, 1.0], [1.0, 1.0], 3), "curvatures = 1.0"),
        (lambda: s.perturbed_nesterov([1.0, 2.0], [1.0, 1.0, 1.0], 3), r"start of shape \(3,\)"),
        (lambda: s.perturbed_nesterov([1.0, 2.0], [1.0, 1.0], 3, perturb="worst"), "perturb = 'worst'"),
        (lambda: s.perturbed_nesterov([1.0, 2.0], [1.0, 1.0], 3, alpha=-0.1), "alpha = -0.1"),
        (lambda: s.lemma_bounds(4.0, 3, smoothness=0.0, distance=1.0, gap=1.0), "smoothness = 0.0"),
        (lambda: s.decay_rate([1.0, 0.5]), "excess has 0 stages"),
        (lambda: s.power_law([1.0, 2.0], [1.0, 2.0]), "sizes = .* at least three"),
        (lambda: s.potential(s.run("gd", *s.problem(10.0, 1.0, 2), 3)), 'run of method "gd"'),
        (lambda: s.potential(s.run("stacking", *s.problem(10.0, 1.0, 2), 3, warmup=2)), "warmup 2"),
        (lambda: s.potential(s.run("stacking", *s.problem(10.0, 1.0, 2), 3, beta=0.1)), "beta = 0.1"),
        (lambda: s.warmup_stages(*s.problem([10.0, 20.0], 1.0, 2)), r"shape \(2, 2, 2\)"),
    ],
)
def test_refusals_name_the_argument_and_the_value(call, named):
    with pytest.raises(ValueError, match=named):
        call()
