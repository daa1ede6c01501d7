"""Execute the chapters in parallel, and only those that something has changed for since they were last executed.

Executed notebooks are kept under _build/.executed/PRESET, each with what it depended on (see memory.py), so that
going from one preset to another and back executes nothing. Sphinx then only reads outputs, from a jupyter-cache.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache
from pathlib import Path
from typing import Any

import yaml

import memory
from peak import larger, peak_mib
from progress import Progress

ROOT = Path(__file__).resolve().parents[2]
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
_clients: set[Any] = set()  # of the kernels that run now


def executed_folder() -> Path:
    """The folder of the executed notebooks, of every preset."""
    return ROOT / "_build" / ".executed"


def cache_folder() -> Path:
    """The folder of the notebooks executed under the preset in force.

    Raises ``ValueError`` when LRTRANSFER_PRESET holds a word that is no preset.
    """
    from lrtransfer.page.scale import preset

    return executed_folder() / preset()


def _kept(path: Path) -> Path:
    """Where the executed notebook of a chapter is kept."""
    return cache_folder() / "notebooks" / f"{path.stem}.ipynb"


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


def reader_config() -> Any:
    """How the site's own parser reads a page."""
    return _config_of(ROOT / "_config.yml")


@cache
def _config_of(settings: Path) -> Any:
    from myst_parser.config.main import MdParserConfig

    config = yaml.safe_load(settings.read_text(encoding="utf-8"))
    return MdParserConfig(enable_extensions=set(config["parse"]["myst_enable_extensions"]))


def read_notebook(path: Path) -> Any:
    """A chapter as the notebook that the site's own parser makes of it, so that both agree on every cell."""
    from myst_nb.core.read import read_myst_markdown_notebook

    notebook = read_myst_markdown_notebook(
        path.read_text(encoding="utf-8"), config=reader_config(), add_source_map=True, path=path
    )
    return notebook


def run_notebook(
    notebook: Any,
    folder: str,
    environment: dict[str, str] | None = None,
    on_cell: Callable[[int | None], None] | None = None,
) -> tuple[Any, float, str]:
    """Execute a notebook in ``folder``; returns it, the seconds it took and what went wrong ("" if nothing).

    Anything written to stderr, a warning included, counts as wrong. ``on_cell`` is called after each cell of code, with
    the number of the kernel's process.
    """
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    def executed(**_: Any) -> None:
        if on_cell is not None:
            on_cell(getattr(getattr(client.km, "provisioner", None), "pid", None))

    client = NotebookClient(
        notebook,
        timeout=TIMEOUT,
        kernel_name="python3",
        resources={"metadata": {"path": folder}},
        store_widget_state=False,
        record_timing=False,  # the cache compares metadata, and times would differ
        on_cell_executed=executed,
    )
    start = time.perf_counter()
    _clients.add(client)
    try:
        asyncio.run(client.async_execute(env=os.environ | ENVIRONMENT | (environment or {})))
    except (CellExecutionError, CellTimeoutError, DeadKernelError) as error:
        return notebook, time.perf_counter() - start, str(error)
    finally:
        _clients.discard(client)
    noise = [
        f"{output['text']}\n  printed by the cell that starts: {cell['source'].splitlines()[0]}"
        for cell in notebook["cells"]
        for output in cell.get("outputs", [])
        if output.get("name") == "stderr"
    ]
    return notebook, time.perf_counter() - start, "\n".join(noise)


def _stop_kernels() -> None:
    for client in list(_clients):
        if client.km is not None and client.km.has_kernel:
            os.kill(client.km.provisioner.pid, signal.SIGKILL)


def _execute_page(path: Path, notebook: Any, why: str, progress: Progress) -> tuple[Any, float, str]:
    """Execute a chapter and keep it if nothing went wrong; returns what ``run_notebook`` does."""
    import nbformat

    progress.started(path.stem, sum(bool(source.strip()) for source, _ in memory.code_of(notebook)), why)
    started, peak = time.time(), None

    def done(kernel: int | None) -> None:
        nonlocal peak
        peak = larger(peak, peak_mib(kernel))
        progress.cell(path.stem)

    # An empty folder to run in, for a chapter may depend on nothing but the repository.
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as beside:
        log = Path(beside) / "reads"
        environment = memory.surroundings(ROOT, log)
        notebook, seconds, wrong = run_notebook(notebook, folder, environment, done)
        depended = memory.dependences(ROOT, log, started, ENVIRONMENT)
    progress.ended(path.stem, wrong=bool(wrong), peak=peak)
    if not wrong:
        kept = _kept(path)
        notebook.metadata["executed"] = {"seconds": round(seconds, 1), "peak": peak, **depended}
        nbformat.write(notebook, kept.with_suffix(".part"))  # a build killed here leaves no half-written notebook
        kept.with_suffix(".part").replace(kept)
        del notebook.metadata["executed"]
    return notebook, seconds, wrong


