"""Rate sweeps of trained residual networks: settings in, losses out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lrtransfer._check import choice, count, positive, refuse
from lrtransfer.residual.data import DATASETS, Dataset, load
from lrtransfer.residual.parametrisation import Scales, check_parametrisation, layer_scales

if TYPE_CHECKING:
    import torch

    from lrtransfer.residual.network import Weights

ACTIVATIONS = ("relu", "linear", "tanh")
DEVICES = ("auto", "cpu", "cuda", "mps")


@dataclass(frozen=True)
class ResidualMLP:
    """A residual MLP and its training by SGD on cross-entropy: all a run depends on but its rate and seed.

    ``width`` N, ``depth`` L (number of residual branches), ``parametrisation`` "sp", "ntp", "mup" or
    "mup_sqrt_depth", ``activation`` "relu", "linear" or "tanh", ``gamma0`` gamma_0 (1 for sp and ntp),
    ``branch`` the exponent a of the branch multiplier L^-a (None: the parametrisation's own), ``steps`` the
    number of SGD updates, ``batch`` the images a minibatch, ``data`` the data set's name; the loss is
    measured on the first ``eval_points`` images of its ``eval_split``, "train" (as in the paper's sweeps) or
    "test" (images held out).

    Raises ``ValueError`` naming the field, at construction. Symbols: ``lrtransfer.residual.parametrisation``.
    """

    width: int = 64
    depth: int = 6
    parametrisation: str = "mup_sqrt_depth"
    activation: str = "relu"
    gamma0: float = 1.0
    branch: float | None = None
    steps: int = 40
    batch: int = 128
    data: str = "digits"
    eval_points: int = 600
    eval_split: str = "train"

    def __post_init__(self) -> None:
        check_parametrisation(self.parametrisation, self.gamma0, self.branch)
        choice("activation", self.activation, ACTIVATIONS)
        choice("data", self.data, DATASETS)
        choice("eval_split", self.eval_split, ("train", "test"))
        # Plain numbers only, so that equal settings compare, print and hash alike (16, 16.0, numpy's 16).
        for name, minimum in (("width", 1), ("depth", 1), ("steps", 0), ("batch", 1), ("eval_points", 1)):
            object.__setattr__(self, name, count(name, getattr(self, name), minimum=minimum))
        object.__setattr__(self, "gamma0", float(self.gamma0))
        object.__setattr__(self, "branch", None if self.branch is None else float(self.branch))


def train_sweep(
    settings: ResidualMLP, lrs: ArrayLike, seeds: Sequence[int], *, device: str = "auto"
) -> NDArray[np.float64]:
    """Train a network at every rate and seed, as one batched program, and return its learning curves.

    ``settings``: the network and its training. ``lrs``: base rates eta_0, shape (lrs,), positive, in any
    order. ``seeds``: whole numbers from 0, such as ``range(3)``. ``device``: "auto" (cuda, else mps, else
    cpu), "cpu", "cuda" or "mps".

    Returns the cross-entropy in nats on the fixed evaluation points after t = 0 .. steps updates, shape
    (steps + 1, lrs, seeds). A run that overflowed is inf from then on; it costs nothing more and does not
    touch the others. A seed fixes the initial weights and the minibatches, for all rates, parametrisations,
    widths and depths alike (common random numbers): differences between rates are not blurred by the draw.

    Measuring after every update costs more than training: with the default settings a sweep takes about three
    times as long as ``final_losses``, which gives the last row alone.

    Raises ``ValueError`` for bad arguments, and ``ValueError`` for a device that this machine lacks.
    """
    return _train(settings, lrs, seeds, device, curve=True)


def final_losses(
    settings: ResidualMLP, lrs: ArrayLike, seeds: Sequence[int], *, device: str = "auto"
) -> NDArray[np.float64]:
    """The last row of ``train_sweep``, shape (lrs, seeds): the same runs, evaluated at the end only."""
    return _train(settings, lrs, seeds, device, curve=False)[-1]


def _train(
    settings: ResidualMLP, lrs: ArrayLike, seeds: Sequence[int], device: str, *, curve: bool
) -> NDArray[np.float64]:
    """Curves (steps + 1, lrs, seeds), or only their last row (1, lrs, seeds)."""
    rates = positive("lrs", lrs)
    if rates.ndim != 1 or rates.size == 0:
        raise refuse("lrs", lrs, "a list of one or more rates")
    seeds = _checked_seeds(seeds)
    torch = _torch()
    where = resolve_device(device)
    data = load(settings.data)
    if settings.batch > len(data.train_y):
        allowed = f"at most the {len(data.train_y)} training images of {settings.data!r}"
        raise refuse("batch", settings.batch, allowed)
    points = len(data.train_y if settings.eval_split == "train" else data.test_y)
    if settings.eval_points > points:
        allowed = f"at most the {points} {settings.eval_split} images of {settings.data!r}"
        raise refuse("eval_points", settings.eval_points, allowed)

    run_lrs, run_seeds = (
        np.repeat(rates, len(seeds)),
        np.tile(np.arange(len(seeds)), rates.size),
    )  # (lrs * seeds,)
    out = np.full((settings.steps + 1 if curve else 1, run_lrs.size), np.inf)
    with torch.no_grad(), _flushed_denormals():
        sweep = _Sweep.prepare(settings, data, seeds, where)
        size = _group(settings, where)
        for first in range(0, run_lrs.size, size):
            group = slice(first, first + size)
            sweep.run(run_lrs[group], run_seeds[group], out[:, group], curve=curve)
    return out.reshape(-1, rates.size, len(seeds))


@dataclass(frozen=True)
class _Sweep:
    """What the runs of a sweep share, on the device: scales, images, minibatches, initial networks."""

    settings: ResidualMLP
    scales: Scales
    train: tuple[torch.Tensor, torch.Tensor]  # (images, D), (images,)
    eval: tuple[torch.Tensor, torch.Tensor]  # (eval_points, D), (eval_points,)
    batches: torch.Tensor  # (steps, seeds, B), indices of training images
    start: Weights  # one run a seed

    @classmethod
    def prepare(cls, settings: ResidualMLP, data: Dataset, seeds: Sequence[int], device: torch.device) -> _Sweep:
        import torch

        from lrtransfer.residual.network import initial_weights

        s, dim = settings, data.train_x.shape[1]
        scales = layer_scales(s.parametrisation, s.width, s.depth, dim, gamma0=s.gamma0, branch=s.branch)
        start = initial_weights(scales, seeds, s.width, s.depth, dim, data.classes)

        x, y = (data.train_x, data.train_y) if s.eval_split == "train" else (data.test_x, data.test_y)

        def there(array: NDArray[Any]) -> torch.Tensor:
            return torch.tensor(array, device=device)

        return cls(
            settings,
            scales,
            (there(data.train_x), there(data.train_y)),
            (there(x[: s.eval_points]), there(y[: s.eval_points])),
            there(minibatches(s, seeds, len(data.train_y))),
            start.to(device),
        )

    def run(
        self,
        run_lrs: NDArray[np.float64],
        run_seeds: NDArray[np.int64],
        out: NDArray[np.float64],
        *,
        curve: bool,
    ) -> None:
        """Train runs together; fills ``out`` (steps + 1, or 1 without the curve; runs), given full of inf."""
        import torch

        from lrtransfer.residual.network import evaluate, sgd_step

        device = self.batches.device
        alive = np.arange(run_lrs.size)  # the runs that the tensors below still hold, in order
        seed_of = torch.tensor(run_seeds, device=device)  # (R,)
        lrs = torch.tensor(run_lrs, dtype=torch.float32, device=device)  # (R,)
        weights = self.start.take(seed_of)
        steps = self.settings.steps
        for t in range(steps + 1):
            sound = None
            if curve or t == steps:
                losses = evaluate(weights, self.scales, self.settings.activation, *self.eval)  # (R,)
                out[t if curve else 0, alive] = losses.cpu().numpy()
                sound = losses.isfinite()
            if t == steps:
                return
            rows = self.batches[t][seed_of]  # (R, B)
            x, y = self.train[0][rows], self.train[1][rows]  # (R, B, D), (R, B)
            losses = sgd_step(weights, self.scales, self.settings.activation, x, y, lrs)
            sound = losses.isfinite() if sound is None else sound & losses.isfinite()
            if not bool(sound.all()):  # let the diverged runs go
                keep = sound.nonzero()[:, 0]
                if keep.numel() == 0:
                    return
                alive = alive[keep.cpu().numpy()]
                weights, seed_of, lrs = weights.take(keep), seed_of[keep], lrs[keep]


def minibatches(settings: ResidualMLP, seeds: Sequence[int], images: int) -> NDArray[np.int64]:
    """Training images of every step, indices (steps, seeds, batch): drawn anew each step, none twice."""
    from lrtransfer.residual.network import stream

    draws = np.empty((settings.steps, len(seeds), settings.batch), dtype=np.int64)
    for column, seed in enumerate(seeds):
        random = stream(seed, 3)
        for t in range(settings.steps):
            draws[t, column] = random.permutation(images)[: settings.batch]
    return draws


def _group(settings: ResidualMLP, device: torch.device) -> int:
    """How many runs to train together: as many as keep their hidden activations within a budget.

    On a CPU the budget is the cache. Measured on one thread for 42 runs at widths 16 to 128 and depths 3 to
    24: groups by 3 MiB were within about 15% of the best size; all 42 together took up to 1.6 times the best,
    one run at a time up to 4.3 times. Elsewhere the budget is memory.
    """
    budget = 3 * 2**20 if device.type == "cpu" else 2**31
    return max(1, budget // (4 * settings.depth * settings.width * settings.batch))


def _checked_seeds(seeds: Sequence[int]) -> list[int]:
    try:
        entries = list(seeds)
    except TypeError:
        raise refuse("seeds", seeds, "a list of whole numbers from 0, such as range(3)") from None
    if not entries:
        raise refuse("seeds", seeds, "a list of one or more whole numbers from 0, such as range(3)")
    return [count("seeds", seed) for seed in entries]


def _torch() -> ModuleType:
    try:
        import torch
    except ImportError as error:
        raise ImportError("training residual networks needs PyTorch: pip install torch") from error
    return torch


def resolve_device(device: str) -> torch.device:
    """The torch device for "auto", "cpu", "cuda" or "mps"; ``ValueError`` if this machine lacks it."""
    choice("device", device, DEVICES)
    torch = _torch()
    present = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if device == "auto":
        device = next(name for name, there in present.items() if there)
    if not present[device]:
        here = [repr(name) for name, there in present.items() if there]
        raise refuse("device", device, f"one that this machine has ({', '.join(here)}), or 'auto'")
    return torch.device(device)


@contextmanager
def _flushed_denormals() -> Iterator[None]:
    """Treat denormal floats as zero for a while: dying runs are full of them, and they are slow on a CPU."""
    import torch

    # There is no getter, so the processor is asked: with flushing on, a denormal times one is zero.
    before = (torch.full((1,), 1e-40) * 1.0).item() == 0.0
    torch.set_flush_denormal(True)
    try:
        yield
    finally:
        torch.set_flush_denormal(before)
