"""Streams do not disturb each other, and the orthogonal matrices are Haar's."""

import numpy as np

from lrtransfer.numerics.random import haar_orthogonal, stream


def test_a_stream_is_its_seed_and_key():
    first = stream(3, 1, 2).standard_normal(4)
    stream(3, 1).standard_normal(100)
    np.testing.assert_array_equal(stream(3, 1, 2).standard_normal(4), first)
    for other in (stream(3, 2, 1), stream(4, 1, 2), stream(3, 1), stream(3)):
        assert not np.allclose(other.standard_normal(4), first)


def test_orthogonal_matrices_have_haar_moments():
    # E tr Q^k is 0 for odd and 1 for even k below 2h: without the signs of R's diagonal the first is not 0.
    h, draws, generator = 6, 4000, np.random.default_rng(0)
    traces = np.empty((draws, 2))
    for row in traces:
        q = haar_orthogonal(h, generator)
        np.testing.assert_allclose(q @ q.T, np.eye(h), atol=1e-12)
        row[:] = np.trace(q), np.trace(q @ q)
    error = traces.std(axis=0) / draws**0.5
    assert (np.abs(traces.mean(axis=0) - [0, 1]) < 4 * error).all()
