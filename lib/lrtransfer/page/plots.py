"""The house style of figures, and the drawings that more than one chapter needs. Nothing here computes.

Colours are those of Okabe and Ito (told apart under colour blindness); ordered families (depths, widths) use the
cividis map, which also reads in grey print. Backgrounds are transparent and ink is dark: the site turns the ink light
in dark mode.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.page.pictures import Picture
from lrtransfer.rates import BestLR, MeanCurve, mean_curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, VERMILION, PURPLE, SKY, BLACK = (
    "#0072B2",
    "#E69F00",
    "#009E73",
    "#D55E00",
    "#CC79A7",
    "#56B4E9",
    "#222222",
)
CYCLE = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK)
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))


def use_house_style() -> None:
    """Set the look of every figure of a notebook: vector output, sizes, colours, transparent background."""
    import matplotlib as mpl
    from cycler import cycler
    from matplotlib_inline.backend_inline import set_matplotlib_formats

    from lrtransfer.page.ticks import use_house_ticks

    # The layout fills the figure, so the inline default need not crop it; the transparent face lets a page through.
    set_matplotlib_formats("svg", facecolor="none", edgecolor="none", metadata={"Date": None}, bbox_inches=None)
    use_house_ticks()
    mpl.rcParams.update(
        {
            "figure.figsize": (7.2, 3.2),
            "figure.constrained_layout.use": True,
            "figure.facecolor": "none",
            "axes.facecolor": "none",
            "savefig.facecolor": "none",
            "font.size": 10.5,
            "axes.titlesize": 10.5,
            "axes.labelsize": 10.5,
            "legend.fontsize": 9,
            "legend.frameon": False,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.prop_cycle": cycler(color=CYCLE),
            "lines.linewidth": 1.6,
            "image.cmap": "cividis",
            "svg.hashsalt": "lrtransfer",  # the same drawing gives the same file
        }
    )


def ordered_colors(n: int) -> list[Any]:
    """``n`` colours from dark to light for an ordered family; the lightest is still legible on white."""
    import matplotlib as mpl

    return list(mpl.colormaps["cividis"](np.linspace(0.0, 0.82, n)))


def panels(rows: int, columns: int, *, height: float = 2.7, **kwargs: Any) -> tuple[Figure, Any]:
    """A figure of ``rows`` x ``columns`` axes at the page's width; ``height`` of a row in inches."""
    import matplotlib.pyplot as plt

    return plt.subplots(rows, columns, figsize=(7.2, height * rows), **kwargs)


def major_ticks(figure: Figure) -> None:
    """Drop the minor ticks of all axes, also of short logarithmic ones: in small panels they are clutter."""
    for ax in figure.axes:
        ax.minorticks_off()


def panel_letters(axes: Any) -> None:
    """Put A, B, C ... at the upper left of each axes, in reading order."""
    for letter, ax in zip("ABCDEFGHIJKLMNOP", np.ravel(axes), strict=False):
        ax.text(-0.02, 1.04, letter, transform=ax.transAxes, ha="right", va="bottom", fontweight="bold")


def sweep_curve(
    ax: Axes, curve: MeanCurve, *, label: str, color: Any, best: tuple[float, float, float] | None = None
) -> None:
    """Draw a curve of ``rates.mean_curve`` with its band, and a minimum.

    best   (low, lr, high) of the best rate: a marker on the curve with a horizontal bar over its spread
    """
    ax.plot(curve.lrs, curve.middle, color=color, label=label)
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    if (curve.high > curve.low).any():
        ax.fill_between(curve.lrs, curve.low, curve.high, color=color, alpha=0.25, lw=0)
    if best is not None and curve.lrs.size:
        low, lr, high = best
        height = curve.at(lr)
        ax.plot([low, high], [height, height], color=color, lw=3, alpha=0.8, solid_capstyle="butt")
        ax.plot(lr, height, "v", color=color, ms=7, mec="white", mew=0.8, zorder=5)


