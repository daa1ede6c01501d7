r"""The rules behind every number: rate, initial scale, decay and epsilon of a role, relative to a small base model.

With i and o the factors by which fan-in and fan-out grew, l that of the depth, and branches multiplied by l^-a:

    =============  ==========  ======  ============  =======
    role           std         SGD     Adam, AdamW   epsilon
    =============  ==========  ======  ============  =======
    embedding      1           o       1             1/o
    hidden, block  i^(-1/2)    o/i     1/i           1/o
    head           1/i         1/i     1/i           1
    bias and norm  1           o       1             1/o
    tied           1           o       1             1/o
    fixed          1           1       1             1
    =============  ==========  ======  ============  =======

Everything in a block takes the depth's factor besides: l^(2a - 1) for SGD, l^(a - 1) for Adam, l^-a for epsilon. For L
blocks in one direction move the stream by L beta^2 times SGD's rate, beta = L^-a, and by L beta times Adam's. So

    SGD    a = 1/2, rates unchanged; a = 1 is the same network with rates times l and smaller first weights
    Adam   a = 1, rates unchanged; a = 1/2 needs rates over sqrt(l), under which inner layers turn lazy

Weight decay is meant per unit of base rate: each group's is the base's over its factor of the rate, so that a step
shrinks weights alike at every size; biases and gains do not decay. Gradients, and so Adam's epsilon, of all but the
head shrink with the width. ``tied`` is one matrix for tokens in and out: its logits must be multiplied by 1/o in the
forward pass.

Source: width, Yang et al., arXiv 2203.03466, Table 3 (tied: their Table 8 and the package mup); depth, Table 1 of
the residual chapter's paper (``lrtransfer.residual.layer_scale``), and for a = 1 arXiv 2505.01618, Table 1.
"""

from __future__ import annotations

from dataclasses import dataclass

from lrtransfer.numerics.arguments import choice, finite, one, positive

ROLES = ("embedding", "hidden", "block", "head", "bias and norm", "tied", "fixed")
OPTIMISERS = ("sgd", "adam", "adamw")


@dataclass(frozen=True)
class Rule:
    """Factors on the base's rate, first standard deviation and Adam's epsilon; whether it decays; ``why`` in words."""

    lr: float
    std: float
    epsilon: float
    decays: bool
    why: str


def branch_exponent(optimiser: str, branch: float | None = None) -> float:
    """The exponent a of branches times depth^-a: as given, else the one under which rates stay, 1/2 or 1 (Adam)."""
    choice("optimiser", optimiser, OPTIMISERS)
    if branch is None:
        return 0.5 if optimiser == "sgd" else 1.0
    return one("branch", finite("branch", branch, minimum=0.0))


def rule(
    role: str,
    optimiser: str,
    *,
    fan_in: float = 1.0,
    fan_out: float = 1.0,
    depth: float = 1.0,
    in_block: bool = False,
    branch: float | None = None,
) -> Rule:
    """What the table above says of one weight.

    Parameters
    ----------
    role
        One of ``ROLES``; "block" is a hidden matrix in a residual branch.
    optimiser
        "sgd" (with or without momentum), "adam" or "adamw".
    fan_in, fan_out, depth
        By which factors they grew, positive.
    in_block
        Whether it lies in a residual branch, as a bias may; a "block" does.
    branch
        The exponent a of the branches' multiplier; by default ``branch_exponent``.

    Returns
    -------
    Rule

    Raises
    ------
    ValueError
        Naming the argument.
    """
    name, by = choice("role", role, ROLES), choice("optimiser", optimiser, OPTIMISERS)
    i, o = one("fan_in", positive("fan_in", fan_in)), one("fan_out", positive("fan_out", fan_out))
    layers, a = one("depth", positive("depth", depth)), branch_exponent(by, branch)
    adam = by != "sgd"
    decays = name != "bias and norm"
    if name in ("hidden", "block"):
        lr, std, epsilon = (1 / i if adam else o / i), i**-0.5, 1 / o
        why = "1/fan-in: all its terms agree" if adam else "fan-out/fan-in"
    elif name == "head":
        lr, std, epsilon, why = 1 / i, 1 / i, 1.0, "1/fan-in, and first weights as small"
    elif name == "fixed":
        lr, std, epsilon, why = 1.0, 1.0, 1.0, "no dimension grew"
    else:
        lr, std, epsilon = (1.0 if adam else o), 1.0, 1 / o
        why = "one term for each entry: unchanged" if adam else "fan-out: its gradient shrinks with it"
    if (in_block or name == "block") and layers != 1:
        power = a - 1 if adam else 2 * a - 1
        lr, epsilon = lr * layers**power, epsilon * layers**-a
        why += f"; depth^{power:g} in a block" if power else ""
    return Rule(lr, std, epsilon, decays, why)


def requirements(
    optimiser: str, *, width: float = 1.0, depth: float = 1.0, branch: float | None = None, tied: bool = True
) -> list[str]:
    """What optimiser groups cannot do: multipliers that the model's forward pass must have, relative to the base's.

    ``tied``: whether it may have a table for tokens in and out.
    """
    needs = []
    if depth != 1:
        a = branch_exponent(optimiser, branch)
        needs.append(f"multiply every residual branch by {depth:g}^-{a:g} = {depth**-a:.4g}")
    if width != 1:
        if tied:
            needs.append(f"multiply logits made by a tied table by 1/{width:g}")
        needs.append("where the size of attention heads grows, divide their scores by that size, not by its root")
    return needs
