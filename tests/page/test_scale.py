"""What a reader's session keeps."""

import pytest

from lrtransfer.page import scale


def test_runs_are_kept_only_where_asked(tmp_path, monkeypatch):
    monkeypatch.delenv(scale.RUNS, raising=False)
    assert scale.runs_folder("stages") is None
    assert "`book`" in scale.sentence() and "to keep the runs" in scale.sentence()
    monkeypatch.setenv(scale.RUNS, str(tmp_path / "drive"))
    folder = scale.runs_folder("stages")
    assert folder == tmp_path / "drive" / "stages" and folder.is_dir()
    assert str(tmp_path / "drive") in scale.sentence()
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(scale.RUNS, str(tmp_path / "file"))
    with pytest.raises(ValueError, match=f"{scale.RUNS} = .*file"):
        scale.runs_folder("stages")
