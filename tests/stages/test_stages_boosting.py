"""Boosting: independent recursions, scikit-learn's own boosting, real data."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from lrtransfer.stages.boosting import curves, samples
from lrtransfer.stages.boosting import ensembles as boosting
from lrtransfer.stages.boosting.curves import boosting_curves
from lrtransfer.stages.boosting.ensembles import boost, smoothed_nesterov
from lrtransfer.stages.boosting.learners import kernel_smoother, tree_learner
from lrtransfer.stages.boosting.samples import Sample, load_sample
from lrtransfer.stages.functional.convex import momenta


def toy(n=60, m=20, features=3, seed=0, loss="squared"):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n + m, features))
    y = np.sin(X[:, 0]) + 0.3 * rng.standard_normal(n + m)
    y = y if loss == "squared" else np.where(y > 0, 1.0, -1.0)
    return X[:n], y[:n], X[n:], y[n:]


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


@pytest.mark.parametrize("depth", [1, 2])
def test_zero_initialisation_is_gradient_boosting(depth):
    from sklearn.ensemble import GradientBoostingRegressor

    X, y, others, truth = toy()
    # its criterion ranks splits as squared error does
    model = GradientBoostingRegressor(learning_rate=0.2, n_estimators=15, max_depth=depth, init="zero", random_state=0)
    model.fit(X, y)
    run = boost("zero", X, y, others, truth, 15, lr=0.2, depth=depth)
    # in small nodes two features can cut the sample alike, and which of them is taken shows on the test part alone
    for inputs, targets, curve in [(X, y, run.train), (others, truth, run.test)][: 3 - depth]:
        expected = [((F - targets) ** 2).mean() / 2 for F in model.staged_predict(inputs)]
        np.testing.assert_allclose(curve[1:], expected, rtol=1e-6)  # trees see single-precision inputs


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_residual_is_minus_the_gradient(loss):
    rng = np.random.default_rng(0)
    F, y = 2 * rng.standard_normal(9), rng.choice([-1.0, 1.0], 9)
    slope = [samples.mean_loss(F + e, y, loss) - samples.mean_loss(F - e, y, loss) for e in 1e-5 * np.eye(9)]
    np.testing.assert_allclose(samples.pseudo_residual(F, y, loss), -9 * np.array(slope) / 2e-5, rtol=1e-7, atol=1e-9)
    assert np.isfinite(samples.pseudo_residual(np.array([-1e4, 1e4]), np.ones(2), loss)).all()


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_corrected_is_the_schedule_for_an_exact_learner(loss):
    _, y, _, _ = toy(loss=loss)
    betas = momenta("schedule", 40)[:, None]
    runs = [
        boosting.boost_with([name], lambda r: (r, np.zeros((1, 1))), y, y[:1], loss, np.array(0.3), 1.0, betas)
        for name in ("corrected", "schedule")
    ]
    # rounding alone parts the two; measured below 1e-12 of the first loss
    np.testing.assert_allclose(runs[0].train, runs[1].train, atol=1e-11 * runs[0].train[0, 0], rtol=1e-9)
    np.testing.assert_allclose(runs[0].captured, 1.0, rtol=1e-9)


def test_corrected_residuals_carry_what_was_missed():
    """(t + 2)(c_t - h_t) = sum (s + 2)(r_s - h_s): nothing the second tree misses is lost."""
    X, y, others, truth = toy()
    fit, seen = tree_learner(X, others, 1), []

    def spy(r):
        out = fit(r)
        seen.append((r, out[0]))
        return out

    boosting.boost_with(["corrected"], spy, y, truth, "squared", np.array(0.1), 0.1, momenta("schedule", 12)[:, None])
    residuals, second = seen[::2], seen[1::2]
    owed = sum((t + 2) * (residuals[t][0] - second[t][1]) for t in range(12))
    np.testing.assert_allclose(13 * (second[-1][0] - second[-1][1]), owed, rtol=1e-10, atol=1e-11)


def test_damped_is_the_same_without_the_correction():
    """By a plain loop over the three sequences of the module's docstring."""
    X, y, others, truth = toy()
    fit, gamma, lr = tree_learner(X, others, 2), 0.3, 0.4
    F, H, losses = np.zeros(60), np.zeros(60), []
    for t in range(8):
        losses.append(((F - y) ** 2).mean() / 2)
        theta = 2 / (t + 2)
        V = (1 - theta) * F + theta * H
        r = y - V
        F, H = V + lr * fit(r)[0], H + gamma * lr / theta * fit(r)[0]
    run = boost("damped", X, y, others, truth, 7, lr=lr, gamma=gamma)
    np.testing.assert_allclose(run.train, losses, rtol=1e-12)
    both = boosting_curves(Sample(X, y, "squared"), methods=["damped", "corrected"], stages=9, splits=[0], gamma=gamma)
    alone = boosting_curves(Sample(X, y, "squared"), methods=["corrected"], stages=9, splits=[0], gamma=gamma)
    np.testing.assert_array_equal(both.test[:, 1], alone.test[:, 0])
    assert np.abs(both.train[:, 0] - both.train[:, 1]).max() > 1e-4


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


