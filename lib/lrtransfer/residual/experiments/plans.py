"""What every figure of the chapter trains: one list of families a theme, for the three presets.

The rates searched are written down per size, a few octaves on either side of the optimum: wide enough that no best
rate of the book preset is on an edge (a table of the page flags it if one is), narrow enough for one core.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from lrtransfer._check import choice
from lrtransfer.presets import PRESETS
from lrtransfer.residual.experiments.families import Family
from lrtransfer.residual.settings import ConvNet, NetworkSettings, ResidualMLP, ResNet, VisionTransformer

Windows = tuple[tuple[float, float], ...]
SQRT = "mup, 1/√L"


def _around(centres: Sequence[float], below: float = 2, above: float = 2) -> Windows:
    """One window a size."""
    return tuple((centre - below, centre + above) for centre in centres)


def _width() -> tuple[Family, ...]:
    sizes, net = (32, 128, 512), ResidualMLP(depth=3, batch=64)
    rows = (("sp", "sp", (-4.0, 0.0)), ("mup", "mup", (-1.5, 1.5)), (SQRT, "mup_sqrt_depth", (-0.5, 2.0)))
    return tuple(Family(n, replace(net, parametrisation=p), "width", sizes, (w,), 0.5) for n, p, w in rows)


def _exponent() -> tuple[Family, ...]:
    sizes = (3, 6, 12, 24)
    return (
        Family("a = 1/4", ResidualMLP(branch=0.25), "depth", sizes, _around((1, 0.5, -0.5, -1.5)), 0.5),
        Family("a = 1", ResidualMLP(branch=1.0), "depth", sizes, ((1, 6),), 0.5),
    )


def _conv() -> tuple[Family, ...]:
    net = ConvNet(width=8, steps=40)
    depths, widths = (3, 6, 12, 24), (8, 16, 32)
    depth = (
        ("sp", "sp", _around((-2, -3, -4.5, -6.5))),
        ("mup", "mup", _around((1.5, 1, -0.5, -2.5))),
        (SQRT, "mup_sqrt_depth", _around((2.5,))),
    )
    width = (("mup, width", "mup", _around((2,))), (SQRT + ", width", "mup_sqrt_depth", _around((2.5,))))
    over_depth = [Family(n, replace(net, parametrisation=p), "depth", depths, w) for n, p, w in depth]
    thin = replace(net, depth=2)
    return (*over_depth, *(Family(n, replace(thin, parametrisation=p), "width", widths, w) for n, p, w in width))


def _normalisation() -> tuple[Family, ...]:
    net, depths, families = ResNet(width=8, steps=25, batch=32), (2, 6, 16), []
    rows: tuple[tuple[str | None, str, Windows, Windows], ...] = (
        (None, "no norm", _around((2.5, 1.5, -0.5), 1.5, 1.5), _around((3,), 1.5, 1.5)),
        ("batch", "BN", _around((1, 0, -1)), _around((2,))),
        ("layer", "LN", _around((1, -0.5, -2.5)), _around((1.5,))),
    )
    for norm, name, unscaled, scaled in rows:
        for label, p, windows in (("mup", "mup", unscaled), (SQRT, "mup_sqrt_depth", scaled)):
            settings = replace(net, norm=norm, parametrisation=p)
            octaves = 0.5 if norm is None else 1.0  # without a norm the optimum lies close to divergence
            families.append(Family(f"{name}, {label}", settings, "depth", depths, windows, octaves))
    thin = replace(net, depth=2)
    for norm, name, centre in (("batch", "BN", 2.0), ("layer", "LN", 1.0)):
        settings = replace(thin, norm=norm)
        families.append(Family(f"{name}, {SQRT}, width", settings, "width", (8, 16, 32), _around((centre,))))
    return tuple(families)


_VIT = VisionTransformer(width=32, batch=32, steps=40, patch=4, mlp_ratio=2, warmup_steps=5)


def _vit() -> tuple[Family, ...]:
    depths, widths, thin = (1, 3, 9), (16, 32, 64), replace(_VIT, depth=2)
    pre = replace(_VIT, adam_depth_exponent=0.5)
    bare = replace(_VIT, norm=False)
    five, slow, fast = (-5.0, -1.0), (-5.0, -2.0), (-4.0, -1.0)
    rows: tuple[tuple[str, NetworkSettings, str, tuple[int, ...], tuple[float, float]], ...] = (
        ("pre-LN, mup", replace(_VIT, parametrisation="mup"), "depth", depths, five),
        (f"pre-LN, {SQRT}", _VIT, "depth", depths, five),
        (f"pre-LN, {SQRT}, Adam rate over √L", pre, "depth", depths, (-4.0, 0.0)),
        (f"no LN, {SQRT}", bare, "depth", depths, five),
        (f"no LN, {SQRT}, Adam rate over √L", replace(bare, adam_depth_exponent=0.5), "depth", depths, fast),
        (f"pre-LN, {SQRT}, width", thin, "width", widths, slow),
        (f"no LN, {SQRT}, width", replace(thin, norm=False), "width", widths, five),
    )
    return tuple(Family(name, net, vary, sizes, (window,)) for name, net, vary, sizes, window in rows)


def _schedules() -> tuple[Family, ...]:
    cosine = replace(_VIT, schedule="warmup_cosine")
    net = ResidualMLP(width=32, batch=64)
    plans = [Family(f"ViT, pre-LN, {SQRT}, warm-up and cosine", cosine, "depth", (1, 3, 9), _around((-2.5,)))]
    for schedule, label in (("warmup", "warm-up"), ("warmup_cosine", "warm-up and cosine")):
        for p, name, centres in (("mup_sqrt_depth", SQRT, (1.5,)), ("mup", "mup", (0.5, -0.5, -2))):
            settings = replace(net, schedule=schedule, warmup_steps=5, parametrisation=p)
            plans.append(Family(f"MLP, {name}, {label}", settings, "depth", (3, 6, 12), _around(centres), 0.5))
    return tuple(plans)


def _hyperparameters() -> tuple[Family, ...]:
    depths, small, wide = (3, 6, 12), ResidualMLP(width=32, batch=64), ResidualMLP(width=64)
    small_mup, wide_mup = replace(small, parametrisation="mup"), replace(wide, parametrisation="mup")
    decayed = replace(small, steps=200, eval_split="test")
    return (
        Family(f"momentum, {SQRT}", small, "depth", depths, ((0, 4),), swept="momentum", lr=0.5),
        Family(f"γ₀, {SQRT}", wide, "depth", depths, ((-1, 3),), swept="gamma0", lr=0.5),
        Family(f"weight decay, {SQRT}", decayed, "depth", depths, ((-13, -5),), 2.0, swept="weight_decay", lr=1.0),
        Family("momentum, mup", small_mup, "depth", depths, ((0, 4),), swept="momentum", lr=0.125),
        Family("γ₀, mup", wide_mup, "depth", depths, ((-3, 3),), swept="gamma0", lr=0.25),
    )


def _curves() -> tuple[Family, ...]:
    net = ResidualMLP(width=64, eval_every=2)
    rows = ((SQRT, "mup_sqrt_depth", 0.0), ("mup", "mup", -6.0))
    return tuple(
        Family(name, replace(net, parametrisation=p), "depth", (3, 6, 12, 24), ((lr, lr),), seeds=4)
        for name, p, lr in rows
    )


def _tradeoff() -> tuple[Family, ...]:
    """Networks of 2^16 and 2^18 weights in their blocks, N^2 L to a per cent, from wide to deep."""
    shapes = ((128, 4), (91, 8), (64, 16), (256, 4), (181, 8), (128, 16))
    return tuple(
        Family(f"N = {N}, L = {L}", ResidualMLP(width=N, depth=L), "depth", (L,), ((-0.5, 3),), 0.5, 4)
        for N, L in shapes
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
