"""The four networks as torch modules: each layer knows its scale, each block adds its branches to the stream.

B is the batch, D the input dimension, N the width, L the depth, C the number of classes, T the number of
tokens, (H, W) the positions of an image. Every network maps flat images (B, D) to logits (B, C) and has the
parts ``read_in``, ``blocks`` (stream to stream) and ``head``, so that hooks find the same places in all of them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from lrtransfer.numerics.random import stream
from lrtransfer.residual.networks.parametrisation import LayerScale, branch_multiplier, layer_scale
from lrtransfer.residual.networks.settings import ConvNet, NetworkSettings, ResidualMLP, ResNet, VisionTransformer

Shape = tuple[int, int, int]  # height, width, channels


class Scaled(nn.Module):
    """A weight with its scale; ``key`` names its random draw (see ``numerics.random.stream``)."""

    def __init__(self, s: NetworkSettings, role: str, shape: tuple[int, ...], fan_in: int, key: tuple[int, ...]):
        super().__init__()
        self.scale: LayerScale = layer_scale(
            role,
            s.parametrisation,
            s.width,
            s.depth,
            fan_in,
            gamma0=s.gamma0,
            branch=s.branch,
            block_rate=s.block_rate,
        )
        self.role, self.key = role, key
        self.weight = nn.Parameter(torch.zeros(shape))

    def scaled(self) -> Tensor:
        """The weight times its multiplier."""
        return self.weight * self.scale.multiplier


class Linear(Scaled):
    """(..., fan_in) -> (..., out), no bias."""

    def __init__(self, s: NetworkSettings, role: str, out: int, fan_in: int, key: tuple[int, ...]):
        super().__init__(s, role, (out, fan_in), fan_in, key)

    def forward(self, x: Tensor) -> Tensor:
        """Matrix product with the scaled weight."""
        return F.linear(x, self.scaled())


class Conv(Scaled):
    """3 x 3 convolution (B, in, H, W) -> (B, out, H / stride, W / stride), zero padding, no bias."""

    def __init__(
        self, s: NetworkSettings, role: str, out: int, channels: int, key: tuple[int, ...], stride: int = 1
    ) -> None:
        super().__init__(s, role, (out, channels, 3, 3), 9 * channels, key)
        self.stride = stride

    def forward(self, x: Tensor) -> Tensor:
        """Convolution with the scaled weight."""
        return F.conv2d(x, self.scaled(), stride=self.stride, padding=1)


class Norm(nn.Module):
    """Batch norm, or layer norm over the N channels at every position, with gain and bias if affine.

    ``images``: channels stand first (B, N, H, W) rather than last (B, T, N). ``depth``: of the network whose
    branches it is in, 1 in front of the readout.
    """

    def __init__(self, s: NetworkSettings, how: str, affine: bool, depth: int, *, images: bool):
        super().__init__()
        self.how, self.images, self.width, self.role = how, images, s.width, "gain"
        c = s.block_rate
        self.scale = layer_scale("gain", s.parametrisation, s.width, depth, 1, gamma0=s.gamma0, block_rate=c)
        self.weight = nn.Parameter(torch.ones(s.width)) if affine else None
        self.bias = nn.Parameter(torch.zeros(s.width)) if affine else None

    def forward(self, x: Tensor) -> Tensor:
        """Normalised x, by the statistics of the batch at hand or of every position."""
        if self.how == "batch":
            return F.batch_norm(x, None, None, self.weight, self.bias, training=True)
        x = x.movedim(1, -1) if self.images else x
        x = F.layer_norm(x, (self.width,), self.weight, self.bias)
        return x.movedim(-1, 1) if self.images else x


def activation(name: str) -> nn.Module:
    """The activation as a module without parameters."""
    return {"relu": nn.ReLU, "tanh": nn.Tanh, "linear": nn.Identity, "gelu": nn.GELU}[name]()


class Residual(nn.Module):
    """x -> x + multiplier * branch(x); the multiplier is 1 where the branch's last matrix carries it."""

    def __init__(self, *branch: nn.Module, multiplier: float = 1.0):
        super().__init__()
        self.branch, self.multiplier = nn.Sequential(*branch), multiplier

    def forward(self, h: Tensor) -> Tensor:
        """The stream after this block."""
        return torch.add(h, self.branch(h), alpha=self.multiplier)


