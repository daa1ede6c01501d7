r"""The four parametrisations of the residual MLP: multiplier, initial scale and rate of every layer.

The network (Eq. 1 of the paper; no biases), for an input x of dimension D, width N and depth L:

    h^0     = m_in W_in x
    h^{l+1} = h^l + m_branch W^l phi(h^l)                    l = 0 .. L - 1
    f       = m_out w phi(h^L)

with entries drawn from N(0, std^2) and each kind of layer trained by SGD at rate lr * lr_factor:

    =================  =============  ===================  ===================  ========================
    kind               sp             ntp                  mup                  mup_sqrt_depth
    =================  =============  ===================  ===================  ========================
    read-in    m, std  1, D^-1/2      D^-1/2, 1            D^-1/2, 1            D^-1/2, 1
    branch     m, std  1, N^-1/2      N^-1/2, 1            N^-1/2, 1            L^-1/2 N^-1/2, 1
    readout    m, std  1, N^-1/2      N^-1/2, 1            1/(gamma_0 N), 1     1/(gamma_0 N), 1
    lr_factor          1              1                    gamma_0^2 N          gamma_0^2 N
    =================  =============  ===================  ===================  ========================

Why each entry. Write beta for the branch multiplier without its N^-1/2 (1, or L^-1/2), Delta for -dLoss/df,
g = N gamma_0 df/dh for the gradient signal at O(1), and <.> for an average over the N neurons.

*Forward.* m_in W_in has entries of variance 1/D: a coordinate of h^0 has variance |x|^2/D, O(1) for
standardised data. A branch sums N terms of variance 1/N: it adds beta^2 <phi^2>. For ReLU <phi^2> is half the
variance, so after L blocks the variance has grown by (1 + beta^2/2)^L: (3/2)^L at beta = 1, at most sqrt(e)
at beta = L^-1/2. That growth is why the best rate of sp and mup falls with depth.

*mup.* The readout's 1/(gamma_0 N) makes df/dh = g/(gamma_0 N). A gradient step at rate lr gamma_0^2 N changes

    W_in by lr gamma_0 D^-1/2 Delta g x^T,           hence h^0 by     lr gamma_0 Delta (|x|^2/D) g
    W^l by lr gamma_0 beta N^-1/2 Delta g phi^T,     hence h^{l+1} by lr gamma_0 beta^2 Delta <phi^2> g
    w   by lr gamma_0 Delta phi,                     hence f by       lr Delta <phi^2>

All are O(1) in the width: N-independent feature movement is what the factors are for, and gamma_0 sets how
much of it (gamma_0 -> 0 is lazy). *mup_sqrt_depth.* The L branches together move h by sum_l beta^2 = 1: O(1)
in the depth too, while the noise they add at initialisation stays bounded. Any beta = L^-a with a < 1/2 blows
up, a > 1/2 lets the branches fade; ``branch`` = a replaces the exponent to show it.

*ntp* is mup at gamma_0 = N^-1/2, readout and rate alike: features move by O(N^-1/2), the network turns lazy
with width.

*sp* is what a framework gives: no multipliers, variance 1/fan-in, one rate. (torch.nn.Linear's default is
uniform with variance 1/(3 fan-in), the same scaling; here the constant is 1, so that sp and ntp start as the
same function.) Moving a multiplier m from the layer into its weights turns a rate lr into m^2 lr, so sp at
rate lr is ntp at rate N lr for branches and readout, and D lr for the read-in: sp's rate must shrink like
1/N.

Source: Table 1 of the paper, in the normalisation above (its gamma is gamma_0 sqrt(N) and multiplies N^1/2).
"""

from __future__ import annotations

from dataclasses import dataclass

from lrtransfer._check import choice, count, finite, positive, refuse

PARAMETRISATIONS = ("sp", "ntp", "mup", "mup_sqrt_depth")


@dataclass(frozen=True)
class LayerScale:
    """One kind of layer: forward ``multiplier``, initial ``std``, and ``lr_factor``, its SGD rate over lr."""

    multiplier: float
    std: float
    lr_factor: float


@dataclass(frozen=True)
class Scales:
    """Scales of the three kinds of layers of a residual network."""

    read_in: LayerScale
    branch: LayerScale
    readout: LayerScale


def check_parametrisation(parametrisation: object, gamma0: object, branch: object) -> None:
    """Refuse an unknown parametrisation, or a gamma_0 or branch exponent that it cannot have."""
    name = choice("parametrisation", parametrisation, PARAMETRISATIONS)
    if positive("gamma0", gamma0).ndim:  # type: ignore[arg-type]
        raise refuse("gamma0", gamma0, "one positive number")
    if name in ("sp", "ntp") and gamma0 != 1:
        raise refuse("gamma0", gamma0, f"1 for parametrisation {name!r}, which has no gamma_0")
    if branch is not None and finite("branch", branch, minimum=0.0).ndim:  # type: ignore[arg-type]
        raise refuse("branch", branch, "one number, at least 0, or None")


def layer_scales(
    parametrisation: str,
    width: int,
    depth: int,
    input_dim: int,
    *,
    gamma0: float = 1.0,
    branch: float | None = None,
) -> Scales:
    """Multiplier, initial std and rate factor of every kind of layer (table and reasons above).

    ``parametrisation``: "sp", "ntp", "mup" or "mup_sqrt_depth". ``width`` N, ``depth`` L (number of
    branches), ``input_dim`` D. ``gamma0``: gamma_0, 1 for sp and ntp. ``branch``: exponent a of an extra
    branch multiplier L^-a; None takes the parametrisation's own, 1/2 for mup_sqrt_depth and 0 for the others.

    Returns ``Scales``. Raises ``ValueError`` naming the argument. Source: Table 1 of the paper.
    """
    check_parametrisation(parametrisation, gamma0, branch)
    n, layers, d = (
        count("width", width, minimum=1),
        count("depth", depth, minimum=1),
        count("input_dim", input_dim, minimum=1),
    )
    own = 0.5 if parametrisation == "mup_sqrt_depth" else 0.0
    beta = layers ** -(own if branch is None else branch)
    if parametrisation == "sp":
        return Scales(
            read_in=LayerScale(1.0, d**-0.5, 1.0),
            branch=LayerScale(beta, n**-0.5, 1.0),
            readout=LayerScale(1.0, n**-0.5, 1.0),
        )
    if parametrisation == "ntp":
        m_out, lr_factor = n**-0.5, 1.0
    else:
        m_out, lr_factor = 1 / (gamma0 * n), gamma0**2 * n
    return Scales(
        read_in=LayerScale(d**-0.5, 1.0, lr_factor),
        branch=LayerScale(beta * n**-0.5, 1.0, lr_factor),
        readout=LayerScale(m_out, 1.0, lr_factor),
    )
