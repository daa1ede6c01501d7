"""The build: how a chapter is executed, how a broken one ends it, how builds and readers meet."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import filelock
import pytest
from small_book import chapter, contents

import execute
import site_build
from progress import Progress
from swap import put_in_place


@pytest.fixture
def book(tmp_path, monkeypatch):
    """A book of one small chapter in a folder of its own; returns a function that writes the chapter."""
    contents(tmp_path, ["one"])
    monkeypatch.setattr(execute, "ROOT", tmp_path)
    monkeypatch.delenv("LRTRANSFER_PRESET", raising=False)

    def write(code: str) -> None:
        (tmp_path / "book" / "one.md").write_text(chapter(code), encoding="utf-8")

    return write


def test_a_failing_cell_ends_the_build_with_its_traceback(book):
    book("value = {}\nvalue['missing key']")
    with pytest.raises(SystemExit, match=r"(?s)book/one\.md.*KeyError.*missing key"):
        execute.execute(Progress())
    book("print('mended')")
    assert execute.execute(Progress())["one"] is not None


def test_a_warning_ends_the_build_also_of_a_chapter_that_passed_before(book, tmp_path):
    book("from pathlib import Path\nimport engine, sys\nsys.stderr.write(Path(engine.NOISE).read_text())")
    (tmp_path / "lib" / "engine.py").write_text(f"NOISE = {str(tmp_path / '.hidden')!r}\n")
    (tmp_path / ".hidden").write_text("")
    assert execute.execute(Progress())["one"] is not None
    (tmp_path / ".hidden").write_text("look here")  # nothing that the book's memory knows of
    assert execute.execute(Progress())["one"] is None
    for fresh in (True, False):
        with pytest.raises(SystemExit, match=r"(?s)look here.*from pathlib import Path"):
            execute.execute(Progress(), fresh=fresh)


def test_a_chapter_runs_in_an_empty_folder_on_one_thread(book):
    book("import os\nassert os.listdir() == []\nassert os.environ['OMP_NUM_THREADS'] == '1'")
    assert execute.execute(Progress())["one"] is not None


@pytest.mark.parametrize("end", ["SIGKILL", "SIGINT"])
def test_no_kernel_outlives_a_build_that_is_ended(book, tmp_path, end):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    # The kernel holds the pipe open as long as it lives, and its reader then reads to the end.
    book(f"import signal\npipe = open({str(pipe)!r}, 'w')\nprint('running', file=pipe, flush=True)\nsignal.pause()")
    script = (
        "import signal, sys\n"
        # A shell that runs jobs in the background turns Ctrl-C off, for its children too.
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"
        f"sys.path.insert(0, {str(Path(execute.__file__).parent)!r})\n"
        "from pathlib import Path\n"
        "import execute, progress\n"
        f"execute.ROOT = Path({str(tmp_path)!r})\n"
        "execute.execute(progress.Progress())\n"
    )
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with subprocess.Popen([sys.executable, "-c", script], **quiet) as build, pipe.open() as reader:
        assert reader.readline() == "running\n"
        build.send_signal(getattr(signal, end))
        assert reader.read() == ""
        assert build.wait() != 0


# The site


@pytest.fixture
def rendered(book, tmp_path, monkeypatch):
    """A book whose pages are made without Sphinx; returns what the next rendering makes: pages, or an exception."""
    book("1 + 1")
    pages = {"index.html": "old"}

    def render(aside):
        html = aside / "html"
        html.mkdir(parents=True)
        for name, text in pages.items():
            if isinstance(text, BaseException):
                raise text
            (html / name).write_text(text)
        return html

    monkeypatch.setattr(site_build, "render", render)
    return pages


def test_a_new_site_replaces_the_old_one_and_a_broken_one_does_not(rendered, tmp_path):
    index = tmp_path / "_build" / "html" / "index.html"
    site_build.build(Progress())
    assert index.read_text() == "old"
    rendered["index.html"] = SystemExit("a warning")
    with pytest.raises(SystemExit, match="a warning"):
        site_build.build(Progress())
    assert index.read_text() == "old"
    rendered["index.html"] = "new"
    site_build.build(Progress())
    assert index.read_text() == "new"
    assert {path.name for path in (tmp_path / "_build").iterdir()} == {"html", ".executed", ".parsed"}


def test_a_chapter_executed_while_rendering_is_refused(rendered, monkeypatch, tmp_path):
    render = site_build.render

    def and_execute(aside):
        (execute.cache_folder() / "cache" / "executed" / "another").mkdir()
        return render(aside)

    monkeypatch.setattr(site_build, "render", and_execute)
    with pytest.raises(SystemExit, match="edited meanwhile"):
        site_build.build(Progress())
    assert not (tmp_path / "_build" / "html").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux exchanges two folders in one step")
def test_a_reader_finds_every_page_while_sites_are_swapped(tmp_path):
    place, page = tmp_path / "html", tmp_path / "html" / "index.html"
    done, missing, found = threading.Event(), [], set()

    def read():
        while not done.is_set():
            try:
                found.add(page.read_text())
            except FileNotFoundError as error:
                missing.append(error)

    def site(text):
        (tmp_path / "aside").mkdir()
        (tmp_path / "aside" / "index.html").write_text(text)
        put_in_place(tmp_path / "aside", place)

    site("0")
    reader = threading.Thread(target=read)
    reader.start()
    for number in range(1, 300):
        site(str(number))
    done.set()
    reader.join()
    assert missing == [] and len(found) > 1
    assert page.read_text() == "299" and [path.name for path in tmp_path.iterdir()] == ["html"]


def test_where_folders_cannot_be_exchanged_the_old_one_goes_aside(tmp_path, monkeypatch):
    monkeypatch.setattr("swap.exchange", lambda one, other: False)
    for name in ("aside", "html"):
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    put_in_place(tmp_path / "aside", tmp_path / "html")
    assert [str(path.relative_to(tmp_path)) for path in sorted(tmp_path.rglob("*"))] == ["html", "html/aside"]


def test_a_second_build_says_that_it_waits(rendered, tmp_path, monkeypatch):
    class Said(Progress):
        def say(self, text):
            said.append(text)
            if "waiting" in text:
                lock.release()

    said: list[str] = []
    (tmp_path / "_build").mkdir()
    lock = filelock.FileLock(tmp_path / "_build" / ".lock")
    lock.acquire()
    monkeypatch.setattr(site_build, "Progress", Said)
    monkeypatch.setattr(sys, "argv", ["site_build"])
    site_build.main()
    assert said[0] == "Another build of this folder is running: waiting for it."
    assert (tmp_path / "_build" / "html" / "index.html").read_text() == "old"


@pytest.mark.skipif(not Path("/proc/self/status").is_file(), reason="this system does not say how much memory was held")
def test_a_build_says_how_much_memory_each_page_has_held(rendered, book, monkeypatch, capsys):
    book("text = 'x' * 300 * 2**20\ndel text")
    site_build.build(Progress())
    said = capsys.readouterr().out
    peak = execute.peaks()["one"]
    assert 300 < peak < 1000 and said.count(f"{peak:.0f} MiB") == 2
    site_build.build(Progress())  # nothing is executed: the number of then
    said = capsys.readouterr().out
    assert "unchanged" in said and f"{peak:.0f} MiB" in said and execute.peaks() == {"one": peak}


def test_a_page_of_before_memory_was_measured_is_listed_without_a_number(rendered, monkeypatch, capsys):
    monkeypatch.setattr(execute, "peak_mib", lambda kernel: None)
    site_build.build(Progress())
    assert "not measured" in capsys.readouterr().out and execute.peaks() == {"one": None}
