"""Words and numbers of checks as HTML: Greek letters, powers and indices typeset, rounding errors called by name.

Checks are written in plain characters, so that a terminal and claims.json can show them: ``eta_n <= n^(-1/2)``. A page
shows the same words with their signs. No script is needed for it.
"""

from __future__ import annotations

import html
import re

GREEK = {
    **dict(zip("alpha beta gamma delta epsilon zeta eta theta kappa lambda".split(), "αβγδεζηθκλ", strict=True)),
    **dict(zip("mu xi rho sigma tau phi chi psi omega".split(), "μξρστφχψω", strict=True)),
    **dict(zip("Delta Sigma Phi Psi Lambda Theta".split(), "ΔΣΦΨΛΘ", strict=True)),
}
ROUNDING = 1e-8  # below it a number that is asked to vanish is a rounding error, if the question was as fine

_LETTERS = "|".join(sorted(GREEK, key=len, reverse=True))
_RULES: tuple[tuple[str, str], ...] = (
    (r"&lt;=", "≤"),
    (r"&gt;=", "≥"),
    (r"-&gt;", "→"),
    (r"\|\|", "‖"),
    (r"\bmuP\b", "μP"),
    (r"\bsqrt\(([\w*]+)\)", r"√\1"),
    (r"\bsqrt(?: (?=\w)|(?=\())", "√"),
    (r"\^\(([^()]+)\)", r"<sup>\1</sup>"),
    (r"\^(-?\w+(?:\.\d+)?(?:/\d+)?)", r"<sup>\1</sup>"),
    (r"(?<=\w)_inf\b", "<sub>∞</sub>"),
    (r"(?<=\w)_\{([^{}]+)\}", r"<sub>\1</sub>"),
    (r"(?<=\w)_(\w+)", r"<sub>\1</sub>"),
    (rf"\b(L|{_LETTERS})(\d)\b", r"\1<sub>\2</sub>"),
    (r"(?<![\w.,)’-])-(?=[\dS(<])", "−"),
    (r" - ", " − "),
    (r"(<su[bp]>\w*)-", r"\1−"),
)
_SYMBOL = re.compile(rf"\b({_LETTERS})(?![a-zA-Z])|(?<![\w'’.])([BKLNPSTVWcdhmnrstwxy])(?![\w'’]|\.\s?[A-Z\d])")
_TAG = re.compile(r"(<[^>]*>|&\w+;)")


def number(value: float, digits: int = 4) -> str:
    """A number as HTML.

    Parameters
    ----------
    value
        any number, infinite ones too
    digits
        significant ones

    Returns
    -------
    str
        with a minus sign, and a power of ten in place of an ``e``.
    """
    value = float(value)
    if value in (float("inf"), float("-inf")):
        return "−∞" if value < 0 else "∞"
    return _powers(f"{value:.{digits}g}").replace("-", "−")


def _powers(text: str) -> str:
    """Numbers such as 5e-04, with their power of ten."""

    def power(found: re.Match[str]) -> str:
        return ("" if found[1] == "1" else f"{found[1]}\u00a0×\u00a0") + f"10<sup>{int(found[2])}</sup>"

    return re.sub(r"(?<![\w.])(\d+(?:\.\d+)?)e([+-]?\d+)\b", power, text)


def typeset(text: str) -> str:
    """Plain words with ASCII mathematics as HTML.

    Parameters
    ----------
    text
        such as ``"power of n of Phi_2, n >= 2^14, less -1/2"``

    Returns
    -------
    str
        escaped, with Greek letters, roots, powers and indices.
    """
    out = _powers(html.escape(text, quote=False))
    for pattern, sign in _RULES:
        out = re.sub(pattern, sign, out)
    parts = _TAG.split(out)  # words at even places, tags and entities between them
    parts[::2] = [_SYMBOL.sub(lambda m: f"<i>{GREEK.get(m[0], m[0])}</i>", words) for words in parts[::2]]
    return "".join(parts)


def comparison(measured: float, expected: float, tolerance: float, relation: str) -> str:
    """What was measured and what was expected, as HTML.

    Parameters
    ----------
    measured, expected, tolerance, relation
        of the check

    Returns
    -------
    str
        a number that is nothing but rounding error is called that.
    """
    asked = tolerance if relation == "=" else tolerance or abs(expected)
    fine = asked <= 1e-6 and abs(expected) <= 1e-6
    found = "0 to rounding" if fine and 0 < abs(measured) < ROUNDING else number(measured)
    words = {"=": "expected ", "<=": "at most ", ">=": "at least "}[relation]
    slack = f"\u00a0±\u00a0{number(tolerance, 2)}" if tolerance else ""
    return f"measured {found}, {words}{number(expected)}{slack}"
