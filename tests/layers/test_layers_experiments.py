"""What prepares and arranges the chapter's figures: modes, dense surrogates, scans and the main table."""

from __future__ import annotations

import numpy as np
import pytest

from lrtransfer import layers
from lrtransfer.layers import experiments
from lrtransfer.layers.dense import two_layer_descent
from lrtransfer.numerics.random import haar_orthogonal


def test_products_are_the_modes_of_the_expected_loss():
    """Averaged over many angles with the two atoms apart, the modes give ``expected_loss``."""
    h, steps, n = 50, 4, 400
    z = experiments.circle_points(np.pi * np.arange(n + 1) / n)
    walk = experiments.products(z, 0.4, 0.2, h, steps)
    f = np.abs(z - walk) ** 2
    flat = (f.sum(axis=1) - (f[:, 0] + f[:, -1]) / 2) / n
    expected = layers.loss_course(0.4 * h**1.5, 0.2 * h**1.5, h, steps)
    np.testing.assert_allclose(((h - 1) * flat + (f[:, 0] + f[:, -1]) / 2) / h, expected, rtol=1e-10)


def test_minus_one_is_exact_and_stays_on_the_saddle():
    z = experiments.circle_points(np.array([0.0, np.pi]))
    assert z[1] == -1
    last = experiments.products(z, 0.3, 0.3, 1000, 200)[-1]
    assert abs(last[0] - 1) < 1e-12 and abs(last[1]) < 1e-12


def test_rates_of_a_mode_may_change_with_the_step():
    z = experiments.circle_points(np.array([0.7, 2.0]))
    rates = np.array([0.3, 0.0, 0.2])
    walk = experiments.products(z, rates, 2 * rates, 20, 3)
    np.testing.assert_array_equal(walk[2], walk[1])
    np.testing.assert_array_equal(walk[1], experiments.products(z, 0.3, 0.6, 20, 1)[1])


def test_equispaced_angles_are_right_when_many_and_wrong_when_few():
    rate = 1000**1.4
    true = float(layers.expected_loss(rate, rate, 1000, 8))
    assert experiments.equispaced_loss(rate, 1000, 8, 4096) == pytest.approx(true, rel=1e-9)
    late = float(layers.expected_loss(rate, rate, 1000, 32))
    assert experiments.equispaced_loss(rate, 1000, 32, 512) > 1.5 * late


def test_a_constant_schedule_is_a_fixed_split():
    rate, split = 1000**1.3, 0.4
    fixed = float(layers.expected_loss(rate * (1 + split), rate * (1 - split), 1000, 6))
    assert experiments.scheduled_loss([split] * 6, rate, 1000) == pytest.approx(fixed, rel=1e-9)
    assert experiments.scheduled_loss([0.9] + [split] * 5, rate, 1000) != pytest.approx(fixed, rel=1e-3)


def test_haar_traces():
    found = experiments.haar_traces(5, 7, 20_000, np.random.default_rng(0))
    expected = [0, 1, 0, 1, 0, 1, 0]
    assert (np.abs(found.value - expected) < 4 * found.error).all() and (found.error < 0.05).all()


def test_first_gradients_meet_the_proposition():
    stretch, ratio = experiments.first_gradients(16, 400, np.random.default_rng(0))
    bound = float(layers.proposition_bound(16))
    assert stretch.shape == (400,) and stretch.max() <= bound * (1 + 1e-9) and stretch.max() > 0.99 * bound
    assert ratio == pytest.approx(1 / 17**0.5, rel=0.02)


def test_dense_surrogates_have_the_expectation_of_the_reductions():
    h, draws = 8, 4000
    rates = 0.8 * h**1.5, 0.3 * h**1.5
    two = experiments.signal_only_losses(*rates, h, 3, draws=draws, seed=0)
    expected = layers.loss_course(*rates, h, 3, signal_only=True)
    assert (np.abs(two.mean(axis=1) - expected) < 4 * two.std(axis=1) / draws**0.5 + 1e-12).all()
    three = experiments.signal_only_chain_losses(3.0, 1.0, h, 3, draws=draws, seed=1)
    reduced = layers.deep_loss_course([3.0, 1.0], h, 3, draws=40_000, seed=2, signal_only=True)
    error = np.hypot(three.std(axis=1) / draws**0.5, reduced.error)
    assert (np.abs(three.mean(axis=1) - reduced.value) < 4 * error).all()


