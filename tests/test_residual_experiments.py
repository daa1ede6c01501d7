"""What the chapter trains: families against direct sweeps, every plan, blocks taken apart, a sweep that is stopped."""

import math
from dataclasses import replace

import numpy as np
import pytest

from lrtransfer.presets import PRESETS
from lrtransfer.rates import BestLR, best_lr, drift
from lrtransfer.residual import ConvNet, ResidualMLP, ResNet, VisionTransformer, coordinate_check, final_losses
from lrtransfer.residual.experiments import (
    THEMES,
    Family,
    FamilyResult,
    StopsAfter,
    between_depths,
    block_work,
    changes_of,
    depth_families,
    further,
    gains,
    in_errors,
    inner_work,
    mean_and_error,
    optima_row,
    optimum_text,
    plan,
    train,
    train_values,
)
from lrtransfer.residual.runner import run
from lrtransfer.residual.store import Store
from lrtransfer.residual.sweep import Curve, Sweep

TINY = ResidualMLP(width=8, steps=3, batch=16, eval_points=40)
FAMILY = Family("tiny", TINY, "depth", (1, 2, 4), ((-3.0, 1.0),), seeds=2)


def test_a_family_is_the_sweep_of_each_size():
    result = train(FAMILY)
    lrs = 2.0 ** np.arange(-3, 2)
    for depth, losses, best in zip(FAMILY.sizes, result.losses, result.best, strict=True):
        direct = final_losses(replace(TINY, depth=depth), lrs, range(2))
        np.testing.assert_array_equal(losses, direct)
        assert (best.lr > 0) and (best.low <= best.lr <= best.high)
    assert train(FAMILY) is result  # trained once a session


def test_width_varies_where_it_is_said_to():
    family = replace(FAMILY, vary="width", sizes=(4, 8), network=replace(TINY, depth=2))
    direct = final_losses(replace(TINY, depth=2, width=8), family.values(1), range(2))
    np.testing.assert_array_equal(train(family).losses[1], direct)


def test_windows_are_shared_or_one_a_size():
    assert list(FAMILY.values(0)) == list(FAMILY.values(2)) == [0.125, 0.25, 0.5, 1.0, 2.0]
    assert [list(grid) for grid in FAMILY.grids] == 3 * [list(FAMILY.values(0))]
    assert FAMILY.letter == "L" and replace(FAMILY, vary="width").letter == "N"
    own = replace(FAMILY, windows=((0.0, 1.0), (-1.0, 0.0), (-2.0, -1.0)), octaves=0.5)
    np.testing.assert_allclose(own.values(2), 2.0 ** np.array([-2, -1.5, -1]))


@pytest.mark.parametrize(
    ("swept", "changed"),
    [("momentum", {"momentum": 0.75}), ("weight_decay", {"weight_decay": 4.0}), ("gamma0", {"gamma0": 4.0})],
)
def test_another_hyperparameter_is_swept_at_a_fixed_rate(swept, changed):
    family = replace(FAMILY, swept=swept, windows=((0.0, 2.0),), lr=0.05)
    curves = train_values(family, 1)
    assert curves.shape == (TINY.steps + 1, 3, 2)
    direct = final_losses(replace(TINY, depth=2, **changed), [0.05], range(2))
    np.testing.assert_array_equal(train(family).losses[1][2], direct[0])
    np.testing.assert_array_equal(curves[-1, 2], direct[0])


@pytest.mark.parametrize(
    ("field", "value"), [("vary", "steps"), ("swept", "batch"), ("windows", ((0.0, 1.0), (0.0, 1.0)))]
)
def test_a_family_refuses_what_it_cannot_train(field, value):
    with pytest.raises(ValueError, match=field):
        replace(FAMILY, **{field: value})


def test_statistics_of_a_family_are_those_of_the_rates_module():
    # Rates low enough that nothing diverges; three of them, so that the best is on an edge, flagged and not warned of.
    low = train(replace(FAMILY, windows=((-6.0, -4.0),)))
    assert low.on_edge and "(edge)" in optimum_text(low.best[0])
    result = train(replace(FAMILY, windows=((-3.0, 3.0),), octaves=0.5))
    trend = drift(list(result.best), FAMILY.sizes)
    assert result.drift == trend
    assert result.shift == pytest.approx(trend.total)
    own = [
        [math.log2(best_lr(result.family.values(i), result.losses[i][:, [seed]]).lr) for seed in range(2)]
        for i in (0, 2)
    ]
    spreads = [np.std(entry, ddof=1) / math.sqrt(2) for entry in own]
    assert result.shift_error == pytest.approx(math.hypot(*spreads))
    assert optima_row(result)[0] == "tiny" and len(optima_row(result)) == 3 + len(FAMILY.sizes)


