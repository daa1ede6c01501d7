"""The picture that stands for the site where its link is passed on: one panel, 1200 by 630 pixels."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from lrtransfer import depth


def draw(path: Path) -> None:
    """Valleys of the loss of four depths, in units of the rule that knows the data and of the one that does not."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 6.3), dpi=100, facecolor="white")
    figure.set_layout_engine("none")
    FigureCanvasAgg(figure)
    figure.suptitle("Learning Rates That Transfer", fontsize=34, y=0.95)
    x, depths = np.geomspace(0.25, 8, 400), np.array([2, 8, 32, 128])
    for k, (rule, words) in enumerate((("exact", "a rule that knows the data"), ("agnostic", "a rule that does not"))):
        ax = figure.add_axes((0.07 + 0.48 * k, 0.17, 0.41, 0.57))
        loss = np.maximum(depth.sweep(x[:, None], depths, 0.5, rule=rule), 1e-14)
        ax.loglog(x, loss, lw=3)
        ax.set_title(words, fontsize=20)
        ax.set_xlabel("learning rate", fontsize=18)
        ax.set(xticks=[], yticks=[], ylim=(1e-15, 1))
        ax.minorticks_off()
    figure.axes[0].set_ylabel("loss", fontsize=18)
    figure.axes[0].legend([f"depth {d}" for d in depths], fontsize=15, loc="lower left")
    figure.savefig(path)
