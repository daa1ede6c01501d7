"""The repository's public address, in one place: `repository.url` of _config.yml, or else git's origin."""

from __future__ import annotations

import ipaddress
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
    return configured(root) or public_address(_origin(root))


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
    def git(*arguments: str) -> str:
        try:
            done = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False)
        except FileNotFoundError:  # no git on this machine
            return ""
        return done.stdout.strip() if done.returncode == 0 else ""

    # A copy without its own history must not borrow the origin of a repository it happens to lie in.
    top = git("rev-parse", "--show-toplevel")
    if not top or Path(top).resolve() != root.resolve():
        return ""
    return git("config", "--get", "remote.origin.url")
