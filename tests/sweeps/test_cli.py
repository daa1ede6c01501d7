"""The command line."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys

import pytest

from lrtransfer import cli, depth
from lrtransfer.sweeps.store import Store

TRANSFER = [
    "transfer",
    "--arch",
    "residual1",
    "--from-depth",
    "8",
    "--to-depth",
    "64",
    "--lr",
    "0.1",
    "--r",
    "2.0",
]


def test_transfer_prints_the_rate_of_the_library(capsys):
    assert cli.main(TRANSFER) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert float(first) == pytest.approx(float(depth.transfer_lr(0.1, 8, 64, 2.0, arch="residual1")), rel=1e-5)


def test_transfer_of_the_chain_names_the_exponent(capsys):
    assert cli.main(["transfer", "--from-depth", "2", "--to-depth", "4", "--lr", "0.1", "--r", "0.5"]) == 0
    assert "p_eff = 0.5" in capsys.readouterr().out


def test_bad_input_is_a_sentence_and_status_two(capsys):
    assert cli.main([*TRANSFER[:-1], "-1"]) == 2
    assert "r = -1.0 is not allowed" in capsys.readouterr().err


def test_claims_prints_the_ledger_of_the_last_build(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.main(["claims"]) == 2
    assert "make book" in capsys.readouterr().err
    folder = tmp_path / "_build" / "html"
    folder.mkdir(parents=True)
    rows = [
        {"id": "depth.model", "chapter": "depth", "verdict": "reproduced", "where": "book/depth.html#x"},
        {"id": "width.setup", "chapter": "width", "verdict": "open", "where": None},
    ]
    (folder / "claims.json").write_text(json.dumps(rows))
    assert cli.main(["claims"]) == 0
    assert "1 of 2 claims have a verdict" in capsys.readouterr().out
    assert cli.main(["claims", "--chapter", "width"]) == 0
    assert "depth.model" not in capsys.readouterr().out


def test_transfer_echoes_what_it_was_given(capsys):
    assert cli.main([*TRANSFER[:5], "--to-depth", "1000000", "--lr", "0.1", "--r", "1.23456789"]) == 0
    assert "depth 8 -> 1000000, r = 1.23456789:" in capsys.readouterr().out


def test_claims_of_an_unknown_chapter_names_the_chapters(capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["claims", "--chapter", "foo"])
    assert stop.value.code == 2
    error = capsys.readouterr().err
    assert "'foo'" in error and "depth" in error and "width" in error


@pytest.mark.parametrize("content", [b"[{", b"\xff", b"{}", b"[1]"])
def test_claims_names_a_ledger_it_cannot_read(content, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "_build" / "html" / "claims.json"
    path.parent.mkdir(parents=True)
    path.write_bytes(content)
    assert cli.main(["claims"]) == 2
    error = capsys.readouterr().err
    assert str(path) in error and "make book" in error


@pytest.mark.parametrize("key", ["id", "chapter", "verdict", "where"])
@pytest.mark.parametrize("wrong", [None, 3])
def test_a_claim_that_lacks_something_is_named(key, wrong, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "_build" / "html" / "claims.json"
    path.parent.mkdir(parents=True)
    whole = {"id": "depth.model", "chapter": "depth", "verdict": "open", "where": None}
    path.write_text(json.dumps([whole, {k: v for k, v in whole.items() if k != key} | ({key: wrong} if wrong else {})]))
    assert cli.main(["claims"]) == 2
    assert capsys.readouterr().err == f"lrtransfer: {path}: claim 2 has no '{key}': run `make book` again.\n"


def test_a_closed_pipe_is_no_error():
    read, write = os.pipe()
    os.close(read)
    run = subprocess.run([sys.executable, "-m", "lrtransfer.cli", *TRANSFER], stdout=write, stderr=subprocess.PIPE)
    os.close(write)
    assert run.returncode == 0 and run.stderr == b""


def test_it_is_installed_as_a_command():
    run = subprocess.run([sys.executable, "-m", "lrtransfer.cli", *TRANSFER], capture_output=True, text=True)
    assert run.returncode == 0 and run.stderr == ""


@pytest.mark.parametrize(
    "error",
    [
        PermissionError(errno.EACCES, "Permission denied", "a.sqlite"),
        FileExistsError(errno.EEXIST, "File exists", "a.sqlite"),
        IsADirectoryError(errno.EISDIR, "Is a directory", "a.sqlite"),
        OSError(errno.ENOSPC, "No space left on device", "a.sqlite"),
    ],
)
def test_an_error_of_the_system_is_a_sentence_that_names_the_file(error, monkeypatch, capsys):
    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(cli, "claims_text", fail)
    assert cli.main(["claims"]) == 2
    assert capsys.readouterr().err == f"lrtransfer: 'a.sqlite' cannot be used: {error.strerror}\n"


def test_an_interrupt_is_status_130_without_a_traceback(monkeypatch, capsys):
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "claims_text", interrupt)
    assert cli.main(["claims"]) == 130
    assert capsys.readouterr().err == "lrtransfer: stopped\n"


def test_exporting_into_a_folder_or_below_a_file_is_a_sentence(tmp_path, capsys):
    store = tmp_path / "a.sqlite"
    with Store(store):
        pass
    (tmp_path / "folder.csv").mkdir()
    assert cli.main(["export", str(store), str(tmp_path / "folder.csv")]) == 2
    assert "folder.csv' is a folder" in capsys.readouterr().err
    assert cli.main(["export", str(store), str(store / "a.csv")]) == 2
    assert "a.sqlite' cannot be used" in capsys.readouterr().err


@pytest.mark.parametrize(("module", "extra"), [("torch", "sweeps"), ("sklearn.datasets", "sweeps"), ("flint", "exact")])
def test_a_missing_package_is_told_with_the_extra_that_brings_it(module, extra, monkeypatch, capsys):
    def lacks(arguments):
        try:
            raise ModuleNotFoundError(f"No module named {module!r}", name=module)
        except ModuleNotFoundError as error:
            raise ImportError("this needs it") from error

    monkeypatch.setattr(cli, "claims_text", lacks)
    assert cli.main(["claims"]) == 2
    assert capsys.readouterr().err == f"lrtransfer: this needs it (the extra that brings it: lrtransfer[{extra}])\n"
