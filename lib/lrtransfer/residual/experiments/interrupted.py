"""A sweep that stops half way, to show that nothing is lost."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any

from lrtransfer.sweeps.executors import Here


class StopsAfter(Here):
    """An executor that trains here, and after ``groups`` groups behaves as if someone had pressed Ctrl-C."""

    def __init__(self, groups: int):
        self.left = groups

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """Do the work at once and return a finished future; ``KeyboardInterrupt`` once the groups are used up."""
        if self.left == 0:
            raise KeyboardInterrupt
        self.left -= 1
        return super().submit(function, *arguments)
