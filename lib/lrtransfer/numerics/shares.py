"""Shares of draws, such as how many of forty networks jump, with intervals that hold for few draws and at 0 and 1."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from lrtransfer.numerics.arguments import integer, one, positive, refuse
from lrtransfer.numerics.arrays import Array
from lrtransfer.numerics.estimates import LEVEL
