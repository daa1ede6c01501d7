"""Translate what stands inside a paragraph: roles, citations, links, images, formulas."""

from __future__ import annotations

import base64
import mimetypes
import posixpath
import re

import citations
from book_numbers import Book, Page
from myst_blocks import DialectError

LARGEST_IMAGE = 200_000  # bytes; an image travels inside the notebook

_INLINE = re.compile(
    r"""
      \{(?P<role>[A-Za-z][\w:.+-]*)\}(?P<rticks>`+)(?P<target>.+?)(?P=rticks)(?!`)
    | (?P<code>(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`))(?:\{[^{}\n]*\})?
    | (?P<comment><!--.*?-->)
    | (?P<escape>\\.)
    | (?P<math>\$(?!\$)(?:\\.|[^$\\])+\$)
    | !\[(?P<alt>[^\]]*)\]\((?P<image>[^()\s]+)(?:\s+"[^"]*")?\)(?:\{[^{}\n]*\})?
    | \[(?P<text>(?:[^\[\]`$]|`[^`]*`|\$[^$]*\$|\[[^\[\]]*\])*)\]
      \((?P<link>[^()\s]*)(?:\s+"[^"]*")?\)(?:\{[^{}\n]*\})?
    | \[(?P<span>[^\[\]]*)\]\{[^{}\n]*\}
    | (?P<foreign>\$\$|:::|```|\{\{|\[\^|<project:
        |<(?:img|script|style|iframe|video|svg)\b|(?m:^\[[^\]\n]+\]:\s))
    """,
    re.X | re.S,
)
_KINDS = ("role", "code", "comment", "escape", "math", "image", "link", "span", "foreign")
_EXPLICIT = re.compile(r"(?P<text>.+?)\s*<(?P<target>[^<>]+)>$", re.S)


class Inline:
    """Translates the text of one page."""

    def __init__(self, book: Book, page: Page, cited: list[str]) -> None:
        self.book, self.page = book, page
        self.entries = citations.read(book.bibliographies) if cited else {}
        self.cited = {key.strip() for keys in cited for key in keys.split(",")}

    def translate(self, text: str, line: int) -> str:
        """Translate ``text``, which starts at ``line`` of the page."""
        out = []
        for piece in re.split(r"(\n[ \t]*\n)", text):  # no construct reaches over an empty line
            start = line
            out.append(_INLINE.sub(lambda m, s=start: self._one(m, s + m.string[: m.start()].count("\n")), piece))
            line += piece.count("\n")
        return "".join(out)

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

    def _one(self, match: re.Match[str], line: int) -> str:
        kind = next(name for name in _KINDS if match[name] is not None)
        if kind in {"code", "escape"}:
            return match[kind]
        if kind == "comment":
            return ""
        if kind == "foreign":
            raise self._error(line, f"{match['foreign'].strip()} has no translation into a plain notebook")
        if kind == "math":
            if "\n>" in match["math"]:
                raise self._error(line, "a formula in a quote must stay on one line")
            self.check_math(match["math"], line)
            return re.sub(r"\s*\n\s*", " ", match["math"])
        if kind == "span":
            return self.translate(match["span"], line)
        if kind == "image":
            return self._image(match["alt"], match["image"], line)
        if kind == "link":
            return self._link(self.translate(match["text"], line), match["link"], line)
        return self._role(match["role"], match["target"].strip(), line)

    def _role(self, role: str, target: str, line: int) -> str:
        if role in {"cite:t", "cite:p"}:
            sources = [citations.authors_and_year(self._entry(key.strip(), line)) for key in target.split(",")]
            if role == "cite:t":
                return ", ".join(f"{names} ({year})" for names, year in sources)
            return "(" + "; ".join(f"{names}, {year}" for names, year in sources) + ")"
        explicit = _EXPLICIT.match(target)
        text, target = (explicit["text"], explicit["target"]) if explicit else ("", target)
        if role == "doc":
            return self._page(text, target, line)
        if role in {"eq", "numref", "ref", "prf:ref"}:
            wanted = {
                "eq": {"equation"},
                "numref": {"figure", "table", "exercise"},
                "prf:ref": {"statement"},
            }.get(role)
            if role == "numref" and text:
                raise self._error(line, "{numref} with a text of its own has no translation")
            return text or self._label(target, line, wanted)
        raise self._error(line, f"the role {{{role}}} has no translation into a plain notebook")

    def _label(self, target: str, line: int, wanted: set[str] | None = None) -> str:
        label = self.book.labels.get(target)
        if label is None or (wanted and label.kind not in wanted) or not label.text:
            kind = f"no {' or '.join(sorted(wanted))}" if wanted else "nothing with a title"
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
