"""Settings of a network: files, refusals, what is known of their images, evaluations and schedules."""

import math
from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from lrtransfer.images import catalogue as data_module
from lrtransfer.images.catalogue import DATASETS, KNOWN, load
from lrtransfer.residual import (
    KINDS,
    ConvNet,
    NetworkSettings,
    ResidualMLP,
    ResNet,
    VisionTransformer,
    as_dict,
    evaluation_steps,
    final_losses,
    from_dict,
    group_size,
    schedule_factors,
    train_sweep,
)
from lrtransfer.residual.networks.torch_networks import build

EVERY = [ResidualMLP(width=8), ConvNet(width=8, readout="pool"), ResNet(width=8, norm=None), VisionTransformer(width=8)]


@pytest.mark.parametrize("s", EVERY, ids=repr)
def test_settings_survive_a_file(s):
    fields = as_dict(s)
    assert fields["kind"] == s.kind and from_dict(fields) == s and hash(from_dict(fields)) == hash(s)
    written = {name: "none" if value is None else value for name, value in fields.items()}
    assert from_dict(written) == s
    assert all(isinstance(value, str | int | float | bool | None) for value in fields.values())


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"kind": "rnn"}, "kind = 'rnn' .*'mlp'"),
        ({}, "kind = None"),
        ({"kind": "mlp", "heads": 2}, "heads is no field of kind = 'mlp'"),
        ({"kind": "mlp", "optimiser": "lion"}, "optimiser = 'lion' .*'adam'"),
        ({"kind": "mlp", "momentum": 1.0}, "momentum = 1.0 .*below 1"),
        ({"kind": "mlp", "momentum": -0.1}, "momentum = -0.1"),
        ({"kind": "mlp", "momentum": 0.5, "optimiser": "adam"}, "momentum = 0.5 .*0 for optimiser 'adam'"),
        ({"kind": "mlp", "weight_decay": math.inf}, "weight_decay = inf"),
        ({"kind": "mlp", "schedule": "step"}, "schedule = 'step' .*'warmup_cosine'"),
        ({"kind": "mlp", "warmup_steps": 3}, "warmup_steps = 3 .*0 for schedule 'constant'"),
        ({"kind": "mlp", "schedule": "warmup"}, "warmup_steps = 0 .*at least 1"),
        ({"kind": "mlp", "adam_epsilon": 1e-3}, "adam_epsilon = 0.001 .*its default 1e-08 for optimiser 'sgd'"),
        ({"kind": "mlp", "optimiser": "adam", "adam_epsilon": -1.0}, "adam_epsilon = -1.0 .*positive"),
        ({"kind": "mlp", "block_rate": math.nan}, "block_rate = nan"),
        ({"kind": "mlp", "adam_depth_exponent": 0.5}, "adam_depth_exponent is no field"),
        ({"kind": "mlp", "eval_every": -1}, "eval_every = -1"),
        ({"kind": "mlp", "checkpoint_every": 0.5}, "checkpoint_every = 0.5"),
        ({"kind": "mlp", "activation": "gelu"}, "activation = 'gelu'"),
        ({"kind": "conv", "readout": "max"}, "readout = 'max' .*'pool'"),
        ({"kind": "conv", "stem_stride": 0}, "stem_stride = 0"),
        ({"kind": "resnet", "norm": "group"}, "norm = 'group' .*'layer'"),
        ({"kind": "resnet", "affine": 1}, "affine = 1 .*True or False"),
        ({"kind": "vit", "heads": 3}, "heads = 3 .*divisor of the width 32"),
        ({"kind": "vit", "norm": "layer"}, "norm = 'layer' .*True or False"),
        ({"kind": "vit", "patch": 0}, "patch = 0"),
        ({"kind": "vit", "mlp_ratio": 1.5}, "mlp_ratio = 1.5"),
        ({"kind": "mlp", "activations": "relu"}, "activations is no field .* are width, .*checkpoint_every"),
        ({"kind": "vit", "schedule": "warmup", "warmup_steps": 41}, "warmup_steps = 41 .*at most the 40 steps"),
        (
            {"kind": "mlp", "schedule": "warmup_cosine", "warmup_steps": 9, "steps": 8},
            "warmup_steps = 9 .*at most the 8 steps",
        ),
        ({"kind": "vit", "patch": 3}, "patch = 3 .*divisor of the 8 x 8 pixels of 'digits'"),
        ({"kind": "vit", "patch": 5, "data": "cifar10"}, "patch = 5 .*divisor of the 32 x 32 pixels of 'cifar10'"),
        ({"kind": "conv", "batch": 50001, "data": "cifar10"}, "batch = 50001 .*50000 training images of 'cifar10'"),
        (
            {"kind": "mlp", "eval_points": 10001, "eval_split": "test", "data": "tiny-imagenet"},
            "eval_points = 10001 .*10000 test images of 'tiny-imagenet'",
        ),
        (None, "fields = None .*a mapping"),
        ([("kind", "mlp")], "fields = .*a mapping"),
    ],
)
def test_bad_fields_are_refused_by_name(fields, words):
    with pytest.raises(ValueError, match=words):
        from_dict(fields)


