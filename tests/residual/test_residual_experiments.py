"""What the chapter trains: families against direct sweeps, every plan, a sweep that is stopped."""

import math
from dataclasses import replace

import numpy as np
import pytest

from lrtransfer.numerics.estimates import Estimate
from lrtransfer.numerics.jackknife import half_error, halves_of
from lrtransfer.page.claims import Check
from lrtransfer.page.scale import PRESETS
from lrtransfer.rates import BestLR, best_lr, drift
from lrtransfer.residual import ConvNet, ResidualMLP, ResNet, VisionTransformer, coordinate_check, final_losses
from lrtransfer.residual.experiments import (
    THEMES,
    Family,
    FamilyResult,
    StopsAfter,
    between_depths,
    changes_of,
    depth_families,
    further,
    gain,
    move,
    optima_row,
    optimum_text,
    plan,
    train,
    train_values,
    widest,
)
from lrtransfer.sweeps.run import run
from lrtransfer.sweeps.store import Store
from lrtransfer.sweeps.sweep import Curve, Sweep

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
    assert low.on_edge and "(bound)" in optimum_text(low.best[0])
    result = train(replace(FAMILY, windows=((-3.0, 3.0),), octaves=0.5))
    trend = drift(list(result.best), FAMILY.sizes)
    assert result.drift == trend
    assert result.moved.value == pytest.approx(trend.total) and result.moved.seeds == result.trend.seeds == 2
    # Of two seeds every half is a seed: the error is half the distance between their own shifts.
    own = [
        [math.log2(best_lr(result.family.values(i), result.losses[i][:, [seed]]).lr) for seed in range(2)]
        for i in (0, 2)
    ]
    shifts = np.subtract(own[1], own[0])
    assert result.moved.error == pytest.approx(abs(shifts[0] - shifts[1]) / 2)
    assert (result.trend.value, result.trend.error) == (trend.slope, trend.slope_error)
    row = optima_row(result)
    assert row[0] == "tiny" and len(row) == 4 + len(FAMILY.sizes) and row[-1] == result.moved.outcome("within", 1)


def test_a_best_value_on_an_edge_decides_nothing():
    low = train(replace(FAMILY, windows=((-6.0, -4.0),)))
    for found in (low.moved, low.trend, low.gained(0, 2), widest(low.best), move(low.best[0], low.best[1])):
        assert found.error == math.inf
        for relation in ("within", "<=", ">="):
            assert found.outcome(relation, 0.5) == "not resolved" and not Check.of(found, "it", relation, 0.5).passed
    assert further(low, low).error == math.inf and not Check.of(further(low, low), "it", ">=", -100).passed


def test_lowest_is_the_mean_log_loss_at_the_best_rate_of_the_grid():
    result = train(FAMILY)
    means, errors = result.lowest()
    for table, mean, error in zip(result.losses, means, errors, strict=True):
        by_rate = {tuple(row): np.log(row).mean() for row in table}
        row = np.log(min(by_rate, key=by_rate.get))
        assert mean == pytest.approx(row.mean())
        assert error == pytest.approx(abs(row[0] - row[1]) / 2)  # standard error of two seeds


def moving(shifts, first=0.0):
    """A family whose seeds have their best values at ``first``, and at the last size ``shifts`` further."""
    seeds, ends = len(shifts), []
    for own in (np.full(seeds, first), first + np.asarray(shifts)):
        parts = tuple(2.0 ** own[list(half)].mean() for half in halves_of(seeds))
        spread = 2.0 ** half_error(np.log2(parts), seeds)
        ends.append(
            BestLR(2.0 ** own.mean(), 2.0 ** own.mean() / spread, 2.0 ** own.mean() * spread, False, seeds, parts)
        )
    return FamilyResult(replace(FAMILY, seeds=seeds), (), tuple(ends))


