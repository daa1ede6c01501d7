"""What every figure of the chapter trains: one list of families a theme, for the three presets.

The rates searched are written down per size, a few octaves on either side of the optimum: narrow enough for one core.
A best rate on an edge is flagged in the page's tables, and passes no check.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from lrtransfer.numerics.arguments import choice
from lrtransfer.page.scale import PRESETS
from lrtransfer.residual.experiments.families import Family
from lrtransfer.residual.networks.settings import ConvNet, NetworkSettings, ResidualMLP, ResNet, VisionTransformer

Windows = tuple[tuple[float, float], ...]
SQRT = "mup, 1/√L"


def _around(centres: Sequence[float], below: float = 2, above: float = 2) -> Windows:
    """One window a size."""
    return tuple((centre - below, centre + above) for centre in centres)


def _width() -> tuple[Family, ...]:
    sizes, net = (32, 96, 256), ResidualMLP(depth=3, batch=64)
    rows: tuple[tuple[str, str, Windows, float], ...] = (
        ("mup", "mup", ((-0.75, 1.5),), 0.25),  # the best rate is next to the border of divergence
        (SQRT, "mup_sqrt_depth", ((-0.5, 2.5),), 0.5),
    )
    return tuple(Family(n, replace(net, parametrisation=p), "width", sizes, w, step, 9) for n, p, w, step in rows)


def _exponent() -> tuple[Family, ...]:
    sizes, net = (3, 6, 12, 24), ResidualMLP()
    return (
        Family("a = 1/4", replace(net, branch=0.25), "depth", sizes, _around((1, 0.5, -0.5, -1.5), 1.5, 1.5), 0.5, 6),
        Family("a = 1", replace(net, branch=1.0), "depth", sizes, _around((2.5, 3, 3.5, 4.25), 0.75, 0.75), 0.25, 6),
    )


def _conv() -> tuple[Family, ...]:
    net = ConvNet(width=8, steps=30, batch=32, eval_points=300)
    depths, widths = (3, 6, 12, 24), (8, 16, 24)
    depth = (
        ("sp", "sp", _around((-2, -3, -4.5, -5.5))),
        ("mup", "mup", (*_around((1.5, 1, -0.5)), (-6.5, -0.5))),
        (SQRT, "mup_sqrt_depth", _around((2.5,))),
    )
    width = (("sp", "sp", (-1.5,)), ("mup", "mup", (2.0,)), (SQRT, "mup_sqrt_depth", (2.5,)))
    over_depth = [Family(n, replace(net, parametrisation=p), "depth", depths, w, seeds=6) for n, p, w in depth]
    thin = replace(net, depth=3)
    over_width = [
        Family(f"{n}, width", replace(thin, parametrisation=p), "width", widths, _around(c), seeds=6)
        for n, p, c in width
    ]
    return (*over_depth, *over_width)


def _normalisation() -> tuple[Family, ...]:
    net, depths, families = ResNet(width=8, steps=16, batch=32, eval_points=300), (2, 5, 10), []
    rows: tuple[tuple[str | None, str, Windows, Windows], ...] = (
        (None, "no norm", _around((2.5, 1.5, 0)), _around((3,))),
        ("batch", "BN", _around((1, 0, -1)), _around((2,))),
        ("layer", "LN", _around((1, 0, -1.5)), _around((1.5,))),
    )
    for norm, name, unscaled, scaled in rows:
        for label, p, windows in (("mup", "mup", unscaled), (SQRT, "mup_sqrt_depth", scaled)):
            settings = replace(net, norm=norm, parametrisation=p)
            families.append(Family(f"{name}, {label}", settings, "depth", depths, windows, seeds=6))
    thin = replace(net, depth=2)
    for norm, name, centres in (("batch", "BN", (1.0, 1.5)), ("layer", "LN", (0.5, 1.0))):
        for (label, p), centre in zip((("mup", "mup"), (SQRT, "mup_sqrt_depth")), centres, strict=True):
            settings = replace(thin, norm=norm, parametrisation=p)
            windows = _around((centre,))
            families.append(Family(f"{name}, {label}, width", settings, "width", (8, 16, 24), windows, seeds=6))
    return tuple(families)


_VIT = VisionTransformer(width=32, batch=16, steps=24, patch=4, mlp_ratio=2, warmup_steps=5, eval_points=300)


def _vit() -> tuple[Family, ...]:
    depths, widths, thin = (1, 3, 9), (16, 32, 64), replace(_VIT, depth=2)
    pre = replace(_VIT, block_rate=-0.5)
    bare = replace(_VIT, norm=False)
    five, four = (-5.0, -1.0), (-4.0, -1.0)
    rows: tuple[tuple[str, NetworkSettings, str, tuple[int, ...], tuple[float, float]], ...] = (
        ("pre-LN, mup", replace(_VIT, parametrisation="mup"), "depth", depths, five),
        (f"pre-LN, {SQRT}", _VIT, "depth", depths, five),
        (f"pre-LN, {SQRT}, Adam rate over √L", pre, "depth", depths, four),
        (f"no LN, {SQRT}", bare, "depth", depths, four),
        (f"no LN, {SQRT}, Adam rate over √L", replace(bare, block_rate=-0.5), "depth", depths, four),
        (f"pre-LN, {SQRT}, width", thin, "width", widths, four),
        (f"no LN, {SQRT}, width", replace(thin, norm=False), "width", widths, four),
    )
    return tuple(Family(name, net, vary, sizes, (window,), seeds=6) for name, net, vary, sizes, window in rows)


def _schedules() -> tuple[Family, ...]:
    cosine = replace(_VIT, schedule="warmup_cosine")
    net = ResidualMLP(width=32, batch=64)
    name = f"ViT, pre-LN, {SQRT}, warm-up and cosine"
    plans = [Family(name, cosine, "depth", (1, 3, 9), _around((-2.0,)), seeds=6)]
    for schedule, label in (("warmup", "warm-up"), ("warmup_cosine", "warm-up and cosine")):
        for p, name, windows, octaves in (
            ("mup_sqrt_depth", SQRT, _around((1.25,), 1, 1.25), 0.25),
            ("mup", "mup", _around((0.5, -0.5, -2), 1.5, 1.5), 0.5),
        ):
            settings = replace(net, schedule=schedule, warmup_steps=5, parametrisation=p)
            plans.append(Family(f"MLP, {name}, {label}", settings, "depth", (3, 6, 12), windows, octaves, 12))
    return tuple(plans)


def _hyperparameters() -> tuple[Family, ...]:
    depths, small, wide = (3, 6, 12), ResidualMLP(width=32, batch=64), ResidualMLP(width=64)
    small_mup, wide_mup = replace(small, parametrisation="mup"), replace(wide, parametrisation="mup")
    decayed = replace(small, steps=150, eval_split="test")
    rows: tuple[tuple[str, NetworkSettings, tuple[float, float], float, str, float], ...] = (
        (f"momentum, {SQRT}", small, (0, 4), 1.0, "momentum", 0.5),
        (f"γ₀, {SQRT}", wide, (-0.5, 2), 0.5, "gamma0", 0.5),
        (f"weight decay, {SQRT}", decayed, (-13, -5), 2.0, "weight_decay", 1.0),
        ("momentum, mup", small_mup, (0, 4), 1.0, "momentum", 0.125),
        ("γ₀, mup", wide_mup, (-2, 3), 1.0, "gamma0", 0.25),
    )
    return tuple(Family(n, net, "depth", depths, (w,), step, 6, swept, lr) for n, net, w, step, swept, lr in rows)


def _curves() -> tuple[Family, ...]:
    net = ResidualMLP(width=64, eval_every=2)
    scaled = net  # branches times 1/sqrt(L) are the default
    rows: tuple[tuple[str, ResidualMLP, float], ...] = (
        (SQRT, scaled, 0.0),
        ("mup", replace(net, parametrisation="mup"), -6.0),
        (f"momentum 1/2, {SQRT}", replace(scaled, momentum=0.5), -1.0),  # a small step is as long as at rate 1
        (f"momentum 3/4, {SQRT}", replace(scaled, momentum=0.75), -2.0),
        (f"γ₀ = 1/2, {SQRT}", replace(scaled, gamma0=0.5), 1.0),
        (f"γ₀ = 2, {SQRT}", replace(scaled, gamma0=2.0), -1.0),
    )
    return tuple(Family(name, s, "depth", (3, 6, 12, 24), ((lr, lr),), seeds=6) for name, s, lr in rows)


def _tradeoff() -> tuple[Family, ...]:
    """Networks of 2^16 and 2^17 weights in their blocks, N^2 L to a per cent, from wide to deep."""
    shapes = ((128, 4), (91, 8), (64, 16), (181, 4), (128, 8), (91, 16))
    finer = {(64, 16): ((1.0, 1.875), 0.125)}  # its best rate is next to the border of divergence
    return tuple(
        Family(f"N = {N}, L = {L}", ResidualMLP(width=N, depth=L), "depth", (L,), (window,), octaves, 6)
        for N, L in shapes
        for window, octaves in [finer.get((N, L), ((0.75, 2.0), 0.25))]
    )


THEMES: dict[str, Callable[[], tuple[Family, ...]]] = {
    "width": _width,
    "exponent": _exponent,
    "conv": _conv,
    "normalisation": _normalisation,
    "vit": _vit,
    "schedules": _schedules,
    "hyperparameters": _hyperparameters,
    "curves": _curves,
    "tradeoff": _tradeoff,
}


def plan(theme: str, preset: str = "book") -> tuple[Family, ...]:
    """The families that a theme trains under a preset.

    "book": as written above. "full": half the step between values and three times the seeds, hours on one core.
    "smoke": the same families in miniature, seconds in all, to see that everything runs.
    Raises ``ValueError`` for an unknown theme or preset.
    """
    families = THEMES[choice("theme", theme, tuple(THEMES))]()
    how = {"smoke": _miniature, "book": lambda family: family, "full": _finer}[choice("preset", preset, PRESETS)]
    return tuple(how(family) for family in families)


def _finer(family: Family) -> Family:
    return replace(family, octaves=family.octaves / 2, seeds=3 * family.seeds)


def _miniature(family: Family) -> Family:
    sizes = ((1, 2, 3) if family.vary == "depth" else (4, 8, 12))[: len(family.sizes)]
    short = min(family.network.warmup_steps, 1)
    network = replace(family.network, width=8, depth=1, steps=1, batch=8, eval_points=16, warmup_steps=short)
    low = {"lr": -5.0, "momentum": 0.0, "gamma0": -2.0, "weight_decay": -9.0}[family.swept]
    one = family.windows[0][0] == family.windows[0][1]
    return replace(
        family, network=network, sizes=sizes, windows=((low, low if one else low + 2),), octaves=1.0, seeds=2, lr=0.125
    )
