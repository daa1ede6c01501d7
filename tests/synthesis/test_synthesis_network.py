"""The small residual networks against the Residual chapter's, against numpy, and against themselves."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from lrtransfer.images.catalogue import load  # noqa: E402
from lrtransfer.numerics.random import stream  # noqa: E402
from lrtransfer.residual import ResidualMLP, train_sweep  # noqa: E402
from lrtransfer.synthesis.growing import WAYS, train_grown  # noqa: E402
from lrtransfer.synthesis.network import Batch, Blocks, finite_or_inf, quick  # noqa: E402
from lrtransfer.synthesis.scales import teacher, train_scale  # noqa: E402
from lrtransfer.synthesis.splits import pattern, split_course, split_losses  # noqa: E402

LRS = np.array([0.25, 1.0, 4.0])


@pytest.mark.parametrize("branch", [0.5, 0.0])
def test_trained_at_full_depth_it_is_the_residual_chapters_network(branch):
    name = "mup_sqrt_depth" if branch else "mup"
    settings = ResidualMLP(width=8, depth=4, parametrisation=name, steps=6, batch=16, eval_points=50, eval_every=0)
    theirs = train_sweep(settings, LRS, [3, 5], device="cpu")[-1]
    net = Blocks(width=8, depth=4, branch=branch, loss="cross-entropy")
    ours = train_grown(net, "full", LRS, [3, 5], load("digits"), stages=2, steps=3, batch=16, points=50)
    np.testing.assert_allclose(ours, theirs, rtol=2e-5)


@pytest.mark.parametrize("layers", [1, 2])
def test_outputs_are_those_of_the_formula(layers):
    net = Blocks(width=6, depth=3, layers=layers, gamma0=0.5, activation="relu")
    batch = Batch(net, [0, 7], 4)
    x = np.random.default_rng(0).standard_normal((2, 5, 4)).astype(np.float32)
    f = batch.outputs(torch.tensor(x)).numpy()
    for run in range(2):
        h = x[run] @ batch.read_in[run].numpy().T / 2.0
        for block in batch.blocks:
            z = np.maximum(h, 0)
            for w in block[:-1]:
                z = np.maximum(z @ w[run].numpy().T / np.sqrt(6), 0)
            h = h + z @ block[-1][run].numpy().T / np.sqrt(6 * 3)
        expected = np.maximum(h, 0) @ batch.readout[run].numpy().T / (0.5 * 6)
        np.testing.assert_allclose(f[run, 0], expected[:, 0], rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("loss", ["square", "cross-entropy"])
def test_a_step_goes_down_the_gradient_with_every_blocks_own_rate(loss):
    net = Blocks(width=5, depth=2, layers=2, loss=loss, gamma0=2.0)
    outputs = 1 if loss == "square" else 3
    x = torch.tensor(stream(1).standard_normal((2, 7, 4)).astype(np.float32))
    y = torch.ones(2, 7) if loss == "square" else torch.arange(7).remainder(3).expand(2, 7)
    batch = Batch(net, [0, 1], 4, outputs)
    before = [w.clone().requires_grad_() for w in batch.weights]
    twin = Batch(net, [0, 1], 4, outputs)
    twin.read_in, *inner, twin.readout = before
    twin.blocks = [inner[:2], inner[2:]]
    twin.losses(x, y).sum().backward()
    factors = torch.tensor([[1.0, 3.0], [0.5, 0.0]])
    with quick():
        batch.step(x, y, torch.tensor([0.1, 0.2]), factors)
    unit = 4 * 5  # gamma_0^2 N
    shares = [torch.ones(2), factors[:, 0], factors[:, 0], factors[:, 1], factors[:, 1], torch.ones(2)]
    for old, new, share in zip(before, batch.weights, shares, strict=True):
        moved = old.detach() - unit * torch.tensor([0.1, 0.2])[:, None, None] * share[:, None, None] * old.grad
        torch.testing.assert_close(new, moved)


def test_a_run_that_overflows_leaves_the_others_alone():
    net = Blocks(width=6, depth=3)
    args = dict(steps=8, points=10, dim=4)
    both = train_scale(net, 1.0, np.array([0.1, 1e9]), [0, 1], **args)
    np.testing.assert_array_equal(both[0], train_scale(net, 1.0, np.array([0.1]), [0, 1], **args)[0])
    assert np.isinf(both[1]).all()


def test_growth_copies_adds_nothing_or_draws():
    net = Blocks(width=6, depth=4, layers=2)
    x = torch.tensor(stream(2).standard_normal((1, 5, 4)).astype(np.float32))
    grown = {way: Batch(net, [3], 4, blocks=2) for way in ("copy", "zero", "random")}
    before = grown["zero"].outputs(x)
    for way, batch in grown.items():
        batch.grow(way, 2)
    torch.testing.assert_close(grown["zero"].outputs(x), before)
    for old, new in zip(grown["copy"].blocks[:2], grown["copy"].blocks[2:], strict=True):
        assert all(torch.equal(a, b) and a is not b for a, b in zip(old, new, strict=True))
    for one, two in zip(grown["random"].weights, Batch(net, [3], 4).weights, strict=True):
        assert torch.equal(one, two)


def test_the_ways_share_the_first_stage_and_differ_after_it():
    net = Blocks(width=6, depth=2, loss="cross-entropy")
    found = {
        (way, steps): train_grown(net, way, LRS[:1], [0], load("digits"), stages=2, steps=steps, batch=8, points=20)
        for way in WAYS[1:]
        for steps in (0, 3)
    }
    assert len({float(found[way, 3][0, 0]) for way in WAYS[1:]}) == 3


def test_the_target_has_its_scale_and_the_dynamics_know_gamma_times_it():
    (x, y), (_, larger) = teacher(4, 1.0, 4000, 3), teacher(4, 8.0, 4000, 3)
    np.testing.assert_allclose(larger, 8 * y, rtol=1e-6)
    slope = np.linalg.lstsq(x, y, rcond=None)[0]
    assert np.linalg.norm(slope) == pytest.approx(1.0, abs=1e-5)
    # f / s depends on gamma_0 s alone, from the start on
    net = Blocks(width=8, depth=2, gamma0=1.0)
    args = dict(steps=3, points=16, dim=3)
    one = train_scale(net, 4.0, np.array([0.01]), [0], **args)
    other = train_scale(replace(net, gamma0=4.0), 1.0, np.array([0.01]), [0], **args)
    np.testing.assert_allclose(one, other, rtol=1e-5)


def test_patterns_keep_the_budget_and_the_even_split_is_plain_training():
    for name in ("halves", "neighbours"):
        assert pattern(name, 6).sum() == 0 and set(np.abs(pattern(name, 6))) == {1.0}
    net, problem = Blocks(width=6, depth=2, activation="linear"), teacher(0, 1.0, 12, 4)
    factors = 1 + np.array([[0.0], [0.5], [-0.5]]) * pattern("halves", 2)
    losses = split_losses(net, 0.1, factors, [problem], [0], (1, 4))
    plain = train_scale(net, 1.0, np.array([0.1]), [0], steps=4, points=12, dim=4)
    np.testing.assert_allclose(losses[1, 0], plain[0], rtol=1e-6)
    assert len(np.unique(losses[1])) == 3


def test_a_courses_statistics_are_paired_differences():
    losses = np.exp(np.array([[[0.0, 1.0], [0.3, 1.5], [0.1, 1.3]]]))  # one step, splits 0, d, -d, two seeds
    course = split_course(losses, 0.5)
    assert course.tilt.value[0] == pytest.approx(0.2)  # (0.2 + 0.2) / 2 / (2 * 0.5)
    assert course.curvature.value[0] == pytest.approx((0.4 + 0.8) / 2 / 0.25)
    assert course.upper.value[0] == pytest.approx(0.4) and course.lower.error[0] == pytest.approx(0.1)


def test_refusals_name_the_argument():
    for field, value in (("width", 0), ("layers", 3), ("activation", "gelu"), ("loss", "hinge"), ("branch", -1.0)):
        with pytest.raises(ValueError, match=field):
            Blocks(**{field: value})
    with pytest.raises(ValueError, match="stages"):
        train_grown(Blocks(depth=3, loss="cross-entropy"), "copy", LRS, [0], load("digits"), stages=2)
    with pytest.raises(ValueError, match="way"):
        train_grown(Blocks(depth=4), "sideways", LRS, [0], load("digits"))
    with pytest.raises(ValueError, match="depth"):
        pattern("halves", 3)
    assert finite_or_inf(torch.tensor([1.0, torch.nan, torch.inf])).tolist() == [1.0, np.inf, np.inf]
