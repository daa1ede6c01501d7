"""Ticks of logarithmic axes: powers as plain text, and minor ticks only where an axis is short enough to read them.

Matplotlib sets each power as a formula and draws eight minor ticks a decade. Both cost more time than the curves of a
small panel, and over many decades the minor ticks are a grey bar.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from matplotlib.scale import LogScale, register_scale
from matplotlib.ticker import LogFormatterSciNotation, LogLocator

DECADES = 3
"""An axis of a longer span has no minor ticks."""
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


class HouseLogScale(LogScale):
    """The scale "log" with these ticks."""

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
