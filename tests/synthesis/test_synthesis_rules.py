"""Rules of transfer judged on rates that follow a law, and statistics of the recorded runs on made-up ones."""

import numpy as np
import pytest

from lrtransfer import depth
from lrtransfer.numerics.estimates import Estimate
from lrtransfer.numerics.jackknife import halves_of
from lrtransfer.synthesis import readings, rules


def sweeps(places, lrs, seeds=6, noise=0.0):
    """Losses with a valley at each place (octaves), shifted by seed: {place: (rates, seeds)}."""
    shift = noise * np.random.default_rng(0).standard_normal((len(places), seeds))
    return [np.exp((np.log2(lrs)[:, None] - place - off) ** 2) for place, off in zip(places, shift, strict=True)]


LRS = 2.0 ** np.arange(-6, 4.01, 0.25)
DEPTHS = (2, 4, 8, 16, 32)


def tuned_by(law, scales=(0.5, 2.0), noise=0.0):
    found = {}
    for scale in scales:
        places = np.log2([law(scale, L) for L in DEPTHS])
        for L, losses in zip(DEPTHS, sweeps(places, LRS, noise=noise), strict=True):
            found[scale, L] = rules.tuned_best(LRS, losses)
    return found


def test_the_fit_and_the_right_equation_err_by_nothing_where_the_law_holds():
    tuned = tuned_by(lambda s, L: depth.max_stable_lr(L, s, arch="residual1"))
    verdicts = rules.judge_rules(tuned, (2, 4), ("fit", "Eq. 31", "no change"))
    assert verdicts.targets == tuple((s, L) for s in (0.5, 2.0) for L in (8, 16, 32))
    assert verdicts.size("fit").value < 1e-9 and verdicts.size("Eq. 31").value < 1e-9
    expected = np.mean([abs(2 * np.log2(s) * (1 / 4 - 1 / L)) for s, L in verdicts.targets])
    assert verdicts.size("no change").value == pytest.approx(expected, abs=1e-9)
    assert verdicts.advantage("fit", "no change").value == pytest.approx(expected, abs=1e-9)
    for scale in (0.5, 2.0):
        rho = rules.data_number({L: tuned[scale, L] for L in DEPTHS})
        assert rho.value == pytest.approx(2 * np.log2(scale), abs=1e-9)


@pytest.mark.parametrize(("rule", "arch"), [("Eq. 11", "chain"), ("Eq. 37", "residual2")])
def test_the_other_equations_bring_the_rates_of_their_networks(rule, arch):
    tuned = tuned_by(lambda s, L: depth.max_stable_lr(L, s, arch=arch), scales=(2.0,))
    assert rules.judge_rules(tuned, (2, 4), (rule,), within=(8, 16)).worst(rule).value < 1e-9


def test_errors_are_those_of_the_mean_over_seeds_where_the_statistic_is_one():
    tuned = tuned_by(lambda s, L: 1.0, scales=(2.0,), noise=0.1)
    verdicts = rules.judge_rules(tuned, (2, 4), ("no change",))
    shift = 0.1 * np.random.default_rng(0).standard_normal((5, 6))
    gap = shift[1] - shift[2]
    found = verdicts.error("no change", 0)
    assert found.value == pytest.approx(gap.mean(), abs=0.02)
    assert found.error == pytest.approx(gap.std(ddof=1) / np.sqrt(6), rel=0.3)


def test_a_bound_is_no_measurement_and_its_cell_is_left_out():
    tuned = tuned_by(lambda s, L: 2.0**9 if L == 16 else 1.0, scales=(2.0,))
    assert tuned[2.0, 16].on_edge
    assert rules.judge_rules(tuned, (2, 4), ("fit",)).targets == ((2.0, 8), (2.0, 32))


def test_the_largest_rate_that_learns_is_found_seed_by_seed():
    losses = np.full((5, 3), 0.3)
    losses[1] = 0.1  # best
    losses[3:, 0], losses[4:, 1], losses[2, 2] = np.inf, 0.7, 0.6  # what comes back above a failure does not count
    losses[0, 1] = 0.9  # too slow to have learned: below the best
    found = rules.tuned_largest(2.0 ** np.arange(5), losses, 0.5)
    assert found.log2 == pytest.approx(np.mean([2.5, 3.5, 1.5]))
    assert found.halves.size == len(halves_of(3)) and not found.on_edge
    assert rules.tuned_largest([1.0, 2.0], np.full((2, 2), 0.1), 0.5).on_edge
    assert rules.tuned_largest([1.0, 2.0], np.full((2, 2), 0.6), 0.5).on_edge


def test_slopes_gaps_and_shapes():
    grown = [readings.quiet_best(LRS, losses) for losses in sweeps([0.0, -1.0, -2.0], LRS, noise=0.1)]
    full = [readings.quiet_best(LRS, losses) for losses in sweeps([0.0, 0.0, 0.0], LRS, noise=0.1)]
    assert readings.slope(grown, (4, 8, 16)).value == pytest.approx(-1.0, abs=0.15)
    same = readings.slope(grown, (4, 8, 16), less=full)  # the same draws: the noise cancels
    assert same.value == pytest.approx(-1.0, abs=1e-6) and same.error < 1e-6
    assert readings.octaves_apart(grown[2], full[2]).value == pytest.approx(-2.0, abs=1e-6)
    assert readings.apart_on_average(grown, full).value == pytest.approx(-1.0, abs=1e-6)
    assert readings.shape(Estimate(1e-7, 1e-9, 20)) == "not resolved"
    worse = readings.loss_gap(np.exp([[1.0, 3.0], [2.0, 4.0]]), np.exp([[5.0, 5.0], [0.5, 2.0]]))
    assert worse.value == pytest.approx(0.75) and worse.seeds == 2
    for value, word in ((1.0, "valley"), (-1.0, "hill"), (0.1, "not resolved")):
        assert readings.shape(Estimate(value, 0.2, 20)) == word
