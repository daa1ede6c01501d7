"""Recording what modules put out."""

import torch
from torch import nn

from lrtransfer.modules.watching import tensors_of, watching


def test_places_come_in_the_order_in_which_modules_finish_also_with_inputs():
    model = nn.Sequential(nn.Linear(2, 2), nn.Sequential(nn.Linear(2, 2), nn.ReLU()))
    names = dict(model.named_modules())
    for inputs in (False, True):
        with watching(names, inputs=inputs) as seen:
            model(torch.ones(1, 2))
        assert list(seen) == ["0", "1.0", "1.1", "1", ""]
    assert not any(module._forward_hooks or module._forward_pre_hooks for module in names.values())


def test_a_call_is_done_again_with_its_own_random_numbers():
    model = nn.Sequential(nn.Dropout(0.5), nn.Sequential(nn.Dropout(0.5)))
    with watching({"in": model[1]}, inputs=True) as seen:
        model(torch.ones(100))
    place = seen["in"]
    assert torch.equal(place.again(model[1])[""], place.outputs[-1][""])


def test_outputs_are_copied_before_they_are_altered():
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU(inplace=True))
    nn.init.constant_(model[0].weight, -1.0)
    with watching({"0": model[0]}) as seen, torch.no_grad():
        model(torch.full((1, 2), 5.0))
    assert (seen["0"].outputs[0][""] < 0).all()


def test_a_value_that_holds_itself_ends():
    loop: list = [torch.ones(2), "word", 3, None]
    loop.append(loop)
    assert [path for path, _ in tensors_of(loop)] == ["[0]"]
    assert [(path, value.shape) for path, value in tensors_of(torch.ones(2, dtype=torch.complex64))] == [("", (2, 2))]
    assert not list(tensors_of(torch.arange(3)))
