"""Shapes of one budget, checks held against sweeps, networks beside their limit, settings files in miniature."""

import math
from dataclasses import replace

import numpy as np
import pytest

from lrtransfer.rates import best_lr
from lrtransfer.residual import (
    PARAMETRISATIONS,
    Curve,
    ResidualMLP,
    Sweep,
    coordinate_check,
    lazy_outputs,
    linear_kernels,
    read_sweep,
    relu_ntk,
    shipped,
    train_ensemble,
    width_gaps,
)
from lrtransfer.residual.experiments import (
    Family,
    FamilyResult,
    away_from,
    built_over_symbols,
    changes_of,
    checks_against_sweeps,
    compare_lazy,
    compare_shapes,
    exponent_of,
    feature_sizes,
    left_out,
    miniature,
    power_of,
    recorded_shapes,
    settings_files,
    stop_and_resume,
    train,
)

TINY = ResidualMLP(width=8, steps=3, batch=16, eval_points=40, eval_every=0)


def bowl(centre, depth, floor=0.5, seeds=4):
    """A family of one size whose log loss is a parabola about ``centre``, seeds lifted by 0, 0.1, ..."""
    family = Family(f"L = {depth}", replace(TINY, depth=depth), "depth", (depth,), ((-2.0, 2.0),), 0.5, seeds)
    x = np.log2(family.values(0))[:, None]
    losses = np.exp(floor + (x - centre) ** 2 + 0.1 * np.arange(seeds))
    return FamilyResult(family, (losses,), (best_lr(family.values(0), losses),))


def test_shapes_are_compared_at_one_rate_below_the_mean_of_the_best():
    budgets = ((bowl(0.25, 4), bowl(0.5, 8)), (bowl(0.5, 4, floor=0.2), bowl(0.75, 8, floor=0.1)))
    found = compare_shapes(budgets)
    assert found.common == 2.0**0.0  # the grid has 0 and 1/2; their mean place is 1/2, and below it lies 0
    assert found.at_common.shape == found.at_own.shape == (2, 2, 4)
    np.testing.assert_allclose(found.at_common[0, 1], 0.5 + 0.5**2 + 0.1 * np.arange(4))
    np.testing.assert_allclose(found.at_own[1, 0], 0.2 + 0.1 * np.arange(4))  # 1/2 is on the grid
    assert [e.value for e in found.off] == pytest.approx([0.25, 0.5, 0.5, 0.75])
    assert [e.value for e in found.costs] == pytest.approx([0.0, 0.5**2, 0.5**2, 0.75**2 - 0.25**2])
    assert [e.value for e in found.deeper] == pytest.approx([0.25**2 - 0.5**2, 0.1 + 0.5**2 - 0.75**2])
    assert [e.value for e in found.larger] == pytest.approx([0.3 + 0.25**2 - 0.5**2, 0.4 + 0.5**2 - 0.75**2])
    assert all(e.error == pytest.approx(0, abs=1e-12) and e.seeds == 4 for e in found.larger)  # seeds are paired


def test_a_common_rate_may_be_chosen_beforehand():
    budgets = ((bowl(0.25, 4), bowl(0.5, 8)),)
    found = compare_shapes(budgets, common=2.0**0.5)
    assert found.common == 2.0**0.5 != compare_shapes(budgets).common
    assert [e.value for e in found.off] == pytest.approx([-0.25, 0.0])


def test_recorded_shapes_are_sorted_by_budget_and_depth():
    budgets = recorded_shapes()
    assert budgets == [] or [[t.family.sizes[0] for t in trials] for trials in budgets] == [[4, 8, 16]] * 2


def test_a_rate_is_chosen_on_the_other_seeds():
    # Seed 0 is lucky at the first rate: it alone makes that the lowest mean, and it must not profit from it.
    logs = np.log([[0.01, 1.0, 1.0], [0.5, 0.5, 0.5]])
    assert np.argmin(logs.mean(axis=1)) == 0
    np.testing.assert_allclose(left_out(np.exp(logs)), np.log([0.5, 1.0, 1.0]))
    with pytest.raises(ValueError, match=r"losses = .*two seeds"):
        left_out([[1.0], [2.0]])


def test_shapes_that_lack_the_common_rate_are_refused():
    far = bowl(0.0, 8)
    far = replace(far, family=replace(far.family, windows=((0.25, 4.25),)))
    with pytest.raises(ValueError, match=r"budgets = 'L = 8' .*common rate"):
        compare_shapes(((bowl(0.25, 4), far),))


def test_a_check_is_held_against_the_sweep_of_its_family():
    family = Family("tiny", TINY, "depth", (1, 2, 4), ((-2.0, 3.0),), seeds=2)
    trial = train(family)
    (found,) = checks_against_sweeps({"tiny": trial}, seeds=2, batch=16).values()
    lr = trial.best[-1].lr / 64
    seen = coordinate_check(TINY, (1, 2, 4), vary="depth", lr=lr, steps=2, seeds=range(2), batch=16)
    assert (found.exponent.value, found.exponent.error) == (seen.exponents[-1], seen.errors[-1])
    assert seen.layers[-1] == "f" and found.exponent.seeds == 2 and found.finite
    assert (found.slope, found.on_edge) == (trial.trend, trial.on_edge)


