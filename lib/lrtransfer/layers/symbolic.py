"""Expected losses by computer algebra, exactly and for a symbolic width: what the printed formulas should be.

The reductions of ``circle`` and ``deep`` make every loss a polynomial; sympy is imported only when a function here is
called.
"""

from __future__ import annotations

from typing import Any

from lrtransfer.numerics import arguments


def symbolic_two_layers(steps: int, signal_only: bool = True) -> Any:
    """``expected_loss`` of two layers in symbols: a sympy expression in eta1, eta2 and h.

    Parameters
    ----------
    steps
        >= 0; the number of terms grows like 27^steps, three steps of gradient descent are too many. The weights are
        Laurent polynomials in z with conj(z) = 1/z; E tr Q^k = 1 for even k != 0, 0 for odd k and h for k = 0.
    signal_only
        Of the surrogate, or of gradient descent.

    Returns
    -------
    sympy.Expr
        The loss in the positive symbols eta1, eta2 and h.

    Raises
    ------
    ValueError
        For steps below 0.

    Source: the reduction of ``circle``.
    """
    import sympy
    from sympy.polys.rings import ring

    number = arguments.count("steps", steps)
    arguments.flag("signal_only", signal_only)
    # q = 1/sqrt(h): every coefficient is a polynomial in q; a Laurent polynomial is {power of z: coefficient}
    polynomials, eta1, eta2, q = ring("eta1, eta2, q", sympy.QQ)

    def add(x: dict[int, Any], y: dict[int, Any], factor: Any) -> dict[int, Any]:
        return {k: x.get(k, polynomials(0)) + factor * y.get(k, polynomials(0)) for k in x.keys() | y.keys()}

    def multiply(x: dict[int, Any], y: dict[int, Any]) -> dict[int, Any]:
        out: dict[int, Any] = {}
        for i, left in x.items():
            for j, right in y.items():
                out[i + j] = out.get(i + j, polynomials(0)) + left * right
        return out

    def conj(x: dict[int, Any]) -> dict[int, Any]:
        return {-power: coefficient for power, coefficient in x.items()}

    def error(w1: dict[int, Any], w2: dict[int, Any]) -> dict[int, Any]:
        return add({1: -q}, multiply(w1, w2), q**2)

    w1 = w2 = {0: polynomials(1)}
    for _ in range(number):
        push = {1: -q} if signal_only else error(w1, w2)
        w1, w2 = (
            add(w1, multiply(push, conj(w2)), -eta1 * q**2),
            add(w2, multiply(push, conj(w1)), -eta2 * q**2),
        )
    last = error(w1, w2)
    square = multiply(last, conj(last))
    h = sympy.Symbol("h", positive=True)
    traces = h * square[0].as_expr() + sum(c.as_expr() for k, c in square.items() if k and k % 2 == 0)
    return _in_width(traces, h)


def _in_width(expression: Any, h: Any) -> Any:
    """The polynomial rewritten in positive symbols eta1, eta2 and h, q = 1/sqrt(h)."""
    import sympy

    eta1, eta2 = sympy.symbols("eta1 eta2", positive=True)
    names = {"eta1": eta1, "eta2": eta2, "q": 1 / sympy.sqrt(h)}
    return sympy.expand(expression.subs({sympy.Symbol(name): value for name, value in names.items()}))


def symbolic_three_layers(steps: int, signal_only: bool = True, unit_norms: bool = False) -> Any:
    """``deep_loss`` of three layers (k = 2) in symbols: a sympy expression in eta1, eta2 and h.

    Vectors in span{a, beta} are pairs of coefficients, their products the three numbers |a|^2, a'beta and |beta|^2,
    whose moments for a, beta ~ N(0, I/h) follow from a'beta = |a| g / sqrt(h) and |beta|^2 = g^2/h + r with g normal
    and |a|^2, r chi-square over h, with h and h - 1 degrees of freedom.

    Parameters
    ----------
    steps
        >= 0; the number of terms grows fast, three steps of gradient descent are too many.
    signal_only
        Of the surrogate, or of gradient descent.
    unit_norms
        Take |a| = |beta| = 1, directions uniform on the sphere, as the authors' formulas do.

    Returns
    -------
    sympy.Expr
        The loss in the positive symbols eta1, eta2 and h.

    Raises
    ------
    ValueError
        For steps below 0.

    Source: the reduction of ``deep``.
    """
    import sympy
    from sympy.polys.rings import ring

    number = arguments.count("steps", steps)
    arguments.flag("signal_only", signal_only)
    arguments.flag("unit_norms", unit_norms)
    polynomials, eta1, eta2, q, aa, ab, bb = ring("eta1, eta2, q, aa, ab, bb", sympy.QQ)
    zero, one = polynomials(0), polynomials(1)
    gram = [[aa, ab], [ab, bb]]
    a, beta = [one, zero], [zero, one]
    # W = I + (a, beta) C (a, beta)': C acts on coefficients through the Gram matrix
    c1, c2 = ([[zero, zero], [zero, zero]] for _ in range(2))

    def inner(x: list[Any], y: list[Any]) -> Any:
        return sum(x[i] * gram[i][j] * y[j] for i in range(2) for j in range(2))

    def apply(c: list[list[Any]], x: list[Any]) -> list[Any]:
        dual = [inner(a, x), inner(beta, x)]
        return [x[i] + c[i][0] * dual[0] + c[i][1] * dual[1] for i in range(2)]

    def transposed(c: list[list[Any]]) -> list[list[Any]]:
        return [[c[0][0], c[1][0]], [c[0][1], c[1][1]]]

    def residual(behind: list[Any]) -> list[Any]:
        output = apply(c1, behind)
        return [q * output[0] - beta[0], q * output[1] - beta[1]]

    for _ in range(number):
        behind = apply(c2, a)
        push = [-beta[0], -beta[1]] if signal_only else residual(behind)
        before = apply(transposed(c1), push)
        c1 = [[c1[i][j] - eta1 * q * push[i] * behind[j] for j in range(2)] for i in range(2)]
        c2 = [[c2[i][j] - eta2 * q * before[i] * a[j] for j in range(2)] for i in range(2)]
    error = residual(apply(c2, a))
    h = sympy.Symbol("h", positive=True)

    def moment(i: int, j: int, m: int) -> Any:
        """E |a|^(2i) (a'beta)^j |beta|^(2m)."""
        if j % 2:
            return sympy.Integer(0)
        odd = sympy.factorial2(j - 1)
        if unit_norms:
            return odd / sympy.prod([h + 2 * n for n in range(j // 2)])
        norm = sympy.prod([(h + 2 * n) / h for n in range(i + j // 2)])
        rest = sum(
            sympy.binomial(m, n)
            * sympy.factorial2(2 * n + j - 1)
            / h ** (n + j // 2)
            * sympy.prod([(h - 1 + 2 * o) / h for o in range(m - n)])
            for n in range(m + 1)
        )
        return norm * rest

    groups: dict[tuple[int, int, int], Any] = {}
    for (e1, e2, power, i, j, m), coefficient in inner(error, error).terms():
        term = polynomials({(e1, e2, power, 0, 0, 0): coefficient})
        groups[i, j, m] = groups.get((i, j, m), zero) + term
    total = sum(sympy.expand(moment(*key)) * value.as_expr() for key, value in groups.items())
    return _in_width(total, h)
