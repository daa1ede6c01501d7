"""A part of a record of results/ made again, the cheapest, agrees with what is recorded."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pytest

from lrtransfer.images.catalogue import load
from lrtransfer.layers import recorded as layers
from lrtransfer.layers.relu import train_three_layers
from lrtransfer.layers.schedule import SCHEDULES
from lrtransfer.performance import readings
from lrtransfer.performance import recorded as performance
from lrtransfer.practice import recorded as practice
from lrtransfer.practice.language import functions
from lrtransfer.practice.settings import LanguageModel
from lrtransfer.practice.sweep import rate_sweep
from lrtransfer.residual import recorded as residual
from lrtransfer.residual.networks.settings import from_dict
from lrtransfer.residual.networks.training import train_runs
from lrtransfer.stages import recorded as stages
from lrtransfer.stages.transformer.settings import StagedTransformer
from lrtransfer.stages.transformer.sweep import train_or_read
from lrtransfer.sweeps import records
from lrtransfer.sweeps.recorder import record
from lrtransfer.synthesis import recorded as synthesis
from lrtransfer.synthesis.growing import train_grown
from lrtransfer.synthesis.network import Blocks
from lrtransfer.synthesis.scales import Family, train_scale

# Other versions of the libraries add in another order: float32 in a training, float64 in the other engines.
FLOAT32, FLOAT64 = 1e-4, 1e-8
LONG = 1e-2  # after hundreds of steps, which make roundings grow
HERE = records.results().is_dir()
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not HERE, reason="an installed package has no results")]


def entry_of(name: str) -> dict[str, Any]:
    entry = records.read(name)
    if entry is None:
        pytest.skip(f"results/{name} is not recorded")
    return entry


@pytest.mark.parametrize("name", list(residual.NAMES))
def test_a_residual_record(name):
    entry = entry_of(f"residual-{name}")
    curves, seeds = entry["settings"]["curves"], entry["settings"]["seeds"][:2]
    networks = [from_dict(curve["settings"]) for curve in curves]
    work = [network.depth * network.width**2 * network.steps * network.batch for network in networks]
    place = int(np.argmin(work))
    lr = curves[place]["lrs"][0]  # where training is calm, so that roundings stay what they are
    again = train_runs(networks[place], [lr] * len(seeds), seeds, device="cpu")[-1]
    np.testing.assert_allclose(again, entry["numbers"]["losses"][place][0][: len(seeds)], rtol=FLOAT32)


# Of each the first run, at its first rate.
LESS: dict[str, dict[str, Any]] = {
    "gaussian": {"rates": 1},
    "noise": {"rates": 1},
    "window": {"exponents": 1},
}


@pytest.mark.parametrize("name", list(LESS))
def test_a_record_of_the_layers(name):
    run, numbers = (entry_of(f"layers-{name}")[part]["runs"][0] for part in ("settings", "numbers"))
    less = {field: run[field][:number] for field, number in LESS[name].items()}
    again = records.plain("again", layers.MAKERS[name](run | less))
    for field, values in again.items():
        new = np.asarray(values)  # the first entries along every axis
        old = np.asarray(numbers[field])[tuple(map(slice, new.shape))]
        np.testing.assert_allclose(new, old, rtol=FLOAT64, err_msg=field)


RELU, SCHEDULE = ("layers-relu", "layers-relu-again"), "layers-scheduler"


@pytest.mark.parametrize("name", RELU)
def test_a_record_with_relu(name):
    run, numbers = (entry_of(name)[part]["runs"][0] for part in ("settings", "numbers"))
    again = records.plain("again", layers.MAKERS[name.removeprefix("layers-")](run))
    for field, values in again.items():
        np.testing.assert_allclose(values, numbers[field], rtol=FLOAT64, err_msg=field)


def test_the_record_far_from_the_identity():
    pytest.importorskip("flint")
    entry = entry_of(stages.FAR)
    s = stages.FarSettings(**entry["settings"])
    again = stages.far_run(s.small, 0, s.longest, s.until, s.digits[0], s)
    assert records.plain("again", again) == entry["numbers"]["small"][0]


def test_the_record_of_the_schedule():
    run, numbers = (entry_of(SCHEDULE)[part]["runs"][0] for part in ("settings", "numbers"))
    options = {key: run[key] for key in ("activation", "noise", "initialisation")}
    seed, steps = run["seeds"][0], 6
    for place, schedule in enumerate(SCHEDULES):
        again = train_three_layers(run["h"], run["lr"], steps, seed=seed, schedule=schedule, **options)
        for field, new in (
            ("train_loss", again.train_loss),
            ("test_loss", again.test_loss),
            ("norm_difference", -np.diff(again.norms)[:, 0]),
        ):
            old = numbers[field][place][0][: steps + 1]
            np.testing.assert_allclose(new, old, rtol=FLOAT64, atol=FLOAT64, err_msg=f"{schedule}: {field}")


@pytest.mark.parametrize("name", [recipe.name for recipe in practice.RECIPES])
def test_a_record_of_the_language_model(name):
    entry = entry_of(name)
    curves, seed = entry["settings"]["curves"], entry["settings"]["seeds"][0]
    network = LanguageModel(**curves[0]["settings"])
    lr = practice.rates(curves[0]["powers"])[0]
    again = rate_sweep(*functions(network), [lr], [seed], progress=False)
    np.testing.assert_allclose(again[0, 0], entry["numbers"]["losses"][0][0][0], rtol=FLOAT32)


def curves_again(entry: dict[str, Any], method: str, **less: int) -> tuple[Any, Any]:
    """One method of a recorded comparison on its first seed, made again and as recorded."""
    settings, numbers = StagedTransformer(**entry["settings"]["transformer"]), entry["numbers"]
    place, seed = numbers["methods"].index(method), numbers["seeds"][0]
    run = (numbers["chosen"][place], seed, method)
    again = train_or_read(replace(settings, **less), [run], device="cpu")[run]
    old = np.array(numbers["curves"])[: len(again.losses), place, 0]
    return np.asarray(again.losses[:, 0]), old


SHORT = {stages.SHORT: "stacking", stages.STARTS_SHORT: "nesterov 0.9", stages.STILL: "still 0.9"}


@pytest.mark.parametrize("name", list(SHORT))
def test_a_record_of_short_stages(name):
    again, old = curves_again(entry_of(name), SHORT[name])
    np.testing.assert_allclose(again[:9], old[:9], rtol=FLOAT32)  # three of the eight stages
    np.testing.assert_allclose(again, old, rtol=LONG)


LONGER = {stages.RECORD: "stacking", stages.STARTS: "silent", stages.SCALARS: "beta 0.9, given"}


@pytest.mark.parametrize("name", list(LONGER))
def test_a_record_of_long_stages(name):
    again, old = curves_again(entry_of(name), LONGER[name], stages=2)
    np.testing.assert_allclose(again[:3], old[:3], rtol=FLOAT32)
    np.testing.assert_allclose(again, old, rtol=LONG)


SCALES, GROWTH, SPLITS = ("synthesis-scales", "synthesis-scales-two"), "synthesis-growth", "synthesis-splits"


@pytest.mark.parametrize("name", SCALES)
def test_a_record_over_scales(name):
    entry = entry_of(name)
    s, old = entry["settings"], entry["numbers"]["losses"][0]  # the least deep network at the smallest scale
    family, seeds = Family(**s["families"][0]), s["seeds"][:3]
    network = Blocks(width=s["width"], depth=family.depths[0], branch=family.branch, layers=family.layers)
    sizes = {key: s[key] for key in ("steps", "points", "dim")}
    again = train_scale(network, family.scales[0], family.lrs(family.scales[0]), seeds, **sizes)
    np.testing.assert_allclose(again[:4], np.array(old)[:4, : len(seeds)], rtol=FLOAT32)


def test_the_record_of_growth():
    entry = entry_of(GROWTH)
    s = synthesis.GrowthSettings(**entry["settings"])
    cells = [(branch, depth, way) for branch, depth, way in s.cells if depth == min(s.depths[0])]
    for branch, depth, way in cells:
        network = Blocks(width=s.width, depth=depth, branch=branch, loss="cross-entropy")
        sizes = {"stages": s.stages, "steps": s.steps, "batch": s.batch, "points": s.points}
        again = train_grown(network, way, s.lrs(branch), s.seeds[:2], load(s.data), **sizes)
        old = np.array(entry["numbers"]["losses"][s.cells.index((branch, depth, way))])
        np.testing.assert_allclose(again[:3], old[:3, :2], rtol=FLOAT32, err_msg=way)


def test_the_record_of_splits(tmp_path):
    entry = entry_of(SPLITS)
    cases, steps = entry["settings"]["cases"], entry["settings"]["steps"][:4]
    least = [*cases[0][:3], [cases[0][3][0]], cases[0][4]]
    recipe = synthesis.split_recipe(synthesis.SplitSettings(cases=(least,), steps=tuple(steps)))
    record(recipe, folder=tmp_path, runs=tmp_path / "runs", device="cpu")
    made = records.read(recipe.name, folder=tmp_path)
    for field, (value, error) in made["numbers"]["courses"][0].items():
        old, old_error = (row[: len(steps)] for row in entry["numbers"]["courses"][0][field])
        np.testing.assert_allclose(error, old_error, rtol=0.01, err_msg=field)
        off = np.abs(np.subtract(value, old)) / old_error  # differences of single-precision losses
        assert off.max() < 0.05, field


def test_the_record_of_performance():
    entry = entry_of(performance.NAME)
    assert readings.read() == entry
    for name in ("depth-arrays", "layers-grid", "width-vectors"):  # times are never the same, the work is
        made, case = performance.makers(performance.Sizes())[name](), entry["numbers"]["cases"][name]
        assert case["times"] == made.times and case["scaled"] == made.scaled
        assert case["work"] == pytest.approx(asdict(made.work), rel=FLOAT64)


def test_every_record_has_such_a_test():
    named = {f"residual-{name}" for name in residual.NAMES} | {f"layers-{name}" for name in LESS}
    named |= {recipe.name for recipe in practice.RECIPES} | {*SHORT, *LONGER, stages.FAR}
    named |= {*RELU, SCHEDULE, *SCALES, GROWTH, SPLITS, performance.NAME}
    assert {folder.name for folder in records.results().iterdir() if folder.is_dir()} <= named
