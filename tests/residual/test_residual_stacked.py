"""Stacked runs against one at a time, against torch's optimisers, and against the hand-written gradients."""

import errno
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
import torch

from lrtransfer.images.catalogue import load
from lrtransfer.residual import (
    ConvNet,
    ResidualMLP,
    ResNet,
    VisionTransformer,
    evaluation_steps,
    schedule_factors,
    train_runs,
    train_sweep,
)
from lrtransfer.residual.networks.residual_mlp import HandBatched
from lrtransfer.residual.networks.stacked import Stacked
from lrtransfer.residual.networks.torch_networks import build, initialise, parameter_groups
from lrtransfer.residual.networks.training_loop import CheckpointWarning, Minibatches

COMMON = {"width": 8, "depth": 2, "steps": 5, "batch": 16, "eval_points": 40}
NETWORKS = {
    "mlp adam": ResidualMLP(optimiser="adam", weight_decay=0.1, **COMMON),
    "mlp momentum": ResidualMLP(momentum=0.8, weight_decay=0.3, **COMMON),
    "conv": ConvNet(**COMMON),
    "conv pool": ConvNet(readout="pool", stem_stride=1, momentum=0.9, **COMMON),
    "resnet batch": ResNet(weight_decay=0.2, schedule="warmup_cosine", warmup_steps=2, **COMMON),
    "resnet layer": ResNet(norm="layer", **COMMON),
    "resnet none": ResNet(norm=None, affine=False, **COMMON),
    "vit": VisionTransformer(patch=4, **{**COMMON, "weight_decay": 0.1}),
    "vit bare": VisionTransformer(norm=False, activation="gelu", block_rate=-0.5, **COMMON),
}
LRS, SEEDS = [0.05, 0.05, 0.2], [0, 3, 3]
SLOW = {"conv pool": 20.0}  # the mean over positions hardly trains in a few steps: higher rates


def one_by_torch(s, lr, seed):
    """Curve (steps + 1,) of one network by torch's autograd and optimiser, without vmap or stacking."""
    data = load(s.data)
    network = build(s, data.shape, data.classes)
    initialise(network, seed)
    groups = parameter_groups(network, s, lr)
    if s.optimiser == "adam":
        optimiser = torch.optim.AdamW(groups)
    else:
        optimiser = torch.optim.SGD(groups, lr=lr, momentum=s.momentum)
    base = [group["lr"] for group in optimiser.param_groups]
    batches = Minibatches([seed], len(data.train_y), s.batch)

    def loss(rows):
        x, y = torch.tensor(data.train_x[rows]), torch.tensor(data.train_y[rows])
        return torch.nn.functional.cross_entropy(network(x), y)

    curve = []
    for factor in [*schedule_factors(s), None]:
        with torch.no_grad():
            curve.append(loss(np.arange(s.eval_points)).item())
        if factor is not None:
            for group, rate in zip(optimiser.param_groups, base, strict=True):
                group["lr"] = rate * factor
            optimiser.zero_grad()
            loss(batches.draw()[0]).backward()
            optimiser.step()
    return np.array(curve)


@pytest.mark.parametrize("name", NETWORKS)
def test_stacked_runs_equal_single_runs_by_torch(name):
    s, lrs = NETWORKS[name], [SLOW.get(name, 1.0) * lr for lr in LRS]
    together = train_runs(s, lrs, SEEDS, device="cpu")  # (steps + 1, R)
    alone = np.stack([train_runs(s, [lr], [seed], device="cpu")[:, 0] for lr, seed in zip(lrs, SEEDS, strict=True)], 1)
    torchs = np.stack([one_by_torch(s, lr, seed) for lr, seed in zip(lrs, SEEDS, strict=True)], 1)
    assert (np.abs(np.diff(together, axis=0)).max(axis=0) > 1e-3).all()  # the weights move, so the updates matter
    # float32: 6e-8 a rounding, tens of roundings in a row, five steps that each pass the difference on.
    np.testing.assert_allclose(together, alone, rtol=1e-5)
    np.testing.assert_allclose(together, torchs, rtol=1e-5)


