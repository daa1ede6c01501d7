from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from lrtransfer import records  # noqa: E402
from lrtransfer.stages import experiments, text, transformer, transformer_network, transformer_runs  # noqa: E402
from lrtransfer.stages.transformer import METHODS, Growth, StagedTransformer, train_stages  # noqa: E402

TINY = StagedTransformer(
    width=8, heads=2, stages=3, steps=4, batch=3, length=8, warmup=1, eval_every=2, eval_windows=6
)  # fmt: skip
WORDS = text.split_text("the quick brown fox jumps over the lazy dog. " * 40, held_out=0.2)
CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def one_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def train(settings=TINY, lr=0.01, seed=1, **options):
    return train_stages(settings, lr, seed, text=WORDS, device="cpu", **options)


CHECK = text.held_out_batch(WORDS.held_out, 6, 8)


def stack(settings=TINY, lrs=(0.01,), seeds=(1,)):
    return transformer_network.Stack(settings, lrs, seeds, WORDS, CPU)


def train_stage(run, seed=1, part=0):
    batches = transformer.training_batches(run.settings, WORDS, seed, part)
    run.stage({seed: batches}, CHECK, [], lambda updates: None)


def network(settings=TINY, lr=0.01, seed=1):
    """A run after its first stage."""
    run = stack(settings, [lr], [seed])
    train_stage(run, seed)
    return run


def block(run, place):
    return run.blocks[place].arrays(0)


def equal(first, second):
    return first.keys() == second.keys() and all(np.array_equal(first[name], second[name]) for name in first)


def changed(first, second):
    """The names of the tensors that differ."""
    return {name for name in first if not np.array_equal(first[name], second[name])}


# --- the text ---------------------------------------------------------------------------------------------------


def test_the_topics_are_split_once_without_repetition():
    topics = text.topics()
    whole = topics.spell(np.concatenate([topics.train, topics.held_out]))
    assert abs(len(topics.held_out) / len(whole) - text.HELD_OUT) < 1 / len(whole)
    evened = [" ".join(paragraph.split()) for paragraph in whole.split("\n\n")]
    kept = [paragraph for paragraph in evened if paragraph]
    assert len(set(kept)) == len(kept) and len(kept) > 1000
    assert topics.train.max() < topics.mask == topics.vocabulary - 1
    assert text.topics() is topics and not topics.train.flags.writeable


def test_split_numbers_characters_in_order():
    split = text.split_text("banana🐍", held_out=0.3)
    assert split.characters == "abn🐍"
    assert split.spell(split.train) == "banan" and split.spell(split.held_out) == "a🐍"
    assert split.spell([0, split.mask]) == "a\u2588"


def test_batches_belong_to_seed_and_part():
    def draw(**changes):
        return text.masked_batches(WORDS.train, 5, 4, 10, **{"seed": 3, "part": 0} | changes)

    first, again = draw(), draw()
    np.testing.assert_array_equal(first.tokens, again.tokens)
    np.testing.assert_array_equal(first.hidden, again.hidden)
    for other in (draw(seed=4), draw(part=1)):
        assert not np.array_equal(first.hidden, other.hidden) and not np.array_equal(first.tokens, other.tokens)


