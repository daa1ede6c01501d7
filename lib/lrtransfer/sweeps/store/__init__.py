"""Finished runs in one SQLite file: ``Store``; the row of a run, the lock of a driver, and tables of it."""

from lrtransfer.sweeps.store.file import StoreError
from lrtransfer.sweeps.store.sqlite import Store

__all__ = ["Store", "StoreError"]
