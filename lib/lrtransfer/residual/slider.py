"""The Residual chapter's slider figure, by the engine. Twin of book/_static/models/residual.js: a test compares them.

A linear network at infinite width, gamma_0 = 1, target 1, six noise-free steps: its exact loss against the rate for any
branch exponent and depth, with the rate at which it stops falling, and the output at a rate that was chosen at depth 3.
"""

from __future__ import annotations

import numpy as np

from lrtransfer.numerics.arrays import Array
from lrtransfer.page.pictures import Curve, Model, Panel, Picture, Slider, Try, fixed
from lrtransfer.residual.theory.fitting import fitting_lr
from lrtransfer.residual.theory.lazy import linear_ntk
from lrtransfer.residual.theory.linear_limit import linear_limit

STEPS, TUNED = 6, 3  # T, and the depth at which the rate is tuned
LOW, HIGH, POINTS = -12, 4, 129  # octaves of rate shown, from the best rate at depth 3; lower where a best rate is
FAR = 1e3  # a loss above this is beyond the frame, and called diverged


def best(branch: float, depth: int) -> float:
    """The rate at which the loss after the last step first stops falling: ``fitting_lr`` on 64ths of an octave.

    To a thousandth of an octave: where the loss is flat at zero, rounding decides the digits after that.
    """
    lrs = 2.0 ** np.arange(-1.0, 0.25 + 1 / 128, 1 / 64) / float(linear_ntk(depth, branch))
    found = np.log2(fitting_lr(lrs, linear_limit(lrs, 1.0, depth, STEPS, branch=branch)[-1]))
    return float(2.0 ** (np.floor(1e3 * found + 0.5) / 1e3))


def _losses(outputs: Array) -> list[float]:
    with np.errstate(over="ignore", invalid="ignore"):
        loss = (1 - outputs) ** 2 / 2
    return np.where(loss <= FAR, loss, np.inf).tolist()


def transfer_picture(a: float, depth: float, octaves: float) -> Picture:
    """Loss against the rate at depth 3 and at ``depth`` (left), outputs at one rate for both (right).

    a        exponent of the branch multiplier L^-a
    depth    L
    octaves  log2 of the rate of the right panel, in units of the rate that is best at depth 3
    """
    layers = int(depth)
    tuned, own = best(a, TUNED), best(a, layers)
    shift = float(np.log2(own / tuned))
    low = min(LOW, 4 * int(np.floor((shift - 2) / 4)))
    x = np.linspace(low, HIGH, POINTS)
    sweeps = {size: linear_limit(tuned * 2.0**x, 1.0, size, STEPS, branch=a)[-1] for size in (TUNED, layers)}
    courses = {size: linear_limit(tuned * 2.0**octaves, 1.0, size, STEPS, branch=a) for size in (TUNED, layers)}
    at_best = [linear_limit(rate, 1.0, size, STEPS, branch=a)[-1] for rate, size in ((own, layers), (tuned, TUNED))]
    heights = [max(height, 1e-6) for height in _losses(np.array(at_best))]  # on the frame, where the loss is zero
    steps = np.arange(STEPS + 1.0).tolist()
    names = {"tuned": f"depth {TUNED}", "own": f"chosen depth, {layers}"}
    left = Panel(
        title=f"Loss after {STEPS} steps",
        xlabel=f"log2 of rate / best rate at depth {TUNED}",
        ylabel="loss",
        xlim=(float(low), float(HIGH)),
        ylim=(1e-6, 1e2),
        curves=(
            Curve(names["own"], x.tolist(), _losses(sweeps[layers])),
            Curve(names["tuned"], x.tolist(), _losses(sweeps[TUNED])),
            Curve("best rates", [shift, 0.0], heights, points=True),
        ),
        ylog=True,
    )
    right = Panel(
        title="Learning at the chosen rate",
        xlabel="step t",
        ylabel="output f",
        xlim=(0.0, float(STEPS)),
        ylim=(-1.0, 3.0),
        curves=(
            Curve(names["own"], steps, _shown(courses[layers])),
            Curve(names["tuned"], steps, _shown(courses[TUNED])),
            Curve("target", [0.0, float(STEPS)], [1.0, 1.0]),
        ),
    )
    return Picture((left, right), _summary(a, layers, shift, float(courses[layers][-1])))


def _shown(outputs: Array) -> list[float]:
    return np.where(np.abs(outputs) <= FAR, outputs, np.inf).tolist()


def _summary(a: float, depth: int, shift: float, last: float) -> str:
    far = fixed(abs(shift), 2)
    where = f"{far} octaves {'above' if shift > 0 else 'below'}" if depth != TUNED else f"{far} octaves from"
    end = f"ends at f = {fixed(last, 3)}" if abs(last) <= FAR else "diverges"
    return (
        f"Branches times L^-{fixed(a, 3)}: the best rate at depth {depth} is {where} that at depth {TUNED}. "
        f"At the chosen rate the network of depth {depth} {end}; the target is 1."
    )


TRANSFER = Model(
    name="residual.transfer",
    sliders=(
        Slider("a", "branch exponent, a", (0.0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875, 1.0), start=4),
        Slider("depth", "depth, L", (1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 24.0), start=8),
        Slider("octaves", "rate, octaves from the best at L = 3", tuple(np.arange(-2, 2.01, 0.5).tolist()), start=4),
    ),
    picture=transfer_picture,
    tries=(
        Try("1/√L: the rate of depth 3 fits depth 24", {"a": 0.5, "depth": 24.0, "octaves": 0.0}),
        Try("No multiplier: the same rate diverges", {"a": 0.0, "depth": 24.0, "octaves": 0.0}),
        Try("1/L: depth 24 learns too slowly", {"a": 1.0, "depth": 24.0, "octaves": 0.0}),
    ),
)
