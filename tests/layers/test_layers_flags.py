"""Flags are flags: a word, a number or None is refused by name, 'no' and 1 among them."""

import inspect

import pytest

from lrtransfer import layers

CALLS = {
    "h": 8,
    "steps": 1,
    "alpha": 1.0,
    "lr": 1.0,
    "lr1": 1.0,
    "lr2": 1.0,
    "lrs": [1.0, 1.0],
    "draws": 2,
    "seed": 0,
}
FLAGS = [
    (name, argument.name)
    for name in layers.__all__
    if inspect.isfunction(getattr(layers, name))
    for argument in inspect.signature(getattr(layers, name)).parameters.values()
    if isinstance(argument.default, bool)
]


@pytest.mark.parametrize(("name", "flag"), FLAGS)
def test_only_true_and_false_are_flags(name, flag):
    function = getattr(layers, name)
    needed = {key: value for key, value in CALLS.items() if key in inspect.signature(function).parameters}
    for bad in ("no", 1, 7.0, None):
        with pytest.raises(ValueError, match=f"^{flag} = "):
            function(**needed, **{flag: bad})


def test_there_are_flags_to_check():
    assert len(FLAGS) > 10
