"""The generated notebooks as a reader runs them: the install cell, each chapter without the repository."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import itertools
import multiprocessing
import os
import re
import shutil
import subprocess
import sys
import types
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import nbformat
import pytest
from jupytext.cli import jupytext as jupytext_cli

import execute
import notebooks

ROOT = Path(__file__).resolve().parents[2]
CHAPTERS = [path.stem for path in execute.chapters()]
# The widgets that Colab has, and what they need beside what the book pins.
COLAB_WIDGETS = [
    "ipywidgets==7.7.1",
    "widgetsnbextension==3.6.10",
    "jupyterlab-widgets==1.1.11",
    "ipython_genutils==0.2.0",
]
KEPT = ("numpy", "torch", "scipy", "matplotlib", "ipywidgets")


def pip(*arguments):
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def copy_of_the_package(folder):
    """The files that the package is built from, away from the tree, which a build would litter."""
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    litter = shutil.ignore_patterns("*.egg-info", "__pycache__")
    shutil.copytree(ROOT / "lib", folder / "lib", ignore=litter)
    return folder


# The install cell


def run_cell(address):
    exec(compile(notebooks.install_cell(address), "install cell", "exec"), {})


@pytest.fixture
def no_process(monkeypatch):
    def refuse(*arguments, **options):
        raise AssertionError(f"the cell started {arguments}")

    monkeypatch.setattr(subprocess, "run", refuse)


@pytest.fixture
def missing(monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "lrtransfer" else find(name))


@pytest.mark.parametrize("address", ["", "https://example.org/a/b"])
def test_install_cell_leaves_an_importable_package_alone(address, no_process, capsys):
    import lrtransfer

    run_cell(address)
    assert capsys.readouterr().out == f"lrtransfer {lrtransfer.__version__} is here already; nothing was installed.\n"


def test_install_cell_without_an_address_says_how_to_install(missing, no_process):
    with pytest.raises(RuntimeError, match=r"in a copy of the repository, run  pip install"):
        run_cell("")


@pytest.mark.parametrize(
    ("address", "command"),
    [
        ("", 'in a copy of the book\'s repository run  pip install ".[chapters]"'),
        ("https://x.org/a/b", '@ git+https://x.org/a/b"'),
    ],
)
def test_install_cell_names_the_extra_that_is_missing(address, command, monkeypatch, no_process):
    requires = [
        "numpy>=1.26",
        'torch>=2.2; extra == "chapters"',
        "no-such-one>=1; extra == 'chapters'",
        'no-other; extra == "data"',
    ]
    monkeypatch.setattr(importlib.metadata, "requires", lambda name: requires)
    with pytest.raises(RuntimeError, match=r"extra for notebooks \(no-such-one missing\)") as refused:
        run_cell(address)
    assert command in str(refused.value)


def test_install_cell_turns_on_colab_widgets(monkeypatch, capsys):
    called = []
    output = types.SimpleNamespace(enable_custom_widget_manager=lambda: called.append(True))
    for name, module in {
        "google": types.ModuleType("google"),
        "google.colab": types.SimpleNamespace(output=output),
    }.items():
        monkeypatch.setitem(sys.modules, name, module)
    run_cell("")
    assert called == [True]


def test_install_cell_reports_that_pip_failed(missing, monkeypatch):
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    with pytest.raises(RuntimeError, match=r"pip could not install lrtransfer:[\s\S]*nowhere/at/all"):
        run_cell("file://localhost/nowhere/at/all.git")


@pytest.fixture(scope="module")
def kernel(tmp_path_factory):
    """A Python that has all that this one has, except lrtransfer, and a folder of its own to install into."""
    folder = tmp_path_factory.mktemp("kernel")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    # As links, so that an lrtransfer installed here goes unseen, and outside, so that pip replaces nothing.
    (folder / "outside").mkdir()
    here = Path(pytest.__file__).parent.parent
    for path in here.iterdir():
        if not path.name.startswith(("lrtransfer", "__editable__", "__pycache__")) and path.suffix != ".pth":
            (folder / "outside" / path.name).symlink_to(path)
    own = next((folder / "lib").glob("python*")) / "site-packages"
    (own / "outside.pth").write_text(f"{folder / 'outside'}\n")
    return folder


def repository_with(folder, change=lambda text: text):
    """A git repository with the package, as a clone would find it; ``change`` edits its pyproject.toml."""
    copy_of_the_package(folder)
    settings = folder / "pyproject.toml"
    settings.write_text(change(settings.read_text("utf8")), "utf8")
    git = ["git", "-C", folder, "-c", "user.name=test", "-c", "user.email=test@localhost"]
    for arguments in (["init", "--quiet"], ["add", "."], ["commit", "--quiet", "-m", "the package"]):
        subprocess.run([*git, *arguments], check=True)
    return f"file://localhost{folder}"  # pip 23.2 does not take file:///


def run_in(kernel, cell, folder):
    """Run the cell as ``kernel`` would, with no index: what is not there cannot be downloaded."""
    report = "\nimport numpy, torch\nprint(lrtransfer.__file__)\nprint(numpy.__file__, torch.__file__)\n"
    (folder / "cell.py").write_text(cell + report)
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV")}
    environment |= {"PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_CONFIG_FILE": os.devnull}
    command = [kernel / "bin" / "python", folder / "cell.py"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


@pytest.mark.site
def test_install_cell_installs_and_replaces_nothing(kernel, tmp_path):
    (tmp_path / "repository").mkdir()
    address = repository_with(tmp_path / "repository")
    # A package whose own wish is another numpy is refused: the one that is here is never replaced.
    (tmp_path / "greedy").mkdir()
    greedy = repository_with(tmp_path / "greedy", lambda text: text.replace('"numpy>=1.26"', '"numpy<1.26"'))
    done = run_in(kernel, notebooks.install_cell(greedy), tmp_path)
    assert done.returncode != 0
    assert re.search(r"The user requested \(constraint\) numpy==[\d.]+", done.stderr), done.stderr

    done = run_in(kernel, notebooks.install_cell(address), tmp_path)
    assert done.returncode == 0, done.stderr
    said, package, others = done.stdout.splitlines()[-3:]
    versions = [f"{name}=={importlib.metadata.version(name)}" for name in KEPT]
    assert said.endswith(f"was installed from {address}; left as they were: {', '.join(versions)}.")
    assert Path(package).is_relative_to(kernel / "lib")
    assert all(Path(file).is_relative_to(kernel / "outside") for file in others.split())
    # the second time there is nothing left to do
    done = run_in(kernel, notebooks.install_cell(address), tmp_path)
    assert "is here already; nothing was installed." in done.stdout
    assert done.stderr == ""


# The chapters


@pytest.fixture(scope="session")
def runs(tmp_path_factory):
    """Each chapter, run in an empty folder with only the package's wheel, in both ipywidgets.

    With the pinned ones as the notebook that jupytext makes of the source, which has the same code, directives and all;
    with Colab's as the one that is generated for it.
    """
    wheel = tmp_path_factory.mktemp("wheel")
    source = copy_of_the_package(tmp_path_factory.mktemp("source"))
    pip("wheel", source, "--no-deps", "--no-build-isolation", "--wheel-dir", wheel)
    installed, old = tmp_path_factory.mktemp("installed"), tmp_path_factory.mktemp("widgets7")
    pip("install", "--no-deps", "--target", installed, *wheel.glob("*.whl"))
    pip("install", "--no-deps", "--target", old, *COLAB_WIDGETS)
    report = nbformat.v4.new_code_cell(
        "import ipywidgets, lrtransfer\nprint(lrtransfer.__file__)\nprint(ipywidgets.__version__)",
        id="report",
    )
    jobs = {}
    # A fresh interpreter each, for what a run puts into its environment must not reach other tests.
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(max_workers=min(4, os.cpu_count() or 1), mp_context=context) as pool:
        for name in CHAPTERS:
            raw = tmp_path_factory.mktemp("raw") / f"{name}.ipynb"
            jupytext_cli(["--quiet", "--to", "ipynb", str(ROOT / "book" / f"{name}.md"), "--output", str(raw)])
            generated = ROOT / "notebooks" / f"{name}.ipynb"
            for widgets, file, path in (("pinned", raw, [installed]), ("7.7.1", generated, [installed, old])):
                notebook = nbformat.read(file, as_version=4)
                notebook.cells.append(report)
                environment = {"PYTHONPATH": os.pathsep.join(map(str, path)), "LRTRANSFER_PRESET": "smoke"}
                folder = tmp_path_factory.mktemp(f"empty-{name}")
                jobs[name, widgets] = pool.submit(execute.run_notebook, notebook, str(folder), environment)
        return installed, {key: job.result() for key, job in jobs.items()}


@pytest.mark.site
@pytest.mark.parametrize("widgets", ["pinned", "7.7.1"])
@pytest.mark.parametrize("name", CHAPTERS)
def test_notebook_runs_with_only_the_wheel(runs, name, widgets):
    installed, results = runs
    notebook, _, error = results[name, widgets]
    assert error == ""  # neither an exception nor a word on stderr, so no warning
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    assert not [output for output in outputs if output.output_type == "error" or output.get("name") == "stderr"]
    for cell, caption in itertools.pairwise(notebook.cells):
        if caption.id == f"{cell.id}-caption":  # the site would give each of two outputs the figure's number
            shown = [output for output in cell.outputs if output.output_type != "stream"]
            assert len(shown) == 1, (
                f"a figure's cell must show one thing: {[list(o.data) for o in shown]}\n{cell.source}"
            )
    package, version = notebook.cells[-1].outputs[0].text.splitlines()
    assert Path(package).is_relative_to(installed)
    assert version == ("7.7.1" if widgets == "7.7.1" else importlib.metadata.version("ipywidgets"))
    if widgets == "7.7.1":
        assert "is here already; nothing was installed." in notebook.cells[0].outputs[0].text
    else:
        directives = ":::" in (ROOT / "book" / f"{name}.md").read_text(encoding="utf-8")
        assert directives == any(":::" in cell.source for cell in notebook.cells if cell.cell_type == "markdown")
