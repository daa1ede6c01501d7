"""Drawings of what the practice room measures. Nothing here computes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.estimates import mean_and_error
from lrtransfer.page import plots
from lrtransfer.page.style import (
    BLUE,
    DASHES,
    GUIDE,
    MARK,
    ORANGE,
    SMALL,
    THIN,
    VERMILION,
    band,
    ordered_colors,
    panels,
    size_ticks,
)
from lrtransfer.practice.coordinates import GROWS, LEVEL, SHRINKS, CoordinateCheck
from lrtransfer.practice.sweep import EDGE, FLAT, MINIMUM, best_rate

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


@dataclass(frozen=True)
class SweepCurve:
    """A curve of a sweep.

    Attributes
    ----------
    name
        for the legend
    lrs
        rates (lrs,)
    losses
        final losses (lrs, seeds), inf where a run diverged
    """

    name: str
    lrs: Array
    losses: Array


def draw_sweeps(curves: Sequence[SweepCurve]) -> Figure:
    """Losses against the rate with their seed bands, and a mark at every minimum that seeds tell apart.

    Parameters
    ----------
    curves
        With three rates or more each for a mark. Where any loss is zero or negative the axis is linear, and curves are
        means in place of geometric means.

    Returns
    -------
    Figure
        One axes; in the legend, what is no minimum: flat, on the edge.
    """
    figure, ax = plots.panels(1, 1, height=3.6)
    signed = any((curve.losses <= 0).any() for curve in curves)
    for curve, color in zip(curves, ordered_colors(len(curves)), strict=True):
        found = best_rate(curve.lrs, curve.losses) if len(curve.lrs) > 2 else None
        name = f"{curve.name} ({found.verdict})" if found and found.verdict in (FLAT, EDGE) else curve.name
        marked = found is not None and found.verdict == MINIMUM
        if not signed:
            mark = (found.low, found.lr, found.high) if found is not None and marked else None
            plots.rate_sweep(ax, curve.lrs, curve.losses, label=name, color=color, best=mark)  # type: ignore[arg-type]
            continue
        kept = np.isfinite(curve.losses).all(axis=1)
        middle, error = mean_and_error(curve.losses[kept])
        ax.plot(curve.lrs[kept], middle, color=color, label=name)
        if curve.losses.shape[1] > 1:
            band(ax, curve.lrs[kept], middle - error, middle + error, color=color)
        if marked and found is not None and found.lr is not None:
            ax.axvline(found.lr, color=color, lw=THIN, ls=":")
        ax.set_xscale("log", base=2)
    ax.set(xlabel="learning rate", ylabel="final loss")
    ax.legend(fontsize=SMALL)
    return figure
