"""Networks that train, beside a torch module trained one run after the other, and the least that each must do."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from lrtransfer.images.catalogue import load
from lrtransfer.numerics.arrays import Array
from lrtransfer.performance.cases import Case
from lrtransfer.performance.plain_networks import MaskedTransformer, residual_losses, transformer_losses
from lrtransfer.performance.speeds import Work
from lrtransfer.residual import ResidualMLP, final_losses
from lrtransfer.stages.transformer.network import Stack
from lrtransfer.stages.transformer.settings import Growth, StagedTransformer
from lrtransfer.stages.transformer.text import Text, topics
from lrtransfer.stages.transformer.training import training_batches


def batched_sweep(width: int, depth: int, rates: int, steps: int) -> Case:
    """A sweep over stable rates of the residual MLP on digits, from the first weights to the last loss."""
    settings = ResidualMLP(width=width, depth=depth, steps=steps, eval_every=0)
    lrs = 2.0 ** np.linspace(-4, -1.5, rates)
    data = load(settings.data)

    def engine() -> Array:
        return final_losses(settings, lrs, [0], device="cpu")[:, 0]

    def script() -> Array:
        return residual_losses(settings, lrs.tolist(), 0)

    one = replace(settings, width=1, batch=1, eval_points=1)
    weights = width * (data.train_x.shape[1] + depth * width + data.classes)
    images = 3 * settings.batch * steps + settings.eval_points  # forwards once and backwards twice
    return Case(
        f"sweep, {width} wide", engine, script, Work(product32=float(rates * weights * images)),
        lambda: final_losses(one, lrs[:1], [0], device="cpu"),
    )  # fmt: skip


def transformer_step(
    runs: int, blocks: int, updates: int, *, settings: StagedTransformer | None = None, text: Text | None = None
) -> Case:
    """Updates of a transformer of some blocks, runs of different rates together."""
    s = replace(StagedTransformer() if settings is None else settings, steps=updates, stages=blocks)
    words, lrs, where = topics() if text is None else text, np.geomspace(3e-4, 3e-3, runs), torch.device("cpu")
    start = Stack(s, lrs.tolist(), [0] * runs, words, where)
    for _ in range(blocks - 1):
        start.grow([Growth("random")] * runs)
    batches = list(zip(*start.inputs(training_batches(s, words, 0, 0)), strict=True))

    def engine() -> Array:
        twin = start.take(range(runs))
        losses = np.empty((updates, runs))
        for t, batch in enumerate(batches):
            rows = [part.expand(runs, *part.shape) for part in batch]
            found = twin.losses(*rows)
            found.sum().backward()
            for part in (twin.ends, *twin.blocks):
                if part is not twin.ends:
                    assert part.flat.grad is not None
                    part.flat.grad[:, -1:] *= 0  # the scalar of a block, which nothing trains
                part.step(twin.lrs * min(1.0, (t + 1) / (s.warmup + 1)), s.weight_decay)
            losses[t] = found.detach().numpy()
        return losses

    def script() -> Array:
        columns = []
        for run, lr in enumerate(lrs.tolist()):
            tensors = [block.arrays(run) for block in start.blocks]
            net = MaskedTransformer(start.ends.arrays(run), tensors, s.heads)
            columns.append(transformer_losses(net, batches, lr, s.weight_decay, s.warmup))
        return np.stack(columns, axis=1)

    n, tokens, asked = s.width, s.batch * s.length, batches[0][1].numel()
    block = tokens * n * (4 * n + 2 * s.hidden * n + 2 * s.length)  # projections, the MLP, and attention
    one = blocks * block + asked * n * (words.vocabulary - 1)
    parameters = sum(part.flat.shape[1] for part in (start.ends, *start.blocks))
    # Forwards once, backwards twice; AdamW reads and writes weights and two moments: ten products of every weight.
    work = Work(product32=3.0 * runs * updates * one, entries=10.0 * runs * updates * parameters / 2)
    least = replace(s, width=s.heads, batch=1, length=2)
    calls = None if s == least else transformer_step(runs, blocks, updates, settings=least, text=words).engine
    return Case(f"transformer, {runs} runs", engine, script, work, calls)
