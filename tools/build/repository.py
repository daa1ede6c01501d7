"""The repository's public address and revision, read where the build runs.

The address: where GitHub runs the build, the repository that it runs for, so that a fork's site is the fork's; else
`repository.url` of _config.yml; else git's origin. Without one of these, or where it is private, there is none.
"""

from __future__ import annotations

import ipaddress
import os
import re
import subprocess
from pathlib import Path

import yaml

# Names that only resolve inside somebody's own network.
_PRIVATE = (
    ".local",
    ".localhost",
    ".internal",
    ".lan",
    ".home",
    ".corp",
    ".intranet",
    ".test",
    ".invalid",
    ".example",
)


def configured(root: Path) -> str:
    """Return the address that _config.yml states, or "" where it states none."""
    file = root / "_config.yml"
    settings = (yaml.safe_load(file.read_text("utf8")) if file.is_file() else None) or {}
    return _plain(str((settings.get("repository") or {}).get("url") or ""))


def address(root: Path) -> str:
    """Return the address a stranger can clone from, or "" where there is none: a local origin is none."""
    return _of_the_run() or configured(root) or public_address(_origin(root))


def revision(root: Path) -> str:
    """Return the commit that is built, or "" where that is unknown: not a clone of its own, or not a clone at all."""
    return os.environ.get("GITHUB_SHA", "") if _of_the_run() else _git(root, "rev-parse", "HEAD")


def _of_the_run() -> str:
    server, name = os.environ.get("GITHUB_SERVER_URL", ""), os.environ.get("GITHUB_REPOSITORY", "")
    return public_address(f"{server}/{name}") if server and name else ""


def public_address(remote: str) -> str:
    """Turn a git remote into https://host/owner/repository, or "" where it is no address on a public host."""
    web = re.fullmatch(r"https?://(?:[^@/]*@)?(?P<host>[^/:]+)/(?P<path>.+)", remote)
    ssh = re.fullmatch(r"(?:git\+)?ssh://(?:[^@/]*@)?(?P<host>[^/:]+)(?::\d+)?/(?P<path>.+)", remote)
    short = re.fullmatch(r"(?:[\w.-]+@)(?P<host>[\w.-]+):(?P<path>[^/].*)", remote)
    match = web or ssh or short
    if not match or not _is_public(match["host"].lower()):
        return ""
    return f"https://{match['host'].lower()}/{_plain(match['path'])}"


def _plain(url: str) -> str:
    return url.strip().rstrip("/").removesuffix(".git")


def _is_public(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return "." in host and not host.endswith(_PRIVATE)
    return False


def _origin(root: Path) -> str:
    return _git(root, "config", "--get", "remote.origin.url")


def _git(root: Path, *arguments: str) -> str:
    """What git says of the clone at ``root``; "" for a copy without its own history, whatever it happens to lie in."""

    def said(*words: str) -> str:
        try:
            done = subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=False)
        except FileNotFoundError:  # no git on this machine
            return ""
        return done.stdout.strip() if done.returncode == 0 else ""

    top = said("rev-parse", "--show-toplevel")
    return said(*arguments) if top and Path(top).resolve() == root.resolve() else ""
