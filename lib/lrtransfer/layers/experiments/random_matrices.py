"""Checks that share nothing with the reductions: random matrices as they are, and dense runs of the surrogate.

Many small networks at once, stacked along the first axis; nothing is rotated.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from lrtransfer.layers.circle import one_number, width_argument
from lrtransfer.layers.dense import two_layer_descent
from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.estimates import Estimate
from lrtransfer.numerics.overflow import inf_from_overflow
from lrtransfer.numerics.random import haar_orthogonal


def haar_traces(h: int, powers: int, draws: int, rng: np.random.Generator) -> Estimate:
    """Average trace of Q, Q^2, .. Q^powers over Haar orthogonal Q of size h.

    Parameters
    ----------
    h
        >= 2.
    powers
        >= 1.
    draws
        >= 1.
    rng
        Moves on by draws h^2 normal numbers.

    Returns
    -------
    Estimate
        Mean and standard error, (powers,) each; exactly they are 1 for even powers and 0 for odd ones.

    Raises
    ------
    ValueError
        For an argument out of its range, which it names.

    Source: Diaconis and Shahshahani (1994) up to power h; beyond it this book.
    """
    size, number = width_argument(h, dense=True), arguments.count("powers", powers, minimum=1)
    q = haar_orthogonal(size, rng, arguments.count("draws", draws, minimum=1))
    power, traces = np.broadcast_to(np.eye(size), q.shape), []
    for _ in range(number):
        power = power @ q
        traces.append(np.trace(power, axis1=1, axis2=2))
    return Estimate.of(np.array(traces))


def first_gradients(h: int, draws: int, rng: np.random.Generator) -> tuple[Array, float]:
    """Self-interaction B and gradient G of the first layer before the first step, from dense orthogonal matrices.

    Parameters
    ----------
    h
        Width, >= 2.
    draws
        >= 1.
    rng
        Moves on by 3 draws h^2 normal numbers.

    Returns
    -------
    tuple[Array, float]
        The largest stretch of B G^-1 of every draw, (draws,), and the ratio of the root mean squares of |B|_F and
        |G|_F; both without unit.

    Raises
    ------
    ValueError
        For an argument out of its range, which it names.

    Source: arXiv 2606.00340, Proposition 5.1.
    """
    width, number = width_argument(h, dense=True), arguments.count("draws", draws, minimum=1)
    w1, w2, q = (haar_orthogonal(width, rng, number) for _ in range(3))
    own, gradient = (g @ w2.transpose(0, 2, 1) / width for g in (w1 @ w2 / width, w1 @ w2 / width - q / np.sqrt(width)))
    stretch = np.linalg.norm(own @ np.linalg.inv(gradient), ord=2, axis=(1, 2))
    squares = [np.mean(np.sum(part**2, axis=(1, 2))) for part in (own, gradient)]
    return stretch, float(np.sqrt(squares[0] / squares[1]))


def _rates(lr1: float, lr2: float) -> tuple[float, float]:
    one, two = (arguments.finite(name, lr, minimum=0.0) for name, lr in (("lr1", lr1), ("lr2", lr2)))
    return one_number("lr1", one), one_number("lr2", two)


def signal_only_losses(lr1: float, lr2: float, h: int, steps: int, *, draws: int, seed: int) -> Array:
    """Test losses of dense two-layer networks trained on the signal alone.

        W_1 <- W_1 + (lr1 / h) M W_2',    W_2 <- W_2 + (lr2 / h) W_1' M,    M the teacher

    Parameters
    ----------
    lr1, lr2
        Rates, >= 0.
    h
        Width, >= 2.
    steps
        >= 0.
    draws
        >= 1.
    seed
        >= 0.

    Returns
    -------
    array
        |W_1 W_2 / h - M|_F^2, (steps + 1, draws).

    Raises
    ------
    ValueError
        For an argument out of its range, which it names.

    Source: arXiv 2606.00340, two layers.
    """
    width, (one, two) = width_argument(h, dense=True), _rates(lr1, lr2)
    number, rng = arguments.count("draws", draws, minimum=1), np.random.default_rng(arguments.seed("seed", seed))
    w1, w2, m = (haar_orthogonal(width, rng, number) for _ in range(3))
    m, out = m / np.sqrt(width), []
    with np.errstate(all="ignore"):
        for _ in range(arguments.count("steps", steps) + 1):
            out.append(np.sum((w1 @ w2 / width - m) ** 2, axis=(1, 2)))
            w1, w2 = w1 + one / width * m @ w2.transpose(0, 2, 1), w2 + two / width * w1.transpose(0, 2, 1) @ m
    return inf_from_overflow(out)


def signal_only_chain_losses(lr1: float, lr2: float, h: int, steps: int, *, draws: int, seed: int) -> Array:
    """Test losses of dense three-layer networks (two trained matrices and a readout) trained on the signal alone.

        W_1 <- W_1 + (lr1 / sqrt h) beta (W_2 a)',    W_2 <- W_2 + (lr2 / sqrt h) (W_1' beta) a'

    Arguments and errors as in ``signal_only_losses``; a and beta are N(0, I/h).

    Returns
    -------
    array
        |W_1 W_2 a / sqrt(h) - beta|^2, (steps + 1, draws).

    Source: arXiv 2606.00340, three layers.
    """
    width, (one, two) = width_argument(h, dense=True), _rates(lr1, lr2)
    number, rng = arguments.count("draws", draws, minimum=1), np.random.default_rng(arguments.seed("seed", seed))
    w1, w2 = haar_orthogonal(width, rng, number), haar_orthogonal(width, rng, number)
    a, beta = rng.standard_normal((2, number, width, 1)) / np.sqrt(width)
    out = []
    with np.errstate(all="ignore"):
        for _ in range(arguments.count("steps", steps) + 1):
            middle = w2 @ a
            out.append(np.sum((w1 @ middle / np.sqrt(width) - beta) ** 2, axis=(1, 2)))
            back = w1.transpose(0, 2, 1) @ beta
            w1 = w1 + one / np.sqrt(width) * beta @ middle.transpose(0, 2, 1)
            w2 = w2 + two / np.sqrt(width) * back @ a.transpose(0, 2, 1)
    return inf_from_overflow(out)


def haar_cosines(h: int, draws: int, rng: np.random.Generator) -> Array:
    """cos(theta) of all eigenvalues exp(i theta) of Haar orthogonal matrices.

    The symmetric part (Q + Q') / 2 has them as its eigenvalues; within 1e-12 of -1 or 1 they are put there exactly, as
    a rounded eigenvalue -1 would leave the saddle.

    Parameters
    ----------
    h
        Size, >= 2.
    draws
        >= 1.
    rng
        Moves on by draws h^2 normal numbers.

    Returns
    -------
    array
        Ascending, (draws, h).

    Raises
    ------
    ValueError
        For an argument out of its range, which it names.

    Source: elementary.
    """
    size, number = width_argument(h, dense=True), arguments.count("draws", draws, minimum=1)
    symmetric = (haar_orthogonal(size, rng) for _ in range(number))
    cosines = np.array([np.linalg.eigvalsh((q + q.T) / 2) for q in symmetric])
    return np.where(1 - np.abs(cosines) < 1e-12, np.sign(cosines), cosines)


def saddle_losses(h: int, lr: float, steps: int, *, precision: str, seed: int) -> Array:
    """A dense run at equal rates whose rotated teacher has determinant -1, in single or double precision.

    In exact arithmetic the mode at z = -1 stays on its saddle and the loss stops at 1/h; rounding lets it go.

    Parameters
    ----------
    h
        Width, even, >= 2: then determinant -1 has the eigenvalue -1.
    lr
        Rate of both layers, > 0.
    steps
        >= 0.
    precision
        "single" or "double".
    seed
        Equal seeds give equal matrices in either precision.

    Returns
    -------
    array
        |W_1 W_2 / h - M|_F^2, (steps + 1,).

    Raises
    ------
    ValueError
        For an argument out of its range, which it names.

    Source: this book.
    """
    width, number = width_argument(h, dense=True), arguments.count("steps", steps)
    if width % 2:
        raise arguments.refuse("h", h, "even, so that determinant -1 has the eigenvalue -1")
    rate = one_number("lr", arguments.positive("lr", lr))
    kind: Any = np.float32 if arguments.choice("precision", precision, ("single", "double")) == "single" else np.float64
    rng = np.random.default_rng(arguments.seed("seed", seed))
    w1, w2, q = (haar_orthogonal(width, rng) for _ in range(3))
    if np.linalg.slogdet(w1.T @ q @ w2.T)[0] > 0:
        q[:, 0] *= -1
    w1, w2, m = (matrix.astype(kind) for matrix in (w1, w2, q / np.sqrt(width)))
    return two_layer_descent(w1, w2, m, m, rate, rate, number)
