"""The chapter's experiments as pure functions: draws in, arrays or small records out; nothing is drawn or displayed.

``lemma_one``                 sizes of the coefficients against width, with fitted powers
``approach``                  exact best rates closing in on their limit
``answer_samples``            the same questions put to explicit and to lazily revealed matrices
``compare_samples``           their laws side by side
``best_rates``                best rates under muP, SP and NTP from common draws
``closest_minima``            the two lowest minima of the limit after several steps, over draws of the data
``jump_law``                  how often the best rate is in the second minimum, from the limit and its fluctuations
``trained_sweep``             a sweep of a torch network on rates that follow the expected optimum
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.estimates import Estimate, in_errors, mean_and_error
from lrtransfer.numerics.fits import PowerLaw
from lrtransfer.width.data import limit_lr
from lrtransfer.width.features import scaling_exponent
from lrtransfer.width.single_draw import Minima, lowest_minima, optimal_lr, training_loss
from lrtransfer.width.spread import coefficient_draws, exact_argmin, sweep_error
from lrtransfer.width.torch_sweeps import trained_losses

Times = Callable[[Array], Array]


@dataclass(frozen=True)
class LemmaFit:
    """One quantity of Lemma 1 against width.

    ``name`` in LaTeX; ``power``, the predicted exponent of n; ``rms`` over draws, (widths,); ``fit``, the fitted power
    law; ``off``, fitted less predicted exponent in standard errors.
    """

    name: str
    power: float
    rms: Array
    fit: PowerLaw
    off: float


def lemma_one(draws: Array, widths: Array, X: Array, y: Array, *, fit_from: int) -> list[LemmaFit]:
    """Lengths of theta_0, Phi_1 .. Phi_L and of the distance of Phi_1 from its limit, as powers of the width.

    ``draws`` (widths, seeds, L + 1, d) as ``coefficient_draws`` returns them for X (m, d) and y (m,); powers are
    fitted to widths from ``fit_from`` on. Returns L + 2 records, in this order.

    Source: Hayou, 'A Proof of Learning Rate Transfer under muP' (2025), Lemma 1.
    """
    layers, fitted = draws.shape[2] - 1, widths >= fit_from
    limit = layers * X.T @ y / X.size
    lengths = [*np.moveaxis(np.linalg.norm(draws, axis=-1), 2, 0), np.linalg.norm(draws[:, :, 1] - limit, axis=-1)]
    powers = [-0.5, *(-(k - 1) / 2 for k in range(1, layers + 1)), -0.5]
    names = [r"$\theta_0$", *(rf"$\Phi_{k}$" for k in range(1, layers + 1)), r"$\Phi_1 - $limit"]
    found = []
    for samples, power, name in zip(lengths, powers, names, strict=True):
        fit = scaling_exponent(widths[fitted], samples[fitted])
        rms = np.sqrt((samples**2).mean(axis=1))
        found.append(LemmaFit(name, power, rms, fit, float(in_errors(fit.slope - power, fit.error))))
    return found


@dataclass(frozen=True)
class Approach:
    """Exact best rates against their limit.

    ``limit`` eta_inf by the formula; ``recursion``, the best rate of the program at infinite width; ``rms`` distance
    over the limit, (widths,); ``fit``, the power law of the distance; ``off``, its exponent less -1/2 in standard
    errors; ``centre``, the mean best rate at the largest width less the limit, in standard errors.
    """

    limit: float
    recursion: float
    rms: Array
    fit: PowerLaw
    off: float
    centre: float


def approach(draws: Array, widths: Array, X: Array, y: Array, *, fit_from: int) -> Approach:
    """How the exact best rates of ``draws`` close in on eta_inf; arguments as in ``lemma_one``.

    Source: Hayou, 'A Proof of Learning Rate Transfer under muP' (2025), theorem for t = 1.
    """
    layers, fitted = draws.shape[2] - 1, widths >= fit_from
    limit, optima = limit_lr(X, y, layers), exact_argmin(draws, X, y)
    fit = scaling_exponent(widths[fitted], (optima - limit)[fitted])
    mean, error = mean_and_error(optima[-1])
    return Approach(
        limit=limit,
        recursion=optimal_lr(math.inf, X, y, layers, seed=0),
        rms=sweep_error(optima, limit) / limit,
        fit=fit,
        off=float(in_errors(fit.slope + 0.5, fit.error)),
        centre=float(in_errors(mean - limit, error)),
    )


QUANTITIES = ("‖Wx‖²", "‖WWᵀWx‖²", "zᵀWWᵀWx", "‖Wᵀz‖²", "‖WᵀWWᵀz‖²")


def answer_samples(
    makers: Mapping[str, Callable[[int], tuple[Times, Times]]], x: Array, z: Array, draws: int
) -> dict[str, Array]:
    """Five numbers (``QUANTITIES``) that use W and its transpose on their own answers, for several kinds of matrix.

    ``makers``: name -> function that makes draw number k and returns its ``W x`` and ``W' z``; they are called in turn
    for each draw. ``x``, ``z`` (n,). Returns name -> (draws, 5).
    """
    samples: dict[str, list[list[Array]]] = {name: [] for name in makers}
    for k in range(draws):
        for name, make in makers.items():
            times, transposed = make(k)
            once = times(x)
            back = transposed(once)
            again = times(back)
            side = transposed(z)
            last = transposed(times(side))
            samples[name].append([once @ once, again @ again, z @ again, side @ side, last @ last])
    return {name: np.array(values) for name, values in samples.items()}


@dataclass(frozen=True)
class Comparison:
    """A quantity by a shortcut and by brute force: means, variances, the gap of the means in standard errors, and the
    p-value of the two-sample Kolmogorov-Smirnov test; pairs are (shortcut, brute force).
    """

    what: str
    mean: tuple[float, float]
    gap: float
    variance: tuple[float, float]
    p: float


def compare_samples(ours: Array, truth: Array) -> list[Comparison]:
    """The five quantities of ``answer_samples`` compared, (draws, 5) each."""
    found = []
    for k, what in enumerate(QUANTITIES):
        a, b = ours[:, k], truth[:, k]
        (mean, error), (expected, its_error) = mean_and_error(a), mean_and_error(b)
        gap = float(in_errors(mean - expected, math.hypot(error, its_error)))
        spread = float(a.var(ddof=0)), float(b.var(ddof=0))
        found.append(Comparison(what, (float(mean), float(expected)), gap, spread, float(stats.ks_2samp(a, b).pvalue)))
    return found


def best_rates(widths: Array, X: Array, y: Array, hidden_layers: int, *, seeds: Sequence[int]) -> dict[str, Array]:
    """Exact one-step best rates under "mup", "sp" and "ntp", (widths, seeds) each, in the parametrisation's own unit.

    SP and NTP are the same draws, NTP's rate being n times SP's. The interval ends at 2.5 m / (L lambda_min(K)), above
    every limit, divided by n under SP.

    Source: Hayou, 'A Proof of Learning Rate Transfer under muP' (2025), contribution on SP and NTP.
    """
    upper = 2.5 * X.size / (hidden_layers * np.linalg.eigvalsh(X.T @ X)[0])
    found = {}
    for name in ("mup", "sp"):
        draws = coefficient_draws(widths.tolist(), X, y, hidden_layers, seeds=seeds, parametrisation=name)
        found[name] = exact_argmin(draws, X, y, (0.0, upper))
    normalised = found["sp"]
    return found | {"sp": normalised / np.reshape(widths, (-1, 1)), "ntp": normalised}


@dataclass(frozen=True)
class ClosestMinima:
    """The two lowest minima of the infinite-width loss after ``steps`` steps on one data set.

    ``lr`` and ``excess`` as in ``Minima``; ``ratio``, the excess loss of the second over that of the first.
    """

    steps: int
    data_seed: int
    minima: Minima

    @property
    def ratio(self) -> float:
        """Excess loss of the second minimum over that of the first; inf where there is one minimum only."""
        return float(self.minima.excess[1] / self.minima.excess[0])


def closest_minima(
    data: Callable[[int], tuple[Array, Array]],
    data_seeds: Sequence[int],
    hidden_layers: int,
    *,
    steps: Sequence[int],
    points: int,
) -> list[list[ClosestMinima]]:
    """The two lowest minima of the limit for every draw of the data and every number of steps.

    ``data``: seed -> X, y; ``points`` as in ``lowest_minima``. Returns a row for each data seed.
    """
    return [
        [
            ClosestMinima(t, seed, lowest_minima(math.inf, *data(seed), hidden_layers, steps=t, seed=0, points=points))
            for t in steps
        ]
        for seed in data_seeds
    ]


@dataclass(frozen=True)
class JumpLaw:
    """The two lowest minima of the limit, and how far a network of finite width tilts one against the other.

    ``lr``, the two rates, the best first; ``gap``, the loss of the second less that of the first at infinite width;
    ``measured``, that difference in wide networks at the same two rates; ``scatter``, its standard deviation times
    sqrt(n).
    """

    lr: Array
    gap: float
    measured: Estimate
    scatter: float

    def share(self, widths: ArrayLike) -> Array:
        """Share of networks whose second minimum is the lower one: P(xi < -gap sqrt(n) / scatter), xi normal."""
        return np.asarray(stats.norm.cdf(-self.gap * np.sqrt(np.asarray(widths, dtype=float)) / self.scatter))

    def jumped(self, best: ArrayLike) -> NDArray[np.bool_]:
        """Whether best rates are on the second minimum's side of the middle between the two."""
        return (np.asarray(best) > self.lr.mean()) == (self.lr[1] > self.lr[0])


