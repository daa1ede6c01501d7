"""A recorded run of hundreds of updates and a short one of the page: which of the two decides."""

import math

import pytest

from lrtransfer.numerics.estimates import Estimate
from lrtransfer.page.checks import Check
from lrtransfer.residual import read_sweep
from lrtransfer.residual.experiments import TRANSFORMERS, longer_decides, recorded_transformers
from lrtransfer.residual.recorded import NAMES

SHORT = Check.of(Estimate(-1.5, 0.1, 6), "the short run", "within", 1)


def test_without_a_record_the_short_run_counts_and_the_long_one_is_open():
    missing, kept = longer_decides(SHORT, "the long run", None, "vit-scaled", "within", 1)
    assert kept == SHORT and not kept.ours
    assert missing.outcome == "not resolved" and not missing.ours
    assert "not run here; `lrtransfer record residual-vit-scaled`" in missing.what


@pytest.mark.parametrize(("value", "outcome"), [(0.2, "holds"), (-0.9, "not resolved"), (-3.0, "fails")])
def test_with_a_record_it_decides_whatever_it_says(value, outcome):
    decides, short = longer_decides(SHORT, "the long run", Estimate(value, 0.1, 8), "vit-scaled", "within", 1)
    assert decides.outcome == outcome and not decides.ours and "recorded" in decides.what
    assert short.ours and short.outcome == SHORT.outcome == "fails"


def test_every_recorded_family_of_transformers_has_a_recipe_of_its_own():
    assert {family.record for family in TRANSFORMERS} == {name for name in NAMES if name.startswith("vit-")}
    assert set(recorded_transformers()) == {family.name for family in TRANSFORMERS}
    common = set()
    for family in TRANSFORMERS:
        sweep = read_sweep(family.record)
        chosen = [c for c in sweep.curves if all(getattr(c.settings, f) == v for f, v in family.only)]
        assert len({getattr(c.settings, family.vary) for c in chosen}) == len(chosen) >= 3
        assert NAMES[family.record][1] <= 120  # minutes: it fits a sitting
        common.add((tuple(sweep.seeds), chosen[0].lrs, chosen[0].settings.steps, chosen[0].settings.batch))
    assert len(common) == 1  # paired by seed across records


def test_bounds_reach_the_checks():
    bound = Estimate(-7.5, 0.3, 6, (-math.inf, -7.0))
    assert Check.of(bound, "it", "<=", -1).passed and Check.of(bound, "it", "within", 1).outcome == "fails"
