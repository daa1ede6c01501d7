"""Valid calls of ``lrtransfer.rates``."""

import numpy as np
from broken_calls import Call, call

from lrtransfer.numerics.estimates import Estimate
from lrtransfer.rates import best_lr

ONE = call()
LRS = np.array([0.01, 0.02, 0.04, 0.08, 0.16])
SEEDS = np.array([0.0, 0.1, 0.2])
LOSSES = (np.log2(LRS / 0.05)[:, None] + SEEDS) ** 2 + 1
BEST, NEXT = best_lr(LRS, LOSSES), best_lr(LRS, (np.log2(LRS / 0.03)[:, None] - SEEDS) ** 2 + 1)
FOUND = Estimate(1.0, 0.1, 3)
CALLS: dict[str, Call] = {
    "best_lr": ONE(lrs=LRS, losses=LOSSES),
    "bounded": ONE(value=1.0, error=0.1, seeds=3, between=(0.5, 1.5), is_bound=False),
    "curve_minimum": ONE(x=np.array([0.0, 1.0, 2.0]), y=np.array([1.0, 0.0, 1.5])),
    "drift": ONE(best_lrs=[BEST, NEXT, BEST], sizes=np.array([2, 4, 8])),
    "mean_curve": ONE(lrs=LRS, losses=LOSSES),
    "moved": ONE(first=BEST, last=NEXT),
    "shift": ONE(first=BEST, last=NEXT),
    "size_beyond": ONE(one=FOUND, other=Estimate(0.5, 0.1, 3)),
    "trend": ONE(best_lrs=[BEST, NEXT, BEST], sizes=np.array([2, 4, 8])),
}
