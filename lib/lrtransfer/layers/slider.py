"""The Layers chapter's slider figure, by the circle map. Twin of book/_static/models/layers.js: a test compares them.

Both use one fixed rule, Gauss-Legendre panels graded towards z = -1, so that they agree to rounding; a test holds
the rule to ``expected_loss``, whose error is controlled.
"""

from __future__ import annotations

import numpy as np

from lrtransfer.numerics.arrays import Array
from lrtransfer.page.pictures import Curve, Model, Panel, Picture, Slider, Try

SPLITS = 81  # odd: the balanced point is one of them
SPLIT = 0.3  # of the right panel
STEPS = (1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 12.0, 14.0, 16.0, 20.0, 24.0, 28.0, 32.0)
PANELS, RATIO = 24, 2.0
HEIGHTS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)  # of the left panel, in per cent
ROUNDING = 1e-18  # losses below are rounding errors
# Gauss-Legendre nodes and weights of order 12 on [-1, 1], the positive half; the page's script holds the same digits
NODES = (
    0.1252334085114689,
    0.3678314989981802,
    0.5873179542866175,
    0.7699026741943047,
    0.9041172563704749,
    0.9815606342467192,
)
WEIGHTS = (
    0.2491470458134028,
    0.2334925365383548,
    0.2031674267230659,
    0.1600783285433462,
    0.1069393259953184,
    0.0471753363865118,
)


def rule() -> tuple[Array, Array]:
    """Angles s = pi - theta on [0, pi] and their weights for the mean over theta: two arrays (nodes,).

    Gauss-Legendre of order 12 on panels that shrink by ``RATIO`` towards s = 0; the weights sum to one.
    """
    x = np.array([*(-np.array(NODES))[::-1], *NODES])
    w = np.array([*WEIGHTS[::-1], *WEIGHTS])
    hi = np.pi * RATIO ** -np.arange(PANELS)
    lo = np.append(hi[1:], 0.0)
    half = (hi - lo) / 2
    return (lo[:, None] + half[:, None] * (1 + x)).ravel(), (half[:, None] * w / np.pi).ravel()


def course(kappa1: Array, kappa2: Array, h: float, steps: int) -> Array:
    """Expected loss at t = 0 .. steps, (steps + 1, n), at rates kappa h^(3/2), (n,) each: ``loss_course`` by ``rule``.

    The fixed rule cannot say how large its error is; a test holds it to ``expected_loss``.
    """
    s, weights = rule()
    z = np.append(-np.cos(s) + 1j * np.sin(s), [-1.0, 1.0])
    mean = np.append((h - 1) / h * weights, [0.5 / h, 0.5 / h])
    one = two = np.full((kappa1.size, z.size), h**-0.25, dtype=complex)
    out = np.empty((steps + 1, kappa1.size))
    for t in range(steps + 1):
        e = z - one * two
        out[t] = (e.real**2 + e.imag**2) @ mean
        one, two = one + kappa1[:, None] * e * two.conj(), two + kappa2[:, None] * e * one.conj()
    return out


def bend(kappa: float, h: float, steps: int) -> Array:
    """Second derivative in the split, at balance, of ``course`` at t = 0 .. steps, halved: an array (steps + 1,).

    Both modes in powers of the split, omega_1,2 = w +- d delta + s delta^2 / 2, carried along with the map.
    """
    s_, weights = rule()
    z = np.append(-np.cos(s_) + 1j * np.sin(s_), [-1.0, 1.0])
    mean = np.append((h - 1) / h * weights, [0.5 / h, 0.5 / h])
    w, d, s = np.full(z.size, h**-0.25, dtype=complex), np.zeros_like(z), np.zeros_like(z)
    out = np.empty(steps + 1)
    for t in range(steps + 1):
        e, e2 = z - w * w, d * d - w * s
        out[t] = 2 * (e.conj() * e2).real @ mean
        next_d = d + kappa * e * (w - d).conj()
        s = s + 2 * kappa * (e * (s / 2 - d).conj() + e2 * w.conj())
        w, d = w + kappa * e * w.conj(), next_d
    return out


def along_picture(alpha: float, steps: float, h: float) -> Picture:
    """Loss along eta_1 + eta_2 = 2 h^alpha against the split (left) and step by step for two splits (right).

    alpha  exponent of the mean rate; steps  gradient steps; h  width. The left panel is scaled to what the half of the
    splits nearest to balance does, a thousandth of a per cent at the first steps and all of the loss later.
    """
    splits = np.linspace(-1.0, 1.0, SPLITS)
    kappa, number, last = h ** (alpha - 1.5), int(steps), int(STEPS[-1])
    values = course(kappa * (1 + splits), kappa * (1 - splits), h, number)[-1]
    balanced = float(values[SPLITS // 2])
    change = 100 * (values / balanced - 1)
    height = _height(change)
    pair = course(kappa * np.array([1.0, 1 + SPLIT]), kappa * np.array([1.0, 1 - SPLIT]), h, last)
    times, gain = np.arange(last + 1.0), pair[:, 1] / pair[:, 0]
    left = Panel(
        title=f"Loss along η₁ + η₂, step {number}",
        xlabel="split of the rates, δ",
        ylabel="change of the loss, %",
        xlim=(-1.0, 1.0),
        ylim=(-height, height),
        curves=(
            Curve("rates (1 + δ, 1 − δ)", splits.tolist(), change.tolist()),
            Curve("balanced", [0.0], [0.0], points=True),
        ),
    )
    right = Panel(
        title="Split 0.3 over balance, step by step",
        xlabel="step t",
        ylabel="loss / loss at equal rates",
        xlim=(0.0, float(last)),
        ylim=(0.0, 2.0),
        curves=(
            Curve("δ = 0.3", times.tolist(), gain.tolist()),
            Curve("this step", [float(number)], [float(gain[number])], points=True),
        ),
    )
    return Picture((left, right), _summary(values[SPLITS // 2 :], float(bend(kappa, h, number)[-1])))


def _height(change: Array) -> float:
    """The least of 1, 3, 10, ... times a power of ten that the near half of the splits stays below, 100 at most."""
    near = float(np.abs(change[SPLITS // 4 : -(SPLITS // 4)]).max())
    return next((step for step in HEIGHTS if near <= step), HEIGHTS[-1])


def _summary(half: Array, curvature: float) -> str:
    balanced = float(half[0])
    floor = ROUNDING > half.min()
    best = int(np.argmax(half <= (ROUNDING if floor else half.min() * (1 + 1e-12))))  # the smallest that is as good
    text = f"Loss at equal rates {balanced:.6f}: "
    if best == 0:
        return text + "a valley, and no split does better."
    text += "a valley, but" if curvature > 0 else "a hill;"
    split = f"δ = {best * 2 / (SPLITS - 1):.3f}"
    return text + (f" from {split} on the loss is rounding error." if floor else f" best at {split}.")


ALONG = Model(
    name="layers.along",
    sliders=(
        Slider("alpha", "rate, α in h^α", tuple(np.round(np.arange(1.0, 1.451, 0.05), 2).tolist()), start=7),
        Slider("steps", "step, t", STEPS, start=0),
        Slider("h", "width, h", (64.0, 125.0, 250.0, 500.0, 1000.0, 4000.0, 16000.0, 100000.0), start=4),
    ),
    picture=along_picture,
    tries=(
        Try("Step 1: balance is a hill", {"steps": 1.0}),
        Try("Step 4: a valley", {"steps": 4.0}),
        Try("Step 12: a hill again", {"steps": 12.0}),
    ),
)
