"""Many small residual networks at once, with what no chapter needs together: rates per block, growth, any target.

    h^0     = D^-1/2 W_in x
    h^{l+1} = h^l + beta N^-1/2 W^l phi(h^l)                                 one layer a block
    h^{l+1} = h^l + beta N^-1/2 W_2^l phi(N^-1/2 W_1^l phi(h^l))             two layers a block
    f       = w phi(h^L) / (gamma_0 N)

with entries drawn from N(0, 1) and SGD at the rate eta_0 gamma_0^2 N: the parametrisations "mup" (beta = 1) and
"mup_sqrt_depth" (beta = L^-1/2) of the Residual chapter. R runs, each with its own rate and seed, are the first axis
of every tensor; torch differentiates the sum of their losses, and a run that overflows touches no other. With one
layer a block, one rate and cross-entropy this is the network of ``lrtransfer.residual``, from the same draws: a test
holds the two against each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from lrtransfer.numerics.arguments import choice, count, positive, refuse
from lrtransfer.numerics.random import stream

if TYPE_CHECKING:
    from torch import Tensor

ACTIVATIONS = ("relu", "linear")
LOSSES = ("square", "cross-entropy")


@dataclass(frozen=True)
class Blocks:
    """A residual network: its sizes and its parametrisation.

    Attributes
    ----------
    width, depth
        N, and L, the number of blocks (when it grows: of the grown network)
    branch
        exponent a of the branch multiplier beta = L^-a: 1/2, or 0 for branches that are not scaled
    layers
        matrices in a block, 1 or 2
    activation
        phi, "relu" or "linear"
    loss
        "square", mean of (f - y)^2 / 2 over the points and the sum over outputs, or "cross-entropy"
    gamma0
        gamma_0

    Raises
    ------
    ValueError
        naming the field.
    """

    width: int = 32
    depth: int = 8
    branch: float = 0.5
    layers: int = 1
    activation: str = "relu"
    loss: str = "square"
    gamma0: float = 1.0

    def __post_init__(self) -> None:
        count("width", self.width, minimum=1)
        count("depth", self.depth, minimum=1)
        count("layers", self.layers, minimum=1, maximum=2)
        choice("activation", self.activation, ACTIVATIONS)
        choice("loss", self.loss, LOSSES)
        positive("gamma0", self.gamma0)
        if not 0 <= self.branch <= 1:
            raise refuse("branch", self.branch, "an exponent from 0 to 1")


class Batch:
    """R residual networks under training.

    Parameters
    ----------
    net
        the network
    seeds
        (R,), one a run; equal seeds give equal weights, whatever the other runs are
    inputs, outputs
        D, and the number of outputs or classes
    blocks
        how many blocks there are to begin with; all of ``net.depth`` by default
    """

    def __init__(
        self, net: Blocks, seeds: Sequence[int], inputs: int, outputs: int = 1, *, blocks: int | None = None
    ) -> None:
        self.net, self.seeds = net, list(seeds)
        n = net.width
        self.read_in = self._draw((n, inputs), 0)  # (R, N, D)
        self.blocks: list[list[Tensor]] = []  # of L lists of 1 or 2 tensors (R, N, N)
        self.readout = self._draw((outputs, n), 2)  # (R, C, N)
        self.grow("random", net.depth if blocks is None else blocks)

    def _draw(self, shape: tuple[int, ...], *key: int) -> Tensor:
        import torch

        unique = {seed: stream(seed, *key).standard_normal(shape, dtype=np.float32) for seed in set(self.seeds)}
        return torch.from_numpy(np.stack([unique[seed] for seed in self.seeds]))

    def grow(self, start: str, blocks: int) -> None:
        """Put ``blocks`` new blocks on top: drawn at random, with an output of zero, or copies of the top ones."""
        import torch

        first = len(self.blocks)
        for layer in range(first, first + blocks):
            if start == "copy":
                self.blocks.append([w.clone() for w in self.blocks[layer - blocks]])
                continue
            keys = [(1, layer), (4, layer)][: self.net.layers]  # the last matrix of a block has the key of the chapter
            new = [self._draw((self.net.width,) * 2, *key) for key in reversed(keys)]
            if start == "zero":
                new[-1] = torch.zeros_like(new[-1])
            self.blocks.append(new)

    @property
    def weights(self) -> list[Tensor]:
        """All tensors, the read-in first and the readout last."""
        return [self.read_in, *(w for block in self.blocks for w in block), self.readout]

    def outputs(self, x: Tensor) -> Tensor:
        """F (R, C, B), for x (R, B, D)."""
        import torch

        s, n = self.net, self.net.width
        phi: Callable[[Tensor], Tensor] = torch.relu if s.activation == "relu" else lambda h: h
        beta = float(s.depth) ** -s.branch * n**-0.5
        h = torch.bmm(x, self.read_in.mT) * x.shape[2] ** -0.5  # (R, B, D) (R, D, N) -> (R, B, N)
        for block in self.blocks:
            z = phi(h)
            for w in block[:-1]:
                z = phi(torch.bmm(z, w.mT) * n**-0.5)
            h = torch.baddbmm(h, z, block[-1].mT, alpha=beta)  # (R, B, N)
        return torch.bmm(self.readout, phi(h).mT) / (s.gamma0 * n)  # (R, C, B)

    def losses(self, x: Tensor, y: Tensor) -> Tensor:
        """Mean losses (R,), for x (R, B, D) and y (R, B): labels, or the target of the one output."""
        f = self.outputs(x)
        if self.net.loss == "square":
            return (f - y[:, None]).square().sum(1).mean(1) / 2
        return -f.log_softmax(1).gather(1, y[:, None]).mean((1, 2))

    def step(self, x: Tensor, y: Tensor, lrs: Tensor, factors: Tensor | None = None) -> Tensor:
        """One step of SGD; the losses (R,) before it.

        ``lrs`` (R,): base rates. ``factors`` (R, L): on the rates of the blocks, 1 by default.
        """
        import torch

        weights = self.weights
        for w in weights:
            w.requires_grad_(True)
        with torch.enable_grad():
            loss = self.losses(x, y)
            gradients = torch.autograd.grad(loss.sum(), weights)
        rates = lrs * (self.net.gamma0**2 * self.net.width)  # (R,)
        for place, (w, gradient) in enumerate(zip(weights, gradients, strict=True)):
            rate = rates
            if factors is not None and 0 < place < len(weights) - 1:
                rate = rates * factors[:, (place - 1) // self.net.layers]
            w.requires_grad_(False)
            w.addcmul_(gradient, -rate[:, None, None])
        return loss.detach()


def finite_or_inf(losses: Tensor) -> NDArray[np.float64]:
    """Losses as float64, inf where a run overflowed."""
    values = np.asarray(losses.detach().double().numpy())
    return np.where(np.isfinite(values), values, np.inf)


@contextmanager
def quick() -> Iterator[None]:
    """No gradients are recorded but in a step, and denormal numbers count as zero: dying runs are full of them."""
    import torch

    with torch.no_grad():
        torch.set_flush_denormal(True)
        try:
            yield
        finally:
            torch.set_flush_denormal(False)
