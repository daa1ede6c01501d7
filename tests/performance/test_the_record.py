"""How the record of performance is made and read, at small sizes."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from small_performance import SMALL

pytest.importorskip("torch")

from lrtransfer.performance import drawings, growth, readings, recorded, throughput
from lrtransfer.performance.speeds import Speeds, Work, measured
from lrtransfer.sweeps.recorder import record


def test_the_least_time_is_the_slower_of_arithmetic_and_memory():
    speeds = Speeds(product64=10.0, product32=20.0, entries=5.0, bytes=8.0, normals=1.0, calls=1.0)
    assert Work(product64=20.0, entries=5.0).seconds(speeds) == 3.0
    assert Work(product64=20.0, bytes=80.0).seconds(speeds) == 10.0
    assert Work(normals=2.0, bytes=8.0).seconds(speeds) == 2.0


def test_the_speeds_are_those_of_a_core():
    speeds = measured(128)
    assert all(math.isfinite(value) and value > 0 for value in vars(speeds).values())
    assert 1e8 < speeds.product64 < 1e12 and 1e8 < speeds.entries < 1e11 and 1e4 < speeds.calls < 1e9


def test_the_memory_of_a_call_is_what_its_arrays_take():
    assert 8e6 < growth.peak(lambda: np.ones(10**6)) < 8.1e6


def test_every_growth_is_measured_at_three_sizes_or_more():
    for one in growth.growths():
        assert len(set(one.sizes)) >= 4 and list(one.sizes) == sorted(one.sizes), one
    small = growth.growths(64)[0]
    values = np.array(small.measured(2))
    assert values.shape == (len(small.sizes), 2) and (values > 0).all()


def test_the_sweeps_of_all_places_are_the_same_runs(monkeypatch):
    monkeypatch.setattr(throughput, "executors", lambda stack: {"here": None, "again": None})
    found = throughput.seconds_of_sweeps(8, 2, 1, 2)
    assert found["runs"] == 2 and found["difference"] == 0.0
    assert {name: len(times) for name, times in found["seconds"].items()} == {"here": 2, "again": 2}


def test_a_ratio_has_its_spread():
    assert str(readings.ratio([2.0, 4.0, 3.0], [1.0, 1.0, 1.0], 5)) == "15 (10 to 20)"
    assert str(readings.ratio([3.0, 3.0], [2.0, 2.0])) == "1.5"
    assert [readings.digits(x) for x in (0.9701, 4.21, 312.0, 1.34e8)] == ["0.97", "4.2", "310", "1.3e+08"]


def made_up(seconds: float) -> dict:
    """A record in which the engine takes a tenth of the script's time, and memory grows like the square of a size."""
    case = {"name": "some", "scaled": "", "engine": [0.1, 0.2], "script": [1.0, 2.0], "calls": [], "limit": [0.05, 0.1]}
    case |= {"times": 3.0, "difference": -1.0, "speeds": {"entries": seconds}}
    growth_of = {"engine": "some", "axis": "n", "power": 2, "why": "squares", "memory": True}
    growth_of |= {"sizes": [1, 2, 4, 8], "values": [[9.0], [4.0], [16.0], [64.0]]}
    throughput_of = {"seconds": {"here": [2.0, 2.0], "two": [1.0, 0.8]}}
    return {"numbers": {"cases": {"some": case}, "growth": [growth_of], "throughput": throughput_of}}


def test_the_readings_are_those_of_the_numbers():
    entry = made_up(7.0)
    one, growing = readings.compared(entry)["some"], readings.grown(entry)[0]
    assert one.faster.middle == pytest.approx(30) and one.engine.middle == pytest.approx(2)
    assert one.script.middle == pytest.approx(60) and one.calls is None and one.difference is None
    assert growing.fitted == pytest.approx(2) and growing.power == 2
    assert readings.places(entry)["two"].high == 2.5 and readings.speeds(entry) == {"entries": (7.0, 7.0)}


def test_without_results_there_is_nothing_to_read(tmp_path):
    assert readings.read(folder=tmp_path) is None


def test_the_engines_of_the_record_gave_the_numbers_of_the_scripts():
    entry = readings.read()
    if entry is None:
        pytest.skip("results/performance is not recorded")
    for one in readings.compared(entry).values():
        assert one.difference is None or one.difference < (1e-5 if one.name.startswith(("sweep", "trans")) else 1e-11)
    assert entry["numbers"]["throughput"]["difference"] < 1e-4


@pytest.mark.slow
def test_the_record_is_made_in_parts_and_read(tmp_path):
    where = {"folder": tmp_path / "results", "runs": tmp_path / "runs", "device": "cpu"}
    record(recorded.recipe(SMALL), **where)
    parts = {path.stem for path in (tmp_path / "runs" / "performance").iterdir()}
    growing = [f"growth-{k}" for k in range(len(growth.growths()))]
    assert parts == {"seconds", "slower", "throughput", *recorded.makers(SMALL), *growing}
    entry = readings.read(SMALL, folder=tmp_path / "results")
    assert set(readings.compared(entry)) == set(recorded.makers(SMALL))
    assert set(readings.places(entry)) <= set(throughput.PLACES) and len(readings.speeds(entry)) == 6


def test_the_page_names_every_case_and_every_speed():
    page = (Path(__file__).resolve().parents[2] / "book" / "performance.md").read_text("utf8")
    named = set(re.findall(r'^    "([\w-]+)": "', page, re.M))
    assert named == set(recorded.makers(recorded.Sizes())) | set(Speeds.__dataclass_fields__)
    assert {one.axis for one in growth.growths()} <= {axis for axes in drawings.PANELS.values() for axis in axes}