def test_a_rate_study_is_its_curves_at_shares_of_the_theorys_step():
    study = curves.rate_study("breast_cancer", (0.5, 2.0), methods=["zero", "schedule"], stages=3, splits=[0, 1])
    assert study.train.shape == study.test.shape == (4, 2, 2, 2) and study.captured.shape == (3, 2, 2, 2)
    alone = boosting_curves("breast_cancer", methods=["zero", "schedule"], stages=3, splits=[0, 1], lr=8.0)  # L = 1/4
    np.testing.assert_array_equal(study.test[:, 1], alone.test)
    y = np.array([1.0, -1.0, 1.0])
    for loss, sample in (("squared", y), ("logistic", y)):  # L by differences of the gradient, at its steepest, F = 0
        slope = (
            samples.pseudo_residual(-1e-5 * y, sample, loss) - samples.pseudo_residual(1e-5 * y, sample, loss)
        ) / 2e-5
        np.testing.assert_allclose(np.abs(slope), samples.SMOOTHNESS[loss], rtol=1e-6)


def test_a_run_that_diverges_leaves_the_others_alone():
    one, many = (curves.rate_study("diabetes", shares, stages=60, splits=[0]) for shares in ((0.1,), (0.1, 1e3)))
    assert np.isinf(many.train[-1, 1]).any() and np.isfinite(one.train).all()
    np.testing.assert_array_equal(many.test[:, 0], one.test[:, 0])
    assert not np.isnan(many.train).any() and np.isfinite(many.captured).all()


def test_the_split_that_chooses_a_rate_is_not_reported():
    losses = np.array([[[1.0, 7.0, 8.0], [5.0, 3.0, 4.0]], [[2.0, 0.0, 0.0], [np.inf, 0.0, 0.0]]])
    best, reported = curves.chosen_rates(losses)
    np.testing.assert_array_equal(best, [0, 0])
    np.testing.assert_array_equal(reported, [[7.0, 8.0], [3.0, 4.0]])
    for bad in (losses[:, :, :1], losses[0], losses * np.nan):
        with pytest.raises(ValueError, match="losses"):
            curves.chosen_rates(bad)


@pytest.mark.parametrize("learner", ["tree", "kernel"])
def test_divergence_gives_inf(learner):
    run = boost("stacking", *toy(), 100, lr=50.0, learner=learner)
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
    assert np.isfinite(boost("zero", *toy(), 2).train).all()  # the trees are this package's


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
    for bad in ([], [0.0], 0.5):
        with pytest.raises(ValueError, match="shares"):
            curves.rate_study("diabetes", bad)
    for bad, named in (
        (Sample(X, y, "hinge"), "loss"),
        (Sample(X, y[:30], "squared"), "X of shape"),
        (Sample(X.tolist(), y.tolist(), "logistic"), "-1 or"),
    ):
        for call in (boosting_curves, curves.rate_study):
            with pytest.raises(ValueError, match=named):
                call(bad, stages=2)
    for bad in ({"splits": 3}, {"lr": []}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            boosting_curves("diabetes", **bad)
    for bad in ({"data": "iris"}, {"test_share": 1.0}, {"methods": []}, {"splits": []}, {"splits": [0.5]}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            boosting_curves(**bad)
