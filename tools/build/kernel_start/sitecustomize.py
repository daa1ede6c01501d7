"""Python runs this file when it starts: a kernel, and every process it starts, notes what it reads of the repository.

The folder stands on PYTHONPATH while a chapter is executed. Each file that is opened for reading or looked for in
vain, and each folder that is listed, becomes a line in the file that BOOK_READS names, as a path below BOOK_ROOT.
Modules count as read when they are imported. What is hidden, built or installed is left out.
"""

import os
import sys
from importlib.machinery import PathFinder
from importlib.util import module_from_spec, source_from_cache
from typing import Any


def _note_reads(root: str, log: str) -> None:
    file = os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT)  # forked processes write into it as well
    realpath, decode, frame, write = os.path.realpath, os.fsdecode, sys._getframe, os.write
    writing = os.O_WRONLY | os.O_RDWR
    seen: set[str] = set()

    def note(event: str, arguments: tuple[Any, ...]) -> None:
        if event == "open":
            if arguments[2] & writing:
                return
        elif event in ("os.listdir", "os.scandir"):
            if frame(1).f_code.co_filename.startswith("<frozen importlib"):
                return  # an import looks for one name: the file it opens is what counts
        else:
            return
        path = "." if arguments[0] is None else arguments[0]
        if not isinstance(path, str | bytes | os.PathLike):
            return  # a file that is open already
        real = realpath(decode(path))
        if real in seen or not real.startswith(root):
            return
        seen.add(real)
        parts = real[len(root) :].split("/")
        if parts[0] == "_build" or any(part.startswith(".") or part.endswith(".egg-info") for part in parts):
            return
        if parts[-1] != "__pycache__":
            if real.endswith(".pyc"):
                real = source_from_cache(real)
            write(file, f"{real[len(root) :]}\n".encode())

    sys.addaudithook(note)


def _run_the_next(here: str) -> None:
    """Run the sitecustomize that this one hides, if there is one."""
    sys.path[:] = [path for path in sys.path if path != here]
    spec = PathFinder.find_spec("sitecustomize", sys.path)
    if spec is not None and spec.loader is not None:
        spec.loader.exec_module(module_from_spec(spec))


_run_the_next(os.path.dirname(os.path.abspath(__file__)))
if "BOOK_READS" in os.environ:
    _note_reads(os.path.join(os.environ["BOOK_ROOT"], ""), os.environ["BOOK_READS"])
