r"""The four parametrisations: multiplier, initial scale, SGD and Adam rate of every kind of layer.

The residual MLP (Eq. 1 of the paper; no biases), for an input x of dimension D, width N and depth L:

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
up; with a > 1/2 the noise fades, and under SGD at one rate for all layers the learning of the branches too;
``branch`` = a replaces the exponent to show it.

*ntp* is mup at gamma_0 = N^-1/2, readout and rate alike: features move by O(N^-1/2), the network turns lazy
with width.

*sp* is what a framework gives: no multipliers, variance 1/fan-in, one rate. (torch.nn.Linear's default is
uniform with variance 1/(3 fan-in), the same scaling; here the constant is 1, so that sp and ntp start as the
same function.) Moving a multiplier m from the layer into its weights turns a rate lr into m^2 lr, so sp at
rate lr is ntp at rate N lr for branches and readout, and D lr for the read-in: sp's rate must shrink like
1/N.

*Other layers* differ in the fan-in F alone, the number of terms that one output sums: 9 N for a 3 x 3
convolution, 4 N for the second matrix of a transformer's MLP, N S for a readout that reads S positions. N^-1/2
becomes F^-1/2 (and N^-1/2 in sp's std); the readout's 1/(gamma_0 N) becomes 1/(gamma_0 sqrt(N F)), NTP's F^-1/2
over gamma = gamma_0 sqrt(N). Only the last matrix of a branch carries beta ("branch"); the matrices before it
(first convolution of a ResNet block; query, key, value; first matrix of the MLP) do not ("inner"). Their gradient
does carry it, so an inner layer's output moves by lr gamma_0 beta: under L^-1/2 the inner layers turn lazy with
depth, although the stream does not. A gain or bias of a normalisation ("gain") starts at 1 or 0 and its gradient
scales like a weight's over N^-1/2, so the same rate factor moves it by O(1). A learnt position is a read-in of
fan-in 1.

*Adam* moves every entry of a matrix by about its rate a, whatever the size of the gradient. All entries of a
hidden matrix then agree with the F inputs: m_branch F a is the change of the branch's output. To move h by
O(lr gamma_0), as SGD does, a = gamma_0 F^-1/2 for weights of unit variance (1/F for weights of variance 1/F);
the readout needs a = gamma_0 sqrt(N / F), a gain gamma_0. With these the change of f is O(lr) at every gamma_0,
and ntp is again mup at gamma_0 = N^-1/2. sp has one rate, 1, for all. The depth: a block moves h by
beta lr gamma_0, all L blocks in one direction by L beta lr gamma_0 = sqrt(L) lr gamma_0 at beta = L^-1/2. The
paper leaves it there; a later convention divides the rate of the branches by sqrt(L).

*Block rates.* ``block_rate`` = c multiplies the rate factor of all that lies in a branch ("branch", "inner", "gain")
by L^c, under SGD as under Adam: 0 is the paper's, -1/2 the later convention for Adam; and 1 with branches of 1/L is,
under SGD, 1/sqrt(L) at the plain rate with weights that start L^-1/2 smaller.

*Weight decay* lambda is meant per unit of base rate: every matrix shrinks by the factor 1 - lr lambda a step, at
any width, so the trainer divides lambda by the layer's rate factor where an optimiser multiplies by it. Gains and
biases do not decay.

Source: Table 1 of the paper, in the normalisation above (its gamma is gamma_0 sqrt(N) and multiplies N^1/2).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from lrtransfer.numerics.arguments import choice, count, finite, one, positive, refuse

PARAMETRISATIONS = ("sp", "ntp", "mup", "mup_sqrt_depth")
ROLES = ("read_in", "inner", "branch", "readout", "gain")


@dataclass(frozen=True)
class LayerScale:
    """One kind of layer.

    Attributes
    ----------
    multiplier
        forward
    std
        of the initial entries
    lr_factor, adam_factor
        SGD's and Adam's rate over the base rate
    """

    multiplier: float
    std: float
    lr_factor: float
    adam_factor: float = 1.0


@dataclass(frozen=True)
class Scales:
    """Scales of the three kinds of layers of a residual network.

    Attributes
    ----------
    read_in, branch, readout
        a ``LayerScale`` each
    """

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


def branch_multiplier(parametrisation: str, depth: int, branch: float | None = None) -> float:
    """The multiplier beta = L^-a of a branch, apart from its fan-in; a is ``branch`` or the parametrisation's."""
    own = 0.5 if parametrisation == "mup_sqrt_depth" else 0.0
    return depth ** -(own if branch is None else branch)


