"""Second reading: sections that the main line of a chapter can do without are folded, and the chapter says its minutes.

``:::{further} sentence`` stands right under a section's heading. What follows in that section, its own sections
included, is folded under the sentence. Contents, numbers and links are gathered before, so none of them changes.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.errors import ExtensionError
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import reading

TIME = "<strong>Time.</strong>"
BUTTON = '<button type="button" class="lr-unfold" aria-expanded="false">Unfold everything</button>'


class FurtherMark(nodes.General, nodes.TextElement):
    """Where a section's second reading begins; its children are the sentence that stands for it."""


class FurtherFold(nodes.General, nodes.Element):
    """What is folded, after its mark."""


class Further(SphinxDirective):
    """``{further} sentence``: fold the rest of the section under the sentence."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = False

    def run(self) -> list[nodes.Node]:
        sentence, messages = self.parse_inline(self.arguments[0])
        return [FurtherMark("", *sentence), *messages]


class Fold(SphinxPostTransform):
    """Put what follows a mark into a fold."""

    default_priority = 900  # after the figures of cells have become nodes

    def run(self, **options: Any) -> None:
        for mark in list(self.document.findall(FurtherMark)):
            section = mark.parent
            at = section.index(mark)
            before = [node for node in section[:at] if not isinstance(node, nodes.title | nodes.target)]
            if not isinstance(section, nodes.section) or before:
                where = f"{self.env.docname}, {mark.astext()[:60]!r}"
                raise ExtensionError(f"{where}: {{further}} stands right under a heading.")
            rest = section[at + 1 :]
            del section[at:]
            section += FurtherFold("", mark, *rest)


def _open(translator: Any, node: FurtherFold) -> None:
    translator.body.append('<details class="lr-further">')


def _close(translator: Any, node: FurtherFold) -> None:
    translator.body.append("</details>\n")


def _open_sentence(translator: Any, node: FurtherMark) -> None:
    translator.body.append("<summary><strong>Second reading.</strong> ")


def _close_sentence(translator: Any, node: FurtherMark) -> None:
    translator.body.append("</summary>\n")


def _tell_contents(app: Sphinx, env: BuildEnvironment) -> None:
    """In the contents of a page, sections of second reading say so."""
    for name, contents in env.tocs.items():
        if not list(contents.findall(nodes.reference)):
            continue
        marks = env.get_doctree(name).findall(FurtherMark)
        folded = {f"#{identity}" for mark in marks for identity in mark.parent["ids"]}
        for link in contents.findall(nodes.reference):
            told = any("lr-second" in node["classes"] for node in link.findall(nodes.inline))
            if link.get("anchorname") in folded and not told:
                link += nodes.inline("", " (second reading)", classes=["lr-second"])


def _tell_time(app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """At the head of a chapter, how long its main line takes and how much is folded."""
    body = context.get("body", "")
    if doctree is not None and TIME in body and 'id="exercises"' in body:
        context["body"] = body.replace(TIME, f"{TIME} {reading.of(body).sentence} {BUTTON}<br>", 1)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("further", Further)
    app.add_node(FurtherMark, html=(_open_sentence, _close_sentence))
    app.add_node(FurtherFold, html=(_open, _close))
    app.add_post_transform(Fold)
    app.connect("env-updated", _tell_contents)
    app.connect("html-page-context", _tell_time)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
