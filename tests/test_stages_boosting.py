"""Boosting and its rates: closed forms, independent recursions, scikit-learn's own boosting, real data."""

from __future__ import annotations

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import beta as beta_function

from lrtransfer.stages import boosting, convex
from lrtransfer.stages.boosting import Sample, boost, boosting_curves, kernel_smoother, load_sample, smoothed_nesterov
from lrtransfer.stages.convex import (
    MOMENTA,
    doubling_exponents,
    exponential_rates,
    fit_exponent,
    logistic_losses,
    momenta,
    nesterov,
    power_law_losses,
    strongly_convex_losses,
)


def toy(n=60, m=20, features=3, seed=0, loss="squared"):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n + m, features))
    y = np.sin(X[:, 0]) + 0.3 * rng.standard_normal(n + m)
    y = y if loss == "squared" else np.where(y > 0, 1.0, -1.0)
    return X[:n], y[:n], X[n:], y[n:]


# rates


def test_momenta():
    np.testing.assert_allclose(momenta("schedule", 6), [0, 0, 1 / 4, 2 / 5, 3 / 6, 4 / 7])
    assert momenta("zero", 3).tolist() == [0, 0, 0] and momenta("stacking", 2, 0.5).tolist() == [0.5, 0.5]
    for method, stages, beta in [("other", 3, 0.5), ("zero", -1, 0.5), ("stacking", 3, 1.0), ("stacking", 3, -0.1)]:
        with pytest.raises(ValueError, match=r"method|stages|beta"):
            momenta(method, stages, beta)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**31), st.sampled_from(MOMENTA), st.integers(1, 8))
