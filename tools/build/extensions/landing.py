"""The landing page: a figure that moves, and a card for each chapter."""

from __future__ import annotations

import html
import re
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import thumbnails
from lrtransfer.page.pictures import Model
from lrtransfer.page.sliders import drawn, static_html


class MovingFigure(SphinxDirective):
    """``{moving-figure} depth.trajectory``: a chapter's slider figure on another page, with the caption as content."""

    required_arguments = 1
    option_spec = {"alt": directives.unchanged_required}
    has_content = True

    def run(self) -> list[nodes.Node]:
        name = self.arguments[0]
        slider = import_module(f"lrtransfer.{name.split('.')[0]}.slider")
        model = next((v for v in vars(slider).values() if isinstance(v, Model) and v.name == name), None)
        if model is None:
            raise self.error(f"No slider figure is called {name!r}.")
        first = drawn(model.at_start())
        code = static_html(model, first, caption=" ".join(self.content), alt=self.options["alt"])
        return [nodes.raw("", code, format="html")]


class ChapterCards(SphinxDirective):
    """``{chapter-cards}``: for each chapter a question and an answer, with its thumbnail and its reading time."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        cards = yaml.safe_load("\n".join(self.content))
        return [ChapterCardsNode(cards=cards)]


class ChapterCardsNode(nodes.General, nodes.Element):
    """Where the cards go."""


MINUTES = re.compile(r"<span class='lr-minutes' data-of='(\w+)'></span>")


def _minutes(app: Sphinx, error: Exception | None) -> None:
    """On the cards, the minutes that each chapter's own page gives for its main line."""
    if error is not None or app.builder.format != "html":
        return
    out = Path(app.outdir)
    for name in app.env.found_docs:
        page = out / f"{name}.html"
        text = page.read_text(encoding="utf-8")
        if MINUTES.search(text):
            page.write_text(MINUTES.sub(lambda card: reading_time(out, card[1]), text), encoding="utf-8")


def reading_time(site: Path, chapter: str) -> str:
    """The time that a chapter's page gives for its main line."""
    found = re.search(r"About (\d+ minutes) for the main line", (site / "book" / f"{chapter}.html").read_text("utf-8"))
    if found is None:
        raise ValueError(f"The page of {chapter} gives no reading time: it needs **Time.** and exercises.")
    return found[1]


@cache
def _thumbnail(chapter: str) -> str:
    return thumbnails.DRAWN[chapter]()


def _fill(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    for place in list(doctree.findall(ChapterCardsNode)):
        items = []
        for card in place["cards"]:
            target = app.builder.get_relative_uri(docname, f"book/{card['chapter']}")
            items.append(
                f'<li><a class="lr-card" href="{target}"><strong>{html.escape(card["question"])}</strong>'
                f"{_thumbnail(card['chapter'])}<span>{html.escape(card['answer'])}</span>"
                f"<small>{card['chapter'].capitalize()}, "
                f"<span class='lr-minutes' data-of='{card['chapter']}'></span></small></a></li>"
            )
        place.replace_self(nodes.raw("", f'<ul class="lr-cards">{"".join(items)}</ul>', format="html"))


def _styles(app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    if 'class="lr-cards"' in context.get("body", ""):
        app.add_css_file("landing.css")


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_node(ChapterCardsNode)
    app.add_directive("moving-figure", MovingFigure)
    app.add_directive("chapter-cards", ChapterCards)
    app.connect("doctree-resolved", _fill)
    app.connect("html-page-context", _styles)
    app.connect("build-finished", _minutes)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
