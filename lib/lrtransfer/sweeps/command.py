"""The commands ``lrtransfer sweep`` and ``lrtransfer export``: arguments in, text for people out."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from lrtransfer.sweeps.executors import check_address
from lrtransfer.sweeps.run import DEVICES, ready, run
from lrtransfer.sweeps.settings_file import read_sweep, shipped
from lrtransfer.sweeps.store.export import SUFFIXES, export
from lrtransfer.sweeps.store.opening import store_for, stored_of
from lrtransfer.sweeps.sweep import Sweep, labels, summary
from lrtransfer.sweeps.task_registry import task_of


def add_commands(commands: Any) -> None:
    """Add the two commands to the subparsers of ``lrtransfer``."""
    sweep = commands.add_parser(
        "sweep",
        help="train at many rates what a TOML file describes",
        description="Train what the store lacks of a sweep, and print the best rate of every curve. Stop it as you "
        "like: the same command goes on from there. `lrtransfer sweep --list` names the files that come with it.",
    )
    sweep.add_argument("settings", nargs="?", metavar="SETTINGS.toml", help="a file, or a name that --list shows")
    sweep.add_argument("--device", default="auto", choices=DEVICES, help="where to train (auto: cuda, else mps, cpu)")
    sweep.add_argument("--store", metavar="FILE", help="where the runs are kept (default: runs/SETTINGS.sqlite)")
    sweep.add_argument("--workers", metavar="ADDRESS", help="a dask scheduler that hands the runs to its workers")
    sweep.add_argument("--export", metavar="FILE", help="then write all runs of the store to a .csv or .parquet file")
    sweep.add_argument("--progress", action=argparse.BooleanOptionalAction, help="a bar (default: on a terminal)")
    sweep.add_argument("--wait", action="store_true", help="wait for another process that trains for the same store")
    sweep.add_argument("--again", action="store_true", help="train again what other versions of the packages made")
    sweep.add_argument("--dry-run", action="store_true", help="only say what there is to do")
    sweep.add_argument("--list", action="store_true", help="the files that come with lrtransfer")
    sweep.set_defaults(run=_sweep)
    table = commands.add_parser(
        "export", help="a store as a table", description="Write the runs of a store to a .csv or .parquet file."
    )
    table.add_argument("store", metavar="STORE", help="a file that `lrtransfer sweep` made")
    table.add_argument("file", metavar="FILE", help="ends in .csv, or in .parquet (needs pyarrow)")
    table.set_defaults(run=_export)


def _sweep(arguments: argparse.Namespace) -> str:
    if arguments.list:
        wide = max(map(len, shipped()))
        return "\n".join(f"{name:{wide}}  {title}" for name, title in sorted(shipped().items()))
    if arguments.settings is None:
        raise ValueError("SETTINGS.toml is missing: name a file, or one of those that `lrtransfer sweep --list` shows.")
    sweep = read_sweep(arguments.settings)
    if arguments.export is not None and Path(arguments.export).suffix.lower() not in SUFFIXES:
        raise ValueError(f"--export {arguments.export} is not allowed: its name must end in .csv or .parquet.")
    if arguments.workers is not None:
        check_address(arguments.workers)
    if arguments.store == "":
        raise ValueError("--store '' is not allowed: name a file, or leave --store out.")
    path = Path(arguments.store or Path("runs") / f"{Path(arguments.settings).stem}.sqlite")
    if arguments.dry_run:
        return _plan(sweep, path)
    keys = sweep.keys
    if arguments.workers is None and stored_of(keys, path) < len(keys):
        ready(sweep, arguments.device)  # before there is a store
    with store_for(keys, path, again=arguments.again) as store:
        print(f"{sweep.title or path.stem}: {len(keys)} runs, {len(store.has(keys))} of them in {path} already")
        sys.stdout.flush()
        try:
            results = run(
                sweep,
                store,
                workers=arguments.workers,
                device=arguments.device,
                progress=arguments.progress,
                wait=arguments.wait,
                again=arguments.again,
            )
        except KeyboardInterrupt:
            done = len(store.has(keys))
            print(f"\nstopped: {done} of {len(keys)} runs are stored; the same command goes on from there")
            raise SystemExit(130) from None
        text = summary(results)
        if arguments.export is not None:
            text += f"\n{export(store, arguments.export)} runs of {path} written to {arguments.export}"
        return text


def _plan(sweep: Sweep, path: Path) -> str:
    names = labels([curve.settings for curve in sweep.curves])
    wide = max(map(len, names))
    lines = [f"{'curve':{wide}}  steps   batch  rates"]
    for name, curve in zip(names, sweep.curves, strict=True):
        s, low, high = curve.settings, curve.lrs[0], curve.lrs[-1]
        steps, batch = (getattr(s, name, "-") for name in ("steps", "batch"))
        lines.append(f"{name:{wide}}  {steps:<6}  {batch:<5}  {len(curve.lrs)}: {low:.4g} to {high:.4g}")
    total = f"{len(sweep)} runs of {len(sweep.curves)} curves with {len(sweep.seeds)} seeds"
    if path.is_file():
        total += f", {stored_of(sweep.keys, path)} of them in {path} already"
    data = ", ".join(sorted({task_of(curve.settings).data(curve.settings) for curve in sweep.curves}))
    return "\n".join([*lines, f"data: {data}", total])


def _export(arguments: argparse.Namespace) -> str:
    return f"{export(arguments.store, arguments.file)} runs written to {arguments.file}"
