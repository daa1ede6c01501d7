"""A new block, and the network against arithmetic."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from small_transformer import CHECK, TINY, WORDS, block, changed, equal, network, stack, train, train_stage  # noqa: E402

from lrtransfer.stages.transformer import blocks, text  # noqa: E402
from lrtransfer.stages.transformer.settings import METHODS, Growth  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")


def test_the_network_sees_masks_and_is_asked_for_what_they_hide():
    batches = text.masked_batches(WORDS.train, 2, 3, 8, seed=9)
    inputs, hidden, answers = (part.numpy() for part in stack().inputs(batches))
    seen, true = inputs.reshape(2, -1), batches.tokens.reshape(2, -1)
    for t in range(2):
        assert (seen[t, hidden[t]] == WORDS.mask).all() and (true[t, hidden[t]] == answers[t]).all()
        assert (seen[t] == WORDS.mask).sum() == hidden.shape[1]
        seen[t, hidden[t]] = answers[t]
    np.testing.assert_array_equal(seen, true)


def test_positions_start_as_waves():
    table = blocks.waves(6, 5)
    assert table.shape == (6, 5) and table.dtype == np.float32
    # Row t: sin(t w), cos(t w) at w = 1, 1/10, 1/100 but for the last column, times sqrt(2 / 15).
    w = np.array([1, 0.1, 0.01])
    expected = np.sqrt(2 / 15) * np.concatenate([np.sin(4 * w), np.cos(4 * w[:2])])
    np.testing.assert_allclose(table[4], expected, rtol=1e-6)  # float32


def test_stacking_copies_the_top_block():
    run = network()
    run.grow([METHODS["stacking"]])
    old = block(run, 0)
    assert equal(old, block(run, 1))
    # Trained on, copy and original part: they share nothing.
    train_stage(run, part=1)
    assert changed(block(run, 0), block(run, 1)) == changed(old, block(run, 1)) == old.keys() - {"beta"}


def test_random_blocks_are_new_draws_common_to_methods():
    run, twin = network(), network(lr=0.02)
    run.grow([METHODS["random"]])
    twin.grow([METHODS["random"]])
    assert equal(block(run, 1), block(twin, 1))  # one draw for all rates
    run.grow([METHODS["random"]])
    assert changed(block(run, 1), block(run, 2)) == {"qkv", "out", "up", "down"}
    twin.grow([METHODS["zero"]])
    zero = {name: np.zeros_like(block(run, 2)[name]) for name in blocks.OUTPUTS}
    assert equal(block(twin, 2), block(run, 2) | zero)
    # 1/sqrt(3n): 3 n^2 = 192 Gaussian entries estimate their scale to 1/sqrt(2 * 192) = 5%; four times that.
    assert abs(block(run, 2)["qkv"].std() / (3 * 8) ** -0.5 - 1) < 0.2


def test_zero_initialisation_leaves_the_function_unchanged():
    curves = train(methods=["zero", "stacking", "random"])
    losses = curves.losses.reshape(3, 3, 3)  # stages, evaluations, methods
    np.testing.assert_array_equal(losses[1:, 0, 0], losses[:-1, -1, 0])
    assert (np.abs(losses[1:, 0, 1:] - losses[:-1, -1, 1:]) > 1e-4).all()  # the others do jump


def test_zero_initialisation_trains_every_tensor_in_two_steps():
    """At step one only the zeroed projections have a gradient; they then pass one on to the rest."""
    run = network()
    run.grow([METHODS["zero"]])
    before = block(run, 1)
    train_stage(run, part=1)
    assert changed(before, block(run, 1)) == before.keys() - {"beta"}


@pytest.mark.parametrize("state", ["keep", "reset"])
def test_a_frozen_scalar_of_one_is_plain_stacking(state):
    methods = {"plain": Growth("stacking"), "one": Growth("stacking", beta=1.0, train_beta=False)}
    curves = train(replace(TINY, optimiser_state=state), methods=methods)
    np.testing.assert_array_equal(curves.losses[:, 0], curves.losses[:, 1])
    np.testing.assert_array_equal(curves.betas, 1)


def test_a_scalar_of_zero_is_zero_initialisation_at_the_boundary():
    curves = train(methods={"nothing": Growth("stacking", beta=0.0)})
    losses = curves.losses.reshape(3, 3)
    assert losses[1, 0] == losses[0, -1]


def test_scalars_start_at_beta_times_the_copied_scalar_and_train():
    fixed = train(methods={"b": Growth("stacking", beta=0.9, train_beta=False)})
    np.testing.assert_allclose(fixed.betas[:, 0], [1, 0.9, 0.81], rtol=1e-6)  # float32
    moving = train(methods={"b": Growth("stacking", beta=0.9)})
    assert moving.betas[0, 0] == 1 and (np.abs(moving.betas[1:, 0] - [0.9, 0.81]) > 1e-3).all()


def streams(run):
    """The residual stream before the first block and after each, on the windows that check."""
    inputs, _, _ = run.inputs(CHECK)
    return [x.detach().numpy()[0] for x in run.streams(inputs[:1])]


def test_a_silent_copy_is_the_top_block_without_its_outputs():
    run, twin = network(), network()
    run.grow([METHODS["silent"]])
    twin.grow([METHODS["stacking"]])
    assert changed(block(run, 1), block(twin, 1)) == set(blocks.OUTPUTS)
    assert all((block(run, 1)[name] == 0).all() for name in blocks.OUTPUTS)
    before, after = streams(run)[-2:]
    np.testing.assert_array_equal(after, before)  # f = 0: the function is what it was, to the last bit
    train_stage(run, part=1)
    assert changed(block(run, 1), block(twin, 1)) == block(run, 1).keys() - {"beta"}  # and every tensor trains


@pytest.mark.parametrize("name", ["nesterov 1", "nesterov 0.9"])
def test_a_nesterov_start_is_nesterovs_step_to_rounding(name):
    """At the moment of insertion the stream is F_t + s (F_t - F_{t-1}), with F_t as the network without it has it."""
    run = network()
    for part in (1, 2, 3):  # from the third block on the network carries skips that stay
        old = streams(run)
        run.grow([METHODS[name]])
        new = streams(run)
        assert equal({str(t): x for t, x in enumerate(old)}, {str(t): x for t, x in enumerate(new[:-1])})
        promised = old[-1].astype(float) + METHODS[name].skip * (old[-1].astype(float) - old[-2].astype(float))
        # float32: the difference, its product and the sum are each rounded once, to 6e-8 of entries of a few units
        np.testing.assert_allclose(new[-1], promised, rtol=0, atol=4 * 6e-8 * np.abs(promised).max())
        assert np.abs(new[-1] - old[-1]).max() > 1e-3  # it is a start of its own
        train_stage(run, part=part)
    betas = run.betas()
    np.testing.assert_array_equal(betas, 1)


def test_a_skip_without_the_move_leaves_the_function():
    run = network()
    for part in (1, 2, 3):
        old = streams(run)
        run.grow([METHODS["still 0.9"]])
        new = streams(run)
        # float32: a scaled sum against the same sum, rounded a few times at entries of a few units
        np.testing.assert_allclose(new[-1], old[-1], rtol=0, atol=4 * 6e-8 * np.abs(old[-1]).max())
        assert np.abs(new[-2] - old[-1]).max() > 1e-3  # though the last move itself is smaller
        train_stage(run, part=part)
    np.testing.assert_allclose(run.betas()[:, 0], [1 / 1.9] * 3 + [1], rtol=1e-6)


def test_a_skip_of_zero_is_the_zero_start():
    curves = train(methods={"zero": Growth("zero"), "none": Growth("zero", skip=0.0)})
    np.testing.assert_array_equal(curves.losses[:, 0], curves.losses[:, 1])


def test_what_a_scalar_starts_from():
    starts = {"given": [1, 0.9, 0.9], "parent's": [1, 0.9, 0.9], "times parent's": [1, 0.9, 0.81]}
    for factor, expected in starts.items():
        fixed = train(methods={"b": Growth("stacking", beta=0.9, train_beta=False, factor=factor)})
        np.testing.assert_allclose(fixed.betas[:, 0], expected, rtol=1e-6)  # float32
    run = network()
    for name in ("given", "parent's"):
        twin = run.take([0])
        growth = Growth("stacking", beta=0.9, factor=name)
        twin.grow([growth])
        train_stage(twin, part=1)
        trained = block(twin, 1)["beta"][0]
        assert abs(trained - 0.9) > 1e-3
        twin.grow([growth])
        assert block(twin, 2)["beta"][0] == (np.float32(0.9) if name == "given" else trained)


def test_block_against_arithmetic():
    """The block's formula, written out in double precision with numpy."""
    random = np.random.default_rng(0)
    n, heads, shapes = 8, 2, blocks.block_shapes(8, 3)
    block = {name: random.standard_normal(shape) for name, shape in shapes.items()}
    other = {name: random.standard_normal(shape) for name, shape in shapes.items()}  # a second run beside
    x = random.standard_normal((2, 5, n))

    def norm(h, gain, shift):
        centred = h - h.mean(-1, keepdims=True)
        return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * gain + shift

    q, k, v = np.split(norm(x, block["ln1_gain"], block["ln1_shift"]) @ block["qkv"].T, 3, axis=-1)
    mixed = np.empty_like(x)
    for head in range(heads):
        part = slice(head * n // heads, (head + 1) * n // heads)
        scores = np.exp(q[..., part] @ k[..., part].swapaxes(-1, -2) / np.sqrt(n / heads))
        mixed[..., part] = scores / scores.sum(-1, keepdims=True) @ v[..., part]
    a = mixed @ block["out"].T
    expected = a + np.maximum(norm(x + a, block["ln2_gain"], block["ln2_shift"]) @ block["up"].T, 0) @ block["down"].T
    both = {name: torch.tensor(np.stack([other[name], block[name]])) for name in block}
    twice = torch.tensor(np.stack([x, x]).reshape(2, 10, n))
    found = blocks.block_function(both, twice, 5, heads)[1].reshape(2, 5, n)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-9, atol=1e-10)  # sums of up to 24 terms near 10
