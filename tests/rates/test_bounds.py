"""Best rates on an edge bound what they cannot measure, and a bound decides what it can."""

import math

import numpy as np
import pytest

from lrtransfer.numerics.estimates import Estimate, size_range
from lrtransfer.page.checks import Check
from lrtransfer.rates import best_lr, bounded, drift, moved, shift, size_beyond, trend

GRID = 2.0 ** np.arange(-4.0, 5.0)
CENTRES = np.array([-0.2, 0.0, 0.1, 0.3])  # of the seeds' own minima, about the stated one


def swept(centre, border=math.inf):
    """The best rate of parabolas whose minima lie about ``centre``, diverged from log2 rate ``border`` on."""
    x = np.log2(GRID)[:, None]
    losses = np.exp(0.1 * (x - centre - CENTRES) ** 2)
    return best_lr(GRID, np.where(x >= border, math.inf, losses))


@pytest.mark.filterwarnings("ignore::lrtransfer.rates.OnEdgeWarning")
@pytest.mark.parametrize(
    ("centre", "border", "ends"),
    [
        (-9.0, math.inf, (-math.inf, -3.0)),  # at the bottom of the grid: below the rate next to it
        (9.0, math.inf, (3.0, math.inf)),
        (4.0, 2.0, (0.0, 2.0)),  # next to the border of divergence: between the neighbours
    ],
)
def test_an_edge_says_on_which_side_the_best_rate_is(centre, border, ends):
    found = swept(centre, border)
    assert found.on_edge and found.octaves == ends
    inside = swept(0.5)
    assert not inside.on_edge and inside.octaves == (math.log2(inside.lr),) * 2


@pytest.mark.filterwarnings("ignore::lrtransfer.rates.OnEdgeWarning")
def test_a_move_to_the_edge_is_at_least_so_far():
    first, low = swept(3.0), swept(-9.0)
    found, (value, error) = moved(first, low), shift(first, low)
    assert (found.value, found.error, found.seeds) == (value, error, 4)
    assert found.between == (-math.inf, -3.0 - math.log2(first.lr))
    assert found.outcome("<=", -1) == "holds" and found.outcome("within", 1) == "fails"
    assert found.outcome(">=", -1) == "fails" and found.outcome(">=", -9) == "not resolved"
    assert Check.of(found, "it", "<=", -1).passed and not Check.of(found, "it", "<=", -9).passed
    assert moved(low, first).between == (-found.between[1], math.inf)


@pytest.mark.filterwarnings("ignore::lrtransfer.rates.OnEdgeWarning")
def test_a_bound_near_the_number_asked_for_decides_nothing():
    found = moved(swept(-2.0), swept(-9.0))  # at least one octave down, with an error
    assert found.outcome("<=", -1) == "not resolved" and found.outcome("within", 1) == "not resolved"
    both = moved(swept(9.0), swept(9.0))  # each could lie anywhere above
    assert math.isinf(both.error) and all(both.outcome(r, 0.5) == "not resolved" for r in ("within", "<=", ">="))


def test_measured_best_rates_give_what_they_gave():
    best = [swept(c) for c in (2.0, 1.5, 1.0)]
    assert moved(best[0], best[-1]) == Estimate(*shift(best[0], best[-1]), 4)
    found = drift(best, [2, 4, 8])
    assert trend(best, [2, 4, 8]) == Estimate(found.slope, found.slope_error, 4)
    assert found.between == (found.slope, found.slope)


@pytest.mark.filterwarnings("ignore::lrtransfer.rates.OnEdgeWarning")
def test_a_slope_is_bounded_by_its_ends():
    best = [swept(2.0), swept(1.0), swept(-9.0)]
    found = trend(best, [2, 4, 8])  # the lever of three equal octaves is -1/2, 0, 1/2
    assert found.between == (-math.inf, pytest.approx((-3.0 - math.log2(best[0].lr)) / 2))
    assert found.outcome("<=", -1 / 3) == "holds"
    middle = trend([best[0], swept(-9.0), best[1]], [2, 4, 8])  # the middle has no weight
    assert middle.between == (pytest.approx(middle.value), pytest.approx(middle.value))


def test_sizes_and_their_differences():
    assert size_range(-3.0, -1.0) == (1.0, 3.0) and size_range(-3.0, 1.0) == (0.0, 3.0)
    assert size_range(-math.inf, math.inf) == (0.0, math.inf)
    far, near = Estimate(-4.0, 0.1, 4, (-math.inf, -3.0)), Estimate(-0.5, 0.1, 4)
    assert size_beyond(far, near) == (2.5, math.inf) and size_beyond(near, far) == (-math.inf, -2.5)
    assert size_beyond(near, near) == (0.0, 0.0)
    assert bounded(1.0, 0.1, 4, (1.0, 1.0), is_bound=False).between is None


def test_a_bound_says_what_it_bounds():
    shown = [str(Estimate(-7.5, 0.31, 6, ends)) for ends in ((-math.inf, -7.0), (-8.0, -7.0), (-8.0, math.inf))]
    assert shown == [
        "-7.50 (bound: at most -7.00 ± 0.31)",
        "-7.50 (bound: from -8.00 ± 0.31 to -7.00 ± 0.31)",
        "-7.50 (bound: at least -8.00 ± 0.31)",
    ]
    assert str(Estimate(-7.5, math.inf, 6, (-math.inf, math.inf))) == "-7.50 (bound)"
