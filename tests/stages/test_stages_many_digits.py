"""Stacking in many digits."""

from fractions import Fraction

import numpy as np
import pytest

from lrtransfer import stages as s

pytest.importorskip("flint")

from lrtransfer.stages import recorded
from lrtransfer.stages.linear.many_digits import exact_course
from lrtransfer.sweeps.recorder import record


def test_where_double_precision_is_enough():
    problem = s.problem(100.0, 1.0, d=4)
    found = exact_course(*problem, 80, digits=60)
    path = s.excess_loss("stacking", *problem, 80)
    np.testing.assert_allclose(10**found.log10, path / path[0], rtol=1e-8)
    assert found.log10.shape == (81,) and found.error < 1e-15 and found.digits == 60 and found.peak == 0


def test_against_fractions():
    """Two by two and diagonal: four stages of Eq. 23 in rational numbers, far from the identity."""
    goal, h = [Fraction(41), Fraction(3)], [Fraction(1), Fraction(1, 8)]
    beta = Fraction(float(s.default_beta(8.0)))
    before = now = [Fraction(1), Fraction(1)]
    losses = []
    for _ in range(6):
        losses.append(sum(c * (w - g) ** 2 for c, w, g in zip(h, now, goal, strict=True)))
        ahead = [w + beta * (w - b) / b * w for w, b in zip(now, before, strict=True)]
        before, now = now, [a - c * (a - g) for a, c, g in zip(ahead, h, goal, strict=True)]
    found = exact_course(np.diag([41.0, 3.0]), np.diag([1.0, 0.125]), 5, digits=30)
    expected = [np.log10(float(loss / losses[0])) for loss in losses]
    np.testing.assert_allclose(found.log10, expected, atol=1e-13)


def test_an_explosion_turns_round_and_too_few_digits_are_refused():
    problem = s.problem(1000.0, 50.0, d=4)
    found = exact_course(*problem, 4000, digits=150, until=1e-3)
    assert 30 < found.peak < 40 and -4 < found.log10[-1] < -3 and found.error < 1e-6
    twice = exact_course(*problem, 300, digits=300)
    np.testing.assert_allclose(found.log10[:301], twice.log10, atol=1e-9)
    with pytest.raises(ValueError, match="digits = 40 is not allowed: digits must be more, as the course with 26"):
        exact_course(*problem, 4000, digits=40)


def test_bad_input_is_named():
    problem = s.problem(10.0, 1.0, d=2)
    for call, word in (
        (lambda: exact_course(*problem, 3, digits=5), "digits"),
        (lambda: exact_course(*problem, -1, digits=20), "stages"),
        (lambda: exact_course(*problem, 3, digits=20, until=0.0), "until"),
        (lambda: exact_course(*s.problem([10.0, 20.0], 1.0, d=2), 3, digits=20), "one problem"),
    ):
        with pytest.raises(ValueError, match=word):
            call()


def test_the_record_of_far_runs(tmp_path):
    settings = recorded.FarSettings(
        kappa=100.0, sigma=20.0, small=2, large=3, problems=2, stages=30, longest=200, until=0.1, digits=(20, 20)
    )
    recipe = recorded.far_recipe(settings, "far-tiny")
    assert recorded.far_runs_of(recipe, folder=tmp_path) is None
    record(recipe, folder=tmp_path, runs=tmp_path)
    found = recorded.far_runs_of(recipe, folder=tmp_path)
    assert [run.seed for run in found.small] == [0, 1] and all(run.log10[-1] < -1 for run in found.small)
    one, path = found.large[1], s.excess_loss("stacking", *s.problem(100.0, 20.0, 3, 1), 30)
    np.testing.assert_allclose(10**one.log10, (path / path[0])[one.stages], rtol=1e-3)  # four decimals are kept
    assert one.end == 30 and one.peak == pytest.approx(np.log10(path.max() / path[0]), abs=1e-4)


def test_the_record_in_results_holds_its_settings():
    found = recorded.read_far()
    if found is None:
        pytest.skip(f"no record results/{recorded.FAR}: `lrtransfer record {recorded.FAR}` makes it")
    rules = recorded.FarSettings()
    assert len(found.small) == len(found.large) == rules.problems
    assert all(run.end == rules.stages for run in found.large)
    assert all(run.log10[-1] < np.log10(rules.until) or run.end == rules.longest for run in found.small)
