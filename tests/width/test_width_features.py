"""Scaling exponents: what their errors mean, and samples whose error cannot be known."""

import numpy as np
import pytest

from lrtransfer.width import scaling_exponent

SIZES = np.array([100.0, 200.0, 400.0, 800.0])


def noisy(rng, spread=0.1, seeds=30):
    return SIZES[:, None] ** -0.5 * (1 + spread * rng.standard_normal((4, seeds)))


def test_the_error_is_the_spread_of_repeated_experiments():
    rng, repeats = np.random.default_rng(0), 1000
    fits = [scaling_exponent(SIZES, noisy(rng)) for _ in range(repeats)]
    claimed, slopes = np.sqrt(np.mean([fit.error**2 for fit in fits])), [fit.slope for fit in fits]
    # 1000 repeats know a spread to 1 / sqrt(2000) = 2.2%; a weight from 30 seeds is off by sqrt(2 / 29), which
    # widens the spread over the claimed error by less than that: four standard errors and 4% for the weights.
    assert abs(np.std(slopes, ddof=1) / claimed - 1) < 0.13
    assert abs(np.mean(slopes) + 0.5) < 4 * claimed / np.sqrt(repeats) + 1e-3  # bias of a logarithm, of order spread^2


def test_one_size_without_spread_has_no_error_to_report():
    samples = noisy(np.random.default_rng(1))
    samples[2] = SIZES[2] ** -0.5
    with pytest.raises(
        ValueError, match=r"^samples = 0\.05 is not allowed: .* not at size 400, or alike at every size"
    ):
        scaling_exponent(SIZES, samples)
    samples[2] *= 1 + 1e-14 * np.arange(30)  # rounding is no spread
    with pytest.raises(ValueError, match="not at size 400"):
        scaling_exponent(SIZES, samples)
    with pytest.raises(ValueError, match="not at size 100"):
        scaling_exponent(SIZES, np.concatenate([np.ones((3, 30)), samples[3:]]))


def test_without_any_spread_the_power_is_exact():
    fit = scaling_exponent(SIZES, np.tile(SIZES[:, None] ** 1.5, (1, 3)))
    assert fit.slope == pytest.approx(1.5, abs=1e-13)
    assert fit.error == 0.0
    # the sign of a sample does not matter: values that differ in it alone do not differ
    signs = np.array([1.0, -1.0, 1.0])
    assert scaling_exponent(SIZES, SIZES[:, None] ** 1.5 * signs) == fit
