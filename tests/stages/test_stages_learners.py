"""Regression trees: scikit-learn's on real data, every cut by brute force, ties and constants.

Kernel ridge regression is tested with boosting.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lrtransfer.stages.boosting.learners import tree_learner
from lrtransfer.stages.boosting.samples import load_sample


@pytest.mark.parametrize("data", ["diabetes", "breast_cancer"])
@pytest.mark.parametrize("depth", [1, 2, 4])
def test_scikit_learns_tree_on_real_data(data, depth):
    from sklearn.tree import DecisionTreeRegressor

    X = load_sample(data).X[:200].astype(np.float32).astype(float)  # its trees see single precision
    fit = tree_learner(X[:150], X[150:], depth)
    for seed in range(3):
        r = np.random.default_rng(seed).standard_normal(150)
        other = DecisionTreeRegressor(max_depth=depth, random_state=0).fit(X[:150], r)
        sample, test = fit(r)
        np.testing.assert_allclose(sample, other.predict(X[:150]), rtol=0, atol=1e-14)  # means of 150 numbers
        if depth == 1:  # deeper, cuts that are equally good on the sample may part elsewhere
            np.testing.assert_allclose(test, other.predict(X[150:]), rtol=0, atol=1e-14)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 9), st.integers(1, 3))
def test_the_first_cut_is_the_best_of_all(seed, n, features):
    """Whole numbers as inputs, so that many are equal: a cut may only lie between different ones."""
    g = np.random.default_rng(seed)
    X, r = g.integers(0, 4, (n, features)).astype(float), g.standard_normal(n)
    errors = [((r - r.mean()) ** 2).sum()]
    for j, cut in itertools.product(range(features), (0.5, 1.5, 2.5)):
        low = X[:, j] < cut
        if low.any() and not low.all():
            errors.append(sum(((r[side] - r[side].mean()) ** 2).sum() for side in (low, ~low)))
    sample, test = tree_learner(X, X, 1)(r)
    assert ((r - sample) ** 2).sum() == pytest.approx(min(errors), abs=1e-12)
    np.testing.assert_array_equal(sample, test)  # the cut that was made is the cut that is used


def test_a_deep_tree_learns_all_and_a_constant_input_nothing():
    g = np.random.default_rng(0)
    X, r = g.standard_normal((20, 2)), g.standard_normal(20)
    np.testing.assert_allclose(tree_learner(X, X[:3], 19)(r)[0], r, rtol=0, atol=1e-15)
    sample, test = tree_learner(np.ones((20, 2)), np.zeros((3, 2)), 2)(r)
    for values in (sample, test):
        np.testing.assert_allclose(values, r.mean())
    np.testing.assert_array_equal(tree_learner(X[:1], X, 2)(r[:1])[1], np.full(20, r[0]))


@pytest.mark.parametrize("depth", [1, 3])
def test_a_tree_does_not_depend_on_the_others(depth):
    """Two samples with three r each, whole numbers among the inputs: the very same numbers as one by one."""
    g = np.random.default_rng(0)
    X = np.concatenate([g.standard_normal((2, 50, 2)), g.integers(0, 3, (2, 50, 2))], axis=2)
    others, r = g.standard_normal((2, 8, 4)), g.standard_normal((3, 2, 50))
    sample, test = tree_learner(X, others, depth)(r)
    assert sample.shape == (3, 2, 50) and test.shape == (3, 2, 8)
    for i, j in itertools.product(range(3), range(2)):
        alone = tree_learner(X[j], others[j], depth)(r[i, j])
        np.testing.assert_array_equal(sample[i, j], alone[0])
        np.testing.assert_array_equal(test[i, j], alone[1])


def test_of_equal_cuts_the_first_feature_is_taken():
    """The second feature cuts the sample as the first does, mirrored, and test inputs otherwise."""
    g = np.random.default_rng(0)
    first = np.sort(g.standard_normal(30))
    X, others = np.stack([first, -first], axis=1), np.array([[9.0, 9.0], [-9.0, -9.0]])
    for _ in range(20):
        sample, test = tree_learner(X, others, 1)(g.standard_normal(30))
        np.testing.assert_array_equal(test, sample[[-1, 0]])


def test_exclusive_or_needs_a_first_cut_that_gains_nothing():
    X, r = np.array([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]), np.array([1.0, -1.0, -1.0, 1.0])
    for inputs in (X, X[:, [0, 0, 1]], np.concatenate([np.ones((4, 1)), X], axis=1)):  # a feature that cannot be cut
        np.testing.assert_array_equal(tree_learner(inputs, inputs, 2)(r), [r, r])
    np.testing.assert_array_equal(tree_learner(X, X, 1)(r)[0], np.zeros(4))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 12), st.sampled_from([1e-200, 1.0, 1e200]))
def test_a_deep_enough_tree_tells_apart_what_can_be_told_apart(seed, n, scale):
    g = np.random.default_rng(seed)
    X, r = g.integers(0, 3, (n, 3)).astype(float), scale * g.standard_normal(n)
    sample, test = tree_learner(X, X, n)(r)
    expected = [r[(X == row).all(axis=1)].mean() for row in X]
    np.testing.assert_allclose(sample, expected, rtol=1e-12, atol=1e-14 * scale)
    np.testing.assert_array_equal(sample, test)


@pytest.mark.parametrize("bad", [np.zeros(20), np.zeros((2, 3, 20)), np.zeros((4, 20)), np.zeros((0, 2, 20)), 1.0])
def test_r_of_another_shape_is_refused(bad):
    fit = tree_learner(np.zeros((2, 20, 1)), np.zeros((2, 5, 1)), 1)
    assert fit(np.zeros((2, 20)).tolist())[1].shape == (2, 5)
    with pytest.raises(ValueError, match=r"^r of shape .* must be \(targets..., 2, 20\)"):
        fit(bad)


def test_neighbours_in_floating_point_are_told_apart():
    X = np.array([[1.0], [np.nextafter(1.0, 2.0)]])
    np.testing.assert_array_equal(tree_learner(X, X, 1)(np.array([-1.0, 1.0])), [[-1.0, 1.0]] * 2)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ((np.zeros(3), np.zeros((1, 1)), 1), r"X of shape \(3,\)"),
        ((np.zeros((4, 3, 2)), np.zeros((5, 1, 2)), 1), r"must be \(4, m, 2\)"),
        ((np.zeros((3, 2)), np.zeros((1, 1)), 1), r"X_test of shape \(1, 1\)"),
        ((np.zeros((3, 2)), np.zeros((1, 2)), 0), "depth = 0"),
        ((np.full((3, 2), np.nan), np.zeros((1, 2)), 1), "X = nan"),
    ],
)
def test_refusals(arguments, named):
    with pytest.raises(ValueError, match=named):
        tree_learner(*arguments)
