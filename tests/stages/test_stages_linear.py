"""Deep linear networks stage by stage: against the printed updates, independent numbers, and their symmetries."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lrtransfer import stages as s

STAGES = [0, 1, 2, 5, 10, 20, 50, 100]
PRINTED = 5e-9  # the independent numbers were printed to nine digits


def printed_update(method, teacher, covariance, stages, beta, start):
    """Eqs. 23 and 24 as they stand, in W, one stage at a time."""
    top = np.linalg.eigvalsh(covariance)[-1]
    shrink, pull = np.eye(len(teacher)) - covariance / top, teacher @ covariance / top
    before, now = start, start
    path = [now]
    for _ in range(stages):
        ahead = now
        if method == "stacking":
            ahead = now + beta * (now - before) @ np.linalg.inv(before) @ now
        elif method == "nesterov":
            ahead = now + beta * (now - before)
        before, now = now, ahead @ shrink + pull
        path.append(now)
    return np.array(path)


def draw(seed, d, kappa, sigma):
    return s.problem(kappa, sigma, d, seed)


sizes = st.tuples(st.integers(0, 10**6), st.integers(2, 5), st.floats(1.5, 300.0), st.just(0.0) | st.floats(1e-3, 1.0))


@pytest.mark.parametrize("method", s.METHODS)
@settings(max_examples=25, deadline=None)
@given(sizes)
def test_run_is_the_printed_update(method, size):
    teacher, covariance = draw(*size)
    r = s.run(method, teacher, covariance, 25)
    ours = printed_update(method, teacher, covariance, 25, float(r.beta), np.eye(len(teacher)))
    # Eqs. 23 and 24 round W, of size 2 at most, 25 times; a transient may amplify that a little
    np.testing.assert_allclose(r.iterates, ours, rtol=0, atol=1e-12)


def test_independent_numbers_of_a_diagonal_problem():
    expected = {
        "gd": [0.195, 0.060102, 0.0520169202, 0.0355215635, 0.0224369715, 0.0141184793, 0.0073219749, 0.00267959353],
        "stacking": [
            0.195,
            0.060102,
            0.045461432,
            0.0155966273,
            0.0163169996,
            0.00168718942,
            5.94954176e-07,
            3.10905337e-11,
        ],
        "nesterov": [
            0.195,
            0.060102,
            0.0460072502,
            0.0170576961,
            0.0119403622,
            0.00275720475,
            1.91314825e-05,
            1.70732974e-09,
        ],
    }
    for method, values in expected.items():
        got = s.excess_loss(method, np.diag([1.5, 2.0, 3.0]), np.diag([1.0, 0.1, 0.01]), 100)
        np.testing.assert_allclose(got[STAGES], values, rtol=PRINTED)


def test_independent_numbers_of_figures_4_and_5():
    at = [0, 5, 10, 20, 50, 100]
    expected = {
        ("gd", 10, 1): [0.657453905, 0.0304762943, 0.00623315655, 0.000458444241, 5.03543562e-07, 1.16307245e-11],
        ("gd", 1000, 1): [0.218984521, 0.023691376, 0.0133949695, 0.0071117255, 0.00285955313, 0.00135829516],
        ("stacking", 2, 1): [1.3438964, 4.57829323e-06, 3.08808206e-11],
        ("stacking", 100, 1): [
            0.332270739,
            0.0187313902,
            0.00605712612,
            0.000498326948,
            1.00906285e-06,
            4.31985427e-11,
        ],
        ("stacking", 1000, 1): [0.218984521, 0.0156168467, 0.0120482842, 0.00462789836, 0.000213604624, 9.08746334e-06],
        ("stacking", 10, 50): [1643.63476, 15845.8435, 696.674354, 1.51284267, 2.86744944e-09],
        ("stacking", 100, 50): [830.676847, 129203.983, 517863.619, 24217.2239, 77.2153189, 0.0100252574],
        ("nesterov", 100, 1): [
            0.332270739,
            0.0161331585,
            0.00453219729,
            0.000474169577,
            1.78888752e-06,
            1.40827741e-10,
        ],
        ("nesterov", 100, 50): [830.676847, 40.3328964, 11.3304932, 1.18542394, 0.00447221879, 3.52069353e-07],
    }
    for (method, kappa, sigma), values in expected.items():
        got = s.excess_loss(method, *s.problem(kappa, sigma), 100)[at[: len(values)]]
        np.testing.assert_allclose(got, values, rtol=PRINTED)
    # The transient of Fig. 5: height over the start, and where
    far = s.excess_loss("stacking", *s.problem([10, 100], 50), 100)
    np.testing.assert_allclose(far.max(axis=0) / far[0], [13.2644957, 703.659769], rtol=PRINTED)
    np.testing.assert_array_equal(far.argmax(axis=0), [4, 9])


def test_problem_is_what_it_says():
    teacher, covariance = s.problem([[2.0, 50.0]], [[0.5], [3.0]], 6, seed=[[4]])
    assert teacher.shape == covariance.shape == (2, 2, 6, 6)
    spectrum = np.linalg.eigvalsh(covariance)
    np.testing.assert_allclose(spectrum[..., -1] / spectrum[..., 0], [[2, 50], [2, 50]], rtol=1e-12)
    np.testing.assert_allclose(np.diff(np.log(spectrum[0, 1])), math.log(50) / 5, rtol=1e-10)
    excess = np.linalg.eigvalsh(teacher - np.eye(6))
    np.testing.assert_allclose(excess[..., -1], [[0.5, 0.5], [3, 3]], rtol=1e-12)
    assert (excess > 0).all()
    one = s.problem(50.0, 3.0, 6, seed=4)
    np.testing.assert_allclose(one[0], teacher[1, 1], rtol=1e-14)
    np.testing.assert_allclose(one[1], covariance[1, 1], rtol=0, atol=1e-15)
    seeds = s.problem(50.0, 3.0, 6, seed=[4, 9, 4])[0]
    np.testing.assert_array_equal(seeds[0], seeds[2])
    assert abs(seeds[0] - seeds[1]).max() > 0.1


@pytest.mark.parametrize("method", s.METHODS)
def test_leading_axes_broadcast(method):
    teacher, covariance = s.problem([[3.0], [30.0]], [0.2, 1.0, 2.0], 4)
    beta = np.array([0.1, 0.5, 0.9])
    grid = s.excess_loss(method, teacher, covariance, 12, beta=beta)
    assert grid.shape == (13, 2, 3)
    for i in range(2):
        for j in range(3):
            one = s.excess_loss(method, teacher[i, j], covariance[i, j], 12, beta=beta[j])
            np.testing.assert_allclose(grid[:, i, j], one, rtol=1e-10, atol=1e-14)
    r = s.run(method, teacher[0], covariance[1, 0], 3, beta=beta, start=np.eye(4))
    assert r.errors.shape == r.perturbations.shape == (4, 3, 4, 4) and r.excess.shape == r.ratios.shape == (4, 3)


@settings(max_examples=25, deadline=None)
@given(sizes, st.integers(0, 10**6))
def test_orthogonal_equivariance(size, seed):
    """W -> P W Q with Sigma -> Q' Sigma Q, start included: every method and loss is the same."""
    teacher, covariance = draw(*size)
    g = np.random.default_rng(seed)
    p, q = (np.linalg.qr(g.standard_normal(teacher.shape))[0] for _ in range(2))
    turned_covariance = q.T @ covariance @ q
    for method in s.METHODS:
        r = s.run(method, teacher, covariance, 20)
        turned = s.run(method, p @ teacher @ q, (turned_covariance + turned_covariance.T) / 2, 20, start=p @ q)
        # rounding of the rotated problem, 1e-16 of its size, carried by 20 stages
        np.testing.assert_allclose(turned.errors, p @ r.errors @ q, rtol=0, atol=1e-11)
        np.testing.assert_allclose(turned.ratios, r.ratios, rtol=1e-6, atol=1e-11)


