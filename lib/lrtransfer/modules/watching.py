"""Watch every part of a torch module: what goes in and comes out of each call, whatever it is wrapped in.

A hook sees a module's output as the module returned it: a tensor, or tensors in tuples, lists, mappings, dataclasses
and other objects. ``tensors_of`` takes those apart, ``watching`` records them, and ``same_random_state`` lets two
passes draw the same random numbers, so that a difference between them is not one of dropout masks.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn


def tensors_of(value: Any, path: str = "") -> Iterator[tuple[str, Tensor]]:
    """The tensors of floating-point numbers in what a module returned, each with its path.

    Parameters
    ----------
    value
        A tensor, or tuples, lists, mappings, dataclasses or plain objects of them, nested as they like.
    path
        What to put before the paths.

    Yields
    ------
    path, tensor
        The path is "" for a tensor alone, else such as "[0][1]" or ".logits". Complex tensors come as pairs of reals.
    """
    seen: set[int] = set()

    def visit(value: Any, path: str) -> Iterator[tuple[str, Tensor]]:
        if isinstance(value, Tensor):
            if value.is_complex():
                yield path, torch.view_as_real(value)
            elif value.is_floating_point() and value.numel():
                yield path, value.to_dense() if value.layout != torch.strided else value
            return
        if value is None or isinstance(value, str | bytes | int | float | nn.Module | type) or id(value) in seen:
            return
        seen.add(id(value))
        for step, entry in _entries(value):
            yield from visit(entry, path + step)

    yield from visit(value, path)


def _entries(value: Any) -> Iterator[tuple[str, Any]]:
    if is_dataclass(value):
        yield from ((f".{each.name}", getattr(value, each.name, None)) for each in fields(value))
    elif isinstance(value, Mapping):
        yield from ((f".{key}", entry) for key, entry in value.items())
    elif isinstance(value, tuple) and hasattr(value, "_fields"):  # a named tuple
        yield from ((f".{name}", entry) for name, entry in zip(value._fields, value, strict=True))
    elif isinstance(value, tuple | list):
        yield from ((f"[{i}]", entry) for i, entry in enumerate(value))
    elif hasattr(value, "__dict__"):
        yield from ((f".{name}", entry) for name, entry in vars(value).items())


@dataclass
class Place:
    """What was seen at a module during a pass.

    Attributes
    ----------
    outputs
        One mapping a call, in order: path of a tensor to a copy of it.
    inputs
        Positional and keyword arguments of the last call, tensors copied; None unless asked for.
    state
        Of torch's generator when the last call began; None unless inputs are asked for.
    """

    outputs: list[dict[str, Tensor]] = field(default_factory=list)
    inputs: tuple[tuple[Any, ...], dict[str, Any]] | None = None
    state: Tensor | None = None

    def again(self, module: nn.Module) -> dict[str, Tensor]:
        """What the module puts out now for the inputs and the random numbers of its last call.

        Parameters
        ----------
        module
            the one that was watched with its inputs

        Returns
        -------
        dict of str to Tensor
            by path, as in ``outputs``.
        """
        positional, named = self.inputs or ((), {})
        with torch.no_grad(), torch.random.fork_rng(devices=[]):
            if self.state is not None:
                torch.set_rng_state(self.state)
            return dict(tensors_of(module(*positional, **named)))


@contextmanager
def watching(modules: Mapping[str, nn.Module], *, inputs: bool = False) -> Iterator[dict[str, Place]]:
    """Record what modules put out while the block runs; outputs are copied at once, before anything alters them.

    Parameters
    ----------
    modules
        By name; one module may have several names.
    inputs
        Whether to keep the arguments of the last call too.

    Yields
    ------
    places
        Filled while the block runs, in the order in which modules finish their first call; a module that is not called
        is not there.
    """
    seen: dict[str, Place] = {}
    begun: dict[str, Tensor] = {}  # apart, for an outer module begins before those inside it and ends after them

    def record(name: str) -> Any:
        def hook(_module: Any, positional: Any, named: Any, output: Any) -> None:
            place = seen.setdefault(name, Place())
            place.outputs.append({path: value.detach().clone() for path, value in tensors_of(output)})
            if inputs:
                place.state = begun.get(name)
                place.inputs = tuple(map(_copy, positional)), {key: _copy(value) for key, value in named.items()}

        return hook

    def begin(name: str) -> Any:
        def hook(_module: Any, _positional: Any) -> None:
            begun[name] = torch.get_rng_state()

        return hook

    hooks = []
    try:
        for name, module in modules.items():
            try:
                if inputs:
                    hooks.append(module.register_forward_pre_hook(begin(name)))
                hooks.append(module.register_forward_hook(record(name), with_kwargs=True))
            except RuntimeError:  # a scripted module takes no hook: it is not seen, and its caller says so
                continue
        yield seen
    finally:
        for hook in hooks:
            hook.remove()


def _copy(value: Any) -> Any:
    return value.detach().clone() if isinstance(value, Tensor) else value


@contextmanager
def same_random_state(seed: int) -> Iterator[None]:
    """Draw from a seed inside the block: torch on every device, NumPy's and Python's global generators.

    All are left as they were. A generator that a module keeps for itself is out of reach.

    Parameters
    ----------
    seed
        a whole number from 0
    """
    devices = list(range(torch.cuda.device_count())) if torch.cuda.is_available() else []
    plain, legacy = random.getstate(), np.random.get_state()  # noqa: NPY002 (a reader's module may draw from it)
    try:
        with torch.random.fork_rng(devices=devices):
            torch.manual_seed(seed)
            random.seed(seed)
            np.random.seed(seed % 2**32)  # noqa: NPY002
            yield
    finally:
        random.setstate(plain)
        np.random.set_state(legacy)  # noqa: NPY002


def size_of(tensors: list[Tensor]) -> float:
    """Root mean square of all entries of tensors.

    Parameters
    ----------
    tensors
        one or more, any shapes

    Returns
    -------
    float
        inf where an entry is not finite: a run overflowed.
    """
    if len(tensors) == 1:
        size = float(tensors[0].double().square().mean().sqrt())
    else:
        squares = sum(float(each.double().square().sum()) for each in tensors)
        size = math.sqrt(squares / sum(each.numel() for each in tensors)) if math.isfinite(squares) else math.inf
    return size if math.isfinite(size) else math.inf


def resolution(tensors: list[Tensor]) -> float:
    """The largest relative rounding error of the tensors' kinds of floating-point numbers.

    Parameters
    ----------
    tensors
        one or more

    Returns
    -------
    float
    """
    return max(torch.finfo(each.dtype).eps for each in tensors)
