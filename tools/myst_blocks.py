"""Split MyST Markdown into the blocks that plain Markdown does not know, and the text between them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import yaml
from mdit_py_plugins.amsmath import ENVIRONMENTS


class DialectError(ValueError):
    """Something in a chapter that has no translation into plain Markdown."""


@dataclass(frozen=True)
class Block:
    """One block of a page.

    kind   "directive", "fence", "math", "environment", "target", "attributes", "comment", "heading" or "text"
    line   number in the file of its first line, from 1
    name   of the directive, the label of an equation or target, or the # signs of a heading
    title  what stands beside the name: a directive's argument, a heading's text
    """

    kind: str
    line: int
    source: list[str]
    indent: str = ""
    name: str = ""
    title: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    body: list[str] = field(default_factory=list)
    body_line: int = 0


_FENCE = re.compile(r"(?P<indent> *)(?P<marks>:{3,}|`{3,}|~{3,})(?P<info>.*)$")
_DIRECTIVE = re.compile(r"\{(?P<name>[^{}\s]+)\}\s*(?P<title>.*?)\s*$")
_TARGET = re.compile(r" {0,3}\((?P<name>[^()\s]+)\)=\s*$")
_HEADING = re.compile(r" {0,3}(?P<name>#{1,6})\s+(?P<title>.*?)\s*#*\s*$")
_ATTRIBUTES = re.compile(r" *\{(?:[.#][\w-]+|[\w-]+=[^{}`]*)(?:\s[^{}`]*)?\}\s*$")
_ENVIRONMENT = re.compile(rf" *\\begin\{{(?P<name>(?:{'|'.join(ENVIRONMENTS)})\*?)\}}")
_MATH_END = re.compile(r"\$\$\s*(?:\((?P<label>[^()\s]+)\))?\s*$")

# Directives that take no argument: text beside their name belongs to their body.
WITHOUT_ARGUMENT = {
    "attention",
    "caution",
    "danger",
    "error",
    "hint",
    "important",
    "note",
    "seealso",
    "tip",
    "warning",
}
# Directives whose body is not Markdown.
VERBATIM = {"code-block", "code", "sourcecode", "literalinclude", "raw", "math", "mermaid", "eval-rst"}


def blocks(lines: list[str], where: str, first: int = 1) -> Iterator[Block]:
    """Yield the blocks of ``lines``, whose first one is line ``first`` of the file ``where``."""
    text: list[str] = []
    i = 0
    while i < len(lines):
        found = _block(lines, i, where, first)
        if found is None:
            text.append(lines[i])
            i += 1
            continue
        if text:
            yield Block("text", first + i - len(text), text)
            text = []
        yield found
        i += len(found.source)
    if text:
        yield Block("text", first + i - len(text), text)


def _block(lines: list[str], i: int, where: str, first: int) -> Block | None:
    line, number = lines[i], first + i
    if match := _FENCE.match(line):
        return _fence(match, lines, i, where, number)
    if line.lstrip().startswith("$$"):
        return _math(lines, i, where, number)
    if match := _ENVIRONMENT.match(line):
        end = f"\\end{{{match['name']}}}"
        for j in range(i, len(lines)):
            if end in lines[j]:
                return Block("environment", number, lines[i : j + 1], name=match["name"])
        raise DialectError(f"{where}:{number}: {match['name']} is not closed")
    for kind, pattern in (("target", _TARGET), ("heading", _HEADING)):
        if match := pattern.match(line):
            title = match["title"] if kind == "heading" else ""
            return Block(kind, number, [line], name=match["name"], title=title)
    if _ATTRIBUTES.match(line):
        return Block("attributes", number, [line])
    if line.startswith("%"):
        return Block("comment", number, [line])
    return None


def _fence(match: re.Match[str], lines: list[str], i: int, where: str, number: int) -> Block | None:
    indent, marks, info = match["indent"], match["marks"], match["info"].strip()
    directive = _DIRECTIVE.match(info)
    if marks[0] == "`" and "`" in info:
        return None  # a code span that opens a paragraph
    closing = re.compile(rf" *{re.escape(marks[0])}{{{len(marks)},}}\s*$")
    for j in range(i + 1, len(lines)):
        if closing.match(lines[j]):
            break
    else:
        raise DialectError(f"{where}:{number}: {marks}{info} is not closed")
    source = lines[i : j + 1]
    if directive is None:
        if marks[0] == ":":
            raise DialectError(f"{where}:{number}: {marks}{info} is no directive of this book")
        return Block("fence", number, source, indent=indent)
    body = [line.removeprefix(indent) for line in lines[i + 1 : j]]
    options, skipped = _options(body, where, number)
    body = body[skipped:]
    name, title = directive["name"], directive["title"]
    if name in WITHOUT_ARGUMENT and title:
        body, skipped, title = [title, *body], skipped - 1, ""
    return Block("directive", number, source, indent, name, title, options, body, number + 1 + skipped)


def _options(body: list[str], where: str, number: int) -> tuple[dict[str, Any], int]:
    """The options at the head of a directive and the number of lines they take."""
    if body and body[0].startswith("---"):
        end = next((k for k in range(1, len(body)) if body[k].startswith("---")), None)
        if end is None:
            raise DialectError(f"{where}:{number}: the options are not closed by ---")
        raw, taken = body[1:end], end + 1
    else:
        taken = next((k for k, line in enumerate(body) if not re.match(r"\s*:[\w-]+:", line)), len(body))
        raw = [line.strip()[1:] for line in body[:taken]]
    try:
        options = yaml.safe_load("\n".join(raw)) or {}
    except yaml.YAMLError as error:
        raise DialectError(f"{where}:{number}: the options are not YAML: {error}") from error
    return options, taken


def _math(lines: list[str], i: int, where: str, number: int) -> Block:
    indent = lines[i][: len(lines[i]) - len(lines[i].lstrip())]
    for j in range(i, len(lines)):
        text = lines[j].strip()
        if j == i:
            text = text[2:]
        if match := _MATH_END.search(text):
            inner = [lines[k].strip() for k in range(i, j)] + [text[: match.start()].strip()]
            if j > i:
                inner[0] = inner[0][2:].strip()
            body = [line for k, line in enumerate(inner) if line or 0 < k < len(inner) - 1]
            return Block("math", number, lines[i : j + 1], indent, match["label"] or "", body=body)
        if "$$" in text:
            break
    raise DialectError(f"{where}:{number}: $$ must open its own line, and its end may be followed only by a (label)")
