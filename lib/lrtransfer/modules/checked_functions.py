"""Checks of the functions that a reader hands to a coordinate check or a rate sweep, and of what they return."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import nn

from lrtransfer.numerics.arguments import count, function, refuse

if TYPE_CHECKING:
    from torch import Tensor
    from torch.optim import Optimizer

BUILD = "a function that returns a freshly initialised torch.nn.Module"
LOSS = "a function of a model and a batch that returns a scalar tensor"
OPTIMISER = "a function of a model that returns an optimiser, such as a torch.optim.SGD"
START = "None or a function of a model and a seed that draws the weights"
TRAIN = "a function of a model and a rate that trains it and returns its loss"
WATCH = "None or a function of a model that returns modules by name"


def check_functions(**given: tuple[object, str]) -> None:
    """Refuse what is no function, or is a model: models can be called, but are none of these functions.

    Parameters
    ----------
    **given
        by argument: the value, and what is allowed in words

    Raises
    ------
    ValueError
        naming the argument.
    """
    for name, (value, allowed) in given.items():
        function(name, value, allowed)
        if isinstance(value, nn.Module):
            raise refuse(name, f"a {type(value).__name__}", allowed)


def checked_sizes(sizes: Sequence[int]) -> list[int]:
    """Sizes as a list.

    Parameters
    ----------
    sizes
        two or more increasing whole numbers from 1

    Returns
    -------
    list of int

    Raises
    ------
    ValueError
        for others.
    """
    allowed = "a list of two or more increasing whole numbers"
    try:
        entries = list(sizes)
    except TypeError:
        raise refuse("sizes", sizes, allowed) from None
    numbers = [count("sizes", size, minimum=1) for size in entries]
    if len(numbers) < 2 or any(b <= a for a, b in pairwise(numbers)):
        raise refuse("sizes", entries, allowed)
    return numbers


def checked_model(network: object, call: str) -> nn.Module:
    """What ``build`` returned, if it is a model.

    Parameters
    ----------
    network
        what it returned
    call
        how it was called, to name it in the refusal

    Returns
    -------
    Module

    Raises
    ------
    ValueError
        for anything else.
    """
    if not isinstance(network, nn.Module):
        raise refuse(call, network, "a torch.nn.Module")
    return network


def checked_optimiser(made: object) -> Optimizer:
    """What ``optimiser`` returned, if it can step.

    Parameters
    ----------
    made
        what it returned

    Returns
    -------
    Optimizer

    Raises
    ------
    ValueError
        for anything else, such as several optimisers.
    """
    if isinstance(made, tuple | list | dict):
        raise refuse(
            "optimiser(model)",
            f"a {type(made).__name__} of {len(made)}",
            "one optimiser, such as a torch.optim.SGD; parameters with rates of their own are groups of it",
        )
    if isinstance(made, type) or not all(callable(getattr(made, name, None)) for name in ("step", "zero_grad")):
        raise refuse("optimiser(model)", made, "an optimiser, such as a torch.optim.SGD")
    return made  # type: ignore[return-value]


def checked_seeds(seeds: int | Sequence[int]) -> list[int]:
    """Seeds as a list.

    Parameters
    ----------
    seeds
        a number of seeds, at least 1, or different whole numbers from 0 to 2^63 - 1

    Returns
    -------
    list of int

    Raises
    ------
    ValueError
        for others.
    """
    allowed = "a number of seeds, at least 1, or a list of different whole numbers from 0, such as range(3)"
    if isinstance(seeds, int | np.integer) and not isinstance(seeds, bool):
        return list(range(count("seeds", seeds, minimum=1)))
    try:
        entries = list(seeds)  # type: ignore[arg-type]
    except TypeError:
        raise refuse("seeds", seeds, allowed) from None
    numbers = [count("seeds", seed, maximum=2**63 - 1) for seed in entries]
    if not numbers or len(set(numbers)) < len(numbers) or isinstance(seeds, str):
        raise refuse("seeds", seeds, allowed)
    return numbers


def checked_loss(value: object) -> Tensor:
    """What ``loss`` returned, if it is one number that can be differentiated.

    Parameters
    ----------
    value
        what it returned

    Returns
    -------
    Tensor
        of one entry.

    Raises
    ------
    ValueError
        for anything else; one without a gradient passes where gradients are turned off.
    """
    if not isinstance(value, torch.Tensor):
        raise refuse("loss(model, batch)", value, "a scalar tensor")
    if value.numel() != 1:
        raise refuse("loss(model, batch)", f"a tensor of shape {tuple(value.shape)}", "a scalar tensor")
    if torch.is_grad_enabled() and not value.requires_grad:
        raise refuse("loss(model, batch)", value.item(), "a scalar tensor with a gradient")
    return value


def checked_watch(watch: Callable[[nn.Module], Any], network: nn.Module) -> Mapping[str, nn.Module]:
    """What ``watch`` returned, if it is modules by name.

    Parameters
    ----------
    watch
        the function
    network
        to call it with

    Returns
    -------
    mapping of str to Module

    Raises
    ------
    ValueError
        for anything else.
    """
    found = watch(network)
    if not isinstance(found, Mapping) or not all(isinstance(module, nn.Module) for module in found.values()):
        raise refuse("watch(model)", found, "a mapping from names to modules of the model")
    return found


def final_loss(value: Any) -> float:
    """What ``train`` returned as a number.

    Parameters
    ----------
    value
        a number, or a tensor or array of one entry

    Returns
    -------
    float
        inf for NaN and -inf too.

    Raises
    ------
    ValueError
        for anything else.
    """
    allowed = "a loss, one number (NaN or inf where the training diverged)"
    try:
        if isinstance(value, str | bool):
            raise TypeError
        number = float(value.detach() if isinstance(value, torch.Tensor) else value)
    except (TypeError, ValueError, RuntimeError):  # None, a list, a tensor of several entries
        raise refuse("train(model, lr)", value, allowed) from None
    return number if math.isfinite(number) else math.inf
