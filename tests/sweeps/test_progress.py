"""The one bar: when it shows, what it says, and what takes its place."""

import builtins
import sys

import pytest

from lrtransfer.sweeps import progress


@pytest.mark.parametrize("kernel", [True, False])
def test_a_bar_is_for_kernels_and_terminals(monkeypatch, capsys, kernel):
    monkeypatch.delenv(progress.BARS, raising=False)
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    if kernel:
        monkeypatch.setitem(sys.modules, "ipykernel", sys)
    assert list(progress.watched([1, 2, 3], "three")) == [1, 2, 3]
    out, err = capsys.readouterr()
    assert ("three" in out and "left" in out) is kernel and not err
    monkeypatch.setenv(progress.BARS, "0")
    assert list(progress.watched([1], "one")) == [1] and not capsys.readouterr().out


def test_a_short_wait_shows_nothing(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    monkeypatch.delenv(progress.BARS, raising=False)
    with progress.bar("short") as tell:
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
    assert list(progress.watched("ab", "letters")) == ["a", "b"]


def test_a_wrong_wish_is_named(monkeypatch):
    monkeypatch.setenv(progress.BARS, "yes")
    with pytest.raises(ValueError, match=f"{progress.BARS} = 'yes'"):
        list(progress.watched("a", "letters"))


def test_the_remaining_time_is_told_when_it_can_be(monkeypatch, capsys):
    clock = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    assert not progress.can_tell(0.0, 100.0, 60.0)
    assert not progress.can_tell(1.0, 100.0, 9.0) and progress.can_tell(1.0, 100.0, 10.0)
    assert progress.can_tell(3.0, 100.0, 1.0)
    bar = progress.Bar("", 100.0, runs=10)
    bar.update(1.0, 0)
    assert "left" not in str(bar)
    bar.update(2.0, 1)
    assert "left" in str(bar) and "1/10 runs" in str(bar)
    bar.close()
    monkeypatch.setitem(sys.modules, "tqdm", None)
    lines = progress.Bar("", 100.0, runs=10)
    lines.update(1.0, 0)
    clock[0] = 20.0
    capsys.readouterr()
    lines.update(9.0, 1)
    assert capsys.readouterr().out == "1/10 runs, about 3.0 min left\n"  # 10 of 100 in 20 s