def test_scans_are_their_engines_side_by_side():
    over = experiments.interaction_over_bound(1.2, [30, 90], 2)
    alone = layers.self_interaction(90**1.2, 90**1.2, 90, 2)[:, 0] / layers.proposition_bound(90)
    np.testing.assert_allclose(over[1], alone, rtol=1e-12)

    wrong = experiments.surrogate_errors([1.0, 3.0], [50], 9)
    true, surrogate = (layers.expected_loss(50.0, 50.0, 50, 9, signal_only=s) for s in (False, True))
    assert wrong[0, 0] == pytest.approx(abs(surrogate / true - 1), rel=1e-9)
    assert np.isinf(wrong[0, 1])  # both diverged

    grid = np.linspace(0.8, 1.7, 91)
    begin, end = experiments.valley_edges(grid, [40, 1000], 2)
    assert np.isnan(begin[0]) and np.isnan(end[0])  # too narrow for a valley
    assert layers.balance_curvature(begin[1] + 0.01, 1000, 2) > 0 > layers.balance_curvature(begin[1] - 0.01, 1000, 2)
    assert layers.balance_curvature(end[1] - 0.01, 1000, 2) > 0 > layers.balance_curvature(end[1] + 0.01, 1000, 2)


def test_the_first_rate_is_a_share_of_the_budget():
    losses = experiments.first_rate_losses(3, 12.0, [0.0, 1.0, 3.0], 40, 2, draws=20, seeds=[5, 6])
    assert losses.shape == (2, 3, 3)
    lrs = np.array([[0.0, 4.0, 12.0], [6.0, 4.0, 0.0], [6.0, 4.0, 0.0]])
    np.testing.assert_array_equal(losses[1], layers.deep_loss_course(lrs, 40, 2, draws=20, seed=6).value)


def test_relu_losses_pair_the_seeds():
    losses = experiments.relu_losses(8, 2.0, 2, splits=[-0.5, 0.0], seeds=[3, 4])
    assert losses.shape == (2, 2, 3)
    np.testing.assert_array_equal(losses[1, 0], layers.train_three_layers(8, 2.0, 2, seed=4, split=-0.5).test_loss)


@pytest.mark.parametrize("matrices", [2, 3])
def test_the_main_table_says_what_each_theory_says(matrices):
    rates = [200.0, 300.0] if matrices == 2 else [4.0, 6.0]
    theory = experiments.against_theory(matrices, rates, 60, (1, 3), split=0.3, draws=50, seed=1)
    printed = experiments.PRINTED[matrices, 1]
    assert theory.formula[0, 1] == printed(rates[1], rates[1], 60)
    assert np.isnan(theory.formula[1]).all() and np.isnan(theory.formula_wins[1]).all()
    if matrices == 2:
        assert theory.exact[1, 0] == pytest.approx(float(layers.expected_loss(200.0, 200.0, 60, 3)), rel=1e-9)
        uneven = float(layers.expected_loss(260.0, 140.0, 60, 3))
        assert theory.exact_wins[1, 0] == pytest.approx(uneven - theory.exact[1, 0], rel=1e-6)
    else:
        exact = layers.deep_loss([4.0, 4.0], 60, 3, draws=50, seed=1).value
        assert theory.exact[1, 0] == pytest.approx(float(exact), rel=1e-12)


def test_conserved_drift_is_small_for_the_conserved_power_only():
    coarse, fine = (
        experiments.conserved_drift([2.0, 3.0], 24, lr, round(40 / lr), seed=1, schedule="norm") for lr in (0.25, 0.125)
    )
    assert fine[1] < 0.1 * fine[0]
    assert fine[1] == pytest.approx(coarse[1] / 2, rel=0.1)  # of first order in the rate
    assert fine[0] == pytest.approx(coarse[0], rel=0.1)


def test_the_spectrum_of_a_dense_network_gives_its_loss():
    h, rate = 14, 0.3 * 14**1.5
    cosines = experiments.haar_cosines(h, 3, np.random.default_rng(5))
    rng = np.random.default_rng(5)
    from_spectrum = experiments.spectrum_losses(cosines, [rate, 1.4 * rate], [rate, 0.6 * rate], h, [0, 3, 7])
    for draw in range(3):
        q = haar_orthogonal(h, rng)
        for j, (one, two) in enumerate(((rate, rate), (1.4 * rate, 0.6 * rate))):
            dense = two_layer_descent(np.eye(h), np.eye(h), q / h**0.5, q / h**0.5, one, two, 7)
            np.testing.assert_allclose(from_spectrum[:, draw, j], dense[[0, 3, 7]], rtol=1e-9)


