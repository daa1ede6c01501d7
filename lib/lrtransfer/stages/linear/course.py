"""The loop over stages of a deep linear residual network, its checked arguments, and the matrices' own arithmetic."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array

METHODS = ("gd", "stacking", "nesterov")
_EPS = float(np.finfo(np.float64).eps)
SAFE = 0.1 / _EPS  # a condition number, in Frobenius norms, at which rounding leaves no doubt that there is an inverse
EXPLODED = 1e8  # a network so many times larger than where it began and must go, and not invertible, has diverged


class SingularIterate(ArithmeticError):
    """A stacked network became singular, so the layer to copy, w_t = W_t W_{t-1}^{-1} - I, does not exist."""


def default_beta(kappa: ArrayLike) -> Array:
    """Nesterov's momentum, (sqrt(kappa) - 1)/(sqrt(kappa) + 1).

    Parameters
    ----------
    kappa
        condition numbers, 1 or more, any shape

    Returns
    -------
    ndarray
        beta in [0, 1), of kappa's shape.

    Raises
    ------
    ValueError
        for a kappa below 1.
    """
    root = np.sqrt(arguments.finite("kappa", kappa, minimum=1.0))
    return ((root - 1) / (root + 1))[()]


class Setting:
    """Checked arguments of a run, broadcast, and the loop over stages."""

    def __init__(
        self,
        method: str,
        teacher: ArrayLike,
        covariance: ArrayLike,
        stages: int,
        beta: ArrayLike | None,
        start: ArrayLike | None,
        previous: ArrayLike | None,
        warmup: int,
    ) -> None:
        self.method = arguments.choice("method", method, METHODS)
        self.stages, self.warmup = arguments.count("stages", stages), arguments.count("warmup", warmup)
        given = {"teacher": square("teacher", teacher), "covariance": square("covariance", covariance)}
        eigenvalues = spectrum(given["covariance"])
        given |= {n: square(n, v) for n, v in (("start", start), ("previous", previous)) if v is not None}
        d = given["teacher"].shape[-1]
        wrong = [f"{n} of shape {v.shape}" for n, v in given.items() if v.shape[-1] != d]
        if wrong:
            raise ValueError(f"{', '.join(wrong)} and teacher of shape {given['teacher'].shape} do not match.")
        if beta is not None:
            outside = (arguments.finite("beta", beta) < 0) | (np.asarray(beta) > 1)
            if outside.any():
                raise arguments.refuse("beta", np.asarray(beta)[outside].flat[0], "in [0, 1]")
        heads = {n: v[..., 0, 0] for n, v in given.items()} | ({} if beta is None else {"beta": np.asarray(beta)})
        lead = arguments.broadcast(**heads)
        self.shape = (*lead, d, d)
        self.teacher, self.covariance = (np.broadcast_to(given[n], self.shape) for n in ("teacher", "covariance"))
        self.start = np.broadcast_to(given.get("start", np.eye(d)), self.shape)
        self.previous = np.broadcast_to(given.get("previous", self.start), self.shape)
        self.scale = np.maximum(*(frobenius(m) for m in (self.teacher, self.start)))
        self.top: Array = np.broadcast_to(eigenvalues[..., -1], lead)
        self.mu: Array = np.broadcast_to(eigenvalues[..., 0], lead)
        self.kappa = self.top / self.mu
        chosen = default_beta(self.kappa) if beta is None else arguments.finite("beta", beta)
        self.beta: Array = np.broadcast_to(chosen, lead)

    def course(self) -> Iterator[Array]:
        """The errors E_0, E_1, .. E_stages, each (..., d, d)."""
        shrink = np.eye(self.shape[-1]) - self.covariance / self.top[..., None, None]
        momentum = self.beta[..., None, None]
        moving = self.method != "gd" and bool(self.beta.any())
        before, error = self.previous - self.teacher, self.start - self.teacher
        yield error
        for t in range(self.stages):
            with np.errstate(over="ignore", invalid="ignore", under="ignore"):
                ahead = error
                if moving and t >= self.warmup:
                    step = error - before
                    if self.method == "stacking":
                        step = step + self.copied(before, step, t) @ step
                    ahead = error + momentum * step
                before, error = error, ahead @ shrink
                gone = np.logical_not(np.isfinite(error).all(axis=(-2, -1)))
            if gone.any():
                error = np.where(np.asarray(gone)[..., None, None], np.inf, error)
            yield error

    def copied(self, before: Array, step: Array, t: int) -> Array:
        """The layer w_t = (W_t - W_{t-1}) W_{t-1}^{-1}; 0 where nothing moved, NaN where the run has diverged."""
        squares = np.einsum("...ij,...ij->...", step, step)
        moved = np.asarray((squares > 0) & (squares < np.inf))
        if not moved.all():  # or too small or too large to be squared
            moved = np.isfinite(step).all(axis=(-2, -1)) & (step != 0).any(axis=(-2, -1))
        given = ("previous", "start")[t] if t < 2 else None
        below = before + self.teacher if given is None else getattr(self, given)  # rounded beside a large teacher
        base = below if moved.all() else np.where(moved[..., None, None], below, np.eye(self.shape[-1]))
        inverse, singular = inverses(base)
        if given is not None and singular.any():
            sizes = np.linalg.svd(base.reshape(-1, *base.shape[-2:])[singular.argmax()], compute_uv=False)
            raise ValueError(
                f"{given} with singular values from {sizes[0]:.3g} down to {sizes[-1]:.3g} is not allowed: it must "
                f"not be singular to working precision, as stacking copies the layer w_{t} = W_{t} W_{t - 1}^-1 - I; "
                'beta = 0 copies none, and method "nesterov" needs no inverse.'
            )
        if singular.any():
            exploded = singular & (frobenius(base) > EXPLODED * self.scale)
            inverse = np.where(exploded[..., None, None], np.nan, inverse)
            singular = singular & ~exploded
        if singular.any():
            where = [int(i) for i in np.argwhere(singular)[0]]
            of = f" of problem {tuple(where)}" if where else ""
            raise SingularIterate(
                f"Stacking cannot begin stage {t + 1}: the network W_{t - 1}{of} is singular to working precision, so "
                f"w_{t} = W_{t} W_{t - 1}^-1 - I does not exist. Start elsewhere (start), take some plain stages first "
                '(warmup, of run), lower beta, or use method "nesterov", which needs no inverse.'
            )
        return step @ inverse

    def losses(self) -> Array:
        """Excess loss along the course, (stages + 1, ...), of some stages at a time: all would be kept, one is slow."""
        course, losses = self.course(), []
        some = max(1, 100_000 // max(1, int(np.prod(self.shape))))
        while block := list(islice(course, some)):
            losses.append(self.excess(np.stack(block)))
        return np.concatenate(losses)

    def excess(self, errors: Array) -> Array:
        """Excess loss of errors (..., d, d)."""
        gone = np.asarray(~np.isfinite(errors).all(axis=(-2, -1)))
        kept = np.where(gone[..., None, None], 0.0, errors)
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            loss = 0.5 * np.einsum("...ij,...ij->...", kept @ self.covariance, kept)
        return np.where(gone | ~np.isfinite(loss), np.inf, np.maximum(loss, 0.0))


def square(name: str, value: ArrayLike) -> Array:
    """A finite array of square matrices.

    Parameters
    ----------
    name
        of the argument, for the error
    value
        (..., d, d)

    Returns
    -------
    ndarray
        the same as floats.

    Raises
    ------
    ValueError
        naming the argument.
    """
    array = arguments.finite(name, value)
    if array.ndim < 2 or array.shape[-1] != array.shape[-2] or array.shape[-1] == 0:
        raise ValueError(f"{name} of shape {array.shape} is not allowed: {name} must be (..., d, d), square matrices.")
    return array


def spectrum(covariance: Array) -> Array:
    """Eigenvalues of checked symmetric positive definite matrices.

    Parameters
    ----------
    covariance
        (..., d, d)

    Returns
    -------
    ndarray
        (..., d), rising.

    Raises
    ------
    ValueError
        where one is not symmetric, or not positive definite to working precision.
    """
    size = np.abs(covariance).max(axis=(-2, -1), keepdims=True)
    skew = np.abs(covariance - np.swapaxes(covariance, -1, -2))
    if (skew > 1e-10 * size).any():
        *which, i, j = (int(k) for k in np.unravel_index(np.argmax(skew / np.where(size > 0, size, 1.0)), skew.shape))
        one = covariance[tuple(which)]
        raise ValueError(
            f"covariance is not symmetric, its entries ({i}, {j}) and ({j}, {i}) are {one[i, j]:g} and {one[j, i]:g}: "
            "covariance must be a symmetric positive definite matrix."
        )
    eigenvalues = np.asarray(np.linalg.eigvalsh(covariance), dtype=np.float64)
    worst = eigenvalues[..., 0] / np.where(eigenvalues[..., -1] > 0, eigenvalues[..., -1], 1.0)
    if (worst <= covariance.shape[-1] * _EPS).any() or (eigenvalues[..., 0] <= 0).any():
        raise ValueError(
            f"covariance has an eigenvalue {float(eigenvalues[..., 0].min()):.3g}, singular to working precision or "
            "indefinite: covariance must be symmetric positive definite, as kappa = L/mu is infinite otherwise."
        )
    return eigenvalues


def frobenius(matrices: Array) -> Array:
    """Frobenius norm, without overflow or underflow on the way.

    Parameters
    ----------
    matrices
        (..., d, d)

    Returns
    -------
    ndarray
        (...); inf or nan where an entry is.
    """
    with np.errstate(under="ignore", over="ignore", invalid="ignore"):
        squares = np.asarray(np.einsum("...ij,...ij->...", matrices, matrices))
        if ((squares > 1e-200) & (squares < 1e200)).all():
            return np.sqrt(squares)[()]
    size = np.abs(matrices).max(axis=(-2, -1), keepdims=True)
    safe = np.where((size > 0) & np.isfinite(size), size, 1.0)
    with np.errstate(under="ignore", over="ignore", invalid="ignore"):
        return safe[..., 0, 0] * np.sqrt(((matrices / safe) ** 2).sum(axis=(-2, -1)))


def inverses(matrices: Array) -> tuple[Array, NDArray[np.bool_]]:
    """Inverses, and where there is none to working precision.

    Parameters
    ----------
    matrices
        (..., d, d), finite

    Returns
    -------
    inverses : ndarray
        (..., d, d); the identity where there is none
    singular : ndarray
        (...), whether that is so.
    """
    d = matrices.shape[-1]
    singular = np.zeros(matrices.shape[:-2], dtype=bool)
    try:
        inverse = np.asarray(np.linalg.inv(matrices), dtype=np.float64)
        with np.errstate(over="ignore", invalid="ignore", under="ignore"):
            squares = (np.einsum("...ij,...ij->...", m, m) for m in (matrices, inverse))
            if (next(squares) * next(squares) < SAFE**2).all():
                return inverse, singular
    except np.linalg.LinAlgError:  # numpy refuses the whole batch for one exact zero pivot: find out which
        singular = np.linalg.matrix_rank(matrices) < d
        inverse = np.linalg.inv(np.where(singular[..., None, None], np.eye(d), matrices))
    with np.errstate(over="ignore", invalid="ignore"):
        condition = frobenius(matrices) * frobenius(inverse)
    singular = singular | ~(condition < 1 / _EPS)
    return np.where(singular[..., None, None], np.eye(d), inverse) if singular.any() else inverse, singular
