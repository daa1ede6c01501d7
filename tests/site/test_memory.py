"""The build's memory: a chapter is executed again when something that it depended on has changed, and only then."""

from __future__ import annotations

import io
import shutil

import pytest
from small_book import chapter, contents

import execute
import memory
from progress import Progress

CODE = """
from importlib import import_module
from lrtransfer.sweeps import records
import mine
mine.use()
import_module("by" + "_name")
records.read("there-is-none", folder=mine.RESULTS)
"""
# A small package: what the first chapter imports, what that imports, and what only the second one does.
MODULES = {
    "mine/__init__.py": "from mine.settings import RESULTS, read\nfrom mine.inner import use\n",
    "mine/inner.py": '"""Inner."""\n\n\ndef use():\n    """Do."""\n    import lazy  # only here\n    return lazy.y\n',
    "mine/settings.py": (
        "from pathlib import Path\n\n"
        "RESULTS = Path(__file__).parents[2] / 'results'\n\n\n"
        "def read():\n"
        "    return (RESULTS / 'one' / 'record.json').read_text()\n\n\n"
        "HERE = Path(__file__).parent\n"
        "SETTINGS = {path.name: path.read_text() for path in (HERE / 'configs').glob('*.toml')}\n"
        "RECORD = read()\n"
    ),
    "mine/unused.py": "z = 1\n",
    "mine/configs/small.toml": "steps = 1\n",
    "lazy.py": "y = 1\n",
    "by_name.py": "w = 1\n",
    "described.py": '"""Shown."""\n\nTEXT = __doc__\n',
    "others.py": "import described\nx = 1\n",
}


