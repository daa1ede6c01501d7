"""Every argument of a call broken in about thirty ways, and what is accepted of each broken call.

A broken call may give a right value (no NaN from finite input; the same value for the same numbers as float32), or a
``ValueError`` or ``TypeError`` whose text holds the argument's name. Warnings are errors, but for the package's own,
which are part of an answer. Each call has ``SECONDS`` of the processor, and ``BYTES`` more memory than the process
holds already.
"""

from __future__ import annotations

import importlib
import inspect
import math
import re
import resource
import signal
import warnings
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

import numpy as np
from matplotlib import pyplot

SECONDS, BYTES = 2.5, 2 << 30
importlib.import_module("torch._dynamo")  # an import that runs out of time halfway is broken for good
importlib.import_module("sympy")


@dataclass(frozen=True)
class Call:
    """A valid call: each argument by name; ``free`` arguments may be anything (why is said beside the call)."""

    arguments: Mapping[str, Any]
    free: frozenset[str] = frozenset()
    nan: bool = False  # NaN is a documented answer


def call(*free: str, nan: bool = False) -> Callable[..., Call]:
    """``call("batch")(batch=None, steps=3)``: a call whose ``batch`` is free."""
    return lambda **arguments: Call(arguments, frozenset(free), nan)


class TooSlow(BaseException):
    """A call beyond its time; no Exception, so that nothing in the package catches it."""


@dataclass(frozen=True)
class Break:
    """One wrong value. ``refuse``: no value may come back; ``same``: the result must be that of this value."""

    label: str
    value: Any
    refuse: bool = False
    same: Any = None


class _Thing:
    """Something that is nothing the package knows."""

    def __repr__(self) -> str:
        return "a thing"


def _junk(value: Any, optional: bool) -> Iterator[Break]:
    yield Break("object", _Thing(), True)
    if not callable(value):  # a class is a callable, and its own trouble
        yield Break("class", _Thing, True)
    yield Break("complex", 1 + 1j, True)
    yield Break("nested lists of unequal lengths", [[1.0, 2.0], [3.0]], True)
    yield Break("list of things", [_Thing(), _Thing()], True)
    yield Break("list of None", [None], True)
    yield Break("NaN", math.nan, True)
    if not optional:
        yield Break("None", None, True)
    if not isinstance(value, Mapping):
        yield Break("dict", {"a": 1}, True)
    if not isinstance(value, str):
        yield Break("text", "text", True)
        yield Break("empty text", "", True)
        yield Break("bytes", b"7", True)
        yield Break("list of words", ["one", "two"], not _words(value))
    if not callable(value):  # a class is a callable, and its own trouble
        yield Break("function", lambda *args: args, True)


def _words(value: Any) -> bool:
    return isinstance(value, list | tuple) and len(value) > 0 and all(isinstance(v, str) for v in value)


def _numeric(value: Any) -> bool:
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return False
    if isinstance(value, int | float | np.number):
        return True
    if isinstance(value, list | tuple | range | np.ndarray):
        try:
            array = np.asarray(value)
        except ValueError:
            return False
        return array.dtype.kind in "iuf"
    return False


def _numbers(value: Any) -> Iterator[Break]:
    array = np.array(value, dtype=float)
    one, whole = np.ravel(array)[:1], isinstance(value, int | range) or np.asarray(value).dtype.kind in "iu"
    for number in (math.inf, -math.inf, 1e300, -1e300, 1e-300, 0, -1, 0.5, 10**9, 10**30):
        yield Break(f"{number:g}" if isinstance(number, float) else str(number), number)
    yield Break("True", True, True)
    yield Break("empty", [])
    yield Break("empty (0, 3)", np.empty((0, 3)))
    yield Break("shape (2, 3, 4)", np.full((2, 3, 4), one[0] if one.size else 1.0))
    yield Break(
        "masked",
        np.ma.masked_array(np.atleast_1d(array), np.ones(max(1, array.size), bool).reshape(np.atleast_1d(array).shape)),
        True,
    )
    yield Break("complex array", array + 1j, True)
    yield Break("array of bool", np.ones(array.shape, bool), True)
    yield Break("array of things", np.full(max(1, array.size), _Thing()), True)
    wrong = np.atleast_1d(array).copy()
    if wrong.size:
        wrong.flat[0] = math.nan
        yield Break("NaN inside", wrong, True)
        for inside in (math.inf, -math.inf, 1e300, 1e-300):
            spoilt = np.atleast_1d(array).copy()
            spoilt.flat[-1] = inside
            yield Break(f"{inside:g} inside", spoilt)
    if array.ndim:
        yield Break("one entry more", np.concatenate([array, array[:1]]))
        yield Break(
            "times 1e300",
            array * 1e300 if not np.abs(array).max(initial=0) > 1 else array / np.abs(array).max() * 1e300,
        )
        yield Break("times 1e-300", array * 1e-300)
        yield Break("zeros", np.zeros(array.shape))
        yield Break("negative", -np.abs(array) - 1)
    if not whole:
        short = array.astype(np.float32)
        yield Break(
            "float32", short if array.ndim else short[()], same=short.astype(np.float64) if array.ndim else float(short)
        )


