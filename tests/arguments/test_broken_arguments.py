"""Every argument of every public name, broken in about thirty ways: a right value or a sentence that names it.

The names come from ``__all__`` of every module of the package that has one; the valid calls are in
``tests/helpers/valid_calls``, a table for each room. ``failing.txt`` lists what does not hold yet: an argument that
fails and is not listed is a fault, and the list may only shrink. (That a listed one fails is not asked: some fail by
the time or the memory that a call takes, and another machine may have more of either.)
"""

from __future__ import annotations

import inspect
from pathlib import Path

import pytest
from broken_calls import faults
from broken_names import OWN, PUBLIC, ROOMS, table, valid

FAILING = frozenset(
    line for line in (Path(__file__).parent / "failing.txt").read_text(encoding="utf-8").splitlines() if line
)
MOST = 247
CALLED = sorted(name for name in PUBLIC if valid(name))


def test_every_public_name_has_a_valid_call():
    without = {name for name in PUBLIC if valid(name) is None}
    assert without == {line.removesuffix(": no call") for line in FAILING if line.endswith(": no call")}


def test_nothing_is_called_that_is_not_public():
    known = {name.split(".")[-1] for name in PUBLIC}
    assert not {name for room in ROOMS for name in table(room)} - known
    assert not {line for line in FAILING if line.split(":")[0].rpartition(".")[0] not in PUBLIC and ":" not in line}


@pytest.mark.parametrize("name", CALLED)
def test_a_valid_call_gives_every_argument(name):
    assert set(inspect.signature(PUBLIC[name]).parameters) == set(valid(name).arguments)


def broken(name: str, every: int = 1) -> dict[str, list[str]]:
    """The faults of each argument of a public name."""
    call = valid(name)
    found = {
        f"{name}.{argument}": faults(PUBLIC[name], call, argument, OWN, every, first)
        for first, argument in enumerate(call.arguments)
        if argument not in call.free
    }
    return {argument: lines for argument, lines in found.items() if lines}


@pytest.mark.parametrize("name", CALLED)
def test_some_wrong_arguments_are_named(name):
    found = broken(name, every=8)
    assert not {argument: lines for argument, lines in found.items() if argument not in FAILING}


@pytest.mark.slow
@pytest.mark.parametrize("name", CALLED)
def test_every_wrong_argument_is_named(name):
    found = broken(name)
    assert not {argument: lines for argument, lines in found.items() if argument not in FAILING}


def test_the_list_only_shrinks():
    assert len(FAILING) <= MOST, "mend a name rather than list it; where one was mended, lower MOST"
