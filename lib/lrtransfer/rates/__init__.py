"""The statistic of a rate sweep, shared by all chapters: best rate, spread over seeds, drift with size.

A sweep trains the same network at many learning rates and several seeds. ``best_lr`` turns its losses into
one best rate with an uncertainty and says when the grid was too short to tell; ``drift`` turns the best rates
of several sizes into one slope, ``shift`` those of two into one difference; ``trend`` and ``moved`` are the same as
estimates, which are bounds where a best rate lies on the edge of what was searched. All work in log2 of the rate:
"one octave" is a factor of two. ``mean_curve`` is the curve of a sweep with its band, for figures.
"""

from lrtransfer.rates.best import BestLR, OnEdgeWarning, best_lr, curve_minimum
from lrtransfer.rates.curves import MeanCurve, mean_curve
from lrtransfer.rates.moves import Drift, bounded, drift, moved, shift, size_beyond, trend

__all__ = [
    "BestLR",
    "Drift",
    "MeanCurve",
    "OnEdgeWarning",
    "best_lr",
    "bounded",
    "curve_minimum",
    "drift",
    "mean_curve",
    "moved",
    "shift",
    "size_beyond",
    "trend",
]
