"""One network of the book, trained step by step by torch's own optimisers: for checks that look inside it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from lrtransfer.residual.networks.settings import NetworkSettings, schedule_factors

if TYPE_CHECKING:
    from torch import Tensor, nn
    from torch.optim import Optimizer


def optimiser_of(
    network: nn.Module, settings: NetworkSettings, lr: float, *, factors: Mapping[str, float] | None = None
) -> Optimizer:
    """The optimiser that settings name, with every layer's rate and the schedule: SGD with momentum, or AdamW.

    Parameters
    ----------
    network
        built from ``settings``
    settings
        of any kind
    lr
        base rate eta_0
    factors
        by the role of a layer ("branch", "inner", ...), a factor on its rate; None for none

    Returns
    -------
    Optimizer
        it can take the ``steps`` of the settings and no more: the schedule ends there.
    """
    import torch

    from lrtransfer.residual.networks.torch_networks import parameter_groups, scaled_parameters

    groups = parameter_groups(network, settings, lr)
    for group, (_, layer) in zip(groups, scaled_parameters(network), strict=True):
        group["lr"] *= (factors or {}).get(layer.role, 1.0)
    made: Optimizer
    if settings.optimiser == "adam":
        made = torch.optim.AdamW(groups, eps=settings.adam_epsilon)
    else:
        made = torch.optim.SGD(groups, lr=lr, momentum=settings.momentum)
    made.register_step_pre_hook(_scheduled([group["lr"] for group in groups], settings))
    return made


def root_mean_square(values: Tensor) -> float:
    """Root mean square of all entries of a tensor.

    Parameters
    ----------
    values
        any shape

    Returns
    -------
    float
        inf where one is not finite: a run overflowed.
    """
    size = float(values.double().square().mean().sqrt())
    return size if math.isfinite(size) else math.inf


def _scheduled(rates: list[float], settings: NetworkSettings) -> Callable[..., None]:
    """Before every step of an optimiser: its groups' rates times the schedule's next factor."""
    steps = iter(schedule_factors(settings))

    def set_rates(optimiser: Any, _args: Any, _kwargs: Any) -> None:
        factor = float(next(steps))
        for group, rate in zip(optimiser.param_groups, rates, strict=True):
            group["lr"] = rate * factor

    return set_rates
