"""The staged transformer itself, many runs as one program: a new block on top, the training of a stage.

With F_t the residual stream after t blocks, F_0 the embedding, and f_t the function of block t (``blocks``),

    F_{t+1} = F_t + beta_{t+1} f_{t+1}(F_t) + skip_{t+1} (F_t - F_{t-1}) ,

where skip is zero but for a Nesterov start, ``settings.Growth``.

R is the number of runs (rates, seeds, methods), B the batch, T the window's length, n the width, V the vocabulary, m
the hidden positions. The weights of a block are one matrix (R, P), split into tensors where they are
used: one gradient and one update for all of them. Imported when something is trained, not before: it needs torch.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn.functional as nn
from numpy.typing import NDArray
from torch import Tensor

from lrtransfer.numerics.arrays import Array
from lrtransfer.stages.transformer.blocks import (
    OUTPUTS,
    Shapes,
    block_function,
    block_shapes,
    draw,
    end_shapes,
    norm,
)
from lrtransfer.stages.transformer.settings import COPIES, SILENT, Growth, StagedTransformer
from lrtransfer.stages.transformer.text import MaskedBatches, Text
from lrtransfer.sweeps.optimisers import adam_, shrink_


@dataclass
class Part:
    """Weights trained together: ``flat`` (R, P), the shapes of the tensors in it, AdamW's moments and its count."""

    flat: Tensor
    shapes: Shapes
    first: Tensor
    second: Tensor
    count: int = 0

    @classmethod
    def start(cls, rows: Sequence[Mapping[str, NDArray[np.float32]]], shapes: Shapes, where: torch.device) -> Part:
        """From one mapping of arrays a run."""
        flat = np.stack([np.concatenate([row[name].reshape(-1) for name in shapes]) for row in rows])
        tensor = torch.from_numpy(flat).to(where)
        return cls(tensor.requires_grad_(), shapes, torch.zeros_like(tensor), torch.zeros_like(tensor))

    def tensors(self) -> dict[str, Tensor]:
        """The tensors by name, (R, ...): views of ``flat`` that pass gradients on."""
        sizes = [math.prod(shape) for shape in self.shapes.values()]
        pieces = self.flat.split(sizes, dim=1)
        return {name: p.view(-1, *shape) for (name, shape), p in zip(self.shapes.items(), pieces, strict=True)}

    def arrays(self, run: int) -> dict[str, NDArray[np.float32]]:
        """One run's tensors, copied."""
        return {name: tensor[run].detach().cpu().numpy().copy() for name, tensor in self.tensors().items()}

    def take(self, runs: Tensor) -> Part:
        """Copy of the chosen runs, moments included."""
        flat = self.flat.detach()[runs].requires_grad_(self.flat.requires_grad)
        return Part(flat, self.shapes, self.first[runs], self.second[runs], self.count)

    def forget(self) -> None:
        """Moments back to zero."""
        self.first, self.second, self.count = torch.zeros_like(self.first), torch.zeros_like(self.second), 0

    def step(self, lrs: Tensor, decay: float) -> None:
        """One step of AdamW at each run's rate, lrs (R, 1), with decay on matrices only."""
        if self.flat.grad is None:
            return
        gradient, self.flat.grad, self.count = self.flat.grad, None, self.count + 1
        with torch.no_grad():
            at = 0
            for shape in self.shapes.values():
                end = at + math.prod(shape)
                if len(shape) == 2 and decay:
                    shrink_(self.flat[:, at:end], lrs, decay)
                at = end
            adam_(self.flat, gradient, lrs, (self.first, self.second), self.count, root_first=True)


def first_scalar(growth: Growth, parent: NDArray[np.float32], blocks: int) -> NDArray[np.float32]:
    """What the scalar (1,) of a new block on ``blocks`` others starts at; ``parent``: that of the top one."""
    if growth.beta is None:
        return np.ones_like(parent)
    copied = growth.start in COPIES and blocks > 1  # the first block has no scalar of its own
    if copied and growth.factor == "parent's":
        return parent
    with np.errstate(over="ignore"):  # beyond float32 it is inf, and the run has diverged
        scalar = np.full_like(parent, np.float32(growth.beta))
        return scalar * parent if copied and growth.factor != "given" else scalar


