"""What the residual blocks contribute, and which of a block's two matrices learns: trained and taken apart."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lrtransfer.residual.data import load
from lrtransfer.residual.settings import NetworkSettings, ResNet

if TYPE_CHECKING:
    from torch import Tensor

Array = NDArray[np.float64]


@dataclass(frozen=True)
class BlockWork:
    """Blocks of networks of several depths, before and after training; all arrays (depths, seeds).

    ``start``: root mean square, over images and units, of what the blocks add to the stream, h^L - h^0, before
    training. ``learnt``: of its change by training. ``read_in``: of the change of h^0. ``loss``: after training, in
    nats. ``without``: the same trained network with its blocks taken out.
    """

    start: Array
    learnt: Array
    read_in: Array
    loss: Array
    without: Array


@dataclass(frozen=True)
class InnerWork:
    """The two convolutions of the middle block, after training; all arrays (depths, seeds), root mean squares.

    ``own``: change of the first one's output by the change of its own weights. ``inherited``: change of that output
    because the block's input changed, weights held. ``outer``: change of the second one's output by its own
    weights. ``stream``: change of the stream after the last block.
    """

    own: Array
    inherited: Array
    outer: Array
    stream: Array


def block_work(
    settings: NetworkSettings, depths: Sequence[int], lr: float, *, steps: int, seeds: int, images: int = 128
) -> BlockWork:
    """Train networks of several depths on one fixed batch by full-batch steps, then take them apart.

    ``settings``: any network; its depth, steps and batch are replaced. ``lr``: base rate.
    Returns ``BlockWork``. Raises ``ValueError`` as the settings do.
    """
    import torch
    import torch.nn.functional as F

    rows = []
    for depth in depths:
        for seed in range(seeds):
            network, x, y = _fresh(settings, depth, steps, images, seed)
            with torch.no_grad():
                before = _ends(network, x)
            _descend(network, x, y, replace(settings, depth=depth), lr, steps, 0.0)
            with torch.no_grad():
                after = _ends(network, x)
                loss, without = (float(F.cross_entropy(network.head(h), y)) for h in (after[1], after[0]))
            added = [top - bottom for bottom, top in (before, after)]
            rows.append(
                (_rms(added[0]), _rms(added[1] - added[0]), _rms(after[0] - before[0]), loss, without),
            )
    columns = np.array(rows).reshape(len(depths), seeds, 5)
    return BlockWork(*np.moveaxis(columns, -1, 0))


def inner_work(
    settings: ResNet, depths: Sequence[int], lr: float, *, steps: int, seeds: int, boost: float = 0.0, images: int = 64
) -> InnerWork:
    """Train networks of two convolutions a block on one fixed batch, and see which of them learns.

    ``settings``: a ``ResNet`` without normalisation. ``boost``: exponent b of a factor L^b on the rate of the first
    convolutions. Others: ``block_work``. Returns ``InnerWork``. Raises ``ValueError`` as the settings do.
    """
    import torch

    rows = []
    for depth in depths:
        for seed in range(seeds):
            network, x, y = _fresh(settings, depth, steps, images, seed)
            middle: Any = network.blocks[(depth - 1) // 2]
            act, first, _, second = middle.branch
            with torch.no_grad():
                was = [layer.weight.clone() for layer in (first, second)]
                into, _, top = _middle(network, x, middle)
                old = act(into)
            _descend(network, x, y, replace(settings, depth=depth), lr, steps, boost)
            with torch.no_grad():
                into, hidden, now = _middle(network, x, middle)
                new = act(into)
                own = first(new)
                outer = second(hidden) / second.scale.multiplier  # in units of the convolution, without 1/sqrt(L)
                for layer, weight in zip((first, second), was, strict=True):
                    layer.weight.copy_(weight)
                own = own - first(new)
                outer = (outer - second(hidden) / second.scale.multiplier) / math.sqrt(9 * settings.width)
                rows.append((_rms(own), _rms(first(new - old)), _rms(outer), _rms(now - top)))
    columns = np.array(rows).reshape(len(depths), seeds, 4)
    return InnerWork(*np.moveaxis(columns, -1, 0))


def _fresh(settings: NetworkSettings, depth: int, steps: int, images: int, seed: int) -> tuple[Any, Tensor, Tensor]:
    import torch

    from lrtransfer.residual.modules import build, initialise

    data = load(settings.data)
    network = build(replace(settings, depth=depth, steps=steps, batch=images), data.shape, data.classes)
    initialise(network, seed)
    return network, torch.tensor(np.asarray(data.train_x[:images])), torch.tensor(data.train_y[:images])


def _descend(
    network: Any, x: Tensor, y: Tensor, settings: NetworkSettings, lr: float, steps: int, boost: float
) -> None:
    import torch
    import torch.nn.functional as F

    from lrtransfer.residual.modules import parameter_groups, scaled_parameters

    groups = parameter_groups(network, settings, lr)
    for group, (_, layer) in zip(groups, scaled_parameters(network), strict=True):
        if layer.role == "inner":
            group["lr"] *= settings.depth**boost
    by = torch.optim.SGD(groups, lr=lr)
    with torch.enable_grad():
        for _ in range(steps):
            by.zero_grad()
            F.cross_entropy(network(x), y).backward()
            by.step()


def _ends(network: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    """The stream before and after the blocks."""
    if network.images:
        x = x.reshape(-1, *network.shape).movedim(-1, 1)
    bottom = network.read_in(x)
    return bottom, network.blocks(bottom)


def _middle(network: Any, x: Tensor, block: Any) -> tuple[Tensor, Tensor, Tensor]:
    """Input of a block, what its second convolution reads, and the stream after the last block."""
    seen: dict[str, Tensor] = {}
    hooks = [
        block.register_forward_pre_hook(lambda _m, inputs: seen.update(into=inputs[0])),
        block.branch[3].register_forward_pre_hook(lambda _m, inputs: seen.update(hidden=inputs[0])),
    ]
    _, top = _ends(network, x)
    for hook in hooks:
        hook.remove()
    return seen["into"], seen["hidden"], top


def _rms(values: Tensor) -> float:
    return float(values.double().square().mean().sqrt())
