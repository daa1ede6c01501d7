"""The paper's Table 1 as the paper prints it, or with the numbers that the networks here are built with."""

from __future__ import annotations

import math

from lrtransfer.residual.networks.parametrisation import PARAMETRISATIONS, layer_scale

_COLUMNS = (
    "parametrisation",
    "branch multiplier",
    "gamma",
    "variance",
    "SGD rate",
    "Adam rate, hidden",
    "Adam rate, hidden, later",
)
_SYMBOLS = (
    ("sp", "1", "1", "1/N", "1", "1", "1/sqrt(L)"),
    ("ntp", "1/sqrt(N)", "1", "1", "1", "1/N", "1/(N sqrt(L))"),
    ("mup", "1/sqrt(N)", "gamma_0 sqrt(N)", "1", "gamma_0^2 N", "gamma_0/sqrt(N)", "gamma_0/sqrt(N L)"),
    ("mup_sqrt_depth", "1/sqrt(N L)", "gamma_0 sqrt(N)", "1", "gamma_0^2 N", "gamma_0/sqrt(N)", "gamma_0/sqrt(N L)"),
)


def table1(width: int | None = None, depth: int | None = None, gamma0: float | None = None) -> list[dict[str, str]]:
    """The paper's Table 1 in the paper's own symbols, one dictionary a parametrisation, with Adam's columns.

    The paper writes h^{l+1} = h^l + (branch multiplier) W^l phi(h^l), f = w . phi(h^L) / (gamma sqrt(N)) (sp: over
    gamma alone, its N^-1/2 being in the variance), weights of the given variance, SGD at the given rate with
    gamma = gamma_0 sqrt(N) for mup and mup_sqrt_depth. The Adam columns are the rates of the branches' matrices:
    as in the paper, and divided by sqrt(L) as in a later convention.

    Parameters
    ----------
    width, depth, gamma0
        N, L and gamma_0: given all three, numbers replace the symbols, computed by ``layer_scale``, the function that
        the networks are built with; given none, the symbols

    Returns
    -------
    list of dict
        rows with the keys "parametrisation", "branch multiplier", "gamma", "variance", "SGD rate", "Adam rate, hidden",
        "Adam rate, hidden, later". Rates are over the base rate eta_0.

    Raises
    ------
    ValueError
        where some of the three are missing.
    """
    given = [value is not None for value in (width, depth, gamma0)]
    if any(given) and not all(given):
        raise ValueError("table1 needs width, depth and gamma0 together, for numbers, or none of them, for symbols.")
    if width is None or depth is None or gamma0 is None:
        return [dict(zip(_COLUMNS, row, strict=True)) for row in _SYMBOLS]
    rows = []
    for name in PARAMETRISATIONS:
        own = gamma0 if name.startswith("mup") else 1.0
        hidden, later = (
            layer_scale("branch", name, width, depth, width, gamma0=own, block_rate=c) for c in (0.0, -0.5)
        )
        readout = layer_scale("readout", name, width, depth, width, gamma0=own)
        # f = m_out w . phi; the paper's gamma is what is left of 1 / m_out once sqrt(N) is out (not in sp).
        gamma = 1 / readout.multiplier / (1.0 if name == "sp" else math.sqrt(width))
        values = (hidden.multiplier, gamma, hidden.std**2, hidden.lr_factor, hidden.adam_factor, later.adam_factor)
        rows.append(dict(zip(_COLUMNS, (name, *(f"{value:.4g}" for value in values)), strict=True)))
    return rows
