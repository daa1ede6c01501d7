"""Translate a chapter's MyST Markdown into Markdown that reads well in a notebook with no extension.

Whatever has no translation raises a ``DialectError`` that names file and line, so nothing shows raw.
"""

from __future__ import annotations

import re

from book_numbers import STATEMENTS, Book, Page
from inline_markdown import Inline
from myst_blocks import ADMONITIONS, Block, DialectError, every_span, html_of

# Notebook services fold by headings, and only those that open a cell.
_OPENS_A_CELL = {"exercise", "exercise-start", "solution-start"}


class Translator:
    """Translates the cells of one page."""

    def __init__(self, book: Book, page: Page) -> None:
        self.book, self.page = book, page
        found = [block for _, blocks in page.cells for block in blocks]
        used = list(every_span(found))
        links = [str(s.token.attrs["href"]) for s in used if s.rule == "link" and s.inner[0] < s.inner[1]]
        self.linked = {link.removeprefix("#") for link in links if link.startswith("#")}
        self.inline = Inline(book, page, used)
        self.lists_references = any(block.name == "bibliography" for block in found)

    def cells(self, blocks: list[Block]) -> list[tuple[str, str]]:
        """Translate blocks: source and translation of each cell that they become."""
        cells: list[tuple[str, str]] = []
        waiting: list[str] = []  # source of targets, which belong to what follows them
        anchors = ""
        for block in blocks:
            waiting += block.source
            if block.kind == "target":
                anchors += f'<a id="{block.name}"></a>' * (block.name in self.linked)
                continue
            opens, text = block.kind == "heading", getattr(self, f"_{block.kind}")(block)
            # Under a heading rather than above it, for a cell folds only where the heading comes first.
            text = _joined(text, anchors) if opens else _joined(anchors, text)
            if cells and not opens and block.name not in _OPENS_A_CELL:
                source, before = cells.pop()
                cells.append(("\n".join([source, *waiting]), _joined(before, text)))
            elif text:
                cells.append(("\n".join(waiting), text))
            waiting, anchors = [], ""
        return [(source.strip(), text) for source, text in cells]

    def references(self) -> str:
        """The sources that the page cites, as a list."""
        return self.inline.references()

    def _body(self, block: Block) -> str:
        return _joined(*(text for _, text in self.cells(block.children)))

    def _text(self, block: Block) -> str:
        return self.inline.block(block)

    def _code(self, block: Block) -> str:
        return "\n".join(block.source)

    def _hidden(self, block: Block) -> str:
        return ""

    def _figure(self, block: Block) -> str:
        return f"*Figure {block.number}.* {self._body(block)}"

    def _foreign(self, block: Block) -> str:
        raise self._error(block, f"{block.title} has no translation into a plain notebook")

    def _heading(self, block: Block) -> str:
        number = f"{self.page.chapter}. " if block.name == "#" and self.page.chapter else ""
        return f"{block.name} {number}{self.inline.translate(block.title, block.line)}"

    def _math(self, block: Block) -> str:
        if not all(block.body):
            raise self._error(block, "an empty line inside $$ ends the formula in a plain notebook")
        return self._formula(block, block.body, rf"\tag{{{block.number}}}" * bool(block.number))

    def _environment(self, block: Block) -> str:
        inner = {"align*": "aligned", "gather*": "gathered"}.get(block.name)
        if block.number or inner is None:
            why = "is numbered without a label" if block.number else "has no translation"
            raise self._error(block, f"{block.name} {why}: write $$ ... $$ (label), align* or gather*")
        return self._formula(block, [line.replace(f"{{{block.name}}}", f"{{{inner}}}") for line in block.body])

    def _formula(self, block: Block, body: list[str], tag: str = "") -> str:
        formula = "\n".join(body)
        self.inline.check_math(formula, block.line)
        outside = re.sub(r"\\begin\{(\w+\*?)\}.*?\\end\{\1\}", "", formula, flags=re.S)
        if r"\\" in outside or re.search(r"(?<!\\)&", outside):  # the site aligns such a formula by itself
            formula = f"\\begin{{aligned}}\n{formula}\n\\end{{aligned}}"
        return _indented("\n".join(filter(None, ["$$", formula, tag, "$$"])), block)

    def _directive(self, block: Block) -> str:
        return _indented(self._content(block), block)

    def _content(self, block: Block) -> str:
        name, title, body = block.name, self.inline.translate(block.title, block.line), self._body(block)
        statement, called = name.removeprefix("prf:"), f" ({title})" * bool(title)
        if name == "dropdown":
            return _details(title, body)
        if name == "further":
            return f"**Second reading.** {title}"
        if name == "admonition" or name in ADMONITIONS:
            return _box(block, "See also" if name == "seealso" else title or name.title(), "", body)
        if name == "prf:proof":
            return _details("Proof", _joined(title, body))
        if statement in STATEMENTS and statement != name:
            return _box(block, f"{statement.title()} {block.number}".strip(), f"{called}.", body)
        if name in {"exercise", "exercise-start"}:
            return _joined(f"#### Exercise {block.number}".strip() + called, body)
        if name == "solution-start":
            return f"#### Solution to {self._exercise(block)}"
        if name == "solution":
            return _details(f"Solution to {self._exercise(block)}", body)
        if name == "table":
            return _joined(f"*Table {block.number}.* {title}" * bool(title), body)
        if name in {"code-block", "code"}:
            return "\n".join([f"```{block.title}", *block.body, "```"])
        if name == "bibliography":
            return self.references()
        if name in {"solution-end", "exercise-end"}:
            return ""
        raise self._error(block, f"{{{name}}} has no translation into a plain notebook")

    def _exercise(self, block: Block) -> str:
        label = self.book.labels.get(block.title)
        if label is None or label.kind != "exercise":
            raise self._error(block, f"there is no exercise {block.title!r} to solve")
        return label.text

    def _error(self, block: Block, message: str) -> DialectError:
        return DialectError(f"{self.page.file}:{block.line}: {message}")


def _joined(*texts: str) -> str:
    return "\n\n".join(filter(None, texts))


def _indented(text: str, block: Block) -> str:
    indent = block.source[0][: -len(block.source[0].lstrip())]
    return "\n".join(indent + line if line else line for line in text.splitlines())


def _details(title: str, body: str) -> str:
    return f"<details>\n<summary>{html_of(title)}</summary>\n\n{body}\n\n</details>"


def _box(block: Block, title: str, after: str, body: str) -> str:
    """A quote under a bold title, or folded where the site folds it."""
    if "dropdown" in str(block.options.get("class", "")).split():
        return _details(title + after.removesuffix("."), body)
    # Each line of a quote starts with ">", which some notebooks would typeset as part of a formula.
    body = re.sub(
        r"^ *\$\$\n.*?\n *\$\$$", lambda formula: re.sub(r"\n *", " ", formula.group()), body, flags=re.M | re.S
    )
    lines = _joined(f"**{title}**{after}", body).splitlines()
    return "\n".join(f"> {line}".rstrip() for line in lines)
