"""Optimiser groups: the published rules, the residual chapter's table, and our own check on four kinds of networks."""

import numpy as np
import pytest
import torch
from torch import nn

from lrtransfer.practice import coordinate_check, initialise, parameter_groups
from lrtransfer.practice.rules import rule
from lrtransfer.residual import layer_scale


class MLP(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first, self.hidden, self.out = nn.Linear(8, width), nn.Linear(width, width), nn.Linear(width, 4)

    def forward(self, x):
        return self.out(torch.relu(self.hidden(torch.relu(self.first(x)))))


class ConvBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1, bias=False), nn.BatchNorm2d(width),
        )  # fmt: skip

    def forward(self, x):
        return x + self.body(x)


class ConvResNet(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.stem = nn.Conv2d(1, width, 3, padding=1)
        self.blocks = nn.Sequential(ConvBlock(width), ConvBlock(width))
        self.out = nn.Linear(width, 4)

    def forward(self, x):
        return self.out(self.blocks(self.stem(x)).mean((2, 3)))


class TransformerBlock(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, width // 8, batch_first=True)  # heads of size 8 at every width
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, h):
        a = self.norm1(h)
        h = h + self.attention(a, a, a, need_weights=False)[0]
        return h + self.down(nn.functional.gelu(self.up(self.norm2(h))))


class Transformer(nn.Module):
    def __init__(self, width, base=16):
        super().__init__()
        self.table, self.places = nn.Embedding(12, width), nn.Embedding(6, width)
        self.blocks = nn.ModuleList(TransformerBlock(width) for _ in range(2))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 12, bias=False)
        self.head.weight = self.table.weight
        self.multiplier = base / width  # what parameter_groups asks of a tied head

    def forward(self, tokens):
        h = self.table(tokens) + self.places(torch.arange(tokens.shape[1]))
        for block in self.blocks:
            h = block(h)
        return self.head(self.norm(h) * self.multiplier)


class LSTM(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.lstm, self.out = nn.LSTM(4, width, batch_first=True), nn.Linear(width, 4)
        # A random first output shrinks like 1/sqrt(width), and with it what the loss asks for: that bends exponents.
        nn.init.zeros_(self.out.weight)

    def forward(self, x):
        return self.out(self.lstm(x)[0][:, -1])


def draw(*shape):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(2))


TOKENS = (torch.arange(60).reshape(10, 6) ** 2) % 12
KINDS = {
    "MLP": (MLP, (draw(16, 8), torch.arange(16) % 4), 32),
    "ResNet": (ConvResNet, (draw(16, 1, 6, 6), torch.arange(16) % 4), 8),
    "transformer": (Transformer, (TOKENS, (TOKENS + 1) % 12), 16),
    "LSTM": (LSTM, (draw(16, 5, 4), torch.arange(16) % 4), 16),
}


def loss(model, batch):
    return nn.functional.cross_entropy(model(batch[0]).flatten(0, -2), batch[1].flatten())


def by(groups, optimiser):
    return torch.optim.SGD(groups) if optimiser == "sgd" else torch.optim.Adam(groups)


@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_output_moves_alike_at_every_width_with_the_groups_and_not_without(kind, optimiser):
    make, batch, width = KINDS[kind]
    torch.manual_seed(9)
    base = make(width)
    lr = {"sgd": 0.02, "adam": 1e-3}[optimiser]

    def grouped(model):
        return by(parameter_groups(model, base, optimiser=optimiser, lr=lr), optimiser)

    def plain(model):
        return by([{"params": list(model.parameters()), "lr": lr}], optimiser)

    sizes = (2 * width, 4 * width, 16 * width)
    seeds = 24 if kind == "LSTM" else 8  # few samples and no positions to average over
    level = coordinate_check(lambda n: initialise(make(n), base), sizes, batch, loss, grouped, seeds=seeds, steps=3)
    bad = {p: v for p, v in zip(level.places, level.verdicts, strict=True) if v in ("grows", "shrinks", "overflows")}
    assert not bad, str(level)
    assert level.verdicts[0] == "level", str(level)
    usual = coordinate_check(make, sizes, batch, loss, plain, seeds=5, steps=3)
    assert {"grows", "shrinks"} & set(usual.verdicts)


@pytest.mark.parametrize("wrong", ["hidden", "head", "block", "embedding"])
@pytest.mark.parametrize("optimiser", ["sgd", "adam"])
def test_a_wrong_rule_fails_the_check(wrong, optimiser):
    """One role's rate off by the factor of its width either way: the check above says so of some place."""
    make, batch, width = KINDS["transformer" if wrong == "block" else "MLP"]
    torch.manual_seed(9)
    base = make(width)

    def groups(model):
        found = parameter_groups(model, base, optimiser=optimiser, lr={"sgd": 0.05, "adam": 2e-3}[optimiser])
        grown = model.hidden.in_features / width if wrong != "block" else model.norm.weight.numel() / width
        for group in found:
            group["lr"] *= grown if group["role"] == wrong else 1.0
        return by(found, optimiser)

    found = coordinate_check(
        lambda n: initialise(make(n), base), (2 * width, 4 * width, 16 * width), batch, loss, groups, seeds=5
    )
    assert {"grows", "overflows"} & set(found.verdicts), str(found)


