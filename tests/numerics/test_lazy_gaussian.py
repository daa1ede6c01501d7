"""The lazily revealed Gaussian matrix: consistent with itself, and of the right law."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from lrtransfer.width import Euclidean, LazyGaussian, Rotated

# Answers are sums of some ten terms of order one: 1e-10 is far above their rounding and above the 1e-12 at
# which a query counts as dependent, and far below anything a wrong answer (of order 0.1 and more) would show.
CLOSE = {"rtol": 0.0, "atol": 1e-10}


def make(kind, rows=9, cols=7, seed=0):
    if kind == "euclidean":
        return LazyGaussian(rows, cols, seed=seed)
    return LazyGaussian(Rotated(rows), Euclidean(cols, 1 / math.sqrt(rows)), seed=seed)


def inner(x, y):
    size = min(len(x), len(y))
    return x[:size] @ y[:size]


@pytest.mark.parametrize("kind", ["euclidean", "rotated"])
@given(
    script=st.lists(st.tuples(st.booleans(), st.integers(1, 3)), min_size=2, max_size=8),
    seed=st.integers(0, 99),
)
@settings(max_examples=40, deadline=None)
def test_every_pair_of_answers_is_consistent(kind, script, seed):
    matrix, rng = make(kind, seed=seed), np.random.default_rng(seed)
    right, left = [], []
    for transposed, count in script:
        size = matrix.rows.size if transposed else matrix.cols.size
        x = rng.standard_normal((size, count))
        (left if transposed else right).append((x, matrix.rmatvec(x) if transposed else matrix.matvec(x)))
    for u, wu in right:
        again = matrix.matvec(u)
        np.testing.assert_allclose(again[: len(wu)], wu, **CLOSE)
        assert not again[len(wu) :].any() or np.abs(again[len(wu) :]).max() < 1e-10
        for v, wv in left:
            for i in range(u.shape[1]):
                for j in range(v.shape[1]):
                    assert inner(wu[:, i], v[:, j]) == pytest.approx(inner(u[:, i], wv[:, j]), abs=1e-10)


@pytest.mark.parametrize("kind", ["euclidean", "rotated"])
def test_linear_and_dependent_queries_reveal_nothing_new(kind):
    matrix, rng = make(kind), np.random.default_rng(1)
    x, y = rng.standard_normal((2, 7))
    wx, wy = matrix.matvec(x), matrix.matvec(y)
    assert matrix.asked == (2, 0)
    both = matrix.matvec(2.0 * x - 1e3 * y)
    expected = -1e3 * wy
    expected[: len(wx)] += 2 * wx
    np.testing.assert_allclose(both, expected, rtol=0, atol=1e-9)  # answers of order 1e3
    block = matrix.matvec(np.column_stack([x, y, x + y, np.zeros(7)]))
    np.testing.assert_allclose(block[:, 2], block[:, 0] + block[:, 1], **CLOSE)
    assert not block[:, 3].any()
    assert matrix.asked == (2, 0)
    matrix.matvec(x + 1e-6 * rng.standard_normal(7))  # nearly dependent is not dependent
    assert matrix.asked == (3, 0)


def test_all_directions_asked_give_one_explicit_matrix():
    matrix = make("euclidean")
    rng = np.random.default_rng(2)
    v = rng.standard_normal((9, 3))
    wv = matrix.rmatvec(v)
    dense = matrix.matvec(np.eye(7))
    np.testing.assert_allclose(dense.T @ v, wv, **CLOSE)
    np.testing.assert_allclose(matrix.rmatvec(np.eye(9)), dense.T, **CLOSE)
    np.testing.assert_allclose(matrix.known(), dense, **CLOSE)
    assert matrix.asked == (7, 9)


def test_entries_of_a_matrix_revealed_by_mixed_queries_are_iid_normal():
    # 4000 draws of a 3 x 3 matrix, revealed from both sides along oblique directions. Thresholds: 5 standard
    # errors.
    draws = []
    for seed in range(4000):
        matrix = LazyGaussian(3, 3, scale=2.0, seed=seed)
        u = matrix.matvec(np.array([1.0, 2.0, -1.0]))
        matrix.rmatvec(u)  # a query that depends on an answer
        draws.append(matrix.matvec(np.eye(3)).ravel())
    entries = np.array(draws) / 2.0
    error = 1 / math.sqrt(len(entries))
    assert np.abs(entries.mean(axis=0)).max() < 5 * error
    assert np.abs(np.cov(entries.T) - np.eye(9)).max() < 5 * math.sqrt(2) * error
    assert stats.kstest(entries.ravel(), "norm").pvalue > 1e-4


def adaptive(matrix, u):
    """Numbers that depend on products, products of products, and their overlaps."""
    a = matrix.matvec(u)
    b = matrix.rmatvec(a)
    c = matrix.matvec(b)
    d = matrix.rmatvec(c - 0.5 * np.pad(a, (0, len(c) - len(a))))
    return [inner(a, a), inner(b, u), inner(b, b), inner(c, a), inner(c, c), inner(d, d), inner(d, b)]


class Dense:
    def __init__(self, rows, cols, rng):
        self.w = rng.standard_normal((rows, cols)) / math.sqrt(rows)

    def matvec(self, x):
        return self.w @ x

    def rmatvec(self, x):
        return self.w.T @ x


@pytest.mark.parametrize("kind", ["euclidean", "rotated"])
@pytest.mark.parametrize("n", [2, 3, 20])
def test_two_sample_test_against_explicit_matrices(kind, n):
    # n = 2 and 3 exhaust the space, so that the boundary of the construction is tested too. With 7 statistics
    # in 6 cases a level of 1e-4 a test means one false alarm in 240 choices of the seeds.
    rng = np.random.default_rng(n)
    lazy, dense = [], []
    for seed in range(1200):
        if kind == "euclidean":
            matrix = LazyGaussian(n, n, scale=1 / math.sqrt(n), seed=seed)
            u = np.eye(n)[0]
        else:
            space = Rotated(n)
            u = np.append(np.zeros(0), 1.0)
            space.fresh(np.random.default_rng(seed), 1)  # names a first direction, as an earlier layer would
            matrix = LazyGaussian(Rotated(n), space, seed=seed)
        lazy.append(adaptive(matrix, u))
        dense.append(adaptive(Dense(n, n, rng), np.eye(n)[0]))
    lazy, dense = np.array(lazy), np.array(dense)
    for column in range(lazy.shape[1]):
        assert stats.ks_2samp(lazy[:, column], dense[:, column]).pvalue > 1e-4
    spread = np.sqrt((lazy.var(axis=0) + dense.var(axis=0)) / 1200)
    assert (np.abs(lazy.mean(axis=0) - dense.mean(axis=0)) < 5 * spread).all()


def test_infinite_width_gives_the_moments_of_the_marchenko_pastur_law():
    # Squared lengths of u, Wu, W'Wu, .. are the Catalan numbers 1, 1, 2, 5, 14, 42.
    space = Rotated(math.inf)
    x = space.fresh(np.random.default_rng(0), 1)[0]
    matrix = LazyGaussian(Rotated(math.inf), space, seed=0)
    lengths = []
    for step in range(6):
        lengths.append(x @ x)
        x = matrix.rmatvec(x) if step % 2 else matrix.matvec(x)
    np.testing.assert_allclose(lengths, [1, 1, 2, 5, 14, 42], rtol=1e-12)


def test_blocks_and_single_queries_have_the_same_law():
    # Squared overlaps of W e_1, W e_2, W e_3 asked at once; against chi-square and beta laws of iid columns,
    # n = 10.
    lengths, cosines = [], []
    for seed in range(3000):
        matrix = LazyGaussian(Rotated(10), Euclidean(3, 1 / math.sqrt(10)), seed=seed)
        a = matrix.matvec(np.eye(3)) * math.sqrt(10)
        lengths.append((a**2).sum(axis=0))
        cosines.append((a[:, 0] @ a[:, 2]) ** 2 / (a[:, 0] @ a[:, 0]) / (a[:, 2] @ a[:, 2]))
    for column in np.array(lengths).T:
        assert stats.kstest(column, "chi2", args=(10,)).pvalue > 1e-4
    assert stats.kstest(cosines, "beta", args=(0.5, 4.5)).pvalue > 1e-4


@pytest.mark.parametrize("n", [1000, 4000])
def test_memory_is_linear_in_the_dimension(n):
    matrix = LazyGaussian(n, n, seed=0)
    x = np.ones(n)
    for _ in range(6):
        x = matrix.rmatvec(matrix.matvec(x / np.linalg.norm(x)))
    assert matrix.nbytes <= 2 * 8 * n * 4 * 6  # q = 6 a side, two vectors a query, a factor two for growth; not 8 n^2


def test_same_seed_same_answers_and_rounding_at_extreme_lengths():
    x = np.random.default_rng(0).standard_normal(50)
    a = LazyGaussian(50, 50, seed=3).matvec(x)
    assert (LazyGaussian(50, 50, seed=3).matvec(x) == a).all()
    for scale in (1e-200, 1e200):
        np.testing.assert_allclose(LazyGaussian(50, 50, seed=3).matvec(x * scale) / scale, a, rtol=1e-12)


@pytest.mark.parametrize("x", [np.ones(8), np.ones((7, 2, 2)), np.array([np.nan] * 7), np.full(7, np.inf), 1.0])
def test_bad_queries_are_refused(x):
    with pytest.raises(ValueError, match="x ="):
        make("euclidean").matvec(x)


def test_bad_shapes_are_refused():
    with pytest.raises(ValueError, match="scale"):
        LazyGaussian(3, 3, scale=0.0, seed=0)
    with pytest.raises(ValueError, match="dim"):
        Euclidean(0)
