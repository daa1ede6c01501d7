"""What the site's own parser sees on a page: its blocks, and in their text what plain Markdown does not know.

The parser does not tell which characters of a line became a role or a link. So its inline rules are watched, and each
token keeps what it was made of; all else is copied as it stands. (mdformat, which writes Markdown from tokens, would
set every page anew, with escapes and line breaks of its own.)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from types import SimpleNamespace
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.common.utils import escapeHtml
from markdown_it.renderer import RendererHTML
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from myst_parser.parsers.directives import parse_directive_text
from myst_parser.parsers.mdit import create_md_parser

import execute

# Blocks that plain Markdown does not know, or that are left whole: what they are here, and how their first line begins.
_KINDS = {
    "fence": ("code", "`~"),
    "colon_fence": ("directive", ":"),
    "math_block": ("math", "$"),
    "math_block_label": ("math", "$"),
    "amsmath": ("environment", "\\"),
    "myst_target": ("target", "("),
    "myst_line_comment": ("hidden", "%"),
    "myst_block_break": ("hidden", "+"),
    "attrs_block": ("hidden", "{"),
    "footnote_reference": ("foreign", "["),
    "heading": ("heading", "#"),
}
_WATCHED = {"math_inline", "myst_role", "link", "image", "span", "footnote_ref", "autolink", "html_inline", "attr"}
# Directives that take no argument: text beside their name belongs to their body.
ADMONITIONS = {
    "attention", "caution", "danger", "error", "hint", "important", "note", "seealso", "tip", "warning",
}  # fmt: skip
# Directives whose body is not Markdown.
_VERBATIM = {"code-block", "code", "sourcecode", "literalinclude", "raw", "math", "mermaid", "eval-rst"}


class DialectError(ValueError):
    """Something in a chapter that has no translation into plain Markdown."""


@dataclass(frozen=True)
class Span:
    """Characters ``start`` to ``end`` of a text, of which a rule made a token; ``inner`` are those in brackets."""

    rule: str
    start: int
    end: int
    inner: tuple[int, int]
    token: Token


@dataclass
class Block:
    """One block of a page.

    kind      of _KINDS, or "figure" (the caption of a cell's), "foreign" (has no translation), "text"
    line      number in the file of its first line, from 1
    name      of the directive, environment, label of an equation or target, or the # signs of a heading
    title     what stands beside the name: a directive's argument, a heading's text
    body      lines of a formula, or of a directive whose body is not Markdown
    children  blocks of a directive's body
    pieces    of a text: first line in ``source`` and end of what is read as one, and its part in a definition list
    number    the number that the site gives it
    """

    kind: str
    line: int
    source: list[str]
    name: str = ""
    title: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    body: list[str] = field(default_factory=list)
    children: list[Block] = field(default_factory=list)
    pieces: list[tuple[int, int, str]] = field(default_factory=list)
    number: str = ""


def _watch(name: str, rule: Any) -> Any:
    def watched(state: StateInline, silent: bool) -> bool:
        start, before = state.pos, len(state.tokens)
        if not rule(state, silent):
            return False
        if not silent:
            brackets = name in {"link", "span"}
            end = state.md.helpers.parseLinkLabel(state, start, name == "link") if brackets else start
            made = [token for token in state.tokens[before:] if token.type != "text"] or state.tokens[-1:]
            span = Span(name, start, state.pos, (start + 1, end), made[0])
            state.tokens[-1].meta.setdefault("spans", []).append(span)
        return True

    return watched


@cache
def _parser() -> MarkdownIt:
    parser = create_md_parser(execute.reader_config(), RendererHTML)
    for name, rule in zip(parser.get_active_rules()["inline"], parser.inline.ruler.getRules(""), strict=True):
        if name in _WATCHED:
            parser.inline.ruler.at(name, _watch(name, rule))
    parser.add_render_rule("math_inline", lambda _, tokens, k, *rest: escapeHtml(f"${tokens[k].content}$"))
    # A line of attributes stays a token, and an escaped sign apart from the text around it.
    parser.core.ruler.disable(["attr", "text_join"])
    return parser


def html_of(text: str) -> str:
    """A line of text as HTML, for where Markdown is not read; formulas stay between dollars."""
    return str(_parser().renderInline(text))


def spans(text: str) -> tuple[list[Span], str]:
    """What the inline rules make of a text, from left to right, the outer before the inner; and what they leave."""
    children = _parser().parseInline(text)[0].children or []
    found = [span for child in children for span in child.meta.get("spans", ())]
    left = "\0".join(child.content for child in children if child.type == "text")
    return sorted(found, key=lambda span: (span.start, -span.end)), left


def every_span(found: list[Block]) -> Iterator[Span]:
    """The spans in the texts and titles of blocks and of all that they hold."""
    for block in found:
        for text in (block.title, *("\n".join(block.source[a:b]) for a, b, _ in block.pieces)):
            yield from spans(text)[0]
        yield from every_span(block.children)


def blocks(text: str, where: str, first: int = 1) -> list[Block]:
    """The blocks of ``text``, whose first line is line ``first`` of the file ``where``."""
    env: dict[str, Any] = {}
    lines, found = text.split("\n"), []
    rest = Block("text", first, lines)  # what comes after the blocks found so far
    part = last = ""

    def cut(end: int) -> None:
        """End the text before line ``end``."""
        rest.source = lines[rest.line - first : end]
        if any(map(str.strip, rest.source)):
            found.append(rest)

    tokens = _parser().parse(text, env)
    for k, token in enumerate(tokens):
        name = token.type.removesuffix("_open")
        if name in {"dt", "dd"}:
            part, last = ("another" if name == last == "dd" else name), name
        done = rest.line - first
        if token.map is None or token.map[0] < done:
            continue
        start, end = token.map[0], max(token.map[1], token.map[0] + 1) + (name == "amsmath")  # which leaves out its end
        if name in {"inline", "html_block"}:
            piece = (start - done, end - done, part)
            rest.pieces += [piece] * (piece not in rest.pieces)  # the cells of a table's row are one
            part = ""
        kind, opening = _KINDS.get(name, ("", ""))
        line = lines[start].lstrip()
        # In a quote or right after a bullet, what is more than text has no translation.
        inside = line[:1] not in opening
        if not kind or (inside and (name == "heading" or (name == "fence" and token.info[:1] != "{"))):
            continue
        cut(start)
        block = Block("foreign" if inside else kind, first + start, lines[start:end], title=line)
        if block.kind == "heading":
            block.name, block.title = token.markup, tokens[k + 1].content
        elif block.kind != "foreign":
            _fill(block, token, where)
        found.append(block)
        rest = Block("text", first + end, lines)
    cut(len(lines))
    for definition in env.get("references", {}).values():
        line = definition["map"][0]
        found.append(Block("foreign", first + line, [], title=lines[line].strip()))
    return found


def _fill(block: Block, token: Token, where: str) -> None:
    """Give a block what its token tells."""
    block.title = ""
    block.body = [line.strip() for line in token.content.strip().split("\n")]
    if block.kind == "math":
        block.name = token.info
    elif block.kind == "environment":
        block.name = token.meta["environment"] + token.meta["numbered"]
    elif block.kind == "target":
        block.name = token.content
    elif block.kind in {"code", "directive"}:
        last = block.source[-1].strip()
        if len(block.source) == 1 or set(last) != {token.markup[0]} or len(last) < len(token.markup):
            raise DialectError(f"{where}:{block.line}: {token.markup}{token.info} is not closed")
        if token.info.startswith("{"):
            _fill_directive(block, token, where)
        elif block.kind == "directive":
            raise DialectError(f"{where}:{block.line}: {token.markup}{token.info} is no directive of this book")


def _fill_directive(block: Block, token: Token, where: str) -> None:
    name, _, argument = token.info[1:].partition("}")
    argument = argument.strip()
    without = name in ADMONITIONS
    # How a directive is read, whatever extension it belongs to.
    directive: Any = SimpleNamespace(has_content=True, option_spec={"any": str}, final_argument_whitespace=True)
    directive.required_arguments, directive.optional_arguments = 0, 0 if without else 1
    read = parse_directive_text(directive, argument, token.content, validate_options=False)
    if read.warnings:
        raise DialectError(f"{where}:{block.line}: {name}: {read.warnings[0].msg}")
    block.kind, block.name, block.options, block.body = "directive", name, read.options, read.body
    block.title = "" if without else argument
    if name not in _VERBATIM:
        line = block.line + (0 if without and argument else 1 + read.body_offset)
        block.children = blocks("\n".join(read.body), where, line)
