"""Theorem 3.1, Lemma 3.2 and their proof: constants, runs, worst cases against brute force, and every inequality."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from lrtransfer import stages as s
from lrtransfer.stages.robust import LIMIT

PRINTED = 5e-9  # the independent numbers were printed to nine digits


def phi(h, kappa, y, x):
    """The potential without its factor, mu = 1, from Eq. 11 and the definitions before it; y, x of shape (..., n)."""
    root = np.sqrt(kappa)
    z = (root + 1) * x - root * y
    rho = 1 / (4 * (4 * root - 3))
    return ((h / 2 + 2 * rho) * y * y + z * z / 2).sum(axis=-1)


def worst_step(state, h, kappa, alpha):
    """phi(t) / phi(t - 1) from the state (y, x) with the error that makes phi(t) largest."""
    y, x = state[..., : h.size], state[..., h.size :]
    root = np.sqrt(kappa)
    after = (1 - h / kappa) * x
    ahead = after + (root - 1) / (root + 1) * (after - y)
    z = (root + 1) * ahead - root * after
    size = alpha * np.linalg.norm(after - y, axis=-1) / np.linalg.norm(z, axis=-1)
    return phi(h, kappa, after, ahead + size[..., None] * z) / phi(h, kappa, y, x)


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


def test_potential_of_the_independent_run():
    # curvatures 1, 10, 100 from (1, 1, 1), errors along the unperturbed z: t = 0, 1, 2, 5, 10, 20, 40
    expected = {
        0.0: [57.0405405, 47.9953095, 4.23708099, 2.3172334, 0.976916179, 0.258926582, 0.025566778],
        float(s.printed_alpha(100)): [
            57.0405405,
            48.0043661,
            4.23735663,
            2.31831256,
            0.977817395,
            0.259415192,
            0.0257015013,
        ],
        float(s.proof_alpha(100)): [
            57.0405405,
            48.2384207,
            4.24448912,
            2.34637458,
            1.00131608,
            0.272304557,
            0.0293778503,
        ],
    }
    for alpha, values in expected.items():
        r = s.perturbed_nesterov([1, 10, 100], np.ones(3), 40, perturb="adversarial", alpha=alpha)
        np.testing.assert_allclose(r.potential[[0, 1, 2, 5, 10, 20, 40]], values, rtol=PRINTED)
        assert (np.diff(r.potential) < 0).all()
    none = s.perturbed_nesterov([1, 10, 100], np.ones(3), 40)
    zero = s.perturbed_nesterov([1, 10, 100], np.ones(3), 40, perturb="random", alpha=0.0)
    np.testing.assert_array_equal(none.y, zero.y)


def test_adversarial_is_the_worst_direction_of_each_step():
    h, alpha = np.array([1.0, 7.0, 40.0]), 0.2
    r = s.perturbed_nesterov(h, [1.0, -2.0, 0.5], 12, perturb="adversarial", alpha=alpha)
    np.testing.assert_allclose(
        np.linalg.norm(r.deltas[1:], axis=1), alpha * np.linalg.norm(np.diff(r.y, axis=0), axis=1), rtol=1e-12
    )
    directions = np.random.default_rng(0).standard_normal((4000, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    for t in range(1, 13):
        size = np.linalg.norm(r.deltas[t])
        others = phi(h, 40.0, r.y[t], r.x[t] - r.deltas[t] + size * directions)
        assert others.max() <= phi(h, 40.0, r.y[t], r.x[t]) * (1 + 1e-12)


def test_batches_of_perturbed_runs():
    alphas = np.array([0.0, 0.01, 0.05])
    r = s.perturbed_nesterov([1.0, 30.0], np.ones((4, 1, 2)), 20, perturb="random", alpha=alphas, seed=3)
    assert r.y.shape == (21, 4, 3, 2) and r.potential.shape == (21, 4, 3)
    assert abs(r.deltas[5, 0, 1] - r.deltas[5, 1, 1]).max() > 0
    ratio = np.linalg.norm(r.deltas[1:], axis=-1) / np.linalg.norm(np.diff(r.y, axis=0), axis=-1)
    np.testing.assert_allclose(ratio, np.broadcast_to(alphas, ratio.shape), rtol=1e-12)
    gone = s.perturbed_nesterov([1.0, 30.0], np.ones(2), 3000, perturb="adversarial", alpha=5.0)
    assert np.isinf(gone.potential[-1]) and not np.isnan(gone.y).any()


@settings(max_examples=30, deadline=None)
@given(
    st.lists(st.floats(1.0, 200.0), min_size=1, max_size=4),
    st.integers(0, 10**6),
    st.floats(0.5, 1.0),
    st.sampled_from(["random", "adversarial"]),
)
def test_potential_falls_up_to_the_critical_alpha(between, seed, share, perturb):
    """Claim 3.7 with the largest alpha, not the printed one: any curvatures between mu and L, any start."""
    h = np.array([1.0, 200.0, *between])
    start = np.random.default_rng(seed).standard_normal((5, h.size))
    r = s.perturbed_nesterov(h, start, 60, perturb=perturb, alpha=share * s.critical_alpha(200.0), seed=seed)
    assert (r.potential[1:] <= r.potential[:-1] * (1 + 1e-9)).all()
    lower, upper = s.lemma_bounds(200.0, 60, smoothness=200.0, distance=np.linalg.norm(start, axis=1), gap=r.gap[0])
    assert (r.gap <= np.minimum(lower, upper) * (1 + 1e-9)).all()


@pytest.mark.parametrize("kappa", [2.0, 10.0, 100.0, 1000.0])
def test_critical_alpha_is_where_the_worst_step_begins_to_fail(kappa):
    """The eigenvalue computation against a direct search over states for the worst step, at mu and L together."""
    h, limit = np.array([1.0, kappa]), float(s.critical_alpha(kappa))
    growth = float(s.constants(kappa).growth)
    generator = np.random.default_rng(1)
    scale = np.concatenate([1 / np.sqrt(h), 1 / np.sqrt(h)])

    def most(alpha):
        def objective(state):
            return -worst_step(state * scale, h, kappa, alpha)

        starts = generator.standard_normal((300, 4))
        best = sorted(starts, key=objective)[:6]
        options = {"xatol": 1e-10, "fatol": 1e-14, "maxiter": 4000, "maxfev": 4000}
        return max(-minimize(objective, x, method="Nelder-Mead", options=options).fun for x in best) * growth

    assert most(0.99 * limit) < 1
    assert most(1.01 * limit) > 1
    assert most(limit) == pytest.approx(1, abs=1e-5)  # the search ends within 1e-5 of the worst state's factor


def test_critical_alpha_of_one_curvature():
    # an independent search over one curvature at a time, good to about 5e-6; ours is an eigenvalue computation
    expected = [0.16874185, 0.158249758, 0.142435133, 0.119931637, 0.0667822394, 0.0225975899]
    kappas = np.array([10, 12, 16, 25, 100, 1000])
    one = s.critical_alpha(kappas, modes="one")
    np.testing.assert_allclose(one, expected, rtol=1e-5)
    both = s.critical_alpha(kappas)
    assert (both <= one * (1 + 1e-9)).all() and both[-1] < one[-1] * 0.999
    # At h = L the step kills y_t, and the worst state has z = 0: a closed form, the worst one up to kappa = 100
    root = np.sqrt(kappas[:5])
    c = s.constants(kappas[:5])
    closed = (np.sqrt((kappas[:5] + 4 * c.rho) / c.growth) - (root - 1)) / (root + 1)
    np.testing.assert_allclose(one[:5], closed, rtol=1e-8)


def test_critical_alpha_against_kappa():
    kappas = np.geomspace(1e4, 1e8, 9)
    scaled = s.critical_alpha(kappas) * np.sqrt(kappas)
    assert (np.diff(scaled) > 0).all() and (scaled < LIMIT).all()
    assert scaled[-1] == pytest.approx(LIMIT, rel=1e-4)
    fit = s.power_law(kappas, scaled / np.sqrt(kappas))
    assert fit.slope == pytest.approx(-0.5, abs=2e-3)


def test_one_step_factor():
    """At alpha = 0 and at the critical alpha, and, between, against the worst step found by search."""
    kappa = 50.0
    limit = float(s.critical_alpha(kappa))
    assert s.one_step_factor(kappa, limit) == pytest.approx(float(s.rate(kappa)), rel=1e-8)
    assert s.one_step_factor(kappa, 0.0) <= 1 / (1 + s.constants(kappa).gamma) + 1e-9
    h = np.array([1.0, kappa])
    states = np.random.default_rng(0).standard_normal((100000, 4)) / np.sqrt(np.tile(h, 2))
    for alpha in (0.3 * limit, limit):
        seen = worst_step(states, h, kappa, alpha).max()
        exact = s.one_step_factor(kappa, alpha)
        assert seen <= exact * (1 + 1e-9) and seen > 0.99 * exact
    with pytest.raises(ValueError, match=r"alpha = 0.5 is not allowed: alpha must be below"):
        s.one_step_factor(kappa, 0.5)


@pytest.mark.parametrize("kappa", [2.0, 10.0, 100.0, 1000.0])
def test_stability_alpha_is_exact(kappa):
    """Below it random, adversarial and resonant errors die out; above it the resonant ones make the run grow."""
    limit = float(s.stability_alpha(kappa))
    root = np.sqrt(kappa)
    assert limit == pytest.approx(2 * np.sqrt(root) / ((root + 1) * np.sqrt(root - 1)), rel=1e-9)
    curvature, angle = s.resonance(kappa)
    assert curvature == pytest.approx(1 / kappa, rel=1e-6)
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])

    def resonant(now, before):
        error = np.zeros_like(now)
        error[..., :2] = (now - before)[..., :2] @ turn.T
        return error

    steps = int(250 * root)
    h, start = [1.0, 1.0, kappa], [1.0, 0.0, 0.0]
    r = s.perturbed_nesterov(h, start, steps, perturb=resonant, alpha=np.array([0.98, 1.02]) * limit)
    half = r.gap[steps // 2]
    assert r.gap[-1, 0] < 0.1 * half[0] and r.gap[-1, 1] > 10 * half[1]
    # at the limit a root of y_{t+1} = q ((1 + beta) y_t - beta y_{t-1} + g (y_t - y_{t-1})) has size 1
    q, beta, g = 1 - curvature, (root - 1) / (root + 1), limit * np.exp(1j * angle)
    assert abs(np.roots([1, -q * (1 + beta + g), q * (beta + g)])).max() == pytest.approx(1, abs=1e-7)
    for perturb in ("random", "adversarial"):
        other = s.perturbed_nesterov(h, [1.0, 0.3, 1.0], steps // 2, perturb=perturb, alpha=0.98 * limit)
        assert other.gap[-1] < 1e-3 * other.gap[0]


def test_stability_alpha_against_the_frequency_response():
    """The closed maximum over frequency and the search over curvatures, on a grid of both."""
    for kappa in (1.2, 3.0, 40.0, 700.0):
        root = np.sqrt(kappa)
        beta, w = (root - 1) / (root + 1), np.linspace(0, np.pi, 20001)
        turn = np.exp(-1j * w)
        gains = []
        for q in 1 - np.geomspace(1, kappa, 60)[:-1] / kappa:
            gains.append(abs((1 - turn) * q * turn / (1 - q * (1 + beta) * turn + q * beta * turn**2)).max())
        assert s.stability_alpha(kappa) == pytest.approx(1 / max(gains), rel=1e-5)


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


def test_potential_growth_is_the_worst_of_its_runs():
    kappa, alphas = 30.0, np.array([0.0, 0.2])
    ratio, run = s.potential_growth(kappa, alphas, "adversarial", 6, steps=20, modes=5)
    h = np.geomspace(1, kappa, 5)
    assert run.potential.shape == (21, 6, 2)
    growth = 1 + 1 / (2 * (np.sqrt(kappa) - 1))
    own = growth * phi(h, kappa, run.y[1:], run.x[1:]) / phi(h, kappa, run.y[:-1], run.x[:-1])
    np.testing.assert_allclose(ratio, own.max(axis=(0, 1)), rtol=1e-9)
    assert abs(np.diff(run.y[0, :, 0], axis=0)).max() > 0.1  # the starts differ, and are the same for all alphas
    np.testing.assert_array_equal(run.y[0, :, 0], run.y[0, :, 1])
    # safe up to the critical size, and not much beyond it
    assert s.potential_growth(kappa, s.critical_alpha(kappa), "adversarial", 20)[0][0] <= 1 + 1e-12
    assert s.potential_growth(kappa, 4 * s.critical_alpha(kappa), "adversarial", 20)[0][0] > 1
    with pytest.raises(ValueError, match="perturb = 'worst'"):
        s.potential_growth(kappa, 0.1, "worst", 3)
    with pytest.raises(ValueError, match="runs = 0"):
        s.potential_growth(kappa, 0.1, "random", 0)


@given(st.floats(0.1, 0.9), st.floats(1e-3, 10.0))
def test_decay_rate_of_a_power(rate, first):
    t = np.arange(200)
    with np.errstate(under="ignore"):
        run = first * np.exp(-rate * t)
    assert s.decay_rate(np.stack([run, run], axis=1), high=0.1, low=1e-8) == pytest.approx(rate, rel=1e-9)


def test_rates_against_kappa():
    """Per-stage decay of the excess loss: 2/kappa for descent, about 2/sqrt(kappa) for the other two."""
    kappas = np.geomspace(30, 300, 4)
    teacher, covariance = s.problem(kappas, 0.3, 6)
    for method, exponent, stages in (("gd", -1, 6000), ("stacking", -0.5, 500), ("nesterov", -0.5, 500)):
        loss = s.excess_loss(method, teacher, covariance, stages)
        rates = s.decay_rate(loss, high=1e-6, low=1e-14)
        # the factor t of the double root of 1 - 1/s bends the momentum methods by a few per cent
        assert s.power_law(kappas, rates).slope == pytest.approx(exponent, abs=0.05)
        assert (rates > 2 * np.log(1 / s.rate(kappas)) * 0.8).all() or method == "gd"
    assert s.power_law([1, 10, 100], [2, 200, 20000]).slope == pytest.approx(2, abs=1e-12)


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
        (lambda: s.critical_alpha(10.0, growth=0.5), "growth = 0.5"),
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
