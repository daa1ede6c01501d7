"""The printed one- and two-step formulas: derived in symbols, and equal to the engines."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

from lrtransfer.layers import (
    balance_curvature,
    crossings,
    deep_loss,
    deep_signal_loss,
    expected_loss,
    one_step_loss,
    signal_loss,
    symbolic_three_layers,
    symbolic_two_layers,
    three_layer_one_step_loss,
    three_layer_two_step_loss,
    two_step_loss,
)
from lrtransfer.layers.circle import loss_course

ETA1, ETA2, H = sympy.symbols("eta1 eta2 h", positive=True)
S, P = ETA1 + ETA2, ETA1 * ETA2
ONE_STEP = S**2 / H**4 + P**2 / H**7 - 2 * S / H**2 + 1 / H + 2 * P / H**5 + 1
TWO_STEPS = (
    (1 + P / H**3) ** 4 / H
    + 16 * P**2 / H**7
    + (2 * S * (P + H**3) / H**5 - 1) ** 2
    + 8 * P / H**5 * (1 + P / H**3) ** 2
)
THREE_LAYERS = (
    (2 * S * (H + P) / H**2 - 1) ** 2
    + 1 / H
    + 2 * P / H**2
    + 10 * P / H**3
    + 37 * P**2 / H**4
    + 12 * P**3 / H**5
    + P**4 / H**6
    + P**2 / H**3
)
AT = {ETA1: 2.0e4, ETA2: 3.5e4, H: 1000}


def at(expression: sympy.Expr) -> float:
    return float(expression.subs(AT))


@pytest.mark.parametrize(("steps", "printed"), [(1, ONE_STEP), (2, TWO_STEPS)])
def test_two_layers_derived(steps, printed):
    assert sympy.expand(symbolic_two_layers(steps) - printed) == 0


def test_the_term_the_script_leaves_out_is_the_second_moment():
    """Without 2 p / h^5 the one-step formula is the expectation over a flat spectrum, without the atoms."""
    remainder = sympy.expand(symbolic_two_layers(1) - (ONE_STEP - 2 * P / H**5))
    assert remainder == 2 * P / H**5


@pytest.mark.parametrize(("steps", "formula"), [(1, one_step_loss), (2, two_step_loss)])
def test_two_layers_computed(steps, formula):
    rates = np.linspace(0, 40_000, 7)
    exact = expected_loss(rates[:, None], rates, 1000, steps, signal_only=True)
    np.testing.assert_allclose(formula(rates[:, None], rates, 1000), exact, rtol=1e-12)
    assert float(formula(2.0e4, 3.5e4, 1000)) == pytest.approx(at(ONE_STEP if steps == 1 else TWO_STEPS), rel=1e-12)


def test_gradient_descent_in_symbols():
    """The surrogate and gradient descent differ by terms the engine must have."""
    for steps in (0, 1, 2):
        symbolic = symbolic_two_layers(steps, signal_only=False)
        assert at(symbolic) == pytest.approx(float(expected_loss(2.0e4, 3.5e4, 1000, steps)), rel=1e-12)
    small = {ETA1: 0.7, ETA2: 1.1, H: 2}
    exact = float(loss_course(0.7, 1.1, 2, 2)[2])
    assert float(symbolic.subs(small)) == pytest.approx(exact, rel=1e-12)


def test_three_layers_derived_at_unit_norms():
    """The authors' formula is the surrogate at |a| = |beta| = 1, every term of it."""
    assert sympy.expand(symbolic_three_layers(2, unit_norms=True) - THREE_LAYERS) == 0
    one = (S / H - 1) ** 2 + 1 / H + 2 * P / H**3 + P**2 / H**4
    assert sympy.expand(symbolic_three_layers(1, unit_norms=True) - one) == 0
    values = {ETA1: 30.0, ETA2: 45.0, H: 1000}
    assert float(three_layer_one_step_loss(30.0, 45.0, 1000)) == pytest.approx(float(one.subs(values)), rel=1e-12)
    two = float(THREE_LAYERS.subs(values))
    assert float(three_layer_two_step_loss(30.0, 45.0, 1000)) == pytest.approx(two, rel=1e-12)


def test_three_layers_printed_and_measured():
    """At h = 1000 and rates 50: printed 0.1027, the surrogate 0.1050, gradient descent 0.166."""
    assert float(three_layer_two_step_loss(50, 50, 1000)) == pytest.approx(0.10273, abs=5e-6)
    exact = float(symbolic_three_layers(2).subs({ETA1: 50, ETA2: 50, H: 1000}))
    assert exact == pytest.approx(0.10501, abs=5e-6)
    descent = deep_loss([50, 50], 1000, 2, draws=4000, seed=0)
    assert float(descent.mean) == pytest.approx(0.166, abs=0.002)  # standard error 6e-4


