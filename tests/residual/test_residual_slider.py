"""The slider figure: its curves are the engine's, its best rate the chapter's, and what it says of itself is so."""

from __future__ import annotations

import numpy as np
import pytest

from lrtransfer.residual import best_theory_lr, linear_limit
from lrtransfer.residual.slider import FAR, STEPS, TRANSFER, TUNED, best, transfer_picture


@pytest.mark.parametrize("branch", [0.0, 0.5, 1.0])
@pytest.mark.parametrize("depth", [1, 3, 24])
def test_best_rate_is_that_of_the_theory(branch, depth):
    # One step of the scan: where the output only touches the target, that is how well the touch is placed.
    exact = float(best_theory_lr(depth, branch, STEPS))
    assert abs(np.log2(best(branch, depth) / exact)) < 1 / 64


def test_curves_are_the_engine_s():
    left, right = transfer_picture(0.5, 6.0, 1.0).panels
    tuned = best(0.5, TUNED)
    for curve, course, depth in zip(left.curves, right.curves, (6, TUNED), strict=False):
        x, loss = np.array(curve.x), np.array(curve.y)
        exact = (1 - linear_limit(tuned * 2.0**x, 1.0, depth, STEPS)[-1]) ** 2 / 2
        np.testing.assert_allclose(loss[loss < FAR], exact[loss < FAR], rtol=1e-12)
        assert (exact[loss > FAR] > FAR).all() and np.isinf(loss[loss > FAR]).all()
        np.testing.assert_allclose(course.y, linear_limit(2 * tuned, 1.0, depth, STEPS), rtol=1e-12)


def test_the_marks_lie_where_the_loss_stops_falling():
    for a in (0.0, 0.5, 1.0):
        left = transfer_picture(a, 6.0, 0.0).panels[0]
        for curve, mark in zip(left.curves[:2], left.curves[2].x, strict=True):
            before = np.array(curve.y)[np.array(curve.x) < mark]
            assert (np.diff(before) < 0).all() and before[-1] < 1e-3


def test_depth_moves_the_best_rate_as_the_text_says():
    """At one half it stays within half an octave; at zero it falls with depth, at one it rises."""
    assert {1.0, 6.0, 24.0} < set(TRANSFER.sliders[1].values)
    shifts = {a: np.log2([best(a, depth) / best(a, TUNED) for depth in (1, 6, 24)]) for a in (0, 0.5, 1)}
    assert np.abs(shifts[0.5]).max() < 0.5
    assert (np.diff(shifts[0]) < 0).all() and shifts[0][-1] < -20
    assert (np.diff(shifts[1]) > 0).all()
    assert "diverges" in transfer_picture(0.0, 6.0, 0.0).summary
    assert "diverges" not in transfer_picture(0.5, 24.0, 0.0).summary


def test_the_depth_at_which_the_rate_was_tuned_is_no_distance_away():
    assert "is 0.00 octaves from that at depth 3" in transfer_picture(0.25, 3.0, 0.0).summary


def test_no_best_rate_leaves_the_frame():
    for a in TRANSFER.sliders[0].values:
        for depth in TRANSFER.sliders[1].values:
            left = transfer_picture(a, depth, 0.0).panels[0]
            assert left.xlim[0] < min(left.curves[2].x) and max(left.curves[2].x) < left.xlim[1]
            assert np.isfinite(left.curves[0].y).sum() > 10