def test_windows_come_from_the_text_and_a_fixed_share_is_hidden():
    batches = text.masked_batches(WORDS.train, 6, 4, 10, seed=0)
    assert batches.tokens.shape == (6, 4, 10) and batches.hidden.shape == (6, 6)  # 0.15 * 40 = 6
    whole = WORDS.spell(WORDS.train)
    assert all(WORDS.spell(window) in whole for window in batches.tokens.reshape(-1, 10))
    assert all(len(set(row)) == 6 and 0 <= min(row) and max(row) < 40 for row in batches.hidden.tolist())
    # Every place is equally often hidden: 2000 draws of 6 among 40 give 300 a place, standard deviation 16.
    hidden = text.masked_batches(WORDS.train, 2000, 4, 10, seed=5).hidden
    counts = np.bincount(hidden.reshape(-1), minlength=40)
    assert np.abs(counts - 300).max() < 5 * np.sqrt(2000 * 0.15 * 0.85)


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
    table = transformer_network.waves(6, 5)
    assert table.shape == (6, 5) and table.dtype == np.float32
    # Row t: sin(t w), cos(t w) at w = 1, 1/10, 1/100 but for the last column, times sqrt(2 / 15).
    w = np.array([1, 0.1, 0.01])
    expected = np.sqrt(2 / 15) * np.concatenate([np.sin(4 * w), np.cos(4 * w[:2])])
    np.testing.assert_allclose(table[4], expected, rtol=1e-6)  # float32


# --- a new block ------------------------------------------------------------------------------------------------


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
    zero = {name: np.zeros_like(block(run, 2)[name]) for name in transformer_network.OUTPUTS}
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


def test_block_against_arithmetic():
    """The block's formula, written out in double precision with numpy."""
    random = np.random.default_rng(0)
    n, heads, shapes = 8, 2, transformer_network.block_shapes(8, 3)
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
    found = transformer_network.block_function(both, twice, 5, heads)[1].reshape(2, 5, n)
    np.testing.assert_allclose(found.numpy(), expected, rtol=1e-9, atol=1e-10)  # sums of up to 24 terms near 10


# --- training ---------------------------------------------------------------------------------------------------


def test_curves_have_two_points_at_a_boundary():
    curves = train(replace(TINY, eval_every=3), methods=["random"])
    np.testing.assert_array_equal(curves.steps, [0, 3, 4, 4, 7, 8, 8, 11, 12])
    np.testing.assert_array_equal(curves.stage, [1, 1, 1, 2, 2, 2, 3, 3, 3])
    assert curves.losses.shape == (9, 1) and curves.betas.shape == (3, 1) and curves.final == curves.losses[-1]


def test_equal_arguments_equal_curves_whatever_is_trained_beside():
    together = train()
    again = train()
    np.testing.assert_array_equal(together.losses, again.losses)
    for m, method in enumerate(together.methods):
        # Batched products may sum in another order: float32 rounding, 6e-8 a sum, grown over 12 steps of AdamW.
        np.testing.assert_allclose(train(methods=[method]).losses[:, 0], together.losses[:, m], rtol=1e-5)
    assert not np.array_equal(train(seed=2).losses, together.losses)
    assert (together.losses[:3] == together.losses[:3, :1]).all()  # the first stage is common to all


def test_runs_of_several_rates_and_seeds_are_those_alone():
    runs = [(0.01, 1, METHODS["stacking"]), (0.02, 1, METHODS["zero"]), (0.01, 2, METHODS["random"])]
    steps, stage, losses, betas = transformer.train_runs(TINY, runs, text=WORDS, device="cpu")
    for place, (lr, seed, growth) in enumerate(runs):
        alone = train(lr=lr, seed=seed, methods={"one": growth})
        np.testing.assert_allclose(losses[:, place], alone.losses[:, 0], rtol=1e-5)  # as above
        np.testing.assert_array_equal(steps, alone.steps)
    assert stage.tolist() == sorted(stage.tolist()) and (betas == 1).all()


def test_training_learns():
    settings = replace(TINY, width=16, steps=150, eval_every=150, batch=16)
    losses = train(settings, lr=0.01, methods=["stacking"]).losses[:, 0].reshape(3, 2)
    assert abs(losses[0, 0] - np.log(len(WORDS.characters))) < 0.5  # at first any character is as likely
    assert losses[-1, -1] < 0.5 * losses[0, 0]


def test_only_the_new_block_is_trained_if_so_asked():
    run = network(replace(TINY, trained="new"))
    before = [run.ends.arrays(0), block(run, 0)]
    run.grow([METHODS["stacking"]])
    train_stage(run, part=1)
    assert equal(before[0], run.ends.arrays(0)) and equal(before[1], block(run, 0))
    assert changed(before[1], block(run, 1)) == before[1].keys() - {"beta"}


