"""Rate sweeps by plain training with torch, for what the polynomial does not cover: ReLU, Adam, any depth.

The network is the chapter's, with a nonlinearity phi behind every matrix but the read-out,

    z_0 = W_0 x,      z_l = W_l phi(z_{l-1}),      f(x) = v' phi(z_L),

and only W_1 .. W_L are trained, full batch. The entries of W_l have variance 1/n for the identity and 2/n for
ReLU, which keeps the size of z_l the same in every layer; v has variance 1/n^2 under muP and 1/n under SP.
Adam divides a gradient by its own size, so that its step in a hidden matrix has to be made smaller by hand:
muP gives it the rate eta / n, SP the rate eta.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lrtransfer.numerics import arguments
from lrtransfer.width.data import regression, width_of

if TYPE_CHECKING:
    import torch

Array = NDArray[np.float64]
ACTIVATIONS = ("linear", "relu")
OPTIMISERS = ("gd", "adam")
_BETA1, _BETA2, _EPSILON = 0.9, 0.999, 1e-8  # Adam's usual constants


def trained_losses(
    lrs: ArrayLike,
    width: int,
    X: ArrayLike,
    y: ArrayLike,
    hidden_layers: int,
    steps: int,
    *,
    seeds: Sequence[int],
    activation: str = "relu",
    optimiser: str = "gd",
    parametrisation: str = "mup",
) -> Array:
    """Training loss ``sum_i (f(x_i) - y_i)^2 / (2 m)`` after some steps, for many rates and seeds.

    Parameters
    ----------
    lrs
        Rates eta > 0, shape (rates,). The rate of every W_l is eta, except under muP with Adam: eta / n.
    width, X, y, hidden_layers
        As in ``training_loss``; finite widths.
    steps
        Number of full-batch steps, >= 0.
    seeds
        One draw of the weights a seed; all rates of a seed start from the same weights.
    activation
        "linear" or "relu".
    optimiser
        "gd", or "adam" with beta = (0.9, 0.999) and epsilon = 1e-8.
    parametrisation
        "mup" or "sp".

    Returns
    -------
    array
        Shape (rates, seeds), single precision inside; inf for runs that overflowed.

    Raises
    ------
    ValueError
        For malformed data, rates that are not positive, a width below 1, or an unknown choice.

    Source: the parametrisations of Hayou, 'A Proof of Learning Rate Transfer under muP' (2025), and, for
    Adam, of Yang et al., 'Tensor Programs V' (2022), Table 3.
    """
    import torch

    data = regression(X, y)
    rates = arguments.positive("lrs", lrs)
    if rates.ndim != 1 or rates.size == 0:
        raise arguments.refuse("lrs", rates.shape, "a list of rates (the value is its shape)")
    n = int(width_of(width, infinite=False))
    layers, count = arguments.count("hidden_layers", hidden_layers, minimum=1), arguments.count("steps", steps)
    arguments.choice("activation", activation, ACTIVATIONS)
    arguments.choice("optimiser", optimiser, OPTIMISERS)
    arguments.choice("parametrisation", parametrisation, ("mup", "sp"))
    unit = 1 / n if (optimiser, parametrisation) == ("adam", "mup") else 1.0
    inputs = torch.tensor(data.X, dtype=torch.float32)
    targets = torch.tensor(data.y, dtype=torch.float32)
    step = torch.tensor(rates * unit, dtype=torch.float32)
    phi = torch.relu if activation == "relu" else torch.nn.Identity()
    losses = np.empty((rates.size, len(seeds)))
    for place, seed in enumerate(seeds):
        first, hidden, readout = _draw(n, data.d, layers, activation, parametrisation, seed)
        z0 = inputs @ first.T  # (m, n), never trained
        weights = [w.expand(rates.size, n, n).clone().requires_grad_() for w in hidden]  # (rates, n, n) each

        runs = partial(_losses, weights, z0, readout, targets, phi)
        _descend(runs, weights, step, count, optimiser)
        with torch.no_grad():
            final = runs().double().numpy()
        losses[:, place] = np.where(np.isfinite(final), final, np.inf)
    return losses


def _draw(
    n: int, d: int, layers: int, activation: str, parametrisation: str, seed: int
) -> tuple[torch.Tensor, list[torch.Tensor], torch.Tensor]:
    import torch

    rng = np.random.default_rng([arguments.count("seed", seed), n])
    gain = 2.0 if activation == "relu" else 1.0

    def normal(shape: tuple[int, ...], deviation: float) -> torch.Tensor:
        return torch.from_numpy(deviation * rng.standard_normal(shape, dtype=np.float32))

    first = normal((n, d), d**-0.5)
    hidden = [normal((n, n), (gain / n) ** 0.5) for _ in range(layers)]
    return first, hidden, normal((n,), 1 / n if parametrisation == "mup" else n**-0.5)


def _losses(
    weights: list[torch.Tensor],
    z0: torch.Tensor,
    readout: torch.Tensor,
    targets: torch.Tensor,
    phi: Callable[[torch.Tensor], torch.Tensor],
) -> torch.Tensor:
    """Losses of all runs, (rates,)."""
    import torch

    z = z0.expand(len(weights[0]), *z0.shape)  # (rates, m, n)
    for w in weights:
        z = torch.bmm(phi(z), w.transpose(1, 2))
    return ((phi(z) @ readout - targets) ** 2).mean(dim=1) / 2


def _descend(
    runs: Callable[[], torch.Tensor],
    weights: list[torch.Tensor],
    step: torch.Tensor,
    count: int,
    optimiser: str,
) -> None:
    """Train every run at its own rate; the runs share no weight, so one backward pass serves all."""
    import torch

    rate = step[:, None, None]
    first = [torch.zeros_like(w) for w in weights] if optimiser == "adam" else []
    second = [torch.zeros_like(w) for w in weights] if optimiser == "adam" else []
    for t in range(1, count + 1):
        gradients = torch.autograd.grad(runs().sum(), weights)
        with torch.no_grad():
            for k, (w, g) in enumerate(zip(weights, gradients, strict=True)):
                if optimiser == "gd":
                    w -= rate * g
                    continue
                first[k].lerp_(g, 1 - _BETA1)
                second[k].mul_(_BETA2).addcmul_(g, g, value=1 - _BETA2)
                size = (second[k] / (1 - _BETA2**t)).sqrt_().add_(_EPSILON)
                w -= rate / (1 - _BETA1**t) * first[k].div(size)