@pytest.mark.parametrize("activation", ["relu", "tanh", "linear"])
def test_hand_written_gradients_are_those_of_autograd(activation):
    s = ResidualMLP(activation=activation, momentum=0.7, weight_decay=0.2, gamma0=0.5, **COMMON)
    data, device = load("digits"), torch.device("cpu")
    hand, stacked = (engine(s, data, SEEDS, device) for engine in (HandBatched, Stacked))
    x = torch.tensor(data.train_x[:48]).view(3, 16, 64)
    y = torch.tensor(data.train_y[:48]).view(3, 16)
    lrs = torch.tensor(LRS)
    for _ in range(3):
        assert hand.step(x, y, lrs).all() and stacked.step(x, y, lrs).all()
    weights = [hand.weights.read_in, *hand.weights.branches, hand.weights.readout]
    flat = torch.cat([w.flatten(1) for w in weights], dim=1)
    moved = (flat - Stacked(s, data, SEEDS, device).flat).abs().max()
    assert moved > 0.1
    # Unit weights, roundings of 6e-8 each in sums of 16 to 64 terms, three steps: a hundred roundings at the most.
    torch.testing.assert_close(flat, stacked.flat, rtol=0, atol=6e-6)


@pytest.mark.parametrize("name", ["mlp momentum", "mlp adam", "conv", "resnet batch", "vit"])
def test_resuming_gives_the_uninterrupted_result_to_the_last_bit(name, tmp_path):
    s = replace(NETWORKS[name], checkpoint_every=2, steps=7)
    lrs, seeds, file = [0.1, 1e30, 0.2], [1, 1, 2], tmp_path / "a" / "checkpoint"  # one run diverges before the cut

    class Cut(Exception):
        pass

    def cut(done):
        if done == 5:
            raise Cut

    whole = train_runs(s, lrs, seeds, device="cpu")
    with pytest.raises(Cut):
        train_runs(s, lrs, seeds, device="cpu", checkpoint=file, progress=cut)
    done = []
    resumed = train_runs(s, lrs, seeds, device="cpu", checkpoint=file, progress=done.append)
    assert done == [5, 6, 7]  # the checkpoint held four updates
    np.testing.assert_array_equal(resumed, whole)
    assert np.isinf(whole[-1]).tolist() == [False, True, False]
    again = train_runs(s, lrs, seeds, device="cpu", checkpoint=file, progress=lambda _: pytest.fail("trained again"))
    np.testing.assert_array_equal(again, whole)
    assert [path.name for path in file.parent.iterdir()] == ["checkpoint"]


def test_a_checkpoint_of_other_runs_is_refused(tmp_path):
    s, file = NETWORKS["mlp momentum"], tmp_path / "checkpoint"
    train_runs(s, [0.1], [0], device="cpu", checkpoint=file)
    with pytest.raises(ValueError, match=r"checkpoint = .*belongs to other runs"):
        train_runs(s, [0.2], [0], device="cpu", checkpoint=file)
    file.write_bytes(file.read_bytes()[:100])
    with pytest.raises(ValueError, match=r"checkpoint = .*is no checkpoint"):
        train_runs(s, [0.1], [0], device="cpu", checkpoint=file)


@pytest.mark.parametrize("name", ["conv", "resnet batch", "vit bare"])
def test_divergence_leaves_the_other_runs_alone(name):
    s = NETWORKS[name]
    losses = train_runs(s, [0.1, 1e36, 0.2], [0, 0, 1], device="cpu")
    assert np.isinf(losses[1:, 1]).any() and not np.isnan(losses).any()
    gone = np.isinf(losses)
    assert (gone[1:] >= gone[:-1]).all() and not gone[:, [0, 2]].any()
    np.testing.assert_allclose(losses[:, [0, 2]], train_runs(s, [0.1, 0.2], [0, 1], device="cpu"), rtol=1e-5)


def test_all_runs_may_diverge_early(tmp_path):
    s = replace(NETWORKS["conv"], activation="linear")
    file = tmp_path / "checkpoint"
    for _ in range(2):  # trained, then read back
        assert np.isinf(train_runs(s, [1e36, 1e37], [0, 0], device="cpu", checkpoint=file)[2:]).all()


