"""Any network in miniature, to see that it runs."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from lrtransfer.residual.networks.settings import NetworkSettings, VisionTransformer


def miniature(settings: NetworkSettings, depth: int = 2) -> NetworkSettings:
    """The same network, optimiser and schedule at width 8 and a small depth, for two steps on the digits.

    Parameters
    ----------
    settings
        of any kind
    depth
        L of the miniature

    Returns
    -------
    NetworkSettings
        of the same class.
    """
    changes: dict[str, Any] = {"patch": 4} if isinstance(settings, VisionTransformer) else {}
    small = {"data": "digits", "width": 8, "depth": depth, "steps": 2, "batch": 8, "eval_points": 8, "eval_every": 0}
    return replace(settings, **small, warmup_steps=min(settings.warmup_steps, 1), **changes)  # type: ignore[arg-type]
