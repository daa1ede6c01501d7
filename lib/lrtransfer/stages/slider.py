"""The Stages chapter's slider figure, by the engine. Twin of book/_static/models/stages.js: a test compares them.

A small case, so that the page computes it while the slider moves: d = 4, Sigma diagonal with eigenvalues from 1/kappa
to 1 in geometric progression, and the teacher I + sigma S with one fixed S of norm 1 that does not commute with Sigma.
A run is stopped where its loss passes CEILING times its start, the top of the figure: beyond, networks come so near to
singular that rounding decides the rest.
"""

from __future__ import annotations

import numpy as np

from lrtransfer.numerics.arrays import Array
from lrtransfer.page.pictures import Curve, Model, Panel, Picture, Slider, Try, fixed, scientific
from lrtransfer.stages.errors.thresholds import LIMIT
from lrtransfer.stages.linear.excess import run
from lrtransfer.stages.linear.theory import proof_alpha

STAGES = 60
CEILING = 1e5
SPREAD = (1.0, 0.6, 0.3, 0.1)  # eigenvalues of S
BASIS = ((0.5, 0.5, 0.5, 0.5), (0.5, -0.5, 0.5, -0.5), (0.5, 0.5, -0.5, -0.5), (0.5, -0.5, -0.5, 0.5))


def small_problem(kappa: float, sigma: float) -> tuple[Array, Array]:
    """Teacher and covariance of the figure.

    Parameters
    ----------
    kappa
        condition number of the covariance
    sigma
        distance of the teacher from the identity

    Returns
    -------
    teacher, covariance : ndarray
        (4, 4) each.
    """
    basis = np.array(BASIS)
    spectrum = kappa ** (np.arange(4) / 3 - 1)
    return np.eye(4) + sigma * (basis * np.array(SPREAD)) @ basis.T, np.diag(spectrum)


def excess_picture(kappa: float, sigma: float, beta: float) -> Picture:
    """Excess loss of the three methods (left) and the size of stacking's error in Nesterov's step (right).

    Parameters
    ----------
    kappa
        condition number of Sigma
    sigma
        distance of the teacher from the identity
    beta
        momentum

    Returns
    -------
    Picture
        both panels, and a sentence.
    """
    teacher, covariance = small_problem(kappa, sigma)
    runs = {m: run(m, teacher, covariance, STAGES, beta=beta) for m in ("stacking", "nesterov", "gd")}
    falls = {m: r.excess / r.excess[0] for m, r in runs.items()}
    stages = np.arange(STAGES + 1.0)
    beyond = np.maximum.accumulate(falls["stacking"] > CEILING)  # the other two never rise so high
    falls["stacking"] = np.where(beyond, np.inf, falls["stacking"])
    ratios = np.where(beyond, np.inf, runs["stacking"].ratios)[1:]
    span = [1.0, float(STAGES)]
    names = {"stacking": "stacking", "nesterov": "Nesterov", "gd": "plain descent"}
    left = Panel(
        title="Excess loss over its start",
        xlabel="stage t",
        ylabel="excess loss / at stage 0",
        xlim=(0.0, float(STAGES)),
        ylim=(1e-12, CEILING),
        curves=tuple(Curve(names[m], stages.tolist(), fall.tolist()) for m, fall in falls.items()),
        ylog=True,
    )
    right = Panel(
        title="What stacking adds to Nesterov",
        xlabel="stage t",
        ylabel="size of Δ / size of the step",
        xlim=(0.0, float(STAGES)),
        ylim=(1e-8, 1e2),
        curves=(
            Curve("stacking", stages[1:].tolist(), ratios.tolist()),
            Curve("0.72 / √κ", span, [LIMIT / kappa**0.5] * 2),
            Curve("the proof's α", span, [float(proof_alpha(kappa))] * 2),
        ),
        ylog=True,
    )
    return Picture((left, right), _summary(falls, kappa, beta))


def _summary(falls: dict[str, Array], kappa: float, beta: float) -> str:
    theorem = (kappa**0.5 - 1) / (kappa**0.5 + 1)
    words = f"β = {fixed(beta, 2)} (the theorem's is {fixed(theorem, 3)}). After {STAGES} stages the loss is its start "
    stacking = falls["stacking"]
    peak = int(stacking.argmax())  # the first of several
    if np.isinf(stacking[peak]):
        ends = [scientific(falls[method][-1]) for method in ("nesterov", "gd")]
        words += f"times {ends[0]} with Nesterov, {ends[1]} with plain descent. "
        return (
            words + f"Stacking is stopped at stage {peak}: its loss has passed {scientific(CEILING)} times its start."
        )
    words += (
        f"times {scientific(stacking[-1])} with stacking, {scientific(falls['nesterov'][-1])} with Nesterov, "
        f"{scientific(falls['gd'][-1])} with plain descent."
    )
    return words + (f" Stacking first rises to {scientific(stacking[peak])} at stage {peak}." if peak else "")


EXCESS = Model(
    name="stages.excess",
    sliders=(
        Slider("kappa", "condition number, κ", (2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0), start=5),
        Slider("sigma", "distance from I, σ", (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 30.0, 50.0), start=2),
        Slider("beta", "momentum, β", (0.0, 0.2, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8, 0.82, 0.85, 0.9, 0.94, 1.0), start=8),
    ),
    picture=excess_picture,
    tries=(
        Try("Near the identity: stacking is Nesterov's", {"sigma": 0.5}),
        Try("Far away: stacking rises first", {"sigma": 30.0}),
        Try("The plain copy, β = 1: both slow down", {"beta": 1.0}),
    ),
)
