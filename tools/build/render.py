"""Render the site with Jupyter Book; what Sphinx has read of a page that did not change it does not read again.

Sphinx keeps a parsed copy of each page and knows by itself whether its source changed. It does not know of what else a
page is made of: the package (its reference, the words of the ledger), outputs of cells, the extensions, the pins. A
digest of these stands beside the copies; another digest throws them away. All pages are written anew in any case, for
numbers and links lead from page to page.
"""

from __future__ import annotations

import gc
import hashlib
import json
import shutil
import sys
from pathlib import Path

import execute

FOLDER = ".parsed"
MADE_OF = ("tools/build", "lib", "_config.yml", "_toc.yml", "requirements.txt", "book/references.bib")


def digest(root: Path, outputs: Path) -> str:
    """What pages are made of, but for their own text and what the theme copies.

    Parameters
    ----------
    root
        of the repository
    outputs
        the folder of the executed notebooks

    Returns
    -------
    str
        another one where any of it changed.
    """
    found = hashlib.sha256(sys.version.encode())
    for name in MADE_OF:
        top = root / name
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if path.is_file() and "__pycache__" not in path.parts:
                found.update(f"{path.relative_to(root)}\0".encode() + path.read_bytes())
    for path in sorted(outputs.glob("*.ipynb")):
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        found.update(json.dumps([path.name, [cell.get("outputs") for cell in cells]]).encode())
    return found.hexdigest()


def parsed(root: Path, outputs: Path) -> Path:
    """The folder of what Sphinx has read, emptied where that holds no more.

    Parameters
    ----------
    root
        of the repository
    outputs
        the folder of the executed notebooks

    Returns
    -------
    Path
    """
    folder, now = root / "_build" / FOLDER, digest(root, outputs)
    key = folder / "digest"
    if not key.is_file() or key.read_text(encoding="utf-8") != now:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        key.write_text(now, encoding="utf-8")
    return folder


def main(aside: str) -> None:
    """Render below ``aside``; the folder is removed where anything went wrong, as are the parsed pages."""
    from jupyter_book.sphinx import build_sphinx

    # Trees of many small objects that live to the end: looking for garbage among them takes a quarter of the time.
    gc.set_threshold(500_000, 50, 50)
    root = execute.ROOT
    folder = parsed(root, execute.cache_folder() / "notebooks")
    failed = build_sphinx(
        root,
        Path(aside),
        noconfig=True,
        path_config=root / "_config.yml",
        confoverrides={"external_toc_path": str(root / "_toc.yml"), "nitpicky": True, "latex_individualpages": False},
        doctreedir=folder / "doctrees",
        force_all=True,
        quiet=True,
        warningiserror=True,
        keep_going=True,
    )
    if failed:
        shutil.rmtree(folder, ignore_errors=True)
        raise SystemExit(1)


if __name__ == "__main__":
    main(sys.argv[1])