@settings(max_examples=25, deadline=None)
@given(sizes, st.floats(1e-3, 1e3))
def test_scale_of_the_covariance_only_scales_the_loss(size, factor):
    teacher, covariance = draw(*size)
    for method in s.METHODS:
        one, other = (s.run(method, teacher, c, 20) for c in (covariance, factor * covariance))
        np.testing.assert_allclose(other.errors, one.errors, rtol=0, atol=1e-12)
        np.testing.assert_allclose(other.excess, factor * one.excess, rtol=1e-9, atol=1e-20 * factor)


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(st.floats(0.3, 4.0), st.floats(0.01, 1.0)), min_size=2, max_size=5),
    st.floats(0.0, 1.0),
    st.integers(0, 30),
)
def test_commuting_problems_are_scalar_recursions(pairs, beta, stages):
    """Diagonal teacher and covariance: d copies of a recursion of numbers, written out."""
    targets, curvatures = np.array(pairs).T
    shrink = 1 - curvatures / curvatures.max()
    for method in s.METHODS:
        path = [np.ones_like(targets)]
        before = path[0]
        for _ in range(stages):
            now = path[-1]
            copied = {"gd": 0.0, "nesterov": now - before, "stacking": (now / before - 1) * now}[method]
            before = now
            path.append(targets + (now + beta * copied - targets) * shrink)
        path = np.array(path)
        r = s.run(method, np.diag(targets), np.diag(curvatures), stages, beta=beta)
        off = r.errors - np.einsum("tii->ti", r.errors)[..., None] * np.eye(targets.size)
        assert (off == 0).all()
        # an iterate near 0 makes the next stage steep: compared relative to the largest value seen
        size = np.maximum.accumulate(np.abs(path).max(axis=1))[:, None] ** 2
        np.testing.assert_allclose(np.einsum("tii->ti", r.iterates) / size, path / size, rtol=0, atol=1e-9)


