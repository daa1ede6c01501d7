"""Code as text: colours only where they differ from the text's, and for folded code only once it is opened."""

from __future__ import annotations

import re
from html import unescape

TOKEN = re.compile(r'<span class="(\w+)">([^<]*)</span>|([^<]+)|<span></span>')
BLOCK = re.compile(r"<pre>((?:<span></span>|<span class=\"\w+\">[^<]*</span>|[^<]+)*)</pre>")
FOLDED = re.compile(r'<details class="[^"]*\bhide\b[^"]*">.*?</details>', re.DOTALL)


def plain_classes(css: str) -> set[str]:
    """Return the classes of tokens whose colour, in every theme, is that of the text, and that of white space."""
    rules = re.findall(r'data-theme="(\w+)"\] \.highlight(?: \.(\w+))? \{([^}]*)\}', css)
    base = {theme: _colour(body) for theme, name, body in rules if not name}
    named: dict[str, set[bool]] = {}
    for theme, name, body in rules:
        if name:
            other = re.sub(r"\bcolor:[^;]*;?", "", body).strip(" ;")
            named.setdefault(name, set()).add(_colour(body) == base.get(theme) and not other)
    return {name for name, same in named.items() if same == {True}} | {"w"}


def _colour(body: str) -> str:
    found = re.search(r"(?<!-)color: *([^;]+)", body)
    return found[1].strip().lower() if found else ""


def lean(page: str, plain: set[str]) -> str:
    """Return the page with plain tokens as text, and folded code as text with its colours noted beside it.

    ``data-colours`` holds the runs of the text in order: ``12`` for twelve characters without a colour, ``kn6`` for six
    of class ``kn``. The page's script makes spans of them when the fold is opened.
    """
    page = FOLDED.sub(lambda fold: BLOCK.sub(lambda block: _noted(block[1], plain), fold[0]), page)
    return BLOCK.sub(lambda block: f"<pre>{_merged(block[1], plain)}</pre>", page)


def _tokens(code: str, plain: set[str]) -> list[tuple[str, str]]:
    """The runs of the code: class ("" for none) and escaped text, neighbours of one class joined."""
    runs: list[tuple[str, str]] = []
    for found in TOKEN.finditer(code):
        name, text = (found[1] or "", found[2] or found[3] or "")
        name = "" if name in plain or not text.strip() else name
        if runs and runs[-1][0] == name and not name:
            runs[-1] = (name, runs[-1][1] + text)
        elif text:
            runs.append((name, text))
    return runs


def _merged(code: str, plain: set[str]) -> str:
    return "".join(f'<span class="{name}">{text}</span>' if name else text for name, text in _tokens(code, plain))


def _noted(code: str, plain: set[str]) -> str:
    runs = _tokens(code, plain)
    colours = " ".join(f"{name}-{_units(text)}" if name else str(_units(text)) for name, text in runs)
    return f'<pre data-colours="{colours}">{"".join(text for _, text in runs)}</pre>'


def _units(escaped: str) -> int:
    """Return the length as a script counts it, in units of UTF-16."""
    return len(unescape(escaped).encode("utf-16-le")) // 2
