"""What an executed chapter depended on, and what of it has changed since.

A chapter's outputs follow from its cells, the Python and the pins that execute it, its surroundings, and the files of
the repository it reads: modules, settings, records. The files are not guessed from the sources but observed while the
chapter is executed (see kernel_start/sitecustomize.py), those included that it looks for in vain. As long as none of
them changes, the chapter would read the same files again, so the list is exact: lazy imports, modules that are chosen
by name and files that are found by listing a folder are all in it. Only one thing goes unseen, that a module which a
chapter does without was not there.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

KERNEL_START = Path(__file__).with_name("kernel_start")
PINS = "requirements.txt"
# Tags that change what a cell does; all others change how it is shown.
EXECUTION_TAGS = {"raises-exception", "skip-execution"}


def surroundings(root: Path, log: Path) -> dict[str, str]:
    """Environment variables with which a kernel imports the package of ``root`` and notes what it reads in ``log``."""
    others = [os.path.abspath(path) for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]
    return {
        "PYTHONPATH": os.pathsep.join([str(KERNEL_START), str(root / "lib"), *others]),
        "BOOK_ROOT": os.path.realpath(root),
        "BOOK_READS": str(log),
    }


def dependences(root: Path, log: Path, started: float, environment: Mapping[str, str]) -> dict[str, Any]:
    """What a chapter depended on that was executed since ``started``, in seconds of the epoch.

    ``log``: what its kernel noted. ``environment``: the variables that every kernel gets. The digest of a file that
    changed meanwhile is unknown, so that the chapter will run again.
    """
    read = set(log.read_text(encoding="utf-8").splitlines()) if log.is_file() else set()
    files = {}
    for name in sorted({PINS, *read}):
        path = root / name
        late = path.is_file() and path.stat().st_ctime > started
        files[name] = "changed while it was read" if late else digest(path)
    return {"python": sys.version, "environment": dict(environment), "files": files}


def change(root: Path, before: Mapping[str, Any], environment: Mapping[str, str]) -> str:
    """What has changed since ``dependences`` returned ``before``, in words; "" if nothing."""
    if before["python"] != sys.version:
        return "another Python"
    if before["environment"] != dict(environment):
        return "another environment"
    changed = [name for name, known in before["files"].items() if digest(root / name) != known]
    return "" if not changed else changed[0] + (f" and {len(changed) - 1} more" if changed[1:] else "")


def code_of(notebook: Any) -> list[Any]:
    """What of a notebook's cells its outputs depend on."""
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return [[cell["source"], sorted(EXECUTION_TAGS & set(cell["metadata"].get("tags", [])))] for cell in cells]


def digest(path: Path) -> str:
    """A hash of what a file says to a program, of the names in a folder, or "absent".

    Of a module, comments, layout and docstrings do not count, save docstrings where the module reads ``__doc__``.
    Of the pins, comments do not count.
    """
    try:
        content = path.read_bytes()
    except IsADirectoryError:
        names = sorted(
            entry
            for entry in os.listdir(path)
            if not entry.startswith((".", "__pycache__")) and not entry.endswith(".egg-info")
        )
        return _hash(json.dumps(names).encode())
    except (FileNotFoundError, NotADirectoryError):
        return "absent"
    if path.suffix == ".py":
        return _code(content)
    if path.name == PINS:
        lines = (line.split(b"#")[0].strip() for line in content.splitlines())
        return _hash(b"\n".join(line for line in lines if line))
    return _hash(content)


@cache
def _code(source: bytes) -> str:
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):  # a chapter may read what is no program
        return _hash(source)
    if b"__doc__" not in source:
        for node in ast.walk(tree):
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                first = node.body[0] if node.body else None
                if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                    del node.body[0]
    return _hash(ast.dump(tree).encode())


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]
