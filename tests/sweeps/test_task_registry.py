"""Tasks: what the sweeps know of a network, and that they know no more."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
from small_sweeps import RATES, SMALL

from lrtransfer.residual.networks.settings import ConvNet, ResidualMLP, ResNet, VisionTransformer
from lrtransfer.stages.transformer.settings import GrownTransformer
from lrtransfer.sweeps import task_registry
from lrtransfer.sweeps.driver import RunError
from lrtransfer.sweeps.keys import run_key
from lrtransfer.sweeps.run import run
from lrtransfer.sweeps.settings_file import sweep_from
from lrtransfer.sweeps.store import Store
from lrtransfer.sweeps.store.export import export
from lrtransfer.sweeps.sweep import Curve, Sweep
from lrtransfer.width import synthetic_data
from lrtransfer.width.torch_sweeps import WidthNetwork, trained_losses


def test_the_sweeps_import_no_chapter():
    code = (
        "import pkgutil, importlib, sys, lrtransfer.sweeps as room\n"
        "for found in pkgutil.iter_modules(room.__path__): importlib.import_module(f'lrtransfer.sweeps.{found.name}')\n"
        "print([name for name in sys.modules if name.startswith('lrtransfer.') and name.split('.')[1] not in"
        " ('sweeps', 'numerics', 'rates')])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout == "[]\n"


KEYS = ["783c5b89c598", "8f19d849a3f8", "75e6e023a746", "52dbcb9d9949", "d00ddc1e65d2"]


def test_keys_are_what_they_were_when_the_first_of_each_kind_was_stored():
    staged = GrownTransformer(start="stacking", beta=0.9, stages=3, text="of a test")
    X, y = synthetic_data(6, 3, seed=1)
    keys = [
        run_key(settings, 0.25, 7)
        for settings in (
            ConvNet(),
            ResNet(norm=None),
            VisionTransformer(depth=2),
            staged,
            WidthNetwork(np.eye(2), np.ones(2), 8, 3, 1, "linear", "adam"),
        )
    ]
    assert [key[:12] for key in keys] == KEYS
    assert WidthNetwork(X, y, 8, 3, 1) == WidthNetwork(X.tolist(), y, 8.0, 3, 1) != WidthNetwork(X, 2 * y, 8, 3, 1)


@dataclass(frozen=True)
class Parabola:
    """Settings of a task of one's own."""

    kind: ClassVar[str] = "parabola"

    best: float = 0.5
    points: int = 2


class ParabolaTask(task_registry.Task):
    kind = Parabola.kind
    settings = Parabola

    def evaluations(self, settings: Parabola) -> int:
        return settings.points

    def train(self, runs: Any, **_: Any) -> Any:
        (one,) = runs
        loss = np.log(one.lr / one.settings.best) ** 2 + 1
        return np.full((one.settings.points, 1), loss + one.seed)


@pytest.fixture
def parabola(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(task_registry, "registered", dict(task_registry.registered))
    task_registry.register(ParabolaTask())
    yield


def test_a_task_of_ones_own_is_swept_stored_and_exported(parabola, tmp_path):
    sweep = sweep_from({"lrs": list(RATES), "seeds": 2, "network": {"kind": "parabola", "best": 0.5}})
    (result,) = run(sweep, tmp_path / "a.sqlite", device="cpu")
    assert result.losses.shape == (2, 3, 2) and result.best().lr == pytest.approx(0.5)
    assert export(tmp_path / "a.sqlite", tmp_path / "a.csv") == 6
    with pytest.raises(ValueError, match="wide is no field of kind = 'parabola'"):
        sweep_from({"lrs": [1.0], "network": {"kind": "parabola", "wide": 1}})
    with Store(tmp_path / "b.sqlite") as store, pytest.raises(ValueError, match="2 evaluations"):
        store.put(Parabola(), 0.1, 0, [1.0], seconds=1.0, device="cpu")


def test_kinds_share_a_sweep(parabola, tmp_path):
    sweep = Sweep((Curve(SMALL, RATES), Curve(Parabola(), RATES), Curve(Parabola(0.25), RATES)), seeds=(0,))
    losses = [result.losses[-1, :, 0] for result in run(sweep, tmp_path / "a.sqlite", device="cpu")]
    assert len(losses) == 3 and losses[1].argmin() == 1 and losses[2].argmin() == 0


def test_what_nobody_trains_is_refused_by_name(parabola, tmp_path):
    @dataclass(frozen=True)
    class Stranger:
        kind: ClassVar[str] = "stranger"

    @dataclass(frozen=True)
    class Impostor:
        kind: ClassVar[str] = "mlp"

    for made in (Stranger, Impostor):
        with pytest.raises(ValueError, match=r"settings = .* one of the kinds mlp, conv, resnet, vit, staged, width"):
            run(Sweep((Curve(made(), RATES),), (0,)), tmp_path / "a.sqlite", device="cpu")
    for kind in ("rnn", None, []):
        with pytest.raises(ValueError, match=r"kind = .*'mlp'"):
            task_registry.from_dict({} if kind is None else {"kind": kind})
    with pytest.raises(ValueError, match="task = 3"):
        task_registry.register(3)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="build WidthNetwork in Python"):
        sweep_from({"lrs": [1.0], "network": {"kind": "width", "width": 3}})


def test_the_widths_networks_are_kept_and_found(tmp_path, monkeypatch):
    X, y = synthetic_data(6, 3, seed=1)
    with Store(tmp_path / "a.sqlite") as store:
        first = trained_losses([0.1, 0.4], 8, X, y, 2, 3, seeds=(0, 1), store=store)
        assert len(store) == 4 and len(list(store.rows())) == 4  # and every key is right
        monkeypatch.setattr("lrtransfer.width.task.train_rates", None)
        again = trained_losses([0.1, 0.4], 8, X, y, 2, 3, seeds=(0, 1), store=store)
        np.testing.assert_array_equal(again, first)
        with pytest.raises(RunError, match=r"relu network of 2 hidden layers and width 8 at rates 0\.1 to 0\.4 failed"):
            trained_losses([0.1, 0.4], 8, X, 2 * y, 2, 3, seeds=(0,), store=store)


def test_groups_of_equal_settings_have_one_for_every_worker():
    other = ResidualMLP(width=9)
    runs = [task_registry.Run(s, lr, seed, "") for s in (SMALL, other) for lr in (0.1, 0.2, 0.3) for seed in (0, 1)]
    by_settings = task_registry.by_settings
    assert [len(group) for group in by_settings(runs, lambda _: 100, 1)] == [6, 6]
    assert [len(group) for group in by_settings(runs, lambda _: 100, 4)] == [2] * 6
    assert [len(group) for group in by_settings(runs, lambda s: 4 if s == SMALL else 0, 1)] == [
        4,
        2,
        *[1] * 6,
    ]
    assert [run for group in by_settings(runs, lambda _: 4, 2) for run in group] == runs
