"""Translate what stands inside a paragraph: roles, citations, links, images, formulas."""

from __future__ import annotations

import base64
import mimetypes
import posixpath
import re

import citations
from book_numbers import Book, Page
from myst_blocks import Block, DialectError, Span, spans

LARGEST_IMAGE = 200_000  # bytes; an image travels inside the notebook

_FOREIGN = re.compile(r"\[\^|<(?:project:|(?:img|script|style|iframe|video|svg)\b)")
_EXPLICIT = re.compile(r"(?P<text>.+?)\s*<(?P<target>[^<>]+)>$", re.S)
# What the parser leaves in the text where it makes nothing of it.
_LEFT = re.compile(r"\$|\{\{|\[\^")
_DOLLARS = (
    "$$ must open its own line and be closed, by $$ or $$ (label), before an empty line; else it has no translation"
)


class Inline:
    """Translates the text of one page."""

    def __init__(self, book: Book, page: Page, found: list[Span]) -> None:
        self.book, self.page = book, page
        cited = [s.token.content for s in found if s.rule == "myst_role" and s.token.meta["name"].startswith("cite:")]
        self.cited = {key.strip() for keys in cited for key in keys.split(",")}
        self.entries = citations.read(book.bibliographies) if cited else {}

    def block(self, block: Block) -> str:
        """Translate a block of text, and turn its definition lists into bullets."""
        out, at = "", 0
        for start, end, part in block.pieces:
            text = self.translate("\n".join(block.source[start:end]), block.line + start)
            between = "".join(f"{line}\n" for line in block.source[at:start])
            if part == "dt":
                text = f"- **{text.strip().strip('*')}**:"
            elif part:
                text = re.sub(r"^\s*:\s+", " " if part == "dd" else "\n  ", text)
                between, out = "", out.removesuffix("\n") + "\n" * (part == "another")
            out, at = f"{out}{between}{text}\n", end
        return (out + "\n".join(block.source[at:])).strip("\n")

    def translate(self, text: str, line: int) -> str:
        """Translate ``text``, which starts at ``line`` of the page and which the parser reads as one."""
        found, left = spans(text)
        if match := _LEFT.search(left):
            what = f"{match.group()} has no translation into a plain notebook"
            raise self._error(line, _DOLLARS if match.group() == "$" else what)

        def between(start: int, end: int) -> str:
            out, at = "", start
            for span in found:
                if at <= span.start and span.end <= end:
                    inner = between(*span.inner) if span.rule in {"link", "span"} else ""
                    here = line + text.count("\n", 0, span.start)
                    out += text[at : span.start] + self._one(span, text[span.start : span.end], inner, here)
                    at = span.end
            return out + text[at:end]

        return between(0, len(text))

    def references(self) -> str:
        """The sources that the page cites, as a list by name and year."""
        entries = sorted((self._entry(key, 1) for key in self.cited), key=citations.authors_and_year)
        return "\n".join(map(citations.reference, entries))

    def check_math(self, formula: str, line: int) -> None:
        """Refuse what only the site can typeset."""
        unknown = self.book.macros & set(re.findall(r"\\([A-Za-z]+)", formula))
        if unknown or r"\label" in formula or r"\eqref" in formula:
            what = ", ".join(sorted(unknown)) or "label"
            raise self._error(line, rf"a plain notebook does not know \{what}")

    def _one(self, span: Span, source: str, inner: str, line: int) -> str:
        made = span.token
        if span.rule == "span":
            return inner
        if span.rule == "attr" or source.startswith("<!--"):
            return ""
        if span.rule == "link":
            return self._link(inner, str(made.attrs["href"]), line)
        if span.rule == "image":
            return self._image(made.content, str(made.attrs["src"]), line)
        if span.rule == "myst_role":
            return self._role(made.meta["name"], made.content.strip(), line)
        if made.type == "math_inline":
            if "\n>" in source:
                raise self._error(line, "a formula in a quote must stay on one line")
            self.check_math(made.content, line)
            return re.sub(r"\s*\n\s*", " ", source)
        if made.type == "math_inline_double":
            raise self._error(line, _DOLLARS)
        if _FOREIGN.match(source):
            raise self._error(line, f"{source} has no translation into a plain notebook")
        return source

    def _role(self, role: str, target: str, line: int) -> str:
        if role in {"cite:t", "cite:p"}:
            sources = [citations.authors_and_year(self._entry(key.strip(), line)) for key in target.split(",")]
            if role == "cite:t":
                return ", ".join(f"{names} ({year})" for names, year in sources)
            return "(" + "; ".join(f"{names}, {year}" for names, year in sources) + ")"
        explicit = _EXPLICIT.match(target)
        text, target = (explicit["text"], explicit["target"]) if explicit else ("", target)
        if role == "term":
            return text or target  # the site's build refuses a term that the glossary lacks
        if role == "doc":
            return self._page(text, target, line)
        if role in {"eq", "numref", "ref", "prf:ref"}:
            wanted = {"eq": ["equation"], "numref": ["exercise", "figure", "table"], "prf:ref": ["statement"]}.get(role)
            if role == "numref" and text:
                raise self._error(line, "{numref} with a text of its own has no translation")
            return text or self._label(target, line, wanted)
        raise self._error(line, f"the role {{{role}}} has no translation into a plain notebook")

    def _label(self, target: str, line: int, wanted: list[str] | None = None) -> str:
        label = self.book.labels.get(target)
        if label is None or (wanted and label.kind not in wanted) or not label.text:
            kind = f"no {' or '.join(wanted)}" if wanted else "nothing with a title"
            raise self._error(line, f"{kind} is called {target!r}")
        if label.kind == "equation":
            return f"({label.text})"
        return f"*{self.translate(label.text, line)}*" if label.kind == "section" else label.text

    def _page(self, text: str, target: str, line: int) -> str:
        place = target[1:] if target.startswith("/") else posixpath.join(posixpath.dirname(self.page.doc), target)
        page = self.book.pages.get(posixpath.normpath(place))
        if page is None:
            raise self._error(line, f"{target} is no page of this book")
        text = text or self.translate(page.title, line)
        return f"[{text}]({page.name}.ipynb)" if page.executable else f"*{text}*"

    def _link(self, text: str, target: str, line: int) -> str:
        if re.match(r"(https?|mailto):", target):
            return f"[{text}]({target})" if text else f"<{target}>"
        place, _, anchor = target.partition("#")
        if place.endswith(".md"):
            return self._page(text, place.removesuffix(".md"), line)
        if place or anchor not in self.book.labels:
            raise self._error(line, f"{target!r} leads to no page or label of this book")
        if not text:
            return self._label(anchor, line)
        label = self.book.labels[anchor]
        here = label.page is self.page and label.kind in {"section", "place"}
        return f"[{text}](#{anchor})" if here else text

    def _image(self, alt: str, target: str, line: int) -> str:
        if re.match(r"https?:|data:", target):
            raise self._error(line, "an image from another host")
        base = self.book.root if target.startswith("/") else self.book.root / posixpath.dirname(self.page.doc)
        file = base / target.lstrip("/")
        kind = mimetypes.guess_type(file.name)[0]
        if not file.is_file() or kind is None or file.stat().st_size > LARGEST_IMAGE:
            raise self._error(line, f"{target} is no image of at most {LARGEST_IMAGE} bytes")
        return f"![{alt}](data:{kind};base64,{base64.b64encode(file.read_bytes()).decode()})"

    def _entry(self, key: str, line: int) -> citations.Entry:
        if key not in self.entries:
            raise self._error(line, f"the bibliography has no {key!r}")
        return self.entries[key]

    def _error(self, line: int, message: str) -> DialectError:
        return DialectError(f"{self.page.file}:{line}: {message}")
