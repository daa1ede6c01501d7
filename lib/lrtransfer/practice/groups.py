"""Optimiser groups and first weights for a model from a small one of its family, with the rule behind each number."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from lrtransfer.numerics.arguments import choice, finite, one, positive
from lrtransfer.practice.rules import OPTIMISERS, requirements, rule
from lrtransfer.sweeps.devices import required_torch

if TYPE_CHECKING:
    from torch import nn


class ParameterGroups(list[dict[str, Any]]):
    """Groups for an optimiser of ``torch.optim``, with what else they take.

    Beside "params", "lr", "weight_decay" and (Adam) "eps" a group has "role", "names" and "rule", which optimisers keep
    and do not use.

    Attributes
    ----------
    requires
        Sentences: multipliers that the model's forward pass must have, which no group can give it.
    """

    requires: tuple[str, ...] = ()

    def as_table(self) -> list[dict[str, Any]]:
        """One dictionary a group: role, rate, its factor, weight decay, epsilon, factor of the first weights, rule."""
        shown = ("role", "lr", "factor", "weight_decay", "eps", "std", "rule")
        return [{key: group[key] for key in shown if key in group} | {"names": group["names"]} for group in self]

    def __str__(self) -> str:
        lines = [f"{'role':14}{'rate':>11}{'factor':>9}{'decay':>10}{'epsilon':>10}  rule; parameters"]
        for group in self:
            numbers = f"{group['lr']:11.4g}{group['factor']:9.4g}{group['weight_decay']:10.3g}"
            epsilon = f"{group['eps']:10.3g}" if "eps" in group else f"{'-':>10}"
            names = group["names"]
            some = ", ".join(names[:2]) + (f" and {len(names) - 2} more" if len(names) > 2 else "")
            lines.append(f"{group['role']:14}{numbers}{epsilon}  {group['rule']}; {some}")
        return "\n".join([*lines, *(f"the model must: {need}" for need in self.requires)])


def parameter_groups(
    model: nn.Module,
    base: nn.Module,
    *,
    optimiser: str = "adam",
    lr: float,
    depth_ratio: float = 1.0,
    weight_decay: float = 0.0,
    epsilon: float = 1e-8,
    branch: float | None = None,
    roles: Mapping[str, str] | None = None,
) -> ParameterGroups:
    """Groups for an optimiser, so that rates tuned on a small model serve a wide or deep one of the same family.

    Which dimensions grew says what a parameter is; ``practice.rules`` has the table. Nothing is rescaled here: call
    ``initialise(model, base)`` once, before training, and heed what ``requires`` asks of the forward pass.

    Parameters
    ----------
    model, base
        Modules of one family: the same names, other widths. ``base`` is where the rates were tuned. It may have fewer
        blocks.
    optimiser
        "sgd", "adam" or "adamw". Decay is meant decoupled, as AdamW's.
    lr, weight_decay, epsilon
        The base's rate, weight decay (per unit of it) and Adam's epsilon.
    depth_ratio
        The model's depth over the base's.
    branch
        The exponent a of the residual branches' multiplier depth^-a in the forward pass; by default 1/2 for SGD, 1 for
        Adam: those under which block rates stay.
    roles
        Roles by name, or pattern such as "*.scale", for parameters that shapes cannot tell.

    Returns
    -------
    ParameterGroups
        A list to give to ``torch.optim``; print it.

    Raises
    ------
    ValueError
        Naming a bad argument, or a parameter that cannot be classified and how to name its role.
    """
    required_torch()
    from lrtransfer.practice.roles import weights_of

    by = choice("optimiser", optimiser, OPTIMISERS)
    rate, depth = one("lr", positive("lr", lr)), one("depth_ratio", positive("depth_ratio", depth_ratio))
    decay = one("weight_decay", finite("weight_decay", weight_decay, minimum=0.0))
    small = one("epsilon", positive("epsilon", epsilon))
    groups: dict[Any, dict[str, Any]] = {}
    widest = 1.0
    for weight in weights_of(model, base, depth, roles):
        found = rule(
            weight.role,
            by,
            fan_in=weight.fan_in,
            fan_out=weight.fan_out,
            depth=depth,
            in_block=weight.in_block,
            branch=branch,
        )
        widest = max(widest, weight.fan_in, weight.fan_out)
        if (weight.role, found) not in groups:
            groups[weight.role, found] = {
                "params": [],
                "lr": rate * found.lr,
                "weight_decay": decay / found.lr if found.decays else 0.0,
                **({} if by == "sgd" else {"eps": small * found.epsilon}),
                "role": weight.role,
                "names": [],
                "rule": found.why,
                "factor": found.lr,
                "std": found.std,
            }
        groups[weight.role, found]["params"].append(weight.parameter)
        groups[weight.role, found]["names"].append(weight.names[0])
    made = ParameterGroups(groups.values())
    tied = any(group["role"] == "tied" for group in made)
    made.requires = tuple(requirements(by, width=widest, depth=depth, branch=branch, tied=tied))
    return made


def initialise(
    model: nn.Module, base: nn.Module, *, depth_ratio: float = 1.0, roles: Mapping[str, str] | None = None
) -> nn.Module:
    """Rescale the first weights of a model, in place, to what the width asks for.

    Each parameter is multiplied so that its root mean square is that of the base's parameter times the rule's factor:
    fan-in^(-1/2) for hidden matrices, 1/fan-in for heads, 1 for the rest; among them the head's bias, which torch draws
    smaller the wider its layer. Constant ones (zeros, gains of one) stay, and a model of the base's own shapes does.

    Parameters
    ----------
    model, base
        As for ``parameter_groups``, both freshly drawn. Draw ``base`` once: its scales are taken as they come.
    depth_ratio, roles
        As for ``parameter_groups``. Multipliers of branches belong in the forward pass, not here.

    Returns
    -------
    Module
        The model.

    Raises
    ------
    ValueError
        As ``parameter_groups``.
    """
    torch = required_torch()
    from lrtransfer.practice.roles import weights_of

    depth = one("depth_ratio", positive("depth_ratio", depth_ratio))
    weights = weights_of(model, base, depth, roles)
    if all(weight.parameter.shape == weight.partner.shape for weight in weights):
        return model
    with torch.no_grad():
        for weight in weights:
            now, first = (float(each.double().square().mean().sqrt()) for each in (weight.parameter, weight.partner))
            constant = bool((weight.parameter == weight.parameter.reshape(-1)[0]).all())
            if constant or not now or not first:
                continue
            factor = rule(weight.role, "sgd", fan_in=weight.fan_in, fan_out=weight.fan_out).std
            weight.parameter.mul_(first * factor / now)
    return model