def layer_scale(
    role: str,
    parametrisation: str,
    width: int,
    depth: int,
    fan_in: int,
    *,
    gamma0: float = 1.0,
    branch: float | None = None,
    block_rate: float = 0.0,
) -> LayerScale:
    """Multiplier, initial std and rate factors of one kind of layer (table and reasons above).

    Parameters
    ----------
    role
        "read_in", "inner" (hidden, not the last of its branch), "branch" (the last of its branch), "readout" or "gain"
        (of a normalisation in a branch; ``multiplier`` 1, ``std`` 0: it is not drawn)
    parametrisation
        "sp", "ntp", "mup" or "mup_sqrt_depth"
    width, depth
        N, and L, the number of blocks; whole, from 1 on
    fan_in
        F, the number of terms that one output sums
    gamma0
        gamma_0, positive; 1 for sp and ntp
    branch
        exponent a of the branch multiplier L^-a, not negative; None takes the parametrisation's own, 1/2 for
        mup_sqrt_depth and 0 for the others
    block_rate
        c of the factor L^c on the rates of all that lies in a branch, SGD's and Adam's

    Returns
    -------
    LayerScale

    Raises
    ------
    ValueError
        naming the argument.

    References
    ----------
    Table 1 of the paper.
    """
    choice("role", role, ROLES)
    check_parametrisation(parametrisation, gamma0, branch)
    n, layers = count("width", width, minimum=1), count("depth", depth, minimum=1)
    fan = count("fan_in", fan_in, minimum=1)
    c = one("block_rate", finite("block_rate", block_rate))
    beta = branch_multiplier(parametrisation, layers, branch) if role == "branch" else 1.0
    unit = parametrisation != "sp"  # weights of unit variance, the fan-in in the multiplier
    # ntp is mup at gamma_0 = N^-1/2; its SGD factor is written out, exactly one.
    strength = n**-0.5 if parametrisation == "ntp" else gamma0
    lr_factor = gamma0**2 * n if parametrisation.startswith("mup") else 1.0
    if not unit:
        adam = 1.0
    elif role == "gain":
        adam = strength
    else:
        adam = strength * (math.sqrt(n / fan) if role == "readout" else fan**-0.5)
    if role in ("inner", "branch", "gain"):
        adam *= layers**c
        lr_factor *= layers**c
    if role == "gain":
        return LayerScale(1.0, 0.0, lr_factor, adam)
    if not unit:
        return LayerScale(beta, fan**-0.5, lr_factor, adam)
    if role == "readout" and parametrisation != "ntp":
        return LayerScale(1 / (gamma0 * math.sqrt(n * fan)), 1.0, lr_factor, adam)
    return LayerScale(beta * fan**-0.5, 1.0, lr_factor, adam)


def layer_scales(
    parametrisation: str,
    width: int,
    depth: int,
    input_dim: int,
    *,
    gamma0: float = 1.0,
    branch: float | None = None,
    block_rate: float = 0.0,
) -> Scales:
    """Scales of the three kinds of layers of the residual MLP.

    Parameters
    ----------
    parametrisation, width, depth, gamma0, branch, block_rate
        as in ``layer_scale``
    input_dim
        D, the read-in's fan-in; the other fan-ins are ``width``

    Returns
    -------
    Scales

    Raises
    ------
    ValueError
        naming the argument.
    """
    check_parametrisation(parametrisation, gamma0, branch)
    n, d = count("width", width, minimum=1), count("input_dim", input_dim, minimum=1)

    def scale(role: str, fan_in: int) -> LayerScale:
        return layer_scale(
            role,
            parametrisation,
            n,
            depth,
            fan_in,
            gamma0=gamma0,
            branch=branch,
            block_rate=block_rate,
        )

    return Scales(read_in=scale("read_in", d), branch=scale("branch", n), readout=scale("readout", n))
