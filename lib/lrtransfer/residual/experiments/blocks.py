"""What the residual blocks contribute, and which of a block's two matrices learns: trained and taken apart."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from lrtransfer.images.catalogue import load
from lrtransfer.numerics.arguments import count, finite, one, positive, refuse
from lrtransfer.numerics.arrays import Array
from lrtransfer.residual.networks.settings import NetworkSettings, ResNet, check_settings
from lrtransfer.residual.networks.stepping import optimiser_of, root_mean_square

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True)
class BlockWork:
    r"""Blocks of networks of several depths, before and after training; all arrays (depths, seeds).

    With |.| the root mean square over images and units, b = h^L - h^0 what the blocks add to the stream, subscript 0
    before and T after training:

        ``start`` = |b_0|,  ``learnt`` = |b_T - b_0|,  ``read_in`` = |h^0_T - h^0_0|

    ``loss``: cross-entropy of head(h^L_T) in nats; ``without``: of head(h^0_T), the trained network with its blocks
    taken out. inf where a run overflowed. For many blocks with multiplier L^-a one expects, to first order,
    ``start`` ~ L^(1/2 - a) and ``learnt`` ~ L^(1 - 2a) under SGD. Source: Eqs. 1, 2 and Sec. 4 of the paper.
    """

    start: Array
    learnt: Array
    read_in: Array
    loss: Array
    without: Array


@dataclass(frozen=True)
class InnerWork:
    r"""The two convolutions of the middle block, W_2 phi(W_1 phi(h)), after training; all arrays (depths, seeds).

    With |.| the root mean square, subscript 0 before and T after training, z = phi(h) what the block reads:

        ``own`` = |(W_1T - W_10) z_T|,  ``inherited`` = |W_10 (z_T - z_0)|,  ``stream`` = |h^L_T - h^L_0|,
        ``outer`` = |(W_2T - W_20) phi(W_1T z_T)| / sqrt(9 N), without the branch's L^-1/2

    inf where a run overflowed. ``own`` ~ L^-1/2 under the paper's rates and SGD: the gradient of W_1 carries the
    branch multiplier once. Source: Eq. 1 of the paper; the question is that of arXiv 2512.21075.
    """

    own: Array
    inherited: Array
    outer: Array
    stream: Array


def block_work(
    settings: NetworkSettings,
    depths: Sequence[int],
    lr: float,
    *,
    steps: int,
    seeds: int,
    images: int = 128,
) -> BlockWork:
    """Train networks of several depths on one fixed batch by full-batch steps, then take them apart.

    ``settings``: any network; its depth, steps and batch are replaced, its optimiser, schedule and block rates are
    used. ``lr``: base rate eta_0. ``steps``, ``seeds``, ``images``: how many, 1 at least.
    Returns ``BlockWork``. Raises ``ValueError`` naming the argument.
    """
    import torch
    import torch.nn.functional as F

    check_settings(settings)
    rows = []
    for s, seed in _runs(settings, depths, steps, seeds, images):
        network, x, y = _fresh(s, seed)
        with torch.no_grad():
            before = _ends(network, x)
        _descend(network, x, y, s, lr)
        with torch.no_grad():
            after = _ends(network, x)
            losses = (float(F.cross_entropy(network.head(h), y)) for h in (after[1], after[0]))
            loss, without = (value if math.isfinite(value) else math.inf for value in losses)
        added = [top - bottom for bottom, top in (before, after)]
        sizes = (added[0], added[1] - added[0], after[0] - before[0])
        rows.append((*map(root_mean_square, sizes), loss, without))
    return BlockWork(*np.moveaxis(np.array(rows).reshape(len(depths), seeds, 5), -1, 0))


def inner_work(
    settings: ResNet,
    depths: Sequence[int],
    lr: float,
    *,
    steps: int,
    seeds: int,
    boost: float = 0.0,
    images: int = 64,
) -> InnerWork:
    """Train networks of two convolutions a block on one fixed batch, and see which of them learns.

    ``settings``: a ``ResNet`` without normalisation. ``boost``: exponent b of a factor L^b on the rate of the first
    convolutions, beside the settings' own on both. Others: ``block_work``. Returns ``InnerWork``.
    Raises ``ValueError`` naming the argument.
    """
    import torch

    check_settings(settings)
    if not isinstance(settings, ResNet):
        raise refuse("settings", settings, "a ResNet: its blocks have two convolutions")
    if settings.norm is not None:
        raise refuse("settings.norm", settings.norm, "None: a normalisation would rescale what each convolution adds")
    power = one("boost", finite("boost", boost))
    rows = []
    for s, seed in _runs(settings, depths, steps, seeds, images):
        network, x, y = _fresh(s, seed)
        middle: Any = network.blocks[(s.depth - 1) // 2]
        act, first, _, second = middle.branch
        with torch.no_grad():
            was = [layer.weight.clone() for layer in (first, second)]
            into, _, top = _middle(network, x, middle)
            old = act(into)
        _descend(network, x, y, s, lr, {"inner": s.depth**power})
        with torch.no_grad():
            into, hidden, now = _middle(network, x, middle)
            new = act(into)
            own = first(new)
            outer = second(hidden) / second.scale.multiplier  # in units of the convolution, without 1/sqrt(L)
            for layer, weight in zip((first, second), was, strict=True):
                layer.weight.copy_(weight)
            own = own - first(new)
            outer = (outer - second(hidden) / second.scale.multiplier) / math.sqrt(9 * settings.width)
            rows.append(tuple(map(root_mean_square, (own, first(new - old), outer, now - top))))
    return InnerWork(*np.moveaxis(np.array(rows).reshape(len(depths), seeds, 4), -1, 0))


def gradient_sizes(
    settings: NetworkSettings, widths: Sequence[int], *, seeds: int, images: int = 32
) -> dict[str, Array]:
    """Root mean square gradient of the weights of every role before training, on one batch: (widths, seeds) each.

    Gradients are those of the weights as they are stored, which Adam's epsilon is added to. ``settings``: any network,
    whose width is replaced. ``seeds``, ``images``: how many, 1 at least. Raises ``ValueError`` naming the argument.
    """
    import torch
    import torch.nn.functional as F

    from lrtransfer.residual.networks.torch_networks import scaled_parameters

    check_settings(settings)
    found: dict[str, list[list[float]]] = {}
    for width in widths:
        of_width: dict[str, list[float]] = {}
        for s, seed in _runs(replace(settings, width=width), [settings.depth], max(settings.steps, 1), seeds, images):
            network, x, y = _fresh(s, seed)
            F.cross_entropy(network(x), y).backward()
            gradients: dict[str, list[Tensor]] = {}
            for parameter, layer in scaled_parameters(network):
                if parameter.grad is not None:
                    gradients.setdefault(layer.role, []).append(parameter.grad.flatten())
            for role, parts in gradients.items():
                of_width.setdefault(role, []).append(root_mean_square(torch.cat(parts)))
        for role, values in of_width.items():
            found.setdefault(role, []).append(values)
    return {role: np.array(values) for role, values in found.items()}


def _runs(
    settings: NetworkSettings, depths: Sequence[int], steps: int, seeds: int, images: int
) -> list[tuple[NetworkSettings, int]]:
    """Settings and seed of every run, depth by depth."""
    numbers = [count("depths", depth, minimum=1) for depth in depths]
    if not numbers:
        raise refuse("depths", depths, "one or more whole numbers")
    changed: dict[str, Any] = {"steps": count("steps", steps, minimum=1), "batch": count("images", images, minimum=1)}
    if settings.warmup_steps > changed["steps"]:
        raise refuse("steps", steps, f"at least the {settings.warmup_steps} steps of the warm-up")
    draws = range(count("seeds", seeds, minimum=1))
    return [(replace(settings, depth=depth, **changed), seed) for depth in numbers for seed in draws]


def _fresh(settings: NetworkSettings, seed: int) -> tuple[Any, Tensor, Tensor]:
    import torch

    from lrtransfer.residual.networks.torch_networks import build, initialise

    data = load(settings.data)
    network = build(settings, data.shape, data.classes)
    initialise(network, seed)
    first = slice(settings.batch)
    return network, torch.tensor(np.asarray(data.train_x[first])), torch.tensor(data.train_y[first])


def _descend(
    network: Any, x: Tensor, y: Tensor, settings: NetworkSettings, lr: float, factors: Mapping[str, float] | None = None
) -> None:
    import torch
    import torch.nn.functional as F

    rate = one("lr", positive("lr", lr))
    by = optimiser_of(network, settings, rate, factors=factors)
    with torch.enable_grad():
        for _ in range(settings.steps):
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
