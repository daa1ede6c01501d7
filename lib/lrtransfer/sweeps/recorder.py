"""The one recorder: what makes a folder of results/, in one sitting or in several.

A recipe names a record, says what its numbers depend on and how they are computed. ``record`` follows it and writes the
record. What is done is kept under runs/NAME until then, so that a recording that was stopped goes on where it was;
its duration is the sum over sittings. Recipes live in the papers' own modules, in a tuple ``RECIPES``, and are looked
up by name: this room knows no paper.
"""

from __future__ import annotations

import importlib
import importlib.util
import json
import shutil
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lrtransfer.numerics.arguments import refuse
from lrtransfer.sweeps import records
from lrtransfer.sweeps.progress import bar

ROOMS = ("depth", "width", "residual", "layers", "stages", "practice", "synthesis", "performance")
MODULES = tuple(f"lrtransfer.{room}.recorded" for room in ROOMS)


class Sitting:
    """One sitting of a recording.

    Attributes
    ----------
    folder
        where its parts are kept, from sitting to sitting; for stores of the recipe's own too
    device
        on which it trains: as in ``train_sweep``
    key
        a sum over the recipe's settings, which parts that are kept must have had too
    tell
        ``tell(share)`` moves the bar
    """

    def __init__(self, folder: Path, device: str, key: str, tell: Callable[[float], None]) -> None:
        self.folder, self.device, self.tell = folder, device, tell
        self._key = key

    def part(self, name: str, compute: Callable[[], Any]) -> Any:
        """A part of the numbers, from an earlier sitting where that had come so far.

        Parameters
        ----------
        name
            of the part, unique in the recording
        compute
            ``compute()`` gives it; a part that was kept with other settings of the recipe is computed anew

        Returns
        -------
        object
            what ``compute()`` returns, as JSON gives it back: lists come back as lists, inf as ``math.inf``.
        """
        file = self.folder / f"{name}.json"
        kept = records.load(file, ("key", "part"))
        if kept is None or kept["key"] != self._key:
            kept = {"key": self._key, "part": records.plain(name, compute())}
            records.save(file, kept)
        return records.with_infinity(kept["part"])


@dataclass(frozen=True)
class Recipe:
    """How a record is made.

    Attributes
    ----------
    name
        the record's folder in results/, such as "layers-noise"
    what
        a line for people
    settings
        a mapping or a dataclass of all that the numbers depend on: the record holds it
    make
        a function of a ``Sitting`` that returns the numbers, a mapping
    packages
        those whose versions matter, next to Python's
    minutes
        about how long it takes on one core, from a slice that was timed; None where nobody timed it
    """

    name: str
    what: str
    settings: Any
    make: Callable[[Sitting], Mapping[str, Any]]
    packages: tuple[str, ...] = ("numpy",)
    minutes: float | None = None

    @property
    def takes(self) -> str:
        """About how long it takes on one core, for people; empty where that is not known."""
        if self.minutes is None:
            return ""
        return f"about {self.minutes:.0f} min" if self.minutes < 90 else f"about {self.minutes / 60:.1f} h"


def recipes() -> dict[str, Recipe]:
    """Every recipe of the installed package.

    Returns
    -------
    dict of str to Recipe
        by name, in the order of ``MODULES``.

    Raises
    ------
    ValueError
        where two have one name.
    """
    found: dict[str, Recipe] = {}
    for module in MODULES:
        # A room may have no records; of one that is not there find_spec raises.
        room = module.rpartition(".")[0]
        if importlib.util.find_spec(room) is None or importlib.util.find_spec(module) is None:
            continue
        for recipe in importlib.import_module(module).RECIPES:
            if recipe.name in found:
                raise ValueError(f"Two recipes make {recipe.name!r}: name one of them otherwise.")
            found[recipe.name] = recipe
    return found


def recipe_of(name: str) -> Recipe:
    """The recipe of a record.

    Parameters
    ----------
    name
        of the record

    Returns
    -------
    Recipe

    Raises
    ------
    ValueError
        naming those that there are.
    """
    known = recipes()
    if name not in known:
        raise refuse("name", name, "one of " + ", ".join(repr(each) for each in known))
    return known[name]


