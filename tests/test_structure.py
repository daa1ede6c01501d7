"""The house: arrows go one way, no circles, no private module shared, nothing too large to hold in mind."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

LIB = Path(__file__).resolve().parents[1] / "lib"
PACKAGE = LIB / "lrtransfer"
SHARED = ("numerics", "rates", "modules", "sweeps", "images", "page")
PAPERS = ("depth", "width", "layers", "residual", "stages")
# What each room may import, besides itself. ``cli`` looks the papers up by name, but for the one rule that it prints.
ALLOWED = {
    "numerics": set(),
    "modules": {"numerics"},
    "rates": {"numerics"},
    "sweeps": {"numerics", "rates"},
    "images": {"numerics", "sweeps"},  # of the sweeps the bar alone, for downloads: there is one bar, and it is there
    "page": {"numerics", "rates"},
    **{paper: set(SHARED) for paper in PAPERS},
    "practice": {*SHARED, *PAPERS},
    "exercises": {*SHARED, *PAPERS, "practice"},
    "synthesis": {*SHARED, *PAPERS},
    "performance": {*SHARED, *PAPERS},
    "cli": {*SHARED, "depth", "practice"},
    "start": {"cli"},
}
MOST_LINES, MOST_MODULES = 325, 14


def modules() -> dict[str, Path]:
    """Every module of the package by its dotted name."""
    names = {}
    for path in PACKAGE.rglob("*.py"):
        name = ".".join(path.relative_to(LIB).with_suffix("").parts)
        names[name.removesuffix(".__init__")] = path
    return names


MODULES = modules()


def imports(name: str) -> Iterator[str]:
    """The package's modules that a module imports, also within functions and for the types alone."""
    for node in _imports(ast.parse(MODULES[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        else:
            assert node.level == 0, f"{name} imports by dots"
            found = [f"{node.module}.{alias.name}" for alias in node.names]
            found = [each if each in MODULES else str(node.module) for each in found]
        yield from (each for each in found if each in MODULES and each != name)


def _imports(tree: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            yield node
        yield from _imports(node)


def room(name: str) -> str:
    return name.split(".")[1] if "." in name else ""


ARROWS = {name: sorted(set(imports(name))) for name in MODULES}


@pytest.mark.parametrize("name", sorted(set(map(room, MODULES)) - {""}))
def test_arrows_go_one_way(name):
    assert name in ALLOWED, f"{name} is a new room: say in ALLOWED what it may import"
    wrong = [
        f"{module} -> {target}"
        for module, targets in ARROWS.items()
        for target in targets
        if room(module) == name and room(target) not in {name, "", *ALLOWED[name]}
    ]
    assert not wrong, wrong


def test_images_take_nothing_of_the_sweeps_but_the_bar():
    taken = {target for name, targets in ARROWS.items() if room(name) == "images" for target in targets}
    assert {target for target in taken if room(target) == "sweeps"} == {"lrtransfer.sweeps.progress"}


def test_no_file_imports_itself_by_way_of_others():
    # A package's __init__ gathers what lies in it; modules inside import each other and not the gathering.
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        assert name not in path, " -> ".join([*path[path.index(name) :], name])
        if name not in done:
            for target in ARROWS[name]:
                visit(target, (*path, name))
            done.add(name)

    for name in MODULES:
        visit(name, ())


def test_no_private_module_is_imported_by_another():
    private = [(m, t) for m, targets in ARROWS.items() for t in targets if t.rpartition(".")[2].startswith("_")]
    assert not private, private


@pytest.mark.parametrize("folder", sorted({path.parent for path in MODULES.values()}), ids=lambda f: f.name)
def test_no_folder_holds_more_than_a_dozen_or_so_modules(folder):
    assert len([p for p in folder.glob("*.py") if p.name != "__init__.py"]) <= MOST_MODULES


def test_no_file_is_longer_than_one_person_holds_in_mind():
    long = {
        path.relative_to(LIB.parent).as_posix(): lines
        for root in (LIB, LIB.parent / "tests", LIB.parent / "tools")
        for path in root.rglob("*.py")
        if (lines := len(path.read_text(encoding="utf-8").splitlines())) > MOST_LINES
    }
    assert not long, long


def unused_names() -> list[str]:
    """Names in an ``__all__`` that no line of the package, page, command or timing uses, and no document names."""
    root, used = LIB.parent, set()
    for path in MODULES.values():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Attribute) or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)):
                used.add(node.attr if isinstance(node, ast.Attribute) else node.id)
    tools = [*(root / "tools").rglob("*.py"), *(root / "tests").glob("bench_*.py")]
    for path in [*(root / "book").glob("*.md"), *root.glob("*.md"), *tools]:
        used.update(re.findall(r"\w+", path.read_text(encoding="utf-8")))
    return [
        f"{module}: {name}"
        for module, path in MODULES.items()
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__"
        for name in ast.literal_eval(node.value)
        if name not in used
    ]


def test_a_public_name_is_used_by_more_than_tests():
    assert not unused_names()


def test_an_unused_public_name_is_found(tmp_path, monkeypatch):
    module = tmp_path / "spare.py"
    module.write_text('__all__ = ["nobody_calls_this", "used"]\n\nused()\n')
    monkeypatch.setitem(MODULES, "lrtransfer.spare", module)
    assert unused_names() == ["lrtransfer.spare: nobody_calls_this"]


def test_arrays_have_one_name_each():
    # numerics.arrays names them; a second alias of the same type is a second name for one thing.
    aliases = [
        f"{name}: {ast.unparse(node)}"
        for name, path in MODULES.items()
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.Assign) and ast.unparse(node.value).startswith("NDArray[")
    ]
    assert aliases and all(alias.startswith("lrtransfer.numerics.arrays: ") for alias in aliases), aliases


def test_tests_use_what_is_public():
    # One underscore says that nobody outside looks; protocols of others (_repr_html_, _forward_hooks) are theirs.
    theirs = {"_forward_hooks", "_forward_pre_hooks", "_repr_mimebundle_", "_repr_markdown_", "_repr_html_", "_exit"}
    used = []
    for path in sorted((LIB.parent / "tests").rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            names = [node.attr] if isinstance(node, ast.Attribute) else []
            if isinstance(node, ast.ImportFrom):
                names = [alias.name for alias in node.names]
            private = [n for n in names if n.startswith("_") and not n.startswith("__") and n not in theirs]
            used += [f"{path.name}: {name}" for name in private]
    assert not used, used