def test_a_store_is_asked_first_and_given_the_rest():
    class Shelf(dict):
        def get(self, settings, lr, seed):
            return super().get((settings, lr, seed))

        def put(self, settings, lr, seed, curve, seconds, device):
            assert seconds > 0 and device == "cpu" and curve.shape == (len(evaluation_steps(settings)),)
            self[settings, lr, seed] = curve.copy()

    s, shelf = replace(NETWORKS["mlp momentum"], eval_every=2), Shelf()
    first = train_sweep(s, [0.1, 0.2], [0], device="cpu", store=shelf)
    assert len(shelf) == 2 and first.shape == (4, 2, 1)
    shelf[s, 0.2, 0] = np.arange(4.0)
    both = train_sweep(s, [0.1, 0.2], [0, 1], device="cpu", store=shelf)
    np.testing.assert_array_equal(both[:, 0, 0], first[:, 0, 0])
    np.testing.assert_array_equal(both[:, 1, 0], np.arange(4.0))  # taken, not trained
    assert len(shelf) == 4


def test_an_executor_changes_nothing(monkeypatch):
    from lrtransfer.residual.networks import training

    monkeypatch.setattr(training, "group_size", lambda settings, device: 2)
    s = NETWORKS["mlp momentum"]
    inline = train_sweep(s, [0.1, 0.2, 0.4], [0, 1], device="cpu")
    with ThreadPoolExecutor(2) as pool:
        np.testing.assert_array_equal(train_sweep(s, [0.1, 0.2, 0.4], [0, 1], device="cpu", executor=pool), inline)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"precision": "fp8"}, "precision = 'fp8' .*'bf16'"),
        ({"precision": "bf16"}, "precision = 'bf16' .*'float32' on device 'cpu'"),
        ({"compile": True}, "compile = True .*cuda only"),
    ],
)
def test_what_needs_cuda_is_refused_without_it(options, words):
    with pytest.raises(ValueError, match=words):
        train_runs(NETWORKS["conv"], [0.1], [0], device="cpu", **options)


def test_lrs_and_seeds_are_pairs():
    with pytest.raises(ValueError, match="lrs of length 2 and seeds of length 1"):
        train_runs(NETWORKS["conv"], [0.1, 0.2], [0], device="cpu")


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"progress": 3}, "progress = 3 .*None or a function"),
        ({"checkpoint": 3}, "checkpoint = 3 .*path of a file"),
        ({"seeds": [2**63]}, f"seeds = {2**63} .*at most {2**63 - 1}"),
        ({"settings": None}, "settings = None .*ConvNet"),
    ],
)
def test_bad_runs_are_refused_by_name(options, words):
    with pytest.raises(ValueError, match=words):
        train_runs(**{"settings": NETWORKS["conv"], "lrs": [0.1], "seeds": [0], "device": "cpu", **options})


def test_settings_are_checked_against_the_images_that_are_there(monkeypatch):
    from lrtransfer.residual.networks import training

    monkeypatch.setattr(training, "load", lambda name: load("digits"))  # as if a folder held other images
    for s, words in (
        (VisionTransformer(patch=7, data="mnist"), r"patch = 7 .*divisor of the 8 x 8"),
        (ResidualMLP(batch=1198, data="imagenet"), "batch = 1198 .*1197 training images"),
    ):
        with pytest.raises(ValueError, match=words):
            train_runs(s, [0.1], [0], device="cpu")


def test_a_checkpoint_that_cannot_be_written_leaves_nothing_behind(tmp_path, monkeypatch):
    s, file = NETWORKS["mlp momentum"], tmp_path / "checkpoint"
    train_runs(s, [0.1], [0], device="cpu", checkpoint=file)
    before = file.read_bytes()

    def full(saved, out):
        out.write(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(torch, "save", full)
    with pytest.warns(CheckpointWarning, match="No space left"):  # and training goes on
        train_runs(s, [0.1], [0], device="cpu", checkpoint=file)
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoint"] and file.read_bytes() == before
