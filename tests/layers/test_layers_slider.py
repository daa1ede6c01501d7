"""The slider figure's fixed rule against the engine whose error is controlled."""

from __future__ import annotations

import numpy as np
import pytest

from lrtransfer.layers import balance_curvature, expected_loss
from lrtransfer.layers.slider import ALONG, along_picture, bend, course, rule


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


@pytest.mark.parametrize("h", [64.0, 1000.0, 100000.0])
def test_the_bend_is_the_curvature_of_the_engine(h):
    for alpha in (1.0, 1.2, 1.35, 1.45):
        ours = bend(h ** (alpha - 1.5), h, 32)
        for t in (1, 2, 5, 8, 12, 32):
            assert ours[t] == pytest.approx(float(balance_curvature(alpha, int(h), t)) / 2, rel=1e-6, abs=1e-18)


def test_the_best_split_is_the_best_of_those_drawn():
    """Also where many are nearly as good: at the first step the best is to train one layer."""
    for alpha in ALONG.sliders[0].values:
        for h in (64.0, 1000.0, 100000.0):
            assert along_picture(alpha, 1.0, h).summary.endswith("a hill; best at δ = 1.000.")
    late = along_picture(1.35, 32.0, 1000.0)
    assert "rounding error" in late.summary or "best at" in late.summary


def test_what_is_promised_is_seen():
    """A hill or a valley fills a good part of the left panel, at the first step too."""
    for one in ALONG.tries:
        left = ALONG.picture(**ALONG.start() | one.values).panels[0]
        near = np.abs(np.array(left.curves[0].y)[20:-20]).max()
        assert near > 0.25 * left.ylim[1]
        assert ("hill" in one.words) == ("a hill" in ALONG.picture(**ALONG.start() | one.values).summary)


def test_star_turns_from_hill_to_valley_and_back():
    kinds = [ALONG.picture(1.35, t, 1000.0).summary.split(": ")[1].split(";")[0].split(",")[0] for t in (1, 4, 12)]
    assert kinds == ["a hill", "a valley", "a hill"]
