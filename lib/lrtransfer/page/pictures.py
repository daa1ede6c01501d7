"""What a slider figure shows, as plain values: the contract between an engine, matplotlib and the page's script.

A model is a function from slider values to a ``Picture``. It exists twice, in Python (beside its engine) and in the
page's script, and a test holds the two together; everything else about a slider figure is written once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from lrtransfer.numerics.arguments import refuse


def fixed(value: float, decimals: int) -> str:
    """``value`` with so many decimals, ties away from zero: what ``toFixed`` gives in the page's script."""
    return f"{Decimal(value).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP):f}"


def significant(value: float, digits: int) -> str:
    """``value`` with so many significant digits: ``toPrecision`` for 1e-6 <= |value| < 10**digits."""
    exact = Decimal(value)
    return f"{exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), ROUND_HALF_UP):f}"


@dataclass(frozen=True)
class Curve:
    """A line (or, with ``points``, a set of dots): x and y of equal length, and its name in the legend."""

    label: str
    x: Sequence[float]
    y: Sequence[float]
    points: bool = False


@dataclass(frozen=True)
class Panel:
    """One set of axes: its curves, labels, fixed limits (so that curves move, not axes) and scales."""

    title: str
    xlabel: str
    ylabel: str
    xlim: tuple[float, float]
    ylim: tuple[float, float]
    curves: tuple[Curve, ...]
    xlog: bool = False
    ylog: bool = False


@dataclass(frozen=True)
class Picture:
    """All panels for one setting of the sliders, and one sentence that says what they show."""

    panels: tuple[Panel, ...]
    summary: str

    def as_dict(self) -> dict[str, Any]:
        """Plain values, as the page's script returns them."""
        return asdict(self)


@dataclass(frozen=True)
class Slider:
    """One control: ``values`` are the settings it steps through, ``start`` the index of the first one shown."""

    name: str
    label: str
    values: tuple[float, ...]
    start: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.start < len(self.values):
            raise refuse("start", self.start, f"an index into the {len(self.values)} values of slider {self.name!r}")


@dataclass(frozen=True)
class Model:
    """A slider figure: its name (``room.figure``, the same in the page's script), its controls, its function."""

    name: str
    sliders: tuple[Slider, ...]
    picture: Callable[..., Picture]

    def at_start(self) -> Picture:
        """The picture at every slider's first setting."""
        return self.picture(**{s.name: s.values[s.start] for s in self.sliders})
