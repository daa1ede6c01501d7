"""What moves the best rate besides size, and rates at which nothing was learned."""

import math

import numpy as np
import pytest
import torch

from lrtransfer.images.catalogue import CLASSES, DATASETS, load
from lrtransfer.rates import best_lr, drift
from lrtransfer.residual import ResidualMLP, read_conditions
from lrtransfer.residual.conditions import OCTAVES, conditions_of
from lrtransfer.residual.experiments import gradient_sizes, power_of
from lrtransfer.residual.networks.optima import best_trained
from lrtransfer.residual.networks.torch_networks import build, initialise
from lrtransfer.residual.recorded import optima_by
from lrtransfer.sweeps.sweep import CurveResult

RATES = 2.0 ** np.arange(-4.0, 5.0)


def bowl(centre, lowest=0.1, seeds=4, **changes):
    """A trained curve whose best rate is at 2^centre, give or take a tenth of an octave by seed."""
    scatter = 0.1 * np.random.default_rng(round(8 * centre) + 100).standard_normal(seeds)
    losses = lowest * np.exp(0.1 * (np.log2(RATES)[:, None] - centre - scatter) ** 2)
    return CurveResult(ResidualMLP(**changes), RATES, np.arange(seeds), losses[None])


@pytest.mark.parametrize("name", [name for name in DATASETS if not name.startswith(("cifar", "tiny", "imagenet"))])
def test_the_number_of_classes_is_that_of_the_images(name):
    assert CLASSES[name] == load(name).classes
    assert CLASSES.keys() == set(DATASETS)


@pytest.mark.parametrize(("data", "classes"), [("digits", 10), ("patches8", 3)])
def test_a_loss_that_stays_above_that_of_silence_has_no_optimum(data, classes):
    below, above = (bowl(0.0, math.log(classes) * factor, data=data) for factor in (0.9, 1.1))
    learned, nothing = (best_trained(c.settings, c.lrs, c.losses[-1]) for c in (below, above))
    assert not learned.on_edge and learned == best_lr(below.lrs, below.losses[-1])
    assert nothing.on_edge and nothing.lr == pytest.approx(learned.lr)
    kept = optima_by([below, above], "depth")
    assert list(kept) == ["mup_sqrt_depth"]


def test_untrained_is_judged_by_the_mean_log_loss_of_the_best_rate():
    losses = np.full((3, 2), math.log(10) * 1.5)
    losses[1] = [math.log(10) * 0.5, math.log(10) * 1.9]  # geometric mean 0.97 of ln 10
    assert not best_trained(ResidualMLP(), [1.0, 2.0, 4.0], losses).on_edge
    losses[1, 0] *= 1.2
    assert best_trained(ResidualMLP(), [1.0, 2.0, 4.0], losses).on_edge


def test_no_best_rate_without_three_rates_or_without_one_that_all_seeds_survive():
    assert best_trained(ResidualMLP(), [1.0, 2.0], np.ones((2, 2))) is None
    assert best_trained(ResidualMLP(), [1.0, 2.0, 4.0], [[1, np.inf], [np.inf, 1], [np.inf, 2]]) is None


def test_zero_losses_count_as_tiny_ones():
    assert best_trained(ResidualMLP(), [1.0, 2.0, 4.0], [[1.0], [0.0], [1.0]]).lr == pytest.approx(2.0)


def made():
    curves = [bowl(0.5 * k, batch=batch) for k, batch in enumerate((32, 64, 128, 256))]
    curves += [bowl(1.0 - 0.25 * k, batch=128, steps=20 * 2**k) for k in (0, 2)]  # 20 and 80; 40 is above
    curves += [bowl(2.0, batch=128, schedule="warmup", warmup_steps=20)]
    adam = {"optimiser": "adam"}
    curves += [bowl(0.1 * k, batch=batch, **adam) for k, batch in enumerate((64, 128))]
    for epsilon, rise in ((1e-8, 0.0), (1e-4, 1.0)):
        curves += [
            bowl(rise * k, width=width, depth=3, batch=32, adam_epsilon=epsilon, **adam)
            for k, width in enumerate((32, 64, 128))
        ]
    return curves