class Stack:
    """R networks on their way through the stages, with their optimiser.

    ``lrs`` (R,) and ``seeds`` (R,): the rate and seed of every run. All have the same number of blocks.
    """

    def __init__(
        self, settings: StagedTransformer, lrs: Sequence[float], seeds: Sequence[int], text: Text, where: torch.device
    ) -> None:
        self.settings, self.seeds, self.where, self.mask = settings, list(seeds), where, text.mask
        self.lrs = torch.tensor(lrs, dtype=torch.float32, device=where)[:, None]  # (R, 1)
        self.alive = np.ones(len(self.seeds), dtype=bool)
        shapes = end_shapes(settings.width, settings.length, text.vocabulary)
        self.ends = Part.start([draw(shapes, settings.width, seed, 0) for seed in self.seeds], shapes, where)
        self.blocks = [self._part([self.drawn(seed, 0) for seed in self.seeds])]
        self.trained = [torch.zeros_like(self.lrs)]  # a block: 1 where its scalar is trained, (R, 1)
        self.skips = [torch.zeros_like(self.lrs)]  # a block: the factor of the last move, (R, 1)

    def drawn(self, seed: int, place: int) -> dict[str, NDArray[np.float32]]:
        """A random block for place 0, 1, .. of the stack."""
        return draw(block_shapes(self.settings.width, self.settings.hidden), self.settings.width, seed, 1, place)

    def _part(self, rows: Sequence[Mapping[str, NDArray[np.float32]]]) -> Part:
        return Part.start(rows, block_shapes(self.settings.width, self.settings.hidden), self.where)

    def take(self, runs: Sequence[int]) -> Stack:
        """Copies of the chosen runs, in this order, a run as often as it is named."""
        twin, index = object.__new__(Stack), torch.tensor(list(runs), device=self.where)
        twin.__dict__.update(self.__dict__)
        twin.lrs, twin.seeds, twin.alive = self.lrs[index], [self.seeds[r] for r in runs], self.alive[list(runs)]
        twin.ends, twin.blocks = self.ends.take(index), [block.take(index) for block in self.blocks]
        twin.trained, twin.skips = ([each[index] for each in rows] for rows in (self.trained, self.skips))
        return twin

    def grow(self, growths: Sequence[Growth]) -> None:
        """Put a block on top of every run, started by its method, and settle what is trained from here on."""
        self._still(growths)
        rows = []
        for run, growth in enumerate(growths):
            top, row = self.blocks[-1].arrays(run), self.drawn(self.seeds[run], len(self.blocks))
            if growth.start in COPIES:
                row = top
            if growth.start in SILENT:
                row |= {name: np.zeros_like(row[name]) for name in OUTPUTS}
            row["beta"] = first_scalar(growth, top["beta"], len(self.blocks))
            rows.append(row)
        if self.settings.trained == "new":
            for part in (self.ends, *self.blocks):
                part.flat.requires_grad_(False)
        elif self.settings.optimiser_state == "reset":
            for part in (self.ends, *self.blocks):
                part.forget()
        self.blocks.append(self._part(rows))
        moving = [[float(growth.beta is not None and growth.train_beta)] for growth in growths]
        self.trained.append(torch.tensor(moving, device=self.where))
        self.skips.append(torch.tensor([[growth.skip] for growth in growths], dtype=torch.float32, device=self.where))

    def _still(self, growths: Sequence[Growth]) -> None:
        """Divide the last move by 1 + skip where a skip is to leave the function as it is."""
        shares = [1 / (1 + growth.skip) if growth.still else 1.0 for growth in growths]
        if set(shares) != {1.0}:
            share = torch.tensor(shares, dtype=torch.float32, device=self.where)[:, None]
            with torch.no_grad():
                self.blocks[-1].flat[:, -1:] *= share  # beta is a block's last entry
            self.skips[-1] = self.skips[-1] * share

    def betas(self) -> Array:
        """The blocks' scalars, (blocks, R), inf once diverged."""
        found = np.array([block.tensors()["beta"][:, 0].detach().cpu().numpy() for block in self.blocks], float)
        return np.where(self.alive & np.isfinite(found), found, np.inf)

    def streams(self, inputs: Tensor) -> list[Tensor]:
        """F_0, F_1, ..: the residual stream before the first block and after each, (R, B T, n); inputs (R, B, T)."""
        ends, (runs, batch, length) = self.ends.tensors(), inputs.shape
        first = torch.arange(runs, device=self.where)[:, None]  # (R, 1)
        tokens = ends["tokens"]  # (R, V, n)
        rows = (inputs.reshape(runs, -1) + first * tokens.shape[1]).reshape(-1)  # (R B T,)
        x = nn.embedding(rows, tokens.reshape(-1, tokens.shape[2])).view(runs, batch, length, -1)
        x = (x + ends["places"][:, None]).view(runs, batch * length, -1)  # (R, B T, n)
        streams = [norm(x, ends["in_gain"], ends["in_shift"])]
        for part, skip in zip(self.blocks, self.skips, strict=True):
            block, x = part.tensors(), streams[-1]
            x = torch.addcmul(x, block_function(block, x, length, self.settings.heads), block["beta"][:, None])
            if skip.any():  # of the first block never
                x = torch.addcmul(x, streams[-1] - streams[-2], skip[:, None])
            streams.append(x)
        return streams

    def losses(self, inputs: Tensor, hidden: Tensor, answers: Tensor) -> Tensor:
        """Cross-entropy (R,) in nats a hidden character; inputs (R, B, T), hidden and answers (R, m)."""
        (runs, batch, length), ends = inputs.shape, self.ends.tensors()
        first = torch.arange(runs, device=self.where)[:, None]  # (R, 1)
        x = self.streams(inputs)[-1]  # (R, B T, n)
        # Only what is asked for is read out: (R, B T, n) -> (R, m, n).
        x = x.reshape(runs * batch * length, -1)[(hidden + first * (batch * length)).reshape(-1)].view(
            runs, hidden.shape[1], -1
        )
        x = norm(x, ends["ln_gain"], ends["ln_shift"])
        log_p = torch.bmm(x, ends["readout"].mT).log_softmax(dim=-1)  # (R, m, n) (R, n, V) -> (R, m, V)
        return -log_p.gather(-1, answers[..., None]).mean(dim=(1, 2))

    def inputs(self, batches: MaskedBatches) -> tuple[Tensor, Tensor, Tensor]:
        """Inputs (steps, B, T), hidden positions (steps, m) and the characters there (steps, m), on the device."""
        flat = batches.tokens.reshape(len(batches.tokens), -1)
        answers = np.take_along_axis(flat, batches.hidden, axis=1)
        masked = flat.copy()
        np.put_along_axis(masked, batches.hidden, self.mask, axis=1)
        arrays = (masked.reshape(batches.tokens.shape), batches.hidden, answers)
        return tuple(torch.from_numpy(array).to(self.where) for array in arrays)  # type: ignore[return-value]

    def evaluate(self, check: MaskedBatches) -> Array:
        """Losses (R,), the mean over the rows of ``check``; inf from the first that is not finite on."""
        rows, found = self.inputs(check), np.full(len(self.seeds), np.inf)
        with torch.no_grad():
            for run in np.flatnonzero(self.alive):  # one by one: together they would not fit into the cache
                alone = self.take([int(run)])
                each = [float(alone.losses(*(part[[t]] for part in rows))[0]) for t in range(len(rows[0]))]
                found[run] = np.mean(each)
        self.alive = self.alive & np.isfinite(found)
        return np.where(self.alive, found, np.inf)

    def stage(
        self, batches: Mapping[int, MaskedBatches], check: MaskedBatches, at: Sequence[int], tell: Callable[[int], None]
    ) -> Array:
        """Train one stage on each seed's batches; the held-out losses after ``at`` updates, (len(at), R)."""
        out = np.full((len(at), len(self.seeds)), np.inf)
        parts = [torch.stack(parts, 1) for parts in zip(*map(self.inputs, batches.values()), strict=True)]
        column = {seed: index for index, seed in enumerate(batches)}
        rows = torch.tensor([column[seed] for seed in self.seeds], device=self.where)  # (R,)
        for t in range(self.settings.steps + 1):
            if t in at:
                out[at.index(t)] = self.evaluate(check)
                tell(t)
                if not self.alive.any():
                    break
            if t < self.settings.steps:
                self.update([part[t][rows] for part in parts], min(1.0, (t + 1) / (self.settings.warmup + 1)))
        return out

    def update(self, batch: Sequence[Tensor], share: float) -> None:
        """One step of every run at a share of its rate."""
        self.losses(*batch).sum().backward()
        for part, trained in zip(self.blocks, self.trained, strict=True):
            if part.flat.grad is not None:
                part.flat.grad[:, -1:] *= trained  # beta is a block's last entry
        for part in (self.ends, *self.blocks):
            part.step(self.lrs * share, self.settings.weight_decay)
