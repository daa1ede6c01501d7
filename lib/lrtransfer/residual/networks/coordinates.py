"""Coordinate check: how far training moves every layer's activations, against width or depth.

A parametrisation transfers its rate when a few updates move the activations equally far at every size. So train
networks of several sizes for a few steps, measure the change of each layer's output, and fit its power of the
size: zero is flat. It takes seconds, needs no sweep, and finds a wrong multiplier or rate at once; it cannot show
where the best rate is, nor that the loss falls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from lrtransfer.numerics.arguments import choice, count, one, positive, refuse
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.fits import power_by_seed
from lrtransfer.residual.networks.settings import NetworkSettings, check_settings
from lrtransfer.residual.networks.stepping import optimiser_of
from lrtransfer.residual.networks.training import checked_data, checked_seeds
from lrtransfer.sweeps.devices import required_torch

if TYPE_CHECKING:
    from torch import Tensor, nn
    from torch.optim import Optimizer

    from lrtransfer.modules.watching import Place


@dataclass(frozen=True)
class CoordinateCheck:
    """Change of every watched layer's activations, and its power of the size.

    Attributes
    ----------
    sizes
        widths or depths, (sizes,)
    layers
        their names, (layers,)
    changes
        (sizes, layers, seeds): root mean square, over the batch and the coordinates, of the change of the layer's
        output by the training
    exponents, errors
        (layers,): the slope of log change against log size, fitted to every seed by least squares, mean over seeds and
        its standard error (inf for one seed); both inf where a run overflowed or a change is zero
    own
        as ``changes``, with the input that the layer had before the training, so that only its own weights count; zero
        for a layer without weights
    own_exponents, own_errors
        as ``exponents`` and ``errors``, for ``own``
    """

    sizes: NDArray[np.int64]
    layers: tuple[str, ...]
    changes: Array
    exponents: Array
    errors: Array
    own: Array
    own_exponents: Array
    own_errors: Array


def coordinate_check(
    settings: NetworkSettings,
    sizes: Sequence[int],
    *,
    vary: str = "width",
    lr: float = 0.1,
    steps: int = 3,
    seeds: Sequence[int] = range(4),
    batch: int = 64,
) -> CoordinateCheck:
    """Coordinate check of one of the book's networks, against its width or its depth.

    Watched: "read-in", "stream 1/2" and "stream" (after half of the blocks and after all), "inner" (the first matrix in
    the last block, where a branch has two) and "f" (the logits).

    What the theory says at rates that do not diverge. Width: flat for mup and mup_sqrt_depth; ntp's stream moves like
    N^(-1/2). Depth: flat for mup_sqrt_depth under SGD; everything grows with depth for sp, ntp and mup (their branches'
    noise compounds). In mup_sqrt_depth a block's ``own`` change falls like 1/L, so that the L blocks together move the
    stream by O(1), and an inner layer's like L^(-1/2): it turns lazy.

    Parameters
    ----------
    settings
        any class of ``lrtransfer.residual.networks.settings``; its width or depth, ``steps`` and ``batch`` are replaced
    sizes
        two or more increasing widths or depths
    vary
        "width" or "depth"
    lr
        base rate eta_0, positive
    steps
        updates, all on the same first ``batch`` training images
    seeds
        of the weights
    batch
        images

    Returns
    -------
    CoordinateCheck

    Raises
    ------
    ValueError
        naming the argument.
    """
    check_settings(settings)
    name = choice("vary", vary, ("width", "depth"))
    rate = one("lr", positive("lr", lr))
    required_torch()
    import torch

    from lrtransfer.residual.networks.torch_networks import build, initialise

    updates = count("steps", steps, minimum=1)
    # A warm-up longer than these few updates is cut short, as the first updates of a training are.
    length = max(updates, settings.warmup_steps)
    s = replace(settings, steps=length, batch=count("batch", batch, minimum=1), eval_points=1)
    data = checked_data(s)
    x, y = torch.tensor(np.asarray(data.train_x[: s.batch])), torch.tensor(data.train_y[: s.batch])

    def model(size: int) -> nn.Module:
        return build(replace(s, **{name: size}), data.shape, data.classes)  # type: ignore[arg-type]

    def start(network: nn.Module, seed: int) -> None:
        initialise(network, seed)

    return coordinate_check_model(
        model,
        sizes,
        (x, y),
        lambda network, batch: torch.nn.functional.cross_entropy(network(batch[0]), batch[1]),
        lambda network: optimiser_of(network, s, rate),
        steps=updates,
        seeds=seeds,
        watch=_places,
        start=start,
    )


def coordinate_check_model(
    build: Callable[[int], nn.Module],
    sizes: Sequence[int],
    batch: Any,
    loss: Callable[[nn.Module, Any], Tensor],
    optimiser: Callable[[nn.Module], Optimizer],
    *,
    steps: int = 3,
    seeds: Sequence[int] = range(4),
    watch: Callable[[nn.Module], Mapping[str, nn.Module]] | None = None,
    start: Callable[[nn.Module, int], None] | None = None,
) -> CoordinateCheck:
    """Coordinate check of your own torch model: changes of its layers' outputs against whatever ``build`` varies.

    Torch's global generator is left as it was. A run that overflowed counts as an infinite change.

    Parameters
    ----------
    build
        ``build(size)``: the model of that width or depth, freshly initialised
    sizes
        two or more increasing whole numbers
    batch
        what ``loss`` needs
    loss
        ``loss(model, batch)``: a scalar tensor
    optimiser
        ``optimiser(model)``: the optimiser under test, with its rates set as you scale them
    steps
        updates, all on ``batch``
    seeds
        of torch's generator before each ``build``; the two passes that are compared draw the same random numbers
    watch
        ``watch(model)``: the modules to watch by name; None for all modules without children that every size has
    start
        ``start(model, seed)``: draws the weights where ``build`` does not; None where it does

    Returns
    -------
    CoordinateCheck

    Raises
    ------
    ValueError
        naming the argument.
    """
    torch = required_torch()
    from lrtransfer.modules import checked_functions as given

    given.check_functions(
        build=(build, given.BUILD),
        loss=(loss, given.LOSS),
        optimiser=(optimiser, given.OPTIMISER),
    )
    if watch is not None:
        given.check_functions(watch=(watch, given.WATCH))
    if start is not None:
        given.check_functions(start=(start, given.START))
    numbers = given.checked_sizes(sizes)
    places = checked_seeds(seeds)
    updates = count("steps", steps, minimum=1)
    found: list[list[dict[str, tuple[float, float]]]] = []
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        for size in numbers:
            row = []
            for seed in places:
                torch.manual_seed(seed)
                network = given.checked_model(build(size), "build(size)")
                if start is not None:
                    start(network, seed)
                row.append(_changes(network, batch, loss, optimiser, updates, watch or _leaves))
            found.append(row)
    names = [name for name in found[0][0] if all(name in entry for row in found for entry in row)]
    if not names:
        raise refuse("watch", watch, "a function that finds at least one module of the same name at every size")
    both = np.array([[[entry[name] for entry in row] for name in names] for row in found])  # (.., seeds, 2)
    changes, own = both[..., 0], both[..., 1]
    at = np.array(numbers)
    return CoordinateCheck(at, tuple(names), changes, *power_by_seed(at, changes), own, *power_by_seed(at, own))


def _changes(
    network: nn.Module,
    batch: Any,
    loss: Callable[[nn.Module, Any], Tensor],
    optimiser: Callable[[nn.Module], Optimizer],
    steps: int,
    watch: Callable[[nn.Module], Mapping[str, nn.Module]],
) -> dict[str, tuple[float, float]]:
    """Root mean square change of every watched module's output by the updates: all of it, and its own part."""
    from lrtransfer.modules.checked_functions import checked_loss, checked_optimiser

    before = _outputs(network, batch, loss, watch)
    by = checked_optimiser(optimiser(network))
    for _ in range(steps):
        by.zero_grad()
        checked_loss(loss(network, batch)).backward()
        by.step()
    after = _outputs(network, batch, loss, watch)
    modules = watch(network)
    changes = {}
    for name, place in before.items():
        output = place.outputs[-1]
        changes[name] = _moved(after[name].outputs[-1], output), _moved(place.again(modules[name]), output)
    return changes


