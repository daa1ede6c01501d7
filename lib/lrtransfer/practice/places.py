"""One network, trained a few steps: how far each of its places has moved, and why some places say nothing."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from lrtransfer.modules.checked_functions import checked_loss, checked_optimiser
from lrtransfer.modules.watching import Place, resolution, same_random_state, size_of, watching
from lrtransfer.numerics.arguments import refuse

if TYPE_CHECKING:
    from torch import Tensor
    from torch.optim import Optimizer

OUTPUT, LOSS = "output", "loss"
_LOSS = "()"  # the loss among modules by their paths, which have no such name
_GATHERING = (nn.ModuleList, nn.ModuleDict, nn.ParameterList, nn.ParameterDict)  # hold others and are not called
_NOISE = 1e-5  # relative: two equal passes differ by less, also where sums are taken in another order
_ROUNDINGS = 8.0  # changes below so many roundings are none
_PASS = 12345  # the random numbers of a pass


@dataclass(frozen=True)
class Movement:
    """Changes by place, 0 where nothing moved and inf after an overflow, and reasons by unwatched place."""

    changes: dict[str, float]
    unwatched: dict[str, str]


Loss = Callable[[nn.Module, Any], "Tensor"]


def movement(
    network: nn.Module,
    batch: Any,
    loss: Loss,
    optimiser: Callable[[nn.Module], Optimizer],
    steps: int,
    seed: int,
) -> Movement:
    """Train a network for ``steps`` updates on one batch and compare what every module puts out before and after.

    Both passes draw the same random numbers. Two passes before the training must agree; ``ValueError`` names the module
    where they begin to differ. A run whose loss or weights overflow counts as an infinite change of all places.
    """
    first, second = one_pass(network, batch, loss), one_pass(network, batch, loss)
    _agree(network, first, second)
    by = _checked(optimiser(network), network)
    with same_random_state(seed):
        sound = _train(network, batch, loss, by, steps)
    after = one_pass(network, batch, loss) if sound else None
    changes: dict[str, float] = {}
    unwatched = {
        _shown(name): "it is not called"
        for name, module in network.named_modules()
        if name not in first and not isinstance(module, _GATHERING)
    }
    for name, place in first.items():
        shown = _shown(name)
        if not any(place.outputs):
            unwatched[shown] = "it puts out no floating-point tensor"
        elif after is None:
            changes |= dict.fromkeys(_leaves(shown, place), math.inf)
        elif name not in after or _shapes(after[name]) != _shapes(place):
            unwatched[shown] = "the shapes that it puts out, or its calls, change by the training"
        else:
            changes |= {leaf: _change(*pair) for leaf, pair in _pairs(shown, place, after[name]).items()}
    return Movement(changes, unwatched)


def _shown(name: str) -> str:
    """What a module at a path is called in the result; a module may have the name of the whole's output."""
    if name == _LOSS:
        return LOSS
    return OUTPUT if not name else f"{name} (module)" if name in (OUTPUT, LOSS) else name


def one_pass(network: nn.Module, batch: Any, loss: Loss) -> dict[str, Place]:
    """What every module, "" being the network itself, and the loss put out; each pass draws the same numbers."""
    with watching(dict(network.named_modules())) as seen, torch.no_grad(), same_random_state(_PASS):
        value = checked_loss(loss(network, batch))
    return seen | {_LOSS: Place([{"": value.detach().clone()}])}


def _train(network: nn.Module, batch: Any, loss: Loss, by: Optimizer, steps: int) -> bool:
    """Whether loss and weights stayed finite."""
    for _ in range(steps):
        by.zero_grad()
        value = checked_loss(loss(network, batch))
        if not torch.isfinite(value).all():
            return False
        value.backward()
        by.step()
    return all(bool(torch.isfinite(each).all()) for each in network.parameters())


def _checked(made: object, network: nn.Module) -> Optimizer:
    by = checked_optimiser(made)
    held = {id(each) for group in by.param_groups for each in group["params"]}
    if not held & {id(each) for each in network.parameters()}:
        allowed = "an optimiser of the parameters of the model that it is given"
        raise refuse("optimiser(model)", f"{type(by).__name__} without them", allowed)
    return by


def _agree(network: nn.Module, first: dict[str, Place], second: dict[str, Place]) -> None:
    """Refuse a network whose two untrained passes differ, naming the first module, innermost first, that does."""
    kinds = {name: type(module).__name__ for name, module in network.named_modules()}
    for name, place in first.items():
        same = name in second and _shapes(second[name]) == _shapes(place)
        if same and all(_equal(*pair) for pair in _pairs(name, place, second[name]).values()):
            continue
        what = f"module {name!r} ({kinds[name]})" if kinds.get(name) and name else "the model itself"
        what = "the loss, outside of the model" if name == _LOSS else what
        raise ValueError(
            f"two passes of the untrained model under one random state differ, first in {what}: it keeps random "
            "numbers or a state of its own from pass to pass, so a change could not be told from chance. Use torch's "
            "global generator there, or put it in its evaluation mode, in build."
        )


def _shapes(place: Place) -> list[dict[str, torch.Size]]:
    return [{path: value.shape for path, value in call.items()} for call in place.outputs]


Pair = tuple[list["Tensor"], list["Tensor"]]


def _leaves(name: str, place: Place) -> list[str]:
    paths = list(dict.fromkeys(path for call in place.outputs for path in call))
    return [name] if len(paths) == 1 else [name, *(name + path for path in paths)]


def _pairs(name: str, before: Place, after: Place) -> dict[str, Pair]:
    """Tensors before and after, of all calls: of a place as a whole, and of each path where there are several."""

    def gathered(place: Place, path: str | None) -> list[Tensor]:
        return [value for call in place.outputs for key, value in call.items() if path in (None, key)]

    leaves = _leaves(name, before)
    of = {leaf: None if leaf == name else leaf[len(name) :] for leaf in leaves}
    return {leaf: (gathered(before, path), gathered(after, path)) for leaf, path in of.items()}


def _equal(before: list[Tensor], after: list[Tensor]) -> bool:
    a, b = size_of(before), size_of(after)
    if not (math.isfinite(a) and math.isfinite(b)):
        return math.isfinite(a) == math.isfinite(b)
    return size_of([y - x for x, y in zip(before, after, strict=True)]) <= _NOISE * max(a, b)


def _change(before: list[Tensor], after: list[Tensor]) -> float:
    """Root mean square of the change; 0 where it is within rounding."""
    size = size_of([y - x for x, y in zip(before, after, strict=True)])
    return 0.0 if size <= _ROUNDINGS * resolution(before) * size_of(before) and math.isfinite(size) else size
