"""Search: Greek mu and its Latin spelling are one word, and a result shows prose with the words that were asked for."""

from __future__ import annotations

from typing import Any

from sphinx.application import Sphinx
from sphinx.search import languages
from sphinx.search.en import SearchEnglish

MICRO, MU = "\u00b5", "\u03bc"  # two characters that look alike; both are typed for mu


class English(SearchEnglish):
    """English in which μP, µP and muP are spelt alike, by the index and by the reader's browser."""

    js_splitter_code = """
var splitQuery = (query) => query.replace(/[\\u00b5\\u03bc]/g, "mu")
    .split(/[^\\p{Letter}\\p{Number}_\\p{Emoji_Presentation}]+/gu).filter((term) => term);
"""

    def split(self, input: str) -> list[str]:
        return super().split(input.replace(MICRO, "mu").replace(MU, "mu"))


def _script(app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    if pagename == "search":
        app.add_js_file("search.js", loading_method="defer")


def setup(app: Sphinx) -> dict[str, bool]:
    languages["en"] = English
    app.connect("html-page-context", _script)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