def test_optimiser_state_is_kept_or_reset():
    for state, count in (("keep", 4), ("reset", 0)):
        run = network(replace(TINY, optimiser_state=state))
        run.grow([METHODS["stacking"]])
        for part, expected in ((run.ends, count), (run.blocks[0], count), (run.blocks[1], 0)):
            assert part.count == expected and bool(part.second.any()) == bool(expected)
    assert not np.array_equal(train().losses, train(replace(TINY, optimiser_state="reset")).losses)


def test_steps_are_those_of_adamw():
    """Against torch's own AdamW, tensor by tensor, on the same batches."""
    settings = replace(TINY, steps=5, warmup=0, weight_decay=0.5)
    run = stack(settings)
    parts = [run.ends, run.blocks[0]]
    weights = [
        {name: torch.tensor(array, requires_grad=name != "beta") for name, array in part.arrays(0).items()}
        for part in parts
    ]
    trained = [tensor for group in weights for tensor in group.values() if tensor.requires_grad]
    groups = [
        {"params": [w for w in trained if w.ndim == 2], "weight_decay": 0.5},
        {"params": [w for w in trained if w.ndim < 2], "weight_decay": 0.0},
    ]
    optimiser = torch.optim.AdamW(groups, lr=0.01)
    batches = transformer.training_batches(settings, WORDS, 1, 0)
    for t in range(settings.steps):
        batch = [part[t][None] for part in run.inputs(batches)]
        twin = run.take([0])
        for part, group in zip((twin.ends, *twin.blocks), weights, strict=True):
            with torch.no_grad():
                part.flat.copy_(torch.cat([tensor.reshape(-1) for tensor in group.values()])[None])
        twin.losses(*batch).sum().backward()
        for part, group in zip((twin.ends, *twin.blocks), weights, strict=True):
            sizes = [tensor.numel() for tensor in group.values()]
            for tensor, gradient in zip(group.values(), part.flat.grad[0].split(sizes), strict=True):
                tensor.grad = gradient.view(tensor.shape).clone() if tensor.requires_grad else None
        optimiser.step()
        run.update(batch, 1.0)
    for part, group in zip(parts, weights, strict=True):
        for name, array in part.arrays(0).items():
            # Float32 rounding of entries near one; a step moves an entry by 0.01.
            np.testing.assert_allclose(array, group[name].detach().numpy(), atol=2e-6, rtol=0, err_msg=name)


def test_a_diverged_run_is_inf_and_stops_nothing_else():
    methods = {"far": Growth("stacking", beta=1e38), "zero": Growth("zero")}
    curves = train(methods=methods)
    assert np.isinf(curves.losses[3:, 0]).all() and np.isfinite(curves.losses[:3, 0]).all()
    np.testing.assert_allclose(curves.losses[:, 1], train(methods=["zero"]).losses[:, 0], rtol=1e-5)  # as above
    assert np.isinf(curves.betas[:, 0]).all() and (curves.betas[:, 1] == 1).all()


