"""The late-time law: where balanced rates stop being a local minimum, and the split that is best then."""

from __future__ import annotations

import numpy as np
import pytest

from lrtransfer.layers import (
    balance_course,
    balance_curvature,
    best_split,
    crossings,
    expected_loss,
    last_balanced_step,
    last_balanced_time,
    law_loss,
    loss_course,
    two_layer_losses,
    two_step_opening,
)


def time_of_last_balance(alpha: float, h: int) -> float:
    return last_balanced_step(alpha, h) * h ** (alpha - 1.5)


def test_the_window_ends_where_the_law_turns_from_valley_to_hill():
    """Small kappa, where the growth of the linear part is the law's; second differences by the fourth-order rule."""
    h, d, alpha = 1e6, 0.01, 0.9
    end = float(last_balanced_time(h))

    def bend(tau: float) -> float:
        losses = law_loss(alpha, h, tau * h ** (1.5 - alpha), d * np.abs(np.arange(-2, 3)))
        return float(np.dot([-1, 16, -30, 16, -1], losses) / (12 * d * d))

    assert bend(end - 0.01) > 0 > bend(end + 0.01)
    # (2 tau - 1)(2 + A) - 3 A (1 + A) over (1 + 2A)^(5/2), times A, as the theorem has it
    for tau in (2.0, 3.0, 4.5):
        big = np.exp(2 * tau) / (2 * np.sqrt(h))
        theorem = big * ((2 * tau - 1) * (2 + big) - 3 * big * (1 + big)) / (1 + 2 * big) ** 2.5
        assert bend(tau) == pytest.approx(theorem, rel=2e-2)


def test_law_against_the_exact_loss():
    """The deviation is of relative order kappa and h^(-1/2): it must shrink as both do."""
    worst = []
    for h, alpha in ((10**3, 1.2), (10**5, 1.15), (10**7, 1.2)):
        steps = np.array([0.5, 0.8, 1.0, 1.1]) * float(last_balanced_time(h)) * h ** (1.5 - alpha)
        steps = np.round(steps).astype(int)
        course = balance_course(alpha, h, int(steps[-1]))
        loss = law_loss(alpha, h, steps)
        worst.append(np.max(np.abs(loss / course.loss[steps] - 1)))
    assert worst[0] > worst[1] > worst[2]
    assert worst[2] < 0.02  # kappa is 0.008 there


def test_law_of_a_split():
    h, alpha = 10**6, 1.2
    steps = int(6 * h ** (1.5 - alpha))
    splits = np.array([0.0, 0.2, 0.4, 0.6])
    exact = expected_loss(h**alpha * (1 + splits), h**alpha * (1 - splits), h, steps)
    exact[0] -= 1 / (2 * h)  # the atom at z = -1, which the law leaves out
    law = law_loss(alpha, h, steps, splits)
    assert np.max(np.abs(np.log(exact / law))) < 0.25  # the law's steps are off by O(kappa) = 0.016 of 379
    assert (np.argsort(exact) == np.argsort(law)).all()


@pytest.mark.parametrize("h", [200, 1000, 5000])
def test_constant_of_the_trial_runs(h):
    """t kappa between 1.6 and 1.8, 2.3 and 2.5, 2.8 and 3.0, about 0.33 ln h."""
    low, high = {200: (1.6, 1.8), 1000: (2.3, 2.5), 5000: (2.8, 3.0)}[h]
    for alpha in (1.0, 1.1, 1.2, 1.3):
        assert low <= time_of_last_balance(alpha, h) < high + 0.02
    assert float(last_balanced_time(h)) / np.log(h) == pytest.approx(0.335, abs=0.003)


def test_law_of_the_last_step_converges():
    """At alpha = 1 kappa = h^(-1/2): the relative distance to the law goes to zero with both."""
    widths = [200, 1000, 5000, 10_000]
    distance = [abs(time_of_last_balance(1.0, h) / float(last_balanced_time(h)) - 1) for h in widths]
    assert distance == sorted(distance, reverse=True)
    assert distance[0] < 0.05 and distance[-1] < 0.001


def test_slope_in_the_logarithm_of_the_width_tends_to_a_quarter():
    h = np.array([1e3, 1e6, 1e12, 1e24, 1e48])
    tau = last_balanced_time(h)
    slope = np.diff(tau) / np.diff(np.log(h))
    assert (np.diff(slope) < 0).all() and 0.25 < slope[-1] < 0.26
    predicted = 0.25 * np.log(h) + 0.5 * np.log(2 / 3 * (2 * tau - 1))
    assert abs(predicted[-1] - tau[-1]) < 0.03


def test_before_and_after():
    for alpha in (1.0, 1.2, 1.4):
        last = int(last_balanced_step(alpha, 1000))
        course = balance_course(alpha, 1000, 512).curvature
        assert course[last] > 0 and (course[last + 1 :] < 0).all()
    assert last_balanced_step(1.5, 100) == 0.0  # never positive


