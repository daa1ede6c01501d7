"""Install the pins into the Python that runs this: what is to come is said first, the time it took last."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PINS = ROOT / "requirements.txt"
CUDA = ("nvidia-", "cuda-", "triton")  # how the distributions begin that torch needs for NVIDIA's cards alone
FAST = "--use-feature=fast-deps"  # reads what a wheel needs from its end where the index does not tell it apart
# Wheels for Linux on x86-64 and Python 3.11, in gigabytes, as their indexes gave them in November 2026.
OTHERS_GB, CPU_TORCH_GB, CUDA_TORCH_GB = 0.31, 0.19, 2.73


def pinned(name: str) -> str:
    """The line ``name==version`` of requirements.txt."""
    found = re.search(rf"^{name}==\S+", PINS.read_text(encoding="utf-8"), re.MULTILINE)
    if found is None:
        raise SystemExit(f"requirements.txt pins no {name}.")
    return found.group()


def announcement(names: list[str]) -> str:
    """What is about to be downloaded, from the names of the distributions that pip would install."""
    if not names:
        return "Set-up: everything that requirements.txt pins is there."
    cuda = sorted(name for name in names if name.lower().startswith(CUDA))
    text = f"Set-up: {len(names)} distributions to download (those in pip's cache are not fetched again)"
    if "torch" in names:
        text += f", about {OTHERS_GB + (CUDA_TORCH_GB if cuda else CPU_TORCH_GB):.1f} GB"
    if cuda:
        text += (
            f".\nWARNING: {len(cuda)} of them are CUDA libraries for NVIDIA's cards, about {CUDA_TORCH_GB:.1f} GB with "
            "torch's own build. The book needs none of them. To go without, stop now (Ctrl-C) and say\n"
            "    make TORCH_INDEX=ADDRESS\n"
            "with the address that the install page of pytorch.org shows behind --index-url for Linux, pip and CPU"
        )
    return text + "."


def pip(*arguments: str) -> str:
    """What one call of pip writes to stdout; a call that fails ends set-up, and pip has said why on stderr."""
    errors_only = "-qq"  # a machine with several package indexes warns of each that lacks a distribution
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", errors_only, *arguments]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"Set-up failed in: pip {' '.join(arguments)}")
    return done.stdout


def main() -> None:
    """Set up; TORCH_INDEX in the environment is the address of an index that torch alone is taken from."""
    start = time.perf_counter()
    index = os.environ.get("TORCH_INDEX", "").strip()
    print("Set-up: asking pip what is to be downloaded ...", flush=True)
    pip("install", pinned("pip"))  # Older ones download every wheel only to say that they would install it.
    others = ("--extra-index-url", index) if index else ()
    report = json.loads(pip("install", "--dry-run", FAST, "--report", "-", *others, "-r", str(PINS)))
    print(announcement([item["metadata"]["name"] for item in report["install"]]), flush=True)
    if index:
        pip("install", "--no-deps", "--index-url", index, pinned("torch"))
    pip("install", "-r", str(PINS))
    pip("install", "--no-deps", "--no-build-isolation", "--editable", ".")
    print(f"Set-up: done in {time.perf_counter() - start:.0f} s.", flush=True)


if __name__ == "__main__":
    main()
