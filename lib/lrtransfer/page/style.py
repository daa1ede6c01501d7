"""The house style of figures: colours, greys, line widths, marks, sizes and legends, each by a name.

Every colour of a line is 3:1 on white, and on the grey of recorded axes; the hues are those of Okabe and Ito, and the
colours are 16 apart or more (CIELAB) for the colour-blind too. Ordered families (depths, widths) use the dark half of
viridis, which also reads in grey print. Backgrounds are transparent and ink is dark: the site gives each colour its
twin on dark ground. A page writes ``lw=style.THIN`` and not a number, so that one edit here changes every figure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GREEN, VERMILION = "#0b5cc4", "#c37900", "#14704f", "#b5370f"
PURPLE, SKY, BLACK = "#8b2c7a", "#1a91c9", "#222222"
CYCLE = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK)
DASHES = ("-", "--", "-.", ":", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))

FAMILY, LIGHTEST = "viridis", 0.53
"""The map of ordered families, and how far into it they go."""

GUIDE, NOTE = "0.5", "0.35"
"""Greys: of lines that guide the eye (4:1 on white), and of words or curves that stand back (7:1)."""

HAIRLINE, THIN, LINE, BOLD = 0.7, 1.0, 1.6, 2.4
"""Line widths in points: guides, curves of a crowded panel, the usual curve, the one to look at."""

DOT, MARK, BIG = 3.0, 4.5, 7.0
"""Sizes of marks in points: many of them, measured points, a minimum or another place to look at."""

CAP = 2.0
"""Half the width of the bar that ends an error bar, in points."""

BAND, SHADE, FILL = 0.25, 0.12, 0.55
"""Opacity of a seed band, of a region that is marked off, and of one that is what the figure shows."""

FAINT = 0.6
"""Opacity of a cloud of dots."""

TITLE, SMALL, TINY = 9.5, 8.5, 7.5
"""Font sizes of titles and of legends in crowded panels, and of notes inside a panel."""

BEHIND, ABOVE = 0, 5
"""Drawing order of guides and of marks, below and above the curves."""


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
            "lines.linewidth": LINE,
            "image.cmap": "cividis",
            "svg.hashsalt": "lrtransfer",  # the same drawing gives the same file
        }
    )


def ordered_colors(n: int) -> list[Any]:
    """Colours from dark to light for an ordered family; the lightest is still 3:1 on white.

    Parameters
    ----------
    n
        how many

    Returns
    -------
    list
        n colours, (4,) each: red, green, blue, opacity.
    """
    import matplotlib as mpl

    return list(mpl.colormaps[FAMILY](np.linspace(0.0, LIGHTEST, n)))


def panels(rows: int, columns: int, *, height: float = 2.7, **kwargs: Any) -> tuple[Figure, Any]:
    """A figure of ``rows`` x ``columns`` axes at the page's width, 7.2 inches.

    Parameters
    ----------
    rows, columns
        how many panels below and beside each other
    height
        of a row, in inches
    **kwargs
        of ``matplotlib.pyplot.subplots``

    Returns
    -------
    figure, axes
        as ``matplotlib.pyplot.subplots`` gives them.
    """
    import matplotlib.pyplot as plt

    return plt.subplots(rows, columns, figsize=(7.2, height * rows), **kwargs)


def panel_letters(axes: Any) -> None:
    """Put A, B, C ... at the upper left of each axes, in reading order.

    Parameters
    ----------
    axes
        an array of axes of any shape, or one
    """
    for letter, ax in zip("ABCDEFGHIJKLMNOP", np.ravel(axes), strict=False):
        ax.text(-0.02, 1.04, letter, transform=ax.transAxes, ha="right", va="bottom", fontweight="bold")


def major_ticks(figure: Figure) -> None:
    """Drop the minor ticks of all axes, also of short logarithmic ones: in small panels they are clutter.

    Parameters
    ----------
    figure
        whose axes are changed
    """
    for ax in figure.axes:
        ax.minorticks_off()


def size_ticks(ax: Axes, sizes: ArrayLike) -> None:
    """Put the ticks of a logarithmic x axis at the sizes that were measured, such as depths or widths.

    Parameters
    ----------
    ax
        the axes, whose x axis becomes logarithmic
    sizes
        (sizes,), positive
    """
    ax.set_xscale("log")
    ax.set_xticks(np.asarray(sizes), [f"{size:g}" for size in np.asarray(sizes)])
    ax.minorticks_off()


def plain_ticks(ax: Axes) -> None:
    """Plain numbers on a logarithmic y axis: 1, 2, 5 and their tens, and more where the axis is short.

    Parameters
    ----------
    ax
        the axes, its y axis logarithmic already
    """
    from matplotlib.ticker import NullLocator

    from lrtransfer.page.ticks import PlainLocator

    ax.yaxis.set_major_locator(PlainLocator())
    ax.yaxis.set_major_formatter("{x:g}")
    ax.yaxis.set_minor_locator(NullLocator())


def legend_beside(figure: Figure, ax: Axes, **kwargs: Any) -> None:
    """One legend for all panels, to the right of them.

    Parameters
    ----------
    figure
        where it stands
    ax
        the axes whose labels it shows
    **kwargs
        of ``Figure.legend``
    """
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right center", **kwargs)


def legend_under(figure: Figure, ax: Axes, columns: int | None = None, **kwargs: Any) -> None:
    """One legend for all panels, below them.

    Parameters
    ----------
    figure
        where it stands
    ax
        the axes whose labels it shows
    columns
        for a row that is too long for the page; all in one row by default
    **kwargs
        of ``Figure.legend``
    """
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=columns or len(labels), **kwargs)


def legend_below(ax: Axes, columns: int, **kwargs: Any) -> None:
    """A legend under an axes, clear of its data and labels.

    Parameters
    ----------
    ax
        the axes
    columns
        of the legend
    **kwargs
        of ``Axes.legend``
    """
    ax.legend(
        loc="upper center", bbox_to_anchor=(0.5, -0.22), ncols=columns, fontsize=SMALL, handlelength=1.4, **kwargs
    )


def guide(ax: Axes, *, x: float | None = None, y: float | None = None, **kwargs: Any) -> None:
    """A thin grey line across an axes, behind the curves: a reference, not a result.

    Parameters
    ----------
    ax
        the axes
    x, y
        where it stands upright, and where it lies; either or both
    **kwargs
        of ``Axes.axvline`` and ``Axes.axhline``, in place of the house's look
    """
    look: dict[str, Any] = {"color": GUIDE, "lw": HAIRLINE, "zorder": BEHIND, "ls": "--"} | kwargs
    if x is not None:
        ax.axvline(x, **look)
    if y is not None:
        ax.axhline(y, **look)


def measured(ax: Axes, x: ArrayLike, y: ArrayLike, error: ArrayLike | None = None, **kwargs: Any) -> None:
    """Points that were measured, with their error bars.

    Parameters
    ----------
    ax
        the axes
    x, y
        (points,) each
    error
        (points,), half the length of each bar in the unit of y; no bars by default
    **kwargs
        of ``Axes.errorbar``, in place of the house's look
    """
    look: dict[str, Any] = {"fmt": "o", "ms": MARK, "lw": THIN, "capsize": CAP} | kwargs
    ax.errorbar(x, y, yerr=error, **look)


def band(ax: Axes, x: ArrayLike, low: ArrayLike, high: ArrayLike, *, color: Any, **kwargs: Any) -> None:
    """The band between two curves, such as a mean less and plus its error over seeds.

    Parameters
    ----------
    ax
        the axes
    x, low, high
        (points,) each
    color
        of the band
    **kwargs
        of ``Axes.fill_between``, in place of the house's look
    """
    ax.fill_between(x, low, high, **({"color": color, "alpha": BAND, "lw": 0} | kwargs))


def recorded_ground(ax: Axes) -> None:
    """A grey ground and the word 'recorded': what the axes show was read from results/, not trained by the page.

    Parameters
    ----------
    ax
        the axes
    """
    ax.set_facecolor((0.5, 0.5, 0.5, SHADE))
    ax.text(0.98, 0.97, "recorded", transform=ax.transAxes, ha="right", va="top", fontsize=TINY, color=NOTE)