def test_first_balanced_step_below_exponent_one():
    """About 3 h^(1 - alpha) and 2 more: measured 50, 26, 14 against 47.5, 23.8, 11.9."""
    for alpha in (0.6, 0.7, 0.8):
        curvature = balance_course(alpha, 1000, 60).curvature
        first = int(np.flatnonzero(curvature > 0)[0])
        assert 0 < first - 3 * 1000 ** (1 - alpha) < 3


@pytest.mark.parametrize("alpha", [1.0, 1.2])
def test_best_split(alpha):
    """Zero up to the last balanced step; sqrt(3 / (4 tau)) later (within 5 per cent at tau = 10)."""
    h = 1000
    unit = h ** (1.5 - alpha)
    last = int(last_balanced_step(alpha, h))
    assert best_split(alpha, h, last)[0] < 0.02
    split, loss = best_split(alpha, h, last + int(0.5 * unit))
    assert 0.2 < split < 0.5
    assert loss < float(expected_loss(h**alpha, h**alpha, h, last + int(0.5 * unit)))
    # beside the best split the loss is higher
    near = expected_loss(h**alpha * (1 + split + 0.01), h**alpha * (1 - split - 0.01), h, last + int(0.5 * unit))
    assert float(near) > loss
    late, _ = best_split(alpha, h, int(10 * unit))
    assert late == pytest.approx(np.sqrt(3 / 40), rel=0.05)


def test_512_steps_are_not_balanced():
    """At every exponent from 1 to 3/2 a fixed split beats balanced rates by far."""
    for alpha in (1.0, 1.2, 1.4):
        assert float(balance_curvature(alpha, 1000, 512)) < 0
        rate = 1000**alpha
        balanced = loss_course(rate, rate, 1000, 512)[-1]
        assert loss_course(1.3 * rate, 0.7 * rate, 1000, 512)[-1] < 1e-6 * balanced


def test_law_is_finite_for_any_time():
    assert np.isfinite(law_loss(1.0, 1000, [0, 1, 1e3, 1e9], 0.3)).all()


def test_crossings_are_the_roots_of_a_sampled_cubic():
    """Linear interpolation is off by bend * spacing^2 / 8 over the slope: measured 3e-7 here."""
    x = np.linspace(-2, 3, 4001)
    roots = np.array([-1.3041, 0.4012, 2.2009])
    cubic = np.prod(x[:, None] - roots, axis=1)
    for y in (cubic, -cubic):
        np.testing.assert_allclose(crossings(x, y), roots, atol=1e-6)
    assert crossings(x, cubic**2 + 1e-9).size == 0


def test_crossings_of_lines_and_of_a_sample_that_is_zero():
    np.testing.assert_allclose(crossings([0.0, 1.0, 4.0], [1.0, -3.0, 3.0]), [0.25, 2.5])
    for y in ([-1.0, 0.0, 2.0], [1.0, 0.0, -2.0]):
        assert crossings([0.0, 1.0, 4.0], y).tolist() == [1.0]  # once, not once a side


def test_bad_input_is_named():
    with pytest.raises(ValueError, match=r"^x = "):
        crossings([0.0, 0.0], [1.0, -1.0])
    with pytest.raises(ValueError, match=r"^y = "):
        crossings([0.0, 1.0], [1.0, -1.0, 1.0])
    with pytest.raises(ValueError, match=r"^y = inf"):
        crossings([0.0, 1.0], [1.0, np.inf])
    with pytest.raises(ValueError, match=r"^split = "):
        law_loss(1.0, 100, 3, 1.0)
    with pytest.raises(ValueError, match=r"^h = "):
        last_balanced_time(10)
    with pytest.raises(ValueError, match=r"^alpha = "):
        last_balanced_step(0.1, 1000)
    with pytest.raises(ValueError, match=r"^resolution = "):
        best_split(1.0, 100, 3, resolution=2)


def test_noise_moves_the_opening_of_the_two_step_valley():
    """Brute force at a small rate: the curvature over kappa^2/h is 2 [8 (kappa sqrt h)(1 + 2x) - (24 + 4x)].

    Corrections are of relative order h^(-1/2) = 0.05 of each of the two terms; without the noise's shares of them the
    sum would be off by more than a third of them.
    """
    h, x, split = 400, 4.0, 0.5
    c = np.array([0.5, 1.5])  # kappa sqrt(h), on either side of the opening
    rates = c * h
    lr1, lr2 = rates[:, None] * (1 + split * np.array([0, 1])), rates[:, None] * (1 - split * np.array([0, 1]))
    losses = two_layer_losses(lr1, lr2, h, 2, draws=4, seed=0, noise=x / h)[2].mean(axis=0)
    bend = 2 * (losses[:, 1] - losses[:, 0]) / split**2 / (c**2 / h**2)
    gain, cost = 16 * c * (1 + 2 * x), 2 * (24 + 4 * x)
    assert (np.abs(bend - (gain - cost)) < 0.12 * (gain + cost)).all()
    assert bend[0] < 0 < bend[1] and c[0] < float(two_step_opening(x)) < c[1]
    assert float(two_step_opening()) == 3.0
    with pytest.raises(ValueError, match="noise"):
        two_step_opening(-1.0)
