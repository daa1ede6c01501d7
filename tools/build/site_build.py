"""Build the site: execute what changed, render all of it aside with warnings as errors, then put it in place."""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

import execute
from progress import Progress
from swap import put_in_place


def site_folder() -> Path:
    """Where readers find the site."""
    return execute.ROOT / "_build" / "html"


@contextmanager
def _alone(progress: Progress) -> Iterator[None]:
    """Wait for another build of this tree to end; a killed one holds nothing."""
    lock = FileLock(execute.ROOT / "_build" / ".lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        progress.say("Another build of this folder is running: waiting for it.")
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def render(aside: Path) -> Path:
    """Render the site below ``aside`` and return its folder."""
    html = aside / "html"
    command = [sys.executable, str(Path(__file__).with_name("render.py")), str(html)]
    # The package that renders the ledger is the one that the chapters were executed with.
    paths = [str(execute.ROOT / "lib"), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths)}
    if subprocess.run(command, cwd=execute.ROOT, env=environment, check=False).returncode:
        raise SystemExit("The site was not built: see the warnings above (each is an error here).")
    return html


def build(progress: Progress, fresh: bool = False) -> None:
    """Bring the site up to date; until it is whole, and if anything fails, the old one stays as it is."""
    start = time.perf_counter()
    seconds = execute.execute(progress, fresh=fresh)
    kept = len(list(execute.cache_folder().glob("cache/executed/*")))
    rendering = time.perf_counter()
    progress.say("  rendering")
    # Beside what Sphinx keeps of the pages: it looks there again for the pictures that it took from their cells.
    aside = execute.ROOT / "_build" / ".parsed"
    shutil.rmtree(aside / "html", ignore_errors=True)  # what a broken build left
    html = render(aside)
    if len(list(execute.cache_folder().glob("cache/executed/*"))) != kept:
        raise SystemExit(
            "A chapter was executed a second time while rendering: it was edited meanwhile (then build again), "
            "or tools/build/execute.py reads it differently."
        )
    put_in_place(html, site_folder())
    progress.say("\nPage          executed in   most memory")
    peaks = execute.peaks()
    for page, took in seconds.items():
        peak = peaks[page]
        held = "not measured" if peak is None else f"{peak:.0f} MiB"
        progress.say(f"{page:12}  {'unchanged' if took is None else f'{took:.1f} s':12}  {held}")
    progress.say(f"rendered in {time.perf_counter() - rendering:.1f} s, {time.perf_counter() - start:.1f} s in all")
    progress.say(f"\nThe site: {site_folder() / 'index.html'}  (make serve opens it)")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fresh", action="store_true", help="execute every chapter, changed or not")
    arguments = parser.parse_args()
    (execute.ROOT / "_build").mkdir(exist_ok=True)
    progress = Progress()
    with _alone(progress):
        build(progress, fresh=arguments.fresh)


if __name__ == "__main__":
    main()