def breaks(value: Any, parameter: inspect.Parameter) -> Iterator[Break]:
    """The wrong values for an argument whose valid value is this one."""
    optional = parameter.default is None or "None" in str(parameter.annotation) or str(parameter.annotation) == "Any"
    yield from _junk(value, optional)
    if isinstance(value, bool):
        for number in (0, 1, 7, 0.5, math.inf, 10**9):
            yield Break(str(number), number, True)
        yield Break("no", "no", True)
        yield Break("array of bool", np.array([True, False]), True)
    elif isinstance(value, str):
        yield Break("other word", "no such word", True)
        yield Break("empty text", "", True)
        for number in (0, 1.5, 10**9, True):
            yield Break(str(number), number, True)
        yield Break("array of words", np.array([value, value]), True)
    elif _numeric(value):
        yield from _numbers(value)
    else:
        for number in (0, -1, 1.5, math.inf, 10**9, 1e300, True):
            yield Break(str(number), number, True)
        yield Break("empty", [])
        yield Break("array", np.ones((2, 3)), True)


def _numbers_in(result: Any, depth: int = 0) -> Iterator[np.ndarray]:
    """All floating numbers in a result: arrays, records, tuples and mappings, at any depth."""
    if depth > 5 or isinstance(result, str | bytes | type):
        return
    if isinstance(result, bool | int | float | complex | np.generic | np.ndarray):
        array = np.asarray(result)
        if array.dtype.kind in "fc":
            yield array
    elif is_dataclass(result):
        for each in fields(result):
            yield from _numbers_in(getattr(result, each.name), depth + 1)
    elif isinstance(result, Mapping):
        for each in result.values():
            yield from _numbers_in(each, depth + 1)
    elif isinstance(result, list | tuple):
        for each in result:
            yield from _numbers_in(each, depth + 1)


def _alike(one: Any, other: Any) -> bool:
    pairs = list(_numbers_in(one)), list(_numbers_in(other))
    return len(pairs[0]) == len(pairs[1]) and all(
        a.shape == b.shape and np.allclose(a, b, rtol=1e-6, atol=1e-12, equal_nan=True)
        for a, b in zip(*pairs, strict=True)
    )


def _late(*_: Any) -> None:
    raise TooSlow


def limited(function: Callable[..., Any], arguments: Mapping[str, Any], own: tuple[type[Warning], ...]) -> Any:
    """The call with warnings as errors, within its time and memory."""
    with open("/proc/self/statm", encoding="ascii") as file:
        held = int(file.read().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    handler = signal.signal(signal.SIGPROF, _late)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for category in own:
            warnings.simplefilter("ignore", category)
        resource.setrlimit(resource.RLIMIT_AS, (held + BYTES, before[1]))
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        try:
            result = function(**arguments)
            return list(result) if inspect.isgenerator(result) else result
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
            pyplot.close("all")
            signal.signal(signal.SIGPROF, handler)
            resource.setrlimit(resource.RLIMIT_AS, before)


def fault(function: Callable[..., Any], valid: Call, name: str, wrong: Break, own: tuple[type, ...] = ()) -> str | None:
    """What is wrong with the answer to one broken argument, or None."""
    warned = tuple(kind for kind in own if issubclass(kind, Warning))
    arguments = {**valid.arguments, name: wrong.value}
    try:
        result = limited(function, arguments, warned)
    except TooSlow:
        return f"longer than {SECONDS:g} s"
    except (ValueError, TypeError) as error:
        if re.search(rf"(?<![A-Za-z0-9_]){re.escape(name)}(?![A-Za-z0-9_])", str(error)):
            return None
        if isinstance(error, own) and not wrong.refuse:
            return None
        return f"{type(error).__name__} without the name: {str(error)[:160]}"
    except Exception as error:
        if isinstance(error, own) and not wrong.refuse:
            return None
        return f"{type(error).__name__}: {str(error)[:160]}"
    if wrong.refuse:
        return "accepted"
    if not valid.nan and any(np.isnan(array).any() for array in _numbers_in(result)):
        return "NaN"
    if wrong.same is not None:
        expected = limited(function, {**valid.arguments, name: wrong.same}, warned)
        if not _alike(result, expected):
            return "another value than for the same numbers in double precision"
    return None


def faults(
    function: Callable[..., Any], valid: Call, name: str, own: tuple[type, ...] = (), every: int = 1, first: int = 0
) -> list[str]:
    """The faults of one argument, a line each; ``every`` takes one break in so many, from ``first``."""
    parameter = inspect.signature(function).parameters[name]
    limited(function, valid.arguments, tuple(kind for kind in own if issubclass(kind, Warning)))  # valid indeed
    found = []
    for wrong in list(breaks(valid.arguments[name], parameter))[first % every :: every]:
        trouble = fault(function, valid, name, wrong, own)
        if trouble:
            found.append(f"{wrong.label}: {trouble}")
    return found
