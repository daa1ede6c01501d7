"""A style sheet without the rules for what no page has: of the theme's, one in seven names a class of this book."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

NAMES = re.compile(r'\b(?:class|id)="([^"]*)"')
WORD = re.compile(r"-?[A-Za-z_][\w-]*")
ASKED = re.compile(r"[.#](-?[A-Za-z_](?:[\w-]|\\.)*)")
INNER = re.compile(r":(?:not|is|where|has|nth-[\w-]+)\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\]]*\]|\"[^\"]*\"")
OURS = ("lr-", "bs-")  # given by the build and by scripts, which put names together
GROUPS = ("@media", "@supports", "@layer", "@container")


def names(pages: Iterable[str], scripts: Iterable[str]) -> set[str]:
    """Every class and id that a page has, and every word of a script, which may give it one."""
    found = {name for page in pages for names in NAMES.findall(page) for name in names.split()}
    return found.union(*(WORD.findall(script) for script in scripts))


def without_unused(css: str, known: set[str]) -> str:
    """The style sheet with only those selectors whose every class and id is ``known``; what :not(...) names is free."""
    return "".join(_kept(head, body, known) for head, body in _rules(re.sub(r"/\*.*?\*/", "", css, flags=re.DOTALL)))


def _kept(head: str, body: str | None, known: set[str]) -> str:
    if body is None:
        return head
    if head.startswith(GROUPS):
        inner = "".join(_kept(*rule, known) for rule in _rules(body))
        return f"{head}{{{inner}}}" if inner else ""
    if head.startswith("@"):
        return f"{head}{{{body}}}"
    selectors = [one for one in _split(head) if _is_known(one, known)]
    return f"{','.join(selectors)}{{{body}}}" if selectors else ""


def _is_known(selector: str, known: set[str]) -> bool:
    asked = (name.replace("\\", "") for name in ASKED.findall(INNER.sub("", selector)))
    return all(name in known or name.startswith(OURS) for name in asked)


def _rules(css: str) -> Iterator[tuple[str, str | None]]:
    """Rules as head and body; what has no body, such as @import, as its text and None."""
    start = opened = depth = 0
    for found in re.finditer(r"\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])*'|url\([^)\"']*\)|[{};]", css, re.DOTALL):
        if found[0] == "{":
            depth += 1
            opened = found.start() if depth == 1 else opened
        elif found[0] == "}":
            depth -= 1
            if depth == 0:
                yield css[start:opened].strip(), css[opened + 1 : found.start()]
                start = found.end()
        elif found[0] == ";" and depth == 0:
            yield css[start : found.end()].strip(), None
            start = found.end()


def _split(selectors: str) -> list[str]:
    """The selectors of a list, parted at commas that lie in no brackets."""
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(selectors):
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and depth == 0:
            parts.append(selectors[start:at].strip())
            start = at + 1
    return [*parts, selectors[start:].strip()]