@pytest.mark.parametrize("value", [3, None, ResidualMLP, {"kind": "mlp"}])
def test_what_is_no_settings_object_is_refused(value):
    for call in (as_dict, lambda s: final_losses(s, [0.1], [0]), lambda s: group_size(s, torch.device("cpu"))):
        with pytest.raises(ValueError, match=r"settings = .*ResidualMLP, ConvNet, ResNet, VisionTransformer"):
            call(value)


def test_a_default_warm_up_is_cut_by_few_steps_and_unknown_sizes_pass():
    assert VisionTransformer(steps=2).warmup_steps == 5
    assert ResidualMLP(data="imagenet", batch=10**6, eval_points=10**7).batch == 10**6  # the folder decides


@pytest.mark.parametrize("name", ["digits", "mnist", "mnist14", "patches", "patches8"])
def test_what_is_known_of_the_bundled_sets_is_so(name):
    data = load(name)
    assert KNOWN[name] == (data.shape, len(data.train_y), len(data.test_y))
    assert set(KNOWN) == set(DATASETS)


def test_the_size_of_a_group_reads_no_data(monkeypatch):
    monkeypatch.setattr(data_module, "LOADERS", {})  # reading would be a KeyError
    data_module.loaded.cache_clear()
    budget = 12 * 2**20 // 4  # floats
    images = {"depth": 1, "width": 1, "batch": 8, "data": "tiny-imagenet"}
    for s, positions in (
        (ConvNet(**images), 32 * 32),
        (ResNet(stem_stride=1, **images), 64 * 64),
        (VisionTransformer(patch=8, heads=1, **images), 8 * 8),
    ):
        assert group_size(s, torch.device("cpu")) == budget // (8 * positions)


def test_the_shared_settings_are_no_network():
    with pytest.raises(TypeError, match="ResidualMLP"):
        NetworkSettings()
    assert set(KINDS) == {"mlp", "conv", "resnet", "vit"}
    with pytest.raises(ValueError, match="patch = 7"):
        build(VisionTransformer(patch=7, data="mnist"), (8, 8, 3), 5)


@given(st.integers(0, 40), st.integers(0, 50))
def test_evaluations_start_and_end_where_they_should(steps, every):
    at = evaluation_steps(ResidualMLP(steps=steps, eval_every=every))
    assert at[-1] == steps and (np.diff(at) > 0).all()
    if every:
        assert at[0] == 0 and len(at) == -(-steps // every) + 1
    else:
        assert len(at) == 1


def test_fewer_evaluations_are_the_same_runs():
    s = ResidualMLP(width=8, depth=2, steps=7, batch=16, eval_points=30)
    every = train_sweep(s, [0.3], [0], device="cpu")
    np.testing.assert_array_equal(train_sweep(replace(s, eval_every=3), [0.3], [0], device="cpu"), every[[0, 3, 6, 7]])
    np.testing.assert_array_equal(final_losses(s, [0.3], [0], device="cpu"), every[-1])


@given(st.integers(1, 60), st.data())
@settings(deadline=None)  # torch's first optimiser of a process imports a thousand modules
def test_schedules_by_torchs_own(steps, data):
    warmup = data.draw(st.integers(1, steps))
    s = ResidualMLP(steps=steps, schedule="warmup_cosine", warmup_steps=warmup)
    factors = schedule_factors(s)
    assert factors.shape == (steps,) and (factors > 0).all() and factors.max() <= 1
    np.testing.assert_allclose(factors[:warmup], np.arange(1, warmup + 1) / warmup, rtol=1e-15)
    np.testing.assert_array_equal(schedule_factors(replace(s, schedule="warmup"))[warmup:], 1)
    if steps > warmup:
        parameter = torch.nn.Parameter(torch.zeros(1))
        optimiser = torch.optim.SGD([parameter], lr=1.0)
        cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, steps - warmup)
        expected = []
        for _ in range(steps - warmup):
            expected.append(optimiser.param_groups[0]["lr"])
            optimiser.step()
            cosine.step()
        # torch multiplies its way along the cosine, one rounding a step, and ends near zero.
        np.testing.assert_allclose(factors[warmup:], expected, rtol=1e-9, atol=1e-13)


def test_a_schedule_is_a_rate_for_every_step():
    # A warm-up over all of ten steps trains like no schedule with each step's rate: one step tells it already.
    s = ResidualMLP(width=8, depth=2, steps=10, batch=16, eval_points=30, schedule="warmup", warmup_steps=10)
    plain = replace(s, schedule="constant", warmup_steps=0)
    warm, cold = (train_sweep(x, [lr], [0], device="cpu")[:2] for x, lr in ((s, 1.0), (plain, 0.1)))
    np.testing.assert_allclose(warm, cold, rtol=1e-6)  # the rate 0.1 in two roundings
