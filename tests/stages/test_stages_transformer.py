"""Training stage by stage."""

from dataclasses import replace

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from small_transformer import TINY, WORDS, block, changed, equal, network, stack, train, train_stage  # noqa: E402

from lrtransfer.stages.transformer import experiments, text  # noqa: E402
from lrtransfer.stages.transformer.settings import METHODS, Growth, StagedTransformer  # noqa: E402
from lrtransfer.stages.transformer.training import train_runs, train_stages, training_batches  # noqa: E402

pytestmark = pytest.mark.usefixtures("one_thread")


def test_curves_have_two_points_at_a_boundary():
    curves = train(replace(TINY, eval_every=3), methods=["random"])
    np.testing.assert_array_equal(curves.steps, [0, 3, 4, 4, 7, 8, 8, 11, 12])
    np.testing.assert_array_equal(curves.stage, [1, 1, 1, 2, 2, 2, 3, 3, 3])
    assert curves.losses.shape == (9, 1) and curves.betas.shape == (3, 1) and curves.final.shape == (1,)


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
    steps, stage, losses, betas, final = train_runs(TINY, runs, text=WORDS, device="cpu")
    for place, (lr, seed, growth) in enumerate(runs):
        alone = train(lr=lr, seed=seed, methods={"one": growth})
        np.testing.assert_allclose(losses[:, place], alone.losses[:, 0], rtol=1e-5)  # as above
        np.testing.assert_array_equal(steps, alone.steps)
        assert final[place] == pytest.approx(alone.final[0], rel=1e-5)
    assert stage.tolist() == sorted(stage.tolist()) and (betas == 1).all()


def test_the_final_loss_is_the_mean_over_the_held_out_text():
    """Each place hidden once: the rows' mean is the mean over all places, here asked one row at a time."""
    run, share = network(), 1 / TINY.mask
    rows = text.final_batches(WORDS.held_out, TINY.length, mask=TINY.mask)
    assert len(rows.tokens) == np.ceil(share)
    losses = [run.evaluate(text.MaskedBatches(rows.tokens[[t]], rows.hidden[[t]]))[0] for t in range(len(rows.tokens))]
    assert run.evaluate(rows)[0] == pytest.approx(np.mean(losses), rel=1e-12)
    settings = replace(TINY, stages=1)
    one = train(settings, methods=["random", "zero"])
    np.testing.assert_array_equal(one.final, run.evaluate(rows)[[0, 0]])  # a single stage has no method yet
    assert train(replace(settings, final_share=0.3), methods=["zero"]).final[0] != one.final[0]


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no cuda device")
def test_a_gpu_trains_the_same_curves():
    here, there = train(), train_stages(TINY, 0.01, 1, text=WORDS, device="cuda")
    np.testing.assert_allclose(there.losses, here.losses, rtol=1e-3)  # float32 sums in another order, 12 steps of AdamW


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
    batches = training_batches(settings, WORDS, 1, 0)
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
        (lambda: StagedTransformer(final_share=0), "final_share"),
        (lambda: StagedTransformer(final_share=2), "final_share"),
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
        (lambda: text.final_batches(WORDS.held_out, 10**6), "length"),
        (lambda: text.final_batches(WORDS.held_out, 4, mask=1e-9), "mask"),
        (lambda: text.final_batches(WORDS.held_out, 4, share=1.5), "share"),
        (lambda: text.split_text("a"), "text"),
        (lambda: text.split_text("abc", held_out=0.99), "held_out"),
        (lambda: experiments.compare_starts("large"), "preset"),
    ],
)
def test_bad_input_is_named(call, name):
    with pytest.raises(ValueError, match=name):
        call()
