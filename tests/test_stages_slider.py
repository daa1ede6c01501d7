"""The slider figure's small case: what it says of itself, and that every setting can be drawn."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from lrtransfer.stages import excess_loss
from lrtransfer.stages.slider import EXCESS, STAGES, excess_picture, small_problem


def test_the_small_problem_is_one_of_the_chapter_s():
    teacher, covariance = small_problem(50.0, 3.0)
    spread = np.linalg.eigvalsh((teacher - np.eye(4)) / 3)
    np.testing.assert_allclose(spread, [0.1, 0.3, 0.6, 1.0], rtol=1e-12)
    np.testing.assert_allclose(np.diag(covariance)[[0, -1]], [1 / 50, 1.0], rtol=1e-12)
    assert abs(teacher @ covariance - covariance @ teacher).max() > 0.1


def test_every_setting_is_finite():
    """Divergence and singular networks would leave gaps; the two scripts agree only while rounding is not amplified."""
    kappas, sigmas, betas = (slider.values for slider in EXCESS.sliders)
    for values in itertools.product(kappas[::2], sigmas[::2] + sigmas[-1:], betas[-3:]):
        picture = excess_picture(*values)
        curves = [np.array(c.y) for panel in picture.panels for c in panel.curves]
        assert all(np.isfinite(c).all() and (c >= 0).all() for c in curves), values
        assert curves[0].max() < 1e6


def test_curves_are_the_engine_s():
    picture = excess_picture(100.0, 30.0, 0.82)
    for curve, method in zip(picture.panels[0].curves, ("stacking", "nesterov", "gd"), strict=True):
        loss = excess_loss(method, *small_problem(100.0, 30.0), STAGES, beta=0.82)
        np.testing.assert_allclose(curve.y, loss / loss[0], rtol=1e-9)
    assert "Stacking first rises to 10^" in picture.summary
    assert "rises" not in EXCESS.at_start().summary


@pytest.mark.parametrize("kappa", [2.0, 1000.0])
def test_no_momentum_no_difference(kappa):
    curves = excess_picture(kappa, 1.0, 0.0).panels[0].curves
    assert curves[0].y == curves[1].y == curves[2].y
