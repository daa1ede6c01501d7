"""The residual MLP under SGD, many networks at once: forward pass, hand-written gradients, one step.

All rates and seeds of a sweep are the leading axis R ("runs") of every tensor, so that a sweep is one program
of batched matrix products. B is the batch, D the input dimension, N the width, L the depth, C the number of
classes. Only ``torch`` operations on the tensors' own device; the caller turns gradient recording off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from lrtransfer.images.dataset import Dataset
from lrtransfer.numerics.random import stream
from lrtransfer.residual.networks.parametrisation import LayerScale, Scales, layer_scales
from lrtransfer.residual.networks.settings import NetworkSettings
from lrtransfer.sweeps.optimisers import sgd_


@dataclass(frozen=True)
class Weights:
    """Weights of R networks: ``read_in`` (R, N, D), ``branches`` (L, R, N, N), ``readout`` (R, C, N)."""

    read_in: Tensor
    branches: Tensor
    readout: Tensor

    def take(self, runs: Tensor) -> Weights:
        """Copy of the chosen runs, in the order of ``runs``, an index tensor."""
        return Weights(self.read_in[runs], self.branches[:, runs], self.readout[runs])

    def to(self, device: torch.device) -> Weights:
        """The same weights on another device."""
        return Weights(self.read_in.to(device), self.branches.to(device), self.readout.to(device))

    def zeros(self) -> Weights:
        """Zeros of the same shapes."""
        return Weights(*(torch.zeros_like(part) for part in (self.read_in, self.branches, self.readout)))


def initial_weights(
    scales: Scales, seeds: Sequence[int], width: int, depth: int, input_dim: int, classes: int
) -> Weights:
    """Gaussian weights on the CPU, one run a seed.

    A layer's draw depends on the seed, the kind and the place of the layer only. So the same seed gives the
    same unit draws under every parametrisation, and a deeper network repeats the first layers of a shallower
    one.
    """

    def draw(std: float, shape: tuple[int, ...], *key: int) -> Tensor:
        units = [stream(seed, *key).standard_normal(shape, dtype=np.float32) for seed in seeds]
        return torch.from_numpy(np.stack(units) * np.float32(std))

    return Weights(
        read_in=draw(scales.read_in.std, (width, input_dim), 0),  # (R, N, D)
        branches=torch.stack(
            [draw(scales.branch.std, (width, width), 1, layer) for layer in range(depth)]
        ),  # (L, R, N, N)
        readout=draw(scales.readout.std, (classes, width), 2),  # (R, C, N)
    )


def _phi(h: Tensor, activation: str, out: Tensor | None = None) -> Tensor:
    """The activation in a tensor of its own (``out`` if given): h is updated in place afterwards."""
    out = torch.empty_like(h) if out is None else out
    if activation == "relu":
        return torch.clamp_min(h, 0, out=out)
    return torch.tanh(h, out=out) if activation == "tanh" else out.copy_(h)


def _add_through_phi(g: Tensor, upstream: Tensor, a: Tensor, activation: str, scale: float) -> Tensor:
    """Add scale * upstream * phi'(h) to g, in place; phi' is written in terms of a = phi(h)."""
    if activation == "relu":
        return g.addcmul_(upstream, a.sign(), value=scale)  # a >= 0, so its sign is the derivative
    if activation == "tanh":
        return g.addcmul_(upstream, 1 - a * a, value=scale)
    return g.add_(upstream, alpha=scale)


def _losses(f: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
    """Cross-entropy (R,) and log-probabilities (R, C, B), for logits f (R, C, B) and labels y (R, B).

    The classes stand before the points: along a short last axis torch's log_softmax is not vectorised and took
    more time than all matrix products (1.3 ms against 0.02 ms at R = 16, B = 128, C = 10).
    """
    log_p = f.log_softmax(dim=1)  # (R, C, B)
    loss = -log_p.gather(1, y[:, None]).mean(dim=(1, 2))  # (R, 1, B) -> (R,)
    return loss, log_p


def _or_inf(loss: Tensor, h: Tensor) -> Tensor:
    """The loss, or inf for runs that overflowed.

    The last hidden layer is looked at too: relu(-inf) = 0 would hide an overflow from the loss, but the
    residual stream carries it to the end.
    """
    sound = (loss + 0 * h.sum(dim=(1, 2))).isfinite()  # (R,); one pass over h, and 0 * inf is NaN
    return torch.where(sound, loss, torch.inf)


def evaluate(weights: Weights, scales: Scales, activation: str, x: Tensor, y: Tensor) -> Tensor:
    """Cross-entropy (R,) of every run on the same points x (B, D), y (B,); inf where a run overflowed."""
    h = torch.matmul(x, weights.read_in.mT).mul_(scales.read_in.multiplier)  # (B, D) (R, D, N) -> (R, B, N)
    a = torch.empty_like(h)  # (R, B, N); nothing is kept for a backward pass
    for w in weights.branches:  # (R, N, N)
        h.baddbmm_(_phi(h, activation, a), w.mT, alpha=scales.branch.multiplier)  # (R, B, N)
    f = torch.bmm(weights.readout, _phi(h, activation, a).mT).mul_(scales.readout.multiplier)  # (R, C, B)
    return _or_inf(_losses(f, y.expand(h.shape[0], -1))[0], h)


@dataclass(frozen=True)
class Update:
    """What ``sgd_`` needs for momentum and weight decay: dLoss/dw + decay w / lr_factor in place of dLoss/dw.

    ``velocity``: v, zero before the first step; None without momentum. ``decay``: per unit of base rate, see
    ``parametrisation``.
    """

    momentum: float = 0.0
    decay: float = 0.0
    velocity: Weights | None = None

    def apply(self, w: Tensor, v: Tensor | None, gradient: Tensor, scale: LayerScale, lrs: Tensor) -> None:
        """Update w (R, ..) in place at rates (R, 1, 1); ``gradient``, with respect to multiplier w, is used up."""
        if v is None and not self.decay:  # the multiplier joins the rate: one pass less over the weights
            sgd_(w, gradient, lrs * (scale.multiplier * scale.lr_factor))
            return
        gradient.mul_(scale.multiplier)
        if self.decay:
            gradient.add_(w, alpha=self.decay / scale.lr_factor)
        sgd_(w, gradient, lrs * scale.lr_factor, momentum=self.momentum, velocity=v)


def sgd_step(
    weights: Weights,
    scales: Scales,
    activation: str,
    x: Tensor,
    y: Tensor,
    lrs: Tensor,
    update: Update | None = None,
) -> Tensor:
    """One SGD step of every run, in place in ``weights`` and in the velocity of ``update``.

    ``x`` (R, B, D), ``y`` (R, B): each run's minibatch. ``lrs`` (R,): each run's base rate. ``update``: momentum
    and weight decay, None for neither. Returns the losses (R,) on the minibatch before the step, inf where a run
    overflowed.
    """
    by = Update() if update is None else update
    v = by.velocity
    m_in, m_branch, m_out = scales.read_in.multiplier, scales.branch.multiplier, scales.readout.multiplier
    # Forward. h is the residual stream, overwritten block by block; the backward pass needs only a^l =
    # phi(h^l).
    h = torch.bmm(x, weights.read_in.mT).mul_(m_in)  # (R, B, D) (R, D, N) -> (R, B, N)
    kept = [_phi(h, activation)]  # a^0 (R, B, N)
    for w in weights.branches:  # (R, N, N)
        h.baddbmm_(kept[-1], w.mT, alpha=m_branch)  # h^{l+1} (R, B, N)
        kept.append(_phi(h, activation))  # a^{l+1} (R, B, N)
    f = torch.bmm(weights.readout, kept[-1].mT).mul_(m_out)  # (R, C, N) (R, N, B) -> (R, C, B)
    loss, log_p = _losses(f, y)

    # Backward. Every matrix is read for the signal below it before it is updated.
    rates = lrs[:, None, None]  # (R, 1, 1)
    e = log_p.exp_()  # softmax; dLoss/df = (softmax - one hot) / B
    e.scatter_add_(1, y[:, None], e.new_full((), -1.0).expand(len(y), 1, y.shape[1])).div_(x.shape[1])  # (R, C, B)
    down = torch.bmm(e.mT, weights.readout)  # (R, B, C) (R, C, N) -> (R, B, N)
    g = _add_through_phi(torch.zeros_like(h), down, kept[-1], activation, m_out)  # dLoss/dh^L (R, B, N)
    gradient = torch.bmm(e, kept[-1])  # (R, C, B) (R, B, N) -> (R, C, N)
    by.apply(weights.readout, None if v is None else v.readout, gradient, scales.readout, rates)
    for layer in range(len(weights.branches) - 1, -1, -1):
        w, a = weights.branches[layer], kept[layer]  # (R, N, N), (R, B, N)
        down = torch.bmm(g, w)  # (R, B, N) (R, N, N) -> (R, B, N)
        gradient = torch.bmm(g.mT, a)  # (R, N, B) (R, B, N) -> (R, N, N)
        by.apply(w, None if v is None else v.branches[layer], gradient, scales.branch, rates)
        g = _add_through_phi(g, down, a, activation, m_branch)  # dLoss/dh^l (R, B, N)
    gradient = torch.bmm(g.mT, x)  # (R, N, B) (R, B, D) -> (R, N, D)
    by.apply(weights.read_in, None if v is None else v.read_in, gradient, scales.read_in, rates)
    return _or_inf(loss, h)


class HandBatched:
    """R residual MLPs trained together by SGD; see ``training_loop.Engine`` for what the methods promise."""

    def __init__(self, settings: NetworkSettings, data: Dataset, seeds: Sequence[int], device: torch.device):
        s, dim = settings, data.train_x.shape[1]
        self.activation = s.activation
        self.scales = layer_scales(
            s.parametrisation, s.width, s.depth, dim, gamma0=s.gamma0, branch=s.branch, block_rate=s.block_rate
        )
        unique = sorted(set(seeds))
        start = initial_weights(self.scales, unique, s.width, s.depth, dim, data.classes)
        self.weights = start.take(torch.tensor([unique.index(seed) for seed in seeds])).to(device)
        self.update = Update(s.momentum, s.weight_decay, self.weights.zeros() if s.momentum else None)

    def step(self, x: Tensor, y: Tensor, lrs: Tensor) -> Tensor:
        """One update at rates ``lrs`` (R,) on x (R, B, D), y (R, B); which runs (R,) stayed finite."""
        return sgd_step(self.weights, self.scales, self.activation, x, y, lrs, self.update).isfinite()

    def evaluate(self, x: Tensor, y: Tensor) -> Tensor:
        """Mean loss (R,) on the points x (points, D), y (points,); inf where a run overflowed."""
        return evaluate(self.weights, self.scales, self.activation, x, y)

    def keep(self, runs: Tensor) -> None:
        """Let all runs go but these, given by index."""
        velocity = self.update.velocity
        self.weights = self.weights.take(runs)
        self.update = replace(self.update, velocity=None if velocity is None else velocity.take(runs))

    def state(self) -> dict[str, Any]:
        """All that the next step depends on."""
        velocity = self.update.velocity
        return {"weights": vars(self.weights), "velocity": None if velocity is None else vars(velocity)}

    def load(self, state: dict[str, Any]) -> None:
        """Take over a state that ``state`` gave."""
        device = self.weights.read_in.device
        self.weights = Weights(**state["weights"]).to(device)
        if state["velocity"] is not None:
            self.update = replace(self.update, velocity=Weights(**state["velocity"]).to(device))
