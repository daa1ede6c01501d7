"""Finished runs in one SQLite file: ``Store``; the row of a run, the lock of a driver, and tables of it."""

from lrtransfer.sweeps.store.finished_runs import Store
from lrtransfer.sweeps.store.sqlite_file import StoreError

__all__ = ["Store", "StoreError"]
