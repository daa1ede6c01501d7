"""Your own network: checks, optimiser groups and rate sweeps for any torch module.

``check`` (with ``places``, one network before and after): does everything move alike at every size. ``pictures`` draws.

Torch is imported when it is used, not before.
"""

from lrtransfer.practice.check import CoordinateCheck, coordinate_check
from lrtransfer.practice.pictures import draw_check

__all__ = ["CoordinateCheck", "coordinate_check", "draw_check"]
