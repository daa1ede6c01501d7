"""A map drawn as lanes, one under the other: what goes from small to large, by which rule, for which reason.

The figure is narrow and tall, so that a phone shows its letters at their size. It draws what it is given and knows no
chapter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lrtransfer.numerics.arguments import refuse
from lrtransfer.page import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Bars = tuple[tuple[float, float, float, float], ...]
WIDTH, HEIGHT = 4.8, 1.42  # inches: of the figure, and of a lane


@dataclass(frozen=True)
class Lane:
    """One lane of the map.

    Attributes
    ----------
    title
        what grows, a few words
    mechanism
        why the rate goes with it, a few words at the right
    rule
        what the rate does, above the arrow; mathematics between dollar signs
    assumes
        under the arrow, one line or two
    small, large
        the two pictures: rectangles (x, y, width, height) in the unit square
    color
        of the arrow and the pictures, and of the line under the mechanism
    """

    title: str
    mechanism: str
    rule: str
    assumes: str
    small: Bars
    large: Bars
    color: str = style.BLUE


def stack(count: int, *, width: float = 0.8, low: float = 0.0, high: float = 1.0) -> Bars:
    """A tower of ``count`` flat bars between two heights: the picture of a network with so many layers.

    Parameters
    ----------
    count
        how many, 1 at least
    width
        of a bar, in (0, 1]
    low, high
        the heights between which they lie

    Returns
    -------
    tuple of tuples
        rectangles (x, y, width, height).
    """
    step = (high - low) / count
    return tuple(((1 - width) / 2, low + k * step, width, 0.62 * step) for k in range(count))


def draw_lanes(lanes: Sequence[Lane]) -> Figure:
    """The map.

    Parameters
    ----------
    lanes
        one at least, from top to bottom

    Returns
    -------
    Figure
        4.8 inches wide.

    Raises
    ------
    ValueError
        where there is no lane.
    """
    if not lanes:
        raise refuse("lanes", lanes, "one lane or more")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(len(lanes), 1, figsize=(WIDTH, HEIGHT * len(lanes)), squeeze=False)
    for ax, lane in zip(axes[:, 0], lanes, strict=True):
        _draw(ax, lane)
    return figure


def _draw(ax: Axes, lane: Lane) -> None:
    from matplotlib.patches import Rectangle

    ax.set(xlim=(0, 10), ylim=(0, 3.0))
    ax.axis("off")
    ax.plot([0, 10], [2.98, 2.98], color=style.GUIDE, lw=style.HAIRLINE)
    ax.text(0, 2.45, lane.title, weight="bold", va="center", color=style.BLACK)
    ax.text(10, 2.45, lane.mechanism, va="center", ha="right", color=style.BLACK, fontsize=style.TITLE)
    ax.plot([8.5, 10], [2.05, 2.05], color=lane.color, lw=style.BOLD)
    for bars, left in ((lane.small, 0.1), (lane.large, 8.5)):
        for x, y, width, height in bars:
            place = (left + 1.4 * x, 0.25 + 1.55 * y)
            ax.add_patch(Rectangle(place, 1.4 * width, 1.55 * height, color=lane.color, lw=0))
    look = {"arrowstyle": "->", "color": lane.color, "lw": style.LINE}
    ax.annotate("", (8.2, 1.2), (1.75, 1.2), arrowprops=look)
    ax.text(5.0, 1.36, lane.rule, ha="center", va="bottom", color=style.BLACK, fontsize=style.TITLE)
    ax.text(5.0, 1.04, lane.assumes, ha="center", va="top", color=style.NOTE, fontsize=style.SMALL, linespacing=1.15)
