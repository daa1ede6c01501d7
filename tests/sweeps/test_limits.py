"""What a person may type, and where a command may be typed: a sentence, whatever it is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from small_stores import MLP, put
from small_sweeps import FILE, SMALL

from lrtransfer import cli
from lrtransfer.images import downloads
from lrtransfer.images.archives import DataUnavailable
from lrtransfer.page import scale
from lrtransfer.residual.networks.settings import ResidualMLP
from lrtransfer.sweeps.keys import run_key
from lrtransfer.sweeps.settings_file import read_sweep, sweep_from
from lrtransfer.sweeps.store import Store
from lrtransfer.sweeps.sweep import Curve, Sweep

NETWORK = {"kind": "mlp", "width": 8, "depth": 2, "steps": 1}


def test_a_store_has_a_name(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("small.toml").write_text(FILE)
    assert cli.main(["sweep", "small.toml", "--store", ""]) == 2
    assert capsys.readouterr().err == "lrtransfer: --store '' is not allowed: name a file, or leave --store out.\n"
    with pytest.raises(ValueError, match=r"^store = '' is not allowed"):
        Store("")
    assert os.listdir() == ["small.toml"]


@pytest.mark.parametrize("seed", [2**63, 10**30])
def test_a_seed_that_no_store_can_hold_is_named(seed, tmp_path):
    with pytest.raises(ValueError, match=rf"^seeds = {seed} is not allowed.* at most {2**63 - 1}"):
        Sweep((Curve(SMALL, (0.1,)),), seeds=(seed,))
    with pytest.raises(ValueError, match=r"^seed = .* is not allowed"):
        run_key(MLP, 0.1, seed)
    with Store(tmp_path / "a.sqlite") as store:
        put(store, 0.1, 2**63 - 1)
        assert [row.seed for row in store.rows()] == [2**63 - 1]


def test_a_file_may_begin_with_a_byte_order_mark_and_have_windows_lines(tmp_path):
    plain, marked = tmp_path / "plain.toml", tmp_path / "marked.toml"
    plain.write_text(FILE, encoding="utf-8")
    marked.write_bytes(b"\xef\xbb\xbf" + FILE.replace("\n", "\r\n").encode())
    assert read_sweep(marked) == read_sweep(plain)


@pytest.mark.parametrize("name", ["width", "depth", "steps"])
def test_networks_that_no_machine_holds_are_named_before_memory_is_taken(name):
    with pytest.raises(ValueError, match=rf"^{name} = {10**9 + 1} is not allowed.* at most 10+"):
        ResidualMLP(**{"width": 8, "depth": 2, "steps": 1, name: 10**9 + 1})


def test_nine_million_curves_are_counted_and_not_made():
    axes = {"width": list(range(1, 301)), "depth": list(range(1, 301)), "gamma0": [i / 100 for i in range(1, 101)]}
    with pytest.raises(ValueError, match=r"^curves = 9000000 curves \(300 width x 300 depth x 100 gamma0\)"):
        sweep_from({"network": NETWORK, "lrs": [0.1], "curves": [axes]})
    with pytest.raises(ValueError, match=r"^width = a list of 100000 values is not allowed"):
        sweep_from({"network": NETWORK, "lrs": [0.1], "curves": [{"width": list(range(1, 100_001))}]})
    rates = {"log2_from": -10, "log2_to": 10, "octaves": 0.01}
    rates = {"log2_from": -10, "log2_to": 10, "octaves": 0.01}
    with pytest.raises(ValueError, match="make 40020000 runs, which is not allowed"):
        sweep_from({"network": NETWORK, "lrs": rates, "seeds": 10_000, "curves": [{"width": [8, 16]}]})


def lrtransfer(*arguments: str, before: str = "", **options: Any) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own, after some lines of Python."""
    program = f"{before}\nimport sys\nfrom lrtransfer.start import main\nsys.exit(main())"
    command = [sys.executable, "-c", program, *arguments]
    return subprocess.run(command, capture_output=True, text=True, **options)


def test_letters_that_the_terminal_lacks_are_spelt(tmp_path):
    (tmp_path / "a.toml").write_text('title = "η über N"\n' + FILE.replace("title", "# title"), encoding="utf-8")
    ascii_only = os.environ | {"PYTHONIOENCODING": "ascii", "PYTHONUTF8": "0"}
    done = lrtransfer("sweep", "a.toml", "--device", "cpu", cwd=tmp_path, env=ascii_only)
    assert (done.returncode, done.stderr) == (0, "") and r"\u03b7 \xfcber N: 44 runs" in done.stdout


INTERRUPT = """
import sys
class Interrupt:
    def find_spec(self, name, *_):
        if name == 'lrtransfer.depth':
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupt())
"""


def test_an_interrupt_while_the_package_is_read_is_a_word():
    done = lrtransfer("claims", before=INTERRUPT)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "lrtransfer: stopped\n")


def test_without_a_home_directory_the_folder_must_be_named(monkeypatch):
    monkeypatch.setattr(os.path, "expanduser", os.fspath)  # as the system has it then
    pooch = pytest.importorskip("pooch")
    monkeypatch.delenv("LRTRANSFER_DATA", raising=False)
    for chosen in (None, "~/data"):
        for cache in (lambda _: Path("~/.cache"), lambda _: Path("~").expanduser()):  # versions of platformdirs differ
            monkeypatch.setattr(pooch, "os_cache", cache)
            with pytest.raises(DataUnavailable, match=r"there is no home directory .* variable LRTRANSFER_DATA"):
                downloads.data_folder()
        monkeypatch.setenv("LRTRANSFER_DATA", chosen or "~/data")
    monkeypatch.setenv("LRTRANSFER_DATA", "/data")
    assert downloads.data_folder() == Path("/data")
    monkeypatch.setenv(scale.RUNS, "~/runs")
    with pytest.raises(ValueError, match=rf"^{scale.RUNS} = '~/runs' is not a folder"):
        scale.runs_folder("depth")
