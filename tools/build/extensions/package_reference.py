"""The reference of the package: every public name from its docstring, linked with the sections that use it."""

from __future__ import annotations

import html
import inspect
import json
import re
from typing import Any

from docutils import nodes
from numpydoc.docscrape import NumpyDocString
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

import public_names
from public_names import Name, Uses

SECTIONS = ("Parameters", "Other Parameters", "Attributes", "Returns", "Yields", "Raises")


class UsesNode(nodes.General, nodes.Element):
    """Where the sections that use a name go; filled when every page has been read."""


class PackageRoom(SphinxDirective):
    """``{package-room} depth``: a section for every public name of ``lrtransfer.depth``."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        found: list[nodes.Node] = []
        for name in public_names.of_room(self.arguments[0]):
            section = nodes.section(ids=[name.short], names=[name.short])
            section += nodes.title("", "", nodes.literal(text=name.short))
            section += nodes.raw("", entry(name), format="html")
            section += UsesNode(name=name.path)
            self.state.document.note_explicit_target(section)
            found.append(section)
        return found


def entry(name: Name) -> str:
    """Signature and docstring of a name, as HTML."""
    parsed = NumpyDocString(inspect.getdoc(name.value) or "")
    lines = [*parsed["Summary"], "", *parsed["Extended Summary"]]
    out = [f'<p class="lr-signature"><code>{html.escape(name.signature)}</code></p>', *map(paragraph, blocks(lines))]
    for title in SECTIONS:
        rows = "".join(_described(one) for one in parsed[title])
        out += [f'<p class="lr-part">{title}</p><dl class="lr-args">{rows}</dl>'] if rows else []
    return f'<div class="lr-entry">{"".join([*out, *map(paragraph, blocks(parsed["Notes"]))])}</div>'


def _described(one: Any) -> str:
    named = " : ".join(part for part in (one.name, one.type) if part)
    return f"<dt><code>{html.escape(named)}</code></dt><dd>{''.join(map(paragraph, blocks(one.desc)))}</dd>"


def blocks(lines: list[str]) -> list[str]:
    """Paragraphs of a docstring; indented ones keep their lines."""
    return [block.strip("\n") for block in re.split(r"\n\s*\n", "\n".join(lines)) if block.strip()]


def paragraph(block: str) -> str:
    """One paragraph: literals in code, formulas and examples as they stand."""
    if block.startswith(("    ", ">>>")) or "\n    " in block:
        return f"<pre>{html.escape(block)}</pre>"
    text = html.escape(" ".join(block.split()), quote=False)
    return "<p>" + re.sub(r"``(.+?)``", r"<code>\1</code>", text).replace("::", ":") + "</p>"


def _gather(app: Sphinx, doctree: nodes.document) -> None:
    """Remember which section of a page uses which name, cell by cell."""
    cells = []
    for block in doctree.findall(nodes.literal_block):
        if "cell_input" in block.parent.get("classes", []):
            section = block.parent
            while section.parent is not None and not _title(section):  # a solution's own section has none
                section = section.parent
            cells.append((block.astext(), section["ids"][0], _title(section)))
    if cells:
        _uses(app)[app.env.docname] = public_names.uses(cells, app.env.lr_places)  # type: ignore[attr-defined]


def _know(app: Sphinx, env: BuildEnvironment, names: list[str]) -> None:
    """Find the package's public names, once: that imports all of it, which takes seconds."""
    if not hasattr(env, "lr_places"):
        places = {path: (name.room, name.short) for path, name in public_names.by_path().items()}
        env.lr_places = places  # type: ignore[attr-defined]


def _title(node: nodes.Element) -> str:
    """The title of a section, "" for one without and for what is no section."""
    titles = [child for child in node.children if isinstance(child, nodes.title)]
    return titles[0].astext() if titles and isinstance(node, nodes.section) else ""


def _uses(app: Sphinx) -> dict[str, Uses]:
    if not hasattr(app.env, "lr_uses"):
        app.env.lr_uses = {}  # type: ignore[attr-defined]
    return app.env.lr_uses  # type: ignore[attr-defined]


def _forget(app: Sphinx, env: BuildEnvironment, docname: str) -> None:
    _uses(app).pop(docname, None)


def _fill(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    for place in list(doctree.findall(UsesNode)):
        links = [
            f'<a href="{app.builder.get_relative_uri(docname, page)}#{anchor}">{html.escape(title)}</a>'
            for page, found in sorted(_uses(app).items())
            for anchor, title in found.sections.get(place["name"], {}).items()
        ]
        words = f"Used in {', '.join(links)}." if links else "No section of the book calls it: the package does."
        place.replace_self(nodes.raw("", f'<p class="lr-used">{words}</p>', format="html"))


def _name_code(app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Hand the page's script the places of the names in its code, as they are written there."""
    found = _uses(app).get(pagename)
    if found is None:
        return
    places = {}
    for written, path in sorted(found.names.items()):
        room, short = app.env.lr_places[path]  # type: ignore[attr-defined]
        places[written] = f"{context['pathto'](f'book/reference/{room}')}#{short}"
    text = json.dumps(places, separators=(",", ":")).replace("<", "\\u003c")
    context["body"] += f'<script type="application/json" id="lr-names">{text}</script>'
    app.add_js_file("names.js", loading_method="defer")


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_node(UsesNode)
    app.add_directive("package-room", PackageRoom)
    app.connect("env-before-read-docs", _know)
    app.connect("doctree-read", _gather)
    app.connect("env-purge-doc", _forget)
    app.connect("doctree-resolved", _fill)
    app.connect("html-page-context", _name_code)
    return {"parallel_read_safe": False, "parallel_write_safe": True}