@settings(max_examples=25, deadline=None)
@given(sizes)
def test_stacking_is_nesterov_plus_delta(size):
    """Eqs. 5, 6 and 8: one stage of stacking less one of Nesterov from the same two networks is Delta_t pushed on."""
    teacher, covariance = draw(*size)
    r = s.run("stacking", teacher, covariance, 8)
    w = r.iterates
    shrink = np.eye(len(teacher)) - covariance / r.smoothness
    for t in range(1, 8):
        nesterov = s.run("nesterov", teacher, covariance, 1, start=w[t], previous=w[t - 1]).iterates[1]
        delta = r.beta * (w[t] - w[t - 1]) @ np.linalg.inv(w[t - 1]) @ w[t] - r.beta * (w[t] - w[t - 1])  # Eq. 8
        np.testing.assert_allclose(w[t + 1] - nesterov, delta @ shrink, rtol=0, atol=1e-13)
        np.testing.assert_allclose(r.perturbations[t], delta, rtol=0, atol=1e-13)
    np.testing.assert_allclose(r.deltas, np.linalg.norm(r.perturbations, axis=(-2, -1)), rtol=1e-12)
    np.testing.assert_allclose(r.ratios * r.changes, r.deltas, rtol=1e-12)


def test_beta_zero_is_descent_and_so_is_a_warm_up():
    teacher, covariance = s.problem(30.0, 1.0, 5)
    gd = s.run("gd", teacher, covariance, 15)
    for method in ("stacking", "nesterov"):
        np.testing.assert_array_equal(s.run(method, teacher, covariance, 15, beta=0.0).errors, gd.errors)
        warm = s.run(method, teacher, covariance, 15, warmup=10)
        np.testing.assert_array_equal(warm.errors[:11], gd.errors[:11])
        rest = s.run(method, teacher, covariance, 5, start=gd.iterates[10], previous=gd.iterates[9])
        np.testing.assert_allclose(warm.errors[10:], rest.errors, rtol=0, atol=1e-14)
        # V_0 = W_9: the first step of a fresh run is plain descent, and the rest follows
        fresh = s.run(method, teacher, covariance, 6, start=gd.iterates[9])
        np.testing.assert_allclose(warm.errors[9:], fresh.errors, rtol=0, atol=1e-14)


def test_first_layer_gap():
    """With V_0 a factor stage two stays near the teacher; with w_1 = W_1 - I it jumps to the size of W_1 (W_1 - I)."""
    teacher, covariance = s.problem(100.0, 1.0)
    start = s.run("gd", teacher, covariance, 1300).iterates[-1]
    kept = s.run("stacking", teacher, covariance, 3, start=start)
    jumped = s.run("stacking", teacher, covariance, 3, start=start, previous=np.eye(20))
    assert kept.excess.max() < 2.15e-14  # the ball of Theorem 3.1
    w = start + jumped.beta * (start - np.eye(20)) @ start - teacher
    expected = 0.5 * np.trace(w @ (np.eye(20) - covariance) @ covariance @ (np.eye(20) - covariance) @ w.T)
    assert jumped.excess[1] == pytest.approx(expected, rel=1e-10)
    assert jumped.excess[1] > 0.1


@pytest.mark.parametrize("method", ["gd", "nesterov"])
def test_polynomials_of_the_covariance(method):
    """The loss by eigenvalue equals the loss of the run, also long after W has converged to the last digit."""
    teacher, covariance = s.problem([5.0, 40.0], 1.0, 4)
    start = np.arange(16.0).reshape(4, 4)
    r = s.run(method, teacher, covariance, 400, start=start)
    fast = s.excess_loss(method, teacher, covariance, 400, start=start)
    # rounding of 1 - Sigma/L, 1e-16 against a slowest factor of 0.8 or more, over 400 stages
    np.testing.assert_allclose(fast, r.excess, rtol=1e-11)
    assert fast[-1, 0] < 1e-60


def test_starting_at_the_teacher_stays_there():
    teacher, covariance = s.problem(10.0, 1.0, 4)
    for method in s.METHODS:
        r = s.run(method, teacher, covariance, 5, start=teacher)
        assert (r.excess == 0).all() and (r.ratios == 0).all() and (r.distances == 0).all()
        assert s.excess_loss(method, teacher, covariance, 0).shape == (1,)