def _execute_pages(todo: dict[Path, tuple[Any, str]], progress: Progress) -> dict[Path, tuple[Any, float, str]]:
    """Execute chapters, as many at a time as there are processors, in the order given; what became of each."""
    pool = ThreadPoolExecutor(max_workers=max(1, min(len(todo), os.cpu_count() or 1)))
    jobs: dict[Path, Future[tuple[Any, float, str]]] = {}
    try:
        for path, (notebook, why) in todo.items():
            jobs[path] = pool.submit(_execute_page, path, notebook, why, progress)
        while wait(jobs.values(), timeout=0.5).not_done:
            progress.tick()
    except BaseException:  # above all Ctrl-C: the kernels have not heard it
        pool.shutdown(wait=False, cancel_futures=True)
        _stop_kernels()
        raise
    pool.shutdown()
    return {path: job.result() for path, job in jobs.items()}


def _reason(notebook: Any, kept: Any | None) -> str:
    """Why a chapter must be executed; "" when the outputs that are kept of it are current."""
    if kept is None:
        return "not executed yet"
    if memory.code_of(notebook) != memory.code_of(kept):
        return "its cells"
    return memory.change(ROOT, kept.metadata["executed"], ENVIRONMENT)


def _recall(notebook: Any, kept: Any) -> None:
    """Give a notebook the outputs of its last execution."""
    old = [cell for cell in kept.cells if cell.cell_type == "code"]
    new = [cell for cell in notebook.cells if cell.cell_type == "code"]
    for cell, executed in zip(new, old, strict=True):
        cell.outputs, cell.execution_count = executed.outputs, executed.execution_count


def peaks() -> dict[str, float | None]:
    """The most memory of each page's kernel when it was last executed, MiB; None where it is not known."""
    import nbformat

    found = {}
    for path in chapters():
        kept = nbformat.read(_kept(path), as_version=4) if _kept(path).is_file() else None
        found[path.stem] = None if kept is None else kept.metadata["executed"].get("peak")
    return found


def _publish(executed: dict[Path, tuple[Any, float]]) -> None:
    """Put executed notebooks where Sphinx looks for them: a jupyter-cache, made anew."""
    from jupyter_cache import get_cache
    from jupyter_cache.base import CacheBundleIn

    folder = cache_folder() / "cache"
    shutil.rmtree(folder, ignore_errors=True)
    store = get_cache(str(folder))
    for path, (notebook, seconds) in executed.items():
        bundle = CacheBundleIn(notebook, str(path), data={"execution_seconds": seconds})
        store.cache_notebook_bundle(bundle, check_validity=False, overwrite=True)


def executed_notebook(name: str) -> Any:
    """The executed notebook of a chapter (``depth``), as Sphinx shows it.

    Read from the cache: what MyST-NB writes to _build/jupyter_execute lacks the outputs when they come from a cache.
    Raises ``KeyError`` when the last build executed other cells than the chapter has now.
    """
    from jupyter_cache import get_cache

    path = next(path for path in chapters() if path.stem == name)
    return get_cache(str(cache_folder() / "cache")).merge_match_into_notebook(read_notebook(path))[1]


def pages(fresh: bool) -> tuple[dict[Path, tuple[Any, str]], dict[Path, tuple[Any, float]]]:
    """The chapters that must be executed, each as a notebook with the reason, and those that need not, with outputs.

    The former come longest first, the latter with the seconds that they once took.
    """
    import nbformat

    stale: dict[Path, tuple[Any, str]] = {}
    current: dict[Path, tuple[Any, float]] = {}
    known: dict[Path, float] = {}  # seconds
    for path in chapters():
        notebook, kept = read_notebook(path), None
        if _kept(path).is_file():
            kept = nbformat.read(_kept(path), as_version=4)
            known[path] = kept.metadata["executed"]["seconds"]
        if why := "asked for" if fresh else _reason(notebook, kept):
            stale[path] = notebook, why
        else:
            _recall(notebook, kept)
            current[path] = notebook, known[path]
    longest_first = sorted(stale, key=lambda path: -known.get(path, path.stat().st_size))
    return {path: stale[path] for path in longest_first}, current


def execute(progress: Progress, fresh: bool = False) -> dict[str, float | None]:
    """Execute what must be; returns seconds per executed page (None where nothing had to run).

    A chapter runs again when its cells' code or anything that it depended on has changed, or when ``fresh``. Raises
    ``SystemExit`` with the tracebacks when a chapter fails; chapters that passed are kept even then.
    """
    from lrtransfer.page.scale import PRESETS

    (cache_folder() / "notebooks").mkdir(parents=True, exist_ok=True)
    for other in executed_folder().iterdir():
        if other.name not in PRESETS:  # what earlier versions kept
            shutil.rmtree(other) if other.is_dir() else other.unlink()
    stale, executed = pages(fresh)
    for path in stale if fresh else ():
        _kept(path).unlink(missing_ok=True)  # what fails now must not pass next time
    failures = []
    for path, (notebook, seconds, wrong) in _execute_pages(stale, progress).items():
        if wrong:
            failures.append(f"{path.relative_to(ROOT)}\n{wrong}")
        executed[path] = notebook, seconds
    if failures:
        raise SystemExit("\n\n".join(["These chapters did not execute cleanly:", *failures]))
    _publish(executed)
    return {path.stem: executed[path][1] if path in stale else None for path in chapters()}