def jump_law(X: Array, y: Array, hidden_layers: int, *, steps: int, width: int, seeds: Sequence[int]) -> JumpLaw:
    """The law of jumps between the two lowest minima, to leading order in 1/sqrt(n), from networks of one large width.

    Source: derived here; the definition of eta_n^(t) in Hayou, 'A Proof of Learning Rate Transfer under muP' (2025).
    """
    minima = lowest_minima(math.inf, X, y, hidden_layers, steps=steps, seed=0)
    losses = np.array([training_loss(minima.lr, width, X, y, hidden_layers, steps, seed=s)[steps] for s in seeds])
    differences = losses[:, 1] - losses[:, 0]
    scatter = float(differences.std(ddof=1)) * math.sqrt(width)
    return JumpLaw(minima.lr, float(minima.excess[1] - minima.excess[0]), Estimate.of(differences), scatter)


def trained_sweep(
    octaves: ArrayLike,
    width: int,
    data: tuple[Array, Array],
    hidden_layers: int,
    steps: int,
    *,
    seeds: Sequence[int],
    optimiser: str,
    parametrisation: str,
    unit: float = 1.0,
    activation: str = "relu",
) -> tuple[Array, Array]:
    """``trained_losses`` on rates ``unit 2^octaves``, divided under SP by what keeps the optimum on the grid.

    That is n under gradient descent and n^(3/2) under Adam, whose steps do not shrink with the gradient. ``data`` is
    (X, y); the rest as in ``trained_losses``. Returns the rates (rates,) and the losses (rates, seeds).
    """
    shrink = 1.0 if parametrisation == "mup" else float(width if optimiser == "gd" else width**1.5)
    lrs = unit * 2.0 ** np.asarray(octaves, dtype=float) / shrink
    losses = trained_losses(
        lrs,
        width,
        *data,
        hidden_layers,
        steps,
        seeds=seeds,
        activation=activation,
        optimiser=optimiser,
        parametrisation=parametrisation,
    )
    return lrs, losses
