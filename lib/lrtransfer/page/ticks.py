"""Ticks of logarithmic axes: powers as plain text, and minor ticks only where an axis is short enough to read them.

Matplotlib sets each power as a formula and draws eight minor ticks a decade. Both cost more time than the curves of a
small panel, and over many decades the minor ticks are a grey bar.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from matplotlib.scale import LogScale, register_scale
from matplotlib.ticker import Locator, LogFormatterSciNotation, LogLocator, MaxNLocator

DECADES = 3
"""An axis of a longer span has no minor ticks."""
ROUND = ((1, 2, 5), (1, 1.5, 2, 3, 4, 6))
"""Factors of the powers of ten, from few to many, that make plain numbers for ticks."""
_POWER = re.compile(r"\$\\mathdefault\{(-?)(\d+)\^\{(-?\d+)\}\}\$")
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class PowerFormatter(LogFormatterSciNotation):
    """10⁻³ in place of the formula 10^{-3}; other labels as they were."""

    def __call__(self, x: float, pos: int | None = None) -> str:
        """The label of a tick at x."""
        label: str = super().__call__(x, pos)
        power = _POWER.fullmatch(label)
        return power[1].replace("-", "−") + power[2] + power[3].translate(_RAISED) if power else label


class ShortLocator(LogLocator):
    """Minor ticks of an axis of at most ``DECADES`` decades."""

    def tick_values(self, vmin: float, vmax: float) -> Any:
        """Positions of the ticks of an axis from vmin to vmax."""
        low, high = sorted((vmin, vmax))
        return np.empty(0) if low > 0 and high > low * 10.0**DECADES else super().tick_values(vmin, vmax)


class PlainLocator(Locator):
    """Round numbers on a logarithmic axis: 1, 2, 5 and their tens, closer ones where fewer than three would show."""

    def __call__(self) -> Any:
        """Positions of the ticks of the axis as it is."""
        axis: Any = self.axis
        return self.tick_values(*axis.get_view_interval())

    def tick_values(self, vmin: float, vmax: float) -> Any:
        """Positions of the ticks of an axis from vmin to vmax, positive."""
        low, high = sorted((vmin, vmax))
        if not 0 < low < high:
            return np.empty(0)
        tens = 10.0 ** np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
        for factors in ROUND:
            ticks = np.outer(tens, factors).ravel()
            shown = ticks[(ticks >= low * (1 - 1e-9)) & (ticks <= high * (1 + 1e-9))]
            if len(shown) > 2:
                return shown
        even = np.asarray(MaxNLocator(4, steps=[1, 2, 5, 10]).tick_values(low, high))
        return even[(even >= low) & (even <= high)]


class HouseLogScale(LogScale):
    """The scale "log" with these ticks.

    Parameters
    ----------
    *given, **options
        what matplotlib gives a scale
    """

    name = "log"

    def __init__(self, *given: Any, **options: Any) -> None:
        super().__init__(*given, **options)  # up to matplotlib 3.10 a scale is given its axis

    def set_default_locators_and_formatters(self, axis: Any) -> None:
        """Called by matplotlib when an axis becomes logarithmic."""
        super().set_default_locators_and_formatters(axis)
        axis.set_major_formatter(PowerFormatter(self.base))
        between: Any = self.subs  # "auto" by default, or the factors that were asked for
        axis.set_minor_locator(ShortLocator(self.base, between))


def use_house_ticks() -> None:
    """Give every logarithmic axis drawn from now on the ticks of this module."""
    register_scale(HouseLogScale)
