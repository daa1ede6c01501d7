"""The store of a sweep, opened for what there is to do, and what other versions made in it."""

from __future__ import annotations

import json
import os
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache

from lrtransfer.sweeps.store.finished_runs import Store
from lrtransfer.sweeps.store.run_rows import versions
from lrtransfer.sweeps.store.sqlite_file import NotBegun

_DECIDE = ("lrtransfer", "torch")  # the packages with whose versions a result can change


class OtherVersionsWarning(UserWarning):
    """A sweep goes on with runs that other versions of lrtransfer or of torch made."""


def stored_of(keys: Iterable[str], path: str | os.PathLike[str]) -> int:
    """How many of some runs a store has.

    Parameters
    ----------
    keys
        of ``run_key``
    path
        the file, which need not be there, nor hold anything yet

    Returns
    -------
    int

    Raises
    ------
    StoreError
        as ``Store`` does.
    """
    try:
        with Store(path, read_only=True) as store:
            return len(store.has(keys))
    except (FileNotFoundError, NotBegun):
        return 0


def store_for(keys: set[str], path: str | os.PathLike[str], *, again: bool = False) -> Store:
    """The store of a sweep: to be read only where all is done, so that its folder need not be written to.

    Parameters
    ----------
    keys
        of the sweep's runs
    path
        the file
    again
        whether what other versions made is to be trained again

    Returns
    -------
    Store
        open.

    Raises
    ------
    StoreError
        as ``Store`` does.
    """
    try:
        store = Store(path, read_only=True)
    except (FileNotFoundError, NotBegun):
        return Store(path)
    try:
        if store.has(keys) == keys and not (again and made_by_others(store, keys)):
            return store
    except BaseException:
        store.close()
        raise
    store.close()
    return Store(path)


def made_by_others(store: Store, keys: Iterable[str]) -> dict[str, str]:
    """Those of some runs that other versions of lrtransfer or of torch made.

    Parameters
    ----------
    store
        an open store
    keys
        of ``run_key``

    Returns
    -------
    dict of str to str
        what made them, such as "torch 2.1.0", by key. A package that is missing here, or that a row does not tell,
        decides nothing.
    """
    here = versions()
    others = {key: _others(made, here) for key, made in store.versions_of(keys).items()}
    return {key: other for key, other in others.items() if other}


def name_others(store: Store, others: Mapping[str, str]) -> None:
    """Warn of runs that other versions made.

    Parameters
    ----------
    store
        that has them
    others
        from ``made_by_others``, one or more
    """
    made = " and ".join(f"{number} by {what}" for what, number in sorted(Counter(others.values()).items()))
    here = ", ".join(f"{name} {versions()[name]}" for name in _DECIDE if name in versions())
    warnings.warn(
        f"of the runs of this sweep in store '{store.path}' other versions made some: {made}, here it is {here}; "
        "again=True, or --again, trains these again.",
        OtherVersionsWarning,
        stacklevel=3,
    )


def _others(made: str, here: Mapping[str, str]) -> str:
    found = _parsed(made)
    both = [name for name in _DECIDE if name in found and name in here]
    return ", ".join(f"{name} {found[name]}" for name in both if found[name] != here[name])


@lru_cache(maxsize=256)
def _parsed(made: str) -> dict[str, str]:
    try:
        found = json.loads(made)
    except ValueError:  # who reads the row is told what is wrong with it
        return {}
    return found if isinstance(found, dict) else {}
