"""What role every parameter of a model has, from comparing its shapes with a small model of the same family."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase

import numpy as np
from torch import nn

from lrtransfer.numerics.arguments import choice, refuse
from lrtransfer.practice.rules import ROLES

_OUT_FIRST = (nn.Linear, nn.RNNBase, nn.RNNCellBase, nn.MultiheadAttention, nn.Conv1d, nn.Conv2d, nn.Conv3d)
_IN_FIRST = (nn.ConvTranspose1d, nn.ConvTranspose2d, nn.ConvTranspose3d)


@dataclass(frozen=True)
class Weight:
    """A parameter: its names (several where it is shared), role, the factors of its fans, whether it is in a block."""

    parameter: nn.Parameter
    partner: nn.Parameter
    names: tuple[str, ...]
    role: str
    fan_in: float
    fan_out: float
    in_block: bool


def weights_of(model: object, base: object, depth_ratio: float, roles: Mapping[str, str] | None) -> list[Weight]:
    """Every trainable parameter once, with its role.

    Parameters
    ----------
    model, base
        Of one family: the same names but for the length of lists of blocks.
    depth_ratio
        By which factor the depth grew; must be that of the lists whose length differs.
    roles
        Roles by name, or pattern of names as in a shell, for what shapes do not tell.

    Raises
    ------
    ValueError
        For what is no model, for models of different families, and for a parameter that cannot be classified.
    """
    for word, value in (("model", model), ("base", base)):
        if not isinstance(value, nn.Module) or not any(p.requires_grad for p in value.parameters()):
            raise refuse(word, type(value).__name__, "a torch.nn.Module with trainable parameters")
    assert isinstance(model, nn.Module) and isinstance(base, nn.Module)
    if roles is not None and not isinstance(roles, Mapping):
        raise refuse("roles", roles, "a mapping from names of parameters to roles")
    for role in (roles or {}).values():
        choice("roles", role, ROLES)
    _check_depth(model, base, depth_ratio)
    given = dict(base.named_parameters(remove_duplicate=False))
    modules, bases = dict(model.named_modules()), dict(base.named_modules())
    found: dict[int, list[Weight]] = {}
    for name, parameter in model.named_parameters(remove_duplicate=False):
        if not parameter.requires_grad:
            continue
        other = given.get(_in_base(name, modules, bases))
        if other is None or other.ndim != parameter.ndim:
            what = "no parameter of that name" if other is None else f"one of {other.ndim} dimensions"
            raise ValueError(
                f"model and base must be of one family: {name} has {parameter.ndim} dimensions, base {what}."
            )
        asked = next((role for key, role in (roles or {}).items() if key == name or fnmatchcase(name, key)), None)
        entry = _weight(name, parameter, other, modules[name.rpartition(".")[0]], asked, _in_block(name, modules))
        found.setdefault(id(parameter), []).append(entry)
    return [_together(entries) for entries in found.values()]


def _weight(
    name: str, parameter: nn.Parameter, other: nn.Parameter, owner: nn.Module, asked: str | None, in_block: bool
) -> Weight:
    grew = [a / b for a, b in zip(parameter.shape, other.shape, strict=True)]
    changed = [factor for factor in grew if factor != 1]

    def made(role: str, fan_in: float, fan_out: float) -> Weight:
        return Weight(parameter, other, (name,), role, fan_in, fan_out, in_block)

    if asked is not None:
        grown = max(changed, default=1.0, key=lambda factor: abs(factor - 1))
        return made(asked, grown, grown)
    if not changed:
        return made("fixed", 1.0, 1.0)
    if parameter.ndim == 1:
        return made("bias and norm", 1.0, grew[0])
    if isinstance(owner, nn.Embedding) and grew[0] == 1:
        return made("embedding", 1.0, grew[1])
    flipped = isinstance(owner, _IN_FIRST)
    if (flipped or isinstance(owner, _OUT_FIRST)) and all(factor == 1 for factor in grew[2:]):
        fan_out, fan_in = (grew[1], grew[0]) if flipped else (grew[0], grew[1])
    elif len(changed) == 2 and changed[0] == changed[1]:
        fan_in = fan_out = changed[0]  # a matrix in a module of its own: which way it is read does not matter
    else:
        shapes = f"{tuple(other.shape)} in base, {tuple(parameter.shape)} in model"
        raise ValueError(
            f"{name} of {type(owner).__name__} ({shapes}) cannot be classified from its shapes: say which role it has, "
            f"roles={{{name!r}: ...}} with one of {', '.join(map(repr, ROLES))}."
        )
    role = "head" if fan_out == 1 else "embedding" if fan_in == 1 else "block" if in_block else "hidden"
    return made(role, fan_in, fan_out)


def _together(entries: list[Weight]) -> Weight:
    """One parameter under several names: tied where it is embedding and head."""
    first, names = entries[0], tuple(name for each in entries for name in each.names)
    kinds = {each.role for each in entries}
    if kinds == {"embedding", "head"}:
        grown = max(each.fan_out for each in entries)
        return Weight(first.parameter, first.partner, names, "tied", grown, grown, False)
    if len(kinds) > 1:
        raise ValueError(
            f"{' and '.join(names)} are one parameter with the roles {' and '.join(sorted(kinds))}: say which counts, "
            f"by roles={{{names[0]!r}: ...}} for each name."
        )
    return Weight(first.parameter, first.partner, names, *_rest(first))


def _rest(weight: Weight) -> tuple[str, float, float, bool]:
    return weight.role, weight.fan_in, weight.fan_out, weight.in_block


def _lists(model: nn.Module) -> dict[str, int]:
    return {n: len(m) for n, m in model.named_modules() if isinstance(m, nn.ModuleList | nn.Sequential)}


def _steps(name: str) -> Iterator[tuple[str, str]]:
    """Every part of a dotted name with the path before it."""
    path = ""
    for part in name.split("."):
        yield path, part
        path = f"{path}.{part}" if path else part


def _in_base(name: str, modules: dict[str, nn.Module], bases: dict[str, nn.Module]) -> str:
    """The name's counterpart in a base with shorter lists: of the same class, and nearest in relative place."""
    path: list[str] = []
    for before, part in _steps(name):
        holder, other = modules.get(before), bases.get(".".join(path))
        step = part
        if isinstance(holder, nn.ModuleList | nn.Sequential) and isinstance(other, nn.ModuleList | nn.Sequential):
            n, m = len(holder), len(other)
            alike = [k for k in range(m) if type(other[k]) is type(holder[int(part)])]
            if n != m and alike:
                at = int(part) * (m - 1) / max(n - 1, 1)
                step = str(alike[int(np.argmin([abs(k - at) for k in alike]))])
        path.append(step)
    return ".".join(path)


def _in_block(name: str, modules: dict[str, nn.Module]) -> bool:
    """Whether it is in a list of modules, or in a sequence of modules that have parts themselves."""
    for path, part in _steps(name):
        holder = modules.get(path)
        if part.isdecimal() and isinstance(holder, nn.ModuleList):
            return True
        if part.isdecimal() and isinstance(holder, nn.Sequential) and any(True for _ in holder[int(part)].children()):
            return True
    return False


def _check_depth(model: nn.Module, base: nn.Module, depth_ratio: float) -> None:
    lengths, before = _lists(model), _lists(base)
    for path in sorted(lengths.keys() & before.keys()):
        ratio = lengths[path] / before[path] if before[path] else 1.0
        if ratio != 1 and abs(ratio - depth_ratio) > 1e-9 * ratio:
            raise refuse(
                "depth_ratio",
                depth_ratio,
                f"{ratio:g}: {path or 'the model'} holds {lengths[path]} modules, {before[path]} in base",
            )
