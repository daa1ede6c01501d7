"""What is compared, and what is recorded."""

from dataclasses import asdict, replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from small_transformer import TINY  # noqa: E402

from lrtransfer.numerics.estimates import Estimate  # noqa: E402
from lrtransfer.stages import recorded  # noqa: E402
from lrtransfer.stages.transformer import experiments, training  # noqa: E402
from lrtransfer.stages.transformer.settings import COMPARED, METHODS, GrownTransformer, StagedTransformer  # noqa: E402
from lrtransfer.stages.transformer.task import StagedTask, unpacked  # noqa: E402
from lrtransfer.stages.transformer.training import train_stages  # noqa: E402
from lrtransfer.sweeps import records  # noqa: E402
from lrtransfer.sweeps.recorder import record  # noqa: E402
from lrtransfer.sweeps.run import run  # noqa: E402
from lrtransfer.sweeps.settings_file import read_sweep  # noqa: E402
from lrtransfer.sweeps.store import Store  # noqa: E402
from lrtransfer.sweeps.sweep import Curve, Sweep  # noqa: E402
from lrtransfer.sweeps.task_registry import Run  # noqa: E402

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
    found = result.difference("stacking", "random")
    mean, error = found
    assert found.seeds == 2
    assert mean == pytest.approx((gap[0] + gap[1]) / 2, abs=1e-15)
    assert error == pytest.approx(abs(gap[0] - gap[1]) / 2, abs=1e-15)  # two seeds: |a - b| / sqrt(2) / sqrt(2)
    steps, means, errors = result.course("stacking", "random")
    assert (steps[0], steps[-1]) == (
        ROW.transformer.steps,
        result.steps[-1],
    )  # the first one right after the second block came
    last = Estimate.paired(*(result.curves[-1, result.methods.index(name)] for name in ("stacking", "random")))
    assert (means[-1], errors[-1]) == tuple(last)  # on the windows of the curves; ``difference`` is on the whole text
    with pytest.raises(ValueError, match="other"):
        result.course("stacking", "rando")
    with pytest.raises(ValueError, match="lr"):
        result.difference("stacking", "random", lr=0.01)


def test_a_stopped_record_goes_on_and_is_the_same(tmp_path, monkeypatch):
    calls = []
    real = training.train_runs
    monkeypatch.setattr(StagedTask, "groups", lambda task, runs, device, workers: [[run] for run in runs])

    def counted(settings, runs, **options):
        calls.extend(runs)
        if len(calls) == 10:
            raise KeyboardInterrupt
        return real(settings, runs, **options)

    monkeypatch.setattr(training, "train_runs", counted)
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


def grown(network, method):
    return GrownTransformer(**asdict(network), **asdict(METHODS[method]))


def test_groups_hold_whole_pairs_in_order():
    for width, most in ((8, 30), (64, 10), (512, 5)):
        network = StagedTransformer(width=width, batch=16, length=24)
        runs = [
            Run(grown(network, method), lr, seed, "") for seed in (1, 2, 3) for lr in (0.1, 0.2) for method in COMPARED
        ]
        packed = StagedTask().groups(runs, torch.device("cpu"), workers=1)
        assert [run for group in packed for run in group] == runs
        assert max(map(len, packed)) == most  # 2^18 / (384 width) = 85, 10.7, 1.3; five methods at least
        assert len(StagedTask().groups(runs, torch.device("cuda"), workers=1)) == 1  # 64 times as many
        assert max(map(len, StagedTask().groups(runs, torch.device("cuda"), workers=3))) == 10
        other = Run(grown(replace(network, steps=1), "zero"), 0.1, 1, "")
        assert [other] in StagedTask().groups([*runs, other], torch.device("cuda"), workers=1)


