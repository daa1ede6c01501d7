"""What the record ``performance`` says: ratios of times of one moment with their spread, and fitted exponents."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.fits import power_law
from lrtransfer.performance.recorded import Sizes, recipe
from lrtransfer.sweeps.recorder import recorded

FITTED = 3  # sizes, the largest ones: an exponent is a statement about large sizes


@dataclass(frozen=True)
class Ratio:
    """A ratio of two times over some repeats: the median, the least and the most."""

    middle: float
    low: float
    high: float

    def __str__(self) -> str:
        """To two digits, such as "12 (11 to 14)"; the spread is left out where it does not show."""
        middle, low, high = (digits(value) for value in (self.middle, self.low, self.high))
        return middle if low == high else f"{middle} ({low} to {high})"


@dataclass(frozen=True)
class Compared:
    """An engine beside its script and beside the least time of the core.

    Attributes
    ----------
    name, scaled
        of the case, and how the time of the script was scaled
    faster
        time of the script over that of the engine
    engine, script
        their times over the least time that the engine's own method allows
    calls
        of the engine's time, the share that its calls take on arrays of one entry or a few; None where not measured
    difference
        of their numbers, relative to the largest; None where they draw other networks of the same law
    """

    name: str
    scaled: str
    faster: Ratio
    engine: Ratio
    script: Ratio
    calls: Ratio | None
    difference: float | None


@dataclass(frozen=True)
class Grown:
    """How time or memory grows with a size.

    Attributes
    ----------
    engine, axis, why
        words: which engine, against what, and where the expected exponent is from
    memory
        whether bytes are meant, and not seconds
    sizes, values
        (sizes,) each: the least of the repeats
    power, fitted, error
        exponents: expected, fitted to the three largest sizes, and the error of the fit
    """

    engine: str
    axis: str
    why: str
    memory: bool
    sizes: Array
    values: Array
    power: float
    fitted: float
    error: float


def digits(value: float) -> str:
    """A positive number to two significant digits: 0.97, 4.2, 310, 1.3e+08."""
    return f"{value:.1e}" if value >= 1e5 or value < 1e-3 else f"{float(f'{value:.2g}'):g}"


def read(sizes: Sizes | None = None, *, folder: str | Path | None = None) -> dict[str, Any] | None:
    """The record as ``sweeps.recorder.recorded`` gives it; None where only the package is installed."""
    return recorded(recipe(Sizes() if sizes is None else sizes), folder=folder)


def ratio(above: ArrayLike, below: ArrayLike, times: float = 1.0) -> Ratio:
    """A ratio repeat by repeat."""
    each = times * np.asarray(above, dtype=float) / np.asarray(below, dtype=float)
    return Ratio(float(np.median(each)), float(each.min()), float(each.max()))


def compared(entry: dict[str, Any]) -> dict[str, Compared]:
    """The cases of a record by the names of its parts."""
    found = {}
    for name, case in entry["numbers"]["cases"].items():
        engine, script, limit, calls = (case[key] for key in ("engine", "script", "limit", "calls"))
        found[name] = Compared(
            case["name"],
            case["scaled"],
            ratio(script, engine, case["times"]),
            ratio(engine, limit),
            ratio(script, limit, case["times"]),
            ratio(calls, engine) if calls else None,
            case["difference"] if case["difference"] >= 0 else None,
        )
    return found


def grown(entry: dict[str, Any]) -> list[Grown]:
    """The growths of a record, in its order."""
    found = []
    for one in entry["numbers"]["growth"]:
        sizes, values = np.array(one["sizes"], dtype=float), np.min(one["values"], axis=1)
        fit = power_law(sizes[-FITTED:], values[-FITTED:])
        words = one["engine"], one["axis"], one["why"], one["memory"]
        found.append(Grown(*words, sizes, values, one["power"], float(fit.slope), float(fit.error)))
    return found


def places(entry: dict[str, Any]) -> dict[str, Ratio]:
    """Throughput of a sweep in every place over that in the calling process."""
    seconds = entry["numbers"]["throughput"]["seconds"]
    return {name: ratio(seconds["here"], each) for name, each in seconds.items()}


def speeds(entry: dict[str, Any]) -> dict[str, tuple[float, float]]:
    """Least and largest of each speed of the core over the parts of a record, in units a second."""
    each = [case["speeds"] for case in entry["numbers"]["cases"].values()]
    return {name: (min(s[name] for s in each), max(s[name] for s in each)) for name in each[0]}