def test_progress_reaches_its_total_once():
    calls = []
    train(methods=["zero", "random"], progress=lambda done, total: calls.append((done, total)))
    assert [done for done, _ in calls] == sorted(done for done, _ in calls)
    assert {total for _, total in calls} == {12} and calls[-1][0] == 12  # 3 stages of 4 updates


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: StagedTransformer(heads=3), "heads"),
        (lambda: StagedTransformer(stages=0), "stages"),
        (lambda: StagedTransformer(steps=2.5), "steps"),
        (lambda: StagedTransformer(mask=0), "mask"),
        (lambda: StagedTransformer(mask=1.5), "mask"),
        (lambda: StagedTransformer(trained="some"), "trained"),
        (lambda: StagedTransformer(optimiser_state="lost"), "optimiser_state"),
        (lambda: StagedTransformer(weight_decay=-1), "weight_decay"),
        (lambda: Growth("warm"), "start"),
        (lambda: Growth("stacking", beta=float("nan")), "beta"),
        (lambda: train(lr=0), "lr"),
        (lambda: train(lr=[0.1, 0.2]), "lr"),
        (lambda: train(seed=-1), "seed"),
        (lambda: train(methods=[]), "methods"),
        (lambda: train(methods=["best"]), "methods"),
        (lambda: train(methods={"own": "stacking"}), "methods"),
        (lambda: train_stages(TINY, 0.1, 0, text=WORDS, device="abacus"), "device"),
        (lambda: train(replace(TINY, eval_windows=1000)), "windows"),
        (lambda: text.masked_batches(WORDS.train, 1, 1, 10**6, seed=0), "length"),
        (lambda: text.masked_batches(WORDS.train, 1, 1, 4, seed=0, mask=0), "mask"),
        (lambda: text.split_text("a"), "text"),
        (lambda: text.split_text("abc", held_out=0.99), "held_out"),
        (lambda: experiments.compare_starts("large"), "preset"),
        (lambda: experiments.make_record("layers-noise", store="."), "name"),
    ],
)
def test_bad_input_is_named(call, name):
    with pytest.raises(ValueError, match=name):
        call()


# --- experiments ------------------------------------------------------------------------------------------------

ROW = experiments.StagesPreset(replace(TINY, steps=3), lrs=(0.003, 0.01), seeds=(1, 2), swept=(0.003, 0.01))


def test_rates_are_chosen_on_a_seed_that_is_not_reported(tmp_path):
    result = experiments.compare_starts(ROW, store=tmp_path)
    for k, method in enumerate(result.tuned):
        own = [train_stages(ROW.transformer, lr, 0, methods=[method], device="cpu").final[0] for lr in ROW.lrs]
        np.testing.assert_allclose(result.selection[:, k], own, rtol=1e-5)  # batched, as above
        assert result.chosen[result.methods.index(method)] == ROW.lrs[int(np.argmin(own))]
    rate = dict(zip(result.methods, result.chosen, strict=True))
    assert rate["beta 0.99"] == rate["beta 0.9"] == rate["stacking"]
    for m, method in enumerate(result.methods):
        curves = train_stages(ROW.transformer, rate[method], 2, methods=[method], device="cpu")
        np.testing.assert_allclose(result.curves[:, m, 1], curves.losses[:, 0], rtol=1e-5)
        np.testing.assert_allclose(result.betas[:, m, 1], curves.betas[:, 0], rtol=1e-4)  # steps near 0.01 of 0.9
    for k, method in enumerate(result.tuned):
        curves = train_stages(ROW.transformer, 0.003, 1, methods=[method], device="cpu")
        np.testing.assert_allclose(result.sweep[:, 0, k, 0], curves.losses[:, 0], rtol=1e-5)
    with pytest.raises(ValueError, match="seeds"):
        experiments.compare_starts(replace(ROW, seeds=(0, 1)))
    with pytest.raises(ValueError, match="swept"):
        experiments.compare_starts(replace(ROW, swept=(0.5,)))


