"""Argument checks shared by all engines.

Every public function refuses bad input with a ``ValueError`` that names the argument, shows the value and says
what is allowed. The checks live here so that the sentences read alike everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lrtransfer.numerics.arrays import Array

MOST = 10**8  # the most that anything is counted to without a bound of its own: beyond it memory or patience ends
MOST_SEED = 2**128 - 1  # the entropy that numpy's generators take in


def refuse(name: str, value: object, allowed: str) -> ValueError:
    """The error for an argument that is not allowed: ``raise refuse("r", r, "a positive number")``."""
    value = value.item() if isinstance(value, np.generic) else value  # 1.0 reads better than np.float64(1.0)
    return ValueError(f"{name} = {value!r} is not allowed: {name} must be {allowed}.")


def _holds_flag(value: object) -> bool:
    """Whether there is a bool in a list or tuple, at any depth: beside numbers numpy takes it for 0 or 1."""
    if isinstance(value, list | tuple):
        return any(_holds_flag(entry) for entry in value)
    return isinstance(value, bool | np.bool_) or (isinstance(value, np.ndarray) and value.dtype.kind == "b")


def _as_float(name: str, value: ArrayLike, allowed: str) -> Array:
    try:
        if np.ma.is_masked(value):  # numpy would take what lies under the mask
            raise TypeError
        array = np.asarray(value)
        # bools, strings, objects and complex numbers are all mistakes here
        if array.dtype.kind not in "iuf" or _holds_flag(value):
            raise TypeError
        return array.astype(np.float64)
    except (TypeError, ValueError):
        raise refuse(name, value, allowed) from None


def _first(value: ArrayLike, bad: NDArray[np.bool_]) -> object:
    """The first offending entry as it was given, so that an error about a large array stays short."""
    given = np.asarray(value)
    return given[bad].flat[0].item() if given.ndim else given.item()


def positive(name: str, value: ArrayLike, *, infinite: bool = False) -> Array:
    """A positive, finite number or array (``infinite=True`` admits ``math.inf``)."""
    allowed = "a positive number" + (" or math.inf" if infinite else ", and finite")
    array = _as_float(name, value, allowed)
    bad = ~(array > 0) if infinite else ~((array > 0) & np.isfinite(array))
    if bad.any():
        raise refuse(name, _first(value, bad), allowed)
    return array


def finite(name: str, value: ArrayLike, *, minimum: float | None = None) -> Array:
    """A finite number or array, optionally not below ``minimum``."""
    allowed = "a finite number" + ("" if minimum is None else f", at least {minimum:g}")
    array = _as_float(name, value, allowed)
    bad = ~np.isfinite(array)
    if minimum is not None:
        bad |= array < minimum
    if bad.any():
        raise refuse(name, _first(value, bad), allowed)
    return array


def number(name: str, value: ArrayLike) -> Array:
    """A number or array, infinite where a run has diverged, but not NaN."""
    array = _as_float(name, value, "a number, not NaN")
    bad = np.isnan(array)
    if bad.any():
        raise refuse(name, _first(value, bad), "a number, not NaN")
    return array


def integer(
    name: str, value: ArrayLike, *, minimum: int = 1, maximum: float = math.inf, infinite: bool = False
) -> Array:
    """Whole numbers from ``minimum`` to ``maximum``, as floats (``infinite=True`` admits ``math.inf``)."""
    allowed = f"a whole number, at least {minimum}" + ("" if maximum == math.inf else f" and at most {maximum:,.0f}")
    allowed += ", or math.inf" if infinite else ""
    array = _as_float(name, value, allowed)
    whole = np.isfinite(array) & (array == np.floor(array)) & (array >= minimum) & (array <= maximum)
    bad = ~(whole | (infinite & (array == np.inf)))
    if bad.any():
        raise refuse(name, _first(value, bad), allowed)
    return array


def count(name: str, value: object, *, minimum: int = 0, maximum: int = MOST) -> int:
    """One whole number not below ``minimum`` nor above ``maximum``, as an ``int``, before anything takes memory."""
    limits = f"at least {minimum}" + ("" if maximum == MOST else f" and at most {maximum}")
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        whole = int(value)  # not by way of a float, which would round beyond 2^53
    else:
        array = integer(name, value, minimum=minimum)  # type: ignore[arg-type]
        if array.ndim:
            raise refuse(name, value, f"one whole number, {limits}")
        whole = int(np.asarray(value).item())
    if whole > maximum:
        raise refuse(name, value, f"a whole number, at least {minimum} and at most {maximum}")
    if whole < minimum:
        raise refuse(name, value, f"a whole number, {limits}")
    return whole


def seed(name: str, value: object) -> int:
    """The seed of a stream of random numbers."""
    return count(name, value, maximum=MOST_SEED)


def flag(name: str, value: object) -> bool:
    """True or False, and nothing that only passes for one."""
    if not isinstance(value, bool | np.bool_):
        raise refuse(name, value, "True or False")
    return bool(value)


def kind(name: str, value: object, kinds: type | tuple[type, ...], allowed: str) -> None:
    """An object of one of these classes."""
    if not isinstance(value, kinds):
        raise refuse(name, value, allowed)


def entries(name: str, value: object, allowed: str) -> list[object]:
    """The entries of a list, tuple, range or array with one axis, one at least; no text and no mapping."""
    listed = isinstance(value, list | tuple | range) or (isinstance(value, np.ndarray) and value.ndim == 1)
    if not listed or np.ma.is_masked(value) or len(value) == 0:  # type: ignore[arg-type]
        raise refuse(name, value, allowed)
    return list(value)  # type: ignore[call-overload]


def seeds(name: str, value: object) -> list[int]:
    """A list of seeds, one at least."""
    return [seed(name, entry) for entry in entries(name, value, "a list of whole numbers, at least 0, one or more")]


def within(name: str, array: Array, most: float) -> Array:
    """Numbers that have passed a check and whose size is at most ``most``: beyond it their powers are infinite."""
    if array.size and np.abs(array).max() > most:
        raise refuse(name, float(np.abs(array).max()), f"at most {most:g} in size")
    return array


def function(name: str, value: object, allowed: str) -> None:
    """Something that can be called; ``allowed`` says what it must do."""
    if not callable(value):
        raise refuse(name, value, allowed)


def methods(name: str, value: object, needed: Sequence[str], allowed: str) -> None:
    """None or an object, not a class, that has these methods."""
    if value is not None and (isinstance(value, type) or not all(callable(getattr(value, m, None)) for m in needed)):
        raise refuse(name, value, allowed)


def one(name: str, value: Array) -> float:
    """The number in an array that another check has passed: ``one("r", positive("r", r))``."""
    if value.ndim:
        raise ValueError(f"{name} of shape {value.shape} is not allowed: {name} must be one number.")
    return float(value)


def broadcast(**arrays: ArrayLike) -> tuple[int, ...]:
    """The common shape of numbers and arrays that have passed their checks, given by the names of the arguments."""
    try:
        return np.broadcast(*arrays.values()).shape
    except ValueError:
        shapes = ", ".join(f"{name} of shape {np.shape(array)}" for name, array in arrays.items() if np.ndim(array))
        raise ValueError(
            f"{shapes} do not broadcast: along each axis, counted from the last, the lengths must be equal or 1."
        ) from None


def choice(name: str, value: object, options: Sequence[str]) -> str:
    """One of a few words."""
    if not isinstance(value, str) or value not in options:
        raise refuse(name, value, "one of " + ", ".join(repr(option) for option in options))
    return value
