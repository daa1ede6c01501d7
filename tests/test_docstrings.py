"""One docstring dialect, numpydoc, for every name that a room hands out, or a shared file: argument by argument.

numpydoc's own parser reads the docstrings: a header it does not know, or one whose underline is too short, is a
warning, and so an error here.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterator
from dataclasses import is_dataclass
from typing import Any

import pytest
from numpydoc.docscrape import NumpyDocString

ROOMS = ("depth", "width", "layers", "residual", "stages", "practice", "rates", "exercises")
FILES = (
    *(f"sweeps.{name}" for name in ("devices", "driver", "executors", "keys", "optimisers", "progress", "recorder")),
    *(f"sweeps.{name}" for name in ("records", "run", "settings_file", "sweep", "task", "task_registry")),
    *(f"sweeps.store.{name}" for name in ("aside", "drives", "export", "finished_runs", "lock", "opening")),
    *(f"sweeps.store.{name}" for name in ("run_rows", "sqlite_file")),
    *("modules.checked_functions", "modules.watching"),
    # numerics.arguments is not among them: all of it takes a name, a value and its bounds, and gives the value back.
    *(f"numerics.{name}" for name in ("estimates", "fits", "jackknife", "lazy_gaussian", "random")),
    *(f"images.{name}" for name in ("archives", "bundled", "catalogue", "dataset", "downloads", "folders", "prepared")),
    *(f"images.{name}" for name in ("transfers",)),
    *(f"page.{name}" for name in ("checks", "claims", "ledger", "pictures", "plots", "report", "scale", "sliders")),
    *(f"page.{name}" for name in ("style", "ticks")),
)


def public(room: str) -> Iterator[tuple[str, Any]]:
    """The functions, and the classes that are built from arguments, among the names of a room."""
    module = importlib.import_module(f"lrtransfer.{room}")
    own = [name for name, value in vars(module).items() if getattr(value, "__module__", None) == module.__name__]
    for name in getattr(module, "__all__", own):
        value = getattr(module, name)
        built = (
            inspect.isclass(value)
            and not getattr(value, "_is_protocol", False)
            and (is_dataclass(value) or hasattr(value, "_fields") or "__init__" in vars(value))
        )
        if not name.startswith("_") and (inspect.isfunction(inspect.unwrap(value)) or built):
            yield f"{room}.{name}", value


def parameters(value: Any) -> set[str]:
    """The names of the signature of a function or class."""
    return set(inspect.signature(value).parameters)


def described(sections: NumpyDocString, *headers: str) -> set[str]:
    """The names that sections list, several of them on one line among these: ``depth, r, arch``."""
    lines = [entry.name for header in headers for entry in sections[header]]
    return {name.strip().lstrip("*") for line in lines for name in line.split(",")}


def inherited(value: Any) -> set[str]:
    """The fields that the docstrings of a class's own bases list: a subclass lists what it adds or alters."""
    bases = value.__mro__[1:] if inspect.isclass(value) else ()
    texts = [
        inspect.cleandoc(vars(base).get("__doc__") or "") for base in bases if base.__module__.startswith("lrtransfer.")
    ]
    return set().union(*(described(NumpyDocString(text), "Parameters", "Attributes") for text in texts))


def faults(value: Any) -> list[str]:
    """What the docstring of a function or class lacks, in words."""
    sections = NumpyDocString(inspect.getdoc(value) or "")
    found = []
    lacking = parameters(value) - described(sections, "Parameters", "Other Parameters", "Attributes") - inherited(value)
    if lacking:
        found.append(f"does not describe {', '.join(sorted(lacking))}")
    surplus = described(sections, "Parameters", "Other Parameters") - parameters(value)
    if surplus:
        found.append(f"describes {', '.join(sorted(surplus))}, which the signature lacks")
    returned = None if inspect.isclass(value) else inspect.signature(value).return_annotation
    if returned not in (None, "None", "Iterator[None]") and not (sections["Returns"] or sections["Yields"]):
        found.append("does not say what it returns")
    return found


NAMES = dict(pair for room in (*ROOMS, *FILES) for pair in public(room))


@pytest.mark.parametrize("name", sorted(NAMES))
def test_every_argument_and_result_is_described(name):
    try:
        found = faults(NAMES[name])
    except (UserWarning, ValueError) as trouble:  # a header that numpydoc does not know, or one that stands twice
        found = [str(trouble)]
    assert not found, f"{name} " + "; ".join(found)


def _unknown(depth: int) -> int:
    """A docstring with a wrong header.

    Arguments
    ---------
    depth
        a number

    Returns
    -------
    int
    """
    return depth


def _short(depth: int, width: int) -> int:
    """A docstring that leaves out an argument, its result, and names one that is not there.

    Parameters
    ----------
    depth, size
        numbers
    """
    return depth * width


def test_the_check_sees_what_is_wrong():
    with pytest.raises(UserWarning, match="Unknown section Arguments"):
        faults(_unknown)
    assert faults(_short) == [
        "does not describe width",
        "describes size, which the signature lacks",
        "does not say what it returns",
    ]
