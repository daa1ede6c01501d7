"""The grid of condition numbers and distances: each run against the engine alone, and runs that are lost."""

from __future__ import annotations

import numpy as np
import pytest

from lrtransfer.stages import METHODS, SingularIterate, excess_loss, problem
from lrtransfer.stages.linear import far_starts as module
from lrtransfer.stages.linear.far_starts import course_grid


def test_every_run_is_the_engine_s():
    grid = course_grid([4.0, 30.0], [0.5, 2.0, 8.0], 12, seeds=[3, 5], d=4)
    for method in METHODS:
        assert grid[method].shape == (13, 2, 3, 2)
        for k, kappa in enumerate((4.0, 30.0)):
            for s, sigma in enumerate((0.5, 2.0, 8.0)):
                path = excess_loss(method, *problem(kappa, sigma, 4, 5), 12)
                np.testing.assert_allclose(grid[method][:, k, s, 1], path / path[0], rtol=1e-9)


def test_only_stacking_depends_on_the_distance():
    """In units of the start the other two are linear: equal up to rounding, which 1 + sigma S has at sigma = 10."""
    grid = course_grid([20.0], [1.0, 10.0], 30, seeds=range(3), d=5)
    for method in ("gd", "nesterov"):
        np.testing.assert_allclose(grid[method][:, 0, 0], grid[method][:, 0, 1], rtol=1e-9)
    assert (np.abs(np.log(grid["stacking"][2:, 0, 1] / grid["stacking"][2:, 0, 0])) > 0.1).any(axis=0).all()


def test_lost_runs_end_infinite_and_leave_their_neighbours_alone():
    grid = course_grid([10.0, 1000.0], [1.0, 50.0], 200, seeds=range(3))
    assert np.isinf(grid["stacking"][-1, 1, 1]).all()
    assert np.isfinite(grid["stacking"][:, 0]).all() and np.isfinite(grid["stacking"][:, 1, 0]).all()
    assert not any(np.isnan(path).any() for path in grid.values())


def test_a_singular_network_stops_its_own_run_only(monkeypatch):
    """Singular from stage 3 on, for the second teacher of three: a batch that holds it raises, as the engine does."""
    teacher, covariance = problem(5.0, 1.0, 3, [0, 1, 2])
    bad = teacher[1, 0, 0]
    inverses = module.Setting.copied

    def copied(self, before, step, t):
        if t >= 3 and (self.teacher[..., 0, 0] == bad).any():
            raise SingularIterate("planted")
        return inverses(self, before, step, t)

    expected = excess_loss("stacking", teacher, covariance, 6)
    monkeypatch.setattr(module.Setting, "copied", copied)
    found = module.stacked_course(teacher, covariance, 6)
    np.testing.assert_allclose(found[:, [0, 2]], expected[:, [0, 2]], rtol=1e-12)
    np.testing.assert_allclose(found[:4, 1], expected[:4, 1], rtol=1e-12)
    assert np.isinf(found[4:, 1]).all()


@pytest.mark.parametrize(
    "bad",
    [{"kappas": [0.5]}, {"kappas": []}, {"sigmas": [0.0]}, {"sigmas": 1.0}, {"seeds": []}, {"seeds": [-1]}, {"d": 1},
     {"stages": -1}],
)  # fmt: skip
def test_refusals_name_the_argument(bad):
    given = {"kappas": [2.0], "sigmas": [1.0], "stages": 3, "seeds": [0], "d": 3} | bad
    with pytest.raises(ValueError, match=next(iter(bad))):
        course_grid(given["kappas"], given["sigmas"], given["stages"], seeds=given["seeds"], d=given["d"])
