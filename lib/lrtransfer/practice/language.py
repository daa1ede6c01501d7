"""A small language model to try the rules on: a pre-LN transformer that predicts the next character of a text.

It is written as a reader would write it, with torch and the public functions of this room alone. ``build`` and
``train`` are what ``rate_sweep`` asks for; ``settings`` say which network, which scaling, and how long. The text is the
documentation topics that ship with Python.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import lru_cache, partial

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, gelu, scaled_dot_product_attention

from lrtransfer.practice.groups import initialise, parameter_groups
from lrtransfer.practice.settings import BASE_DEPTH, BASE_WIDTH, LanguageModel
from lrtransfer.stages.transformer.text import topics


class Block(nn.Module):
    """Attention and MLP, each behind a LayerNorm and added to the stream times ``multiplier``."""

    def __init__(self, width: int, head_size: int, multiplier: float, dropout: float) -> None:
        super().__init__()
        self.heads, self.multiplier, self.dropout = width // head_size, multiplier, nn.Dropout(dropout)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, stream: Tensor) -> Tensor:
        """The stream (batch, length, width) with both branches added."""
        stream = stream + self.multiplier * self.dropout(self.attend(self.norm1(stream)))
        return stream + self.multiplier * self.dropout(self.down(gelu(self.up(self.norm2(stream)))))

    def attend(self, h: Tensor) -> Tensor:
        """Causal attention; the size of a head does not grow, so its scores need no other scale than the usual."""
        b, n, width = h.shape
        q, k, v = self.qkv(h).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)  # (b, heads, n, head size) each
        return self.out(scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, n, width))


class Transformer(nn.Module):
    """Characters in, logits of the next one out; every branch times (depth / base depth)^-a, a = ``branch``."""

    def __init__(self, settings: LanguageModel) -> None:
        super().__init__()
        width, vocabulary = settings.width, topics().vocabulary
        multiplier = (settings.depth / BASE_DEPTH) ** -settings.branch
        self.characters, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(settings.length, width)
        self.blocks = nn.ModuleList(
            Block(width, settings.head_size, multiplier, settings.dropout) for _ in range(settings.depth)
        )
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits (batch, length, vocabulary) for tokens (batch, length)."""
        stream = self.characters(tokens) + self.positions.weight[: tokens.shape[1]]
        for block in self.blocks:
            stream = block(stream)
        return self.head(self.norm(stream))


@lru_cache(maxsize=8)
def base_of(settings: LanguageModel) -> Transformer:
    """The small model of the family, drawn once, whatever the seed of a run."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(12345)
        return Transformer(replace(settings, width=BASE_WIDTH, depth=BASE_DEPTH))


def build(settings: LanguageModel) -> Transformer:
    """A freshly drawn model: torch's own first weights for "sp", those rescaled for "groups"."""
    model = Transformer(settings)
    if settings.scaling == "groups":
        initialise(model, base_of(settings), depth_ratio=settings.depth / BASE_DEPTH)
    return model


def groups(settings: LanguageModel, model: nn.Module, lr: float) -> list[dict[str, object]]:
    """What the optimiser takes: one rate for all under "sp", ``parameter_groups`` under "groups"."""
    if settings.scaling == "sp":
        return [{"params": list(model.parameters()), "lr": lr, "weight_decay": settings.weight_decay}]
    return parameter_groups(
        model,
        base_of(settings),
        optimiser="adamw",
        lr=lr,
        depth_ratio=settings.depth / BASE_DEPTH,
        weight_decay=settings.weight_decay,
        epsilon=settings.epsilon,
        branch=settings.branch,
    )


def schedule(step: int, steps: int, warmup: float) -> float:
    """The rate's factor: up along a line for a share ``warmup`` of the steps, then down along one to zero."""
    first = warmup * steps
    return (step + 1) / (first + 1) if step < first else (steps - step) / (steps - first)


def train(settings: LanguageModel, model: Transformer, lr: float) -> float:
    """Train with AdamW and return the loss on the held-out text, in nats a character; inf where it diverged.

    The windows come from the run's seed alone: every network that a seed trains sees the same ones.
    """
    s, text = settings, torch.from_numpy(topics().train.copy())
    optimiser = torch.optim.AdamW(groups(s, model, lr), eps=s.epsilon, betas=(0.9, 0.95))
    factor = torch.optim.lr_scheduler.LambdaLR(optimiser, lambda step: schedule(step, s.steps, s.warmup))
    windows = torch.Generator().manual_seed(torch.initial_seed())
    for _ in range(s.steps):
        starts = torch.randint(len(text) - s.length, (s.batch,), generator=windows)
        tokens = text[starts[:, None] + torch.arange(s.length + 1)]
        optimiser.zero_grad()
        loss = cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
        if not torch.isfinite(loss):
            return float("inf")
        loss.backward()
        optimiser.step()
        factor.step()
    return held_out_loss(settings, model)


def held_out_loss(settings: LanguageModel, model: Transformer) -> float:
    """Mean loss over windows of the held-out text that lie side by side, ``settings.windows`` of them."""
    text = torch.from_numpy(topics().held_out.copy())
    starts = torch.linspace(0, len(text) - settings.length - 1, settings.windows).long()
    tokens = text[starts[:, None] + torch.arange(settings.length + 1)]
    model.eval()
    with torch.no_grad():
        return float(cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten()))


def functions(settings: LanguageModel) -> tuple[Callable[[], nn.Module], Callable[[nn.Module, float], float]]:
    """``build`` and ``train`` of given settings, as ``rate_sweep`` takes them."""
    return partial(build, settings), partial(train, settings)


def weights(settings: LanguageModel) -> int:
    """How many weights the network has."""
    return sum(each.numel() for each in Transformer(settings).parameters())