@pytest.fixture(scope="module")
def executed(tmp_path_factory):
    """The folder of a book of two chapters, executed."""
    root = tmp_path_factory.mktemp("book")
    contents(root, ["one", "two"])
    for name, text in MODULES.items():
        (root / "lib" / name).parent.mkdir(parents=True, exist_ok=True)
        (root / "lib" / name).write_text(text)
    for name in ("one", "two"):
        (root / "results" / name).mkdir()
        (root / "results" / name / "record.json").write_text('{"loss": 1}\n')
    (root / "book" / "one.md").write_text(chapter(CODE))
    (root / "book" / "two.md").write_text(chapter("import others\nothers.x"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(execute, "ROOT", root)
        patch.delenv("LRTRANSFER_PRESET", raising=False)
        seconds = execute.execute(Progress(io.StringIO()))
        assert None not in seconds.values()
    return root


@pytest.fixture
def book(executed, tmp_path, monkeypatch):
    """A copy of it to change; the pages that would be executed are then what ``stale`` says."""
    root = tmp_path / "book"
    shutil.copytree(executed, root, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(execute, "ROOT", root)
    monkeypatch.delenv("LRTRANSFER_PRESET", raising=False)
    assert stale() == {}
    return root


def stale() -> dict[str, str]:
    """The pages that a build would execute, and why."""
    return {path.stem: why for path, (_, why) in execute.pages(fresh=False)[0].items()}


def replace(file, old, new):
    text = file.read_text()
    assert text.count(old) == 1
    file.write_text(text.replace(old, new))


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("lib/mine/inner.py", "return lazy.y", "return lazy.y + 1"),
        ("lib/mine/__init__.py", "read", "SETTINGS"),
        ("lib/lazy.py", "1", "2"),
        ("lib/by_name.py", "1", "2"),
        ("lib/mine/configs/small.toml", "1", "2"),
        ("results/one/record.json", "1", "2"),
    ],
    ids=["module", "package", "transitive", "by name", "settings", "record"],
)
def test_what_a_chapter_reads_runs_it_again_and_no_other(book, file, old, new):
    replace(book / file, old, new)
    assert stale() == {"one": file}
    replace(book / file, new, old)
    assert stale() == {}


def test_a_changed_cell_runs_its_chapter(book):
    replace(book / "book" / "two.md", "others.x", "others.x + 1")
    assert stale() == {"two": "its cells"}


def test_a_tag_that_changes_what_a_cell_does_runs_its_chapter(book):
    (book / "book" / "two.md").write_text(chapter("import others\nothers.x", options=":tags: [skip-execution]\n"))
    assert stale() == {"two": "its cells"}


def test_files_that_come_and_go_run_the_chapters_that_looked_for_them(book):
    record = book / "results" / "there-is-none" / "record.json"
    record.parent.mkdir()
    assert stale() == {}
    record.write_text("{}")
    assert stale() == {"one": "results/there-is-none/record.json"}
    shutil.rmtree(record.parent)
    assert stale() == {}
    (book / "lib" / "mine" / "configs" / "more.toml").touch()
    assert stale() == {"one": "lib/mine/configs"}
    (book / "lib" / "mine" / "configs" / "more.toml").unlink()
    (book / "results" / "one" / "record.json").unlink()
    assert stale() == {"one": "results/one/record.json"}


def test_the_pins_the_python_and_the_surroundings_run_every_chapter(book, monkeypatch):
    every = {"one", "two"}
    replace(book / "requirements.txt", "numpy==1", "numpy==2")
    assert stale() == dict.fromkeys(every, "requirements.txt")
    replace(book / "requirements.txt", "numpy==2", "numpy==1  # a comment")
    assert stale() == {}
    with monkeypatch.context() as patch:
        patch.setitem(execute.ENVIRONMENT, "OMP_NUM_THREADS", "2")
        assert stale() == dict.fromkeys(every, "another environment")
    monkeypatch.setattr(memory.sys, "version", "3.99")
    assert stale() == dict.fromkeys(every, "another Python")


def test_each_preset_has_a_memory_of_its_own(book, monkeypatch):
    monkeypatch.setenv("LRTRANSFER_PRESET", "smoke")
    assert set(stale()) == {"one", "two"}
    monkeypatch.setenv("LRTRANSFER_PRESET", "book")
    assert stale() == {}
    monkeypatch.setenv("LRTRANSFER_PRESET", "quick")
    with pytest.raises(ValueError, match=r"^LRTRANSFER_PRESET = 'quick'"):
        stale()


def test_prose_captions_and_what_hides_a_cell_run_nothing(book):
    options = ":tags: [hide-input]\n"
    (book / "book" / "two.md").write_text(chapter("import others\nothers.x", "Other prose.", options))
    assert stale() == {}
    options = "---\nmystnb:\n  figure:\n    name: fig-x\n    caption: Another.\n---\n"
    (book / "book" / "two.md").write_text(chapter("import others\nothers.x", "Other prose.", options))
    assert stale() == {}


def test_comments_layout_and_docstrings_run_nothing(book):
    inner = book / "lib" / "mine" / "inner.py"
    replace(inner, "  # only here", "  # there and nowhere else")
    replace(inner, "\n\n\ndef use", "\n\n# Why.\ndef use")
    replace(inner, '    """Do."""\n', "")
    replace(inner, '"""Inner."""', '"""All that is inside."""')
    assert stale() == {}


def test_a_docstring_counts_where_the_module_reads_it(book):
    replace(book / "lib" / "described.py", "Shown", "Shown on the page")
    assert stale() == {"two": "lib/described.py"}


def test_what_no_chapter_reads_runs_nothing(book):
    (book / "lib" / "mine" / "unused.py").write_text("z = 2\n")
    (book / "lib" / "mine" / "new.py").write_text("v = 1\n")
    (book / "results" / "two" / "record.json").write_text('{"loss": 2}\n')
    (book / "README.md").write_text("Words.\n")
    assert stale() == {}


def test_a_build_executes_what_is_stale_and_shows_its_new_outputs(book):
    replace(book / "lib" / "others.py", "x = 1", "x = 5")
    said = io.StringIO()
    seconds = execute.execute(Progress(said))
    assert seconds["one"] is None and seconds["two"] is not None
    assert "started   two          1 cells (lib/others.py)" in said.getvalue()
    assert execute.executed_notebook("two").cells[-1].outputs[0].data["text/plain"] == "5"
    assert stale() == {}


def test_a_module_that_changes_while_a_chapter_runs_runs_it_again(book):
    engine = book / "lib" / "others.py"
    code = f"import others\nfile = open({str(engine)!r}, 'a')\nfile.write('x = 7')\nfile.close()"
    (book / "book" / "two.md").write_text(chapter(code))
    execute.execute(Progress(io.StringIO()))
    assert stale() == {"two": "lib/others.py"}


def test_what_a_child_process_reads_counts(book):
    code = 'import subprocess, sys\nsubprocess.run([sys.executable, "-c", "import mine.unused"], check=True)'
    (book / "book" / "two.md").write_text(chapter(code))
    execute.execute(Progress(io.StringIO()))
    replace(book / "lib" / "mine" / "unused.py", "1", "2")
    assert stale() == {"two": "lib/mine/unused.py"}