def test_lowest_is_the_mean_log_loss_at_the_best_rate_of_the_grid():
    result = train(FAMILY)
    means, errors = result.lowest()
    for table, mean, error in zip(result.losses, means, errors, strict=True):
        by_rate = {tuple(row): np.log(row).mean() for row in table}
        row = np.log(min(by_rate, key=by_rate.get))
        assert mean == pytest.approx(row.mean())
        assert error == pytest.approx(abs(row[0] - row[1]) / 2)  # standard error of two seeds


def test_mean_and_error_over_seeds():
    mean, error = mean_and_error([[1.0, 2.0, 3.0], [5.0, 5.0, 5.0]])
    np.testing.assert_allclose(mean, [2, 5])
    np.testing.assert_allclose(error, [1 / math.sqrt(3), 0])  # the standard deviation of 1, 2, 3 is one
    mean, error = mean_and_error([[4.0]])
    assert (mean[0], error[0]) == (4, 0)


def test_differences_in_standard_errors():
    np.testing.assert_allclose(in_errors([2.0, -1.0], [0.5, 0.25]), [4, -4])
    assert in_errors(0.0, 0.0) == 0 and in_errors(1.0, 0.0) == pytest.approx(1e9)


def test_further_compares_the_moves_and_not_their_signs():
    def moving(first, last, spread):
        ends = tuple(BestLR(2.0**v, 2.0 ** (v - spread), 2.0 ** (v + spread), False) for v in (first, last))
        return FamilyResult(FAMILY, (), ends)

    falls, rises = moving(0, -3, 0.3), moving(0, 1, 0.4)
    assert further(falls, rises) == pytest.approx(2 / math.sqrt(2 * 0.3**2 + 2 * 0.4**2))
    assert further(rises, falls) == pytest.approx(-further(falls, rises))


def test_gains_are_falls_with_the_errors_of_both_ends():
    fall, error = gains([1.0, 0.4, 0.6], [0.3, 0.4, 0.0])
    np.testing.assert_allclose(fall, [0.6, -0.2])
    np.testing.assert_allclose(error, [0.5, 0.4])


def test_distance_between_depths_against_sums():
    curves = np.random.default_rng(0).uniform(0.1, 2, (3, 4, 2))  # depths, evaluations, seeds
    logs = [[sum(math.log(v) for v in row) / 2 for row in depth] for depth in curves]
    for step, distance in enumerate(between_depths(curves)):
        here = [depth[step] for depth in logs]
        assert distance == pytest.approx(math.sqrt(sum((v - sum(here) / 3) ** 2 for v in here) / 3))
    np.testing.assert_array_equal(between_depths(curves[[0, 0]]), 0)


def test_changes_of_a_layer_by_its_name():
    check = coordinate_check(TINY, (4, 8), steps=1, seeds=(0, 1, 2), batch=8)
    for k, layer in enumerate(check.layers):
        np.testing.assert_array_equal(changes_of(check, layer), check.changes[:, k])
    with pytest.raises(ValueError, match="layer = 'middle'"):
        changes_of(check, "middle")


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("theme", THEMES)
def test_every_plan_has_distinct_families(theme, preset):
    families = plan(theme, preset)
    assert len({family.name for family in families}) == len(families) > 0
    assert all(list(family.sizes) == sorted(set(family.sizes)) for family in families)
    for family, book in zip(families, plan(theme), strict=True):
        assert family.network.kind == book.network.kind
        assert family.seeds == {"smoke": 2, "book": book.seeds, "full": 3 * book.seeds}[preset]
        if preset == "full":
            assert len(family.values(0)) == 2 * len(book.values(0)) - 1


def test_plans_refuse_unknown_words():
    with pytest.raises(ValueError, match="theme"):
        plan("height")
    with pytest.raises(ValueError, match="preset"):
        plan("width", "huge")