@pytest.mark.parametrize(("steps", "signal_only"), [(0, True), (1, True), (2, True), (1, False)])
def test_three_layers_in_symbols_against_draws(steps, signal_only):
    h, rates = 12, (3.0, 5.0)
    exact = float(symbolic_three_layers(steps, signal_only).subs({ETA1: rates[0], ETA2: rates[1], H: h}))
    mean, error = deep_loss(rates, h, steps, draws=200_000, seed=3, signal_only=signal_only)
    assert abs(float(mean) - exact) < 4 * float(error)
    assert float(error) < 0.02 * exact


@pytest.mark.parametrize("formula", [one_step_loss, two_step_loss, three_layer_two_step_loss])
def test_bad_input_is_named(formula):
    with pytest.raises(ValueError, match=r"^lr2 = "):
        formula(1.0, -1.0, 10)
    with pytest.raises(ValueError, match=r"^h = "):
        formula(1.0, 1.0, 1)


@pytest.mark.parametrize(
    "formula", [one_step_loss, two_step_loss, three_layer_one_step_loss, three_layer_two_step_loss]
)
@pytest.mark.parametrize("rates", [(1e300, 1.0), (1e300, 1e300), (1.7e308, 1.7e308), (0.0, 1.7e308)])
def test_overflow_is_inf_and_never_nan(formula, rates):
    """Warnings are errors here: none may leak."""
    assert float(formula(*rates, 10)) == np.inf


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 5, 8, 40])
@pytest.mark.parametrize("h", [10, 1000, 10**6])
def test_two_layers_at_any_number_of_steps(h, steps):
    """A rate of zero and rates at which (1 - r)^t oscillates are among the pairs."""
    kappa = np.array([0.0, 1e-9, 1e-3, 0.2, 0.499, 0.501, 1.0, 1.7]) * h**1.5
    exact = expected_loss(kappa[:, None], kappa, h, steps, signal_only=True)
    np.testing.assert_allclose(signal_loss(kappa[:, None], kappa, h, steps), exact, rtol=1e-8)


@pytest.mark.parametrize("steps", [0, 1, 2, 3, 6])
def test_three_layers_at_any_number_of_steps(steps):
    """Brute force: dense matrices with readout and teacher of unit norm, rotated to meet at a given angle."""
    h, draws, rates = 12, 6000, (3.0, 1.5)
    rng = np.random.default_rng(steps)
    a, beta = rng.standard_normal((2, draws, h, 1))
    a, beta = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (a, beta))
    w1 = np.broadcast_to(np.eye(h), (draws, h, h))
    w2 = w1
    for _ in range(steps):
        middle, back = w2 @ a, w1.transpose(0, 2, 1) @ beta
        w1 = w1 + rates[0] / np.sqrt(h) * beta @ middle.transpose(0, 2, 1)
        w2 = w2 + rates[1] / np.sqrt(h) * back @ a.transpose(0, 2, 1)
    losses = np.sum((w1 @ w2 @ a / np.sqrt(h) - beta) ** 2, axis=(1, 2))
    error = losses.std(ddof=1) / draws**0.5
    assert abs(losses.mean() - deep_signal_loss(rates, h, steps)) < 4 * error


def test_three_layers_give_the_printed_formulas_and_the_fluctuation_of_the_norms():
    grid = np.linspace(0, 80, 9)
    pairs = np.array(np.meshgrid(grid, grid))
    for steps, printed in ((1, three_layer_one_step_loss), (2, three_layer_two_step_loss)):
        np.testing.assert_allclose(deep_signal_loss(pairs, 1000, steps), printed(*pairs, 1000), rtol=1e-9)
    sampled = deep_loss([15.0, 8.0], 10**5, 6, draws=20_000, seed=0, signal_only=True)
    assert float(deep_signal_loss([15.0, 8.0], 10**5, 6)) == pytest.approx(float(sampled.value), rel=1e-3)


def test_the_valley_of_the_surrogate_begins_at_three_h_over_four_t_less_two():
    h, fine = 10**8, np.linspace(0.8, 1.05, 501)
    for steps in (2, 3, 5, 9):
        begin = crossings(fine, balance_curvature(fine, h, steps, signal_only=True))[0]
        assert h ** (begin - 1) * (4 * steps - 2) / 3 == pytest.approx(1, abs=2e-4)


def test_closed_forms_overflow_to_inf():
    assert np.isinf(signal_loss(0.0, 1e300, 1000, 512)) and np.isinf(deep_signal_loss([1e300, 0.0], 1000, 3))
    assert not np.isnan(signal_loss(np.geomspace(1, 1e300, 20), 1.0, 1000, 100)).any()


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: signal_loss(-1.0, 1.0, 10, 1), "lr1"),
        (lambda: signal_loss(1.0, 1.0, 1, 1), "h must"),
        (lambda: signal_loss(1.0, 1.0, 10, -1), "steps"),
        (lambda: deep_signal_loss([1.0, 1.0, 1.0], 10, 1), "lrs"),
        (lambda: deep_signal_loss(1.0, 10, 1), "lrs"),
    ],
)
def test_closed_forms_name_bad_input(call, name):
    with pytest.raises(ValueError, match=name):
        call()
