"""The statistic of a rate sweep: exact on parabolas, blind to units and order, honest at the edges."""

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lrtransfer.rates import BestLR, OnEdgeWarning, best_lr, drift

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


@given(seed=st.integers(0, 10**6), shift=st.floats(-20, 20))
def test_shifting_all_rates_shifts_the_optimum(seed, shift):
    losses = bumpy(seed)
    one, other = best_lr(GRID, losses), best_lr(GRID * 2.0**shift, losses)
    for name in ("lr", "low", "high"):
        assert math.log2(getattr(other, name) / getattr(one, name)) == pytest.approx(shift, abs=ROUNDING)


@given(seed=st.integers(0, 10**6), order=st.permutations(range(4)))
def test_order_of_seeds_does_not_matter(seed, order):
    losses = bumpy(seed)
    assert best_lr(GRID, losses[:, order]) == best_lr(GRID, losses)  # to the last bit


@given(seed=st.integers(0, 10**6), factor=st.floats(1e-6, 1e6))
def test_unit_of_the_loss_does_not_matter(seed, factor):
    one, other = best_lr(GRID, bumpy(seed)), best_lr(GRID, bumpy(seed) * factor)
    assert octaves(other) == pytest.approx(octaves(one), abs=ROUNDING)
    assert other.high == pytest.approx(one.high, rel=ROUNDING)


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
