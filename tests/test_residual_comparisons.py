"""Finite networks against their limit: distances, and the best rate of a task that can be fitted exactly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lrtransfer.residual.comparisons import depth_gaps, fitting_lr, fitting_rates, width_gaps
from lrtransfer.residual.linear_limit import best_theory_lr, linear_limit


def test_the_mean_output_approaches_the_limit_as_one_over_the_width():
    found = width_gaps(0.05, 0.5, 4, 12, {8: 1500, 16: 400, 32: 100})
    assert found.mean.shape == (13,)
    assert (found.errors > 0).all()
    assert abs(found.rate.slope + 1) < 4 * found.rate.error + 0.1  # 0.1: the next order in 1/N at width 8
    # A limit of the wrong depth is not approached: the same means miss it by far more than their errors.
    wrong = linear_limit(0.05, 0.5, 1, 12)
    assert np.abs(found.mean - wrong).max() > 10 * found.errors[-1]


def test_depth_gaps_fall_as_one_over_the_depth():
    gaps = depth_gaps(0.02, 1.0, [20, 40, 80], 12)
    assert set(gaps) == {"output", "H at the top", "G at the bottom"}
    for gap in gaps.values():
        assert np.allclose(gap[:-1] / gap[1:], 2, atol=0.08)  # halving, with a 1/L correction of a few per cent


@given(st.floats(-3, 3), st.floats(0.2, 3))
def test_the_fitting_rate_of_a_straight_crossing_is_exact(at, slope):
    lrs = 2.0 ** np.arange(at - 2.03, at + 2, 0.125)
    outputs = 1 + slope * (np.log2(lrs) - at)  # linear in log lr: interpolation has no error
    assert np.isclose(fitting_lr(lrs, outputs), 2.0**at, rtol=1e-9)
    assert np.isclose(fitting_lr(lrs, -2 * outputs, target=-2.0), 2.0**at, rtol=1e-9)


def test_the_fitting_rate_is_the_first_zero_and_knows_a_turn():
    lrs = np.arange(1.0, 8.0)
    twice = [0.0, 0.5, 1.5, 0.5, 1.5, 0.5, 0.0]  # crosses between 2 and 3, again later
    turn = [0.0, 0.5, 0.9, 0.6, 1.4, 2.0, 3.0]  # turns back at 3 before it gets there
    never = [0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    above = [1.5, 1.6, 1.7, 1.8, 1.9, 2.0, np.inf]
    found = fitting_lr(lrs, np.array([twice, turn, never, above]).T)
    assert np.isclose(found[0], np.sqrt(6))
    assert np.isclose(found[1], 3, rtol=1e-14)
    assert np.isinf(found[2:]).all()


def test_the_fitting_rate_of_the_limit_is_the_best_theory_lr():
    lrs = 2.0 ** np.arange(-5, -1, 1 / 32)
    best = float(best_theory_lr(6, 0.5, 4))
    found = fitting_lr(lrs, linear_limit(lrs, 1.0, 6, 4)[-1])
    # One grid step: f comes so close to the target again within 3% of the rate that interpolation cannot halve it.
    assert abs(np.log2(found / best)) < 1 / 32


def test_wide_networks_meet_the_prediction():
    rates = fitting_rates((2, 4), (2, 4), 0.5, 4, width=128, draws=6)
    assert np.isfinite(rates.error).all()
    assert (np.abs(rates.trained - rates.theory) < 4 * rates.error + 0.1).all()  # 0.1 octaves: order 1/N
    move, error = rates.trained_move
    assert abs(move - rates.theory_move) < 4 * error


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: fitting_lr([1.0, 2.0], [0, 1]), "lrs"),
        (lambda: fitting_lr([1.0, 2.0, 4.0], [0, 1]), "outputs"),
        (lambda: fitting_rates((2, 4), (3,), 0.5, 4, width=8, draws=2), "depths"),
    ],
)
def test_bad_input_is_refused_by_name(call, name):
    with pytest.raises(ValueError, match=name):
        call()
