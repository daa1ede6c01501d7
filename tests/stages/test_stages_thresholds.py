"""Perturbed Nesterov runs: worst cases against brute force, critical sizes of the error."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from lrtransfer import stages as s
from lrtransfer.stages.errors.thresholds import LIMIT, resonance

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


def test_a_callable_must_return_one_vector_a_run():
    h, start = [1.0, 5.0, 9.0], np.ones((4, 3))
    given = s.perturbed_nesterov(h, start, 3, perturb=lambda y, before: y - before, alpha=0.1)
    common = s.perturbed_nesterov(h, start, 3, perturb=lambda y, before: (y - before)[0], alpha=0.1)  # for all runs
    np.testing.assert_array_equal(given.y, common.y)
    for wrong in (lambda y, before: y[..., :2], lambda y, before: 1.0, lambda y, before: np.ones((2, 4, 3))):
        with pytest.raises(ValueError, match=r"perturb returned the shape .*must return \(4, 3\)"):
            s.perturbed_nesterov(h, start, 3, perturb=wrong, alpha=0.1)
    with pytest.raises(ValueError, match="perturb = nan"):
        s.perturbed_nesterov(h, start, 3, perturb=lambda y, before: y * np.nan, alpha=0.1)


def test_critical_alpha_at_any_condition_number():
    """Its law 0.7247/sqrt(kappa) with a correction of order kappa^-1/2, which a form that cancels loses at 1e11."""
    kappas = np.logspace(4, 24, 6)
    scaled = s.critical_alpha(kappas) * np.sqrt(kappas)
    np.testing.assert_allclose(
        (LIMIT - scaled) * np.sqrt(kappas), (LIMIT - scaled[0]) * 100, rtol=0.02, atol=1e-13 * np.sqrt(kappas).max()
    )
    assert scaled[-1] == pytest.approx(LIMIT, rel=1e-11)


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


@pytest.mark.parametrize("kappa", [2.0, 10.0, 100.0, 1000.0])
def test_stability_alpha_is_exact(kappa):
    """Below it random, adversarial and resonant errors die out; above it the resonant ones make the run grow."""
    limit = float(s.stability_alpha(kappa))
    root = np.sqrt(kappa)
    assert limit == pytest.approx(2 * np.sqrt(root) / ((root + 1) * np.sqrt(root - 1)), rel=1e-9)
    curvature, angle = resonance(kappa)
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
