"""A Gaussian matrix that is never stored: its products are drawn when they are asked for, exactly in law.

After the products ``W Q = Y`` (``Q`` orthonormal) and ``W' P = Z`` (``P`` orthonormal) are known, the law of
an iid Gaussian ``W`` given them is

    W = Y Q' + P Z' (1 - Q Q') + (1 - P P') G (1 - Q Q'),        G a fresh Gaussian matrix.

So the answer for a unit vector ``e`` orthogonal to ``Q`` is ``g + P (Z' e - P' g)`` with one fresh Gaussian
vector ``g``: nothing of size n x n appears. Bolthausen's conditioning, used for message passing and tensor
programs.

The fresh vector may live in either of two kinds of space.

``Euclidean(n)``  the n coordinates themselves: q products cost O(n q) memory and O(n q) time each.
``Rotated(n)``    coordinates that grow with what is known: exact in law at a cost that does not depend on n.

A fresh Gaussian vector of R^n has iid coordinates along the k known directions, and beyond them a uniformly
random direction and a chi length with n - k degrees of freedom. Everything else is invariant under rotations
beyond the known directions, so that direction may be called the next coordinate. As n grows the iid
coordinates (divided by sqrt(n)) vanish and the length tends to one: ``width = math.inf`` is the
infinite-width limit, by the same program.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import qr

from lrtransfer.numerics import arguments
from lrtransfer.numerics.arrays import Array

# A query closer than this (relative to its length) to the span of earlier ones counts as inside it. Rounding
# leaves about 1e-16 of a truly dependent vector, so the tolerance is far above rounding and its effect far
# below 1e-10.
_DEPENDENT = 1e-12


class Space(Protocol):
    """Where the vectors on one side of a matrix live.

    Attributes
    ----------
    size
        length of a vector in it, now
    """

    size: int

    def fresh(self, rng: np.random.Generator, count: int) -> Array:
        """``count`` new Gaussian vectors as rows, shape (count, size)."""


class Euclidean:
    """R^dim in its own coordinates; fresh vectors have iid N(0, unit^2) entries.

    Parameters
    ----------
    dim
        the number of coordinates, 1 or more
    unit
        standard deviation of an entry
    """

    def __init__(self, dim: int, unit: float = 1.0) -> None:
        self.size = arguments.count("dim", dim, minimum=1)
        self.unit = arguments.one("unit", arguments.finite("unit", unit, minimum=0.0))

    def fresh(self, rng: np.random.Generator, count: int) -> Array:
        """New Gaussian vectors as rows.

        Parameters
        ----------
        rng
            what they are drawn from
        count
            how many

        Returns
        -------
        ndarray
            (count, dim).
        """
        return self.unit * rng.standard_normal((count, self.size))


class Rotated:
    """R^width in coordinates that name each new direction when it appears; N(0, 1/width) entries.

    Parameters
    ----------
    width
        dimension of the space, 1 or more, or ``math.inf``

    Attributes
    ----------
    size
        the number of directions named so far; older, shorter vectors are those with zeros appended
    """

    def __init__(self, width: float) -> None:
        self.width = arguments.one("width", arguments.integer("width", width, infinite=True))
        self.size = 0

    def fresh(self, rng: np.random.Generator, count: int) -> Array:
        """New Gaussian vectors as rows.

        Parameters
        ----------
        rng
            what they are drawn from
        count
            how many

        Returns
        -------
        ndarray
            (count, size) with the size after them.
        """
        known = self.size
        new = int(min(count, self.width - known))  # beyond width directions there is nothing left to name
        rows = np.zeros((count, known + new))
        index = np.arange(new)
        if math.isinf(self.width):
            rows[index, known + index] = 1.0
        elif count == new == 1:  # the common case, without the triangle
            rows[0, :known] = rng.standard_normal(known)
            rows[0, known:] = np.sqrt(rng.chisquare(self.width - known, new))
            rows /= math.sqrt(self.width)
        else:
            rows[:, :known] = rng.standard_normal((count, known))
            rows[:, known:] = np.tril(rng.standard_normal((count, new)), -1)
            rows[index, known + index] = np.sqrt(rng.chisquare(self.width - known - index))
            rows /= math.sqrt(self.width)
        self.size += new
        return rows


class _Rows:
    """A growing stack of row vectors whose length may grow as well."""

    def __init__(self) -> None:
        self._store = np.zeros((0, 0))
        self.count = 0

    @property
    def nbytes(self) -> int:
        return self._store.nbytes

    def view(self, size: int) -> Array:
        rows, columns = self._store.shape
        if size > columns:
            self._resize(rows, size if columns == 0 else max(size, 2 * columns))
        return self._store[: self.count, :size]

    def append(self, vectors: Array) -> None:
        count, size = vectors.shape
        rows, columns = self._store.shape
        if self.count + count > rows:  # longer vectors alone need no more rows: these would multiply from step to step
            rows = max(self.count + count, 2, rows + rows // 2)
        if (rows, max(size, columns)) != self._store.shape:
            self._resize(rows, columns if size <= columns else size if columns == 0 else max(size, 2 * columns))
        self._store[self.count : self.count + count, :size] = vectors
        self.count += count

    def _resize(self, rows: int, columns: int) -> None:
        store = np.zeros((rows, columns))
        store[: self.count, : self._store.shape[1]] = self._store[: self.count]
        self._store = store


def _space(name: str, value: int | Space) -> Space:
    """The space of one side of a matrix: its own, or R^n for a number n."""
    if isinstance(value, type) or not all(hasattr(value, part) for part in ("size", "fresh")) or hasattr(value, "ndim"):
        return Euclidean(arguments.count(name, value, minimum=1))
    return value  # type: ignore[return-value]


class LazyGaussian:
    """A matrix with iid Gaussian entries, revealed one product at a time.

    Entries are N(0, scale^2) for plain dimensions (integers) and scale times the unit of the spaces
    otherwise. Products are exact in law jointly, consistent with one another (the same vector gives the same
    answer, answers are linear, ``<W u, v> = <u, W' v>``), whatever the order and however the queries depend
    on earlier answers.

    Parameters
    ----------
    rows, cols
        dimensions, or spaces (``Euclidean``, ``Rotated``), of the answers and of the queries of ``matvec``
    scale
        standard deviation of an entry, in units of the spaces, positive
    seed
        anything ``numpy.random.default_rng`` accepts

    Raises
    ------
    ValueError
        for a scale that is not positive, and for a query that is longer than its space or not finite.

    References
    ----------
    The conditional law in the module's docstring.
    """

    def __init__(
        self,
        rows: int | Space,
        cols: int | Space,
        *,
        scale: float = 1.0,
        seed: int | np.random.SeedSequence | np.random.Generator,
    ) -> None:
        self.rows: Space = _space("rows", rows)
        self.cols: Space = _space("cols", cols)
        self.scale = arguments.one("scale", arguments.positive("scale", scale))
        known = isinstance(seed, np.random.SeedSequence | np.random.Generator)
        self._rng = np.random.default_rng(seed if known else arguments.seed("seed", seed))
        self._right = _Rows(), _Rows()  # orthonormal queries of matvec, and their answers
        self._left = _Rows(), _Rows()  # the same for rmatvec

    @property
    def asked(self) -> tuple[int, int]:
        """How many independent directions ``matvec`` and ``rmatvec`` have been asked about."""
        return self._right[0].count, self._left[0].count

    @property
    def nbytes(self) -> int:
        """Memory of what has been revealed: directions and answers of both sides, with room to grow."""
        return sum(rows.nbytes for side in (self._right, self._left) for rows in side)

    def matvec(self, x: ArrayLike) -> Array:
        """The product ``W x``.

        Parameters
        ----------
        x
            one vector or a block of columns, (cols,) or (cols, q)

        Returns
        -------
        ndarray
            (rows,) or (rows, q).
        """
        return self._ask(x, self._right, self._left, self.cols, self.rows)

    def rmatvec(self, x: ArrayLike) -> Array:
        """The product ``W' x``.

        Parameters
        ----------
        x
            one vector or a block of columns, (rows,) or (rows, q)

        Returns
        -------
        ndarray
            (cols,) or (cols, q).
        """
        return self._ask(x, self._left, self._right, self.rows, self.cols)

    def known(self) -> Array:
        """A matrix that gives every answer so far, ``Y Q' + P Z' (1 - Q Q')``, shape (rows, cols)."""
        q, y = self._right[0].view(self.cols.size), self._right[1].view(self.rows.size)
        p, z = self._left[0].view(self.rows.size), self._left[1].view(self.cols.size)
        return y.T @ q + p.T @ (z - (z @ q.T) @ q)

    def _ask(self, x: ArrayLike, own: tuple[_Rows, _Rows], dual: tuple[_Rows, _Rows], into: Space, out: Space) -> Array:
        columns = np.asarray(x, dtype=np.float64)
        if columns.ndim not in (1, 2) or columns.shape[0] > into.size:
            raise arguments.refuse("x", columns.shape, f"a vector or block of columns of length {into.size}")
        if not np.isfinite(columns).all():
            raise arguments.refuse("x", "an array with infinite or undefined entries", "finite")
        queries = columns[None] if columns.ndim == 1 else columns.T
        if columns.shape[0] < into.size:  # an older vector of a space that has grown since
            queries = np.pad(queries, ((0, 0), (0, into.size - columns.shape[0])))
        new = _new_directions(queries, own[0].view(into.size))
        if len(new):
            answers = self.scale * out.fresh(self._rng, len(new))
            p, z = dual[0].view(out.size), dual[1].view(into.size)
            answers += (new @ z.T - answers @ p.T) @ p  # along P the transposed products already fixed the answer
            own[0].append(new)
            own[1].append(answers)
        result = (queries @ own[0].view(into.size).T) @ own[1].view(out.size)
        return result[0] if columns.ndim == 1 else result.T


def _new_directions(queries: Array, basis: Array) -> Array:
    """Orthonormal rows spanning what the rows of ``queries`` add to the orthonormal rows of ``basis``."""
    largest = np.abs(queries).max(axis=1, initial=0.0)
    if not largest.any():
        return queries[:0]
    scaled = queries[largest > 0] / largest[largest > 0, None]  # first, so that no square overflows
    scaled /= np.sqrt(np.einsum("qn,qn->q", scaled, scaled))[:, None]
    rest = _orthonormal(scaled - (scaled @ basis.T) @ basis, _DEPENDENT)
    if len(rest) == 0 or len(basis) == 0:
        return rest
    # What is left along the basis after one projection, 1e-16, has grown by the normalisation: project again.
    return _orthonormal(rest - (rest @ basis.T) @ basis, 0.5)


def _orthonormal(rows: Array, tolerance: float) -> Array:
    """Orthonormal rows spanning ``rows`` up to ``tolerance``; a single row keeps its direction."""
    if len(rows) == 0:
        return rows
    if len(rows) == 1:
        length = math.sqrt(rows[0] @ rows[0])
        return rows / length if length > tolerance else rows[:0]
    q, r, _ = qr(rows.T, mode="economic", pivoting=True, check_finite=False)
    diagonal = np.diag(r)
    keep = np.abs(diagonal) > tolerance
    return (q[:, : len(diagonal)][:, keep] * np.sign(diagonal[keep])).T
