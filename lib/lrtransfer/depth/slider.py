"""The Depth chapter's slider figure, by the engine. Twin of book/_static/models/depth.js: a test compares them."""

from __future__ import annotations

import numpy as np

from lrtransfer.depth.dynamics import gradient_descent, loss, relative_weight
from lrtransfer.depth.scaling import max_stable_lr
from lrtransfer.page.pictures import Curve, Model, Panel, Picture, Slider, Try, fixed, scientific, significant

STEPS, POINTS, ALPHA0, FAR = 60, 241, 0.01, 1e3


def trajectory_picture(inv_tau: float, depth: float, r: float) -> Picture:
    """Training curve of the chain (left) and its iterates on the loss along equal weights (right).

    Parameters
    ----------
    inv_tau
        1/tau, the rate in units of the inverse sharpness
    depth
        L
    r
        target, with mu_xx = 1; the start is a relative total weight of 0.01
    """
    lr = float(max_stable_lr(depth, r, tau=1 / inv_tau))
    weights = gradient_descent(lr, depth, STEPS, mu_yx=r, init=ALPHA0 * r)
    alphas = relative_weight(weights, depth, r)
    target = r ** (1 / depth)
    grid = np.linspace(0.0, 1.6 * target, POINTS)
    time = np.arange(STEPS + 1.0)
    left = Panel(
        title="Relative total weight",
        xlabel="step t",
        ylabel="α(t) = total weight / r",
        xlim=(0.0, float(STEPS)),
        ylim=(0.0, 2.0),
        curves=(
            Curve("gradient descent", time.tolist(), alphas.tolist()),
            Curve("minimum", [0.0, float(STEPS)], [1.0, 1.0]),
        ),
    )
    right = Panel(
        title="Loss along equal weights",
        xlabel="weight of each layer, w",
        ylabel="loss",
        xlim=(0.0, 1.6 * target),
        ylim=(0.0, 1.2 * r * r),
        curves=(
            Curve("loss", grid.tolist(), loss(grid, depth, r).tolist()),
            Curve("iterates", weights.tolist(), loss(weights, depth, r).tolist(), points=True),
        ),
    )
    return Picture((left, right), _summary(alphas, lr))


def _summary(alphas: np.ndarray, lr: float) -> str:
    before, last = float(alphas[-2]), float(alphas[-1])
    eta = f"η = {significant(lr, 3)}"
    if not np.isfinite(last):
        return f"{eta}: diverged within {STEPS} steps."
    if max(abs(before - 1), abs(last - 1)) < 1e-3:
        over = (alphas > 1 + 1e-9).any()
        return f"{eta}: converged{' after overshooting' if over else ' from below, without overshoot'}."
    if max(abs(before), abs(last)) > FAR:
        return f"{eta}: runs away, α is {scientific(abs(last))} in size after {STEPS} steps."
    if before < last < 1:
        return f"{eta}: still climbing after {STEPS} steps, α = {fixed(last, 3)}."
    return (
        f"{eta}: not settled after {STEPS} steps; the last two values of α are {fixed(before, 3)} and {fixed(last, 3)}."
    )


TRAJECTORY = Model(
    name="depth.trajectory",
    sliders=(
        Slider("inv_tau", "rate, 1/τ = η S", tuple(np.round(np.arange(0.1, 2.601, 0.05), 2).tolist()), start=9),
        Slider("depth", "depth, L", (1.0, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 32.0, 64.0), start=3),
        Slider("r", "target, r", (0.1, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0), start=6),
    ),
    picture=trajectory_picture,
    tries=(
        Try("Depth 64 at the rule's rate: it settles", {"inv_tau": 1.0, "depth": 64.0}),
        Try("Just past the edge: it hovers", {"inv_tau": 2.1}),
        Try("Past the edge with one layer: it runs away", {"inv_tau": 2.6, "depth": 1.0}),
    ),
)
