import json
import math
from dataclasses import dataclass

import numpy as np
import pytest

from lrtransfer.sweeps import records


@dataclass(frozen=True)
class Settings:
    width: int = 3
    rates: tuple[float, ...] = (0.1, 0.2)


def written(folder, **numbers):
    return records.write("some-runs", Settings(), numbers, seconds=1.26, folder=folder, made_by="some call")


def test_what_is_written_is_read(tmp_path):
    path = written(tmp_path, losses=np.array([[0.1, np.inf], [1 / 3, 2.0]]), count=np.int64(4), nested={"a": (1, None)})
    assert path == tmp_path / "some-runs" / "record.json"
    record = records.read("some-runs", folder=tmp_path)
    assert record is not None and tuple(record) == records.FIELDS
    assert record["numbers"] == {"losses": [[0.1, math.inf], [1 / 3, 2.0]], "count": 4, "nested": {"a": [1, None]}}
    assert record["settings"] == {"width": 3, "rates": [0.1, 0.2]}
    assert (
        record["seconds"] == 1.3 and record["made_by"] == "some call" and record["versions"]["numpy"] == np.__version__
    )
    json.loads(path.read_text(), parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))


def test_no_record_is_none(tmp_path):
    assert records.read("some-runs", folder=tmp_path) is None
    with pytest.raises(FileNotFoundError, match="results folder"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(records, "results", lambda: tmp_path / "absent")
            records.write("some-runs", {}, {}, seconds=0)


def test_every_half_written_record_is_refused(tmp_path):
    path = written(tmp_path, losses=[1.0, 2.0])
    whole = path.read_bytes()
    for length in range(0, len(whole) - 2, 7):
        path.write_bytes(whole[:length])
        with pytest.raises(records.DamagedRecord, match=r"record\.json.*Make the record again"):
            records.read("some-runs", folder=tmp_path)


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("2.0", "2.5", "digest"),
        ('"some call"', '"another call"', "digest"),
        ('"made_by"', '"made_buy"', "lacks made_by"),
        ("2.0", "NaN", "NaN"),
    ],
)
def test_a_changed_record_is_refused(tmp_path, old, new, sentence):
    path = written(tmp_path, losses=[1.0, 2.0])
    text = path.read_text()
    assert text.count(old) == 1
    path.write_text(text.replace(old, new))
    with pytest.raises(records.DamagedRecord, match=sentence):
        records.read("some-runs", folder=tmp_path)


def test_a_record_in_the_wrong_folder_is_refused(tmp_path):
    path = written(tmp_path)
    path.parent.rename(tmp_path / "other")
    with pytest.raises(records.DamagedRecord, match="holds the record 'some-runs'"):
        records.read("other", folder=tmp_path)


@pytest.mark.parametrize("content", ["[1, 2]", "3", "null", "{}"])
def test_json_that_is_no_record_is_refused(tmp_path, content):
    path = tmp_path / "some-runs" / "record.json"
    path.parent.mkdir()
    path.write_text(content)
    with pytest.raises(records.DamagedRecord, match="not a record"):
        records.read("some-runs", folder=tmp_path)


def test_a_write_that_fails_leaves_the_old_record_and_no_litter(tmp_path, monkeypatch):
    path = written(tmp_path, losses=[1.0])
    before = path.read_bytes()

    def fail(*arguments):
        raise OSError("disk full")

    monkeypatch.setattr(records.os, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        written(tmp_path, losses=[2.0])
    assert path.read_bytes() == before and [file.name for file in path.parent.iterdir()] == ["record.json"]


@pytest.mark.parametrize(
    ("name", "numbers", "seconds", "named"),
    [
        ("Some Runs", {}, 1.0, "name"),
        ("../out", {}, 1.0, "name"),
        ("runs", {"loss": math.nan}, 1.0, "loss"),
        ("runs", {"loss": -math.inf}, 1.0, "loss"),
        ("runs", {"loss": [object()]}, 1.0, "loss"),
        ("runs", {}, -1.0, "seconds"),
        ("runs", {}, math.inf, "seconds"),
    ],
)
def test_bad_input_is_named(tmp_path, name, numbers, seconds, named):
    with pytest.raises(ValueError, match=named):
        records.write(name, {}, numbers, seconds=seconds, folder=tmp_path)
    assert not list(tmp_path.iterdir())
