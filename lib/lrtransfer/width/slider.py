"""The Width chapter's slider figure, computed by the engine. Twin of book/_static/models/width.js.

The page cannot draw Gaussian matrices, so the script carries the numbers of every draw it shows. ``draws`` is
where they come from, ``script_table`` writes them as the script holds them, and both twins draw from the
rounded numbers. Tests compare the tables and the pictures.
"""

from __future__ import annotations

import json
import warnings
from functools import cache

import numpy as np

from lrtransfer.page.pictures import Curve, Model, Panel, Picture, Slider, Try
from lrtransfer.rates import OnEdgeWarning
from lrtransfer.width.single_draw import one_step_coefficients
from lrtransfer.width.spread import exact_argmin, limit_spread

LAYERS, DRAWS, OCTAVES = (2, 3, 5), (1, 2, 3, 4), tuple(range(3, 21))
X, Y = np.ones((1, 1)), np.ones(1)  # the data: mean square one, slope one, no noise
POINTS, REACH = 201, 2.5
DIGITS = 7


@cache
def draws(layers: int, draw: int) -> tuple[tuple[float, ...], ...]:
    """One row a width 2^3 .. 2^20: the best rate on (0, 4 eta_inf), then theta_0, Phi_1 .. Phi_L; 7 digits."""
    rows = []
    for octave in OCTAVES:
        coefficients = one_step_coefficients(2**octave, X, Y, layers, seed=draw)
        with warnings.catch_warnings():  # at the smallest widths the figure shows the end of the interval on purpose
            warnings.simplefilter("ignore", OnEdgeWarning)
            best = float(exact_argmin(coefficients, X, Y))
        rows.append(tuple(_rounded(value) for value in (best, *coefficients[:, 0])))
    return tuple(rows)


def script_table() -> str:
    """The tables of the page's script, as it holds them: one line for each number of layers and draw."""
    spreads = {layers: _rounded(limit_spread(X, Y, layers)) for layers in LAYERS}
    lines = [f"const SPREAD = {json.dumps(spreads)};", "const DRAWS = {"]
    for layers in LAYERS:
        lines.append(f"  {layers}: [")
        lines += [f"    {json.dumps(draws(layers, draw), separators=(',', ':'))}," for draw in DRAWS]
        lines.append("  ],")
    return "\n".join([*lines, "};"])


def one_step_picture(octave: float, layers: float, draw: float) -> Picture:
    """The loss after one step against the rate (left), the best rate of the same draw at all widths (right).

    octave  log2 of the width
    layers  L, the number of trained matrices
    draw    which draw of the weights; draws at different widths are independent
    Rates are in units of the limit eta_inf = 1 / L.
    """
    depth, place = int(layers), OCTAVES.index(int(octave))
    table = draws(depth, int(draw))
    best, coefficients = table[place][0], table[place][1:]
    x = np.linspace(0.0, REACH, POINTS)

    def loss(rates: np.ndarray) -> np.ndarray:
        return 0.5 * (np.polynomial.polynomial.polyval(rates, coefficients) - 1) ** 2

    widths = [2.0**k for k in OCTAVES]
    optima = [row[0] * depth for row in table]
    half = [_rounded(limit_spread(X, Y, depth)) * depth / n**0.5 for n in widths]
    left = Panel(
        title="Loss after one step",
        xlabel="rate, η / η∞",
        ylabel="loss",
        xlim=(0.0, REACH),
        ylim=(0.0, 0.8),
        curves=(
            Curve("this width", x.tolist(), loss(x / depth).tolist()),
            Curve("infinite width", x.tolist(), (0.5 * (x - 1) ** 2).tolist()),
            Curve("best rate", [best * depth], [float(loss(np.array(best)))], points=True),
        ),
    )
    right = Panel(
        title="Best rate of this draw",
        xlabel="width n",
        ylabel="η_n / η∞",
        xlim=(widths[0], widths[-1]),
        ylim=(0.0, 2.0),
        curves=(
            Curve("best rates", widths, optima, points=True),
            Curve("limit + c/√n", widths, [1 + h for h in half]),
            Curve("limit − c/√n", widths, [1 - h for h in half]),
            Curve("this width", [widths[place]] * 2, [0.0, optima[place]]),
        ),
        xlog=True,
    )
    off = abs(optima[place] - 1)
    side = "above" if optima[place] > 1 else "below"
    summary = (
        f"n = {2 ** int(octave)}: best rate η = {best:.4f}, {100 * off:.2f}% {side} "
        f"the limit {1 / depth:.4f}; "
        f"in units of the typical distance c/√n that is {off / half[place]:.2f}."
    )
    return Picture((left, right), summary)


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


ONE_STEP = Model(
    name="width.onestep",
    sliders=(
        Slider("octave", "width, log₂ n", tuple(float(k) for k in OCTAVES), start=2),
        Slider("layers", "hidden layers, L", tuple(float(k) for k in LAYERS), start=1),
        Slider("draw", "draw of the weights", tuple(float(k) for k in DRAWS)),
    ),
    picture=one_step_picture,
    tries=(
        Try("Eight units: far from the limit", {"octave": 3.0}),
        Try("A million units: on the limit", {"octave": 20.0}),
        Try("Width 64, another draw", {"octave": 6.0, "draw": 3.0}),
    ),
)
