"""Deep linear networks under muP, SP and NTP at any width: the engine of the Width chapter.

The rate's limit         ``limit_lr``, ``sp_limit_lr``, ``limit_spread`` (the constant of the n^(-1/2) law)
One step                 ``one_step_coefficients``, ``optimal_lr`` (the polynomial, its exact minimum)
Any number of steps      ``training_loss``, ``optimal_lr``: any width, infinite included
Features                 ``feature_updates``, ``scaling_exponent`` (exponents with errors)
Fig. 2                   ``synthetic_data``, ``coefficient_draws``, ``exact_argmin``, ``grid_argmin``,
                         ``sweep_error``, ``break_slopes``, ``break_probability``
The matrix never stored  ``LazyGaussian``, ``Euclidean``, ``Rotated``

Source: Hayou, 'A Proof of Learning Rate Transfer under muP' (2025), arXiv:2511.01734.
"""

from lrtransfer.fits import PowerLaw as Exponent
from lrtransfer.width.data import limit_lr, sp_limit_lr
from lrtransfer.width.features import feature_updates, scaling_exponent
from lrtransfer.width.gaussian import Euclidean, LazyGaussian, Rotated
from lrtransfer.width.spread import (
    break_probability,
    break_slopes,
    coefficient_draws,
    exact_argmin,
    grid_argmin,
    limit_spread,
    sweep_error,
    synthetic_data,
)
from lrtransfer.width.training import one_step_coefficients, optimal_lr, training_loss

__all__ = [
    "Euclidean",
    "Exponent",
    "LazyGaussian",
    "Rotated",
    "break_probability",
    "break_slopes",
    "coefficient_draws",
    "exact_argmin",
    "feature_updates",
    "grid_argmin",
    "limit_lr",
    "limit_spread",
    "one_step_coefficients",
    "optimal_lr",
    "scaling_exponent",
    "sp_limit_lr",
    "sweep_error",
    "synthetic_data",
    "training_loss",
]
