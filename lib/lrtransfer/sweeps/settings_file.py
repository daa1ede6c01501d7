"""Sweeps as TOML files; those that a task brings along (``FILES`` beside its ``TASKS``) are known by name.

A file, in full; below [network] and [[curves]] stand fields of the settings of one kind, here that of an MLP::

    title = "MLP on digits, over depth"
    seeds = 3                                   # 0, 1, 2; or a list
    precision = "float32"                       # or "bf16", on cuda only
    compile = false                             # or true: torch.compile, on cuda only
    lrs = { log2_from = -6, log2_to = 4, octaves = 0.5 }   # or a list of rates

    [network]                                   # fields shared by all curves, the kind among them
    kind = "mlp"
    data = "digits"
    steps = 40                                  # or epochs = 4

    [[curves]]                                  # fields of some curves; a list means one curve for each value,
    parametrisation = ["sp", "mup"]             # several lists mean one for each combination
    depth = [3, 6, 12]

    [[curves]]
    parametrisation = "mup_sqrt_depth"
    depth = [3, 6, 12]
    lrs = [0.5, 1.0, 2.0, 4.0]                  # these curves' own rates

A grid of rates is 2^(log2_from + i octaves), i = 0, 1, ..., up to log2_to; exponents are rounded to 12 digits, so that
a coarser grid is part of a finer one and all machines train the same rates.

What a kind may say beyond its fields, such as epochs for steps, is the matter of its task (``Task.from_fields``).
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from lrtransfer.numerics.arguments import finite, one, positive, refuse
from lrtransfer.sweeps import task_registry
from lrtransfer.sweeps.store.run_rows import named_file
from lrtransfer.sweeps.sweep import Curve, Sweep

_TOP = ("title", "seeds", "precision", "compile", "lrs", "network", "curves")
_MOST, _MOST_RUNS = 10_000, 1_000_000  # rates, seeds or curves, and runs: more of them is a slip of the pen
_LOG2 = (-122, 126)  # the powers of two within ``sweep.LOWEST`` and ``sweep.HIGHEST``
_GRID = ("log2_from", "log2_to", "octaves")


def shipped() -> dict[str, str]:
    """The sweeps in the package.

    Returns
    -------
    dict of str to str
        title by name, such as "fig1".
    """
    return {path.stem: str(_load(path).get("title", "")) for path in task_registry.files()}


def read_sweep(file: str | os.PathLike[str]) -> Sweep:
    """The sweep in a TOML file; the module's docstring has the format.

    Parameters
    ----------
    file
        a path, or the name of one of ``shipped()``, with or without ".toml"

    Returns
    -------
    Sweep

    Raises
    ------
    FileNotFoundError
        where there is neither.
    IsADirectoryError
        for a folder.
    ValueError
        naming file and entry, for what the file may not say.
    ImportError
        with Python 3.10 and without tomli.
    """
    if not isinstance(file, (str, os.PathLike)) or isinstance(os.fspath(file), bytes):
        raise refuse("file", file, "a file's name")
    path = Path(file)
    if path.is_dir():
        raise IsADirectoryError(f"'{path}' is a folder; the sweep must be a file")
    if not path.exists():
        found = {inside.stem: inside for inside in task_registry.files()}
        inside = found.get(os.fspath(file).removesuffix(".toml"))
        if inside is None:
            names = ", ".join(found)
            raise FileNotFoundError(f"there is no file '{path}'; files that come with lrtransfer: {names}")
        path = inside
    content = _load(path)
    try:
        return sweep_from(content)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def sweep_from(content: Mapping[str, Any]) -> Sweep:
    """The sweep that the content of a TOML file describes.

    Parameters
    ----------
    content
        the file's entries, parsed

    Returns
    -------
    Sweep

    Raises
    ------
    ValueError
        naming the entry.
    """
    for name in content:
        if name not in _TOP:
            raise ValueError(f"{name} is no entry of a sweep; its entries are {', '.join(_TOP)}.")
    network, blocks = content.get("network"), content.get("curves", [{}])
    if not isinstance(network, Mapping):
        raise refuse("network", network, "a table with the fields of the settings, kind among them")
    if not isinstance(blocks, list) or not blocks or not all(isinstance(block, Mapping) for block in blocks):
        raise refuse("curves", blocks, "one or more tables, each headed [[curves]]")
    curves: list[Curve] = []
    for block in blocks:
        own = dict(block)
        rates = _rates(own.pop("lrs", content.get("lrs")))
        axes = [[(name, v) for v in _values(name, value)] for name, value in own.items()]
        many = len(curves) + math.prod(map(len, axes))  # asked before there are so many
        if many > _MOST:
            lengths = " x ".join(f"{len(axis)} {axis[0][0]}" for axis in axes if len(axis) > 1)
            raise ValueError(f"curves = {many} curves ({lengths}) is not allowed: there may be at most {_MOST}.")
        for chosen in itertools.product(*axes):
            curves.append(Curve(task_registry.from_dict({**network, **dict(chosen)}), rates))
    seeds = content.get("seeds", 1)
    # bool is an int to Python, but "seeds = true" is a mistake
    numbers = range(seeds) if isinstance(seeds, int) and not isinstance(seeds, bool) else seeds
    if not isinstance(numbers, (range, list)) or not 1 <= len(numbers) <= _MOST:
        raise refuse(
            "seeds", seeds, f"a number of seeds from 1 to {_MOST}, or a list of different whole numbers from 0"
        )
    rest = {name: content[name] for name in ("precision", "title", "compile") if name in content}
    runs = len(numbers) * sum(len(curve.lrs) for curve in curves)
    if runs > _MOST_RUNS:
        raise ValueError(
            f"curves, lrs and seeds make {runs} runs, which is not allowed: there may be at most {_MOST_RUNS}."
        )
    return Sweep(tuple(curves), tuple(numbers), **rest)


def _values(name: str, value: object) -> list[Any]:
    """What a field of a block takes in turn."""
    if not isinstance(value, list):
        return [value]
    if len(value) > _MOST:
        raise ValueError(f"{name} = a list of {len(value)} values is not allowed: there may be at most {_MOST}.")
    if not value or any(v in value[:i] for i, v in enumerate(value)):
        raise refuse(name, value, "a value, or a list of one or more different values")
    return value


def _rates(given: object) -> tuple[float, ...]:
    if isinstance(given, Mapping):
        if set(given) != set(_GRID):
            raise refuse("lrs", dict(given), f"a list of rates, or a table of {', '.join(_GRID)}")
        low, high = (one(name, finite(name, given[name])) for name in _GRID[:2])
        step = one("octaves", positive("octaves", given["octaves"]))
        for name, value in zip(_GRID, (low, high), strict=False):
            if not _LOG2[0] <= value <= _LOG2[1]:
                raise refuse(name, given[name], f"between {_LOG2[0]} and {_LOG2[1]}: training is in float32")
        if high < low:
            raise refuse("log2_to", given["log2_to"], f"at least log2_from = {given['log2_from']}")
        if (high - low) / step >= _MOST:
            raise refuse("octaves", given["octaves"], f"so large that there are at most {_MOST} rates")
        steps = math.floor((high - low) / step + 1e-9)  # 1e-9: a third of an octave, three times, is one
        # Not numpy's power, whose last bit depends on the processor.
        return tuple(math.pow(2.0, round(low + i * step, 12)) for i in range(steps + 1))
    if not isinstance(given, list) or not given:
        raise refuse("lrs", given, f"a list of rates, or a table of {', '.join(_GRID)}")
    return tuple(given)


def _load(path: Path) -> dict[str, Any]:
    toml = _toml()
    try:
        with named_file(path):
            # utf-8-sig: some editors begin a file with a byte-order mark, which TOML does not know.
            return toml.loads(path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n"))
    except (toml.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{path} is not a TOML file: {error}") from error


def _toml() -> ModuleType:
    try:
        import tomllib
    except ImportError:  # Python 3.10
        try:
            import tomli as tomllib  # type: ignore[no-redef]
        except ImportError as error:
            raise ImportError("reading a sweep's file with Python 3.10 needs tomli: pip install tomli") from error
    return tomllib
