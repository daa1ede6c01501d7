"""Formulas set at build: MathML that a browser shows at once, reads aloud and needs no script for."""

from __future__ import annotations

import re
import sys
from html import escape, unescape
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.locale import _
from sphinx.util.math import get_node_equation_number

sys.path.insert(0, str(Path(__file__).parent))

from typesetting.core import broken
from typesetting.font import cut
from typesetting.mathml import Typesetter

FONT = "fonts/formulas.woff"
TYPESETTER = Typesetter()
# The pieces of stretched brackets and roots come with the characters; these may be asked for by none of them.
ALWAYS = set("0123456789+−=()[]{}|‖√∑∏∫…,.")


def _inline(self: Any, node: nodes.math) -> None:
    tex = node.astext()
    pieces = broken(_set(self, node, tex, display=False))
    formula = "<wbr>".join(pieces)
    self.body.append(self.starttag(node, "span", "", CLASS="math notranslate nohighlight", **{"data-tex": tex}))
    self.body.append(formula + "</span>")
    raise nodes.SkipNode


def _block(self: Any, node: nodes.math_block) -> None:
    tex = _aligned(node.astext())
    numbered = " lr-numbered" if node["number"] else ""
    self.body.append(self.starttag(node, "div", CLASS="math notranslate nohighlight" + numbered))
    self.body.append(f'<div class="lr-formula">{"".join(broken(_set(self, node, tex, display=True)))}</div>')
    if node["number"]:
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node)})')
        self.add_permalink_ref(node, _("Link to this equation"))
        self.body.append("</span>")
    self.body.append("</div>\n")
    raise nodes.SkipNode


def _aligned(tex: str) -> str:
    """Return several lines of a formula as TeX's environment for them, by Sphinx's rule."""
    if tex.lstrip().startswith(r"\begin{"):
        return tex
    parts = [part for part in tex.split("\n\n") if part.strip()]
    parts = [rf"\begin{{split}}{part}\end{{split}}" if r"\\" in part else part for part in parts]
    return parts[0] if len(parts) == 1 else r"\begin{aligned}" + r"\\".join(parts) + r"\end{aligned}"


def _set(self: Any, node: nodes.Node, tex: str, display: bool) -> str:
    try:
        return TYPESETTER.mathml(tex, display)
    except ValueError as error:
        from sphinx.util import logging

        logging.getLogger(__name__).warning(str(error), location=node)
        return f"<math><mtext>{escape(tex)}</mtext></math>"


def _font(app: Sphinx, error: Exception | None) -> None:
    """Cut the font to what the pages ask for."""
    TYPESETTER.close()
    if error is not None or app.builder.format != "html":
        return
    pages = [path.read_text(encoding="utf-8") for path in Path(app.outdir).rglob("*.html")]
    formulas = [formula for page in pages for formula in re.findall(r"<math.*?</math>", page, re.DOTALL)]
    characters = set(unescape(re.sub(r"<[^>]*>", "", "".join(formulas))))
    cut(characters | ALWAYS, Path(app.outdir) / "_static" / FONT)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (_inline, None), (_block, None))
    app.connect("build-finished", _font)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