# Table 3 of arXiv 2203.03466: factors on (standard deviation, SGD's rate, Adam's rate) for a width r times as large.
PUBLISHED = {
    "embedding": (0, 1, 0),
    "bias and norm": (0, 1, 0),
    "head": (-1, -1, -1),
    "hidden": (-0.5, 0, -1),
}


@pytest.mark.parametrize("role", PUBLISHED)
def test_the_published_rules_of_width(role):
    std, sgd, adam = PUBLISHED[role]
    r = 16.0
    fans = {
        "fan_in": r if role in ("hidden", "head") else 1.0,
        "fan_out": r if role != "head" else 1.0,
    }
    assert rule(role, "sgd", **fans).std == pytest.approx(r**std)
    assert rule(role, "sgd", **fans).lr == pytest.approx(r**sgd)
    assert rule(role, "adam", **fans).lr == pytest.approx(r**adam)


@pytest.mark.parametrize(
    ("role", "theirs"),
    [("embedding", "read_in"), ("block", "branch"), ("head", "readout"), ("bias and norm", "gain")],
)
def test_width_and_depth_agree_with_the_residual_chapters_table(role, theirs):
    # There weights have unit variance and the multiplier m is outside: inside, rates are m^2 (SGD) and m (Adam) times.
    n, r, depth, ratio = 64, 4, 3, 8

    def of(width, layers):
        fan = 8 if theirs == "read_in" else width
        s = layer_scale(theirs, "mup_sqrt_depth", width, layers, fan)
        later = layer_scale(theirs, "mup_sqrt_depth", width, layers, fan, block_rate=-0.5)  # Adam's convention
        m = 1.0 if theirs == "gain" else s.multiplier * (layers**0.5 if theirs == "branch" else 1.0)
        return np.array([m * s.std or 1.0, m**2 * s.lr_factor, m * later.adam_factor])

    grown = of(n * r, depth * ratio) / of(n, depth)
    fans = {"fan_in": r if role in ("block", "head") else 1, "fan_out": 1 if role == "head" else r}
    blocks = {"depth": ratio, "in_block": theirs in ("branch", "gain"), "branch": 0.5}
    sgd, adam = (rule(role, by, **fans, **blocks) for by in ("sgd", "adam"))
    np.testing.assert_allclose([sgd.std, sgd.lr, adam.lr], grown)


def test_depth_rules_under_either_optimiser():
    for a, sgd, adam in ((0.5, 1, 8**-0.5), (1.0, 8, 1)):
        assert rule("block", "sgd", depth=8, branch=a).lr == pytest.approx(sgd)
        assert rule("block", "adam", depth=8, branch=a).lr == pytest.approx(adam)
    assert rule("block", "sgd", depth=8).lr == rule("block", "adam", depth=8).lr == 1  # their own exponents


class Stack(nn.Module):
    """Residual blocks of one matrix, their branches times (depth / 4)^-a."""

    def __init__(self, depth, a):
        super().__init__()
        self.first, self.out, self.multiplier = nn.Linear(8, 64), nn.Linear(64, 4), (depth / 4) ** -a
        self.blocks = nn.ModuleList(nn.Linear(64, 64, bias=False) for _ in range(depth))
        nn.init.zeros_(self.out.weight)

    def forward(self, x):
        h = self.first(x)
        for block in self.blocks:
            h = h + self.multiplier * block(torch.relu(h))
        return self.out(h)


@pytest.mark.parametrize(("optimiser", "a"), [("sgd", 0.5), ("sgd", 1.0), ("adam", 1.0), ("adam", 0.5)])
def test_the_output_moves_alike_at_every_depth(optimiser, a):
    def grouped(model):
        depth = len(model.blocks) / 4
        lr = {"sgd": 0.02, "adam": 3e-4}[optimiser]
        groups = parameter_groups(model, Stack(4, a), optimiser=optimiser, lr=lr, depth_ratio=depth, branch=a)
        return by(groups, optimiser)

    batch = draw(16, 8), torch.arange(16) % 4
    found = coordinate_check(lambda d: Stack(d, a), (8, 16, 64), batch, loss, grouped, seeds=8, axis="depth")
    assert found.verdicts[0] == "level", str(found)