class Attention(nn.Module):
    """Multi-head self-attention (B, T, N) -> (B, T, N) with logits q . k / d_head."""

    def __init__(self, s: VisionTransformer, layer: int):
        super().__init__()
        self.heads = s.heads
        self.qkv = Linear(s, "inner", 3 * s.width, s.width, (1, layer, 0))
        self.out = Linear(s, "branch", s.width, s.width, (1, layer, 1))

    def forward(self, x: Tensor) -> Tensor:
        """Every token attends to all tokens."""
        batch, tokens, n = x.shape
        d_head = n // self.heads
        q, k, v = self.qkv(x).view(batch, tokens, 3, self.heads, d_head).permute(2, 0, 3, 1, 4)  # 3 x (B, heads, T, d)
        mixed = torch.softmax(q @ k.mT / d_head, dim=-1) @ v  # (B, heads, T, d)
        return self.out(mixed.transpose(1, 2).reshape(batch, tokens, n))


class Network(nn.Module):
    """Read-in, blocks and head of any of the four networks; ``shape`` is (height, width, channels)."""

    def __init__(self, read_in: nn.Module, blocks: list[nn.Module], head: nn.Module, shape: Shape, images: bool):
        super().__init__()
        self.read_in, self.blocks, self.head = read_in, nn.Sequential(*blocks), head
        self.shape, self.images, self.channels_last = shape, images, False

    def stream(self, x: Tensor) -> Tensor:
        """The stream after the last block, for flat images x (B, D)."""
        if self.images:
            x = x.reshape(-1, *self.shape).movedim(-1, 1)  # (B, channels, height, width)
            x = x.contiguous(memory_format=torch.channels_last) if self.channels_last else x
        return self.blocks(self.read_in(x))

    def forward(self, x: Tensor) -> Tensor:
        """Logits (B, C) for flat images x (B, D)."""
        return self.head(self.stream(x))


