"""The repository's public address: what counts as one, and what a clone knows of it."""

from __future__ import annotations

import subprocess

import pytest

import repository


@pytest.mark.parametrize(
    ("remote", "address"),
    [
        ("https://github.com/owner/name.git", "https://github.com/owner/name"),
        ("https://user:secret@gitlab.com/group/sub/name", "https://gitlab.com/group/sub/name"),
        ("git@github.com:owner/name.git", "https://github.com/owner/name"),
        ("ssh://git@codeberg.org:22/owner/name.git", "https://codeberg.org/owner/name"),
        ("http://github.com/owner/name/", "https://github.com/owner/name"),
        *((remote, "") for remote in (
            "", "/srv/name.git", "../name", "file:///srv/name", "https://localhost/a/b", "http://127.0.0.1:3000/a/b",
            "git@server:a/b.git", "https://10.0.0.7/a/b", "https://git.corp.internal/a/b", "C:/name",
        )),
    ],
)  # fmt: skip
def test_public_address(remote, address):
    assert repository.public_address(remote) == address


def test_address_of_a_clone(tmp_path):
    def git(*arguments):
        subprocess.run(["git", "-C", tmp_path, *arguments], check=True, capture_output=True)

    assert repository.address(tmp_path) == ""
    git("init", "--quiet")
    assert repository.address(tmp_path) == ""
    git("remote", "add", "origin", "git@github.com:owner/name.git")
    assert repository.address(tmp_path) == "https://github.com/owner/name"
    (tmp_path / "below").mkdir()
    assert repository.address(tmp_path / "below") == ""  # not its own clone
    (tmp_path / "_config.yml").write_text("repository:\n  url: https://example.org/x/y.git\n")
    assert repository.address(tmp_path) == "https://example.org/x/y"
