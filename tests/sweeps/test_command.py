"""The commands `lrtransfer sweep` and `lrtransfer export`, and what they say."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
from small_sweeps import FILE, SMALL, forbid

from lrtransfer import cli
from lrtransfer.residual.networks import training
from lrtransfer.sweeps import driver
from lrtransfer.sweeps.keys import run_key
from lrtransfer.sweeps.store import Store


def command(*arguments: str) -> int:
    return cli.main(["sweep", *arguments])


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(FILE)
    return "small.toml"


def test_the_command_trains_prints_exports_and_does_nothing_the_second_time(file, capsys, monkeypatch):
    assert command(file, "--device", "cpu", "--dry-run") == 0
    assert "44 runs of 5 curves with 2 seeds" in capsys.readouterr().out and not Path("runs").exists()
    assert command(file, "--device", "cpu") == 0
    first = capsys.readouterr()
    assert "A test: 44 runs, 0 of them in runs/small.sqlite already" in first.out and first.err == ""
    assert "best rate" in first.out and "runs [" not in first.out  # no bar: this is no terminal
    monkeypatch.setattr(driver, "train_group", forbid)
    assert command(file, "--device", "cpu", "--export", "out.csv") == 0
    second = capsys.readouterr().out
    assert "44 of them in runs/small.sqlite already" in second and "44 runs of runs/small.sqlite written" in second
    assert first.out.splitlines()[1:] == second.splitlines()[1:-1]
    assert cli.main(["export", "runs/small.sqlite", "two.csv"]) == 0
    assert Path("two.csv").read_text() == Path("out.csv").read_text()


def test_the_bar_goes_to_standard_output_when_asked_with_and_without_tqdm(file, capsys, monkeypatch):
    assert command(file, "--device", "cpu", "--progress", "--store", "a.sqlite") == 0
    shown = capsys.readouterr()
    assert "44/44 runs [" in shown.out and "left" in shown.out and shown.err == ""
    monkeypatch.setitem(sys.modules, "tqdm", None)
    assert command(file, "--device", "cpu", "--progress", "--store", "b.sqlite") == 0
    assert "best rate" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "SETTINGS.toml is missing"),
        (["none.toml"], "no file 'none.toml'"),
        (["small.toml", "--export", "a.xlsx"], "must end in .csv or .parquet"),
        (["small.toml", "--store", "small.toml"], "not a store"),
        (["small.toml", "--device", "cuda"], "device = 'cuda'"),
        (["small.toml", "--store", ":memory:"], "':memory:' is not allowed"),
        (["small.toml", "--store", "small.toml/a.sqlite"], "small.toml"),
        (["small.toml", "--workers", "localhost"], "workers = 'localhost' is not allowed"),
        (["small.toml", "--workers", "tcp://localhost"], "workers = 'tcp://localhost' is not allowed"),
        ([".", "--dry-run"], "'.' is a folder"),
    ],
)
def test_the_command_refuses_with_a_sentence_and_status_two(arguments, message, file, capsys):
    if "cuda" in arguments and str(training.resolve_device("auto")) == "cuda":
        pytest.skip("this machine has a GPU")
    assert command(*arguments) == 2
    assert message in capsys.readouterr().err


def test_the_command_lists_its_files(capsys):
    assert command("--list") == 0
    assert "Fig. B.6" in capsys.readouterr().out


def test_an_interrupt_says_what_is_stored(file, capsys, monkeypatch):
    original = driver.train_group

    def interrupt(runs: Any, *rest: Any) -> Any:
        if runs[0].settings.depth == 3:
            raise KeyboardInterrupt
        return original(runs, *rest)

    monkeypatch.setattr(driver, "train_group", interrupt)
    with pytest.raises(SystemExit) as stop:
        command(file, "--device", "cpu")
    assert stop.value.code == 130
    assert "stopped: 10 of 44 runs are stored" in capsys.readouterr().out


def test_a_dry_run_writes_nothing(file, capsys):
    assert command(file, "--device", "cpu") == 0
    before = Path("runs/small.sqlite").read_bytes()
    capsys.readouterr()
    assert command(file, "--dry-run") == 0
    assert "44 of them in" in capsys.readouterr().out and Path("runs/small.sqlite").read_bytes() == before
    Path("runs/small.sqlite").write_bytes(b"")
    assert command(file, "--dry-run") == 0  # a store not begun
    assert ", 0 of them in" in capsys.readouterr().out and Path("runs/small.sqlite").read_bytes() == b""
    assert cli.main(["export", "runs/small.sqlite", "a.csv"]) == 2
    assert "empty" in capsys.readouterr().err


def test_a_failed_run_is_status_one(file, capsys, monkeypatch):
    def fail(*_: Any) -> Any:
        raise MemoryError("no more")

    monkeypatch.setattr(driver, "train_group", fail)
    assert command(file, "--device", "cpu") == 1
    assert "MemoryError: no more" in capsys.readouterr().err
    assert run_key(SMALL, 0.5, 0)  # and the store can be opened again
    with Store("runs/small.sqlite") as store:
        assert len(store) == 0
