"""Many runs of any network as one program: stacked parameters, per-run rates.

All parameters of R runs lie in one tensor (R, P). The forward pass is ``torch.func.vmap`` of the module over the
runs; the gradient of the sum of the R losses is then every run's own gradient, and an update is a few elementwise
operations on the whole tensor. One run alone goes through the module without vmap.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.func import functional_call, vmap

from lrtransfer.images.dataset import Dataset
from lrtransfer.residual.networks.settings import NetworkSettings
from lrtransfer.residual.networks.torch_networks import Network, Norm, build, draws, scaled_parameters
from lrtransfer.sweeps.optimisers import adam_, sgd_, shrink_

EVALUATED_AT_ONCE = 1000  # points; more are evaluated in parts, so that memory does not grow with them


class _Loss(nn.Module):
    """Mean cross-entropy () of a batch, and zero, or NaN if the stream overflowed.

    The stream is looked at because relu(-inf) = 0 would hide an overflow from the loss.
    """

    def __init__(self, network: Network):
        super().__init__()
        self.network = network

    def forward(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        stream = self.network.stream(x)
        logits = self.network.head(stream)
        # Classes first: along a short last axis log_softmax is slow, see network.
        log_p = logits.float().mT.contiguous().log_softmax(0)  # (C, B)
        loss = -log_p.gather(0, y[None]).mean()
        return loss, 0 * stream.detach().sum(dtype=torch.float32)


class Stacked:
    """R networks of the same settings, trained together; the state is a few tensors whose first axis is R.

    ``seeds`` (R,): each run's seed. ``precision`` "bf16" autocasts the forward pass, ``compiled`` sends it
    through torch.compile; both are for cuda. See ``runs.Engine`` for what the methods promise.
    """

    def __init__(
        self,
        settings: NetworkSettings,
        data: Dataset,
        seeds: Sequence[int],
        device: torch.device,
        *,
        precision: str = "float32",
        compiled: bool = False,
    ) -> None:
        network = build(settings, data.shape, data.classes)
        unique = sorted(set(seeds))
        flat = torch.stack([torch.cat([value.flatten() for value in draws(network, seed)]) for seed in unique])
        self.settings, self.precision = settings, precision
        self.flat = flat[[unique.index(seed) for seed in seeds]].to(device)  # (R, P)
        self.moments = [torch.zeros_like(self.flat) for _ in range(_moments(settings))]
        self.updates = 0

        layers = scaled_parameters(network)
        names = {id(parameter): f"network.{name}" for name, parameter in network.named_parameters()}
        self.names = [names[id(parameter)] for parameter, _ in layers]
        self.shapes = [parameter.shape for parameter, _ in layers]
        self.sizes = [shape.numel() for shape in self.shapes]
        sgd = settings.optimiser == "sgd"
        factors = [layer.scale.lr_factor if sgd else layer.scale.adam_factor for _, layer in layers]
        self.factor = self._spread(factors, device)  # (P,), rate over the base rate
        decays = [0.0 if isinstance(layer, Norm) else settings.weight_decay for _, layer in layers]
        if sgd:  # the rate factor will multiply the decay, and must not
            decays = [decay / factor for decay, factor in zip(decays, factors, strict=True)]
        self.decay = self._spread(decays, device) if settings.weight_decay else None  # (P,)

        network.channels_last = device.type == "cuda" and len(seeds) == 1
        self.loss = _Loss(network).to(device)  # its own parameters are never used: they are passed in
        self.forward = torch.compile(self._forward) if compiled else self._forward

    def _spread(self, values: Sequence[float], device: torch.device) -> Tensor:
        """One value a parameter to one value an entry (P,)."""
        parts = [torch.full((size,), value) for size, value in zip(self.sizes, values, strict=True)]
        return torch.cat(parts).to(device)

    def _call(self, parameters: list[Tensor], x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        return functional_call(self.loss, dict(zip(self.names, parameters, strict=True)), (x, y))

    def _forward(self, flat: Tensor, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        """Losses and overflow marks (R,), for x (R, B, D) or (B, D), y alike."""
        runs = len(flat)
        parts = flat.split(self.sizes, dim=1)
        shared = x.ndim == 2
        if runs == 1:
            parameters = [part.view(shape) for part, shape in zip(parts, self.shapes, strict=True)]
            loss, mark = self._call(parameters, x if shared else x[0], y if shared else y[0])
            return loss[None], mark[None]
        parameters = [part.view(runs, *shape) for part, shape in zip(parts, self.shapes, strict=True)]
        over = None if shared else 0
        return vmap(self._call, in_dims=(0, over, over))(parameters, x, y)

    def _autocast(self) -> torch.autocast:
        return torch.autocast(self.flat.device.type, dtype=torch.bfloat16, enabled=self.precision == "bf16")

    def step(self, x: Tensor, y: Tensor, lrs: Tensor) -> Tensor:
        """One update at rates ``lrs`` (R,) on x (R, B, D), y (R, B); which runs (R,) stayed finite."""
        leaf = self.flat.detach().requires_grad_()
        with torch.enable_grad(), self._autocast():
            loss, mark = self.forward(leaf, x, y)
            (gradient,) = torch.autograd.grad(loss.sum(), leaf)  # (R, P)
        self.update(gradient, lrs)
        return (loss.detach() + mark + 0 * gradient.sum(1)).isfinite()

    def update(self, gradient: Tensor, lrs: Tensor) -> None:
        """SGD with momentum, or Adam with decoupled weight decay, in place, elementwise (R, P)."""
        self.updates += 1
        rates = lrs[:, None]
        if self.settings.optimiser == "sgd":
            if self.decay is not None:
                gradient = gradient.addcmul_(self.flat, self.decay)
            velocity = self.moments[0] if self.moments else None
            sgd_(self.flat, gradient, rates, factor=self.factor, momentum=self.settings.momentum, velocity=velocity)
            return
        if self.decay is not None:
            shrink_(self.flat, rates, self.decay)
        epsilon = self.settings.adam_epsilon
        adam_(self.flat, gradient, rates, self.moments, self.updates, factor=self.factor, epsilon=epsilon)

    def evaluate(self, x: Tensor, y: Tensor) -> Tensor:
        """Mean loss (R,) on the points x (points, D), y (points,); inf where a run overflowed."""
        total = torch.zeros(len(self.flat), device=self.flat.device)
        with torch.no_grad(), self._autocast():
            for part_x, part_y in zip(x.split(EVALUATED_AT_ONCE), y.split(EVALUATED_AT_ONCE), strict=True):
                loss, mark = self.forward(self.flat, part_x, part_y)
                total += (loss + mark) * (len(part_y) / len(y))
        return torch.where(total.isfinite(), total, torch.inf)

    def keep(self, runs: Tensor) -> None:
        """Let all runs go but these, given by index."""
        self.flat = self.flat[runs]
        self.moments = [moment[runs] for moment in self.moments]

    def state(self) -> dict[str, Tensor]:
        """All that the next step depends on."""
        moments = {f"moment{i}": moment for i, moment in enumerate(self.moments)}
        return {"flat": self.flat, "updates": torch.tensor(self.updates), **moments}

    def load(self, state: dict[str, Tensor]) -> None:
        """Take over a state that ``state`` gave."""
        device = self.flat.device
        self.flat, self.updates = state["flat"].to(device), int(state["updates"])
        self.moments = [state[f"moment{i}"].to(device) for i in range(len(self.moments))]


def _moments(settings: NetworkSettings) -> int:
    """How many averages of the gradient the optimiser keeps."""
    return 2 if settings.optimiser == "adam" else int(settings.momentum > 0)
