"""The figures of the page on performance; numbers come from ``readings``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from lrtransfer.page import plots, style
from lrtransfer.performance.readings import Compared, Grown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PANELS = {
    "width": ("width n", "width N", "width h", "dimension d"),
    "depth": ("depth L", "blocks"),
    "steps and stages": ("steps", "stages"),
    "runs": ("runs",),
}


def draw_compared(cases: Mapping[str, Compared], names: Mapping[str, str]) -> Figure:
    """Times over the least time of the core, a line a case: a filled dot for the engine, an open one for the script.

    Parameters
    ----------
    cases
        of ``readings.compared``
    names
        what a reader calls them, from top to bottom

    Returns
    -------
    matplotlib.figure.Figure
    """
    figure, ax = style.panels(1, 1, height=0.3 * len(names) + 0.9)
    for place, name in enumerate(names):
        one = cases[name]
        for times, color, face in ((one.script, style.VERMILION, "white"), (one.engine, style.BLUE, style.BLUE)):
            ax.plot([times.low, times.high], [place, place], color=color, lw=style.LINE)
            ax.plot(times.middle, place, "o", color=color, mfc=face, ms=style.MARK + 1)
        ax.plot([one.engine.middle, one.script.middle], [place, place], color=style.GUIDE, lw=style.HAIRLINE, zorder=0)
    style.guide(ax, x=1.0)
    ax.plot([], [], "o", color=style.BLUE, label="engine")
    ax.plot([], [], "o", color=style.VERMILION, mfc="white", label="plain script")
    ax.set_yticks(range(len(names)), list(names.values()))
    ax.set(xscale="log", xlabel="time over the least time of the core", ylim=(len(names) - 0.5, -0.5))
    style.legend_below(ax, 2)
    return figure


def draw_grown(growths: Sequence[Grown]) -> Figure:
    """Time and memory against sizes, each over its value at the smallest size, with the slope that is expected.

    Parameters
    ----------
    growths
        of ``readings.grown``

    Returns
    -------
    matplotlib.figure.Figure
    """
    figure, axes = style.panels(3, 2, height=2.6)
    panels = [(title, [g for g in growths if g.axis in axis and not g.memory]) for title, axis in PANELS.items()]
    panels.append(("memory", [g for g in growths if g.memory]))
    for ax, (title, members) in zip(axes.ravel(), panels, strict=False):
        for one, color, dash in zip(members, style.CYCLE, style.DASHES, strict=False):
            sizes, values = one.sizes / one.sizes[0], one.values / one.values[0]
            # The slope that is expected ends at the largest size.
            plots.power_guide(ax, sizes[-3:], values[-1] * (sizes[-3] / sizes[-1]) ** one.power, one.power)
            label = f"{one.engine}, {one.axis}" if one.memory or title == "width" else one.engine
            ax.plot(sizes, values, color=color, ls=dash, marker="o", ms=style.DOT, label=label)
        ax.set(xscale="log", yscale="log", title=title, xlabel="size over the smallest")
        ax.set_ylabel("memory" if title == "memory" else "time")
        ax.legend(fontsize=style.TINY, loc="best")
    axes.ravel()[-1].set_axis_off()
    style.panel_letters(axes.ravel()[:-1])
    style.major_ticks(figure)
    return figure
