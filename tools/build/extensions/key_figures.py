"""Key figures: a chapter's figure on another page, as a link to it, taken from the chapter's own executed output."""

from __future__ import annotations

import html
import sys
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.errors import ExtensionError
from sphinx.util.docutils import SphinxDirective

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import execute


class KeyFigureNode(nodes.General, nodes.Element):
    """Where a key figure goes; filled when every chapter has been read."""


class KeyFigure(SphinxDirective):
    """``{key-figure} CHAPTER FIGURE`` with the sentence under it as content."""

    required_arguments = 2
    has_content = True

    def run(self) -> list[nodes.Node]:
        chapter, figure = self.arguments
        return [KeyFigureNode(chapter=chapter, figure=figure, text=" ".join(self.content))]


def find_figure(notebook: dict[str, Any], name: str) -> tuple[str, str]:
    """The SVG and the alternative text of the figure that a cell of an executed notebook names ``name``."""
    for cell in notebook["cells"]:
        meta = cell.get("metadata", {}).get("mystnb", {})
        if meta.get("figure", {}).get("name") == name:
            for output in cell["outputs"]:
                if svg := output.get("data", {}).get("image/svg+xml"):
                    return "".join(svg), meta["image"]["alt"]
    raise ExtensionError(f"No executed figure named {name!r}: a key figure must name a figure of a chapter.")


def _fill(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    for place in list(doctree.findall(KeyFigureNode)):
        chapter, name = place["chapter"], place["figure"]
        svg, alt = find_figure(execute.executed_notebook(chapter), name)
        folder = Path(app.outdir) / "_images"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"key-{name}.svg").write_text(svg, encoding="utf-8")
        up = "../" * docname.count("/")
        target = f"{app.builder.get_relative_uri(docname, f'book/{chapter}')}#{name}"
        code = (
            f'<figure class="lr-key"><a href="{target}">'
            f'<img src="{up}_images/key-{name}.svg" alt="{html.escape(alt.strip())}"></a>'
            f'<figcaption><a href="{target}">{html.escape(place["text"])}</a></figcaption></figure>'
        )
        place.replace_self(nodes.raw("", code, format="html"))


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_node(KeyFigureNode)
    app.add_directive("key-figure", KeyFigure)
    app.connect("doctree-resolved", _fill)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
