"""Constants of Theorem 3.1, Lemma 3.2 and Corollary 3.6, and where they let a run begin.

With s = sqrt(kappa) throughout, kappa = L/mu the condition number of the loss:

    beta = (s - 1)/(s + 1),   tau = 1/(s + 1),   gamma = 1/(s - 1),   rho = mu / (4 (4 s - 3)).

Source: "Stacking as accelerated gradient descent", Sec. 3.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from lrtransfer.numerics import arguments
from lrtransfer.stages.linear.course import Floats, Setting, default_beta


@dataclass(frozen=True)
class Constants:
    """What the proof of Lemma 3.2 uses at condition number kappa, each of kappa's shape.

    Attributes
    ----------
    kappa
        condition number L/mu
    beta, tau, gamma
        momentum, weight of z in x, and 1/(sqrt(kappa) - 1)
    rho
        penalty on |y - x*|^2, in units of mu
    growth
        1 + gamma/2, by which the potential's factor grows each step
    rate
        1/growth, the contraction each step
    proof_alpha
        largest perturbation the proof supports; ``printed_alpha`` has the paper's
    """

    kappa: Floats
    beta: Floats
    tau: Floats
    gamma: Floats
    rho: Floats
    growth: Floats
    rate: Floats
    proof_alpha: Floats


def constants(kappa: ArrayLike) -> Constants:
    """All constants of Lemma 3.2 but the printed alpha.

    Parameters
    ----------
    kappa
        condition numbers above 1, any shape

    Returns
    -------
    Constants
        of kappa's shape.

    Raises
    ------
    ValueError
        at kappa <= 1, where gamma does not exist.

    References
    ----------
    Lemma 3.2 and its proof, Sec. 3.
    """
    k = _above("kappa", kappa, 1.0)
    s = np.sqrt(k)
    return Constants(
        kappa=k[()],
        beta=default_beta(k),
        tau=(1 / (s + 1))[()],
        gamma=(1 / (s - 1))[()],
        rho=(1 / (4 * (4 * s - 3)))[()],
        growth=((2 * s - 1) / (2 * s - 2))[()],
        rate=rate(k),
        proof_alpha=proof_alpha(k),
    )


def rate(kappa: ArrayLike) -> Floats:
    """The contraction of Lemma 3.2 each step.

        (2 s - 2)/(2 s - 1),   s = sqrt(kappa)

    Parameters
    ----------
    kappa
        condition numbers, 1 or more, any shape

    Returns
    -------
    ndarray
        the factor in [0, 1) of kappa's shape.

    Raises
    ------
    ValueError
        for a kappa below 1.

    References
    ----------
    Lemma 3.2.
    """
    s = np.sqrt(arguments.finite("kappa", kappa, minimum=1.0))
    return ((2 * s - 2) / (2 * s - 1))[()]


def printed_alpha(kappa: ArrayLike) -> Floats:
    """The size of perturbation that Theorem 3.1 prints.

        1/alpha = (kappa - 1) sqrt(2 s (kappa - 1) (s - 3)),   s = sqrt(kappa)

    It exists only for kappa > 9; up to kappa = (2 + sqrt 2)^2 = 11.66 it exceeds ``proof_alpha``.

    Parameters
    ----------
    kappa
        condition numbers above 9, any shape

    Returns
    -------
    ndarray
        alpha of kappa's shape.

    Raises
    ------
    ValueError
        at kappa <= 9.

    References
    ----------
    Theorem 3.1.
    """
    k = _above("kappa", kappa, 9.0, "as the printed alpha is the root of a negative number below; see proof_alpha")
    s = np.sqrt(k)
    return (1 / ((k - 1) * np.sqrt(2 * s * (k - 1) * (s - 3))))[()]


def proof_alpha(kappa: ArrayLike) -> Floats:
    """The largest alpha with which the proof of Lemma 3.2 goes through.

        1/alpha = (s + 1) sqrt(2 s (2 s - 1) (4 s - 3) / (s - 1)),   s = sqrt(kappa) > 1

    It approaches 1/(4 kappa).

    Parameters
    ----------
    kappa
        condition numbers above 1, any shape

    Returns
    -------
    ndarray
        alpha of kappa's shape.

    Raises
    ------
    ValueError
        at kappa <= 1.

    References
    ----------
    Fact 3.9's last display, (2 + 2/gamma)(1 + gamma/2) alpha^2 / tau^2 <= 2 rho / mu, with equality.
    """
    s = np.sqrt(_above("kappa", kappa, 1.0))
    return (np.sqrt((s - 1) / (2 * s * (2 * s - 1) * (4 * s - 3))) / (s + 1))[()]


@dataclass(frozen=True)
class Ball:
    """The neighbourhood of Theorem 3.1.

    Attributes
    ----------
    delta
        excess loss at the start
    eta
        distance |W_t - W*| along the run
    """

    delta: Floats
    eta: Floats


def ball(
    kappa: ArrayLike, sigma_min: ArrayLike, d: int, mu: ArrayLike = 1.0, *, alpha: ArrayLike | None = None
) -> Ball:
    """How near the optimum Theorem 3.1 must start, and how near its proof keeps the iterates.

        delta = mu alpha^2 sigma_min^2 / (256 beta^2 d),   eta = sqrt(16 delta / mu)

    All arguments but ``d`` broadcast.

    Parameters
    ----------
    kappa
        condition number, > 9 with the printed alpha and > 1 otherwise
    sigma_min
        smallest singular value of the teacher, positive
    d
        size of the matrices
    mu
        strong convexity: the smallest eigenvalue of Sigma
    alpha
        perturbation allowed; ``printed_alpha`` by default

    Returns
    -------
    Ball
        delta and eta of the broadcast shape.

    Raises
    ------
    ValueError
        naming the argument.

    References
    ----------
    Theorem 3.1.
    """
    k = _above("kappa", kappa, 1.0)
    size = printed_alpha(k) if alpha is None else arguments.positive("alpha", alpha)
    smallest, strong = arguments.positive("sigma_min", sigma_min), arguments.positive("mu", mu)
    d = arguments.count("d", d, minimum=1)
    arguments.broadcast(kappa=k, sigma_min=smallest, mu=strong, alpha=size)
    eta = size * smallest / (4 * default_beta(k) * np.sqrt(d))
    return Ball((strong * eta**2 / 16)[()], eta[()])


def edge_start(teacher: ArrayLike, covariance: ArrayLike, delta: ArrayLike) -> Floats:
    """A start on the way from the teacher to the identity whose excess loss is delta: the edge of the ball.

        W_0 = W* + c (I - W*),    c > 0 such that (1/2) Tr((W_0 - W*) Sigma (W_0 - W*)') = delta

    Parameters
    ----------
    teacher, covariance
        as in ``linear.run``, (..., d, d), the teacher not the identity
    delta
        positive, (...)

    Returns
    -------
    ndarray
        W_0, (..., d, d).

    Raises
    ------
    ValueError
        naming the argument, a teacher that is the identity among them.
    """
    target = arguments.positive("delta", delta)
    s = Setting("gd", teacher, covariance, 0, None, None, None, 0)
    offset = np.eye(s.shape[-1]) - s.teacher
    whole = s.excess(offset)
    if not (whole > 0).all():
        raise ValueError("teacher is the identity: there is no way from it to the identity to start on.")
    arguments.broadcast(delta=target, teacher=whole)
    return s.teacher + np.sqrt(target / whole)[..., None, None] * offset


def lemma_bounds(
    kappa: ArrayLike, steps: int, *, smoothness: ArrayLike, distance: ArrayLike, gap: ArrayLike
) -> tuple[Floats, Floats]:
    """Both bounds of Lemma 3.2 on the excess loss at t = 0 .. steps.

        rate^t (L/2 + 8 s mu / (4 (4 s - 3))) |x_0 - x*|^2      and      rate^t 8 s / (4 s - 3) (l(y_0) - l(x*))

    All arguments but ``steps`` broadcast.

    Parameters
    ----------
    kappa
        condition number, >= 1, s its root
    steps
        the last t
    smoothness
        L, positive
    distance
        |x_0 - x*|
    gap
        l(y_0) - l(x*)

    Returns
    -------
    from_distance, from_gap : ndarray
        the two bounds, (steps + 1, ...) each.

    Raises
    ------
    ValueError
        naming the argument.

    References
    ----------
    Lemma 3.2.
    """
    k = arguments.finite("kappa", kappa, minimum=1.0)
    top = arguments.positive("smoothness", smoothness)
    far, excess = arguments.finite("distance", distance, minimum=0.0), arguments.finite("gap", gap, minimum=0.0)
    shape = arguments.broadcast(kappa=k, smoothness=top, distance=far, gap=excess)
    s, t = np.sqrt(k), np.arange(arguments.count("steps", steps) + 1.0).reshape(-1, *(1,) * len(shape))
    with np.errstate(under="ignore"):
        fall = rate(k) ** t
        first = fall * ((top / 2 + 2 * s * (top / k) / (4 * s - 3)) * far**2)
        second = fall * (8 * s / (4 * s - 3) * excess)
    return np.broadcast_to(first, (t.shape[0], *shape)), np.broadcast_to(second, (t.shape[0], *shape))


@dataclass(frozen=True)
class WarmupStages:
    """Stages until Theorem 3.1 applies, from the first iterate.

    Attributes
    ----------
    delta
        excess loss at which stacking may begin
    formula
        T_0 of Corollary 3.6, kappa log((l(W_1) - l*)/delta) + 2, and 0 where that is negative
    descent
        first stage at which plain descent is at most delta
    stacking
        the same for stacking from the first stage; -1 if not within ``cap`` stages
    """

    delta: float
    formula: float
    descent: int
    stacking: int


def warmup_stages(
    teacher: ArrayLike,
    covariance: ArrayLike,
    *,
    start: ArrayLike | None = None,
    alpha: float | None = None,
    cap: int = 5000,
) -> WarmupStages:
    """How long the warm-up of Corollary 3.6 is: by its formula, as plain descent needs it, and without one.

    Parameters
    ----------
    teacher, covariance, start
        one problem, (d, d) each, as in ``linear.run``
    alpha
        the perturbation allowed; ``printed_alpha`` by default
    cap
        stages after which stacking is given up

    Returns
    -------
    WarmupStages
        all three, and delta.

    Raises
    ------
    ValueError
        as ``linear.run`` and ``ball`` do, and for more than one problem.

    References
    ----------
    Corollary 3.6.
    """
    s = Setting("gd", teacher, covariance, 1, None, start, None, 0)
    if len(s.shape) != 2:
        raise ValueError(f"teacher and covariance of shape {s.shape} are not allowed: one problem, (d, d), at a time.")
    smallest = float(np.linalg.svd(s.teacher, compute_uv=False)[-1])
    delta = float(ball(s.kappa, smallest, s.shape[-1], s.mu, alpha=alpha).delta)
    eigenvalues, basis = np.linalg.eigh(s.covariance)
    weights = 0.5 * eigenvalues * (((s.start - s.teacher) @ basis) ** 2).sum(axis=0)
    shrink = 1 - eigenvalues / eigenvalues[-1]

    def plain(t: int) -> float:
        with np.errstate(under="ignore"):
            return float(weights @ shrink ** (2 * t))

    low, high = 0, 1
    while plain(high) > delta:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if plain(middle) > delta else (low, middle)
    descent = 0 if plain(0) <= delta else high
    stacked = Setting("stacking", teacher, covariance, cap, None, start, None, 0)
    reached = next((t for t, error in enumerate(stacked.course()) if stacked.excess(error) <= delta), -1)
    over = plain(1) / delta
    formula = max(float(s.kappa) * float(np.log(over)) + 2, 0.0) if over > 0 else 0.0
    return WarmupStages(delta, formula, descent, reached)


def _above(name: str, value: ArrayLike, least: float, why: str = "") -> Floats:
    array = arguments.finite(name, value)
    if (array <= least).any():
        bad = float(array[array <= least].flat[0]) if array.ndim else float(array)
        raise arguments.refuse(name, bad, f"above {least:g}{', ' + why if why else ''}")
    return array