def test_roles_decay_epsilon_and_what_the_model_must_do():
    model, base = Transformer(64), Transformer(16)
    groups = parameter_groups(model, base, optimiser="adamw", lr=0.01, weight_decay=0.1)
    roles = {name: group["role"] for group in groups for name in group["names"]}
    assert roles["table.weight"] == "tied" and roles["places.weight"] == "embedding"
    assert roles["blocks.0.attention.in_proj_weight"] == roles["blocks.1.down.weight"] == "block"
    assert roles["norm.weight"] == roles["blocks.0.up.bias"] == "bias and norm"
    for group in groups:
        grown = group["role"] == "block"
        assert group["lr"] == pytest.approx(0.01 / (4 if grown else 1))
        assert group["weight_decay"] == pytest.approx({"block": 0.4, "bias and norm": 0.0}.get(group["role"], 0.1))
        assert group["eps"] == pytest.approx(1e-8 / 4)
    ids = [id(p) for group in groups for p in group["params"]]
    assert sorted(ids) == sorted(id(p) for p in model.parameters())
    torch.optim.AdamW(groups)
    assert "tied table by 1/4" in str(groups) and "1/fan-in" in str(groups)
    assert groups.as_table()[0].keys() >= {"role", "lr", "factor", "rule", "names"}


def test_at_the_bases_own_size_nothing_changes():
    model, base = MLP(16), MLP(16)
    before = [p.clone() for p in model.parameters()]
    initialise(model, base)
    assert all(torch.equal(a, b) for a, b in zip(before, model.parameters(), strict=True))
    assert {group["lr"] for group in parameter_groups(model, base, lr=0.5)} == {0.5}


def test_first_weights():
    torch.manual_seed(0)
    base, model = MLP(64), MLP(1024)
    initialise(model, base)
    first = dict(base.named_parameters())
    ratio = {n: float(p.detach().std() / first[n].detach().std()) for n, p in model.named_parameters()}
    assert ratio["first.weight"] == pytest.approx(1, rel=0.02)
    assert ratio["hidden.weight"] == pytest.approx(1 / 4, rel=0.02)
    assert ratio["out.weight"] == pytest.approx(1 / 16, rel=0.02)


class Deep(nn.Module):
    def __init__(self, depth, width=16):
        super().__init__()
        self.first, self.out = nn.Linear(8, width), nn.Linear(width, 4)
        self.blocks = nn.Sequential(*(ConvBlock(width) for _ in range(depth)))


def test_a_shallower_base_stands_for_the_blocks_beyond_it():
    groups = parameter_groups(Deep(8, 32), Deep(2), optimiser="adam", lr=0.1, depth_ratio=4, branch=0.5)
    rates = {group["role"]: group["lr"] for group in groups if group["role"] not in ("bias and norm", "fixed")}
    assert rates == {"embedding": 0.1, "block": pytest.approx(0.1 / 2 / 2), "head": 0.1 / 2}
    assert "every residual branch by 4^-0.5" in str(groups)
    with pytest.raises(ValueError, match=r"depth_ratio = 1\.0 .*4: blocks holds 8 modules, 2 in base"):
        parameter_groups(Deep(8), Deep(2), lr=0.1)


class Raw(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.places, self.gain = nn.Parameter(torch.randn(5, width)), nn.Parameter(torch.ones(width))


def test_what_shapes_cannot_tell_is_refused_and_can_be_named():
    with pytest.raises(ValueError, match=r"places of Raw \(\(5, 4\) in base, \(5, 8\) in model\) cannot.*roles="):
        parameter_groups(Raw(8), Raw(4), lr=0.1)
    groups = parameter_groups(Raw(8), Raw(4), lr=0.1, optimiser="sgd", roles={"pl*": "embedding"})
    assert [(g["role"], g["lr"]) for g in groups] == [("embedding", 0.2), ("bias and norm", 0.2)]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"model": 3}, "model = 'int'"),
        ({"base": nn.ReLU()}, "base = 'ReLU'.*trainable"),
        ({"base": LSTM(4)}, "one family: first.weight"),
        ({"optimiser": "lion"}, "optimiser = 'lion'"),
        ({"lr": 0.0}, "lr = 0.0"),
        ({"depth_ratio": -1.0}, "depth_ratio = -1.0"),
        ({"weight_decay": -0.1}, "weight_decay = -0.1"),
        ({"branch": -1.0}, "branch = -1.0"),
        ({"roles": {"out": "readout"}}, "roles = 'readout'.*'head'"),
    ],
)
def test_bad_input_is_a_sentence(changes, words):
    given = {"model": MLP(8), "base": MLP(4), "lr": 0.1} | changes
    with pytest.raises(ValueError, match=words):
        parameter_groups(given.pop("model"), given.pop("base"), **given)
