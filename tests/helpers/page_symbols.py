"""The symbols in the formulas of a page: letters with what decorates them, subscripts and powers left off."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

GREEK = (
    "alpha beta gamma delta epsilon varepsilon zeta eta theta vartheta kappa lambda mu nu xi rho sigma tau phi varphi "
    "chi psi omega Gamma Delta Theta Lambda Xi Pi Sigma Phi Psi Omega ell hbar"
).split()
DECORATIONS = "hat tilde bar widehat widetilde overline dot ddot vec".split()
ALPHABETS = "mathcal mathbb mathbf boldsymbol mathfrak".split()
_WORDS = re.compile(
    r"\\(?:text|textrm|mathrm|operatorname\*?|mathsf|label|tag|begin|end|color|textcolor|href)\{[^{}]*\}"
)
_DRESS = "|".join([*DECORATIONS, *ALPHABETS])
_TOKEN = re.compile(
    rf"\\(?P<dress>{_DRESS})(?![A-Za-z])\s*(?:\{{(?P<in>[^{{}}]*)\}}|(?P<next>\\[A-Za-z]+|[A-Za-z]|\d))"
    r"|\\(?P<command>[A-Za-z]+)|(?P<letter>[A-Za-z])"
)


def formulas(path: Path) -> Iterator[str]:
    """The formulas of a page: in text, displayed and in captions, not in code."""
    text = path.read_text("utf8")
    text = re.sub(r"^```\{code-cell\}.*?^```$", lambda cell: _caption(cell.group()), text, flags=re.M | re.S)
    text = re.sub(r"^```(?!\{).*?^```$|(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)", " ", text, flags=re.M | re.S)
    for match in re.finditer(r"\$\$(.+?)\$\$|(?<![\\$])\$(?!\$)(.+?)(?<!\\)\$", text, re.S):
        yield match[1] or match[2]


def _caption(cell: str) -> str:
    """What a cell's options say in words; its code is left off."""
    options = re.search(r"^---$(.*?)^---$", cell, re.M | re.S)
    return options[1] if options else ""


def symbols(formula: str) -> Iterator[str]:
    r"""The symbols of a formula: ``x``, ``\eta``, ``\mathcal L``, ``\hat w``."""
    formula = _WORDS.sub(" ", formula)
    for token in _TOKEN.finditer(formula):
        if token["dress"]:
            inner = (token["in"] if token["in"] is not None else token["next"]).strip()
            if token["dress"] in ALPHABETS:
                yield f"\\{token['dress']} {inner}"
            else:
                yield from (f"\\{token['dress']} {each}" for each in list(symbols(inner))[:1])
        elif token["letter"]:
            yield token["letter"]
        elif token["command"] in GREEK:
            yield f"\\{token['command']}"


def used(path: Path) -> Counter[str]:
    """How often each symbol stands in the formulas of a page."""
    return Counter(each for formula in formulas(path) for each in symbols(formula))
