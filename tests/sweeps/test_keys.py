"""The key of a run: what decides it, and that it stays."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from dataclasses import field, fields, make_dataclass, replace

import numpy as np
import pytest

from lrtransfer.residual.networks.settings import ResidualMLP, ResNet, VisionTransformer
from lrtransfer.sweeps.keys import canonical_settings, run_key

MLP = ResidualMLP(width=16, depth=3, steps=2)


def test_the_key_of_a_run_is_what_it_was_when_the_first_store_was_written():
    # SHA-256 of {"run":{"lr":0.25,"seed":7},"settings":{"depth":3,"kind":"mlp","steps":2,"width":16}}. If this
    # fails, every store that people have is worth nothing.
    assert canonical_settings(MLP) == '{"depth":3,"kind":"mlp","steps":2,"width":16}'
    assert run_key(MLP, 0.25, 7) == "0f83686f4e31727509afafc474cb3ca8860e2c861a4c970241c6cda5ae43ac2b"


def test_the_key_is_the_same_in_another_process_with_another_hash_seed():
    code = (
        "from lrtransfer.residual import ResidualMLP; from lrtransfer.sweeps.keys import run_key;"
        "print(run_key(ResidualMLP(width=16, depth=3, steps=2), 0.1, 7))"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "12345"}
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert out.stdout.strip() == run_key(MLP, 0.1, 7)


def test_the_key_does_not_depend_on_the_order_of_fields_or_on_a_field_added_with_a_default():
    base = [("a", int, field(default=1)), ("b", float, field(default=2.0))]
    kind = {"kind": "test", "__annotations__": {}}
    one = make_dataclass("One", base, frozen=True, namespace=dict(kind))
    turned = make_dataclass("Turned", base[::-1], frozen=True, namespace=dict(kind))
    grown = make_dataclass("Grown", [*base, ("c", str, field(default="new"))], frozen=True, namespace=dict(kind))
    key = run_key(one(a=5, b=0.1), 0.5, 0)
    assert key == run_key(turned(a=5, b=0.1), 0.5, 0) == run_key(grown(a=5, b=0.1), 0.5, 0)
    assert key != run_key(grown(a=5, b=0.1, c="other"), 0.5, 0)


def test_equal_values_of_other_types_do_not_share_a_key_by_accident():
    made = make_dataclass("Loose", [("a", float, field(default=0.0))], frozen=True, namespace={"kind": "test"})
    assert made(1) == made(1.0) and run_key(made(1), 0.1, 0) != run_key(made(1.0), 0.1, 0)


CHANGED = {
    "width": 32,
    "depth": 4,
    "parametrisation": "mup",
    "activation": "tanh",
    "gamma0": 2.0,
    "branch": 0.25,
    "steps": 3,
    "batch": 64,
    "data": "mnist",
    "eval_points": 10,
    "eval_split": "test",
    "optimiser": "sgd",  # the way to adam is through its own fields, below
    "momentum": 0.5,
    "block_rate": 1.0,
    "weight_decay": 0.1,
    "eval_every": 0,
}


@pytest.mark.parametrize("name", [f.name for f in fields(ResNet)])
def test_every_field_that_decides_the_result_decides_the_key(name):
    network = ResNet(width=16)
    if name in ("schedule", "warmup_steps"):
        other = replace(network, schedule="warmup", warmup_steps=3)
    elif name in ("optimiser", "adam_epsilon"):
        network = replace(network, optimiser="adam")
        other = ResNet(width=16) if name == "optimiser" else replace(network, adam_epsilon=1e-3)
    elif name == "width":
        other = ResNet(width=24)
    else:
        own = {"readout": "pool", "stem_stride": 1, "norm": None, "affine": False, "checkpoint_every": 7}
        other = replace(network, **{name: {**CHANGED, "batch": 32, **own}[name]})
    same = run_key(network, 0.5, 0) == run_key(other, 0.5, 0)
    assert same == (name == "checkpoint_every")  # how often a run is saved changes nothing that comes out


def test_rate_seed_precision_and_kind_decide_the_key():
    keys = {
        run_key(MLP, 0.5, 0),
        run_key(MLP, np.nextafter(0.5, 1), 0),
        run_key(MLP, 0.5, 1),
        run_key(MLP, 0.5, 0, precision="bf16"),
        run_key(VisionTransformer(width=16, depth=3, steps=2), 0.5, 0),
    }
    assert len(keys) == 5
    assert run_key(MLP, np.float64(0.5), np.int64(0)) == run_key(MLP, 0.5, 0)


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        (({"width": 3}, 0.1, 0), "settings"),
        ((ResidualMLP, 0.1, 0), "settings"),
        ((MLP, -1.0, 0), "lr"),
        ((MLP, math.inf, 0), "lr"),
        ((MLP, 0.1, -1), "seed"),
        ((MLP, 0.1, 0.5), "seed"),
    ],
)
def test_a_key_of_nonsense_is_refused_by_name(arguments, name):
    with pytest.raises(ValueError, match=f"^{name} = "):
        run_key(*arguments)


def test_a_field_that_json_cannot_hold_is_refused_by_name():
    made = make_dataclass("Odd", [("a", float, field(default=1.0)), ("b", object, field(default=None))], frozen=True)
    with pytest.raises(ValueError, match="a = inf"):
        run_key(made(a=math.inf), 0.1, 0)
    with pytest.raises(ValueError, match="b = "):
        run_key(made(b=print), 0.1, 0)
