"""The recipes of the synthesis: stopped and resumed, read back, and refused where the settings have changed."""

import json
from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from lrtransfer.sweeps.recorder import record  # noqa: E402
from lrtransfer.synthesis import recorded, results  # noqa: E402
from lrtransfer.synthesis.scales import Family  # noqa: E402

SCALES = recorded.ScaleSettings(
    width=6,
    steps=2,
    points=8,
    dim=3,
    seeds=(0, 1),
    families=(Family("one", 1, 0.5, (2, 3), (1.0, 2.0), -2.0, 2, 3), Family("two", 2, 0.0, (2,), (1.0,), -2.0, 2, 3)),
)
GROWTH = recorded.GrowthSettings(
    width=6, steps=1, batch=4, points=10, seeds=(0, 1), depths=((4,), (4,)), octaves=((0.0, 1.0), (-1.0, 0.0))
)
SPLITS = recorded.SplitSettings(
    width=6,
    points=8,
    dim=3,
    images=10,
    steps=(1, 2),
    cases=(("linear", "square", 0.1, (2, 4), 3), ("relu", "cross-entropy", 0.1, (4,), 2)),
)


def test_scales_come_back_by_family_scale_and_depth(tmp_path):
    record(recorded.scale_recipe(SCALES), folder=tmp_path, runs=tmp_path / "runs")
    found = results.read_scales([recorded.scale_recipe(SCALES)], folder=tmp_path)
    assert {name: list(cells) for name, cells in found.items()} == {
        "one": [(1.0, 2), (1.0, 3), (2.0, 2), (2.0, 3)],
        "two": [(1.0, 2)],
    }
    lrs, losses = found["one"][2.0, 3]
    assert losses.shape == (3, 2) and lrs[0] == pytest.approx(2.0 ** (-2 - 1.3))


def test_growth_and_splits_come_back(tmp_path):
    record(recorded.growth_recipe(GROWTH), folder=tmp_path, runs=tmp_path / "runs")
    record(recorded.split_recipe(SPLITS), folder=tmp_path, runs=tmp_path / "runs")
    growth = results.read_growth(GROWTH, folder=tmp_path)
    assert set(growth) == {(a, 4, way) for a in (0.5, 0.0) for way in ("full", "copy", "zero", "random")}
    assert growth[0.0, 4, "copy"][1].shape == (3, 2)
    courses = results.read_splits(SPLITS, folder=tmp_path)
    assert list(courses) == [
        ("linear", "square", 0.1, 2, "halves"),
        ("linear", "square", 0.1, 4, "halves"),
        ("linear", "square", 0.1, 4, "neighbours"),
        ("relu", "cross-entropy", 0.1, 4, "halves"),
        ("relu", "cross-entropy", 0.1, 4, "neighbours"),
    ]
    course = courses["linear", "square", 0.1, 2, "halves"]
    assert course.curvature.value.shape == (2,) and course.curvature.seeds == 3
    assert results.read_splits(replace(SPLITS, width=7), folder=tmp_path / "elsewhere") is None
    with pytest.raises(ValueError, match="other settings"):
        results.read_splits(replace(SPLITS, width=7), folder=tmp_path)


def test_a_stopped_recording_goes_on_where_it_was(tmp_path, monkeypatch):
    whole = json.loads(record(recorded.scale_recipe(SCALES), folder=tmp_path, runs=tmp_path / "a").read_text())
    train, calls = recorded.train_scale, []

    def stopping(*args, **kwargs):
        calls.append(args)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return train(*args, **kwargs)

    monkeypatch.setattr(recorded, "train_scale", stopping)
    with pytest.raises(KeyboardInterrupt):
        record(recorded.scale_recipe(SCALES), folder=tmp_path, runs=tmp_path / "b")
    again = json.loads(record(recorded.scale_recipe(SCALES), folder=tmp_path, runs=tmp_path / "b").read_text())
    assert again["numbers"] == whole["numbers"] and len(calls) == 3 + 3


def test_where_there_is_no_record_small_runs_stand_in():
    found, words = results.recorded_or_made(lambda _: None, (), (), lambda _, folder: {"made": folder})
    assert "No record" in words and list(found) == ["made"]


@pytest.mark.parametrize("read", [results.read_scales, results.read_growth, results.read_splits])
def test_the_records_of_the_book_are_there_and_whole(read):
    found = read()
    assert found
    assert all(cell for cell in found.values())
