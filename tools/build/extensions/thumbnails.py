"""One panel a card on the landing page: drawn for this size, from the engines, in the page's colours."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lrtransfer import depth, layers, stages, width
from lrtransfer.depth import experiments
from lrtransfer.sweeps import records

WIDE, HIGH, LEFT, BOTTOM = 220, 120, 16, 16
Numbers = Sequence[float] | NDArray[Any]


class Panel:
    """A drawing with linear axes, whose marks have the classes of the slider figures and so follow the theme."""

    def __init__(self, xlim: tuple[float, float], ylim: tuple[float, float]):
        self.xlim, self.ylim = xlim, ylim
        self.parts: list[str] = []

    def at(self, x: float, y: float) -> tuple[float, float]:
        (x0, x1), (y0, y1) = self.xlim, self.ylim
        return LEFT + (x - x0) / (x1 - x0) * (WIDE - LEFT - 4), HIGH - BOTTOM - (y - y0) / (y1 - y0) * (
            HIGH - BOTTOM - 4
        )

    def _path(self, x: Numbers, y: Numbers) -> str:
        return "M" + "L".join("{:.1f} {:.1f}".format(*self.at(*point)) for point in zip(x, y, strict=True))

    def line(self, x: Numbers, y: Numbers, color: int) -> None:
        self.parts.append(f'<path class="lr-curve lr-c{color}" d="{self._path(x, y)}"/>')

    def dots(self, x: Numbers, y: Numbers, color: int, size: float = 2.2) -> None:
        for point in zip(x, y, strict=True):
            place = 'cx="{:.1f}" cy="{:.1f}"'.format(*self.at(*point))
            self.parts.append(f'<circle class="lr-point lr-c{color}" r="{size}" {place}/>')

    def area(self, x: Numbers, low: Numbers, high: Numbers) -> None:
        outline = self._path([*x, *x[::-1]], [*low, *high[::-1]])
        self.parts.append(f'<path class="lr-area" d="{outline}Z"/>')

    def words(self, x: float, y: float, text: str) -> None:
        self.parts.append(
            f'<text x="{self.at(x, y)[0]:.1f}" y="{self.at(x, y)[1]:.1f}" text-anchor="middle">{text}</text>'
        )

    def svg(self, xlabel: str, ylabel: str, alt: str) -> str:
        """The drawing with its frame and the names of its axes."""
        low, middle = HIGH - BOTTOM, (HIGH - BOTTOM) / 2
        frame = f'<path class="lr-axis" d="M{LEFT} 4V{low}H{WIDE - 4}"/>'
        names = f'<text x="{(LEFT + WIDE) / 2}" y="{HIGH - 3}" text-anchor="middle">{xlabel}</text>'
        names += f'<text transform="translate(11 {middle}) rotate(-90)" text-anchor="middle">{ylabel}</text>'
        box = f"{LEFT} 2 {WIDE - LEFT - 2} {low - 2}"
        sides = 'x="{}" y="{}" width="{}" height="{}"'.format(*box.split())
        clip = f'<svg {sides} viewBox="{box}">'
        return (
            f'<svg class="lr-thumb" viewBox="0 0 {WIDE} {HIGH}" role="img" aria-label="{html.escape(alt)}">'
            f"{frame}{names}{clip}{''.join(self.parts)}</svg></svg>"
        )


def of_depth() -> str:
    """Loss after 30 steps against the rate in units of the exact rule, four depths."""
    x, depths = np.linspace(0.3, 1.7, 113), np.array([2, 8, 32, 128])
    logs = np.log10(np.maximum(depth.sweep(x[:, None], depths, 0.5), 1e-28))
    panel = Panel((0.3, 1.7), (-29.0, 0.0))
    for color, column in enumerate(logs.T):
        panel.line(x, column, color)
    return panel.svg("rate over the rule's", "loss", "Valleys of the loss of four depths line up at the rule's rate.")


def of_width() -> str:
    """Best rates of single networks against the width, between two limit laws."""
    X, y = width.synthetic_data(seed=0)
    limit, spread, octaves = width.limit_lr(X, y, 3), width.limit_spread(X, y, 3), np.arange(6, 21, 2)
    draws = width.coefficient_draws((2**octaves).tolist(), X, y, 3, seeds=range(12))
    best = np.asarray(width.exact_argmin(draws, X, y)) / limit
    panel, fine = Panel((5.5, 20.5), (0.4, 1.6)), np.linspace(5.5, 20.5, 60)
    for sign in (-2, 2):
        panel.line(fine, 1 + sign * spread / limit * 2 ** (-fine / 2), 1)
    for octave, rates in zip(octaves, best, strict=True):
        panel.dots(np.full(len(rates), octave), rates, 0)
    return panel.svg(
        "width, 64 to a million", "best rate", "Best rates scatter at small width and close in on one value."
    )


def of_residual() -> str:
    """Recorded best rates against depth, with branches scaled and not."""
    record = records.read("residual-mnist")
    if record is None:
        raise FileNotFoundError("results/residual-mnist is missing: it comes with the repository.")
    panel = Panel((-0.2, 3.2), (-5.5, 1.5))
    for color, name in enumerate(("mup_sqrt_depth", "mup")):
        depths, rates, _ = experiments.recorded_rates(record, parametrisation=name, width=128)
        x, y = np.log2(depths / depths[0]), np.log2(rates / rates[0])
        panel.line(x, y, color)
        panel.dots(x, y, color, 3)
    panel.words(2.3, 0.55, "branches 1/√L")
    panel.words(1.1, -4.3, "plain branches")
    return panel.svg(
        "depth, doubling", "best rate", "The best rate stays level with scaled branches and falls with plain ones."
    )


def of_layers() -> str:
    """The window of steps in which balanced rates are a local minimum."""
    alphas, h = np.linspace(0.8, 1.45, 40), 1000.0
    low = np.log2(3 * h ** (1 - alphas))
    high = np.log2(float(layers.last_balanced_time(h)) * h ** (1.5 - alphas))
    panel = Panel((0.8, 1.45), (0.0, 9.0))
    panel.area(alphas, np.maximum(low, 0), high)
    for x, y, text in ((1.05, 3.4, "even"), (1.3, 6.6, "uneven"), (0.87, 1.0, "uneven")):
        panel.words(x, y, text)
    return panel.svg(
        "rate", "step", "A band of steps in which the even split is best, between two regions where it is not."
    )


def of_stages() -> str:
    """Rate of convergence against the condition number, by the start of the new layer."""
    kappas = np.geomspace(4, 300, 5)
    panel = Panel((1.8, 8.4), (-8.4, 0.6))
    for color, name in enumerate(("stacking", "gd")):
        panel.dots(np.log2(kappas), np.log2(stages.late_rates(name, kappas)), color, 3)
    fine = np.geomspace(3.6, 330, 40)
    panel.line(np.log2(fine), np.log2(-2 * np.log1p(-1 / np.sqrt(fine))), 0)
    panel.line(np.log2(fine), np.log2(-2 * np.log1p(-1 / fine)), 1)
    panel.words(7.0, -1.2, "copy")
    panel.words(4.6, -6.0, "zero")
    return panel.svg(
        "condition number", "speed", "The speed of copied layers falls like the square root of that of zero layers."
    )


DRAWN: dict[str, Callable[[], str]] = {
    "depth": of_depth, "width": of_width, "residual": of_residual, "layers": of_layers, "stages": of_stages,
}  # fmt: skip
