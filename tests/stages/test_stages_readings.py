"""What is read off compared transformers."""

import numpy as np
import pytest

from lrtransfer.numerics.estimates import Estimate
from lrtransfer.stages import recorded
from lrtransfer.stages.transformer import readings


@pytest.fixture(scope="module")
def record():
    found = recorded.read_record()
    if found is None:
        pytest.skip("only the package is installed")
    return found


def test_what_the_seeds_say():
    assert readings.told(Estimate(-1.0, 0.1, 8)) == "better" and readings.told(Estimate(1.0, 0.1, 8)) == "worse"
    assert readings.told(Estimate(-1.0, 1.0, 8), ("a", "b", "c")) == "c"


def test_young_stages(record):
    found = readings.early_stages(record)
    s, (steps, gap, error) = record.settings, record.course("stacking", "random")
    assert [one.stage for one in found] == list(range(2, s.stages + 1))
    for one in found:
        begin = (one.stage - 1) * s.steps
        arrived = np.flatnonzero(steps == begin)[-1]  # at a boundary the stage before is evaluated first
        assert (one.arrival.value, one.arrival.error) == (gap[arrived], error[arrived])
        assert one.next.value == gap[arrived + 1] and one.outcomes[0] == one.arrival.outcome(">=", 0)
        ends = np.flatnonzero(steps == begin + s.steps)[0]  # before the next block arrives
        assert (one.end.value, one.end.error) == (gap[ends], error[ends])
        if one.level is not None:
            assert gap[np.flatnonzero(steps == begin + one.level)[0 if one.level else -1]] <= 0
    with pytest.raises(ValueError, match="method"):
        readings.early_stages(record, "copy")