class Patches(nn.Module):
    """Flat images (B, D) to tokens (B, T, N): square patches through one matrix, plus a learnt position."""

    def __init__(self, s: VisionTransformer, shape: Shape):
        super().__init__()
        height, width, channels = shape
        self.shape, self.patch = shape, s.patch
        tokens = (height // s.patch) * (width // s.patch)
        self.embed = Linear(s, "read_in", s.width, s.patch**2 * channels, (0,))
        self.position = Scaled(s, "read_in", (tokens, s.width), 1, (4,))

    def forward(self, x: Tensor) -> Tensor:
        """One token a patch."""
        (height, width, channels), p = self.shape, self.patch
        x = x.reshape(-1, height // p, p, width // p, p, channels).transpose(2, 3)  # (B, H/p, W/p, p, p, channels)
        return self.embed(x.reshape(len(x), -1, p * p * channels)) + self.position.scaled()  # (B, T, N)


class Mean(nn.Module):
    """Mean over one axis: over tokens (1), or over the flattened positions of an image (2)."""

    def __init__(self, axis: int):
        super().__init__()
        self.axis = axis

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, N) -> (B, N) or (B, N, H, W) -> (B, N)."""
        return x.mean(1) if self.axis == 1 else x.flatten(2).mean(2)


def _mlp(s: ResidualMLP, shape: Shape, classes: int) -> Network:
    height, width, channels = shape
    blocks: list[nn.Module] = [
        Residual(activation(s.activation), Linear(s, "branch", s.width, s.width, (1, layer)))
        for layer in range(s.depth)
    ]
    head = nn.Sequential(activation(s.activation), Linear(s, "readout", classes, s.width, (2,)))
    return Network(Linear(s, "read_in", s.width, height * width * channels, (0,)), blocks, head, shape, images=False)


def _conv(s: ConvNet | ResNet, shape: Shape, classes: int) -> Network:
    height, width, channels = shape
    norm = s.norm if isinstance(s, ResNet) else None
    # A normalisation would divide the branch multiplier out again: with one, it is applied behind the branch.
    last, beta = ("branch", 1.0) if norm is None else ("inner", branch_multiplier(s.parametrisation, s.depth, s.branch))
    roles = (last,) if isinstance(s, ConvNet) else ("inner", last)
    blocks: list[nn.Module] = []
    for layer in range(s.depth):
        parts: list[nn.Module] = []
        for j, role in enumerate(roles):
            parts += [activation(s.activation), Conv(s, role, s.width, s.width, (1, layer, j))]
            if isinstance(s, ResNet) and norm is not None:
                parts.append(Norm(s, norm, s.affine, s.depth, images=True))
        blocks.append(Residual(*parts, multiplier=beta))
    positions = -(-height // s.stem_stride) * -(-width // s.stem_stride)
    fan_in = s.width * (positions if s.readout == "flatten" else 1)
    gather = nn.Flatten() if s.readout == "flatten" else Mean(2)
    head = nn.Sequential(activation(s.activation), gather, Linear(s, "readout", classes, fan_in, (2,)))
    return Network(Conv(s, "read_in", s.width, channels, (0,), s.stem_stride), blocks, head, shape, images=True)


def _vit(s: VisionTransformer, shape: Shape, classes: int) -> Network:
    s.check_images(shape, None, None)

    def norm(depth: int) -> list[nn.Module]:
        return [Norm(s, "layer", s.affine, depth, images=False)] if s.norm else []

    blocks: list[nn.Module] = []
    for layer in range(s.depth):
        hidden = s.mlp_ratio * s.width
        mlp = (
            Linear(s, "inner", hidden, s.width, (1, layer, 2)),
            activation(s.activation),
            Linear(s, "branch", s.width, hidden, (1, layer, 3)),
        )
        attention = Residual(*norm(s.depth), Attention(s, layer))
        blocks.append(nn.Sequential(attention, Residual(*norm(s.depth), *mlp)))
    head = nn.Sequential(*norm(1), Mean(1), Linear(s, "readout", classes, s.width, (2,)))
    return Network(Patches(s, shape), blocks, head, shape, images=False)


def build(settings: NetworkSettings, shape: Shape, classes: int) -> Network:
    """The network of the settings for images of ``shape`` (height, width, channels), weights still zero.

    ``initialise`` draws the weights. Raises ``ValueError`` when the patches do not tile the image.
    """
    if isinstance(settings, ResidualMLP):
        return _mlp(settings, shape, classes)
    if isinstance(settings, ConvNet | ResNet):
        return _conv(settings, shape, classes)
    if isinstance(settings, VisionTransformer):
        return _vit(settings, shape, classes)
    raise TypeError(f"settings is a {type(settings).__name__}, not one of the four networks' settings.")


def scaled_parameters(network: nn.Module) -> list[tuple[nn.Parameter, Scaled | Norm]]:
    """Every parameter with the layer that knows its scale, in the order of ``network.parameters()``."""
    return [
        (parameter, layer)
        for layer in network.modules()
        if isinstance(layer, Scaled | Norm)
        for parameter in layer.parameters(recurse=False)
    ]


def draws(network: nn.Module, seed: int) -> list[Tensor]:
    """Initial values of all parameters, float32 on the CPU, in the order of ``scaled_parameters``.

    A weight's draw depends on the seed, its kind, the place of its layer and its shape only: the same seed gives
    the same unit draws under every parametrisation, and a deeper network repeats the first layers of a shallower
    one. Gains start at one, biases at zero.
    """
    values = []
    for parameter, layer in scaled_parameters(network):
        if isinstance(layer, Norm):
            values.append(parameter.detach().cpu().clone())
            continue
        unit = stream(seed, *layer.key).standard_normal(parameter.shape, dtype=np.float32)
        values.append(torch.from_numpy(unit * np.float32(layer.scale.std)))
    return values


def initialise(network: nn.Module, seed: int) -> None:
    """Draw the weights of one network in place; see ``draws``."""
    with torch.no_grad():
        for (parameter, _), value in zip(scaled_parameters(network), draws(network, seed), strict=True):
            parameter.copy_(value)


def parameter_groups(network: nn.Module, settings: NetworkSettings, lr: float) -> list[dict[str, Any]]:
    """One group a parameter for ``torch.optim.SGD`` or ``AdamW``: its rate, and its weight decay over that rate.

    The trainer of ``train_runs`` does the same arithmetic on stacked runs; these groups train one network by
    torch's own optimisers.
    """
    groups = []
    for parameter, layer in scaled_parameters(network):
        factor = layer.scale.lr_factor if settings.optimiser == "sgd" else layer.scale.adam_factor
        decay = settings.weight_decay / factor if layer.role != "gain" else 0.0
        groups.append({"params": [parameter], "lr": lr * factor, "weight_decay": decay})
    return groups
