"""Execute the chapters in parallel, and only those whose code, lib/ or pins changed since they were last executed.

Executed notebooks are kept under _build/.executed/KEY, where KEY is a hash of everything outside a chapter that its
outputs depend on; inside it a chapter is recognised by its code. Sphinx then only reads outputs, from a jupyter-cache.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import tempfile
import threading
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import cache
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parents[2]
EXECUTED = ROOT / "_build" / ".executed"
TIMES = EXECUTED / "seconds.json"
TIMEOUT = 600  # seconds a cell may run

# One thread a kernel (two of them on a busy machine can be ten times slower than one), and no idle spinning. Memory
# stays with the kernel: glibc hands large arrays back and gets them zeroed anew, which is a tenth of the time. Nothing
# is taken from runs that a reader kept, and no bar is left in the page.
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_WAIT_POLICY": "passive",
    "GOMP_SPINCOUNT": "0",
    "MALLOC_MMAP_THRESHOLD_": "33554432",
    "MALLOC_TRIM_THRESHOLD_": "536870912",
    "PYTHONHASHSEED": "0",
    "LRTRANSFER_BARS": "0",
    "LRTRANSFER_RUNS": "",
    "PYDEVD_DISABLE_FILE_VALIDATION": "1",
}


def execution_key() -> str:
    """Hash of what every chapter's outputs depend on: the package, the pins, the preset, the Python version."""
    files = sorted(p for p in (ROOT / "lib").rglob("*") if p.suffix in {".py", ".csv", ".css", ".gz"})
    digest = hashlib.sha256()
    for path in [*files, ROOT / "requirements.txt"]:
        digest.update(path.relative_to(ROOT).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    digest.update(os.environ.get("LRTRANSFER_PRESET", "book").encode())
    digest.update(sys.version.encode())
    return digest.hexdigest()[:16]


def cache_folder() -> Path:
    """The folder of the executed notebooks that are current for this tree.

    A build fixes it once for all its processes, so that an edit made meanwhile counts for the next build.
    """
    return Path(os.environ.get("LRTRANSFER_EXECUTED") or EXECUTED / execution_key())


def toc_entries() -> list[tuple[str, bool]]:
    """The documents of _toc.yml in order, each with whether its part is numbered."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    entries = [(toc["root"], False)]
    for part in toc.get("parts", []):
        entries += [(chapter["file"], bool(part.get("numbered"))) for chapter in part["chapters"]]
    return entries


def chapters() -> list[Path]:
    """The executable pages of the book, in order."""
    paths = [ROOT / f"{name}.md" for name, _ in toc_entries()]
    return [p for p in paths if p.read_text(encoding="utf-8").startswith("---\njupytext:")]


@cache
def reader_config() -> Any:
    from myst_parser.config.main import MdParserConfig

    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    return MdParserConfig(enable_extensions=set(config["parse"]["myst_enable_extensions"]))


def read_notebook(path: Path) -> Any:
    """A chapter as the notebook that the site's own parser makes of it, so that both agree on every cell."""
    from myst_nb.core.read import read_myst_markdown_notebook

    notebook = read_myst_markdown_notebook(
        path.read_text(encoding="utf-8"), config=reader_config(), add_source_map=True, path=path
    )
    return notebook


def run_notebook(notebook: Any, folder: str, environment: dict[str, str] | None = None) -> tuple[Any, float, str]:
    """Execute a notebook in ``folder``; returns it, the seconds it took and what went wrong ("" if nothing).

    Anything written to stderr, a warning included, counts as wrong.
    """
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    os.environ.update(ENVIRONMENT | (environment or {}))
    client = NotebookClient(
        notebook,
        timeout=TIMEOUT,
        kernel_name="python3",
        resources={"metadata": {"path": folder}},
        store_widget_state=False,
        record_timing=False,  # the cache compares metadata, and times would differ
    )
    start = time.perf_counter()
    try:
        client.execute()
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        return notebook, time.perf_counter() - start, str(error)
    noise = [
        f"{output['text']}\n  printed by the cell that starts: {cell['source'].splitlines()[0]}"
        for cell in notebook["cells"]
        for output in cell.get("outputs", [])
        if output.get("name") == "stderr"
    ]
    return notebook, time.perf_counter() - start, "\n".join(noise)


def leave_with(parent: int) -> None:
    """End this process when ``parent`` has gone: a killed build must not leave workers that hold the build's lock."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _job(path: Path) -> tuple[Any, float, str]:
    with tempfile.TemporaryDirectory() as folder:  # a chapter may depend on nothing but the package
        return run_notebook(read_notebook(path), folder)


def _recall(notebook: Any, kept: Path) -> bool:
    """Give a notebook the outputs of its last execution, if that had the same code; whether it had."""
    import nbformat

    if not kept.is_file():
        return False
    old = [cell for cell in nbformat.read(kept, as_version=4).cells if cell.cell_type == "code"]
    new = [cell for cell in notebook.cells if cell.cell_type == "code"]
    if [cell.source for cell in old] != [cell.source for cell in new]:
        return False
    for cell, executed in zip(new, old, strict=True):
        cell.outputs, cell.execution_count = executed.outputs, executed.execution_count
    return True


def _publish(executed: dict[Path, tuple[Any, float]], folder: Path) -> None:
    """Put executed notebooks where Sphinx looks for them: a jupyter-cache, made anew."""
    from jupyter_cache import get_cache
    from jupyter_cache.base import CacheBundleIn

    shutil.rmtree(folder, ignore_errors=True)
    store = get_cache(str(folder))
    for path, (notebook, seconds) in executed.items():
        bundle = CacheBundleIn(notebook, str(path), data={"execution_seconds": seconds})
        store.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)


def executed_notebook(name: str) -> Any:
    """The executed notebook of a chapter (``depth``), as Sphinx shows it.

    Read from the cache: what MyST-NB writes to _build/jupyter_execute lacks the outputs when they come from a cache.
    Raises ``KeyError`` when the chapter has not been executed as it stands.
    """
    from jupyter_cache import get_cache

    path = next(path for path in chapters() if path.stem == name)
    return get_cache(str(cache_folder() / "cache")).merge_match_into_notebook(read_notebook(path))[1]


def execute(fresh: bool = False) -> dict[str, float | None]:
    """Execute what must be; returns seconds per executed page (None where nothing had to run).

    A chapter runs again when the code of its cells or the execution key has changed; prose, captions and tags alone do
    not count. Raises ``SystemExit`` with the tracebacks when a chapter fails; chapters that passed are kept even then.
    """
    import nbformat

    folder = cache_folder()
    keep = folder / "notebooks"
    for old in EXECUTED.glob("*/"):
        if old != folder or fresh:
            shutil.rmtree(old)
    keep.mkdir(parents=True, exist_ok=True)
    known: dict[str, float] = json.loads(TIMES.read_text()) if TIMES.is_file() else {}
    executed: dict[Path, tuple[Any, float]] = {}
    seconds: dict[str, float | None] = {}
    todo = []
    for path in chapters():
        notebook = read_notebook(path)
        if _recall(notebook, keep / f"{path.stem}.ipynb"):
            executed[path], seconds[path.stem] = (notebook, known.get(path.stem, 0.0)), None
        else:
            todo.append(path)
    todo.sort(key=lambda path: -known.get(path.stem, path.stat().st_size))  # the longest first
    failures = []
    workers = max(1, min(len(todo), os.cpu_count() or 1))
    with ProcessPoolExecutor(max_workers=workers, initializer=leave_with, initargs=(os.getpid(),)) as pool:
        jobs = {pool.submit(_job, path): path for path in todo}
        for job in as_completed(jobs):
            path = jobs[job]
            notebook, took, error = job.result()
            print(f"  {'failed  ' if error else 'executed'}  {path.stem:12} {took:6.1f} s", flush=True)
            if error:
                failures.append(f"{path.relative_to(ROOT)}\n{error}")
                continue
            executed[path], seconds[path.stem], known[path.stem] = (notebook, took), took, took
            draft = keep / f"{path.stem}.part"  # a build killed here leaves no half-written notebook behind
            nbformat.write(notebook, draft)
            draft.replace(keep / f"{path.stem}.ipynb")
    TIMES.write_text(json.dumps(known))
    if failures:
        raise SystemExit("\n\n".join(["These chapters did not execute cleanly:", *failures]))
    _publish(executed, folder / "cache")
    return {path.stem: seconds[path.stem] for path in chapters()}
