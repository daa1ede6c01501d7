"""The command ``lrtransfer``: transfer a rate, list the claims, train a sweep, export its store, make a record."""

from __future__ import annotations

import argparse
import io
import os
import re
import sys
import warnings
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from lrtransfer import depth
from lrtransfer.images.archives import DataUnavailable
from lrtransfer.page import ledger
from lrtransfer.page.claims import statements
from lrtransfer.practice import command as practice
from lrtransfer.practice.rules import OPTIMISERS
from lrtransfer.sweeps import command, recorder
from lrtransfer.sweeps.devices import DEVICES
from lrtransfer.sweeps.driver import RunError


def _transfer(arguments: argparse.Namespace) -> str:
    if arguments.r is None:
        return practice.transferred(arguments)
    for name in ("optimiser", "from_width", "to_width"):
        if getattr(arguments, name) is not None:
            raise ValueError(f"--r is for the scalar linear networks, which have no --{name.replace('_', '-')}.")
    if arguments.from_depth is None or arguments.to_depth is None:
        raise ValueError("--r needs --from-depth and --to-depth.")
    arch, source, target = arguments.arch, arguments.from_depth, arguments.to_depth
    lr = float(depth.transfer_lr(arguments.lr, source, target, arguments.r, arch=arch))
    ratio = lr / arguments.lr
    exponent = (
        "" if arch != "chain" else f", exponent p_eff = {depth.effective_exponent(source, target, arguments.r):.4g}"
    )
    depths = f"depth {source:.15g} -> {target:.15g}"
    return f"{lr:.6g}\n({arch}, {depths}, r = {arguments.r:.15g}: factor {ratio:.4g}{exponent})"


def claims_text(arguments: argparse.Namespace) -> str:
    """The ledger of the last build as a table."""
    rows = [r for r in ledger.last_build() if arguments.chapter in (None, r["chapter"])]
    wide = max((len(r["id"]) for r in rows), default=0)
    lines = [f"{r['id']:{wide}}  {r['verdict']:28}  {r['where'] or '-'}" for r in rows]
    return "\n".join([*lines, f"{sum(r['verdict'] != 'open' for r in rows)} of {len(rows)} claims have a verdict"])


def _record(arguments: argparse.Namespace) -> str:
    if arguments.list:
        return recorder.table(None if arguments.results is None else Path(arguments.results))
    if arguments.name is None:
        raise ValueError("NAME is missing: name one of the records that `lrtransfer record --list` shows.")
    path = recorder.record(
        recorder.recipe_of(arguments.name),
        folder=arguments.results,
        runs=arguments.runs,
        device=arguments.device,
        again=arguments.again,
    )
    return f"{arguments.name} is recorded in {path}"


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="lrtransfer", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    transfer = commands.add_parser(
        "transfer",
        help="the rate at another width or depth",
        description="Transfer a learning rate between widths and depths of a trained network (--optimiser), or between "
        "depths of a scalar linear network (--r; Eq. 12 of the depth chapter's paper and its residual counterparts).",
    )
    transfer.add_argument("--arch", default="chain", choices=depth.ARCHITECTURES)
    transfer.add_argument("--optimiser", choices=OPTIMISERS, help="of a trained network")
    for axis, letter in (("width", "N"), ("depth", "L")):
        transfer.add_argument(f"--from-{axis}", type=float, metavar=f"{letter}0")
        transfer.add_argument(f"--to-{axis}", type=float, metavar=letter)
    transfer.add_argument("--lr", type=float, required=True, help="the rate tuned at --from-width, --from-depth")
    transfer.add_argument("--r", type=float, help="mu_yx / mu_xx of the data of a scalar linear network")
    transfer.set_defaults(run=_transfer)
    claims = commands.add_parser("claims", help="the ledger of the last build, as a table")
    chapters = list(dict.fromkeys(statement.chapter for statement in statements().values()))
    claims.add_argument("--chapter", choices=chapters, help="only this chapter")
    claims.set_defaults(run=claims_text)
    command.add_commands(commands)
    practice.add_plot(commands)
    made = commands.add_parser(
        "record",
        help="make a record of results/ again",
        description="Make results/NAME again. Stop it as you like: the same command goes on from there.",
    )
    made.add_argument("name", nargs="?", metavar="NAME", help="a record that --list shows")
    made.add_argument("--list", action="store_true", help="all records: when they were made, and what they are")
    made.add_argument("--device", default="auto", choices=DEVICES, help="where to train (auto: cuda, else mps, cpu)")
    made.add_argument("--runs", default="runs", metavar="FOLDER", help="where the unfinished is kept (default: runs)")
    made.add_argument("--results", metavar="FOLDER", help="where the record goes (default: results/ of the repository)")
    made.add_argument("--again", action="store_true", help="throw away what earlier sittings kept")
    made.set_defaults(run=_record)
    return parser


def _extra(error: ImportError) -> str:
    """Which extra of the package brings what an import lacks, as the end of a sentence; "" where none does."""
    cause = error.__cause__ if isinstance(error.__cause__, ImportError) else error
    name = {"sklearn": "scikit-learn", "flint": "python-flint"}.get(str(cause.name).split(".")[0], str(cause.name))
    try:
        asked = [line for line in metadata.requires("lrtransfer") or [] if re.match(rf"{name}\b", line)]
    except metadata.PackageNotFoundError:
        return ""
    extras = sorted({each for line in asked for each in re.findall(r"extra == [\"'](\w+)", line)})
    wanted = "sweeps" if "sweeps" in extras else next(iter(extras), "")
    return f" (the extra that brings it: lrtransfer[{wanted}])" if wanted else ""


def _sentence(error: Exception) -> str:
    """What an error says; the system's own with their file first, a missing package with the extra that has it."""
    if isinstance(error, ImportError):
        return f"{error}{_extra(error)}"
    if isinstance(error, OSError) and error.filename is not None:
        return f"'{os.fsdecode(error.filename)}' cannot be used: {error.strerror}"
    return str(error.strerror or error) if isinstance(error, OSError) else str(error)


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line; a refused argument prints its sentence and gives exit status 2, a failed run 1."""
    if isinstance(sys.stdout, io.TextIOWrapper):  # a title may hold letters that the terminal does not
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda text, *_: print(f"lrtransfer: {text}", file=sys.stderr, flush=True)
            arguments = _parser().parse_args(argv)
            print(arguments.run(arguments), flush=True)
    except BrokenPipeError:  # the reader of a pipe has seen enough: let the flush at exit go nowhere
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        print("lrtransfer: stopped", file=sys.stderr)
        return 130  # as a shell has it: 128 and the signal's number
    except (RunError, DataUnavailable) as error:
        print(f"lrtransfer: {error}", file=sys.stderr)
        return 1
    except (ValueError, OSError, ImportError) as error:
        print(f"lrtransfer: {_sentence(error)}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
