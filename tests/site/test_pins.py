"""The pins hold for the Pythons that the README names, and set-up says what they bring."""

from __future__ import annotations

import re
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.version import Version

import set_up

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
LINES = (line.split("#")[0].strip() for line in (ROOT / "requirements.txt").read_text(encoding="utf-8").splitlines())
PINS = [Requirement(line) for line in LINES if line]


def python_named(pattern: str) -> Version:
    """The one Python that the README names in a sentence of this form."""
    found = re.findall(pattern, " ".join(README.split()))
    assert len(found) == 1, f"README.md names {len(found)} Pythons in the words {pattern!r}; one is wanted"
    return Version(found[0])


@pytest.mark.parametrize(
    "pattern", [r"Python (\d+\.\d+\.\d+) or newer", r"tried on Python \d+\.\d+\.\d+ to (\d+\.\d+\.\d+)"]
)
def test_every_pin_admits_the_pythons_that_the_readme_names(pattern):
    python = python_named(pattern)
    refused = []
    for pin in PINS:
        found = distribution(pin.name)
        assert found.version in pin.specifier, f"{pin} is pinned and {found.version} installed: run make setup"
        needs = found.metadata.get("Requires-Python")  # some name no Python, and metadata of some kinds then raise
        if needs and python not in SpecifierSet(needs):
            refused.append(f"{pin} needs Python {needs}")
    assert not refused, f"README.md promises Python {python}: {'; '.join(refused)}"


def test_every_pin_is_exact():
    inexact = [str(pin) for pin in PINS if not re.fullmatch(r"==[^*,]+", str(pin.specifier))]
    assert not inexact


def test_set_up_says_how_much_is_to_come():
    text = set_up.announcement(["numpy", "torch"])
    assert "2 distributions" in text and "0.5 GB" in text and "CUDA" not in text


def test_set_up_warns_of_cuda_libraries_and_names_the_way_without():
    text = set_up.announcement(["numpy", "torch", "nvidia-cublas", "cuda-toolkit", "triton"])
    assert "5 distributions" in text and "3.0 GB" in text
    assert "WARNING: 3 of them" in text and "TORCH_INDEX=ADDRESS" in text and "TORCH_INDEX" in README


def test_set_up_promises_no_download_where_nothing_is_missing():
    text = set_up.announcement([])
    assert "download" not in text and "GB" not in text


def test_set_up_refuses_a_name_that_is_not_pinned():
    assert set_up.pinned("torch").startswith("torch==")
    with pytest.raises(SystemExit, match="pins no sieve"):
        set_up.pinned("sieve")
