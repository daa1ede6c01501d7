"""A tiny staged transformer on a sentence, for tests."""

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from lrtransfer.stages.transformer import network as transformer_network  # noqa: E402
from lrtransfer.stages.transformer import text  # noqa: E402
from lrtransfer.stages.transformer.settings import StagedTransformer  # noqa: E402
from lrtransfer.stages.transformer.training import train_stages, training_batches  # noqa: E402

TINY = StagedTransformer(
    width=8, heads=2, stages=3, steps=4, batch=3, length=8, warmup=1, eval_every=2, eval_windows=6
)  # fmt: skip
WORDS = text.split_text("the quick brown fox jumps over the lazy dog. " * 40, held_out=0.2)
CPU = torch.device("cpu")


def train(settings=TINY, lr=0.01, seed=1, **options):
    return train_stages(settings, lr, seed, text=WORDS, device="cpu", **options)


CHECK = text.held_out_batch(WORDS.held_out, 6, 8)


def stack(settings=TINY, lrs=(0.01,), seeds=(1,)):
    return transformer_network.Stack(settings, lrs, seeds, WORDS, CPU)


def train_stage(run, seed=1, part=0):
    batches = training_batches(run.settings, WORDS, seed, part)
    run.stage({seed: batches}, CHECK, [], lambda updates: None)


def network(settings=TINY, lr=0.01, seed=1):
    """A run after its first stage."""
    run = stack(settings, [lr], [seed])
    train_stage(run, seed)
    return run


def block(run, place):
    return run.blocks[place].arrays(0)


def equal(first, second):
    return first.keys() == second.keys() and all(np.array_equal(first[name], second[name]) for name in first)


def changed(first, second):
    """The names of the tensors that differ."""
    return {name for name in first if not np.array_equal(first[name], second[name])}


def spelled(of, numbers):
    """The characters of a text by their numbers; the mask is written as a full block."""
    symbols = of.characters + "\u2588"
    return "".join(symbols[number] for number in numbers)
