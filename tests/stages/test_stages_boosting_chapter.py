"""What the chapter measures of boosting, at small size."""

import numpy as np
import pytest

from lrtransfer.stages.boosting import experiments as trees
from lrtransfer.stages.boosting.curves import boosting_curves, rate_study
from lrtransfer.stages.boosting.samples import SMOOTHNESS

pytest.importorskip("sklearn")
OPTIONS = {"stages": 3, "splits": range(3), "gamma": 0.01}


def test_a_linear_learner_is_nesterov():
    found = trees.linear_learner("breast_cancer", 5)
    assert found.gap < 1e-10 and found.test["stacking"].shape == found.nesterov["zero"].shape == (6,)


def test_perfect_learners_fit_the_squared_loss_in_one_step():
    """At the step 1/L the first stage reaches every target."""
    curves = trees.perfect_learners("diabetes", (0.5, 1.0), 3)
    assert curves.shape == (4, 2) and curves[1, 1] < 1e-25 < curves[1, 0]
    assert curves[1, 0] == pytest.approx(curves[0, 0] / 4)


def test_own_steps_search_all_shares():
    study = rate_study("diabetes", (0.1, 1.0), methods=("zero", "stacking", "schedule", "corrected"), **OPTIONS)
    found = trees.own_steps("diabetes", study, (0.1, 1.0), (0.5,), **OPTIONS)
    assert found.keys() == {"train", "test"} and found["train"].losses.shape == (3, 2)
    lrs = [share / SMOOTHNESS["squared"] for share in (0.1, 1.0, 0.5)]
    curves = boosting_curves("diabetes", methods=("zero",), lr=lrs, **OPTIONS).train[-1, :, 0]  # (rates, splits)
    best = curves[:, 0].argmin()
    assert found["train"].chosen[0] == (0.1, 1.0, 0.5)[best] and found["train"].at_end[0] == (best != 2)
    np.testing.assert_allclose(found["train"].losses[0], curves[best, 1:])


def test_damped_runs_are_those_of_rate_study():
    found = trees.damped_runs((0.1,), **OPTIONS)
    assert found.keys() == {"corrected, γ = 0.1", "not corrected, γ = 0.1", "zero", "schedule"}
    alone = rate_study("diabetes", (1.0,), methods=("damped",), **OPTIONS | {"gamma": 0.1}).train[:, 0, 0]
    np.testing.assert_allclose(found["not corrected, γ = 0.1"], alone)
