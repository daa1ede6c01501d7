"""The rule of transfer without the data: two numbers, learned from rates that were tuned at two depths or more.

The exact rule holds one number of the data, r, and one of the criterion, tau. Both are constants of the task:

    log2 eta_L = log2 C - p log2 L + (1/L) log2 rho,    rho = r^2,    C = 1 / (tau mu_xx r^2)

with p = 1 for the chain and 0 for block one: a straight line in 1/L. Two tuned depths fix it, and every other depth
follows. What the rates were tuned for does not enter, as long as it was the same at every depth.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.fits import line

POWERS = {"chain": 1.0, "residual1": 0.0}
RESOLVED = 1.96  # standard errors: the data matter beyond doubt of one in twenty


class UnresolvedDataWarning(UserWarning):
    """The tuned rates do not show that the data matter: rho is 1 within the errors given."""


@dataclass(frozen=True)
class TransferFit:
    """A rule of transfer fitted to tuned rates, eta_L = C L^-p rho^(1/L); it prints what it knows and how well.

    Attributes
    ----------
    C
        the prefactor, in the unit of the rates
    rho
        the number of the data, r^2 for the networks of this chapter
    rho_error
        the standard error of log2 rho, in octaves; inf where errors are not known
    arch
        "chain" (p = 1) or "residual1" (p = 0)
    depths, weights
        the tuned depths (K,), and the inverse variances of their log2 rates, all 1 where these are not known
    known
        whether errors of the rates were given
    """

    C: float
    rho: float
    rho_error: float
    arch: str
    depths: tuple[int, ...]
    weights: tuple[float, ...]
    known: bool

    @property
    def resolved(self) -> bool:
        """Whether log2 rho differs from 0 by more than 1.96 of its errors; False where these are not known."""
        return abs(math.log2(self.rho)) > RESOLVED * self.rho_error

    def lr(self, depth: ArrayLike) -> Array:
        """The rate of a depth: C L^-p rho^(1/L).

        Parameters
        ----------
        depth
            L, whole number; ``math.inf`` for "residual1", where the rate tends to C

        Returns
        -------
        ndarray
            of the shape of ``depth``, in the unit of the tuned rates.

        Raises
        ------
        ValueError
            for a depth that is not such a number.
        """
        layers = arguments.integer("depth", depth, infinite=self.arch == "residual1")
        return (self.C * layers ** -POWERS[self.arch] * self.rho ** (1.0 / layers))[()]

    def amplification(self, depth: ArrayLike) -> Array:
        """The standard error of log2 of ``lr(depth)`` where every tuned rate has the standard error one octave.

            (1/K + (1/L - X)^2 / sum_k (1/L_k - X)^2)^(1/2),    X the mean of the 1/L_k

        For two depths and L to infinity that is (L_1^2 + L_2^2)^(1/2) / |L_2 - L_1|. Arguments, errors and shape as in
        ``lr``.
        """
        return self._spread(depth, np.ones(len(self.depths)))

    def error(self, depth: ArrayLike) -> Array:
        """The standard error of log2 of ``lr(depth)``, in octaves, from the errors given; inf where none were given.

        Arguments and shape as in ``lr``.
        """
        spread = self._spread(depth, np.array(self.weights))
        return np.where(self.known, spread, np.inf)[()]

    def __str__(self) -> str:
        power = " / L" if self.arch == "chain" else ""
        law = f"eta_L = {self.C:.4g}{power} * {self.rho:.4g}^(1/L), tuned at depths {', '.join(map(str, self.depths))}"
        if not self.known:
            return f"{law}; the errors of the rates are not known"
        words = f"log2 rho = {math.log2(self.rho):+.2f} ± {self.rho_error:.2f} octaves"
        return f"{law}; {words}" + ("" if self.resolved else ", not resolved: the data may not matter")

    def _spread(self, depth: ArrayLike, weights: Array) -> Array:
        layers = arguments.integer("depth", depth, infinite=True)
        inverse = 1.0 / np.array(self.depths)
        centre = np.average(inverse, weights=weights)
        information = np.sum(weights * (inverse - centre) ** 2)
        return np.sqrt(1.0 / weights.sum() + (1.0 / layers - centre) ** 2 / information)[()]


def fit_transfer(
    depths: ArrayLike, lrs: ArrayLike, errors: ArrayLike | None = None, *, arch: str = "chain"
) -> TransferFit:
    """The rule eta_L = C L^-p rho^(1/L) through rates that were tuned at two depths or more, by least squares.

    Parameters
    ----------
    depths
        L_k, whole numbers, shape (K,), two different ones at least
    lrs
        the rates tuned there, shape (K,), positive, any unit: best rates, largest stable ones or smallest sufficient
        ones, the same at every depth
    errors
        standard errors of log2 of the rates, in octaves, one number or shape (K,), positive: what the sweeps say
        (``rates.BestLR.spread``) and half the spacing of their grids. Points count by their inverse squares
    arch
        "chain", for which the rate falls like 1/L, or "residual1", for which it is constant but for rho

    Returns
    -------
    TransferFit
        exact for rates that follow the rule exactly.

    Raises
    ------
    ValueError
        for fewer than two different depths, rates that are not positive, shapes that do not agree.

    Warns
    -----
    UnresolvedDataWarning
        where rho is 1 within the errors given: the fit then says no more than the rule C L^-p.

    References
    ----------
    Eq. 11, solved for its two constants; derived in this book.
    """
    power = POWERS[arguments.choice("arch", arch, tuple(POWERS))]
    layers, rates = arguments.integer("depths", depths), arguments.positive("lrs", lrs)
    if layers.ndim != 1 or np.unique(layers).size < 2:
        raise arguments.refuse("depths", depths, "a list with at least two different depths")
    if rates.shape != layers.shape:
        raise arguments.refuse("lrs", lrs, f"as many rates as there are depths, {layers.size}")
    weights = np.ones(layers.size)
    if errors is not None:
        spread = arguments.positive("errors", errors)
        if spread.shape not in ((), layers.shape):
            raise arguments.refuse("errors", errors, f"one number, or as many as there are depths, {layers.size}")
        weights = np.broadcast_to(spread**-2.0, layers.shape)
    slope, intercept, information = line(1.0 / layers, np.log2(rates) + power * np.log2(layers), weights)
    fit = TransferFit(
        C=float(2.0**intercept),
        rho=float(2.0**slope),
        rho_error=information**-0.5 if errors is not None else math.inf,
        arch=arch,
        depths=tuple(int(one) for one in layers),
        weights=tuple(float(one) for one in weights),
        known=errors is not None,
    )
    if fit.known and not fit.resolved:
        warnings.warn(
            f"rho is not resolved by the errors given: log2 rho = {slope:+.2f} ± {fit.rho_error:.2f} octaves. Tune "
            "more finely, or at depths further apart.",
            UnresolvedDataWarning,
            stacklevel=2,
        )
    return fit