def test_conditions_are_taken_one_at_a_time():
    found = {(c.optimiser, c.name, c.epsilon): c for c in conditions_of(made())}
    assert list(found) == [
        ("sgd", "batch", None),
        ("sgd", "steps", None),
        ("sgd", "warmup", None),
        ("adam", "batch", None),
        ("adam", "width", 1e-8),
        ("adam", "width", 1e-4),
    ]
    batch, steps, warmup = (found["sgd", name, None] for name in ("batch", "steps", "warmup"))
    assert batch.values == (32, 64, 128, 256) and steps.values == (20, 40, 80) and warmup.values == (0.0, 0.5)
    assert batch.octaves.value == pytest.approx(0.5, abs=0.1) and batch.octaves.seeds == 4
    assert batch.octaves.value == drift(list(batch.best), batch.values).slope
    assert batch.moved.value == pytest.approx(1.5, abs=0.2)
    assert warmup.octaves == warmup.moved and warmup.moved.value == pytest.approx(1.0, abs=0.2)
    plain, coarse = found["adam", "width", 1e-8], found["adam", "width", 1e-4]
    assert plain.values == (32, 64, 128)
    assert coarse.beyond(plain).value == pytest.approx(coarse.moved.value - plain.moved.value)
    assert math.isfinite(coarse.beyond(plain).error)


def test_a_bound_among_the_best_rates_bounds_the_move():
    curves = [bowl(c, batch=b) for c, b in ((0.0, 32), (1.0, 64), (9.0, 128))] + [bowl(0.0, steps=20, batch=64)]
    (batch, *_) = conditions_of(curves)
    assert batch.best[-1].on_edge
    for found in (batch.moved, batch.octaves):  # its last rate is the highest of the grid: the move is at least so far
        assert math.isfinite(found.between[0]) and found.between[1] == math.inf
        assert found.outcome(">=", found.between[0] - 1) == "holds" and found.outcome("within", 99) == "not resolved"


def test_there_are_no_conditions_without_the_record(tmp_path):
    assert read_conditions(folder=tmp_path) == ()


def test_the_numbers_in_the_package_are_those_of_the_record():
    measured = {(c.optimiser, c.name): c.octaves for c in read_conditions() if c.epsilon is None}
    assert OCTAVES.keys() == measured.keys()
    for key, (value, error) in OCTAVES.items():
        known = math.inf if measured[key].between else round(measured[key].error, 2)
        assert (value, error) == (round(measured[key].value, 2), known)


def test_gradients_of_stored_weights_fall_with_the_width_as_their_multipliers_say():
    # d f / d W = multiplier x signal x activation: N^-1/2 times 1/N for a hidden matrix, 1/N for the ends.
    sizes = gradient_sizes(ResidualMLP(depth=2), (64, 256, 1024), seeds=2)
    expected = {"read_in": -1.0, "branch": -1.5, "readout": -1.0}
    assert sizes.keys() == expected.keys()
    for role, power in expected.items():
        assert sizes[role].shape == (3, 2)
        assert power_of((64, 256, 1024), sizes[role]).value == pytest.approx(power, abs=0.1)


def test_gradient_sizes_are_those_of_one_network():
    s = ResidualMLP(width=8, depth=2)
    data = load(s.data)
    network = build(s, data.shape, data.classes)
    initialise(network, 0)
    x, y = torch.tensor(np.asarray(data.train_x[:32])), torch.tensor(data.train_y[:32])
    torch.nn.functional.cross_entropy(network(x), y).backward()
    by_hand = torch.cat([block.branch[1].weight.grad.flatten() for block in network.blocks]).square().mean().sqrt()
    assert gradient_sizes(s, (8,), seeds=1)["branch"][0, 0] == pytest.approx(float(by_hand))
