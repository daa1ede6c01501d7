"""Find a Chromium for the browser checks: an installed one first, else Debian's package where that is allowed."""

from __future__ import annotations

import os
import shutil
import subprocess

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def find_or_install() -> str:
    """Path of a Chromium; installs Debian's when run as root without one.

    Raises ``RuntimeError`` that says what is missing when there is none and it cannot be installed.
    """
    named = os.environ.get("CHROMIUM")
    found = named or next((path for name in NAMES if (path := shutil.which(name))), None)
    if found is None and shutil.which("apt-get") and os.geteuid() == 0:
        environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
        for command in (
            ["apt-get", "update", "-q"],
            ["apt-get", "install", "-qy", "--no-install-recommends", "chromium"],
        ):
            subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)
        found = shutil.which("chromium")
    if found is None:
        raise RuntimeError(
            "The browser checks need Chromium or Chrome: install one (on Debian: apt install chromium), "
            "or name its path in the environment variable CHROMIUM."
        )
    return found


if __name__ == "__main__":
    print(find_or_install())
