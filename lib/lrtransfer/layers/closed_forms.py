r"""Loss formulas of the signal-only surrogate: the printed ones as they stand, and this book's for any number of steps.

Two layers. The surrogate's update with e -> z is linear in pairs: with u = z conj(omega_2) a step is omega_1 <- omega_1
+ k_1 u and u <- u + k_2 omega_1. Its matrix has the eigenvalues 1 +- r, r = sqrt(k_1 k_2), so after t steps

    omega_1 = (C + k_1 S z) h^(-1/4),   omega_2 = (C + k_2 S z) h^(-1/4),
    C = ((1 + r)^t + (1 - r)^t) / 2,    S = ((1 + r)^t - (1 - r)^t) / (2 r),    k_i = eta_i / h^(3/2).

Three layers. v = W_2 a and u = W_1' beta obey v <- v + k_2 u, u <- u + k_1 v with k_i = eta_i / sqrt(h), the same pair;
summing the updates, W_1 W_2 a = C a + [(k_1 + k_2) C S + (a'beta) D] beta with D = C (C - 1) + k_1 k_2 S^2.

``symbolic`` derives the printed formulas by computer algebra.

Source: arXiv 2606.00340 (one-step loss of two layers) and the formulas of the authors' theory script (two
steps).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.layers.circle import width_argument
from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array

_OVERFLOW = np.errstate(over="ignore")  # a rate whose powers overflow gives a loss of inf


@_OVERFLOW
def _rates(lr1: ArrayLike, lr2: ArrayLike, h: object) -> tuple[Array, Array, float]:
    one, two = arguments.finite("lr1", lr1, minimum=0.0), arguments.finite("lr2", lr2, minimum=0.0)
    return one + two, one * two, float(width_argument(h))


@_OVERFLOW
def one_step_loss(lr1: ArrayLike, lr2: ArrayLike, h: int) -> Array:
    """Two layers, one step: the paper's formula, ``expected_loss(lr1, lr2, h, 1, signal_only=True)``.

    With s = eta_1 + eta_2 and p = eta_1 eta_2,

        s^2/h^4 + p^2/h^7 - 2 s/h^2 + 1/h + 2 p/h^5 + 1.

    The term 2 p/h^5 is E tr Q^2 = 1 at work; the authors' script leaves it out.

    Parameters
    ----------
    lr1, lr2
        Rates, >= 0; shapes broadcast.
    h
        Width, >= 2.

    Returns
    -------
    array
        The loss, |f - y|^2 averaged, in the broadcast shape of the rates; inf where it overflows.

    Raises
    ------
    ValueError
        For an argument out of its range, which it names.

    Source: arXiv 2606.00340, the one-step loss of two layers.
    """
    s, p, n = _rates(lr1, lr2, h)
    return s / n**2 * (s / n**2 - 2) + p**2 / n**7 + 1 / n + 2 * p / n**5 + 1  # factored: no inf - inf


@_OVERFLOW
def two_step_loss(lr1: ArrayLike, lr2: ArrayLike, h: int) -> Array:
    """Two layers, two steps: the authors' formula. It equals ``expected_loss(..., 2, signal_only=True)``.

    With s = eta_1 + eta_2 and p = eta_1 eta_2,

        (1/h)(1 + p/h^3)^4 + 16 p^2/h^7 + (2 s (p + h^3)/h^5 - 1)^2 + (8 p/h^5)(1 + p/h^3)^2.

    Parameters
    ----------
    lr1, lr2
        Rates, >= 0; shapes broadcast.
    h
        Width, >= 2.

    Returns
    -------
    array
        The loss, |f - y|^2 averaged, in the broadcast shape of the rates; inf where it overflows.

    Raises
    ------
    ValueError
        For an argument out of its range, which it names.

    Source: the theory script of arXiv 2606.00340's authors.
    """
    s, p, n = _rates(lr1, lr2, h)
    grown = 1 + p / n**3
    return grown**4 / n + 16 * p**2 / n**7 + (2 * s * (p + n**3) / n**5 - 1) ** 2 + 8 * p / n**5 * grown**2


@_OVERFLOW
def three_layer_one_step_loss(lr1: ArrayLike, lr2: ArrayLike, h: int) -> Array:
    """Three layers (two trained, a fixed readout), one step of the surrogate, with |a| = |beta| = 1.

    With s = eta_1 + eta_2 and p = eta_1 eta_2,

        (s/h - 1)^2 + 1/h + 2 p/h^3 + p^2/h^4.

    The authors' script leaves out 2 p/h^3, as it does 2 p/h^5 for two layers.

    Parameters
    ----------
    lr1, lr2
        Rates, >= 0; shapes broadcast.
    h
        Width, >= 2.

    Returns
    -------
    array
        The loss, |f - y|^2 averaged, in the broadcast shape of the rates; inf where it overflows.

    Raises
    ------
    ValueError
        For an argument out of its range, which it names.

    Source: the theory script of arXiv 2606.00340's authors, with the term it leaves out.
    """
    s, p, n = _rates(lr1, lr2, h)
    return (s / n - 1) ** 2 + 1 / n + 2 * p / n**3 + p**2 / n**4


@_OVERFLOW
def three_layer_two_step_loss(lr1: ArrayLike, lr2: ArrayLike, h: int) -> Array:
    """Three layers (two trained, a fixed readout), two steps of the surrogate: the authors' formula.

    With s = eta_1 + eta_2 and p = eta_1 eta_2,

        (2 s (h + p)/h^2 - 1)^2 + 1/h + 2 p/h^2 + 10 p/h^3 + 37 p^2/h^4 + 12 p^3/h^5 + p^4/h^6 + p^2/h^3.

    It is the surrogate's expectation when |a| = |beta| = 1 exactly; over a, beta ~ N(0, I/h) their fluctuation adds
    terms of relative order 1/h (``symbolic_three_layers`` gives both): 0.10501 against 0.10273 at h = 1000 and rates of
    50.

    Parameters
    ----------
    lr1, lr2
        Rates, >= 0; shapes broadcast.
    h
        Width, >= 2.

    Returns
    -------
    array
        The loss, |f - y|^2 averaged, in the broadcast shape of the rates; inf where it overflows.

    Raises
    ------
    ValueError
        For an argument out of its range, which it names.

    Source: the theory script of arXiv 2606.00340's authors.
    """
    s, p, n = _rates(lr1, lr2, h)
    noise = 1 / n + 2 * p / n**2 + 10 * p / n**3 + 37 * p**2 / n**4 + 12 * p**3 / n**5 + p**4 / n**6
    return (2 * s * (n + p) / n**2 - 1) ** 2 + noise + p**2 / n**3


def growth(rate1: Array, rate2: Array, steps: int) -> tuple[Array, Array]:
    """C and S of the module's derivation: even and odd part of the growth of the surrogate's weights.

    Parameters
    ----------
    rate1, rate2
        k_1 and k_2, >= 0; shapes broadcast.
    steps
        t >= 0.

    Returns
    -------
    tuple[Array, Array]
        C and S, the broadcast shape each; S is t where a rate is 0.

    Source: this book. Its callers check the arguments.
    """
    r = np.sqrt(rate1) * np.sqrt(rate2)
    up, down = (1 + r) ** steps, (1 - r) ** steps
    # below r = 1/2 the difference of the powers would lose digits: (1 - r)^t (exp(t log((1 + r)/(1 - r))) - 1) does not
    small = np.clip(r, 1e-200, 0.5)
    gap = np.exp(steps * np.log1p(-small)) * np.expm1(steps * (np.log1p(small) - np.log1p(-small)))
    with np.errstate(invalid="ignore"):  # inf - inf, which inf stands for
        large = np.where(np.isfinite(up), up - down, np.inf) / (2 * np.maximum(r, 0.5))
        even = np.where(np.isfinite(up), (up + down) / 2, np.inf)
    return even, np.where(r < 0.5, gap / (2 * small), large)


@_OVERFLOW
def signal_loss(lr1: ArrayLike, lr2: ArrayLike, h: int, steps: int) -> Array:
    """Two layers, any number of steps: the surrogate's expected loss in closed form.

    It equals ``expected_loss(..., signal_only=True)``. With k_i = eta_i / h^(3/2) and C, S of the module's derivation,

        C^4/h + (1 - (k_1 + k_2) C S/sqrt(h))^2 + (k_1 k_2)^2 S^4/h + 2 k_1 k_2 C^2 S^2/h^2.

    Parameters
    ----------
    lr1, lr2
        Rates, >= 0; shapes broadcast.
    h
        Width, >= 2.
    steps
        t >= 0.

    Returns
    -------
    array
        E |W_1 W_2 / h - M|_F^2, the broadcast shape of the rates; inf where it overflows.

    Raises
    ------
    ValueError
        For an argument out of its range, which it names.

    Source: this book; steps 1 and 2 are the formulas of arXiv 2606.00340 and of its authors' script.
    """
    n, number = float(width_argument(h)), arguments.count("steps", steps)
    k1, k2 = (arguments.finite(name, lr, minimum=0.0) / n**1.5 for name, lr in (("lr1", lr1), ("lr2", lr2)))
    even, odd = growth(k1, k2, number)
    flat = k1 * k2 * odd**2
    with np.errstate(invalid="ignore"):  # 0 times inf: a rate of 0 beside one that overflows
        loss = even**4 / n + (1 - (k1 + k2) * even * odd / np.sqrt(n)) ** 2 + flat**2 / n + 2 * flat * even**2 / n**2
    return np.where(np.isnan(loss), np.inf, loss)[()]


@_OVERFLOW
def deep_signal_loss(lrs: ArrayLike, h: int, steps: int) -> Array:
    """Three layers (two trained, a fixed readout), any number of steps: the surrogate's expected loss in closed form.

    Readout and teacher have unit norm and random directions, as in the authors' formulas. With k_i = eta_i / sqrt(h)
    and C, S, D of the module's derivation,

        C^2/h + (1 - (k_1 + k_2) C S/sqrt(h))^2 + D^2/h^2 + 2 C D/h^2.

    Parameters
    ----------
    lrs
        Rates of the two trained matrices, >= 0, shape (2,) + grid.
    h
        Width, >= 2.
    steps
        t >= 0.

    Returns
    -------
    array
        E |W_1 W_2 a / sqrt(h) - beta|^2, the shape of the grid; inf where it overflows.

    Raises
    ------
    ValueError
        For an argument out of its range, which it names, and for other than two rates.

    Source: this book; steps 1 and 2 are the formulas of arXiv 2606.00340's authors' script.
    """
    n, number = float(width_argument(h)), arguments.count("steps", steps)
    rates = arguments.finite("lrs", lrs, minimum=0.0)
    if rates.ndim == 0 or rates.shape[0] != 2:
        raise arguments.refuse("lrs", lrs, "a pair of rates, one for each trained matrix")
    k1, k2 = rates / np.sqrt(n)
    even, odd = growth(k1, k2, number)
    with np.errstate(invalid="ignore"):
        own = even * (even - 1) + k1 * k2 * odd**2
        loss = even**2 / n + (1 - (k1 + k2) * even * odd / np.sqrt(n)) ** 2 + own**2 / n**2 + 2 * even * own / n**2
    return np.where(np.isnan(loss), np.inf, loss)[()]
