"""Drawings of what the practice room measures. Nothing here computes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from lrtransfer.page.style import BLUE, DASHES, GUIDE, MARK, ORANGE, SMALL, THIN, VERMILION, panels, size_ticks
from lrtransfer.practice.check import GROWS, LEVEL, SHRINKS, CoordinateCheck

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_COLOURS = {LEVEL: GUIDE, GROWS: VERMILION, SHRINKS: BLUE}


def draw_check(check: CoordinateCheck, most: int = 10) -> Figure:
    """The change of every place against the size, geometric mean over seeds: level ones grey, the others named.

    Parameters
    ----------
    check
        From ``coordinate_check``.
    most
        How many places that are not level to name in the legend, the steepest first.

    Returns
    -------
    Figure
        One axes; places that did not move or that overflowed have no curve and stand in the legend.
    """
    figure, ax = panels(1, 1, height=3.4)
    named: list[tuple[float, Any, str]] = []
    for k, (place, verdict) in enumerate(zip(check.places, check.verdicts, strict=True)):
        curve = check.changes[:, k]
        drawn = bool(np.isfinite(curve).all() and (curve > 0).all())
        values = np.exp(np.log(curve).mean(axis=1)) if drawn else np.full(len(check.sizes), np.nan)
        color = _COLOURS.get(verdict, ORANGE)
        dash = DASHES[len(named) % len(DASHES)] if verdict != LEVEL else "-"
        (line,) = ax.plot(check.sizes, values, marker="o", ms=MARK, lw=THIN, ls=dash, color=color)
        if verdict != LEVEL:
            number = f" {check.exponents[k]:+.2f}" if drawn else ""
            named.append((abs(float(check.exponents[k])), line, f"{place}: {verdict}{number}"))
        else:
            line.set_label("_level")
    named.sort(key=lambda entry: -entry[0])
    ax.set(xlabel=check.axis, ylabel="change by the training")
    ax.set_yscale("log")
    size_ticks(ax, check.sizes)
    level = sum(verdict == LEVEL for verdict in check.verdicts)
    ax.set_title(f"{level} of {len(check.places)} places level")
    if named:
        ax.legend([line for _, line, _ in named[:most]], [text for *_, text in named[:most]], fontsize=SMALL)
    return figure