def test_nesterov_is_stagewise_training_of_an_additive_ensemble(seed, method, stages):
    """F_t kept as the list f_1 .. f_t, each started at beta_t times the last, as the paper describes it."""
    rng = np.random.default_rng(seed)
    a = rng.standard_normal((4, 4))
    curvature, target = a @ a.T / 20, rng.standard_normal(4)
    betas = momenta(method, stages, 0.8)
    ensemble = [np.zeros(4)]
    for t in range(stages):
        new = betas[t] * ensemble[-1]
        ensemble.append(new - 0.7 * curvature @ (sum(ensemble) + new - target))
    iterates = nesterov(lambda F: curvature @ (F - target), np.zeros(4), lr=0.7, betas=betas)
    np.testing.assert_allclose(iterates, np.cumsum(ensemble, axis=0), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("exponent", [0.5, 1.0, 1.7])
def test_power_law_of_descent_is_a_beta_function(exponent):
    t = np.arange(41)
    found = power_law_losses("zero", 40, exponent=exponent)
    np.testing.assert_allclose(found, beta_function(exponent, 2 * t + 1) / 2, rtol=1e-10)


@pytest.mark.parametrize("method", MOMENTA)
@pytest.mark.parametrize("exponent", [0.6, 1.0])
def test_power_law_against_adaptive_quadrature(method, exponent):
    """The substitution lambda = s^(1/a) takes the singular weight away."""
    betas = momenta(method, 7, 0.6)
    found = power_law_losses(method, 7, exponent=exponent, beta=0.6)

    def integrand(s, t):
        curvature = s ** (1 / exponent)
        before = now = 1.0
        for beta in betas[:t]:
            ahead = now + beta * (now - before)
            before, now = now, (1 - curvature) * ahead
        return now**2 / (2 * exponent)

    expected = [quad(integrand, 0, 1, args=(t,), epsabs=1e-13, epsrel=1e-12)[0] for t in range(8)]
    np.testing.assert_allclose(found, expected, rtol=1e-8)


def test_power_law_limits():
    """1/(4T); (1 - beta)/(4T); 2/T^2 with a correction that falls like T^-1/2."""
    T = 1000
    assert power_law_losses("zero", T)[-1] * 4 * T == pytest.approx(1, rel=1 / T)
    assert power_law_losses("stacking", T, beta=0.9)[-1] * 4 * T == pytest.approx(0.1, rel=0.01)  # 10/T: a stage is ten
    curve = power_law_losses("schedule", T)
    short, long = (1 - curve[t] * t**2 / 2 for t in (250, 1000))
    assert 0 < long < 0.05 and short / long == pytest.approx(2, rel=0.1)
    # measured: 0.036 at T = 1000
    assert fit_exponent(power_law_losses("zero", T), 100).slope == pytest.approx(-1, abs=0.01)
    assert fit_exponent(curve, 100).slope == pytest.approx(-2, abs=0.05)


@pytest.mark.parametrize("exponent", [0.5, 0.75, 1.2])
def test_the_schedule_doubles_the_exponent(exponent):
    """Corrections fall like T^(exponent - 3/2): slow for 1.2, where 2.32 was measured at T = 400."""
    plain = fit_exponent(power_law_losses("zero", 400, exponent=exponent), 100).slope
    fast = fit_exponent(power_law_losses("schedule", 400, exponent=exponent), 100).slope
    assert plain == pytest.approx(-exponent, rel=0.01) and fast == pytest.approx(2 * plain, rel=0.05)


def test_worst_case_bounds_hold():
    """L|e|^2/(2(2T + 1)) for descent (Drori and Teboulle), 2L|e|^2/(T + 1)^2 for the schedule; |e|^2 = 1/(a - 1)."""
    t, a = np.arange(1, 201), 1.3
    size = 1 / (a - 1)
    assert (power_law_losses("zero", 200, exponent=a)[1:] <= size / (2 * (2 * t + 1))).all()
    assert (power_law_losses("schedule", 200, exponent=a)[1:] <= 2 * size / (t + 1) ** 2).all()


def test_logistic_loss_in_the_full_function_space():
    T = 2000
    assert logistic_losses("zero", T)[-1] * 4 * T == pytest.approx(1, rel=0.005)
    assert logistic_losses("schedule", T)[-1] * T**2 == pytest.approx(1, rel=0.005)
    margin, previous, losses = 0.0, 0.0, [np.log(2)]
    for t in range(30):
        ahead = margin + (max(t - 1, 0) / (t + 2)) * (margin - previous)
        margin, previous = ahead + 4 / (1 + np.exp(ahead)), margin
        losses.append(np.log1p(np.exp(-margin)))
    np.testing.assert_allclose(logistic_losses("schedule", 30), losses, rtol=1e-12)
    # a constant beta coasts: far below both early on, and then flat
    stacking = logistic_losses("stacking", 1000)
    assert stacking[100] < 1e-5 and stacking[500] / stacking[1000] == pytest.approx(1, rel=0.01)


def test_strongly_convex_losses():
    kappas = np.array([4.0, 50.0])
    descent = strongly_convex_losses("zero", kappas, 30)
    curvatures = kappas[:, None] ** np.linspace(-1, 0, 20)
    for t in (0, 1, 30):
        expected = (curvatures * (1 - curvatures) ** (2 * t)).sum(axis=1) / 2
        np.testing.assert_allclose(descent[t], expected, rtol=1e-12)
    fast = strongly_convex_losses("stacking", kappas, 400)
    at_end = np.log(fast[300] / fast[400]) / 100
    # (1 - 1/sqrt(kappa))^T (1 + c T): the double root at the smallest curvature leaves 2/T, 0.006 here
    np.testing.assert_allclose(at_end, -2 * np.log1p(-1 / np.sqrt(kappas)), atol=0.007)


def test_exponential_rates_against_kappa():
    kappas = np.array([10.0, 30.0, 100.0, 300.0, 1000.0])
    rates, fit = exponential_rates("zero", kappas)
    np.testing.assert_allclose(rates, -2 * np.log1p(-1 / kappas), rtol=0.04)  # measured: 2 to 3 per cent above
    assert fit.slope == pytest.approx(-1, abs=0.03)
    rates, fit = exponential_rates("stacking", kappas)
    np.testing.assert_allclose(rates, -2 * np.log1p(-1 / np.sqrt(kappas)), rtol=0.12)  # 9 to 10 below: the double root
    assert fit.slope == pytest.approx(-0.5, abs=0.05) and fit.error < 0.02


def test_exponents_of_pure_powers():
    t = np.arange(1, 65, dtype=float)
    curve = np.concatenate([[5.0], 3 * t**-1.5])
    np.testing.assert_allclose(doubling_exponents(curve), np.full(32, 1.5), rtol=1e-12)
    fit = fit_exponent(curve, 4, 40)
    assert fit.slope == pytest.approx(-1.5) and fit.intercept == pytest.approx(np.log(3)) and fit.error < 1e-12


@pytest.mark.parametrize(
    "call",
    [
        lambda: power_law_losses("zero", -1), lambda: power_law_losses("zero", 5, exponent=0.0),
        lambda: logistic_losses("corrected", 5),
        lambda: strongly_convex_losses("zero", 0.5, 5), lambda: exponential_rates("schedule", [2, 3, 4]),
        lambda: exponential_rates("zero", [2, 3]),
        lambda: fit_exponent([1, 2, 3, 4], 1, 9), lambda: fit_exponent([1, 2, 0, 4], 1),
        lambda: doubling_exponents([1, -1, 1]),
    ],
)  # fmt: skip
def test_rates_refuse(call):
    with pytest.raises(ValueError, match=r"must be|at least"):
        call()


# boosting


@pytest.mark.parametrize("method", ["zero", "stacking", "schedule"])
@pytest.mark.parametrize(("data", "lr"), [("diabetes", 0.8), ("breast_cancer", 4.0)])
def test_linear_learner_is_nesterov_on_real_data(method, data, lr):
    sample = load_sample(data)
    X, y, rest = sample.X[:250], sample.y[:250], (sample.X[250:], sample.y[250:])
    run = boost(method, X, y, *rest, 100, loss=sample.loss, learner="kernel", lr=lr)
    smoother, _ = kernel_smoother(X, rest[0])
    expected = smoothed_nesterov(method, smoother, y, 100, loss=sample.loss, lr=lr)
    np.testing.assert_allclose(run.train, expected, rtol=1e-11)  # rounding; measured 1e-14


def test_kernel_smoother_solves_the_ridge_problem():
    X, y, others, _ = toy()
    smoother, rows = kernel_smoother(X, others, 0.2)
    scaled, other = ((z - X.mean(0)) / X.std(0) for z in (X, others))
    kernel = np.exp(-((scaled[:, None] - scaled) ** 2).sum(-1) / 6)
    coefficients = np.linalg.solve(kernel + 0.2 * len(X) * np.eye(len(X)), y)
    np.testing.assert_allclose(smoother @ y, kernel @ coefficients, rtol=1e-9, atol=1e-11)
    cross = np.exp(-((other[:, None] - scaled) ** 2).sum(-1) / 6)
    np.testing.assert_allclose(rows @ y, cross @ coefficients, rtol=1e-9, atol=1e-11)
    values = np.linalg.eigvalsh(smoother)
    assert values.min() > -1e-12 and values.max() < 1


def test_zero_initialisation_is_gradient_boosting():
    from sklearn.ensemble import GradientBoostingRegressor

    X, y, others, truth = toy()
    # its criterion ranks splits as squared error does
    model = GradientBoostingRegressor(learning_rate=0.2, n_estimators=15, max_depth=2, init="zero", random_state=0)
    model.fit(X, y)
    run = boost("zero", X, y, others, truth, 15, lr=0.2, depth=2)
    for inputs, targets, curve in [(X, y, run.train), (others, truth, run.test)]:
        expected = [((F - targets) ** 2).mean() / 2 for F in model.staged_predict(inputs)]
        np.testing.assert_allclose(curve[1:], expected, rtol=1e-6)  # trees see single-precision inputs


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_residual_is_minus_the_gradient(loss):
    rng = np.random.default_rng(0)
    F, y = 2 * rng.standard_normal(9), rng.choice([-1.0, 1.0], 9)
    slope = [boosting.mean_loss(F + e, y, loss) - boosting.mean_loss(F - e, y, loss) for e in 1e-5 * np.eye(9)]
    np.testing.assert_allclose(boosting.pseudo_residual(F, y, loss), -9 * np.array(slope) / 2e-5, rtol=1e-7, atol=1e-9)
    assert np.isfinite(boosting.pseudo_residual(np.array([-1e4, 1e4]), np.ones(2), loss)).all()


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_corrected_is_the_schedule_for_an_exact_learner(loss):
    _, y, _, _ = toy(loss=loss)
    runs = [
        boosting._boost(name, lambda r: (r, np.zeros(1)), y, y[:1], loss, 0.3, 1.0, momenta("schedule", 40))
        for name in ("corrected", "schedule")
    ]
    # rounding alone parts the two; measured below 1e-12 of the first loss
    np.testing.assert_allclose(runs[0].train, runs[1].train, atol=1e-11 * runs[0].train[0], rtol=1e-9)
    np.testing.assert_allclose(runs[0].captured, 1.0, rtol=1e-9)


def test_corrected_residuals_carry_what_was_missed():
    """(t + 2)(c_t - h_t) = sum (s + 2)(r_s - h_s): nothing the second tree misses is lost."""
    X, y, others, truth = toy()
    fit, seen = boosting._trees(X, others, 1), []

    def spy(r):
        out = fit(r)
        seen.append((r, out[0]))
        return out

    boosting._boost("corrected", spy, y, truth, "squared", 0.1, 0.1, momenta("schedule", 12))
    residuals, second = seen[::2], seen[1::2]
    owed = sum((t + 2) * (residuals[t][0] - second[t][1]) for t in range(12))
    np.testing.assert_allclose(13 * (second[-1][0] - second[-1][1]), owed, rtol=1e-10, atol=1e-11)


def test_trees_capture_part_of_the_gradient():
    run = boost("schedule", *toy(), 30, depth=1)
    assert (run.captured > 0).all() and (run.captured < 1).all() and run.captured[0] > run.captured[-1]


def test_plain_momentum_on_trees_turns_back():
    """What the trees miss accumulates: stumps on diabetes, split 0. Measured: 0.030 at stage 394, 0.124 at 800."""
    run = boosting_curves("diabetes", methods=["zero", "schedule"], stages=800, splits=[0], depth=1)
    plain, fast = run.train[:, 0, 0], run.train[:, 1, 0]
    assert fast[100] < plain[100] and fast[-1] > 2 * fast.min() and (np.diff(plain) <= 1e-12).all()


def test_momentum_is_faster_and_overfits_earlier_on_diabetes():
    run = boosting_curves("diabetes", methods=["zero", "stacking", "schedule"], stages=60, splits=range(3))
    assert (run.train[30, 1:] < run.train[30, 0]).all()
    best = run.test.argmin(axis=0)
    assert (best[1:] < best[0]).all()
    assert (run.test[-1, 1:] > 1.2 * run.test.min(axis=0)[1:]).all()


def test_curves_are_runs_of_boost():
    sample = Sample(*toy(40, 0)[:2], "squared")
    run = boosting_curves(
        sample, methods=["stacking", "corrected"], stages=5, splits=[3, 4], test_share=0.25, learner="kernel"
    )
    assert run.train.shape == run.test.shape == (6, 2, 2) and run.captured.shape == (5, 2, 2)
    order = np.random.default_rng(4).permutation(40)
    test, train = order[:10], order[10:]
    parts = sample.X[train], sample.y[train], sample.X[test], sample.y[test]
    alone = boost("corrected", *parts, 5, learner="kernel")
    np.testing.assert_array_equal(run.test[:, 1, 1], alone.test)


@pytest.mark.parametrize("learner", ["tree", "kernel"])
def test_divergence_gives_inf(learner):
    run = boost("stacking", *toy(), 60, lr=50.0, learner=learner)
    assert np.isinf(run.train[-1]) and np.isinf(run.test[-1]) and np.isfinite(run.train[0])
    assert not np.isnan(run.train).any() and np.isfinite(run.captured).all() and run.captured[-1] == 0


def test_samples():
    assert load_sample("diabetes").X.shape == (442, 10)
    for name, n in [("breast_cancer", 569), ("digits", 1797)]:
        sample = load_sample(name)
        assert len(sample.y) == n and set(sample.y) == {-1.0, 1.0} and sample.loss == "logistic"
    y = load_sample("diabetes").y
    assert y.mean() == pytest.approx(0, abs=1e-12) and y.std() == pytest.approx(1)


def test_missing_library_is_named(monkeypatch):
    for module in [name for name in sys.modules if name.startswith("sklearn")]:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(ImportError, match="scikit-learn"):
        load_sample("diabetes")
    with pytest.raises(ImportError, match="scikit-learn"):
        boost("zero", *toy(), 2)
    assert np.isfinite(boost("zero", *toy(), 2, learner="kernel").train).all()
    assert convex.momenta("zero", 1).size == 1


@pytest.mark.parametrize(
    "bad",
    [
        {"method": "adaboost"}, {"stages": -1}, {"loss": "hinge"}, {"learner": "forest"}, {"lr": 0.0},
        {"beta": 1.0}, {"depth": 0}, {"gamma": 1.5},
        {"X": np.zeros(3)}, {"y": np.zeros(3)}, {"X_test": np.zeros((20, 2))}, {"y_test": np.full(20, np.nan)},
    ],
)  # fmt: skip
def test_boost_refuses(bad):
    X, y, others, truth = toy()
    arguments = {"method": "stacking", "X": X, "y": y, "X_test": others, "y_test": truth, "stages": 2}
    with pytest.raises(ValueError, match=next(iter(bad))):
        boost(**{**arguments, **bad})


def test_more_refusals():
    X, y, others, truth = toy()
    with pytest.raises(ValueError, match="-1 or \\+1"):
        boost("zero", X, y, others, truth, 2, loss="logistic")
    with pytest.raises(ValueError, match="ridge"):
        kernel_smoother(X, others, 0.0)
    for bad in ({"data": "iris"}, {"test_share": 1.0}, {"methods": []}, {"splits": []}, {"splits": [0.5]}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            boosting_curves(**bad)
