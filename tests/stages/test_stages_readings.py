"""What is read off compared transformers."""

from dataclasses import replace

import numpy as np
import pytest

from lrtransfer.numerics.estimates import Estimate
from lrtransfer.stages import recorded
from lrtransfer.stages.transformer import experiments, readings


@pytest.fixture(scope="module")
def record():
    found = recorded.read_record()
    if found is None:
        pytest.skip(f"no record results/{recorded.RECORD}: `lrtransfer record {recorded.RECORD}` makes it")
    return found


@pytest.fixture(scope="module")
def pair():
    """Two comparisons on the same seeds, two methods each."""
    pytest.importorskip("torch")
    row = experiments.STAGES_PRESETS["smoke"]
    return [experiments.compare_starts(row, methods=m) for m in (("zero", "stacking"), ("silent", "nesterov 0.9"))]


def test_comparisons_come_together(pair):
    both = readings.together(*pair)
    assert both.methods == ("zero", "stacking", "silent", "nesterov 0.9") == both.tuned
    found = both.difference("silent", "stacking")
    gap = pair[1].final[0] - pair[0].final[1]  # (seeds,)
    assert found.value == pytest.approx(gap.mean(), abs=1e-15)
    assert both.difference("nesterov 0.9", "nesterov 0.9").value == 0
    assert both.curves.shape == (len(both.steps), 4, 2) and both.betas.shape == (3, 4, 2)
    with pytest.raises(ValueError, match="second"):
        readings.together(both, pair[1])  # a method twice
    with pytest.raises(ValueError, match="second"):
        readings.together(pair[0], replace(pair[1], seeds=(1, 3)))
    with pytest.raises(ValueError, match="first loss"):
        readings.together(pair[0], replace(pair[1], curves=pair[1].curves[..., ::-1]))  # other seeds in truth
    one = replace(pair[1], seeds=(2,), **{key: getattr(pair[1], key)[..., 1:] for key in ("curves", "final", "betas")})
    assert (
        readings.together(pair[0], replace(one, sweep=one.sweep[..., 1:])).final[:, 0].tolist()
        == both.final[:, 1].tolist()
    )
    fewer = replace(pair[1], lrs=pair[1].lrs[:1])
    assert readings.together(pair[0], fewer).tuned == pair[0].tuned


def test_stage_ends_and_arrivals(pair):
    both = readings.together(*pair)
    steps, gap, _ = both.course("silent", "stacking")
    ends = readings.stage_ends(both, "silent", "stacking")
    assert [e.value for e in ends] == [gap[np.flatnonzero(steps == at)[0]] for at in (12, 18)]
    assert all(e.value == 0 and e.error == 0 for name in ("zero", "silent") for e in readings.arrival(both, name))
    jump = readings.arrival(both, "stacking")
    after, before = np.flatnonzero(both.steps == 6)[::-1]
    assert jump[0].value == pytest.approx((both.curves[after, 1] - both.curves[before, 1]).mean()) != 0
    with pytest.raises(ValueError, match="method"):
        readings.arrival(both, "random")


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
