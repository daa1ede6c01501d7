"""The slider figure's fixed rule against the engine whose error is controlled."""

from __future__ import annotations

import numpy as np
import pytest

from lrtransfer.layers import expected_loss
from lrtransfer.layers.slider import ALONG, course, rule


def test_rule_integrates_what_it_should():
    """Means over theta of cos(k theta): 1 and 0. Twelve Gauss nodes on a quarter circle miss cos(7 theta) by 2e-14."""
    s, weights = rule()
    for k in range(8):
        assert weights @ np.cos(k * (np.pi - s)) == pytest.approx(float(k == 0), abs=1e-13)


@pytest.mark.parametrize("h", ALONG.sliders[2].values)
def test_fixed_rule_against_the_engine(h):
    """Every exponent, the longest and two shorter runs. The engine asks 1e-8 of its own rule."""
    splits = np.linspace(-1, 1, 9)
    steps = ALONG.sliders[1].values
    for alpha in ALONG.sliders[0].values:
        kappa = h ** (alpha - 1.5)
        ours = course(kappa * (1 + splits), kappa * (1 - splits), h, int(steps[-1]))
        for t in (1, 9, int(steps[-1])):
            engine = expected_loss(h**alpha * (1 + splits), h**alpha * (1 - splits), int(h), t)
            np.testing.assert_allclose(ours[t], engine, rtol=1e-8, atol=1e-18)


def test_star_turns_from_hill_to_valley_and_back():
    kinds = [ALONG.picture(1.35, t, 1000.0).summary.split(": ")[1].split(";")[0].split(",")[0] for t in (1, 4, 12)]
    assert kinds == ["a hill", "a valley", "a hill"]
