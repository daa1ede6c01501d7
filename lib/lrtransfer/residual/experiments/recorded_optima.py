"""Best rates of the recorded sweeps, read like those of a family that was trained here."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np

from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.estimates import Estimate, mean_and_error
from lrtransfer.page.checks import Check
from lrtransfer.rates import BestLR, trend
from lrtransfer.residual.experiments.block_scalings import WAYS
from lrtransfer.residual.experiments.readings import gain_at_best, move
from lrtransfer.residual.networks.optima import best_trained
from lrtransfer.residual.recorded import lines_of, read
from lrtransfer.sweeps.sweep import CurveResult


@dataclass(frozen=True)
class RecordedOptima:
    """Best rates at increasing ``sizes``, from a record.

    ``grids``, ``losses``: of every size its rates, (rates,), and final losses, (rates, seeds), inf where diverged.
    """

    sizes: tuple[int, ...]
    best: tuple[BestLR, ...]
    grids: tuple[Array, ...]
    losses: tuple[Array, ...]

    @property
    def moved(self) -> Estimate:
        """log2 of the last best rate over the first, paired by seed; a bound if one is on an edge."""
        return move(self.best[0], self.best[-1])

    @property
    def trend(self) -> Estimate:
        """Octaves of rate per octave of size, a bound if any best rate is on an edge; three sizes or more."""
        return trend(self.best, self.sizes)

    @property
    def lowest_logs(self) -> Array:
        """Log losses of every seed at the best rate on every size's grid, (sizes, seeds)."""
        logs = [np.log(table) for table in self.losses]
        return np.array([one[int(np.argmin(one.mean(axis=1)))] for one in logs])

    def lowest(self) -> tuple[Array, Array]:
        """Mean log loss at the best rate on every size's grid and its standard error over seeds, (sizes,) each."""
        return mean_and_error(self.lowest_logs)

    def gained(self, first: int, last: int) -> Estimate:
        """Fall of the lowest log loss from size number ``first`` to ``last``, by seed; a bound where one is an edge."""
        return gain_at_best(self.best, self.lowest_logs, first, last)


def recorded_optima(name: str, vary: str, **only: Any) -> dict[str, RecordedOptima]:
    """Best rates of results/residual-NAME against ``vary``, "depth" or "width", by parametrisation; {} without record.

    ``only``: fields of the settings that a curve must have, such as ``schedule="warmup"``.
    Raises ``DamagedRecord``, a ``ValueError``, for a record that was changed or made with other settings.
    """
    kept = read(name)
    lines = lines_of(kept[1], vary, **only) if kept else {}
    return {
        word: RecordedOptima(
            tuple(getattr(result.settings, vary) for result, _ in line),
            tuple(best for _, best in line),
            tuple(result.lrs for result, _ in line),
            tuple(result.losses[-1] for result, _ in line),
        )
        for word, line in lines.items()
        if len(line) > 1
    }


def recorded_values(name: str, field: str, vary: str, **only: Any) -> RecordedOptima | None:
    """Best values of a hyperparameter against ``vary``, from curves of one rate in results/residual-NAME.

    ``field``: "gamma0", "weight_decay", or "momentum", which stands for 1 / (1 - m) as in ``Family``. ``only``: as in
    ``recorded_optima``. None without record. Raises as ``recorded_optima`` does.
    """
    kept = read(name)
    chosen = [r for r in kept[1] if all(getattr(r.settings, f) == v for f, v in only.items())] if kept else []
    plain = {f.name: f.default for f in fields(chosen[0].settings)} if chosen else {}
    others = [f for f in ("gamma0", "weight_decay", "momentum") if f != field]
    rows: dict[int, dict[float, CurveResult]] = {}
    for r in chosen:
        if all(getattr(r.settings, f) == plain[f] for f in others):
            value = getattr(r.settings, field)
            value = 1 / (1 - value) if field == "momentum" else value
            rows.setdefault(getattr(r.settings, vary), {})[value] = r
    swept = {size: line for size, line in sorted(rows.items()) if len(line) > 2}
    grids = [np.array(sorted(line)) for line in swept.values()]
    tables = [np.stack([line[x].losses[-1][0] for x in sorted(line)]) for line in swept.values()]
    first = [next(iter(line.values())).settings for line in swept.values()]
    best = [best_trained(s, x, table) for s, x, table in zip(first, grids, tables, strict=True)]
    if not swept or None in best:
        return None
    return RecordedOptima(tuple(swept), tuple(b for b in best if b is not None), tuple(grids), tuple(tables))