def _moved(after: Mapping[str, Tensor], before: Mapping[str, Tensor]) -> float:
    from lrtransfer.modules.watching import size_of

    return size_of([after[path] - value for path, value in before.items()])


def _outputs(
    network: nn.Module,
    batch: Any,
    loss: Callable[[nn.Module, Any], Tensor],
    watch: Callable[[nn.Module], Mapping[str, nn.Module]],
) -> dict[str, Place]:
    """What went into and came out of every watched module when the loss was computed."""
    import torch

    from lrtransfer.modules.checked_functions import checked_loss, checked_watch
    from lrtransfer.modules.watching import same_random_state, watching

    with watching(checked_watch(watch, network), inputs=True) as seen, torch.no_grad(), same_random_state(0):
        checked_loss(loss(network, batch))
    return {name: place for name, place in seen.items() if place.outputs and place.outputs[-1]}


def _leaves(network: nn.Module) -> dict[str, nn.Module]:
    return {name: module for name, module in network.named_modules() if name and not any(module.children())}


def _places(network: Any) -> dict[str, nn.Module]:
    """The places that all networks of the book have, whatever their depth."""
    from lrtransfer.residual.networks.torch_networks import Scaled

    blocks = list(network.blocks)
    inner = [m for m in blocks[-1].modules() if isinstance(m, Scaled) and m.role == "inner"]
    places = {"read-in": network.read_in, "stream 1/2": blocks[(len(blocks) - 1) // 2], "stream": blocks[-1]}
    return places | ({"inner": inner[0]} if inner else {}) | {"f": network.head}
