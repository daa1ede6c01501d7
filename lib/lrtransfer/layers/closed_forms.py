"""The printed loss formulas of the signal-only surrogate, evaluated as they stand; ``symbolic`` derives them.

Source: arXiv 2606.00340 (one-step loss of two layers) and the formulas of the authors' theory script (two
steps).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lrtransfer.layers.circle import width_argument
from lrtransfer.numerics import arguments

Array = NDArray[np.float64]
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
