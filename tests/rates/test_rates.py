"""The statistic of a rate sweep: exact on parabolas, blind to units and order, honest at the edges."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lrtransfer.numerics.estimates import mean_and_error
from lrtransfer.numerics.jackknife import half_error, halves_of
from lrtransfer.rates import BestLR, OnEdgeWarning, best_lr, drift, shift

GRID = 2.0 ** np.arange(-4, 5)
# The vertex is a ratio of differences of logs, each exact to a few 1e-16; the steps and curvatures below
# keep those differences above 1e-3.
ROUNDING = 1e-9


def parabola(lrs, optimum, bend=0.3, floor=-1.0):
    """Losses whose log is a parabola in log2 lr with its minimum at ``optimum`` octaves."""
    return np.exp(floor + bend * (np.log2(lrs) - optimum) ** 2)


def octaves(best):
    return math.log2(best.lr)


@given(
    optimum=st.floats(-3, 3),
    bend=st.floats(0.05, 3),
    gaps=st.lists(st.floats(0.2, 1.5), min_size=12, max_size=12),
)
def test_exact_on_a_parabola_at_any_spacing(optimum, bend, gaps):
    x = optimum - sum(gaps[:6]) + np.cumsum(gaps)  # six points or so on either side
    best = best_lr(2.0**x, parabola(2.0**x, optimum, bend)[:, None])
    assert octaves(best) == pytest.approx(optimum, abs=ROUNDING)
    assert not best.on_edge


def bumpy(seed, seeds=4):
    """A sweep with noise, its minimum well inside."""
    random = np.random.default_rng(seed)
    return parabola(GRID, random.uniform(-1.5, 1.5), 0.5)[:, None] * np.exp(0.1 * random.normal(size=(9, seeds)))


@settings(deadline=None)
@given(seed=st.integers(0, 10**6), shift=st.floats(-20, 20))
def test_shifting_all_rates_shifts_the_optimum(seed, shift):
    losses = bumpy(seed)
    one, other = best_lr(GRID, losses), best_lr(GRID * 2.0**shift, losses)
    for name in ("lr", "low", "high"):
        assert math.log2(getattr(other, name) / getattr(one, name)) == pytest.approx(shift, abs=ROUNDING)


@settings(deadline=None)
@given(seed=st.integers(0, 10**6), order=st.permutations(range(4)))
def test_order_of_seeds_does_not_matter(seed, order):
    losses = bumpy(seed)
    assert best_lr(GRID, losses[:, order]) == best_lr(GRID, losses)  # to the last bit


@settings(deadline=None)
@given(seed=st.integers(0, 10**6), factor=st.floats(1e-6, 1e6))
def test_unit_of_the_loss_does_not_matter(seed, factor):
    one, other = best_lr(GRID, bumpy(seed)), best_lr(GRID, bumpy(seed) * factor)
    assert octaves(other) == pytest.approx(octaves(one), abs=ROUNDING)
    assert other.high == pytest.approx(one.high, rel=ROUNDING)


@settings(deadline=None)
@given(seed=st.integers(0, 10**6))
def test_optimum_stays_within_half_a_step_of_the_lowest_point(seed):
    losses = bumpy(seed)
    lowest = np.log2(GRID)[np.log(losses).mean(axis=1).argmin()]
    assert abs(octaves(best_lr(GRID, losses)) - lowest) <= 0.5 + ROUNDING


def test_spread_is_the_standard_error_of_the_seeds_own_optima():
    own = np.array([-0.5, 0.1, 1.0])
    losses = np.stack([parabola(GRID, optimum) for optimum in own], axis=1)
    best = best_lr(GRID, losses)
    # Equal curvatures: the mean of the parabolas is a parabola about the mean of the optima.
    assert octaves(best) == pytest.approx(own.mean(), abs=ROUNDING)
    error = own.std(ddof=1) / math.sqrt(3)
    assert math.log2(best.high / best.lr) == pytest.approx(error, abs=ROUNDING)
    assert math.log2(best.lr / best.low) == pytest.approx(error, abs=ROUNDING)


@pytest.mark.parametrize("seeds", [2, 3, 6, 9])
def test_halves_of_the_seeds_give_a_mean_its_usual_standard_error(seeds):
    values = np.random.default_rng(seeds).normal(size=seeds)
    halves = halves_of(seeds)
    assert len(set(halves)) == math.comb(seeds, seeds // 2) and {len(half) for half in halves} == {seeds - seeds // 2}
    error = half_error([values[list(half)].mean() for half in halves], seeds)
    assert error == pytest.approx(mean_and_error(values)[1], rel=ROUNDING)


def test_many_seeds_have_a_fixed_sample_of_halves():
    halves = halves_of(24)
    assert halves == halves_of(24) and len(halves) == 200 and {len(set(half)) for half in halves} == {12}
    values = np.random.default_rng(1).normal(size=24)
    error = half_error([values[list(half)].mean() for half in halves], 24)
    # 200 draws know a standard deviation to 1 / sqrt(400) = 5%; four of that.
    assert error == pytest.approx(mean_and_error(values)[1], rel=0.2)
    assert half_error([1.0], 1) == math.inf


def rough(random, seeds):
    """Sweeps whose loss falls with the rate until a seed blows up, each at a rate of its own: the best rate jumps."""
    x = np.log2(GRID)[:, None]
    blown = np.minimum(4.0 ** (x - random.normal(1, 1, seeds)), 20)
    return np.exp(-0.5 * x + blown + 0.05 * random.normal(size=(9, seeds)))


def test_the_stated_error_is_the_scatter_of_repeated_sweeps():
    # 300 sweeps know the scatter to 1 / sqrt(600) = 4%. The squared error of six seeds itself scatters by about its
    # size, the root of the mean of 300 by 3%. Four standard errors of both together: a fifth.
    random = np.random.default_rng(0)
    found = [best_lr(GRID, rough(random, 6)) for _ in range(300)]
    scatter = np.std([octaves(best) for best in found])
    claimed = math.sqrt(np.mean([best.spread**2 for best in found]))
    assert claimed == pytest.approx(scatter, rel=0.2)


def test_a_shift_is_measured_on_common_seeds():
    # The same seeds at both sizes: what they share drops out, and the error with it.
    random = np.random.default_rng(5)
    losses = bumpy(3, seeds=6)
    first, last = best_lr(GRID, losses), best_lr(GRID * 2**1.5, losses * random.uniform(0.5, 2))
    value, error = shift(first, last)
    assert value == pytest.approx(1.5, abs=ROUNDING) and error == pytest.approx(0, abs=ROUNDING)
    other = best_lr(GRID, bumpy(4, seeds=6))
    halves = np.log2(other.halves) - np.log2(first.halves)
    assert shift(first, other)[1] == pytest.approx(half_error(halves, 6), rel=ROUNDING)
    fewer = best_lr(GRID, bumpy(4, seeds=4))  # no common seeds to pair
    assert shift(first, fewer)[1] == pytest.approx(math.hypot(first.spread, fewer.spread), rel=ROUNDING)
    assert shift(first, best_lr(GRID, losses[:, :1]))[1] == math.inf


def test_one_seed_has_no_spread():
    best = best_lr(GRID, parabola(GRID, 0.3)[:, None])
    assert best.low == best.lr == best.high


@pytest.mark.parametrize(("optimum", "edge"), [(-9, GRID[0]), (9, GRID[-1])])
def test_minimum_at_an_end_is_a_bound_and_says_so(optimum, edge):
    with pytest.warns(OnEdgeWarning, match="extend or refine") as caught:
        best = best_lr(GRID, parabola(GRID, optimum)[:, None])
    assert best.on_edge and best.lr == edge
    assert caught[0].filename == __file__  # the warning points at the caller's line


def test_neighbour_that_diverged_in_one_seed_only():
    # Border right of the minimum; the parabola from the left turns back at 0.9, before the last finite point.
    losses = np.stack([parabola(GRID, 0.9)] * 2, axis=1)
    losses[6:, 0] = np.inf  # rates above 2^1: one seed is gone, the mean is infinite
    best = best_lr(GRID, losses)
    assert not best.on_edge and octaves(best) == pytest.approx(0.9, abs=ROUNDING)


def test_border_of_divergence_that_hides_the_minimum():
    losses = parabola(GRID, 1.4)[:, None]
    losses[6:] = np.inf  # still falling at the last finite rate 2^1
    with pytest.warns(OnEdgeWarning):
        best = best_lr(GRID, losses)
    assert best.on_edge and best.lr == 2.0


def test_border_on_the_left_is_the_mirror_image():
    losses = parabola(GRID, -0.9)[:, None]
    losses[:3] = np.inf
    assert octaves(best_lr(GRID, losses)) == pytest.approx(-0.9, abs=ROUNDING)


def test_a_single_finite_rate_is_an_edge():
    losses = np.full((9, 1), np.inf)
    losses[4] = 1.0
    with pytest.warns(OnEdgeWarning):
        assert best_lr(GRID, losses) == BestLR(1.0, 1.0, 1.0, True)


@pytest.mark.parametrize(("width", "middle"), [(2, -0.5), (3, 0.0), (4, 0.5), (5, 1.0)])
def test_flat_floor_counts_at_its_middle(width, middle):
    losses = np.full((9, 1), 2.0)
    losses[3 : 3 + width] = 1.0
    best = best_lr(GRID, losses)
    assert not best.on_edge and octaves(best) == pytest.approx(middle, abs=ROUNDING)


def test_flat_floor_that_reaches_the_end_or_fills_the_grid():
    losses = np.full((9, 1), 2.0)
    losses[6:] = 1.0
    for table, edge in ((losses, GRID[-1]), (np.ones((9, 1)), GRID[0])):
        with pytest.warns(OnEdgeWarning):
            assert best_lr(GRID, table).lr == edge


def test_curvature_below_rounding_is_not_a_division_by_zero():
    losses = np.array([1.0 + 2**-52, 1.0, 1.0 + 2**-52])[:, None]
    assert octaves(best_lr([1.0, 2.0, 4.0], losses)) == pytest.approx(1.0, abs=0.5)


@pytest.mark.parametrize(
    ("lrs", "losses", "words"),
    [
        ([1, 2, 4], [[1], [math.nan], [1]], "losses = nan"),
        ([1, 2, 4], [[1], [0.0], [1]], "losses = 0.0"),
        ([1, 2, 4], [[1], [-1.0], [1]], "losses = -1.0"),
        ([1, 2, 4], [1, 2, 3], r"shape \(3,\)"),
        ([1, 2, 4], [[1], [2]], r"shape \(2, 1\)"),
        ([1, 2, 4], np.ones((3, 0)), r"shape \(3, 0\)"),
        ([1, 2, 4], np.full((3, 2), np.inf), "search lower rates"),
        ([1, 2, 2], np.ones((3, 1)), "lrs = .* increasing"),
        ([2, 1], np.ones((2, 1)), "lrs = .* at least three"),
        ([0, 1, 2], np.ones((3, 1)), "lrs = 0.*positive"),
        ([1, 2, math.inf], np.ones((3, 1)), "lrs = inf"),
        ("abc", np.ones((3, 1)), "lrs = 'abc'"),
    ],
)
def test_bad_sweeps_are_refused_by_name(lrs, losses, words):
    with pytest.raises(ValueError, match=words):
        best_lr(lrs, losses)


@given(slope=st.floats(-4, 4), scale=st.floats(1e-3, 1e3))
@settings(max_examples=50)
def test_drift_of_a_power_law_is_its_exponent(slope, scale):
    sizes = np.array([3, 6, 12, 24])
    result = drift(scale * sizes**slope, sizes)
    assert result.slope == pytest.approx(slope, abs=ROUNDING)
    assert result.slope_error == pytest.approx(0, abs=ROUNDING)
    assert result.total == pytest.approx(3 * slope, abs=ROUNDING)


def test_drift_agrees_with_scipy():
    from scipy.stats import linregress

    random = np.random.default_rng(3)
    sizes, rates = np.array([2, 3, 7, 11, 30]), 2.0 ** random.normal(size=5)
    ours, theirs = drift(rates, sizes), linregress(np.log2(sizes), np.log2(rates))
    assert ours.slope == pytest.approx(theirs.slope, rel=1e-12)
    assert ours.slope_error == pytest.approx(theirs.stderr, rel=1e-12)


def test_the_error_of_a_drift_is_that_of_the_seeds_and_not_of_the_line():
    # Each seed drifts by its own slope; the three points of the mean lie on a line exactly.
    sizes, own = np.array([2, 4, 8]), np.array([-0.6, -0.5, -0.1, 0.4])
    best = [best_lr(GRID, np.stack([parabola(GRID, v * k) for v in own], axis=1)) for k in range(3)]
    found, (mean, error) = drift(best, sizes), mean_and_error(own)
    assert found.slope == pytest.approx(mean, abs=ROUNDING) and found.slope_error == pytest.approx(error, rel=1e-6)
    # Without the halves the spreads count as independent: slope = (y_3 - y_1) / 2 here, the middle has no weight.
    bare = [BestLR(b.lr, b.low, b.high, b.on_edge) for b in best]
    assert drift(bare, sizes).slope_error == pytest.approx(math.hypot(best[0].spread, best[2].spread) / 2, rel=ROUNDING)


def test_drift_of_one_seed_takes_the_scatter_about_the_line():
    sizes = [2, 4, 8]
    best = [best_lr(GRID, parabola(GRID, optimum)[:, None]) for optimum in (1.0, 0.2, 0.0)]
    assert drift(best, sizes) == drift([b.lr for b in best], sizes)


def test_drift_takes_results_of_best_lr_and_keeps_their_flag():
    sizes = [2, 4, 8]
    inside = [best_lr(GRID, parabola(GRID, optimum)[:, None]) for optimum in (1.0, 0.5, 0.0)]
    result = drift(inside, sizes)
    assert result.slope == pytest.approx(-0.5, abs=ROUNDING) and not result.on_edge
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", OnEdgeWarning)
        edge = best_lr(GRID, parabola(GRID, -9)[:, None])
    assert drift([*inside[:2], edge], sizes).on_edge


@pytest.mark.parametrize(
    ("rates", "sizes", "words"),
    [
        ([1, 2], [1, 2], "sizes = .* at least three"),
        ([1, 2, 3], [1, 2, 2], "sizes = .* increasing"),
        ([1, 2, 3, 4], [1, 2, 4], "best_lrs = .* 3"),
        ([1, -2, 3], [1, 2, 4], "best_lrs = -2"),
        ([1, math.nan, 3], [1, 2, 4], "best_lrs = nan"),
    ],
)
def test_bad_drifts_are_refused_by_name(rates, sizes, words):
    with pytest.raises(ValueError, match=words):
        drift(rates, sizes)
