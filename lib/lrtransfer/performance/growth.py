"""Time and memory of the engines against depth, width, steps and runs: what grows, and as which power."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from lrtransfer.depth import gradient_descent
from lrtransfer.layers import balance_course, expected_loss, two_layer_losses
from lrtransfer.performance.network_cases import transformer_step
from lrtransfer.performance.speeds import seconds_of
from lrtransfer.residual import ResidualMLP, final_losses, linear_limit
from lrtransfer.stages import excess_loss, problem
from lrtransfer.stages.transformer.settings import StagedTransformer
from lrtransfer.width import one_step_coefficients, training_loss

Call = Callable[[], object]


@dataclass(frozen=True)
class Growth:
    """How an engine's time or memory grows with one size.

    Attributes
    ----------
    engine, axis
        words for people
    sizes
        what is tried
    call
        ``call(size)`` gives what is timed
    power
        the exponent to expect
    why
        of that exponent, in a few words
    memory
        True for the peak of NumPy's memory in bytes, False for seconds
    """

    engine: str
    axis: str
    sizes: Sequence[int]
    call: Callable[[int], Call]
    power: float
    why: str
    memory: bool = False

    def measured(self, times: int) -> list[list[float]]:
        """Seconds or bytes, (sizes, times): in turns, so that a disturbance meets all sizes alike."""
        calls = [self.call(size) for size in self.sizes]
        if self.memory:
            return [[peak(call)] for call in calls]
        for call in calls:
            call()
        rounds = [[seconds_of(call) for call in calls] for _ in range(times)]
        return np.transpose(rounds).tolist()


def peak(call: Call) -> float:
    """Most bytes that NumPy and Python hold at once during a call, beyond what they hold before."""
    tracemalloc.start()
    try:
        call()
        return float(tracemalloc.get_traced_memory()[1])
    finally:
        tracemalloc.stop()


def up_to(largest: int, number: int, factor: int = 2) -> list[int]:
    """So many sizes, each ``factor`` times the one before, up to the largest; none below 1."""
    return [size for k in range(number) if (size := largest // factor ** (number - 1 - k)) >= 1]


def _chain(depths: Sequence[int], runs: int, steps: int) -> Call:
    lrs = np.linspace(0.01, 1.5, runs) / np.array(depths)[:, None]
    return partial(gradient_descent, lrs, np.array(depths)[:, None], steps, mu_yx=1.0, init=0.1)


def _data(dim: int = 4) -> tuple[np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).standard_normal((32, dim))
    return X, X.sum(axis=1)


def _mlp(runs: int, **fields: int) -> Call:
    settings = replace(ResidualMLP(width=64, depth=6, steps=10, eval_every=0), **fields)  # type: ignore[arg-type]
    return partial(final_losses, settings, 2.0 ** np.linspace(-4, -2, runs), [0], device="cpu")


def _stages(d: int, stages: int) -> Call:
    return partial(excess_loss, "stacking", *problem(np.array([10.0, 30.0, 100.0, 10.0]), 0.1, d, 0), stages)


def growths(scale: int = 1) -> list[Growth]:
    """All that are measured; ``scale`` divides the sizes, for tests."""

    def sizes(largest: int, number: int = 5, factor: int = 2) -> list[int]:
        return up_to(max(largest // scale, 4), number, factor)

    X, y = _data()
    lrs = np.linspace(0.05, 0.5, 20)
    side = 0.4 * 1000**1.5
    mixed, tiny = (2, 4, 8, 16, 32, 64, 128), StagedTransformer(batch=8)
    return [
        Growth("depth", "runs", sizes(65536), lambda n: _chain(mixed, n // 7 + 1, 30), 1, "products of arrays"),
        Growth("depth", "steps", sizes(512), lambda n: _chain(mixed, 2000, n), 1, "one after the other"),
        Growth("depth", "depth L", sizes(4096, 6, 4), lambda n: _chain((n,), 20000, 30), 0, "log L squarings"),
        Growth("depth", "steps", sizes(512), lambda n: _chain(mixed, 2000, n), 1, "weights are kept", memory=True),
        Growth(
            "width, rotated", "width n", sizes(2**24, 5, 8),
            lambda n: partial(training_loss, lrs, n, X, y, 3, 4, seed=0), 0, "the width is a number",
        ),
        Growth(
            "width, rotated", "steps", sizes(128, 5),
            lambda n: partial(training_loss, lrs, 2**20, X, y, 3, n, seed=0), 2, "every step meets all before it",
        ),
        Growth(
            "width, vectors", "width n", sizes(2**20),
            lambda n: partial(one_step_coefficients, n, X, y, 3, seed=0, coordinates=True), 1, "vectors of length n",
        ),
        Growth(
            "width, vectors", "width n", sizes(2**20),
            lambda n: partial(one_step_coefficients, n, X, y, 3, seed=0, coordinates=True), 1, "vectors of length n",
            memory=True,
        ),
        Growth(
            "layers, dense", "width h", sizes(1024, 4),
            lambda n: partial(two_layer_losses, 0.1, 0.1, n, 4, draws=1, seed=0), 3, "products of matrices",
        ),
        Growth(
            "layers, dense", "width h", sizes(1024, 4),
            lambda n: partial(two_layer_losses, 0.1, 0.1, n, 4, draws=1, seed=0), 2, "matrices are kept", memory=True,
        ),
        Growth(
            "layers, circle", "width h", sizes(10**6, 4, 10),
            lambda n: partial(expected_loss, np.linspace(0.1, 1.0, 400) * n**1.5, 0.4 * n**1.5, n, 6),
            0, "the width is a number",
        ),
        Growth(
            "layers, circle", "runs", sizes(6400),
            lambda n: partial(expected_loss, np.linspace(0.1, 1.0, n) * 1000**1.5, side, 1000, 6), 1, "pairs of rates",
        ),
        Growth(
            "layers, circle", "steps", sizes(512),
            lambda n: partial(balance_course, np.linspace(0.9, 1.4, 5), 1000, n), 1, "one after the other",
        ),
        Growth("sweep", "depth L", sizes(64), lambda n: _mlp(1, depth=n), 1, "matrices in turn"),
        Growth("sweep", "width N", sizes(1024), lambda n: _mlp(1, width=n), 2, "products of N x N"),
        Growth("sweep", "steps", sizes(160), lambda n: _mlp(1, steps=n), 1, "one after the other"),
        Growth("sweep", "runs", sizes(64), lambda n: _mlp(n), 1, "each is trained"),
        Growth(
            "limit, fields", "depth L", sizes(64), lambda n: partial(linear_limit, lrs, 1.0, n, 8), 1, "layers in turn"
        ),
        Growth(
            "limit, fields", "steps", sizes(192, 5), lambda n: partial(linear_limit, lrs / 8, 1.0, 4, n), 3,
            "matrices over time, a row a step",
        ),
        Growth(
            "limit, fields", "steps", sizes(48, 5), lambda n: partial(linear_limit, lrs / 8, 1.0, 4, n), 2,
            "matrices over time", memory=True,
        ),
        Growth("stages, stacking", "stages", sizes(800), lambda n: _stages(10, n), 1, "one after the other"),
        Growth("stages, stacking", "dimension d", sizes(256), lambda n: _stages(max(n, 2), 10), 3, "inverses"),
        Growth(
            "transformer", "blocks", sizes(16, 4),
            lambda n: transformer_step(1, n, 2, settings=tiny).engine, 1, "blocks in turn",
        ),
        Growth(
            "transformer", "width n", [max(4, size // 4 * 4) for size in sizes(512, 4)],
            lambda n: transformer_step(1, 2, 2, settings=replace(tiny, width=n)).engine, 2, "products of n x n",
        ),
    ]  # fmt: skip
