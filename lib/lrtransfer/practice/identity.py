"""What tells one reader's function from another in a store: a sum over its code and over all that the code uses.

Bytecode counts, and with it constants, defaults, closures, and the globals that the code names: functions and classes
of the reader's own are followed, objects count as pickle would keep them, arrays by their entries. What is installed
(torch, numpy, the standard library, this package) counts by its name. Comments, spaces and the names of files do not
count; another Python version does, for its bytecode differs.
"""

from __future__ import annotations

import dis
import enum
import functools
import hashlib
import importlib
import importlib.util
import sys
import sysconfig
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import MISSING, fields, is_dataclass
from pathlib import Path, PurePath
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np

from lrtransfer import __version__

_PLAIN = (type(None), bool, int, float, complex, str, bytes, type(...), type(NotImplemented), range, slice)
# Of a class: what says nothing, differs from session to session, or is read from elsewhere.
_SKIPPED = {"__dict__", "__weakref__", "__doc__", "__annotations__", "__module__", "__match_args__", "__qualname__"}
_SKIPPED |= {"__abstractmethods__", "_abc_impl", "__orig_bases__", "__parameters__", "__firstlineno__", "__hash__"}
_SKIPPED |= {"__dataclass_fields__", "__dataclass_params__", "__static_attributes__", "__annotate__", "__classcell__"}
_INSTALLED = tuple({str(Path(sysconfig.get_path(name)).resolve()) for name in ("stdlib", "purelib", "platlib")})
_ROOM = str(Path(__file__).resolve().parents[1])


class CannotTell(ValueError):
    """A function that uses something of which another one of its kind could not be told."""


def identity(**functions: Callable[..., Any]) -> str:
    """A word that is equal for equal code with equal surroundings.

    Parameters
    ----------
    **functions
        by the names to call them in a refusal

    Returns
    -------
    str
        16 hexadecimal digits.

    Raises
    ------
    CannotTell
        a ``ValueError``, naming the function and what it uses.
    """
    reader, found = _Reader(), []
    for name, function in functions.items():
        reader.trail = [name]
        try:
            found.append(reader.of(function))
        except RecursionError:
            raise _refused(reader.trail, function, "it is nested too deeply") from None
    return hashlib.sha256(" ".join(found).encode()).hexdigest()[:16]


def _refused(trail: list[str], value: Any, why: object) -> CannotTell:
    where = f"{trail[0]} uses {trail[-1]}" if len(trail) > 1 else trail[0]
    return CannotTell(
        f"{where}, a {type(value).__name__}, which cannot be told from others of its kind ({why}), so a store could "
        "hand back runs of another training: pass version, a word that you change whenever build or train change."
    )


def _is_installed(file: str | None) -> bool:
    if file is None or file.startswith("<frozen"):
        return True
    if file.startswith("<"):
        return False
    path = str(Path(file).resolve())
    return path.startswith((*_INSTALLED, _ROOM)) or "site-packages" in path or "dist-packages" in path


