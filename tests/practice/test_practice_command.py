"""``lrtransfer transfer`` for trained networks, and ``lrtransfer plot``."""

import re

import matplotlib as mpl
import numpy as np
import pytest

from lrtransfer import cli
from lrtransfer.practice import SweepCurve, draw_sweeps, rate_sweep

mpl.use("Agg")
TRANSFER = ["transfer", "--lr", "0.01"]
WIDE, DEEP = ["--from-width", "64", "--to-width", "1024"], ["--from-depth", "2", "--to-depth", "24"]


def rates(text):
    found = {}
    for line in text.splitlines()[1:7]:
        found[line[:28].strip()] = float(line[28:39])
    return found


def test_transfer_prints_every_roles_rate_and_what_is_assumed(capsys):
    assert cli.main([*TRANSFER, *WIDE, *DEEP, "--optimiser", "adam"]) == 0
    text = capsys.readouterr().out
    assert rates(text)["block"] == rates(text)["head"] == pytest.approx(0.01 / 16)
    assert rates(text)["embedding"] == 0.01
    for words in ("every residual branch by 12^-1", "same batch, steps", "told apart by seeds"):
        assert words in text
    assert cli.main([*TRANSFER, *WIDE, "--optimiser", "sgd"]) == 0
    assert rates(capsys.readouterr().out) == {
        "embedding": 0.16, "hidden": 0.01, "block": 0.01, "head": pytest.approx(0.01 / 16),
        "bias and norm in a block": 0.16, "bias and norm": 0.16,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (WIDE, "--optimiser is missing"),
        ([*WIDE[:2], "--optimiser", "adam"], "--from-width and --to-width go together"),
        (["--optimiser", "adam"], "give --from-width"),
        ([*WIDE, "--r", "2"], "--r is for the scalar.*--from-width"),
        (["--r", "2"], "--r needs --from-depth"),
        (["--from-width", "-1", "--to-width", "2", "--optimiser", "sgd"], "from-width = -1.0"),
    ],
)
def test_bad_transfers_are_sentences(arguments, words, capsys):
    assert cli.main([*TRANSFER, *arguments]) == 2
    assert re.search(words, capsys.readouterr().err)


def test_plot_of_a_store(tmp_path, capsys):
    from torch import nn

    store = tmp_path / "runs.sqlite"
    for name, best in (("a", 2.0), ("b", 3.0)):
        rate_sweep(
            lambda: nn.Linear(1, 1),
            lambda model, lr, best=best: (np.log2(lr) - best) ** 2 + 1 + 0.01 * float(model.weight.detach()),
            2.0 ** np.arange(6),
            3,
            store=store,
            name=name,
        )
    for file in ("runs.svg", "other.png"):
        assert cli.main(["plot", str(store), "--out", str(tmp_path / file)]) == 0
        assert "name = a: a minimum, best rate 4" in capsys.readouterr().out
        assert (tmp_path / file).stat().st_size > 5000
    assert cli.main(["plot", str(store), "--out", "x.pdf"]) == 2
    assert "ends in .svg or .png" in capsys.readouterr().err


def test_negative_losses_are_drawn_on_a_linear_axis():
    import matplotlib.pyplot as plt

    lrs = 2.0 ** np.arange(6)
    figure = draw_sweeps([SweepCurve("own", lrs, (np.log2(lrs) - 2.5)[:, None] ** 2 - 3 + [[0.0, 0.01]])])
    assert figure.axes[0].get_yscale() == "linear" and len(figure.axes[0].lines) == 2
    plt.close(figure)
