"""Sweeps: files, what the results say, the command."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from small_sweeps import FILE, RATES, SMALL, SWEEP

from lrtransfer import rates
from lrtransfer.images import catalogue as data
from lrtransfer.residual.networks.settings import ConvNet, VisionTransformer
from lrtransfer.residual.networks.task import IMAGENET, in_steps
from lrtransfer.residual.recorded import NAMES
from lrtransfer.sweeps.settings_file import read_sweep, shipped, sweep_from
from lrtransfer.sweeps.sweep import Curve, CurveResult, Sweep, labels, summary

# Files


def test_a_file_becomes_every_combination_of_its_lists(tmp_path):
    file = tmp_path / "a.toml"
    file.write_text(FILE)
    sweep = read_sweep(file)
    assert sweep.title == "A test" and sweep.seeds == (0, 1) and sweep.precision == "float32"
    networks = [(c.settings.parametrisation, c.settings.depth) for c in sweep.curves]
    assert networks == [("mup", 2), ("mup", 3), ("sp", 2), ("sp", 3), ("mup_sqrt_depth", 6)]
    assert sweep.curves[0].lrs == tuple(2.0 ** np.array([-2, -1.5, -1, -0.5, 0]))
    assert sweep.curves[-1].lrs == (0.1, 0.2) and sweep.curves[-1].settings.branch is None
    assert len(sweep) == 4 * 5 * 2 + 2 * 2


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('kind = "mlp"', 'kind = "rnn"', "kind = 'rnn'"),
        ("width = 8", "width = 0", "width = 0"),
        ("width = 8", "wide = 8", "wide is no field"),
        ("seeds = 2", "seeds = true", "seeds = True"),
        ("seeds = 2", "seeds = []", "seeds = "),
        ("seeds = 2", "seeds = [1, 1]", "different whole numbers"),
        ("seeds = 2", "lr = 1", "lr is no entry of a sweep"),
        ("seeds = 2", 'precision = "int8"', "precision = 'int8'"),
        ("lrs = [0.1, 0.2]", "lrs = [0.2, 0.1]", "increasing rates"),
        ("lrs = [0.1, 0.2]", "lrs = { low = 1 }", "log2_from, log2_to, octaves"),
        ("octaves = 0.5", "octaves = 0.0", "octaves = 0.0"),
        ("steps = 4", "steps = 4\nepochs = 1", "steps = 4 is not allowed: steps must be left out"),
        ("steps = 4", "epochs = 0", "epochs = 0"),
        ("steps = 4", 'epochs = 1\ndata = "cifar"', "data = 'cifar'"),
        ("[network]", "[net]", "net is no entry"),
        (FILE, "network = 3", "network = 3"),
        (FILE, "curves = 3\n[network]", "curves = 3"),
        ("seeds = 2", "seeds = = 2", "not a TOML file"),
        ("seeds = 2", "seeds = 0", "seeds = 0 "),
        ("seeds = 2", "seeds = -1", "seeds = -1 "),
        ("seeds = 2", "seeds = 1_000_000_000_000", "seeds = 1000000000000 "),
        ("log2_to = 0", "log2_to = -3", "log2_to = -3 is not allowed: log2_to must be at least log2_from = -2"),
        ("log2_to = 0", "log2_to = 3000", "log2_to = 3000 "),
        ("log2_from = -2", "log2_from = -150", "log2_from = -150 "),
        ("octaves = 0.5", "octaves = 1e-9", "octaves = 1e-09 "),
        ("octaves = 0.5", "octaves = 1e-320", "octaves = 1e-320 "),
        ("lrs = [0.1, 0.2]", "lrs = []", r"lrs = \[\] "),
        ("lrs = [0.1, 0.2]", "lrs = [1e-60, 0.1]", "lrs = 1e-60 .*float32"),
        ("lrs = [0.1, 0.2]", "lrs = [0.1, 1e39]", r"lrs = 1e\+39 .*float32"),
        ("depth = [2, 3]", "depth = []", r"depth = \[\] "),
        ("depth = [2, 3]", "depth = [2, 3, 2]", r"depth = \[2, 3, 2\] .*different"),
        (FILE, "curves = []\nnetwork = {}", r"curves = \[\] "),
        ('title = "A test"', "title = 3", "title = 3 "),
        ("seeds = 2", "compile = 1", "compile = 1 "),
    ],
)
def test_a_file_is_refused_by_name_and_entry(old, new, message, tmp_path):
    assert FILE.count(old)
    file = tmp_path / "a.toml"
    file.write_text(FILE.replace(old, new, 1))
    with pytest.raises(ValueError, match=message) as error:
        read_sweep(file)
    assert str(file) in str(error.value)


def test_the_recorded_rates_are_what_they_were():
    """Grids of whole and half octaves, as all shipped files have, to the last bit: the records have these."""
    for name in shipped():
        for curve in read_sweep(name).curves:
            if len(curve.lrs) == 1:
                continue
            low, high = np.log2(curve.lrs[0]), np.log2(curve.lrs[-1])
            step = (high - low) / (len(curve.lrs) - 1)
            assert curve.lrs == tuple(math.pow(2.0, round(low + i * step, 12)) for i in range(len(curve.lrs)))
    root = Path(__file__).resolve().parents[2]
    for file in root.glob("results/residual-*/record.json"):
        record = json.loads(file.read_text())
        for curve in record["settings"]["curves"]:
            low, high = (round(2 * np.log2(curve["lrs"][end])) / 2 for end in (0, -1))
            step = (high - low) / max(len(curve["lrs"]) - 1, 1) or 1
            assert tuple(curve["lrs"]) == grid(step, low, high)


def grid(octaves: float, low: float = -8, high: float = 4) -> tuple[float, ...]:
    lrs = {"log2_from": low, "log2_to": high, "octaves": octaves}
    return sweep_from({"lrs": lrs, "network": {"kind": "mlp"}}).curves[0].lrs


@pytest.mark.parametrize("fine", [0.5, 0.25, 0.2, 0.1, 0.05, 1 / 3, 1 / 7])
def test_a_coarse_grid_is_part_of_a_fine_one(fine):
    assert grid(fine)[-1] == 16 and len(grid(fine)) == round(12 / fine) + 1
    assert set(grid(1)) <= set(grid(fine))
    if fine == 0.05:
        assert set(grid(0.1)) <= set(grid(fine))
    assert set(grid(fine, low=-2)) <= set(grid(fine))  # wherever it starts


def test_a_grid_does_not_go_beyond_its_end():
    assert grid(0.7, 0, 1) == (1.0, 2**0.7) and grid(0.4, 0, 1) == (1.0, 2**0.4, 2**0.8)
    assert grid(0.6, 0, 1) == (1.0, 2**0.6) and grid(1, 3, 3) == (8.0,)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(ValueError, match="file = 3 is not allowed"):
        read_sweep(3)  # type: ignore[arg-type]
    with pytest.raises(IsADirectoryError, match=f"'{tmp_path}' is a folder"):
        read_sweep(tmp_path)


@pytest.mark.parametrize(
    ("made", "name"),
    [
        (lambda: Sweep((SMALL,), (0,)), "curves"),  # type: ignore[arg-type]
        (lambda: Sweep((), (0,)), "curves"),
        (lambda: Sweep(3, (0,)), "curves"),  # type: ignore[arg-type]
        (lambda: Sweep(Curve(SMALL, RATES), (0,)), "curves"),  # type: ignore[arg-type]
        (lambda: Sweep(SWEEP.curves, 2), "seeds"),  # type: ignore[arg-type]
        (lambda: Sweep(SWEEP.curves, "01"), "seeds"),  # type: ignore[arg-type]
        (lambda: Sweep(SWEEP.curves, (-1,)), "seeds"),
        (lambda: Sweep(SWEEP.curves, (0,), title=3), "title"),  # type: ignore[arg-type]
        (lambda: Sweep(SWEEP.curves, (0,), compile=1), "compile"),  # type: ignore[arg-type]
        (lambda: Curve(3, RATES), "settings"),
        (lambda: Curve(SMALL, 3), "lrs"),  # type: ignore[arg-type]
        (lambda: Curve(SMALL, None), "lrs"),  # type: ignore[arg-type]
        (lambda: Curve(SMALL, ()), "lrs"),
        (lambda: Curve(SMALL, (1e-38,)), "lrs"),
        (lambda: Curve(SMALL, (2e38,)), "lrs"),
    ],
)
def test_a_sweep_of_nonsense_is_refused_by_name(made, name):
    with pytest.raises(ValueError, match=f"^{name} = .* is not allowed"):
        made()


def test_compile_is_an_entry_and_no_part_of_a_runs_key(tmp_path):
    file = tmp_path / "a.toml"
    file.write_text("compile = true\n" + FILE)
    sweep = read_sweep(file)
    assert sweep.compile
    plain = replace(sweep, compile=False)
    assert sweep.runs(sweep.curves[0]) == plain.runs(plain.curves[0])


def test_a_missing_file_names_those_that_come_along():
    with pytest.raises(FileNotFoundError, match=r"fig1, fig2, fig3a"):
        read_sweep("nowhere.toml")
    with pytest.raises(FileNotFoundError, match="no file"):
        read_sweep("nowhere/fig1.toml")  # a path is a path, not a name


def test_epochs_are_steps():
    assert in_steps(
        {"kind": "vit", "data": "cifar10", "batch": 100, "epochs": 2, "warmup_epochs": 0.5, "eval_every": 7}
    ) == {
        "kind": "vit",
        "data": "cifar10",
        "batch": 100,
        "steps": 1000,
        "eval_every": 7,
        "checkpoint_every": 500,
        "warmup_steps": 250,
    }
    assert in_steps({"kind": "mlp", "epochs": 1})["steps"] == round(1197 / 128)  # the defaults' data and batch


FIGURES = {
    "1": ("conv", "cifar10"),
    "2": ("resnet", "cifar10"),
    **{f"3{panel}": ("vit", "tiny-imagenet") for panel in "abcd"},
    **{f"3{panel}": ("vit", "imagenet") for panel in "ef"},
    "4": ("conv", "cifar10"),
    "5": ("conv", "cifar10"),
    "B1": ("conv", "cifar10"),
    "B2": ("conv", "cifar10"),
    "B4": ("resnet", "cifar10"),
    "B6": ("resnet", "imagenet"),
    "B7": ("conv", "cifar10"),
}
OTHERS = {"digits", "digits-large", "mnist-large", *NAMES}


def test_there_is_a_file_for_every_figure():
    assert set(shipped()) == OTHERS | {f"fig{figure}" for figure in FIGURES}


@pytest.mark.parametrize("figure", FIGURES)
def test_the_file_of_a_figure_has_its_networks_data_and_epochs(figure):
    sweep = read_sweep(f"fig{figure}")
    kind, images = FIGURES[figure]
    for curve in sweep.curves:
        s = curve.settings
        assert s.kind == kind and s.data == images
        epochs = s.steps * s.batch / (data.KNOWN[images][1] or IMAGENET)
        # 20 where the text says so or implies it
        allowed = {"3e": 10, "3f": 10, "B6": 10, "5": 5, "B7": 5}.get(figure, 20)
        assert epochs == pytest.approx(allowed, rel=1e-3)
    assert sweep.title.startswith(f"Fig. {figure[0]}")


def test_what_the_text_states_of_single_figures():
    def networks(name: str) -> list[Any]:
        return [curve.settings for curve in read_sweep(name).curves]

    assert {s.parametrisation for s in networks("fig1")} == {"mup", "mup_sqrt_depth"}
    assert {s.norm for s in networks("fig2")} == {"batch"} and {s.norm for s in networks("figB4")} == {"layer"}
    assert {s.parametrisation for s in networks("figB2")} == {"sp"}
    vits = [s for panel in "abc" for s in networks(f"fig3{panel}")]
    assert {s.norm for s in vits} == {True, False} and {s.schedule for s in vits} == {"warmup"}
    assert {s.optimiser for s in vits} == {"adam"}
    assert {s.schedule for s in networks("fig3d")} == {"warmup_cosine"}
    assert {(s.norm, s.parametrisation) for s in networks("fig3e") + networks("fig3f")} == {(False, "mup_sqrt_depth")}
    moved = networks("fig4")
    assert all(len({getattr(s, name) for s in moved}) > 2 for name in ("momentum", "weight_decay", "gamma0", "depth"))


# What is said


def result(lrs: tuple[float, ...], losses: Any, **fields: Any) -> CurveResult:
    table = np.asarray(losses, float)[None]
    return CurveResult(replace(SMALL, **fields), np.array(lrs), np.arange(table.shape[2]), table)


def test_the_table_shows_the_best_rate_its_spread_and_the_edge():
    valley = [[2.0, 2.1], [1.0, 1.2], [2.5, 2.0]]
    table = [
        result(RATES, valley, depth=2),
        result(RATES, [[1.0], [2.0], [3.0]], depth=4),
        result(RATES, [[np.inf, 1.0]] * 3, depth=8),
        result((0.5,), [[2.0, 8.0]], depth=16),
        result((0.5,), [[2.0, np.inf]], depth=32),
    ]
    lines = summary(table).splitlines()
    best = rates.best_lr(RATES, valley)
    assert f"depth = 2   {best.lr:<9.4g}  {best.low:.4g} to {best.high:.4g}" in lines[1]
    assert "ON THE EDGE" in lines[2] and "one seed" in lines[2] and "extend the grid" in lines[-1]
    assert "every rate some seed diverged" in lines[3]
    assert "loss 4 at rate 0.5" in lines[4] and "diverged at rate 0.5" in lines[5]
    assert summary([result(RATES, [[0.0], [0.0], [0.0]])])  # a loss of 0 has no logarithm


def test_labels_tell_the_curves_apart():
    assert labels([SMALL]) == ["kind = mlp"]
    assert labels([SMALL, replace(SMALL, depth=3)]) == ["depth = 2", "depth = 3"]
    assert labels([SMALL, replace(SMALL, momentum=0.5)]) == ["all defaults", "momentum = 0.5"]
    both = labels([ConvNet(depth=2), VisionTransformer(depth=2)])
    assert "kind = conv" in both[0] and "kind = vit" in both[1]
