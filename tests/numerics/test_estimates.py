"""The rule of the chapter's bounds: three outcomes, and how often chance passes one."""

import math

import numpy as np
import pytest
from scipy.stats import t as student

from lrtransfer.numerics.estimates import Estimate, quantile
from lrtransfer.page.claims import Check


@pytest.mark.parametrize("seeds", [2, 3, 6, 9, 50])
def test_the_quantile_is_student_s(seeds):
    assert quantile(seeds) == pytest.approx(student.ppf(0.95, seeds - 1))
    assert quantile(seeds, 0.995) == pytest.approx(student.ppf(0.995, seeds - 1))
    assert quantile(1) == math.inf
    with pytest.raises(ValueError, match="level = 95"):
        quantile(seeds, 95)


# t is 1.833 at ten seeds: the error 0.1 reaches 0.183 to either side.
@pytest.mark.parametrize(
    ("value", "relation", "bound", "outcome"),
    [
        (-0.8, "within", 1, "holds"),
        (0.9, "within", 1, "not resolved"),
        (-1.1, "within", 1, "not resolved"),
        (-1.2, "within", 1, "fails"),
        (-1.2, "<=", -1, "holds"),
        (-0.9, "<=", -1, "not resolved"),
        (-0.8, "<=", -1, "fails"),
        (1.2, ">=", 1, "holds"),
        (0.9, ">=", 1, "not resolved"),
        (0.8, ">=", 1, "fails"),
    ],
)
def test_a_bound_holds_fails_or_is_not_resolved(value, relation, bound, outcome):
    found = Estimate(value, 0.1, 10)
    check = Check.of(found, "the shift", relation, bound)
    assert found.outcome(relation, bound) == outcome and check.passed == (outcome == "holds")
    assert outcome in check.what and f"{value:+.2f} ± 0.10 over 10 seeds" in check.what


@pytest.mark.parametrize("relation", ["within", "<=", ">="])
def test_an_unknown_error_resolves_nothing(relation):
    for found in (Estimate(0.0, math.inf, 5), Estimate(0.0, 0.1, 1)):
        assert found.outcome(relation, 1.0) == "not resolved" and not Check.of(found, "it", relation, 1.0).passed
    assert Estimate(0.0, 0.0, 5).outcome(relation, 0.0) == "holds"


def test_an_unknown_relation_is_refused():
    with pytest.raises(ValueError, match="relation = '<'"):
        Estimate(0.0, 1.0, 3).outcome("<", 1.0)


@pytest.mark.parametrize("seeds", [3, 6])
def test_chance_passes_a_bound_that_is_met_exactly_once_in_twenty(seeds):
    random, repeats = np.random.default_rng(0), 2000
    found = [Estimate.of(random.normal(-1, 1, seeds)).outcome("<=", -1) for _ in range(repeats)]
    shares = [found.count("holds") / repeats, found.count("fails") / repeats]
    np.testing.assert_allclose(shares, 0.05, atol=4 * math.sqrt(0.05 * 0.95 / repeats))


def test_two_digits_of_the_error_are_shown():
    shown = [str(Estimate(-0.02514, error, 8)) for error in (0.0076, 0.057, 0.57, 5.7, 0.0, math.inf)]
    assert shown == [
        "-0.0251 ± 0.0076", "-0.025 ± 0.057", "-0.03 ± 0.57", "-0.03 ± 5.70", "-0.03 ± 0.00", "-0.03 (bound)"
    ]  # fmt: skip


def test_an_estimate_is_its_value_and_error():
    values = np.array([[1.0, 2.0, 4.0], [0.5, 0.5, 0.5]])
    found = Estimate.of(values)
    value, error = found
    np.testing.assert_allclose(value, [7 / 3, 0.5])
    np.testing.assert_allclose(error, [np.std([1, 2, 4], ddof=1) / 3**0.5, 0.0])
    assert (
        found.seeds == 3 and found[0] is found.value is found.mean and found[1] is found.error is found.standard_error
    )


def test_paired_differences_are_of_common_seeds():
    first, second = np.array([1.0, 2.0, 3.0]), np.array([0.5, 1.7, 2.4])
    found = Estimate.paired(first, second)
    assert found.value == pytest.approx(np.mean(first - second))
    assert found.error == pytest.approx(np.std(first - second, ddof=1) / 3**0.5)
    assert found.in_errors == pytest.approx(found.value / found.error)
    lost = np.array([np.inf, 1.0, 1.0])
    ends = [Estimate.paired(a, b) for a, b in ((lost, second), (second, lost), (lost, lost))]
    assert [e.value for e in ends] == [np.inf, -np.inf, np.inf] and all(e.error == np.inf for e in ends)
    alone = Estimate.paired([3.0], [1.0])
    assert tuple(alone) == (2.0, np.inf)


def test_intervals_are_students():
    values = np.array([[1.0, 2.0, 4.0], [3.0, 3.0, 3.0]])
    for confidence in (0.5, 0.95, 0.999):
        ends = student.interval(confidence, 2, loc=7 / 3, scale=np.std([1, 2, 4], ddof=1) / 3**0.5)
        found = Estimate.of(values)
        np.testing.assert_allclose(found.interval(confidence), [[ends[0], 3], [ends[1], 3]])
        assert Estimate.of(values[0]).half_width(confidence) == pytest.approx((ends[1] - ends[0]) / 2)
    assert found.half_width(0.9)[0] == pytest.approx(Estimate.of(values[0]).reach)
    np.testing.assert_array_equal(Estimate.of([2.0]).interval(), [-np.inf, np.inf])
    np.testing.assert_array_equal(Estimate.of([2.0, np.inf]).interval(), [np.inf, np.inf])
    for confidence in (0, 1, 95):
        with pytest.raises(ValueError, match="confidence = "):
            found.interval(confidence)
