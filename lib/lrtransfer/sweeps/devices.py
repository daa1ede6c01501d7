"""Where runs train: the torch device by name, and what only some devices can do."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING

from lrtransfer.numerics.arguments import choice, refuse

if TYPE_CHECKING:
    import torch

DEVICES = ("auto", "cpu", "cuda", "mps")
PRECISIONS = ("float32", "bf16")


def required_torch() -> ModuleType:
    """The module torch.

    Returns
    -------
    module

    Raises
    ------
    ImportError
        where it is missing, with how to install it.
    """
    try:
        import torch
    except ImportError as error:
        raise ImportError("training needs PyTorch: pip install torch") from error
    return torch


def resolve_device(device: str) -> torch.device:
    """The torch device of a name.

    Parameters
    ----------
    device
        "auto" (cuda, else mps, else cpu), "cpu", "cuda" or "mps"

    Returns
    -------
    torch.device

    Raises
    ------
    ValueError
        if this machine lacks it.
    """
    choice("device", device, DEVICES)
    torch = required_torch()
    present = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available(), "cpu": True}
    if device == "auto":
        device = next(name for name, there in present.items() if there)
    if not present[device]:
        here = [repr(name) for name, there in present.items() if there]
        raise refuse("device", device, f"one that this machine has ({', '.join(here)}), or 'auto'")
    return torch.device(device)


def check_cuda(device: torch.device, precision: str, compile: bool) -> None:
    """Refuse, on any other device, what is for cuda.

    Parameters
    ----------
    device
        where runs train
    precision
        "float32", or "bf16", which is for cuda
    compile
        whether to use torch.compile, which is for cuda

    Raises
    ------
    ValueError
        naming the argument.
    """
    choice("precision", precision, PRECISIONS)
    if precision == "bf16" and device.type != "cuda":
        raise refuse("precision", precision, f"'float32' on device {device.type!r}; 'bf16' needs cuda")
    if compile and device.type != "cuda":
        raise refuse("compile", compile, f"False on device {device.type!r}; compiling pays on cuda only")
