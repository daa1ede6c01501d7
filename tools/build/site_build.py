"""Build the site: execute what changed, then render everything from a clean folder with warnings as errors."""

from __future__ import annotations

import argparse
import fcntl
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import execute

HTML = execute.ROOT / "_build" / "html"


def _render() -> None:
    for name in ("html", ".doctrees", "jupyter_execute"):
        shutil.rmtree(execute.ROOT / "_build" / name, ignore_errors=True)
    command = [
        str(Path(sys.executable).with_name("jupyter-book")),
        "build",
        ".",
        "-q",
        "-W",
        "-n",
        "--keep-going",
        "--all",
    ]
    if subprocess.run(command, cwd=execute.ROOT, check=False).returncode:
        raise SystemExit("The site was not built: see the warnings above (each is an error here).")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fresh", action="store_true", help="execute every chapter, changed or not")
    arguments = parser.parse_args()
    start = time.perf_counter()
    execute.EXECUTED.mkdir(parents=True, exist_ok=True)
    lock = (execute.EXECUTED / "lock").open("w")  # held until this process ends: a second build waits
    fcntl.flock(lock, fcntl.LOCK_EX)
    os.environ["LRTRANSFER_EXECUTED"] = str(execute.cache_folder())
    seconds = execute.execute(fresh=arguments.fresh)
    executed = len(list(execute.cache_folder().glob("cache/executed/*")))
    rendering = time.perf_counter()
    _render()
    if len(list(execute.cache_folder().glob("cache/executed/*"))) != executed:
        raise SystemExit(
            "A chapter was executed a second time while rendering: tools/build/execute.py reads it differently."
        )
    print("\nPage          executed in")
    for page, took in seconds.items():
        print(f"{page:12}  {'unchanged' if took is None else f'{took:.1f} s'}")
    print(f"rendered in {time.perf_counter() - rendering:.1f} s, {time.perf_counter() - start:.1f} s in all")
    print(f"\nThe site: {HTML / 'index.html'}  (make serve opens it)")


if __name__ == "__main__":
    main()
