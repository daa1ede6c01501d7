"""Comparisons over seeds, by hand: pairs, bands, intervals."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from lrtransfer.stages.all_layers.comparison import CONFIDENCE, geometric_band, log_interval, paired
from lrtransfer.stages.all_layers.training import INITS, train_all_layers

SMALL = {"d": 4, "samples": 64, "test_samples": 50, "stages": 4, "batch": 16}


def test_paired_by_hand():
    run = train_all_layers([4.0], seeds=range(5), **SMALL)
    found = paired(run, "random", "zero", stage=3)
    ratio = np.log(run.excess[3, 2, 0] / run.excess[3, 3, 0])
    error = ratio.std(ddof=1) / np.sqrt(5)
    assert found.log_ratio[0] == pytest.approx(ratio.mean())
    assert found.standard_error[0] == pytest.approx(error)
    assert found.in_errors[0] == pytest.approx(ratio.mean() / error)
    low, high = stats.t.interval(CONFIDENCE, 4, loc=ratio.mean(), scale=error)
    assert (found.low[0], found.high[0]) == pytest.approx((low, high))
    assert found.verdict[0] == (1 if low > 0 else -1 if high < 0 else 0)
    assert found.wins[0] == (ratio < 0).mean()
    mirrored = paired(run, "zero", "random", stage=3)
    assert mirrored.verdict[0] == -found.verdict[0] and mirrored.high[0] == pytest.approx(-low)
    with pytest.raises(ValueError, match="two seeds"):
        paired(train_all_layers([4.0], seeds=[1], **SMALL), "random", "zero")
    with pytest.raises(ValueError, match="init"):
        paired(run, "random", "ones")
    with pytest.raises(ValueError, match="diverged by stage"):
        paired(train_all_layers((2, 1000), rate="printed", seeds=range(3)), "stacking", "zero")


def test_a_verdict_is_rarely_chance():
    """One thousand comparisons of equals: about one named a winner (2.5 standard deviations of a binomial above)."""
    draws = np.exp(np.random.default_rng(0).standard_normal((1000, 6)))
    found = log_interval(draws)
    assert ((found.low > 0) | (found.high < 0)).sum() <= 4
    assert (found.low < found.mean).all() and (found.mean < found.high).all()


def test_interval_by_hand():
    values = np.array([[1.0, 2.0, 4.0], [3.0, 3.0, 3.0], [1.0, np.inf, 1.0]])
    found = log_interval(values)
    logs = np.log(values[0])
    ends = stats.t.interval(CONFIDENCE, 2, loc=logs.mean(), scale=logs.std(ddof=1) / np.sqrt(3))
    assert (found.low[0], found.high[0]) == pytest.approx(ends)
    assert [line[1] for line in found] == pytest.approx([np.log(3.0)] * 3)
    assert all(np.isposinf(line[2]) for line in found)
    alone = log_interval([2.0])
    assert (alone.low, alone.high) == (-np.inf, np.inf) and alone.mean == pytest.approx(np.log(2))
    with pytest.raises(ValueError, match="values"):
        log_interval([1.0, 0.0])


def test_geometric_band_by_hand():
    run = train_all_layers([4.0, 9.0], seeds=range(5), **SMALL)
    seen = geometric_band(run, "random")
    logs = np.log(run.excess[3, INITS.index("random"), 1])
    middle, width = logs.mean(), 2 * logs.std(ddof=1) / np.sqrt(5)
    assert [float(line[3, 1]) for line in seen] == pytest.approx(np.exp([middle, middle - width, middle + width]))
    gone = geometric_band(train_all_layers((2, 1000), rate="printed", seeds=range(3)), "zero")
    assert all(np.isinf(line[-1]).all() and np.isfinite(line[0]).all() for line in gone)
    with pytest.raises(ValueError, match="two seeds"):
        geometric_band(train_all_layers([4.0], seeds=[1], **SMALL), "zero")
    with pytest.raises(ValueError, match="init"):
        geometric_band(run, "ones")