def recorded_ways() -> dict[str, RecordedOptima]:
    """Best rates over depth of every way of ``WAYS``, by its name, from results/residual-ways; {} without record."""
    found = {}
    for way in WAYS:
        only = {"optimiser": way.optimiser, "branch": way.branch, "block_rate": way.block_rate}
        for line in recorded_optima("ways", "depth", **only).values():  # one parametrisation
            found[way.name] = line
    return found


def recorded_check(
    what: str, found: RecordedOptima | None, name: str, relation: str, octaves: float, *, ours: bool = False
) -> Check:
    """The check that a recorded best rate moves, from the first size to the last, "within" or "<=" so many octaves.

    ``found``: from ``recorded_optima(name, ...)``, or None where there is no record: the check is then not resolved,
    and says which command would decide it.
    """
    if found is None:
        return not_recorded(what, name, ours=ours)
    ends = f"{found.sizes[0]} to {found.sizes[-1]}, {found.best[0].seeds} seeds"
    return Check.of(
        found.moved, f"{what}, recorded, {ends}: change of log2 of the best value", relation, octaves, ours=ours
    )


def not_recorded(what: str, name: str, *, ours: bool = False) -> Check:
    """A check that waits for results/residual-NAME: not resolved, with the command that would decide it."""
    told = f"{what}: not run here; `lrtransfer record residual-{name}` decides it"
    return Check(told, np.inf, 0, relation="<=", undecided=True, ours=ours)


def longer_decides(
    short: Check, what: str, found: Estimate | None, name: str, relation: str, bound: float
) -> tuple[Check, Check]:
    """One statement asked of a recorded run of hundreds of updates, and of a short one: the recorded one decides it.

    ``found``: from results/residual-NAME, None where there is no record: that check is then not resolved. Returns the
    check of the record and ``short``, which is ours, and decides nothing, once the record is there.
    """
    if found is None:
        return not_recorded(what, name), short
    return Check.of(found, f"{what}, recorded", relation, bound), replace(short, ours=True)


@dataclass(frozen=True)
class RecordedFamily:
    """A family over ``vary``, "depth" or "width", in results/residual-RECORD.

    ``name``: that of the family which the page trains for a few updates, where there is one. ``only``: fields of the
    settings that tell its curves from others of the record.
    """

    name: str
    record: str
    vary: str = "depth"
    only: tuple[tuple[str, Any], ...] = ()

    def read(self) -> RecordedOptima | None:
        """Its best rates, None without the record.

        Raises ``DamagedRecord``, a ``ValueError``, for a record that was changed or made with other settings.
        """
        return next(iter(recorded_optima(self.record, self.vary, **dict(self.only)).values()), None)


# In the order of what they decide: the paper's statements first.
TRANSFORMERS = (
    RecordedFamily("pre-LN, mup, 1/√L", "vit-scaled"),
    RecordedFamily("no LN, mup, 1/√L", "vit-bare"),
    RecordedFamily("pre-LN, mup", "vit-unscaled"),
    RecordedFamily("pre-LN, mup, 1/√L, width", "vit-widths", "width", (("norm", True),)),
    RecordedFamily("no LN, mup, 1/√L, width", "vit-widths", "width", (("norm", False),)),
    RecordedFamily("pre-LN, mup, 1/√L, warm-up and cosine", "vit-cosine"),
    RecordedFamily("pre-LN, mup, 1/√L, Adam rate over √L", "vit-rates", "depth", (("norm", True),)),
    RecordedFamily("no LN, mup, 1/√L, Adam rate over √L", "vit-rates", "depth", (("norm", False),)),
    RecordedFamily("pre-LN, mup, 1/L", "vit-inverse"),
)


def recorded_transformers() -> dict[str, RecordedOptima | None]:
    """``RecordedFamily.read`` of every family of ``TRANSFORMERS``, by name."""
    return {family.name: family.read() for family in TRANSFORMERS}
