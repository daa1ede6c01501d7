"""Your own network: checks, optimiser groups and rate sweeps for any torch module.

``coordinates`` (with ``places``, one network before and after): does everything move alike at every size.
``pictures`` draws.
``groups``: rates and first weights from a small model, by ``roles`` and ``rules``.
``sweep``: losses of your own training at many rates, through the ``task`` that the book's sweeps train too; which
trainings are the same one, ``identity`` says.
``language``: a character model to try it on, with its ``settings``, and ``recorded`` sweeps of it.

Torch is imported when it is used, not before.
"""

from lrtransfer.practice.coordinates import CoordinateCheck, coordinate_check
from lrtransfer.practice.groups import ParameterGroups, initialise, parameter_groups
from lrtransfer.practice.pictures import SweepCurve, draw_check, draw_sweeps
from lrtransfer.practice.recorded import Trained, further, moved, read_language_model
from lrtransfer.practice.sweep import BestRate, OtherTrainingWarning, best_rate, rate_sweep

__all__ = [
    "BestRate",
    "CoordinateCheck",
    "OtherTrainingWarning",
    "ParameterGroups",
    "SweepCurve",
    "Trained",
    "best_rate",
    "coordinate_check",
    "draw_check",
    "draw_sweeps",
    "further",
    "initialise",
    "moved",
    "parameter_groups",
    "rate_sweep",
    "read_language_model",
]
