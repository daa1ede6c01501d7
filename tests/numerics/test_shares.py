"""Wilson's interval for a share."""

import math

import numpy as np
import pytest

from lrtransfer.numerics.shares import share_interval


def test_wilson_s_interval_solves_its_equation_and_has_a_length_at_the_ends():
    """Its ends are the shares from which the observed one is 1.96 of *their* standard errors away."""
    z = 1.959963984540054
    for hits, n in ((3, 12), (1, 40), (39, 40)):
        for end in share_interval(hits, n):
            assert abs(hits / n - end) == pytest.approx(z * math.sqrt(end * (1 - end) / n))
    assert share_interval(0, 12) == pytest.approx((0.0, z**2 / (12 + z**2)))
    assert share_interval(12, 12) == pytest.approx((12 / (12 + z**2), 1.0))
    low, high = share_interval([0, 5], 10)
    assert low.shape == high.shape == (2,) and (low < high).all()


def test_wilson_s_interval_holds_the_share_about_as_often_as_it_says():
    random, share, draws = np.random.default_rng(0), 0.1, 40
    low, high = share_interval(random.binomial(draws, share, 4000), draws)
    assert ((low <= share) & (share <= high)).mean() == pytest.approx(0.95, abs=0.02)


@pytest.mark.parametrize(
    ("arguments", "name"), [((3, 2), "successes"), ((-1, 2), "successes"), ((0, 0), "draws"), ((1, 2, 0.4), "level")]
)
def test_wilson_s_interval_refuses(arguments, name):
    with pytest.raises(ValueError, match=f"^{name} = "):
        share_interval(*arguments)
