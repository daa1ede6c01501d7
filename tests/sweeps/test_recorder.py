"""The one recorder: a stopped recording goes on, and every folder of results/ has the recipe that made it."""

import json
import math
import re

import pytest

from lrtransfer import cli
from lrtransfer.sweeps import records
from lrtransfer.sweeps.recorder import Recipe, recipe_of, recipes, record, recorded, table


def counting(calls, stop_at=None, settings=None):
    """A recipe of three parts that notes which it computes, and is stopped as it reaches one."""

    def compute(part):
        if part == stop_at:
            raise KeyboardInterrupt
        calls.append(part)
        return {"square": part**2, "lost": math.inf}

    def make(sitting):
        return {"parts": [sitting.part(f"part{k}", lambda k=k: compute(k)) for k in range(3)]}

    return Recipe("some-runs", "three squares", settings or {"parts": 3}, make)


def test_a_stopped_recording_goes_on(tmp_path):
    calls = []
    with pytest.raises(KeyboardInterrupt):
        record(counting(calls, stop_at=2), folder=tmp_path / "results", runs=tmp_path / "runs")
    assert calls == [0, 1] and not (tmp_path / "results").exists()
    first = json.loads((tmp_path / "runs" / "some-runs" / "seconds.json").read_text())["seconds"]
    path = record(counting(calls), folder=tmp_path / "results", runs=tmp_path / "runs")
    assert calls == [0, 1, 2] and path == tmp_path / "results" / "some-runs" / "record.json"
    entry = recorded(counting(calls), folder=tmp_path / "results")
    assert entry["numbers"] == {"parts": [{"square": k**2, "lost": math.inf} for k in range(3)]}
    assert entry["settings"] == {"parts": 3} and entry["made_by"] == "lrtransfer record some-runs"
    assert json.loads((tmp_path / "runs" / "some-runs" / "seconds.json").read_text())["seconds"] > first > 0


def test_other_settings_and_a_wish_start_anew(tmp_path):
    calls = []
    where = {"folder": tmp_path / "results", "runs": tmp_path / "runs"}
    record(counting(calls), **where)
    record(counting(calls), **where)
    assert calls == [0, 1, 2]
    record(counting(calls), again=True, **where)
    assert calls == [0, 1, 2] * 2
    other = counting(calls, settings={"parts": 3, "h": 5})
    with pytest.raises(records.DamagedRecord, match="some-runs was made with other settings"):
        recorded(other, folder=where["folder"])
    record(other, **where)
    assert calls == [0, 1, 2] * 3 and recorded(other, folder=where["folder"])["settings"]["h"] == 5


def test_a_half_written_part_is_noticed(tmp_path):
    calls = []
    record(counting(calls), folder=tmp_path / "results", runs=tmp_path / "runs")
    part = tmp_path / "runs" / "some-runs" / "part1.json"
    part.write_text(part.read_text()[:20])
    with pytest.raises(records.DamagedRecord, match=r"part1\.json"):
        record(counting(calls), folder=tmp_path / "results", runs=tmp_path / "runs")


def test_every_folder_of_results_has_its_recipe():
    folders = {path.parent.name for path in records.results().glob("*/record.json")}
    assert folders and folders <= set(recipes())
    for name, recipe in recipes().items():
        if name not in folders:  # not recorded yet
            assert recipe.minutes is None or recipe.minutes > 0
            continue
        entry = recorded(recipe)  # raises where the recipe's settings are not the record's, or a number was changed
        assert entry["name"] == name and entry["made_by"] == f"lrtransfer record {name}"
        assert entry["date"] and entry["machine"] and entry["seconds"] > 0 and set(entry["versions"]) > {"python"}


def test_one_number_changed_by_hand_is_refused(tmp_path):
    for name in (path.parent.name for path in records.results().glob("*/record.json")):
        text = (records.results() / name / "record.json").read_text()
        place = re.compile(r"\d\.\d").search(text, text.index('"numbers"')).end() - 1  # the first decimal there
        changed = text[:place] + str((int(text[place]) + 1) % 10) + text[place + 1 :]
        (tmp_path / name).mkdir()
        (tmp_path / name / "record.json").write_text(changed)
        with pytest.raises(records.DamagedRecord, match="digest"):
            records.read(name, folder=tmp_path)


def test_the_command_lists_and_refuses(tmp_path, capsys):
    assert cli.main(["record", "--list"]) == 0
    out = capsys.readouterr().out
    assert out.strip() == table() and all(name in out for name in recipes())
    assert cli.main(["record"]) == 2 and "NAME is missing" in capsys.readouterr().err
    assert cli.main(["record", "nothing"]) == 2
    assert "name = 'nothing' is not allowed" in capsys.readouterr().err
    with pytest.raises(ValueError, match="'layers-noise'"):
        recipe_of("nothing")


def test_the_command_follows_a_recipe(tmp_path, capsys, monkeypatch):
    calls = []
    monkeypatch.setattr("lrtransfer.sweeps.recorder.recipes", lambda: {"some-runs": counting(calls)})
    options = ["--runs", str(tmp_path / "runs"), "--results", str(tmp_path / "results")]
    assert cli.main(["record", "some-runs", *options]) == 0
    assert calls == [0, 1, 2] and str(tmp_path / "results" / "some-runs" / "record.json") in capsys.readouterr().out


def test_the_list_says_how_long_a_missing_record_takes(tmp_path, monkeypatch):
    known = {
        name: Recipe(name, "a test", {}, dict, minutes=minutes)
        for name, minutes in (("short-runs", 12.3), ("long-runs", 150.0), ("some-runs", None))
    }
    monkeypatch.setattr("lrtransfer.sweeps.recorder.recipes", lambda: known)
    lines = [" ".join(line.split()) for line in table(tmp_path / "results").splitlines()]
    assert lines == [
        "short-runs not recorded, about 12 min a test",
        "long-runs not recorded, about 2.5 h a test",
        "some-runs not recorded a test",
    ]


def test_the_list_shows_the_others_beside_a_refused_record(tmp_path, monkeypatch):
    good, bad = counting([]), counting([])
    bad = Recipe("other-runs", bad.what, bad.settings, bad.make)
    for recipe in (good, bad):
        record(recipe, folder=tmp_path / "results", runs=tmp_path / "runs")
    path = tmp_path / "results" / "other-runs" / "record.json"
    path.write_text(path.read_text().replace('"square": 4', '"square": 5'))
    monkeypatch.setattr("lrtransfer.sweeps.recorder.recipes", lambda: {"other-runs": bad, "some-runs": good})
    first, second = table(tmp_path / "results").splitlines()
    assert first.startswith("other-runs  REFUSED: ") and "digest" in first
    assert second.startswith("some-runs") and "0.0 min" in second
