"""Scripts in torch for the networks that train: one module, one optimiser, one run after the other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
import torch.nn.functional as nn
from numpy.typing import NDArray
from torch import Tensor

from lrtransfer.images.catalogue import load
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.random import stream
from lrtransfer.residual.networks.parametrisation import LayerScale, layer_scales
from lrtransfer.residual.networks.settings import ResidualMLP
from lrtransfer.sweeps.optimisers import BETAS, EPSILON


class Layer(torch.nn.Module):
    """x -> multiplier W x, W (out, in) at its own rate: ``factor`` times the base rate."""

    def __init__(self, scale: LayerScale, shape: tuple[int, int], random: np.random.Generator) -> None:
        super().__init__()
        drawn = random.standard_normal(shape, dtype=np.float32) * np.float32(scale.std)
        self.weight = torch.nn.Parameter(torch.from_numpy(drawn))
        self.multiplier, self.factor = scale.multiplier, scale.lr_factor

    def forward(self, x: Tensor) -> Tensor:
        """The product."""
        return self.multiplier * nn.linear(x, self.weight)


class ResidualNetwork(torch.nn.Module):
    """The residual MLP of Eq. 1, with the first weights that the engine gives a seed."""

    def __init__(self, settings: ResidualMLP, seed: int, dim: int, classes: int) -> None:
        super().__init__()
        s = settings
        scales = layer_scales(s.parametrisation, s.width, s.depth, dim, gamma0=s.gamma0, branch=s.branch)
        square = (s.width, s.width)
        self.read_in = Layer(scales.read_in, (s.width, dim), stream(seed, 0))
        self.blocks = torch.nn.ModuleList(Layer(scales.branch, square, stream(seed, 1, i)) for i in range(s.depth))
        self.readout = Layer(scales.readout, (classes, s.width), stream(seed, 2))

    def forward(self, x: Tensor) -> Tensor:
        """Logits (B, C)."""
        h = self.read_in(x)
        for block in self.blocks:
            h = h + block(torch.relu(h))
        return self.readout(torch.relu(h))


def residual_losses(settings: ResidualMLP, lrs: Sequence[float], seed: int) -> Array:
    """Losses (rates,) on the evaluation points after training with SGD, one rate after the other."""
    s, data = settings, load(settings.data)
    points = torch.tensor(data.train_x[: s.eval_points]), torch.tensor(data.train_y[: s.eval_points])
    images, labels = torch.tensor(data.train_x), torch.tensor(data.train_y)
    losses = []
    for lr in lrs:
        net = ResidualNetwork(s, seed, images.shape[1], data.classes)
        layers = [net.read_in, *net.blocks, net.readout]
        optimiser = torch.optim.SGD([{"params": [each.weight], "lr": lr * each.factor} for each in layers])
        order = stream(seed, 3)
        for _ in range(s.steps):
            rows = torch.from_numpy(order.permutation(len(labels))[: s.batch])
            optimiser.zero_grad()
            nn.cross_entropy(net(images[rows]), labels[rows]).backward()
            optimiser.step()
        with torch.no_grad():
            losses.append(nn.cross_entropy(net(points[0]), points[1]).item())
    return np.array(losses)


class Block(torch.nn.Module):
    """A pre-LN block: a = Attention(LN(x)), x + a + MLP(LN(x + a)), without biases."""

    def __init__(self, tensors: Mapping[str, NDArray[np.float32]], heads: int) -> None:
        super().__init__()
        for name in ("ln1_gain", "ln1_shift", "qkv", "out", "ln2_gain", "ln2_shift", "up", "down"):
            self.register_parameter(name, torch.nn.Parameter(torch.from_numpy(tensors[name].copy())))
        self.heads = heads

    def forward(self, x: Tensor) -> Tensor:
        """The stream after the block, (B, T, n)."""
        p: Any = self
        batch, length, n = x.shape
        h = nn.layer_norm(x, (n,), p.ln1_gain, p.ln1_shift)
        split = nn.linear(h, p.qkv).view(batch, length, 3, self.heads, n // self.heads)
        q, k, v = split.permute(2, 0, 3, 1, 4)
        a = nn.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(batch, length, n)
        x = x + nn.linear(a, p.out)
        h = nn.layer_norm(x, (n,), p.ln2_gain, p.ln2_shift)
        return x + nn.linear(torch.relu(nn.linear(h, p.up)), p.down)


class MaskedTransformer(torch.nn.Module):
    """The transformer of ``stages.transformer`` as a module, from the tensors of its parts."""

    def __init__(
        self,
        ends: Mapping[str, NDArray[np.float32]],
        blocks: Sequence[Mapping[str, NDArray[np.float32]]],
        heads: int,
    ) -> None:
        super().__init__()
        for name, tensor in ends.items():
            self.register_parameter(name, torch.nn.Parameter(torch.from_numpy(tensor.copy())))
        self.blocks = torch.nn.ModuleList(Block(block, heads) for block in blocks)

    def forward(self, inputs: Tensor, hidden: Tensor) -> Tensor:
        """Logits (m, V) at the hidden positions of inputs (B, T)."""
        p: Any = self
        n = p.tokens.shape[1]
        x = nn.layer_norm(nn.embedding(inputs, p.tokens) + p.places, (n,), p.in_gain, p.in_shift)
        for block in self.blocks:
            x = block(x)
        x = nn.layer_norm(x.reshape(-1, n)[hidden], (n,), p.ln_gain, p.ln_shift)
        return nn.linear(x, p.readout)


def transformer_losses(
    net: MaskedTransformer, batches: Sequence[Sequence[Tensor]], lr: float, decay: float, warmup: int
) -> Array:
    """Losses (updates,) before each update of AdamW, on inputs, hidden positions and answers of every batch.

    The rate rises linearly over ``warmup`` updates; ``decay`` is that of matrices.
    """
    matrices = [p for p in net.parameters() if p.ndim == 2]
    others = [p for p in net.parameters() if p.ndim != 2]
    groups = [{"params": matrices, "weight_decay": decay}, {"params": others, "weight_decay": 0.0}]
    optimiser = torch.optim.AdamW(groups, lr=lr, betas=BETAS, eps=EPSILON)
    losses = []
    for t, (inputs, hidden, answers) in enumerate(batches):
        for group in optimiser.param_groups:
            group["lr"] = lr * min(1.0, (t + 1) / (warmup + 1))
        optimiser.zero_grad()
        loss = nn.cross_entropy(net(inputs, hidden), answers)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return np.array(losses)