def test_differences_are_paired_by_seed():
    shares = []
    result = experiments.compare_starts(replace(ROW, swept=()), progress=shares.append)
    assert shares == sorted(shares) and shares[-1] == 1 and 0 <= shares[0] < 0.5
    gap = result.final[result.methods.index("stacking")] - result.final[result.methods.index("random")]
    mean, error = result.difference("stacking", "random")
    assert mean == pytest.approx((gap[0] + gap[1]) / 2, abs=1e-15)
    assert error == pytest.approx(abs(gap[0] - gap[1]) / 2, abs=1e-15)  # two seeds: |a - b| / sqrt(2) / sqrt(2)
    steps, means, errors = result.course("stacking", "random")
    assert (steps[0], steps[-1]) == (
        ROW.transformer.steps,
        result.steps[-1],
    )  # the first one right after the second block came
    assert (means[-1], errors[-1]) == (mean, error)
    with pytest.raises(ValueError, match="other"):
        result.course("stacking", "rando")
    with pytest.raises(ValueError, match="lr"):
        result.difference("stacking", "random", lr=0.01)
    inf = np.inf
    assert experiments.paired(np.array([inf, 1]), np.array([1.0, 1])) == (inf, inf)
    assert experiments.paired(np.array([1.0, 1]), np.array([inf, 1])) == (-inf, inf)
    assert experiments.paired(np.array([inf, 1]), np.array([inf, 1])) == (inf, inf)
    assert experiments.paired(np.array([3.0]), np.array([1.0])) == (2.0, inf)


def test_a_stopped_record_goes_on_and_is_the_same(tmp_path, monkeypatch):
    calls = []
    real = transformer_runs.train_runs
    monkeypatch.setattr(transformer_runs, "groups", lambda settings, runs: [[run] for run in runs])

    def counted(settings, runs, **options):
        calls.extend(runs)
        if len(calls) == 10:
            raise KeyboardInterrupt
        return real(settings, runs, **options)

    monkeypatch.setattr(transformer_runs, "train_runs", counted)
    with pytest.raises(KeyboardInterrupt):
        experiments.make_record(preset=ROW, folder=tmp_path, store=tmp_path / "store")
    assert experiments.read_record(folder=tmp_path) is None
    experiments.make_record(preset=ROW, folder=tmp_path, store=tmp_path / "store")
    # 2 rates x 3 methods on the selection seed, the same and two scalars on each of two seeds; one of them twice.
    assert len(calls) == 6 + 2 * 8 + 1 and calls[9] == calls[10]
    whole = experiments.compare_starts(ROW)
    found = experiments.read_record(folder=tmp_path)
    for field in experiments.StageComparison.__dataclass_fields__:
        np.testing.assert_array_equal(getattr(found, field), getattr(whole, field), err_msg=field)
    record = records.read(experiments.RECORD, folder=tmp_path)
    assert record["seconds"] >= 0 and record["versions"].keys() == {"python", "numpy", "torch"}
    mean, error = found.difference("random", "zero", lr=0.01)
    assert np.isfinite(mean) and np.isfinite(error)
    with pytest.raises(ValueError, match="lr"):
        found.difference("random", "zero", lr=0.5)


def test_groups_hold_whole_pairs_in_order():
    runs = [(lr, seed, method) for seed in (1, 2, 3) for lr in (0.1, 0.2) for method in METHODS]
    for width, most in ((8, 30), (64, 10), (512, 5)):
        settings = StagedTransformer(width=width, batch=16, length=24)
        packed = transformer_runs.groups(settings, runs)
        assert [run for group in packed for run in group] == runs
        assert max(map(len, packed)) == most  # 2^18 / (384 width) = 85, 10.7, 1.3; five methods at least


def test_the_record_in_results_holds_the_preset_full():
    found = experiments.read_record()
    if found is None:
        pytest.skip("only the package is installed")
    row = experiments.STAGES_PRESETS["full"]
    assert found.settings == row.transformer and found.seeds == row.seeds
    assert found.lrs.tolist() == list(row.lrs) and found.swept.tolist() == list(row.swept)
    best = found.lrs[found.selection.argmin(axis=0)]
    assert found.chosen[: len(found.tuned)].tolist() == best.tolist()
    assert found.selection_seed not in found.seeds and np.isfinite(found.curves).all()
    for k, method in enumerate(found.tuned):  # the sweep and the curves are the same runs where they meet
        if found.chosen[k] in found.swept:
            rate = found.swept.tolist().index(found.chosen[k])
            np.testing.assert_array_equal(found.sweep[:, rate, k], found.curves[:, found.methods.index(method)])
