"""Deep linear networks under muP, SP and NTP at any width: the engine of the Width chapter.

The rate's limit         ``limit_lr``, ``sp_limit_lr``, ``limit_spread`` (the constant of the n^(-1/2) law)
One step                 ``one_step_coefficients``, ``optimal_lr`` (the polynomial, its exact minimum),
                         ``tied_lrs`` (all minima, for one input)
Any number of steps      ``training_loss``, ``optimal_lr``, ``lowest_minima``: any width, infinite included;
                         ``two_step_form`` (two steps at infinite width, by hand)
The cost of transfer     ``transfer_cost``, ``one_step_cost``, ``predicted_cost``
Features                 ``feature_updates``, ``scaling_exponent`` (exponents with errors)
Fig. 2                   ``synthetic_data``, ``coefficient_draws``, ``exact_argmin``, ``grid_argmin``,
                         ``sweep_error``, ``grid_rms``, ``break_slopes``, ``shows_break``,
                         ``break_probability``
The matrix never stored  ``LazyGaussian``, ``Euclidean``, ``Rotated``
Explicit matrices        the module ``dense``
What the chapter runs    the module ``experiments``

Source: Hayou, 'A Proof of Learning Rate Transfer under muP' (2025), arXiv:2511.01734.
"""

from lrtransfer.numerics.lazy_gaussian import Euclidean, LazyGaussian, Rotated
from lrtransfer.width.breaks import break_probability, break_slopes, shows_break
from lrtransfer.width.cost import one_step_cost, predicted_cost, transfer_cost
from lrtransfer.width.data import limit_lr, sp_limit_lr, synthetic_data
from lrtransfer.width.features import feature_updates, scaling_exponent
from lrtransfer.width.optimum import tied_lrs
from lrtransfer.width.single_draw import lowest_minima, one_step_coefficients, optimal_lr, training_loss
from lrtransfer.width.spread import (
    coefficient_draws,
    exact_argmin,
    grid_argmin,
    grid_rms,
    limit_spread,
    sweep_error,
)
from lrtransfer.width.two_steps import two_step_form

__all__ = [
    "Euclidean",
    "LazyGaussian",
    "Rotated",
    "break_probability",
    "break_slopes",
    "coefficient_draws",
    "exact_argmin",
    "feature_updates",
    "grid_argmin",
    "grid_rms",
    "limit_lr",
    "limit_spread",
    "lowest_minima",
    "one_step_coefficients",
    "one_step_cost",
    "optimal_lr",
    "predicted_cost",
    "scaling_exponent",
    "shows_break",
    "sp_limit_lr",
    "sweep_error",
    "synthetic_data",
    "tied_lrs",
    "training_loss",
    "transfer_cost",
    "two_step_form",
]