def rate_sweep(
    ax: Axes,
    lrs: ArrayLike,
    losses: ArrayLike,
    *,
    label: str,
    color: Any,
    best: tuple[float, float, float] | None = None,
) -> None:
    """``sweep_curve`` of ``rates.mean_curve``: ``lrs`` (rates,), ``losses`` (rates, seeds) or (rates,)."""
    sweep_curve(ax, mean_curve(lrs, losses), label=label, color=color, best=best)


def rate_sweeps(
    ax: Axes, lrs: Sequence[ArrayLike], losses: Sequence[ArrayLike], best: Sequence[BestLR], names: Sequence[str]
) -> None:
    """``rate_sweep`` of every size, dark to light; a best rate on the edge of its sweep is not marked."""
    for rates, table, optimum, name, color in zip(lrs, losses, best, names, ordered_colors(len(names)), strict=True):
        mark = None if optimum.on_edge else (optimum.low, optimum.lr, optimum.high)
        rate_sweep(ax, rates, table, label=name, color=color, best=mark)


def mark_minimum(ax: Axes, x: ArrayLike, y: ArrayLike, *, color: Any) -> None:
    """A triangle at the lowest finite point of a curve."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    lowest = int(np.argmin(np.where(np.isfinite(y), y, np.inf)))
    ax.plot(x[lowest], y[lowest], "v", color=color, ms=6, mec="white", mew=0.8, zorder=5, clip_on=False)


def size_ticks(ax: Axes, sizes: ArrayLike) -> None:
    """Put the ticks of a logarithmic x axis at the sizes that were measured, such as depths or widths."""
    ax.set_xscale("log")
    ax.set_xticks(np.asarray(sizes), [f"{size:g}" for size in np.asarray(sizes)])
    ax.minorticks_off()


def plain_ticks(ax: Axes) -> None:
    """Plain numbers on a logarithmic y axis: 1, 2, 5 and their tens, and more where the axis is short."""
    from matplotlib.ticker import NullLocator

    from lrtransfer.page.ticks import PlainLocator

    ax.yaxis.set_major_locator(PlainLocator())
    ax.yaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_minor_locator(NullLocator())


def legend_beside(figure: Figure, ax: Axes, **kwargs: Any) -> None:
    """One legend for all panels, to the right of them."""
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", **kwargs)


def legend_under(figure: Figure, ax: Axes, columns: int | None = None, **kwargs: Any) -> None:
    """One legend for all panels, below them, in a row; in ``columns`` columns where a row is too long for the page."""
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns or len(labels), **kwargs)


def legend_below(ax: Axes, columns: int, **kwargs: Any) -> None:
    """A legend under an axes, in ``columns`` columns, clear of its data and labels."""
    ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22), ncols=columns, fontsize=8, handlelength=1.4, **kwargs)


def draw_picture(picture: Picture) -> Figure:
    """Draw the value of a slider figure with matplotlib; the page's script draws the same value as SVG."""
    figure, axes = panels(1, len(picture.panels), height=3.0, squeeze=False)
    for ax, panel in zip(axes[0], picture.panels, strict=True):
        for curve, color, dash in zip(panel.curves, CYCLE, DASHES, strict=False):
            style = {"linestyle": "", "marker": "o", "ms": 4} if curve.points else {"linestyle": dash}
            ax.plot(curve.x, curve.y, color=color, label=curve.label, **style)
        ax.set(xlabel=panel.xlabel, ylabel=panel.ylabel, xlim=panel.xlim, ylim=panel.ylim, title=panel.title)
        ax.set(xscale="log" if panel.xlog else "linear", yscale="log" if panel.ylog else "linear")
        ax.legend(loc="best")
    return figure


def save_svg(figure: Figure) -> str:
    """The figure as an SVG document, closed afterwards."""
    import io

    import matplotlib.pyplot as plt

    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    plt.close(figure)
    return buffer.getvalue()


def labels(prefix: str, values: Sequence[Any]) -> list[str]:
    """``["L = 1", "L = 2"]`` from ``("L", [1, 2])``, with the infinity sign for ``inf``."""
    return [f"{prefix} = ∞" if v == np.inf else f"{prefix} = {v:g}" for v in values]