def test_a_sweep_of_methods_is_what_train_stages_gives(tmp_path):
    file = tmp_path / "staged.toml"
    file.write_text(
        'lrs = [0.003, 0.01]\nseeds = [1]\n[network]\nkind = "staged"\nwidth = 8\nheads = 2\nstages = 3\nsteps = 3\n'
        "batch = 3\nlength = 8\nwarmup = 1\neval_every = 2\neval_windows = 6\nfinal_share = 0.1\n"
        '[[curves]]\nstart = ["random", "stacking"]\n[[curves]]\nstart = "stacking"\nbeta = 0.9\n'
    )
    sweep = read_sweep(file)
    assert [curve.settings for curve in sweep.curves] == [
        grown(ROW.transformer, method) for method in ("random", "stacking", "beta 0.9")
    ]
    results = run(sweep, tmp_path / "runs.sqlite", device="cpu")
    methods = ["random", "stacking", "beta 0.9"]
    for place, lr in enumerate((0.003, 0.01)):
        curves = train_stages(ROW.transformer, lr, 1, methods=methods, device="cpu")
        for m, result in enumerate(results):
            found = unpacked(result.settings, methods[m], result.losses[:, place, 0])
            np.testing.assert_array_equal(found.steps, curves.steps)
            np.testing.assert_array_equal(found.stage, curves.stage)
            np.testing.assert_allclose(found.losses[:, 0], curves.losses[:, m], rtol=1e-5)  # batched, as above
            np.testing.assert_allclose(found.betas[:, 0], curves.betas[:, m], rtol=1e-4)
            assert found.final[0] == pytest.approx(curves.final[m], rel=1e-5)
    with Store(tmp_path / "runs.sqlite", read_only=True) as store:
        assert {row.kind for row in store.rows()} == {"staged"} and len(store) == 6  # and every key is right


def test_a_text_of_another_python_is_refused_and_so_is_half_precision(tmp_path):
    other = replace(grown(ROW.transformer, "zero"), text="of another")
    with pytest.raises(ValueError, match="text = 'of another'"):
        run(Sweep((Curve(other, (0.1,)),), (0,)), tmp_path / "a.sqlite", device="cpu")
    with pytest.raises(ValueError, match="precision = 'bf16'"):
        StagedTask().check("bf16", False)
    with pytest.raises(ValueError, match="compile = True"):
        StagedTask().check("float32", True)


@pytest.mark.parametrize("name", list(recorded.PRESETS))
def test_the_records_in_results_hold_their_presets(name):
    found = recorded.read_record(name)
    if found is None:
        pytest.skip(f"no record results/{name}: `lrtransfer record {name}` makes it")
    row = experiments.STAGES_PRESETS[recorded.PRESETS[name]]
    assert found.settings == row.transformer and set(found.seeds) <= set(row.seeds)
    assert set(found.lrs.tolist()) <= set(row.lrs) and set(found.swept.tolist()) <= set(row.swept)
    assert found.selection_seed not in found.seeds and np.isfinite(found.curves).all()
    best = dict(zip(found.tuned, found.lrs[found.selection.argmin(axis=0)].tolist(), strict=True))
    assert all(found.chosen[found.methods.index(method)] == rate for method, rate in best.items())
    for k, method in enumerate(found.tuned):  # the sweep and the curves are the same runs where they meet
        m = found.methods.index(method)
        if found.chosen[m] in found.swept:
            place = found.swept.tolist().index(found.chosen[m])
            np.testing.assert_array_equal(found.sweep[place, k], found.final[m])


def test_the_later_records_have_the_rate_of_the_first():
    for first, later in (
        (recorded.RECORD, (recorded.STARTS, recorded.SCALARS)),
        (recorded.SHORT, (recorded.STARTS_SHORT,)),
    ):
        base = recorded.read_record(first)
        for name in later:
            more = recorded.read_record(name)
            if base is None or more is None:
                pytest.skip(f"no record results/{first} or results/{name}: `lrtransfer record` makes them")
            rate = base.chosen[base.methods.index("stacking")]
            assert all(more.chosen[more.methods.index(m)] == rate for m in more.methods if m not in more.tuned)


def test_scalars_alone_need_a_rate():
    row = replace(ROW, lrs=(0.003,), swept=())
    found = experiments.compare_starts(row, methods=("beta 0.9, given",), stacking_lr=0.003)
    assert found.tuned == () and found.chosen.tolist() == [0.003] and found.selection.shape == (1, 0)
    alone = train_stages(row.transformer, 0.003, 2, methods=["beta 0.9, given"], device="cpu")
    np.testing.assert_allclose(found.curves[:, 0, 1], alone.losses[:, 0], rtol=1e-5)
    for bad in (None, 0.5):
        with pytest.raises(ValueError, match="stacking_lr"):
            experiments.compare_starts(row, methods=("silent", "beta 0.9, given"), stacking_lr=bad)
    with pytest.raises(ValueError, match="methods"):
        experiments.compare_starts(row, methods=("quiet",))
