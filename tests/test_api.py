"""The names that other people's notebooks rely on, and that every public function says what it does."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import pytest

import lrtransfer

# Public names and the parameters callers use by name or position, in order.
PROMISED = {
    "depth.sharpness": "depth r mu_xx arch",
    "depth.max_stable_lr": "depth r mu_xx arch tau",
    "depth.stability_edge": "depth r mu_xx arch",
    "depth.transfer_lr": "lr from_depth to_depth r arch",
    "depth.effective_exponent": "from_depth to_depth r",
    "depth.gradient_descent": "lr depth steps mu_yx mu_xx init arch",
    "depth.loss": "weight depth mu_yx mu_xx arch",
    "depth.time_course": "t alpha0 depth tau",
    "depth.plateau_duration": "alpha0 depth tau",
    "width.limit_lr": "X y hidden_layers",
    "width.optimal_lr": "width X y hidden_layers steps interval parametrisation seed",
    "width.one_step_coefficients": "width X y hidden_layers seed",
    "layers.expected_loss": "lr1 lr2 h steps signal_only",
    "layers.balance_curvature": "alpha h steps signal_only",
    "layers.deep_loss": "lrs h steps draws seed signal_only",
    "layers.deep_curvature": "alpha h steps draws seed",
    "residual.train_sweep": "settings lrs seeds device executor store",
    "residual.linear_limit": "lr gamma0 depth steps target branch",
    "residual.relu_ntk": "cos_angle",
    "stages.excess_loss": "method teacher covariance stages beta start",
    "practice.coordinate_check": "build sizes batch loss optimiser steps seeds",
    "practice.parameter_groups": "model base optimiser lr depth_ratio weight_decay",
    "practice.initialise": "model base",
    "practice.rate_sweep": "build train lrs seeds store executor",
    "rates.best_lr": "lrs losses",
}
MODULES = sorted(m.name for m in pkgutil.walk_packages(lrtransfer.__path__, "lrtransfer."))


@pytest.mark.parametrize("name", PROMISED)
def test_promised_names_and_parameters(name):
    module, function = name.split(".")
    found = inspect.signature(getattr(importlib.import_module(f"lrtransfer.{module}"), function)).parameters
    promised = PROMISED[name].split()
    assert list(found)[: len(promised)] == promised


@pytest.mark.parametrize("name", MODULES)
def test_every_public_name_is_documented_and_typed(name):
    module = importlib.import_module(name)
    assert module.__doc__, f"{name} has no docstring"
    for key, value in vars(module).items():
        mine = getattr(value, "__module__", None) == name and not key.startswith("_")
        if mine and (inspect.isfunction(value) or inspect.isclass(value)):
            assert value.__doc__, f"{name}.{key} has no docstring"
        if mine and inspect.isfunction(value):
            assert set(value.__annotations__) >= {*inspect.signature(value).parameters, "return"}, f"{name}.{key}"
