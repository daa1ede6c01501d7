"""A part of a record of results/ made again, the cheapest, agrees with what is recorded."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from lrtransfer.layers import recorded as layers
from lrtransfer.residual import recorded as residual
from lrtransfer.residual.networks.settings import from_dict
from lrtransfer.residual.networks.training import train_runs
from lrtransfer.stages import recorded as stages
from lrtransfer.sweeps import records

# Other versions of the libraries add in another order: float32 in a training, float64 in the other engines.
FLOAT32, FLOAT64 = 1e-4, 1e-8
HERE = records.results().is_dir()
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not HERE, reason="an installed package has no results")]


def entry_of(name: str) -> dict[str, Any]:
    entry = records.read(name)
    if entry is None:
        pytest.skip(f"results/{name} is not recorded")
    return entry


@pytest.mark.parametrize("name", list(residual.NAMES))
def test_a_residual_record(name):
    entry = entry_of(f"residual-{name}")
    curves, seeds = entry["settings"]["curves"], entry["settings"]["seeds"][:2]
    networks = [from_dict(curve["settings"]) for curve in curves]
    work = [network.depth * network.width**2 * network.steps * network.batch for network in networks]
    place = int(np.argmin(work))
    lr = curves[place]["lrs"][0]  # where training is calm, so that roundings stay what they are
    again = train_runs(networks[place], [lr] * len(seeds), seeds, device="cpu")[-1]
    np.testing.assert_allclose(again, entry["numbers"]["losses"][place][0][: len(seeds)], rtol=FLOAT32)


# Of each the first run, at its first rate.
LESS: dict[str, dict[str, Any]] = {
    "gaussian": {"rates": 1},
    "noise": {"rates": 1},
    "window": {"exponents": 1},
}


@pytest.mark.parametrize("name", list(LESS))
def test_a_record_of_the_layers(name):
    run, numbers = (entry_of(f"layers-{name}")[part]["runs"][0] for part in ("settings", "numbers"))
    less = {field: run[field][:number] for field, number in LESS[name].items()}
    again = records.plain("again", layers.MAKERS[name](run | less))
    for field, values in again.items():
        new = np.asarray(values)  # the first entries along every axis
        old = np.asarray(numbers[field])[tuple(map(slice, new.shape))]
        np.testing.assert_allclose(new, old, rtol=FLOAT64, err_msg=field)


@pytest.mark.parametrize("name", ["relu", "relu-again"])
def test_a_record_with_relu(name):
    run, numbers = (entry_of(f"layers-{name}")[part]["runs"][0] for part in ("settings", "numbers"))
    again = records.plain("again", layers.MAKERS[name](run))
    for field, values in again.items():
        np.testing.assert_allclose(values, numbers[field], rtol=FLOAT64, err_msg=field)


def test_the_record_far_from_the_identity():
    pytest.importorskip("flint")
    entry = entry_of(stages.FAR)
    s = stages.FarSettings(**entry["settings"])
    again = stages.far_run(s.small, 0, s.longest, s.until, s.digits[0], s)
    assert records.plain("again", again) == entry["numbers"]["small"][0]
