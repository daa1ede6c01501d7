"""Drawings that more than one chapter needs: a rate sweep with its minima, a slider figure. Nothing here computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.page.pictures import Picture
from lrtransfer.page.style import (
    ABOVE,
    BAND,
    BEHIND,
    BIG,
    BOLD,
    CAP,
    CYCLE,
    DASHES,
    GUIDE,
    HAIRLINE,
    MARK,
    THIN,
    VERMILION,
    band,
    ordered_colors,
    panels,
)
from lrtransfer.rates import BestLR, MeanCurve, mean_curve

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def sweep_curve(
    ax: Axes, curve: MeanCurve, *, label: str, color: Any, best: tuple[float, float, float] | None = None
) -> None:
    """Draw a curve of ``rates.mean_curve`` with its band, and a minimum.

    Parameters
    ----------
    ax
        the axes, which become logarithmic
    curve
        what is drawn
    label, color
        of the curve
    best
        (low, lr, high) of the best rate: a marker on the curve with a horizontal bar over its spread
    """
    ax.plot(curve.lrs, curve.middle, color=color, label=label)
    ax.set_xscale("log", base=2)
    ax.set_yscale("log")
    if (curve.high > curve.low).any():
        ax.fill_between(curve.lrs, curve.low, curve.high, color=color, alpha=BAND, lw=0)
    if best is not None and curve.lrs.size:
        low, lr, high = best
        height = curve.at(lr)
        ax.plot([low, high], [height, height], color=color, lw=BOLD, solid_capstyle="butt")
        ax.plot(lr, height, "v", color=color, ms=BIG, mec="white", mew=HAIRLINE, zorder=ABOVE)


def rate_sweep(
    ax: Axes,
    lrs: ArrayLike,
    losses: ArrayLike,
    *,
    label: str,
    color: Any,
    best: tuple[float, float, float] | None = None,
) -> None:
    """``sweep_curve`` of ``rates.mean_curve``.

    Parameters
    ----------
    ax
        the axes, which become logarithmic
    lrs
        (rates,), positive
    losses
        (rates, seeds) or (rates,), positive, inf where a run diverged
    label, color, best
        as in ``sweep_curve``
    """
    sweep_curve(ax, mean_curve(lrs, losses), label=label, color=color, best=best)


def rate_sweeps(
    ax: Axes, lrs: Sequence[ArrayLike], losses: Sequence[ArrayLike], best: Sequence[BestLR], names: Sequence[str]
) -> None:
    """``rate_sweep`` of every size, dark to light.

    Parameters
    ----------
    ax
        the axes
    lrs, losses
        one table a size, as in ``rate_sweep``
    best
        the best rates; one on the edge of its sweep is not marked
    names
        of the sizes, for the legend
    """
    for rates, table, optimum, name, color in zip(lrs, losses, best, names, ordered_colors(len(names)), strict=True):
        mark = None if optimum.on_edge else (optimum.low, optimum.lr, optimum.high)
        rate_sweep(ax, rates, table, label=name, color=color, best=mark)


def optima(
    ax: Axes,
    sizes: ArrayLike,
    best: Sequence[BestLR],
    *,
    color: Any,
    marker: str = "o",
    label: str | None = None,
    relative: bool = False,
    join: bool = True,
) -> None:
    """log2 of the best rates against size, with errors over seeds; open where one is on the edge of its sweep.

    Parameters
    ----------
    ax
        the axes
    sizes
        (sizes,)
    best
        the best rate at each
    color, marker, label
        of the points
    relative
        whether to the first of them
    join
        whether a line goes through the points
    """
    height = np.log2([b.lr for b in best]) - (np.log2(best[0].lr) if relative else 0.0)
    line = "-" if join else "none"
    ax.errorbar(
        sizes, height, [b.spread for b in best], color=color, ls=line, elinewidth=THIN, capsize=CAP, label=label
    )
    for x, y, optimum in zip(np.asarray(sizes), height, best, strict=True):
        ax.plot(x, y, marker, color=color, ms=MARK, mfc="white" if optimum.on_edge else color)


def power_guide(ax: Axes, sizes: ArrayLike, first: float, power: float) -> None:
    """A grey line that falls or rises with a power of the sizes.

    Parameters
    ----------
    ax
        the axes
    sizes
        (sizes,), positive
    first
        value at the first of the sizes
    power
        exponent of the size
    """
    x = np.asarray(sizes, dtype=float)
    ax.plot(x, first * (x / x[0]) ** power, color=GUIDE, lw=THIN, zorder=BEHIND)


def family(ax: Axes, x: ArrayLike, curves: ArrayLike, names: Sequence[str] | None = None, **look: Any) -> None:
    """Draw an ordered family of curves, such as depths, dark to light.

    Parameters
    ----------
    ax
        the axes
    x
        (points,)
    curves
        (points, members), one column a member
    names
        of the members, for the legend; none by default
    **look
        of ``Axes.plot``
    """
    columns = np.asarray(curves, dtype=float).T
    words: Sequence[str | None] = names or [None] * len(columns)
    for curve, name, color in zip(columns, words, ordered_colors(len(columns)), strict=True):
        ax.plot(x, curve, color=color, label=name, **look)


FLOOR = 1e-34  # of a loss in double precision: what is drawn below it is rounding


def valleys(ax: Axes, rates: ArrayLike, losses: ArrayLike, names: Sequence[str] | None = None) -> None:
    """``family`` of losses over rates on a logarithmic axis that ends at rounding; diverged runs leave at the top.

    Parameters
    ----------
    ax
        the axes
    rates
        (rates,)
    losses
        (rates, members); drawn from ``FLOOR`` up
    names
        of the members, for the legend; none by default
    """
    family(ax, rates, np.maximum(np.asarray(losses, dtype=float), FLOOR), names, lw=THIN)
    ax.set(yscale="log", ylim=(FLOOR, 30))


def predicted_minima(ax: Axes, rates: ArrayLike) -> None:
    """Dots along the bottom of ``valleys``: where a formula puts the best rate of each member.

    Parameters
    ----------
    ax
        the axes
    rates
        (members,), in the unit of the x axis
    """
    rates = np.asarray(rates, dtype=float)
    ax.plot(rates, np.full(rates.shape, 10 * FLOOR), "o", color=VERMILION, ms=MARK)


def mark_minimum(ax: Axes, x: ArrayLike, y: ArrayLike, *, color: Any) -> None:
    """A triangle at the lowest finite point of a curve.

    Parameters
    ----------
    ax
        the axes
    x, y
        (points,) each
    color
        of the triangle
    """
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    lowest = int(np.argmin(np.where(np.isfinite(y), y, np.inf)))
    ax.plot(x[lowest], y[lowest], "v", color=color, ms=BIG, mec="white", mew=HAIRLINE, zorder=ABOVE, clip_on=False)


def banded(
    ax: Axes, x: ArrayLike, middle: ArrayLike, low: ArrayLike, high: ArrayLike, *, color: Any, **kwargs: Any
) -> None:
    """Draw a curve and the band around it.

    Parameters
    ----------
    ax
        the axes
    x, middle, low, high
        (points,) each: the curve, and the band from ``low`` to ``high``
    color
        of both
    **kwargs
        of the curve, as for ``Axes.plot``
    """
    ax.plot(x, middle, color=color, **kwargs)
    band(ax, x, low, high, color=color)


def draw_picture(picture: Picture) -> Figure:
    """Draw the value of a slider figure with matplotlib; the page's script draws the same value as SVG.

    Parameters
    ----------
    picture
        its panels are drawn beside each other

    Returns
    -------
    matplotlib.figure.Figure
        open still.
    """
    figure, axes = panels(1, len(picture.panels), height=3.0, squeeze=False)
    for ax, panel in zip(axes[0], picture.panels, strict=True):
        for curve, color, dash in zip(panel.curves, CYCLE, DASHES, strict=False):
            style = {"linestyle": "", "marker": "o", "ms": MARK} if curve.points else {"linestyle": dash}
            ax.plot(curve.x, curve.y, color=color, label=curve.label, **style)
        ax.set(xlabel=panel.xlabel, ylabel=panel.ylabel, xlim=panel.xlim, ylim=panel.ylim, title=panel.title)
        ax.set(xscale="log" if panel.xlog else "linear", yscale="log" if panel.ylog else "linear")
        ax.legend(loc="best")
    return figure


def save_svg(figure: Figure) -> str:
    """The figure as an SVG document, closed afterwards.

    Parameters
    ----------
    figure
        of matplotlib

    Returns
    -------
    str
        the document, without a date: the same drawing gives the same text.
    """
    import io

    import matplotlib.pyplot as plt

    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None})
    plt.close(figure)
    return buffer.getvalue()


def labels(prefix: str, values: Sequence[Any]) -> list[str]:
    """``["L = 1", "L = 2"]`` from ``("L", [1, 2])``, with the infinity sign for ``inf``.

    Parameters
    ----------
    prefix
        the symbol
    values
        its numbers

    Returns
    -------
    list of str
        one a number.
    """
    return [f"{prefix} = ∞" if v == np.inf else f"{prefix} = {v:g}" for v in values]
