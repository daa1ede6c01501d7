"""SGD and Adam for many runs at once, in place: the only ones of the package.

Weights and gradients of R runs have the run as their first axis; ``lrs`` holds a rate a run in a shape that broadcasts
over them, (R, 1) for weights (R, P). torch's own optimisers know one rate a tensor, not one a run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch import Tensor

BETAS, EPSILON = (0.9, 0.999), 1e-8  # of Adam, torch's defaults


def sgd_(
    weights: Tensor,
    gradient: Tensor,
    lrs: Tensor,
    *,
    factor: Tensor | None = None,
    momentum: float = 0.0,
    velocity: Tensor | None = None,
) -> None:
    """One step of SGD.

        v <- momentum v + g
        w <- w - lr factor v

    Parameters
    ----------
    weights, gradient
        w and g, (R, ...); w is changed
    lrs
        rates, broadcast over the weights
    factor
        None, or what an entry's rate is of its run's, broadcast over the weights
    momentum, velocity
        ``velocity`` v, of the weights' shape and zero at first, is changed; None for no momentum
    """
    if velocity is not None:
        gradient = velocity.mul_(momentum).add_(gradient)
    weights.addcmul_(gradient if factor is None else gradient * factor, -lrs)


def adam_(
    weights: Tensor,
    gradient: Tensor,
    lrs: Tensor,
    moments: tuple[Tensor, Tensor] | list[Tensor],
    updates: int,
    *,
    factor: Tensor | None = None,
    epsilon: float = EPSILON,
    root_first: bool = False,
) -> None:
    """One step of Adam; decoupled weight decay is ``shrink_``, before it.

        m <- b1 m + (1 - b1) g
        v <- b2 v + (1 - b2) g^2
        w <- w - lr factor (m / (1 - b1^t)) / (sqrt(v / (1 - b2^t)) + epsilon)

    Parameters
    ----------
    weights, gradient, lrs, factor
        as in ``sgd_``
    moments
        m and v, of the weights' shape and zero at first; they are changed
    updates
        t, counted from 1, this one included
    epsilon
        added to the root of the second moment
    root_first
        whether the root is taken of v and scaled then, or of v scaled. They differ in the last bit of float32, which
        thousands of steps amplify: the transformer's 2100 move a final loss by 0.005. Each network keeps to its own
    """
    (first, second), (b1, b2) = moments, BETAS
    first.lerp_(gradient, 1 - b1)
    second.mul_(b2).addcmul_(gradient, gradient, value=1 - b2)
    corrected = 1 - b2**updates
    root = second.sqrt().mul_(corrected**-0.5) if root_first else (second / corrected).sqrt_()
    move = first / root.add_(epsilon)
    if factor is not None:
        move.mul_(factor)
    weights.addcmul_(move, -lrs, value=1 / (1 - b1**updates))


def shrink_(weights: Tensor, lrs: Tensor, decay: Tensor | float) -> None:
    """Decoupled weight decay: w <- (1 - lr decay) w.

    Parameters
    ----------
    weights, lrs
        as in ``sgd_``
    decay
        per unit of rate, broadcast over the weights
    """
    weights.mul_(1 - lrs * decay)
