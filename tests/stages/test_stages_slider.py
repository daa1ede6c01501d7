"""The slider figure's small case: what it says of itself, and that every setting can be drawn."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from lrtransfer.stages import excess_loss
from lrtransfer.stages.slider import CEILING, EXCESS, STAGES, excess_picture, small_problem


def test_the_small_problem_is_one_of_the_chapter_s():
    teacher, covariance = small_problem(50.0, 3.0)
    spread = np.linalg.eigvalsh((teacher - np.eye(4)) / 3)
    np.testing.assert_allclose(spread, [0.1, 0.3, 0.6, 1.0], rtol=1e-12)
    np.testing.assert_allclose(np.diag(covariance)[[0, -1]], [1 / 50, 1.0], rtol=1e-12)
    assert abs(teacher @ covariance - covariance @ teacher).max() > 0.1


def test_every_setting_is_finite_until_it_is_stopped():
    """A singular network would raise; beyond the ceiling rounding is amplified and the two scripts would part."""
    kappas, sigmas, betas = (slider.values for slider in EXCESS.sliders)
    assert (max(sigmas), max(betas)) == (50.0, 1.0)
    stopped = 0
    for values in itertools.product(kappas[::2], sigmas[::2] + sigmas[-1:], betas[-3:]):
        picture = excess_picture(*values)
        stacking, *others = (np.array(c.y) for panel in picture.panels for c in panel.curves)
        assert all(np.isfinite(c).all() and (c >= 0).all() for c in others[:2] + others[3:]), values
        ends = int(np.isfinite(stacking).sum())
        assert np.isfinite(stacking[:ends]).all() and np.isinf(stacking[ends:]).all(), values
        assert stacking[:ends].max() <= CEILING
        assert (np.isfinite(others[2]) == np.isfinite(stacking[1:])).all()
        assert ("stopped" in picture.summary) == (ends <= STAGES)
        stopped += ends <= STAGES
    assert stopped


def test_a_run_is_stopped_where_it_passes_the_ceiling():
    picture = excess_picture(100.0, 50.0, 1.0)
    loss = excess_loss("stacking", *small_problem(100.0, 50.0), STAGES, beta=1.0)
    stage = int(np.argmax(loss > CEILING * loss[0]))
    assert 1 < stage < STAGES and np.isinf(picture.panels[0].curves[0].y[stage])
    assert f"stopped at stage {stage}:" in picture.summary


def test_curves_are_the_engine_s():
    picture = excess_picture(100.0, 30.0, 0.82)
    for curve, method in zip(picture.panels[0].curves, ("stacking", "nesterov", "gd"), strict=True):
        loss = excess_loss(method, *small_problem(100.0, 30.0), STAGES, beta=0.82)
        np.testing.assert_allclose(curve.y, loss / loss[0], rtol=1e-9)
    assert "Stacking first rises to " in picture.summary
    assert "rises" not in EXCESS.at_start().summary


@pytest.mark.parametrize("kappa", [2.0, 1000.0])
def test_no_momentum_no_difference(kappa):
    curves = excess_picture(kappa, 1.0, 0.0).panels[0].curves
    assert curves[0].y == curves[1].y == curves[2].y
