"""What ``lrtransfer transfer`` says of trained networks, and ``lrtransfer plot``: arguments in, text for people out."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from lrtransfer.numerics.arguments import one, positive, refuse
from lrtransfer.practice.rules import OPTIMISERS, branch_exponent, requirements, rule
from lrtransfer.practice.sweep import best_rate
from lrtransfer.residual.conditions import OCTAVES

if TYPE_CHECKING:
    from lrtransfer.practice.pictures import SweepCurve

FORMATS = (".svg", ".png")
PAGE: dict[str, dict[str, tuple[float, float]]] = {
    "adam": {
        "four times the batch": (-0.39, 0.13),
        "four times the steps": (-2.15, 0.13),
        "warm-up over half of the steps": (-0.10, 0.22),
        "epsilon 0.001": (0.11, 0.06),
    },
    "sgd": {
        "four times the batch": (0.26, 0.20),
        "four times the steps": (-1.21, 0.18),
        "warm-up over half of the steps": (0.21, 0.27),
    },
}
"""Octaves of best rate and their errors over seeds, as the page *Your own network* measures them on its network."""
ASSUMPTIONS = (
    "same batch, steps, warm-up, schedule, data and weight decay per unit of rate: the best rate moves with each",
    "the same family of network, with the first weights scaled by the factors shown (practice.initialise)",
    "the rate was a minimum inside its grid, told apart by seeds (practice.best_rate)",
)


def add_plot(commands: Any) -> None:
    """Add the command ``plot`` to the subparsers of ``lrtransfer``."""
    plot = commands.add_parser(
        "plot",
        help="a store's losses against the rate, as a picture",
        description="Draw the final losses of every curve in a store against the rate, with minima and seed bands.",
    )
    plot.add_argument("store", metavar="STORE", help="a file that a sweep made")
    plot.add_argument("--out", metavar="FILE", help="ends in .svg or .png (default: STORE with .svg)")
    plot.set_defaults(run=plotted)


def transferred(arguments: argparse.Namespace) -> str:
    """The rate, first weights and epsilon of every role at another width and depth, and what must stay the same."""
    by = arguments.optimiser
    if by is None:
        raise ValueError(
            f"--optimiser is missing: {', '.join(OPTIMISERS)}; --r is for the scalar linear networks alone."
        )
    width = _ratio("width", arguments.from_width, arguments.to_width)
    depth = _ratio("depth", arguments.from_depth, arguments.to_depth)
    if width is None and depth is None:
        raise ValueError("give --from-width and --to-width, --from-depth and --to-depth, or all four.")
    lr, w, d = one("lr", positive("lr", arguments.lr)), width or 1.0, depth or 1.0
    lines = [f"{'role':28}{'rate':>11}{'first weights':>15}{'epsilon':>9}  rule (factors on the base's)"]
    kinds = [("embedding", False), ("hidden", False), ("block", True), ("head", False)]
    kinds += [("bias and norm", True), ("bias and norm", False)]
    for role, inside in kinds:
        fans = {"fan_in": w if role in ("hidden", "block", "head") else 1.0, "fan_out": 1.0 if role == "head" else w}
        found = rule(role, by, **fans, depth=d, in_block=inside)
        shown = f"{role} in a block" if inside and role != "block" else role
        epsilon = "-" if by == "sgd" else f"{found.epsilon:.4g}"
        lines.append(f"{shown:28}{lr * found.lr:11.4g}{found.std:15.4g}{epsilon:>9}  {found.why}")
    if d != 1:
        lines.append(
            f"depth: branches times depth^-{branch_exponent(by):g}, the exponent under which {by}'s rates stay"
        )
    lines += [f"the model must: {need}" for need in requirements(by, width=w, depth=d)]
    lines += [f"assumed: {sentence}" for sentence in ASSUMPTIONS]
    return "\n".join([*lines, *measured(by)])


def measured(optimiser: str) -> list[str]:
    """How far the best rate moves when an assumption does not hold, on networks of the book; sentences."""
    by = "sgd" if optimiser == "sgd" else "adam"
    words = {"batch": "twice the batch", "steps": "twice the steps", "warmup": "warm-up over half of the steps"}
    digits = {words[name]: octaves for (who, name), octaves in OCTAVES.items() if who == by and name in words}
    found = {"a small MLP, practice.html": PAGE[by], "a residual MLP on digits, residual.html": digits}
    return [
        f"measured, octaves of best rate in {where}: "
        + ", ".join(f"{name} {value:+.2f} ± {error:.2f}" for name, (value, error) in each.items())
        for where, each in found.items()
        if each
    ]


def _ratio(axis: str, source: float | None, target: float | None) -> float | None:
    if (source is None) != (target is None):
        raise ValueError(f"--from-{axis} and --to-{axis} go together.")
    if source is None or target is None:
        return None
    return one(f"to-{axis}", positive(f"to-{axis}", target)) / one(f"from-{axis}", positive(f"from-{axis}", source))


def plotted(arguments: argparse.Namespace) -> str:
    """Write the picture; a line a curve with what ``best_rate`` says of it."""
    from lrtransfer.practice.pictures import draw_sweeps
    from lrtransfer.sweeps.store import Store

    file = Path(arguments.out) if arguments.out else Path(arguments.store).with_suffix(".svg")
    if file.suffix.lower() not in FORMATS:
        raise refuse("--out", str(file), "a file that ends in .svg or .png")
    with Store(arguments.store, read_only=True) as store:
        curves = curves_of_rows(store.rows())
    if not curves:
        raise refuse("STORE", str(arguments.store), "a store with two rates or more of one curve")
    figure = draw_sweeps(curves)
    figure.savefig(file, dpi=150)
    lines = []
    for curve in curves:
        if len(curve.lrs) < 3:
            lines.append(f"{curve.name}: two rates, no best one")
            continue
        found = best_rate(curve.lrs, curve.losses)
        at = "" if found.lr is None else f", best rate {found.lr:.4g} ({found.low:.4g} to {found.high:.4g})"
        lines.append(f"{curve.name}: {found.verdict}{at}")
    return "\n".join([*lines, f"drawn in {file}"])


def curves_of_rows(rows: Iterable[Any]) -> list[SweepCurve]:
    """Final losses by settings, of the seeds that all rates of a curve have; curves of a single rate are left out."""
    from lrtransfer.practice.pictures import SweepCurve

    found: dict[str, dict[float, dict[int, float]]] = {}
    fields: dict[str, dict[str, Any]] = {}
    for row in rows:
        described = {"kind": row.kind, **row.settings, "precision": row.precision}
        key = json.dumps(described, sort_keys=True, default=str)
        fields[key] = described
        found.setdefault(key, {}).setdefault(row.lr, {})[row.seed] = float(row.curve[-1])
    names = {name for each in fields.values() for name in each}
    differ = sorted(n for n in names if len({repr(each.get(n)) for each in fields.values()}) > 1)
    curves = []
    for key, by_rate in found.items():
        lrs = sorted(by_rate)
        seeds = sorted(set.intersection(*(set(each) for each in by_rate.values())))
        if len(lrs) > 1 and seeds:
            name = ", ".join(f"{n} = {fields[key][n]}" for n in differ if n in fields[key]) or fields[key]["kind"]
            losses = np.array([[by_rate[lr][seed] for seed in seeds] for lr in lrs])
            curves.append(SweepCurve(name, np.array(lrs), losses))
    return curves
