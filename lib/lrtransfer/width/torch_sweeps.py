"""Rate sweeps by plain training with torch, for what the polynomial does not cover: ReLU, Adam, any depth.

The network is the chapter's, with a nonlinearity phi behind every matrix but the read-out,

    z_0 = W_0 x,      z_l = W_l phi(z_{l-1}),      f(x) = v' phi(z_L),

and only W_1 .. W_L are trained, full batch. The entries of W_l have variance 1/n for the identity and 2/n for
ReLU, which keeps the size of z_l the same in every layer; v has variance 1/n^2 under muP and 1/n under SP.
Adam divides a gradient by its own size, so that its step in a hidden matrix has to be made smaller by hand:
muP gives it the rate eta / n, SP the rate eta.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array
from lrtransfer.sweeps.devices import resolve_device
from lrtransfer.sweeps.optimisers import adam_, sgd_
from lrtransfer.sweeps.run import curves_of, runs_of
from lrtransfer.width.data import regression, width_of

if TYPE_CHECKING:
    import torch

ACTIVATIONS = ("linear", "relu")
OPTIMISERS = ("gd", "adam")


@dataclass(frozen=True)
class WidthNetwork:
    """A network of ``trained_losses`` and its training, all but rates and seed; arguments and errors as there.

    ``X`` and ``y`` enter comparisons and keys by ``data``, a digest of them.
    """

    kind: ClassVar[str] = "width"

    X: Any = field(compare=False, repr=False)  # (m, d)
    y: Any = field(compare=False, repr=False)  # (m,)
    width: int
    hidden_layers: int
    steps: int
    activation: str = "relu"
    optimiser: str = "gd"
    parametrisation: str = "mup"
    data: str = field(init=False)

    def __post_init__(self) -> None:
        data = regression(self.X, self.y)
        checked = {
            "X": data.X,
            "y": data.y,
            "width": int(width_of(self.width, infinite=False)),
            "hidden_layers": arguments.count("hidden_layers", self.hidden_layers, minimum=1),
            "steps": arguments.count("steps", self.steps),
            "activation": arguments.choice("activation", self.activation, ACTIVATIONS),
            "optimiser": arguments.choice("optimiser", self.optimiser, OPTIMISERS),
            "parametrisation": arguments.choice("parametrisation", self.parametrisation, ("mup", "sp")),
            "data": hashlib.sha256(repr(data.X.shape).encode() + data.X.tobytes() + data.y.tobytes()).hexdigest()[:16],
        }
        for name, value in checked.items():
            object.__setattr__(self, name, value)


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
    store: Any = None,
    executor: Any = None,
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
    store, executor
        As in ``residual.train_sweep``: where finished runs are kept and found, and where the rest trains, all rates
        of a seed together.

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
    rates = arguments.positive("lrs", lrs)
    if rates.ndim != 1 or rates.size == 0:
        raise arguments.refuse("lrs", rates.shape, "a list of rates (the value is its shape)")
    network = WidthNetwork(X, y, width, hidden_layers, steps, activation, optimiser, parametrisation)
    numbers = [arguments.seed("seed", seed) for seed in seeds]
    final = curves_of(runs_of(network, rates.tolist(), numbers), store, executor=executor, device="cpu")
    return np.reshape(final, (rates.size, len(numbers)))


def train_rates(network: WidthNetwork, lrs: Sequence[float], seed: int, device: str) -> Array:
    """Final losses (rates,) of a network at several rates from one draw of its weights, inf where they overflow."""
    import torch

    where = resolve_device(device)
    n, layers = network.width, network.hidden_layers
    unit = 1 / n if (network.optimiser, network.parametrisation) == ("adam", "mup") else 1.0
    inputs = torch.tensor(network.X, dtype=torch.float32, device=where)
    targets = torch.tensor(network.y, dtype=torch.float32, device=where)
    step = torch.tensor(np.array(lrs) * unit, dtype=torch.float32, device=where)
    phi = torch.relu if network.activation == "relu" else torch.nn.Identity()
    drawn = initial_weights(n, network.X.shape[1], layers, network.activation, network.parametrisation, seed)
    first, hidden, readout = drawn[0].to(where), [w.to(where) for w in drawn[1]], drawn[2].to(where)
    z0 = inputs @ first.T  # (m, n), never trained
    weights = [w.expand(len(lrs), n, n).clone().requires_grad_() for w in hidden]  # (rates, n, n) each
    runs = partial(_losses, weights, z0, readout, targets, phi)
    _descend(runs, weights, step, network.steps, network.optimiser)
    with torch.no_grad():
        final = runs().double().cpu().numpy()
    return np.where(np.isfinite(final), final, np.inf)


def initial_weights(
    n: int, d: int, layers: int, activation: str, parametrisation: str, seed: int
) -> tuple[torch.Tensor, list[torch.Tensor], torch.Tensor]:
    """Weights of one network: read-in (n, d), the hidden matrices (n, n), readout (n,)."""
    import torch

    rng = np.random.default_rng([arguments.seed("seed", seed), n])
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

    rates = step[:, None, None]
    moments = [(torch.zeros_like(w), torch.zeros_like(w)) for w in weights] if optimiser == "adam" else []
    for t in range(1, count + 1):
        gradients = torch.autograd.grad(runs().sum(), weights)
        with torch.no_grad():
            for k, (w, g) in enumerate(zip(weights, gradients, strict=True)):
                if optimiser == "gd":
                    sgd_(w, g, rates)
                else:
                    adam_(w, g, rates, moments[k], t)
