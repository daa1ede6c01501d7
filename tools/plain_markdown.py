"""Translate a chapter's MyST Markdown into Markdown that reads well in a notebook with no extension.

Whatever has no translation raises a ``DialectError`` that names file and line, so nothing shows raw.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass

from book_numbers import STATEMENTS, Book, Page
from inline_markdown import Inline
from myst_blocks import WITHOUT_ARGUMENT, Block, DialectError, blocks


@dataclass
class Chunk:
    """A piece of a cell: its source, its translation, and whether it should open a cell of its own.

    Notebook services fold by headings, and only those that open a cell.
    """

    source: list[str]
    text: str
    opens: bool = False


class Translator:
    """Translates the cells of one page."""

    def __init__(self, book: Book, page: Page) -> None:
        self.book, self.page = book, page
        everything = "\n".join(self._markdown())
        self.linked = set(re.findall(r"\[[^\]]+\]\(#([^()\s]+)\)", everything))
        self.inline = Inline(book, page, re.findall(r"\{cite:\w+\}`([^`]+)`", everything))
        self.lists_references = "{bibliography}" in everything

    def _markdown(self) -> list[str]:
        captions = (c.metadata.get("mystnb", {}).get("figure", {}).get("caption", "") for _, c in self.page.cells)
        sources = (cell.source for _, cell in self.page.cells if cell.cell_type == "markdown")
        return [*sources, *captions]

    def cell(self, source: str, line: int) -> list[tuple[str, str]]:
        """Translate a cell that starts at ``line``: (source, translation) of each cell that it becomes."""
        cells: list[Chunk] = []
        for chunk in self._chunks(source.splitlines(), line, quoted=False):
            if cells and not chunk.opens:
                cells[-1].text = "\n\n".join(filter(None, [cells[-1].text, chunk.text]))
                cells[-1].source += chunk.source
            elif chunk.text:
                cells.append(chunk)
        return [("\n".join(c.source).strip(), c.text) for c in cells]

    def caption(self, options: dict[str, str], line: int) -> str:
        """The text under a figure."""
        number = self.book.numbers[self.page.doc, line]
        return f"*Figure {number}.* {self.inline.translate(str(options['caption']).strip(), line)}"

    def references(self) -> str:
        """The sources that the page cites, as a list."""
        return self.inline.references()

    def _body(self, block: Block, quoted: bool) -> str:
        chunks = self._chunks(block.body, block.body_line, quoted)
        return "\n\n".join(chunk.text for chunk in chunks if chunk.text)

    def _chunks(self, lines: list[str], first: int, quoted: bool) -> list[Chunk]:
        chunks: list[Chunk] = []
        waiting: list[str] = []  # source of targets, which belong to what follows them
        anchors = ""
        for block in blocks(lines, self.page.file, first):
            if block.kind == "target":
                waiting += block.source
                if block.name in self.linked:
                    anchors += f'<a id="{block.name}"></a>'
                continue
            if block.kind == "text" and not any(map(str.strip, block.source)):
                continue
            chunk = getattr(self, f"_{block.kind}")(block, quoted)
            if anchors:
                # Under a heading rather than above it, for a cell folds only where the heading comes first.
                chunk.text = "\n\n".join([chunk.text, anchors] if block.kind == "heading" else [anchors, chunk.text])
            chunk.source = waiting + chunk.source
            chunks.append(chunk)
            waiting, anchors = [], ""
        return chunks

    def _text(self, block: Block, quoted: bool) -> Chunk:
        lines = _definitions(block.source)
        text = self.inline.translate("\n".join(lines), block.line)
        return Chunk(block.source, text.strip("\n"))

    def _fence(self, block: Block, quoted: bool) -> Chunk:
        return Chunk(block.source, "\n".join(block.source))

    def _comment(self, block: Block, quoted: bool) -> Chunk:
        return Chunk(block.source, "")

    _attributes = _comment

    def _heading(self, block: Block, quoted: bool) -> Chunk:
        number = f"{self.page.chapter}. " if block.name == "#" and self.page.chapter else ""
        return Chunk(block.source, f"{block.name} {number}{self.inline.translate(block.title, block.line)}", True)

    def _math(self, block: Block, quoted: bool) -> Chunk:
        if not all(block.body):
            raise self._error(block, "an empty line inside $$ ends the formula in a plain notebook")
        number = self.book.numbers.get((self.page.doc, block.line))
        return self._formula(block, block.body, rf"\tag{{{number}}}" if number else "", quoted)

    def _environment(self, block: Block, quoted: bool) -> Chunk:
        if not block.name.endswith("*"):
            raise self._error(
                block, f"{block.name} is numbered without a label: write $$ ... $$ (label) or {block.name}*"
            )
        inner = {"align": "aligned", "gather": "gathered"}.get(block.name.rstrip("*"))
        if inner is None:
            raise self._error(block, f"{block.name} has no translation: write $$ ... $$")
        body = [line.strip().replace(f"{{{block.name}}}", f"{{{inner}}}") for line in block.source]
        return self._formula(block, body, "", quoted)

    def _formula(self, block: Block, body: list[str], tag: str, quoted: bool) -> Chunk:
        formula = "\n".join(body)
        self.inline.check_math(formula, block.line)
        outside = re.sub(r"\\begin\{(\w+\*?)\}.*?\\end\{\1\}", "", formula, flags=re.S)
        if r"\\" in outside or re.search(r"(?<!\\)&", outside):  # the site aligns such a formula by itself
            body = [r"\begin{aligned}", *body, r"\end{aligned}"]
        # In a quote each line starts with ">", which some notebooks would typeset as part of the formula.
        joint = " " if quoted else "\n"
        text = joint.join(filter(None, ["$$", *body, tag, "$$"]))
        return Chunk(block.source, _indented(text, block.indent))

    def _directive(self, block: Block, quoted: bool) -> Chunk:
        opens, text = False, ""
        name, title = block.name, self.inline.translate(block.title, block.line)
        statement = name.removeprefix("prf:")
        folded = "dropdown" in str(block.options.get("class", "")).split()
        if name == "dropdown":
            text = _details(title, self._body(block, quoted))
        elif name == "admonition" or name in WITHOUT_ARGUMENT:
            text = self._box(block, "See also" if name == "seealso" else title or name.title(), folded, quoted)
        elif name == "prf:proof":
            text = _details("Proof", "\n\n".join(filter(None, [title, self._body(block, quoted)])))
        elif name.startswith("prf:") and statement in STATEMENTS:
            text = self._box(
                block,
                self._numbered(block, statement.title()),
                folded,
                quoted,
                f" ({title})" * bool(title) + ".",
            )
        elif name in {"exercise", "exercise-start"}:
            opens = True
            heading = "#### " + self._numbered(block, "Exercise") + (f" ({title})" if title else "")
            text = "\n\n".join(filter(None, [heading, self._body(block, quoted)]))
        elif name == "solution-start":
            opens, text = True, f"#### Solution to {self._exercise(block)}"
        elif name == "solution":
            text = _details(f"Solution to {self._exercise(block)}", self._body(block, quoted))
        elif name == "table":
            caption = f"*{self._numbered(block, 'Table')}.* {title}\n\n" if title else ""
            text = caption + self._body(block, quoted)
        elif name in {"code-block", "code"}:
            text = "\n".join([f"```{block.title}", *block.body, "```"])
        elif name == "bibliography":
            text = self.references()
        elif name not in {"solution-end", "exercise-end"}:
            raise self._error(block, f"{{{name}}} has no translation into a plain notebook")
        return Chunk(block.source, _indented(text, block.indent), opens)

    def _box(self, block: Block, title: str, folded: bool, quoted: bool, after: str = "") -> str:
        if folded:
            return _details(title + after.rstrip("."), self._body(block, quoted))
        lines = f"**{title}**{after}\n\n{self._body(block, quoted=True)}".strip().splitlines()
        return "\n".join(f"> {line}".rstrip() for line in lines)

    def _numbered(self, block: Block, name: str) -> str:
        number = self.book.numbers.get((self.page.doc, block.line))
        return f"{name} {number}" if number else name

    def _exercise(self, block: Block) -> str:
        label = self.book.labels.get(block.title)
        if label is None or label.kind != "exercise":
            raise self._error(block, f"there is no exercise {block.title!r} to solve")
        return label.text

    def _error(self, block: Block, message: str) -> DialectError:
        return DialectError(f"{self.page.file}:{block.line}: {message}")


def _indented(text: str, indent: str) -> str:
    return "\n".join(indent + line if line else line for line in text.splitlines())


def _details(title: str, body: str) -> str:
    return f"<details>\n<summary>{_as_html(title)}</summary>\n\n{body}\n\n</details>"


def _as_html(text: str) -> str:
    """A title with emphasis and code as HTML, because Markdown is not read inside <summary>."""
    text = html.escape(text, quote=False)
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", text)
    text = re.sub(r"\*\*([^*]+)\*\*", r"<b>\1</b>", text)
    return re.sub(r"(?<![*\w\\])\*([^*$]+)\*(?![*\w])", r"<em>\1</em>", text)


def _definitions(lines: list[str]) -> list[str]:
    """Turn a definition list (a term, then ": what it means") into bullets."""
    out: list[str] = []
    for line in lines:
        match = re.match(r" {0,3}:\s+(?P<text>\S.*)", line)
        at = next((k for k in reversed(range(len(out))) if out[k].strip()), None)
        if not match or at is None:
            out.append(line)
        elif (out[at].startswith("- **") and "**: " in out[at]) or out[at].startswith("  "):
            out += ["", "  " + match["text"]]  # another meaning of the same term
        else:
            del out[at + 1 :]
            out[at] = f"- **{out[at].strip().strip('*')}**: {match['text']}"
    return out
