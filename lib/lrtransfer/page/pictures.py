"""What a slider figure shows, as plain values: the contract between an engine, matplotlib and the page's script.

A model is a function from slider values to a ``Picture``. It exists twice, in Python (beside its engine) and in the
page's script, and a test holds the two together; everything else about a slider figure is written once.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from lrtransfer.numerics.arguments import refuse

RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def fixed(value: float, decimals: int) -> str:
    """A number with so many decimals, ties away from zero: what ``toFixed`` gives in the page's script.

    Parameters
    ----------
    value
        finite
    decimals
        digits after the point

    Returns
    -------
    str
        the number as text.
    """
    return f"{Decimal(value).quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP):f}"


def significant(value: float, digits: int) -> str:
    """A number with so many significant digits: ``toPrecision`` of the page's script.

    Parameters
    ----------
    value
        finite, 1e-6 <= |value| < 10**digits
    digits
        how many, 1 or more

    Returns
    -------
    str
        the number as text.
    """
    exact = Decimal(value)
    return f"{exact.quantize(Decimal(1).scaleb(exact.adjusted() - digits + 1), ROUND_HALF_UP):f}"


def scientific(value: float) -> str:
    """A positive number as 3.6 × 10⁻⁷, with one decimal, ties away from zero; the page's script has the same.

    Parameters
    ----------
    value
        positive and finite

    Returns
    -------
    str
        the number as text.
    """
    exact = Decimal(value)
    power = exact.adjusted()
    digits = fixed(float(exact.scaleb(-power)), 1)
    if digits == "10.0":
        digits, power = "1.0", power + 1
    return f"{digits} × 10{str(power).translate(RAISED)}"


@dataclass(frozen=True)
class Curve:
    """A line, or a set of dots.

    Attributes
    ----------
    label
        its name in the legend
    x, y
        of equal length
    points
        whether dots are drawn in place of a line
    """

    label: str
    x: Sequence[float]
    y: Sequence[float]
    points: bool = False


@dataclass(frozen=True)
class Panel:
    """One set of axes.

    Attributes
    ----------
    title, xlabel, ylabel
        words on it
    xlim, ylim
        limits, fixed, so that curves move and not axes
    curves
        what it shows
    xlog, ylog
        whether a scale is logarithmic
    """

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
    """All panels for one setting of the sliders.

    Attributes
    ----------
    panels
        from left to right
    summary
        one sentence that says what they show
    """

    panels: tuple[Panel, ...]
    summary: str

    def as_dict(self) -> dict[str, Any]:
        """Plain values, as the page's script returns them."""
        return asdict(self)


@dataclass(frozen=True)
class Slider:
    """One control.

    Attributes
    ----------
    name
        the argument of the model's function that it sets
    label
        what the reader sees
    values
        the settings it steps through
    start
        index of the first one shown

    Raises
    ------
    ValueError
        where ``start`` is no index into ``values``.
    """

    name: str
    label: str
    values: tuple[float, ...]
    start: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.start < len(self.values):
            raise refuse("start", self.start, f"an index into the {len(self.values)} values of slider {self.name!r}")


@dataclass(frozen=True)
class Try:
    """A button that sets controls: something worth seeing.

    Attributes
    ----------
    words
        on the button: what there is to see
    values
        of controls, by name; the others go to their start
    """

    words: str
    values: dict[str, float]


@dataclass(frozen=True)
class Model:
    """A slider figure.

    Attributes
    ----------
    name
        ``room.figure``, the same in the page's script
    sliders
        its controls
    picture
        from the sliders' values, by name, to what is shown
    tries
        buttons

    Raises
    ------
    ValueError
        where a button sets a control that does not exist, or to a value that it does not have.
    """

    name: str
    sliders: tuple[Slider, ...]
    picture: Callable[..., Picture]
    tries: tuple[Try, ...] = ()

    def __post_init__(self) -> None:
        known = {s.name: s.values for s in self.sliders}
        for one in self.tries:
            for name, value in one.values.items():
                if value not in known.get(name, ()):
                    raise refuse("tries", {name: value}, f"a control of {self.name!r} and one of its values")

    def start(self) -> dict[str, float]:
        """Every slider's first setting, by name."""
        return {s.name: s.values[s.start] for s in self.sliders}

    def at_start(self) -> Picture:
        """The picture at every slider's first setting."""
        return self.picture(**self.start())

    def longest_sentence(self) -> str:
        """The longest sentence of the start, the sliders' ends and the buttons: room for any."""
        ends = itertools.product(*({s.values[0], s.values[-1]} for s in self.sliders))
        settings = [dict(zip(self.start(), values, strict=True)) for values in ends]
        settings += [self.start() | one.values for one in self.tries] + [self.start()]
        return max((self.picture(**values).summary for values in settings), key=len)
