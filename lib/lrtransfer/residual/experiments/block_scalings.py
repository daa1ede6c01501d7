r"""Ways to scale the blocks with depth: a multiplier L^-a and a factor L^c on the blocks' rate, under SGD and Adam.

Under SGD the factor L^c and the multiplier trade against the initial weights. With V = L^(a - 1/2) W the branch
L^-a W phi(h) is L^(-1/2) V phi(h), and a step of W at the rate eta L^(2a - 1) is a step of V at the rate eta: so
a = 1 with c = 1 is a = 1/2 whose blocks start L^(-1/2) smaller. Under Adam, whose steps have a fixed size, L blocks
move the stream by L^(1 - a + c).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from lrtransfer.numerics.estimates import Estimate
from lrtransfer.residual.experiments.blocks import block_work, inner_work
from lrtransfer.residual.experiments.readings import power_of
from lrtransfer.residual.networks.settings import ResidualMLP, ResNet


@dataclass(frozen=True)
class Way:
    """One way: the ``optimiser``, exponents a = ``branch`` and c = ``block_rate``.

    ``lr``, ``inner_lr``: base rates at which the MLP and the two-layer blocks are trained, the same at every depth.
    """

    name: str
    optimiser: str
    branch: float
    block_rate: float
    lr: float
    inner_lr: float


WAYS = (
    Way("SGD, $L^{-1/2}$", "sgd", 0.5, 0.0, 0.5, 0.1),
    Way("SGD, $L^{-1}$", "sgd", 1.0, 0.0, 1.0, 0.1),
    Way("SGD, $L^{-1}$, block rate times $L$", "sgd", 1.0, 1.0, 0.5, 0.1),
    Way("Adam, $L^{-1/2}$", "adam", 0.5, 0.0, 2.0**-5, 2.0**-7),
    Way("Adam, $L^{-1/2}$, block rate over $\\sqrt{L}$", "adam", 0.5, -0.5, 2.0**-5, 2.0**-7),
    Way("Adam, $L^{-1}$", "adam", 1.0, 0.0, 2.0**-5, 2.0**-7),
)


@dataclass(frozen=True)
class WayResult:
    """Exponents in L at a fixed base rate, each fitted to every seed.

    Blocks of one matrix: ``noise``, what the blocks add before training; ``learnt``, how much training changes it.
    Blocks of two: ``own`` and ``inherited`` part of the first layer's change, and the change of the ``stream``.
    Definitions: ``BlockWork``, ``InnerWork``.
    """

    noise: Estimate
    learnt: Estimate
    own: Estimate
    inherited: Estimate
    stream: Estimate


def compare_ways(
    depths: Sequence[int], inner_depths: Sequence[int], *, steps: int, seeds: int, ways: Sequence[Way] = WAYS
) -> dict[str, WayResult]:
    """Train residual MLPs over ``depths`` and two-layer blocks over ``inner_depths`` in every way, and take them apart.

    ``steps`` of each on one fixed batch, ``seeds`` draws. Raises ``ValueError`` naming the argument.
    Source: Eqs. 1, 2 of the paper; a = 1 under Adam is the convention of arXiv 2505.01618 (CompleteP).
    """
    found = {}
    for way in ways:
        changes: dict[str, Any] = {"optimiser": way.optimiser, "branch": way.branch, "block_rate": way.block_rate}
        runs = {"steps": steps, "seeds": seeds}
        work = block_work(ResidualMLP(**changes), depths, way.lr, **runs)
        inner = inner_work(ResNet(norm=None, **changes), inner_depths, way.inner_lr, images=32, **runs)
        found[way.name] = WayResult(
            power_of(depths, work.start),
            power_of(depths, work.learnt),
            power_of(inner_depths, inner.own),
            power_of(inner_depths, inner.inherited),
            power_of(inner_depths, inner.stream),
        )
    return found
