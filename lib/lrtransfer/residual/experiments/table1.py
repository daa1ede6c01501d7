"""Table 1 read off a network that was built, and its printed symbols as numbers."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from lrtransfer.images.catalogue import load
from lrtransfer.numerics.arguments import refuse
from lrtransfer.numerics.arrays import Array
from lrtransfer.residual.networks.paper_table import table1
from lrtransfer.residual.networks.settings import ResidualMLP

_TOKEN = re.compile(r"\d+\.?\d*(?:e[+-]?\d+)?|[A-Za-z_]\w*|[*/^()]")


def built_row(parametrisation: str, width: int, depth: int, gamma0: float = 1.0, seed: int = 0) -> Array:
    """The six numbers of a row of Table 1, from a residual MLP that is built, drawn and given its optimisers.

    Branch multiplier and gamma (the readout's multiplier is 1/(gamma sqrt(N)), 1/gamma in sp): the scales that the
    layers apply. Variance: mean square of all drawn weights of the branches, so up to 1 +- sqrt(2 / (L N^2)). Rates of
    SGD, of Adam, and of Adam by the later convention: those of the branches' parameter groups at base rate 1.
    ``gamma0``: 1 for sp and ntp. Returns (6,). Raises ``ValueError`` as ``ResidualMLP`` does.
    """
    from lrtransfer.residual.networks.torch_networks import build, initialise, parameter_groups

    data, rates = load("digits"), []
    sgd = ResidualMLP(width=width, depth=depth, parametrisation=parametrisation, gamma0=gamma0)
    adam = replace(sgd, optimiser="adam")
    for settings in (sgd, adam, replace(adam, block_rate=-0.5)):
        network: Any = build(settings, data.shape, data.classes)
        group = parameter_groups(network, settings, 1.0)[1]  # read-in, blocks, readout: one weight each
        assert group["params"][0] is network.blocks[0].branch[1].weight
        rates.append(group["lr"])
    initialise(network, seed)
    drawn = [block.branch[1].weight.detach().double().numpy() for block in network.blocks]
    readout = network.head[1].scale.multiplier * (1.0 if parametrisation == "sp" else math.sqrt(width))
    return np.array([network.blocks[0].branch[1].scale.multiplier, 1 / readout, np.mean(np.square(drawn)), *rates])


def symbol_values(row: Mapping[str, str], width: int, depth: int, gamma0: float = 1.0) -> Array:
    """The symbols of a row of ``table1()``, such as "gamma_0/sqrt(N L)", as numbers: its six entries after the name.

    Raises ``ValueError`` naming an entry of other things than numbers, N, L, gamma_0, sqrt, products and powers.
    """
    known = {"N": float(width), "L": float(depth), "gamma_0": float(gamma0)}
    return np.array([_value(entry, known) for entry in list(row.values())[1:]])


def _value(entry: str, known: Mapping[str, float]) -> float:
    """An entry as a number; read here and not handed to Python, which would run whatever stands in it."""
    tokens = _TOKEN.findall(entry)
    refused = refuse("row", entry, "with entries of numbers, N, L, gamma_0, sqrt( ), products, quotients and powers ^")
    if "".join(tokens) != "".join(entry.split()):
        raise refused
    tokens.append("")

    def product() -> float:  # a space multiplies
        value = power()
        while tokens[0] not in ("", ")"):
            divide = tokens[0] == "/"
            if tokens[0] in ("*", "/"):
                tokens.pop(0)
            value = value / power() if divide else value * power()
        return value

    def power() -> float:
        base = atom()
        if tokens[0] == "^":
            tokens.pop(0)
            return base ** power()
        return base

    def atom() -> float:
        token = tokens.pop(0)
        if token in known:
            return known[token]
        if token in ("(", "sqrt") and (token == "(" or tokens.pop(0) == "("):
            inside = product()
            if tokens.pop(0) != ")":
                raise refused
            return inside if token == "(" else math.sqrt(inside)
        try:
            return float(token)
        except ValueError:
            raise refused from None

    try:
        value = product()
    except ArithmeticError:
        raise refused from None
    if tokens != [""]:
        raise refused
    return value


def built_over_symbols(width: int, depth: int, gamma0: Mapping[str, float]) -> dict[str, Array]:
    """Every row of ``table1()`` read off a network that is built, over its symbols as numbers: one (6,) a row.

    ``gamma0`` by parametrisation; 1 for sp and ntp.
    """
    rows = [(row["parametrisation"], row) for row in table1()]
    return {
        name: built_row(name, width, depth, gamma0[name]) / symbol_values(row, width, depth, gamma0[name])
        for name, row in rows
    }
