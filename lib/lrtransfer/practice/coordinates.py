"""Coordinate check of any torch module: does every part of it move alike at every size?

A parametrisation transfers its rate when a few updates move what every layer puts out equally far at every size. So
train the network at several sizes for a few steps, measure the change of each place, and fit its power of the size:
zero is level. It takes seconds, needs no sweep, and finds a wrong multiplier or rate at once; it cannot show where the
best rate is, nor that the loss falls.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lrtransfer.numerics.arguments import choice, count, one, positive, refuse
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.estimates import HOLDS, OPEN, Estimate
from lrtransfer.numerics.fits import power_by_seed
from lrtransfer.sweeps.devices import required_torch

if TYPE_CHECKING:
    from torch import Tensor, nn
    from torch.optim import Optimizer

AXES = ("width", "depth", "batch", "context")
LEVEL, GROWS, SHRINKS, STILL, OVERFLOWS = "level", "grows", "shrinks", "did not move", "overflows"


@dataclass(frozen=True)
class CoordinateCheck:
    """Change of everything that a module puts out, and its power of the size.

    Attributes
    ----------
    places
        Names (places,): the network's own output as "output", the loss as "loss", every module by its path, with
        "[0]", ".logits" and so on behind it for each tensor where it puts out several. Of a list of modules whose
        length changes with the size, "first", "middle" and "last" stand for the number.
    exponents, errors
        Shape (places,). Slope of log change against log size, mean over seeds and standard error (inf for one seed).
        For a place that overflows both are inf; for one that did not move the exponent is 0 and the error inf.
    verdicts
        Words (places,): "level", "grows", "shrinks", "did not move", "overflows", "not resolved".
    unwatched, reasons
        Names of modules of which nothing is known; why, by name.
    axis, sizes
        What was varied, and how: shape (sizes,).
    changes
        Shape (sizes, places, seeds). Root mean square, over all entries, of the change by the training; 0 within
        rounding, inf after an overflow.
    within
        The bound on exponents that count as level.
    """

    places: tuple[str, ...]
    exponents: Array
    errors: Array
    verdicts: tuple[str, ...]
    unwatched: tuple[str, ...]
    reasons: dict[str, str]
    axis: str
    sizes: NDArray[np.int64]
    changes: Array
    within: float

    @property
    def passed(self) -> bool:
        """Whether every place is level; of what is ``unwatched`` nothing is known."""
        return all(verdict == LEVEL for verdict in self.verdicts)

    def as_table(self) -> list[dict[str, Any]]:
        """One dictionary a place: place, exponent, error, verdict, mean changes at the ends; then the unwatched."""
        rows: list[dict[str, Any]] = []
        for k, place in enumerate(self.places):
            ends = {f"change at {self.sizes[i]}": float(self.changes[i, k].mean()) for i in (0, -1)}
            row = {"place": place, "exponent": float(self.exponents[k]), "error": float(self.errors[k])}
            rows.append(row | {"verdict": self.verdicts[k]} | ends)
        empty = dict.fromkeys(("exponent", "error"), "") | {"verdict": "not watched"}
        empty |= {f"change at {self.sizes[i]}": "" for i in (0, -1)}
        return rows + [{"place": f"{name} ({self.reasons[name]})"} | empty for name in self.unwatched]

    def __str__(self) -> str:
        seeds = self.changes.shape[-1]
        lines = [f"change against {self.axis} {self.sizes.tolist()}, {seeds} seeds; level: within {self.within:g}"]
        wide = max(map(len, self.places))
        for place, exponent, error, verdict in zip(
            self.places, self.exponents, self.errors, self.verdicts, strict=True
        ):
            shown = f"{exponent:+.2f} ± {error:.2f}" if math.isfinite(error) else f"{exponent:+.2f}"
            number = "" if verdict in (STILL, OVERFLOWS) else shown
            lines.append(f"{place:{wide}}  {number:14}  {verdict}")
        return "\n".join([*lines, *(f"not watched: {name}: {self.reasons[name]}" for name in self.unwatched)])


def coordinate_check(
    build: Callable[[int], nn.Module],
    sizes: Sequence[int],
    batch: Any,
    loss: Callable[[nn.Module, Any], Tensor],
    optimiser: Callable[[nn.Module], Optimizer],
    *,
    steps: int = 3,
    seeds: int | Sequence[int] = 4,
    axis: str = "width",
    within: float = 0.2,
) -> CoordinateCheck:
    r"""Measure how far a few updates move everything that a torch module puts out, against its size.

    With c(n, s) the root mean square change of a place at size n and seed s,

        exponent = mean over s of the least-squares slope of log c(n, s) on log n,

    and with t the one-sided 95 % quantile of Student's distribution over seeds the verdict is

        level          \|exponent\| + t error <= within        grows, shrinks   \|exponent\| - t error > within
        did not move   at some size no seed moved            overflows        some run did
        not resolved   all else: more seeds, or sizes further apart, would tell

    What the theory says at rates that do not diverge: level everywhere for a parametrisation that transfers along
    the axis. Powers are multiples of 1/2 where one does not, so ``within`` may be anything well below that; finite
    sizes bend them by about 0.1.

    Everything is watched whole: every module that is called, with whatever it returns; the network's own output,
    so that heads without a module of their own (tied, functional) are seen; and the loss. All passes draw the same
    random numbers, so dropout may stay on.

    Parameters
    ----------
    build
        ``build(size)``: the network of that width or depth, freshly initialised.
    sizes
        Two or more increasing whole numbers.
    batch
        What ``loss`` needs, or a function of the size that returns it, where the batch or its context varies.
    loss
        ``loss(module, batch)``: a scalar tensor.
    optimiser
        ``optimiser(module)``: one ``torch.optim`` optimiser, its rates set as you scale them.
    steps
        Updates, all on the one batch.
    seeds
        How many, or which, of torch's generator before each ``build``. One seed resolves nothing.
    axis
        The word for what ``sizes`` are: "width", "depth", "batch" or "context".
    within
        The bound on exponents that count as level, positive.

    Returns
    -------
    CoordinateCheck
        Print it, draw it with ``practice.draw_check``, or take its ``as_table()``.

    Raises
    ------
    ValueError
        Naming the argument and what is allowed; for a module that keeps random numbers or a state of its own from
        pass to pass, naming the module. A network that diverges is reported and raises nothing.

    Notes
    -----
    Source: the coordinate check of Yang et al., arXiv 2203.03466, Appendix D.1.
    """
    required_torch()
    import torch

    from lrtransfer.modules import checked_functions as given
    from lrtransfer.modules.watching import same_random_state
    from lrtransfer.practice.places import movement

    given.check_functions(
        build=(build, given.BUILD),
        loss=(loss, given.LOSS),
        optimiser=(optimiser, given.OPTIMISER),
    )
    numbers, places = given.checked_sizes(sizes), given.checked_seeds(seeds)
    updates, name = count("steps", steps, minimum=1), choice("axis", axis, AXES)
    bound = one("within", positive("within", within))
    varies = callable(batch) and not isinstance(batch, torch.Tensor | torch.nn.Module)
    shapes: dict[Any, int] = {}
    grid: list[list[Any]] = []
    lengths: list[dict[str, int]] = []
    with torch.enable_grad():
        for size in numbers:
            data = batch(size) if varies else batch
            row: list[Any] = []
            for seed in places:
                with same_random_state(seed):
                    network = given.checked_model(build(size), "build(size)")
                if not row:
                    lengths.append(_lengths(network))
                    _check_size(network, size, shapes, varies, name)
                row.append(movement(network, data, loss, optimiser, updates, seed))
            grid.append(row)
    return _gathered(grid, lengths, numbers, name, bound)


def _check_size(network: nn.Module, size: int, shapes: dict[Any, int], varies: bool, axis: str) -> None:
    """Refuse a network without parameters, and sizes that change nothing."""
    if not any(each.requires_grad for each in network.parameters()):
        raise refuse("build(size)", f"a {type(network).__name__} without trainable parameters", "a module to train")
    parts = tuple(name for name, _ in network.named_modules())
    shape = (parts, *((name, tuple(each.shape)) for name, each in network.named_parameters()))
    if shape in shapes and not varies:
        hint = "a function of the size as batch" if axis in ("batch", "context") else "a build that uses its size"
        raise ValueError(
            f"sizes = {shapes[shape]} and {size} give the same model and the same batch: pass {hint}, or sizes that "
            "change the model."
        )
    shapes[shape] = size


def _lengths(network: nn.Module) -> dict[str, int]:
    """How many modules every list or sequence of modules holds, by its path; "" for the network itself."""
    from torch.nn import ModuleList, Sequential

    return {name: len(each) for name, each in network.named_modules() if isinstance(each, ModuleList | Sequential)}


def _aliases(name: str, lengths: dict[str, int], grown: set[str]) -> list[str]:
    """What a place at ``name`` is called at every size: numbers in lists that grow become first, middle, last."""
    shown, path = [""], ""
    for part in name.split("."):
        parts = [part]
        digits = part.split("[")[0]
        if path in grown and digits.isdecimal():
            n, at = lengths[path], int(digits)
            ends = {"first": 0, "middle": (n - 1) // 2, "last": n - 1}
            parts = [word + part[len(digits) :] for word, place in ends.items() if place == at]
        shown = [f"{before}.{each}" if before else each for before in shown for each in parts]
        path = f"{path}.{part}" if path else part
    return shown


def _gathered(
    grid: list[list[Any]], lengths: list[dict[str, int]], sizes: list[int], axis: str, within: float
) -> CoordinateCheck:
    """Changes by place, where every size and seed has it; the rest is unwatched."""
    grown = {path for path in lengths[0] if len({each.get(path) for each in lengths}) > 1}
    renamed: list[list[dict[str, float]]] = []
    reasons: dict[str, str] = {}
    for row, length in zip(grid, lengths, strict=True):
        renamed.append([])
        for entry in row:
            renamed[-1].append({a: c for name, c in entry.changes.items() for a in _aliases(name, length, grown)})
            reasons |= {a: why for name, why in entry.unwatched.items() for a in _aliases(name, length, grown)}
    tables = [each for row in renamed for each in row]
    names = list(dict.fromkeys(name for table in tables for name in table))
    everywhere = [name for name in names if all(name in table for table in tables)]
    for name in names:
        if name not in everywhere:
            reasons.setdefault(name, "it is not there at every size and seed")
    # The network's own output and the loss first: who reads only two lines reads those.
    heads = [name for name in ("output", "loss") if name in everywhere]
    everywhere = heads + [name for name in everywhere if name not in heads]
    changes = np.array([[[table[name] for table in row] for name in everywhere] for row in renamed])
    at = np.array(sizes)
    found = [_verdict(at, changes[:, k], within) for k in range(len(everywhere))]
    exponents, errors, verdicts = zip(*found, strict=True)
    unwatched = tuple(name for name in reasons if name not in everywhere)
    return CoordinateCheck(
        tuple(everywhere),
        np.array(exponents),
        np.array(errors),
        verdicts,
        unwatched,
        {name: reasons[name] for name in unwatched},
        axis,
        at,
        changes,
        within,
    )


def _verdict(sizes: NDArray[np.int64], changes: Array, within: float) -> tuple[float, float, str]:
    """Exponent, error and verdict of one place; changes (sizes, seeds)."""
    if np.isinf(changes).any():
        return math.inf, math.inf, OVERFLOWS
    still = changes == 0
    if still.any():
        return 0.0, math.inf, STILL if still.all(axis=1).any() else OPEN
    slope, error = power_by_seed(sizes, changes)
    estimate = Estimate(float(slope), float(error), changes.shape[1])
    outcome = estimate.outcome("within", within)
    if outcome in (HOLDS, OPEN):
        return estimate.value, estimate.error, LEVEL if outcome == HOLDS else OPEN
    return estimate.value, estimate.error, GROWS if slope > 0 else SHRINKS