class _Reader:
    """Sums of values, each object read once."""

    def __init__(self) -> None:
        self.trail: list[str] = []
        self._open: list[Any] = []  # sums of the objects that hold the one being read
        # By address, with the object itself, so that no other takes its address; None while it is being read.
        self._read: dict[int, tuple[str | None, Any]] = {}

    def add(self, *words: object) -> None:
        """Add words to the sum of the object being read."""
        self._open[-1].update(repr(words).encode() + b"\n")

    def of(self, value: Any) -> str:
        """The sum of a value of any kind."""
        if id(value) in self._read:
            return self._read[id(value)][0] or "holds itself"
        self._open.append(hashlib.sha256())
        if type(value) in _PLAIN:
            self.add(type(value).__name__, value)
            return str(self._open.pop().hexdigest())
        self._read[id(value)] = None, value
        self._of_a_kind(value)
        found = str(self._open.pop().hexdigest())
        self._read[id(value)] = found, value
        return found

    def visit(self, value: Any) -> None:
        """Add a value to the sum of the object that holds it."""
        found = self.of(value)
        self._open[-1].update(found.encode())

    def _of_a_kind(self, value: Any) -> None:
        if isinstance(value, ModuleType):
            self.add("module", value.__name__)
        elif isinstance(value, CodeType):
            self._code(value)
        elif isinstance(value, FunctionType):
            self._function(value)
        elif isinstance(value, MethodType):
            self.add("method", value.__name__)
            self.visit(value.__self__)
            self.visit(value.__func__)
        elif isinstance(value, type):
            self._class(value)
        elif type(value) in (tuple, list, dict, set, frozenset):
            self._container(value)
        else:
            self._object(value)

    def _container(self, value: Any) -> None:
        self.add(type(value).__name__, len(value))
        if isinstance(value, set | frozenset):
            self.add(sorted(map(self.of, value)))  # their own order differs from session to session
            return
        for entry in value:
            self.visit(entry)
            if isinstance(value, dict):
                self.visit(value[entry])

    def _code(self, code: CodeType) -> None:
        self.add("code", code.co_code, code.co_names, code.co_freevars, code.co_argcount, code.co_kwonlyargcount)
        for constant in code.co_consts:
            self.visit(constant)

    def _function(self, function: FunctionType) -> None:
        if _is_installed(function.__code__.co_filename):
            inner = getattr(function, "__wrapped__", None)  # a decorator's: what it decorates is the reader's
            self._named(function)
            if inner is not None:
                self.visit(inner)
            return
        self._code(function.__code__)
        self._used("a default of an argument", lambda: (function.__defaults__, function.__kwdefaults__))
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            self._used(name, lambda cell=cell: cell.cell_contents)  # type: ignore[misc]
        for code in _codes(function.__code__):
            self._surroundings(code, function.__globals__)

    def _surroundings(self, code: CodeType, around: dict[str, Any]) -> None:
        """The globals that a code names, and of modules of the reader's own the attributes that it may ask for."""
        names = dict.fromkeys(i.argval for i in dis.get_instructions(code) if i.opname in ("LOAD_GLOBAL", "LOAD_NAME"))
        asked = [i.argval for i in dis.get_instructions(code) if i.opname == "IMPORT_NAME"]
        for name in names:
            if name in around:
                self._used(name, lambda name=name: around[name])  # type: ignore[misc]
        mine = [around[name] for name in names if isinstance(around.get(name), ModuleType)]
        for module in [*mine, *filter(None, map(_of_the_reader, asked))]:
            if _is_installed(getattr(module, "__file__", None)):
                continue
            for name in code.co_names:
                if name in vars(module):
                    self._used(f"{module.__name__}.{name}", lambda m=module, n=name: vars(m)[n])  # type: ignore[misc]

    def _used(self, name: str, get: Callable[[], Any]) -> None:
        try:
            value = get()
        except ValueError:  # a closure's variable that has no value yet
            self.add("empty", name)
            return
        self.add("uses", name)
        self.trail.append(name)
        self.visit(value)
        self.trail.pop()

    def _named(self, value: Any) -> None:
        module = str(getattr(value, "__module__", ""))
        version = __version__ if module.startswith("lrtransfer") else ""
        self.add("installed", module, getattr(value, "__qualname__", type(value).__name__), version)

    def _class(self, made: type) -> None:
        module = sys.modules.get(made.__module__)
        if made.__module__ != "__main__" and (module is None or _is_installed(getattr(module, "__file__", None))):
            self._named(made)
            return
        self.add("class", made.__name__)
        for base in made.__bases__:
            self.visit(base)
        if is_dataclass(made):
            for field in fields(made):
                given = (field.default, field.default_factory)
                self.visit((field.name, *(each for each in given if each is not MISSING)))
        for name, value in vars(made).items():
            inner = value.func if isinstance(value, functools.cached_property) else value
            inner = getattr(inner, "fget", None) or getattr(inner, "__func__", inner)
            written = isinstance(inner, FunctionType) and inner.__code__.co_filename.startswith("<string>")
            if name not in _SKIPPED and not written and not type(value).__name__.endswith("_descriptor"):
                self.add("attribute", name, type(value).__name__)
                self.visit(inner)

    def _object(self, value: Any) -> None:
        """Arrays by their entries, all else as pickle would keep it."""
        if isinstance(value, BuiltinFunctionType):
            self.add("builtin", value.__module__, value.__qualname__)
            if not isinstance(value.__self__, ModuleType | type(None)):
                self.visit(value.__self__)
            return
        if isinstance(value, PurePath | np.dtype | enum.Enum):
            self.add(type(value).__name__, repr(value))
            return
        if isinstance(value, functools._lru_cache_wrapper):
            self.visit(value.__wrapped__)
            return
        if (entries := _entries(value)) is not None:
            self.add("array", *entries)
            return
        try:
            kept = value.__reduce_ex__(4)
        except Exception as error:
            raise _refused(self.trail, value, error) from None
        if isinstance(kept, str):  # a global of that name, such as a ufunc
            self.add("global", type(value).__name__, kept)
            return
        make, arguments, *rest = kept
        for part in (make, arguments, *(list(each) if isinstance(each, Iterator) else each for each in rest[:3])):
            self.visit(part)


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A code and those of the functions that are made within it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _codes(constant)


def _of_the_reader(name: str) -> ModuleType | None:
    """The module that code imports as it runs, where it is not an installed one."""
    spec = None
    with suppress(ImportError, ValueError):
        spec = importlib.util.find_spec(name.partition(".")[0])
    if spec is None or spec.origin is None or _is_installed(spec.origin):
        return None
    with suppress(Exception):  # what is wrong with it comes out when it is used
        return importlib.import_module(name)
    return None


def _entries(value: Any) -> tuple[object, ...] | None:
    """Kind, shape and a sum of the entries of an array or a tensor of numbers; None for all else."""
    if isinstance(value, np.ndarray | np.generic) and not value.dtype.hasobject:
        return str(value.dtype), value.shape, hashlib.sha256(value.tobytes()).hexdigest()
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor) and value.layout == torch.strided:
        plain = value.detach().cpu().resolve_conj().resolve_neg().contiguous().reshape(-1)
        entries = plain.view(torch.uint8).numpy().tobytes() if plain.numel() else b""
        return str(value.dtype), tuple(value.shape), hashlib.sha256(entries).hexdigest()
    return None