def test_smoke_already_shows_the_effect_of_the_opening_figure():
    trials = {family.name: train(family) for family in depth_families("smoke")}
    for name, trial in trials.items():
        assert trial.family.network.parametrisation == name and not trial.on_edge
        assert not any(np.isnan(table).any() for table in trial.losses)
    # mup's best rate falls by about one octave per octave of depth even here; 1/sqrt(L) keeps its own.
    sp, mup, sqrt = (trials[name].drift for name in ("sp", "mup", "mup_sqrt_depth"))
    assert mup.slope + 3 * mup.slope_error < -0.5 < sqrt.slope - 3 * sqrt.slope_error
    assert sp.slope + 3 * sp.slope_error < sqrt.slope - 3 * sqrt.slope_error


def test_opening_families_refuse_an_unknown_preset():
    with pytest.raises(ValueError, match=r"preset = 'huge' .*'smoke'"):
        depth_families("huge")


@pytest.mark.parametrize("kind", [ResidualMLP, ConvNet, ResNet, VisionTransformer])
def test_a_miniature_of_every_network_trains(kind):
    family = next(f for theme in THEMES for f in plan(theme, "smoke") if type(f.network) is kind)
    assert all(np.isfinite(table).all() for table in train(family).losses)


def test_blocks_start_with_the_noise_that_theory_gives():
    # <(h^L - h^0)^2> / <(h^0)^2> = (1 + 1/(2L))^L - 1 at infinite width; (a block adds (1/2L) <h^2>). The read-in keeps
    # <(h^0)^2> = |x|^2 / D on average, which the same batch gives. Tolerance: 4 standard errors over 8 seeds, and 4/N.
    from lrtransfer.residual.data import load

    x = load("digits").train_x[:64]
    width, depths = 256, (2, 6)
    work = block_work(ResidualMLP(width=width), depths, 1e-6, steps=1, seeds=8, images=64)
    for depth, start in zip(depths, work.start, strict=True):
        ratio = start**2 / np.mean(x.astype(float) ** 2)
        expected = (1 + 0.5 / depth) ** depth - 1
        error = ratio.std(ddof=1) / math.sqrt(8)
        assert abs(ratio.mean() - expected) < 4 * error + 4 / width


def test_blocks_without_a_multiplier_to_speak_of_do_nothing():
    work = block_work(ResidualMLP(width=16, branch=30.0), (4,), 0.5, steps=4, seeds=2, images=32)
    assert (work.learnt < 1e-6 * work.read_in).all()  # 4^-30 is far below the rounding of float32
    np.testing.assert_array_equal(work.loss, work.without)
    working = block_work(ResidualMLP(width=16), (4,), 0.5, steps=4, seeds=2, images=32)
    assert (working.without > working.loss).all() and (working.learnt > 0.1 * working.read_in).all()


def test_a_higher_rate_of_the_first_layer_moves_it_in_proportion():
    # At a small rate the changes are linear in the rate: L^(1/2) = 2 at L = 4. The quadratic part is of relative order
    # lr = 0.01, float32 rounding of the differences of the same order.
    s = ResNet(norm=None, width=8)
    plain, boosted, twice = (
        inner_work(s, (4,), lr, steps=2, seeds=2, boost=b, images=16) for lr, b in ((0.01, 0), (0.01, 0.5), (0.02, 0))
    )
    np.testing.assert_allclose(boosted.own / plain.own, 2, rtol=0.05)
    np.testing.assert_allclose(boosted.outer / plain.outer, 1, rtol=0.05)
    np.testing.assert_allclose(twice.own / plain.own, 2, rtol=0.05)
    np.testing.assert_allclose(twice.stream / plain.stream, 2, rtol=0.05)


def test_a_sweep_that_is_stopped_keeps_what_it_has(tmp_path):
    curves = tuple(Curve(replace(TINY, depth=depth, eval_every=0), (0.1, 0.2, 0.4)) for depth in (1, 2, 3))
    sweep = Sweep(curves, seeds=(0, 1))
    with Store(tmp_path / "runs.sqlite") as store:
        with pytest.raises(KeyboardInterrupt):
            run(sweep, store, executor=StopsAfter(groups=2), in_flight=1)
        assert len(store) == 2 * 3 * 2
        resumed = run(sweep, store)
        assert len(store) == len(sweep) == 18
    for result, curve in zip(resumed, curves, strict=True):
        np.testing.assert_array_equal(result.losses[-1], final_losses(curve.settings, curve.lrs, (0, 1)))


def test_stops_after_does_the_work_first():
    pool = StopsAfter(groups=1)
    assert pool.submit(math.sqrt, 9.0).result() == 3.0
    with pytest.raises(KeyboardInterrupt):
        pool.submit(math.sqrt, 9.0)