def test_further_compares_the_moves_of_common_seeds_and_not_their_signs():
    falls, rises = moving([-3.2, -2.8, -3.0]), moving([1.1, 0.9, 1.0])
    found = further(falls, rises)
    assert found.value == pytest.approx(2) and found.seeds == 3
    # |-3.2| - |1.1| = 2.1, 1.9 and 2.0: their standard error.
    assert found.error == pytest.approx(0.1 / math.sqrt(3))
    back = further(rises, falls)
    assert (back.value, back.error) == pytest.approx((-found.value, found.error))
    assert further(falls, moving([1.0, 1.0])).error == pytest.approx(falls.moved.error)


def test_widest_is_between_the_smallest_and_the_largest():
    best = [*moving([1.0, 1.4]).best, *moving([0.3, 0.1], first=0.5).best]
    assert widest(best).value == pytest.approx(1.2) and widest(best).error == pytest.approx(0.2)


def test_gains_are_falls_of_common_seeds():
    found = gain([1.0, 1.2, 0.8], [0.5, 0.9, 0.4])
    assert found.value == pytest.approx(0.4) and found.error == pytest.approx(0.1 / math.sqrt(3))  # 0.5, 0.3, 0.4
    assert gain([math.inf, math.inf], [math.inf, 1.0]).error == math.inf
    assert Estimate.of([1.0, 3.0]).error == pytest.approx(1) and Estimate.of([2.0]).error == math.inf


def test_distance_between_depths_against_sums():
    curves = np.random.default_rng(0).uniform(0.1, 2, (3, 4, 2))  # depths, evaluations, seeds
    distances = between_depths(curves)
    assert distances.shape == (4, 2)
    for step, seed in np.ndindex(4, 2):
        here = [math.log(v) for v in curves[:, step, seed]]
        assert distances[step, seed] == pytest.approx(math.sqrt(sum((v - sum(here) / 3) ** 2 for v in here) / 3))
    np.testing.assert_array_equal(between_depths(curves[[0, 0]]), 0)
    curves[1, 2, 0] = np.inf
    np.testing.assert_array_equal(np.isinf(between_depths(curves)), [[0, 0], [0, 0], [1, 0], [0, 0]])
    with pytest.raises(ValueError, match="curves"):
        between_depths([[[math.nan]]])


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
        assert book.seeds >= 6  # few seeds decide nothing
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
    # mup's best rate falls by about one octave per octave of depth even here; 1/sqrt(L) keeps its own. Smoke has too
    # few seeds for a bound, so the families are trained again with six; the bounds are the chapter's.
    sp, mup, sqrt = (train(replace(trials[name].family, seeds=6)) for name in ("sp", "mup", "mup_sqrt_depth"))
    assert sp.moved.outcome("<=", -1) == mup.moved.outcome("<=", -1) == sqrt.moved.outcome("within", 1) == "holds"
    assert further(mup, sqrt).outcome(">=", 0) == further(sp, sqrt).outcome(">=", 0) == "holds"


def test_opening_families_refuse_an_unknown_preset():
    with pytest.raises(ValueError, match=r"preset = 'huge' .*'smoke'"):
        depth_families("huge")


@pytest.mark.parametrize("kind", [ResidualMLP, ConvNet, ResNet, VisionTransformer])
def test_a_miniature_of_every_network_trains(kind):
    family = next(f for theme in THEMES for f in plan(theme, "smoke") if type(f.network) is kind)
    assert all(np.isfinite(table).all() for table in train(family).losses)


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


def test_a_session_that_keeps_its_runs_trains_nothing_twice(tmp_path, monkeypatch):
    family = Family("kept", ResidualMLP(width=8, depth=2, steps=2), "depth", (2, 3), ((-1, 1),), seeds=2)
    plain = train_values(family, 1, evaluations=False)
    monkeypatch.setenv("LRTRANSFER_RUNS", str(tmp_path))
    first = train_values(family, 1, evaluations=False)
    np.testing.assert_array_equal(first, plain)
    monkeypatch.setattr("lrtransfer.residual.networks.training.train_runs", None)  # nothing can be trained any more
    np.testing.assert_array_equal(train_values(family, 1, evaluations=False), first)
    assert (tmp_path / "residual" / "runs.sqlite").is_file()