def test_rounding_lets_the_saddle_go_and_sooner_in_single_precision():
    h, kappa = 20, 0.5
    single, double = (
        h * experiments.saddle_losses(h, kappa * h**1.5, 120, precision=name, seed=0) for name in ("single", "double")
    )
    assert abs(single[25] - 1) < 1e-3 and abs(double[50] - 1) < 1e-3
    left = [int(np.flatnonzero(losses < 0.5)[0]) for losses in (single, double)]
    assert left[0] + 25 < left[1] < 120
    exact = experiments.spectrum_losses([[-1.0, 1.0, 0.3, 0.3]], kappa * 8, kappa * 8, 4, [300])
    assert exact[0, 0, 0] == pytest.approx(1 / 4, abs=1e-12)


def test_two_layer_schedules_side_by_side():
    runs = experiments.two_layer_schedule_runs(8, 6.0, 5, seeds=[1, 2], scale=1.3)
    alone = layers.two_layer_schedule(8, 6.0, 5, seed=2, scale=1.3, schedule="norm", sharpness=True)
    np.testing.assert_array_equal(runs.test_loss[1, 1], alone.test_loss)
    gap = runs.difference(runs.test_loss[..., -1])
    assert gap.value == pytest.approx((runs.test_loss[1] - runs.test_loss[0])[:, -1].mean()) and gap.seeds == 2


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: experiments.products(1.0, -0.1, 0.1, 8, 2), "kappa1"),
        (lambda: experiments.scheduled_loss([0.0, 1.5], 1.0, 8), "splits"),
        (lambda: experiments.equispaced_loss(1.0, 8, 2, 0), "angles"),
        (lambda: experiments.signal_only_losses(-1.0, 1.0, 8, 1, draws=2, seed=0), "lr1"),
        (lambda: experiments.spectrum_losses([[0.5]], 1.0, 1.0, 4, [1]), "cosines"),
        (lambda: experiments.spectrum_losses(np.zeros((1, 4)), 1.0, 1.0, 4, [2, 1]), "steps"),
        (lambda: experiments.saddle_losses(5, 1.0, 1, precision="single", seed=0), "h must"),
        (lambda: experiments.saddle_losses(4, 1.0, 1, precision="half", seed=0), "precision"),
        (lambda: experiments.two_layer_schedule_runs(8, 1.0, 1, seeds=[0], scale=1.0), "seeds"),
        (lambda: experiments.haar_traces(1, 1, 1, np.random.default_rng(0)), "h must"),
        (lambda: experiments.first_rate_losses(3, 1.0, [4.0], 8, 1, draws=2, seeds=[0]), "units"),
        (lambda: experiments.against_theory(4, [1.0], 8, (1,), split=0.3, draws=2, seed=0), "layers"),
        (lambda: experiments.conserved_drift(0.0, 8, 1.0, 1, seed=0, schedule="norm"), "power"),
    ],
)
def test_bad_input_is_named(call, name):
    with pytest.raises(ValueError, match=name):
        call()


@pytest.mark.parametrize("lr", [1e10, 1e160, 1e300])
def test_what_diverges_is_inf_and_silent(lr):
    for values in (
        experiments.spectrum_losses(
            experiments.haar_cosines(8, 2, np.random.default_rng(0)), [lr], [lr], 8, [0, 3, 40]
        ),
        experiments.signal_only_losses(lr, lr, 8, 40, draws=3, seed=0),
        experiments.signal_only_chain_losses(lr, lr, 8, 40, draws=3, seed=0),
    ):
        assert np.isfinite(values[0]).all() and np.isposinf(values[-1]).all() and not np.isnan(values).any()
    assert experiments.equispaced_loss(lr, 16, 40, 16) == np.inf == experiments.scheduled_loss([0.1] * 40, lr, 16)
    assert np.isposinf(experiments.conserved_drift([2.0, 3.0], 8, lr, 40, seed=0, schedule="norm")).all()