def record(
    recipe: Recipe,
    *,
    folder: str | Path | None = None,
    runs: str | Path = "runs",
    device: str = "auto",
    again: bool = False,
) -> Path:
    """Follow a recipe and write FOLDER/NAME/record.json.

    Parameters
    ----------
    recipe
        from ``recipe_of``, or your own
    folder
        results/ of the repository by default
    runs
        what is done is kept in RUNS/NAME: the same call goes on from there after Ctrl-C or ``kill -9``
    device
        "auto", "cpu", "cuda" or "mps", for what trains
    again
        True to throw away what earlier sittings kept

    Returns
    -------
    Path
        of the record.

    Raises
    ------
    ValueError
        for numbers that a record cannot hold, and what the recipe refuses.
    FileNotFoundError
        where there is no results/ to write to.
    """
    if folder is None and not records.results().is_dir():
        raise FileNotFoundError("This installation has no results folder: name one, --results FOLDER.")
    kept = Path(runs) / recipe.name
    if again:
        shutil.rmtree(kept, ignore_errors=True)
    kept.mkdir(parents=True, exist_ok=True)
    key = records.digest({"settings": records.plain("settings", recipe.settings)})
    with bar(recipe.name) as tell, _clock(kept / "seconds.json", key) as spent:
        numbers = recipe.make(Sitting(kept, device, key, tell))
        return records.write(
            recipe.name,
            recipe.settings,
            numbers,
            seconds=spent(),
            folder=folder,
            made_by=f"lrtransfer record {recipe.name}",
            packages=recipe.packages,
        )


@contextmanager
def _clock(file: Path, key: str) -> Iterator[Callable[[], float]]:
    """A function that gives the seconds of all sittings so far; those of this one are kept however it ends."""
    kept = records.load(file, ("key", "seconds"))
    before = float(kept["seconds"]) if kept is not None and kept["key"] == key else 0.0
    start = time.perf_counter()

    def spent() -> float:
        return before + time.perf_counter() - start

    try:
        yield spent
    finally:
        records.save(file, {"key": key, "seconds": spent()})


def table(results: Path | None = None) -> str:
    """Every record by name: when and how long it was made, or that it is not there, and what it is.

    Parameters
    ----------
    results
        their folder, results/ of the repository by default

    Returns
    -------
    str
        a line a record; of one that is not there, about how long it takes on one core.
    """
    known = recipes()
    wide = max(map(len, known), default=0)
    lines = []
    for name, recipe in known.items():
        try:
            entry = recorded(recipe, folder=results)
            missing = ", ".join(filter(None, ("not recorded", recipe.takes)))
            made = missing if entry is None else f"{entry['date']}, {entry['seconds'] / 60:.1f} min"
        except records.DamagedRecord as error:  # the others are still to be seen
            made = f"REFUSED: {error}"
        lines.append(f"{name:{wide}}  {made:27}  {recipe.what}")
    return "\n".join(lines)


def same_settings(recipe: Recipe, entry: Mapping[str, Any]) -> bool:
    """Whether a record was made with the settings that its recipe has now.

    Parameters
    ----------
    recipe
        the recipe
    entry
        the record

    Returns
    -------
    bool
    """
    now = records.plain("settings", recipe.settings)
    return json.dumps(now, sort_keys=True) == json.dumps(entry["settings"], sort_keys=True)


def recorded(recipe: Recipe, *, folder: str | Path | None = None) -> dict[str, Any] | None:
    """The record of a recipe, refused where it was made with other settings.

    Parameters
    ----------
    recipe
        the recipe
    folder
        results/ of the repository by default

    Returns
    -------
    dict or None
        as ``records.read``; None where there is none.

    Raises
    ------
    DamagedRecord
        a ``ValueError``, naming the record.
    """
    entry = records.read(recipe.name, folder=folder)
    if entry is not None and not same_settings(recipe, entry):
        raise records.DamagedRecord(
            f"results/{recipe.name} was made with other settings than the page asks for: "
            f"`lrtransfer record {recipe.name}` makes it again."
        )
    return entry