def test_exponents_are_fitted_to_every_seed():
    sizes = np.array([2, 4, 8])
    values = np.stack([3 * sizes**0.5, 5 * sizes**0.7], axis=1)
    found = power_of(sizes, values)
    assert (found.value, found.error, found.seeds) == (pytest.approx(0.6), pytest.approx(0.1), 2)
    check = coordinate_check(TINY, (4, 8), steps=1, seeds=(0, 1, 2), batch=8)
    of_check, of_changes = exponent_of(check, "stream"), power_of((4, 8), changes_of(check, "stream"))
    assert (of_check.value, of_check.error) == pytest.approx((of_changes.value, of_changes.error))
    with pytest.raises(ValueError, match="layer = 'middle'"):
        exponent_of(check, "middle")


def test_table_one_built_is_its_symbols():
    ratios = built_over_symbols(64, 4, {name: 0.5 if name.startswith("mup") else 1.0 for name in PARAMETRISATIONS})
    assert tuple(ratios) == PARAMETRISATIONS
    for ratio in ratios.values():
        np.testing.assert_allclose(np.delete(ratio, 2), 1, rtol=1e-9)
        assert abs(ratio[2] - 1) < 4 * math.sqrt(2 / 4) / 64


def test_feature_sizes_against_the_runs_they_come_from():
    found, deeper = feature_sizes(0.06, 1.0, 16, (2, 3), 4, draws=8)
    run = train_ensemble(0.06, 1.0, 16, 2, 4, draws=8, seed=7)
    limit = linear_kernels(0.06, 1.0, 2, 4)
    assert (found.depth, deeper.depth) == (2, 3) and deeper.means.shape == (2, 4)
    for k, t in enumerate((0, 4)):
        np.testing.assert_allclose(found.means[k], run.H[t].mean(axis=-1))
        off = found.means[k, -1] - limit.H[t, t, -1]
        assert found.shares[k] == pytest.approx(abs(off) / limit.H[t, t, -1])
        assert found.in_errors[k] == pytest.approx(off / found.errors[k, -1])
        relative = found.relative(k)
        assert abs(relative.value) == pytest.approx(found.shares[k]) and relative.seeds == 8
        assert relative.in_errors == pytest.approx(found.in_errors[k])


def test_lazy_networks_lie_near_their_kernel():
    gram, targets = np.array([[1.0, 0.5], [0.5, 1.0]]), np.array([1.0, -0.5])
    found = compare_lazy(0.3, 0.05, 64, 4, 5, inputs=gram, targets=targets, draws=32)
    assert found.difference.shape == found.error.shape == (6, 2)
    frozen = lazy_outputs(0.3, relu_ntk(gram, 4), targets, 5)
    run = train_ensemble(0.3, 0.05, 64, 4, 5, draws=32, target=targets, gram=gram, activation="relu", seed=3)
    np.testing.assert_allclose(found.difference, run.f.mean(axis=-2) - frozen)
    assert (np.abs(found.difference) < 4 * found.error + 4 / 64).all()
    np.testing.assert_array_equal(found.reach, np.abs(found.difference) + 2 * found.error)


def test_exponents_less_what_is_expected():
    gaps = width_gaps(0.06, 1.0, 2, 2, {8: 12, 16: 10, 32: 8})
    for draws in (gaps.draws, {8: 12, 16: 10, 32: 8}, 8):
        found = away_from(-1, gaps.output, draws)
        assert (found.value, found.error, found.seeds) == (gaps.output.rate.slope + 1, gaps.output.rate.error, 8)


def test_every_settings_file_trains_in_miniature():
    files = settings_files()
    assert [file.name for file in files] == list(shipped())
    for file in files:
        sweep = read_sweep(file.name)
        assert file.runs == len(sweep) and file.curves == len(sweep.curves) == file.known == file.finite
        assert set(file.depths) == {curve.settings.depth for curve in sweep.curves}
    small = miniature(read_sweep("fig3a").curves[0].settings)
    assert (small.kind, small.width, small.depth, small.steps, small.patch, small.data) == ("vit", 8, 2, 2, 4, "digits")


def test_a_sweep_that_stops_and_goes_on_is_the_sweep():
    curves = tuple(Curve(replace(TINY, depth=depth), (0.1, 0.2)) for depth in (1, 2, 3))
    found = stop_and_resume(Sweep(curves, seeds=(0, 1)), groups=2)
    assert found.stored == 2 * 2 * 2 and found.different == 0
    changed = replace(found, unbroken=(replace(found.unbroken[0], losses=found.unbroken[0].losses + 1),) * 3)
    assert changed.different == sum(result.losses.size for result in found.resumed)
