"""Recorded sweeps: a settings file run here, written as a record, read back as curves."""

import numpy as np
import pytest

from lrtransfer.residual import ResidualMLP, read_recorded, read_sweep
from lrtransfer.residual.recorded import NAMES, curves_of, listing, optima_by, recipe, small, sweep_recipe
from lrtransfer.sweeps import records
from lrtransfer.sweeps.recorder import record
from lrtransfer.sweeps.sweep import Curve, CurveResult, Sweep

TINY = """
title = "tiny"
seeds = 2
lrs = { log2_from = -12, log2_to = 0, octaves = 6 }
[network]
kind = "mlp"
data = "digits"
width = 4
steps = 2
batch = 8
eval_points = 16
eval_every = 0
[[curves]]
parametrisation = "mup"
depth = [1, 2]
"""


def test_a_record_gives_back_what_was_trained(tmp_path):
    (tmp_path / "tiny.toml").write_text(TINY)
    recipe = sweep_recipe("tiny", "a test", read_sweep(tmp_path / "tiny.toml"))
    made = record(recipe, folder=tmp_path / "results", runs=tmp_path / "runs", device="cpu")
    assert made == tmp_path / "results" / "residual-tiny" / "record.json"
    entry, curves = curves_of(recipe, folder=tmp_path / "results")
    assert entry["seconds"] >= 0 and "torch" in entry["versions"] and entry["numbers"]["devices"] == ["cpu"]
    assert [c.settings.depth for c in curves] == [1, 2]
    assert curves[0].losses.shape == (1, 3, 2)
    record(recipe, folder=tmp_path / "results", runs=tmp_path / "runs", device="cpu")  # all from the store
    again = curves_of(recipe, folder=tmp_path / "results")[1]
    assert np.array_equal(again[1].losses, curves[1].losses)
    (tmp_path / "tiny.toml").write_text(TINY.replace("depth = [1, 2]", "depth = [1, 3]"))
    other = sweep_recipe("tiny", "a test", read_sweep(tmp_path / "tiny.toml"))
    with pytest.raises(records.DamagedRecord, match="residual-tiny was made with other settings"):
        curves_of(other, folder=tmp_path / "results")


def test_no_record_is_none(tmp_path):
    assert read_recorded("mnist", folder=tmp_path) is None


def bowl(width, depth, centre):
    lrs = 2.0 ** np.arange(-4.0, 5.0)
    losses = np.exp((np.log2(lrs) - centre) ** 2)[None, :, None]
    return CurveResult(ResidualMLP(width=width, depth=depth), lrs, np.array([0]), losses)


def test_optima_are_taken_along_one_axis():
    curves = [bowl(64, 3, 1.0), bowl(64, 6, 0.5), bowl(64, 12, 0.0), bowl(32, 6, -1.0), bowl(128, 6, 2.0)]
    sizes, best = optima_by(curves, "depth")["mup_sqrt_depth"]
    assert sizes == [3, 6, 12]
    assert np.allclose(np.log2([b.lr for b in best]), [1.0, 0.5, 0.0])
    sizes, best = optima_by(curves, "width")["mup_sqrt_depth"]
    assert sizes == [32, 64, 128]
    assert np.allclose(np.log2([b.lr for b in best]), [-1.0, 0.5, 2.0])
    assert optima_by(curves, "depth", steps=41) == {}
    assert optima_by(curves, "depth", steps=40) == optima_by(curves, "depth")
    with pytest.raises(ValueError, match="vary"):
        optima_by(curves, "height")


@pytest.mark.parametrize("name", list(NAMES))
def test_every_recipe_records_in_miniature_and_is_read_back(name, tmp_path):
    sweep = read_sweep(name)
    tiny = small(sweep)
    assert len(tiny.curves) == len(sweep.curves) and all(curve.settings.steps == 2 for curve in tiny.curves)
    recipe = sweep_recipe(f"{name}-tiny", "a test", tiny)
    record(recipe, folder=tmp_path / "results", runs=tmp_path / "runs", device="cpu")
    _, curves = curves_of(recipe, folder=tmp_path / "results")
    assert [c.settings for c in curves] == [c.settings for c in tiny.curves]
    assert all(np.isfinite(c.losses).any() for c in curves)


@pytest.mark.parametrize("name", list(NAMES))
def test_reported_seeds_are_not_those_that_settings_are_tuned_on(name):
    seeds = read_sweep(name).seeds
    assert name in ("mnist", "patches") or min(seeds) >= 100  # grids are looked for on seeds 0 to 3
    assert NAMES[name][1] == recipe(name).minutes > 0


def test_the_list_of_records_says_what_is_there_and_what_the_rest_would_take(tmp_path):
    assert [row[0] for row in listing()] == list(NAMES)
    for name, what, made, _ in listing(folder=tmp_path):
        assert made == "not recorded" and what == NAMES[name][0]
    takes = {name: takes for name, _, _, takes in listing(folder=tmp_path)}
    assert takes["digits-seeds"] == "about 1 min" and takes["vit-rates"].endswith(" h")
    assert next(row for row in listing() if row[0] == "digits-seeds")[3] == "1.0 min"


def test_fields_that_came_later_leave_records_where_they_are(tmp_path):
    plain = sweep_recipe("a", "a test", Sweep((Curve(ResidualMLP(), (0.1,)),), (0,)))
    assert not {"block_rate", "adam_epsilon"} & plain.settings["curves"][0]["settings"].keys()
    other = sweep_recipe("a", "a test", Sweep((Curve(ResidualMLP(block_rate=1.0), (0.1,)),), (0,)))
    assert other.settings["curves"][0]["settings"]["block_rate"] == 1.0
    assert plain.settings != other.settings


@pytest.mark.parametrize("name", ["mnist", "patches"])
def test_the_records_of_the_book_belong_to_the_settings_that_ship(name):
    if records.results() is None or (entry := read_recorded(name)) is None:
        pytest.fail(f"results/residual-{name} is missing: lrtransfer record residual-{name}")
    sweep = read_sweep(name)
    assert [c.settings for c in entry[1]] == [c.settings for c in sweep.curves]
    assert [tuple(c.lrs) for c in entry[1]] == [c.lrs for c in sweep.curves]
