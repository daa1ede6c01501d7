"""What a reader's session keeps and shows."""

import builtins
import sys

import pytest

from lrtransfer.page import session


def test_runs_are_kept_only_where_asked(tmp_path, monkeypatch):
    monkeypatch.delenv(session.RUNS, raising=False)
    assert session.runs_folder("stages") is None
    assert "`book`" in session.sentence() and "to keep the runs" in session.sentence()
    monkeypatch.setenv(session.RUNS, str(tmp_path / "drive"))
    folder = session.runs_folder("stages")
    assert folder == tmp_path / "drive" / "stages" and folder.is_dir()
    assert str(tmp_path / "drive") in session.sentence()
    (tmp_path / "file").write_text("")
    monkeypatch.setenv(session.RUNS, str(tmp_path / "file"))
    with pytest.raises(ValueError, match=f"{session.RUNS} = .*file"):
        session.runs_folder("stages")


@pytest.mark.parametrize("kernel", [True, False])
def test_a_bar_is_for_kernels_and_terminals(monkeypatch, capsys, kernel):
    monkeypatch.delenv(session.BARS, raising=False)
    monkeypatch.setattr(session, "PATIENCE", 0.0)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    if kernel:
        monkeypatch.setitem(sys.modules, "ipykernel", sys)
    assert list(session.watched([1, 2, 3], "three")) == [1, 2, 3]
    out, err = capsys.readouterr()
    assert ("three" in out and "left" in out) is kernel and not err
    monkeypatch.setenv(session.BARS, "0")
    assert list(session.watched([1], "one")) == [1] and not capsys.readouterr().out


def test_a_short_wait_shows_nothing(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    monkeypatch.delenv(session.BARS, raising=False)
    with session.bar("short") as tell:
        for share in (0.5, 1.0, 1.0 + 1e-9):
            tell(share)
    assert "short" not in capsys.readouterr().out


def test_no_bar_without_tqdm(monkeypatch):
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    real = builtins.__import__

    def missing(name, *arguments, **options):
        if name == "tqdm":
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", missing)
    assert list(session.watched("ab", "letters")) == ["a", "b"]


def test_a_wrong_wish_is_named(monkeypatch):
    monkeypatch.setenv(session.BARS, "yes")
    with pytest.raises(ValueError, match=f"{session.BARS} = 'yes'"):
        list(session.watched("a", "letters"))
