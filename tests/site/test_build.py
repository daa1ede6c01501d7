"""The build: what is executed again and what is not, and how a broken chapter ends it."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

import execute

HEADER = """---
jupytext:
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---

# A chapter

"""


@pytest.fixture
def book(tmp_path, monkeypatch):
    """A book of one small chapter, built in a folder of its own; returns a function that writes the chapter."""
    for folder in ("book", "lib"):
        (tmp_path / folder).mkdir()
    (tmp_path / "lib" / "engine.py").write_text("x = 1\n")
    (tmp_path / "requirements.txt").write_text("numpy==1\n")
    (tmp_path / "_toc.yml").write_text("root: book/one\n")
    (tmp_path / "_config.yml").write_text("parse: {myst_enable_extensions: [colon_fence, dollarmath]}\n")
    monkeypatch.setattr(execute, "ROOT", tmp_path)
    monkeypatch.setattr(execute, "EXECUTED", tmp_path / "_build" / ".executed")
    monkeypatch.setattr(execute, "TIMES", tmp_path / "_build" / ".executed" / "seconds.json")

    def write(code: str, prose: str = "Prose.", tags: str = "") -> None:
        text = f"{HEADER}{prose}\n\n```{{code-cell}} ipython3\n{tags}{code}\n```\n"
        (tmp_path / "book" / "one.md").write_text(text, encoding="utf-8")

    return write


def test_a_chapter_is_executed_again_when_and_only_when_its_outputs_could_change(book, tmp_path):
    book("print(1 + 1)")
    assert execute.execute()["one"] is not None
    assert execute.execute()["one"] is None
    book("print(1 + 1)", prose="Other prose.")
    assert execute.execute()["one"] is None, "prose alone"
    book("print(1 + 1)", prose="Other prose.", tags=":tags: [hide-input]\n")
    assert execute.execute()["one"] is None, "tags and captions"
    book("print(1 + 2)")
    assert execute.execute()["one"] is not None, "a cell"
    (tmp_path / "lib" / "engine.py").write_text("x = 2\n")
    assert execute.execute()["one"] is not None, "the package"
    (tmp_path / "requirements.txt").write_text("numpy==2\n")
    assert execute.execute()["one"] is not None, "the pins"
    assert execute.execute(fresh=True)["one"] is not None, "on demand"


def test_the_preset_is_part_of_the_key(book, monkeypatch):
    before = execute.execution_key()
    monkeypatch.setenv("LRTRANSFER_PRESET", "smoke")
    assert execute.execution_key() != before


def test_a_failing_cell_ends_the_build_with_its_traceback(book):
    book("value = {}\nvalue['missing key']")
    with pytest.raises(SystemExit, match=r"(?s)book/one\.md.*KeyError.*missing key"):
        execute.execute()
    book("print('mended')")
    assert execute.execute()["one"] is not None


def test_a_warning_ends_the_build(book):
    book("import warnings\nwarnings.warn('look here')")
    with pytest.raises(SystemExit, match=r"(?s)look here.*import warnings"):
        execute.execute()


def test_a_chapter_runs_in_an_empty_folder_on_one_thread(book):
    book("import os\nassert os.listdir() == []\nassert os.environ['OMP_NUM_THREADS'] == '1'")
    assert execute.execute()["one"] is not None


def test_workers_leave_when_their_build_is_killed(tmp_path):
    script = tmp_path / "parent.py"
    script.write_text(
        "import os, sys, time\n"
        f"sys.path.insert(0, {str(Path(execute.__file__).parent)!r})\n"
        "from concurrent.futures import ProcessPoolExecutor\n"
        "import execute\n"
        "with ProcessPoolExecutor(1, initializer=execute.leave_with, initargs=(os.getpid(),)) as pool:\n"
        "    print(pool.submit(os.getpid).result(), flush=True)\n"
        "    time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True) as parent:
        worker = int(parent.stdout.readline())
        parent.kill()
    for _ in range(200):
        try:
            os.kill(worker, 0)
        except ProcessLookupError:
            return
        time.sleep(0.1)
    pytest.fail("the worker outlived its build by 20 seconds")
