"""What is compared, and what is recorded."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from small_transformer import TINY  # noqa: E402

from lrtransfer.stages import recorded  # noqa: E402
from lrtransfer.stages.transformer import experiments  # noqa: E402
from lrtransfer.stages.transformer import runs as transformer_runs  # noqa: E402
from lrtransfer.stages.transformer.settings import METHODS, StagedTransformer, train_stages  # noqa: E402
from lrtransfer.sweeps import records  # noqa: E402
from lrtransfer.sweeps.recorder import record  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")


# On one of the seven deals of the held-out text: what the mean over all is, test_stages_transformer asks.
ROW = experiments.StagesPreset(
    replace(TINY, steps=3, final_share=0.1), lrs=(0.003, 0.01), seeds=(1, 2), swept=(0.003, 0.01)
)


def test_rates_are_chosen_on_a_seed_that_is_not_reported(tmp_path):
    result = experiments.compare_starts(ROW, store=tmp_path)
    for k, method in enumerate(result.tuned):
        own = [train_stages(ROW.transformer, lr, 0, methods=[method], device="cpu").final[0] for lr in ROW.lrs]
        np.testing.assert_allclose(result.selection[:, k], own, rtol=1e-5)  # batched, as above
        assert result.chosen[result.methods.index(method)] == ROW.lrs[int(np.argmin(own))]
    rate = dict(zip(result.methods, result.chosen, strict=True))
    assert rate["beta 0.99"] == rate["beta 0.9"] == rate["stacking"]
    for m, method in enumerate(result.methods):
        curves = train_stages(ROW.transformer, rate[method], 2, methods=[method], device="cpu")
        np.testing.assert_allclose(result.curves[:, m, 1], curves.losses[:, 0], rtol=1e-5)
        assert result.final[m, 1] == pytest.approx(curves.final[0], rel=1e-5)
        np.testing.assert_allclose(result.betas[:, m, 1], curves.betas[:, 0], rtol=1e-4)  # steps near 0.01 of 0.9
    for k, method in enumerate(result.tuned):
        curves = train_stages(ROW.transformer, 0.003, 1, methods=[method], device="cpu")
        np.testing.assert_allclose(result.sweep[0, k, 0], curves.final[0], rtol=1e-5)
    with pytest.raises(ValueError, match="seeds"):
        experiments.compare_starts(replace(ROW, seeds=(0, 1)))
    with pytest.raises(ValueError, match="swept"):
        experiments.compare_starts(replace(ROW, swept=(0.5,)))


def test_differences_are_paired_by_seed():
    shares = []
    result = experiments.compare_starts(replace(ROW, swept=()), progress=shares.append)
    assert shares == sorted(shares) and shares[-1] == 1 and 0 <= shares[0] < 0.5
    gap = result.final[result.methods.index("stacking")] - result.final[result.methods.index("random")]
    mean, error = result.difference("stacking", "random")
    assert mean == pytest.approx((gap[0] + gap[1]) / 2, abs=1e-15)
    assert error == pytest.approx(abs(gap[0] - gap[1]) / 2, abs=1e-15)  # two seeds: |a - b| / sqrt(2) / sqrt(2)
    steps, means, errors = result.course("stacking", "random")
    assert (steps[0], steps[-1]) == (
        ROW.transformer.steps,
        result.steps[-1],
    )  # the first one right after the second block came
    last = experiments.paired(*(result.curves[-1, result.methods.index(name)] for name in ("stacking", "random")))
    assert (means[-1], errors[-1]) == last  # on the windows of the curves; ``difference`` is on the whole text
    with pytest.raises(ValueError, match="other"):
        result.course("stacking", "rando")
    with pytest.raises(ValueError, match="lr"):
        result.difference("stacking", "random", lr=0.01)
    inf = np.inf
    assert experiments.paired(np.array([inf, 1]), np.array([1.0, 1])) == (inf, inf)
    assert experiments.paired(np.array([1.0, 1]), np.array([inf, 1])) == (-inf, inf)
    assert experiments.paired(np.array([inf, 1]), np.array([inf, 1])) == (inf, inf)
    assert experiments.paired(np.array([3.0]), np.array([1.0])) == (2.0, inf)


def test_a_stopped_record_goes_on_and_is_the_same(tmp_path, monkeypatch):
    calls = []
    real = transformer_runs.train_runs
    monkeypatch.setattr(transformer_runs, "groups", lambda settings, runs, place: [[run] for run in runs])

    def counted(settings, runs, **options):
        calls.extend(runs)
        if len(calls) == 10:
            raise KeyboardInterrupt
        return real(settings, runs, **options)

    monkeypatch.setattr(transformer_runs, "train_runs", counted)
    recipe = recorded.comparison_recipe("stages-tiny", "a test", ROW)
    with pytest.raises(KeyboardInterrupt):
        record(recipe, folder=tmp_path, runs=tmp_path)
    assert recorded.comparison_of(recipe, "own", folder=tmp_path) is None
    record(recipe, folder=tmp_path, runs=tmp_path)
    # 2 rates x 3 methods on the selection seed, the same and two scalars on each of two seeds; one of them twice.
    assert len(calls) == 6 + 2 * 8 + 1 and calls[9] == calls[10]
    whole = experiments.compare_starts(ROW)
    found = recorded.comparison_of(recipe, "own", folder=tmp_path)
    for field in experiments.StageComparison.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(found, field), getattr(whole, field), err_msg=field)
    entry = records.read("stages-tiny", folder=tmp_path)
    assert entry["seconds"] >= 0 and entry["versions"].keys() == {"python", "numpy", "torch"}
    mean, error = found.difference("random", "zero", lr=0.01)
    assert np.isfinite(mean) and np.isfinite(error)
    with pytest.raises(ValueError, match="lr"):
        found.difference("random", "zero", lr=0.5)


def test_groups_hold_whole_pairs_in_order():
    runs = [(lr, seed, method) for seed in (1, 2, 3) for lr in (0.1, 0.2) for method in METHODS]
    for width, most in ((8, 30), (64, 10), (512, 5)):
        settings = StagedTransformer(width=width, batch=16, length=24)
        packed = transformer_runs.groups(settings, runs)
        assert [run for group in packed for run in group] == runs
        assert max(map(len, packed)) == most  # 2^18 / (384 width) = 85, 10.7, 1.3; five methods at least
        assert len(transformer_runs.groups(settings, runs, "cuda")) == 1  # 64 times as many


@pytest.mark.parametrize("name", list(recorded.PRESETS))
def test_the_records_in_results_hold_their_presets(name):
    found = recorded.read_record(name)
    if found is None:
        pytest.skip("only the package is installed")
    row = experiments.STAGES_PRESETS[recorded.PRESETS[name]]
    assert found.settings == row.transformer and found.seeds == row.seeds
    assert found.lrs.tolist() == list(row.lrs) and found.swept.tolist() == list(row.swept)
    best = found.lrs[found.selection.argmin(axis=0)]
    assert found.chosen[: len(found.tuned)].tolist() == best.tolist()
    assert found.selection_seed not in found.seeds and np.isfinite(found.curves).all()
    for k, method in enumerate(found.tuned):  # the sweep and the curves are the same runs where they meet
        if found.chosen[k] in found.swept:
            rate = found.swept.tolist().index(found.chosen[k])
            np.testing.assert_array_equal(found.sweep[rate, k], found.final[found.methods.index(method)])
