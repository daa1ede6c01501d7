"""The rule fitted to tuned rates: exact for exact rates, its error against many noisy fits, its refusals."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest

from lrtransfer import depth as d


@pytest.mark.parametrize(("arch", "r"), [("chain", 0.3), ("chain", 4.0), ("residual1", 0.5)])
def test_two_exact_rates_give_every_depth(arch, r):
    tuned, every = np.array([2, 7]), np.array([1, 2, 3, 64, 10**6])
    fit = d.fit_transfer(tuned, d.max_stable_lr(tuned, r, 1.3, arch, tau=0.7), arch=arch)
    np.testing.assert_allclose(fit.lr(every), d.max_stable_lr(every, r, 1.3, arch, tau=0.7), rtol=1e-12)
    assert fit.rho == pytest.approx(r**2, rel=1e-12)
    assert pytest.approx(1 / (0.7 * 1.3 * r**2), rel=1e-12) == fit.C
    assert not fit.known and fit.error(5) == math.inf and not fit.resolved
    if arch == "residual1":
        assert fit.lr(math.inf) == pytest.approx(fit.C)


def test_smallest_sufficient_rates_follow_no_such_rule():
    # C and rho are constants of one criterion; the plateau is not one of them, and the fit does not hide it
    tuned, every = np.array([2, 4]), np.array([16, 128])
    rates = d.sufficient_lr(tuned, 2.0) * d.max_stable_lr(tuned, 2.0)
    truth = d.sufficient_lr(every, 2.0) * d.max_stable_lr(every, 2.0)
    assert (np.abs(np.log2(d.fit_transfer(tuned, rates).lr(every) / truth)) > 0.2).any()


def test_the_error_of_a_depth_against_noisy_fits():
    rng = np.random.default_rng(0)
    tuned, sigma, draws = np.array([2, 4, 8]), np.array([0.01, 0.02, 0.005]), 4000
    exact = np.log2(d.max_stable_lr(tuned, 3.0))
    fits = [d.fit_transfer(tuned, 2 ** (exact + sigma * rng.standard_normal(3)), sigma) for _ in range(draws)]
    for depth in (3, 64):
        spread = np.std([np.log2(fit.lr(depth)) for fit in fits])
        assert fits[0].error(depth) == pytest.approx(spread, rel=5 / math.sqrt(2 * draws))
    assert fits[0].rho_error == pytest.approx(np.std([np.log2(f.rho) for f in fits]), rel=5 / math.sqrt(2 * draws))


def test_the_amplification_in_closed_form():
    fit = d.fit_transfer([3, 12], [0.1, 0.02])
    assert fit.amplification([3, 12]) == pytest.approx([1.0, 1.0])
    assert fit.amplification(math.inf) == pytest.approx(math.hypot(3, 12) / 9)
    equal = d.fit_transfer([3, 12], [0.1, 0.002], 0.3)
    assert equal.error(64) == pytest.approx(0.3 * fit.amplification(64))
    assert d.fit_transfer([3, 12, 48], [0.1, 0.02, 0.005]).amplification(math.inf) < fit.amplification(math.inf)


def test_unresolved_data_are_said():
    tuned = np.array([2, 4])
    rates = d.max_stable_lr(tuned, 1.05)
    with pytest.warns(
        d.UnresolvedDataWarning, match=r"rho is not resolved by the errors given: log2 rho = \+0\.14 ± 0\.57"
    ):
        fit = d.fit_transfer(tuned, rates, 0.1)
    assert not fit.resolved and "not resolved" in str(fit)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fine = d.fit_transfer(tuned, rates, 0.01)
        d.fit_transfer(tuned, rates)  # without errors nothing can be said
    assert fine.resolved and "+0.14 ± 0.06 octaves" in str(fine) and "tuned at depths 2, 4" in str(fine)


@pytest.mark.parametrize(
    ("call", "named"),
    [
        (lambda: d.fit_transfer([4], [0.1]), r"depths = \[4\] .*two different depths"),
        (lambda: d.fit_transfer([4, 4], [0.1, 0.2]), r"depths = \[4, 4\] .*two different depths"),
        (lambda: d.fit_transfer([2.5, 4], [0.1, 0.2]), r"depths = 2\.5"),
        (lambda: d.fit_transfer([2, 4], [0.1, 0.0]), r"lrs = 0\.0"),
        (lambda: d.fit_transfer([2, 4], [0.1, -0.2]), r"lrs = -0\.2"),
        (lambda: d.fit_transfer([2, 4], [0.1]), r"lrs = \[0\.1\] .*as many rates as there are depths, 2"),
        (lambda: d.fit_transfer([2, 4], [0.1, 0.2], 0.0), r"errors = 0\.0"),
        (lambda: d.fit_transfer([2, 4], [0.1, 0.2], [0.1] * 3), r"errors = .*as many as there are depths, 2"),
        (lambda: d.fit_transfer([2, 4], [0.1, 0.2], arch="residual2"), "arch = 'residual2'"),
        (lambda: d.fit_transfer([2, 4], [0.1, 0.2]).lr(math.inf), "depth = inf"),
        (lambda: d.fit_transfer([2, 4], [0.1, 0.2]).lr(0), "depth = 0"),
    ],
)
def test_refusals_name_the_argument_and_the_value(call, named):
    with pytest.raises(ValueError, match=named):
        call()
