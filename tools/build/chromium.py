"""Find a Chromium for the browser checks: an installed one, else Debian's package as root, else Playwright's own."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from filelock import FileLock

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
LOCK = Path(__file__).resolve().parents[2] / "_build" / ".browser.lock"  # tests run in several processes, apt in one
PLAYWRIGHT = (sys.executable, "-m", "playwright")


class Missing(RuntimeError):
    """What the browser checks lack on this machine, by name."""


def installed() -> str | None:
    """Path of a Chromium on this machine: the one that the environment variable CHROMIUM names, or one on the path."""
    named = os.environ.get("CHROMIUM")
    if named and shutil.which(named) is None:
        raise Missing(f"The environment variable CHROMIUM names {named}, which is no program.")
    return named or next((path for name in NAMES if (path := shutil.which(name))), None)


def driver_fault() -> str | None:
    """Why Playwright's driver does not start, None where it does (Debian's minimal system lacks its libatomic1)."""
    done = subprocess.run([*PLAYWRIGHT, "--version"], capture_output=True, text=True)
    return None if done.returncode == 0 else (done.stderr.strip() or f"exit status {done.returncode}").splitlines()[-1]


def install_packages(*packages: str) -> None:
    """Debian's packages; where apt fails, the checks that follow say what is missing."""
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update", "-q"], ["install", "-qy", "--no-install-recommends", *packages]):
        subprocess.run(["apt-get", *command], env=environment, stdout=subprocess.DEVNULL)


def fetch_own() -> str:
    """Playwright's own Chromium, fetched where it is not there yet; an empty string, or why it is not to be had."""
    try:
        done = subprocess.run([*PLAYWRIGHT, "install", "chromium"], capture_output=True, text=True, timeout=600)
    except subprocess.TimeoutExpired:
        return "no answer in 600 s"
    lines = (done.stderr.strip() or f"exit status {done.returncode}").splitlines()
    return "" if done.returncode == 0 else next((line for line in lines if "rror" in line), lines[-1]).strip()


def find_or_install() -> str | None:
    """Path of a Chromium that Playwright can drive; None says that Playwright's own is to be used.

    Nothing is started before it is there: as root with apt, Debian's chromium and the libatomic1 of Playwright's
    driver are installed where they lack; others get Playwright's own Chromium where it can be fetched.

    Raises
    ------
    Missing
        Where there is no Chromium, or the driver does not start; the message names what to install.
    """
    LOCK.parent.mkdir(exist_ok=True)
    with FileLock(LOCK):
        found, fault = installed(), driver_fault()
        if (found is None or fault) and shutil.which("apt-get") and os.geteuid() == 0:
            install_packages(*([] if found else ["chromium"]), *(["libatomic1"] if fault else []))
            found, fault = installed(), driver_fault()
        if fault:
            raise Missing(
                f"The browser checks are driven by Playwright, whose driver does not start: {fault} "
                "(on Debian: apt install libatomic1)."
            )
        if found is None and (reason := fetch_own()):
            raise Missing(
                "The browser checks need Chromium or Chrome: install one (on Debian: apt install chromium), or name "
                f"its path in the environment variable CHROMIUM. Playwright's own could not be fetched: {reason}"
            )
    return found


if __name__ == "__main__":
    print(find_or_install() or "Playwright's own Chromium")
