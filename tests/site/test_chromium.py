"""What the browser checks do on a machine that lacks Chromium or the library of Playwright's driver."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import chromium

TESTS = Path(__file__).resolve().parents[1]


@pytest.fixture
def machine(monkeypatch):
    """A machine of which it is said who one is there, what it has, and what can be had; returns what apt installed."""

    def prepare(root: bool, has: set[str], apt: bool = True, fetch: str = "") -> list[tuple[str, ...]]:
        asked: list[tuple[str, ...]] = []

        def install(*packages: str) -> None:
            asked.append(packages)
            has.update(packages if apt else ())

        monkeypatch.setattr(chromium.os, "geteuid", lambda: 0 if root else 1000)
        monkeypatch.setattr(chromium.shutil, "which", lambda name: f"/usr/bin/{name}")
        monkeypatch.setattr(chromium, "installed", lambda: "/usr/bin/chromium" if "chromium" in has else None)
        monkeypatch.setattr(chromium, "driver_fault", lambda: None if "libatomic1" in has else "libatomic.so.1: none")
        monkeypatch.setattr(chromium, "install_packages", install)
        monkeypatch.setattr(chromium, "fetch_own", lambda: fetch)
        return asked

    return prepare


@pytest.mark.parametrize("has", [(), ("chromium",), ("libatomic1",), ("chromium", "libatomic1")], ids=str)
def test_root_gets_from_debian_exactly_what_lacks(machine, has):
    lacks = tuple(name for name in ("chromium", "libatomic1") if name not in has)
    asked = machine(root=True, has=set(has))
    assert chromium.find_or_install() == "/usr/bin/chromium"
    assert asked == ([lacks] if lacks else [])


def test_others_get_playwrights_own(machine):
    assert machine(root=False, has={"libatomic1"}) == [] and chromium.find_or_install() is None


@pytest.mark.parametrize("root", [True, False])
def test_what_cannot_be_had_is_named(machine, root):
    machine(root, has={"libatomic1"}, apt=False, fetch="no such host")
    with pytest.raises(chromium.Missing, match=r"apt install chromium.*no such host"):
        chromium.find_or_install()
    machine(root, has={"chromium"}, apt=False)
    with pytest.raises(chromium.Missing, match=r"libatomic\.so\.1: none .*apt install libatomic1"):
        chromium.find_or_install()


@pytest.mark.parametrize(("ci", "outcome"), [("", "1 skipped"), ("true", "1 error")])
def test_without_a_browser_its_checks_are_skipped_by_name_and_fail_in_ci(tmp_path, ci, outcome):
    (tmp_path / "test_one.py").write_text("def test_one(browser):\n    pass\n")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "conftest", "-p", "no:cacheprovider", "-rs", "test_one.py"],
        cwd=tmp_path,
        env=os.environ | {"CI": ci, "CHROMIUM": "/no/such/browser", "PYTHONPATH": str(TESTS)},
        capture_output=True,
        text=True,
    )
    assert outcome in done.stdout and "CHROMIUM names /no/such/browser" in done.stdout
