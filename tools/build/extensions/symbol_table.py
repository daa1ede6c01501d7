"""What symbols in formulas mean: the tables of the page on notation, a file for each chapter and one for the rest."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from sphinx.application import Sphinx

NOTATION, EVERYWHERE, WHOLE = "book/notation", "everywhere", "book"
SECTION = re.compile(r'<section id="([\w-]+)">\s*<h2>.*?</section>', re.DOTALL)
ROW = re.compile(r'<tr class="row-(?:odd|even)"><td>(.*?)</tr>', re.DOTALL)
SCRIPT = "symbols.js"


def tables(page: str) -> dict[str, list[list[str]]]:
    """The lines of the page on notation by section: symbols, their meaning and, in a chapter's, where it is defined."""
    return {section[1]: [_cells(row) for row in ROW.findall(section[0])] for section in SECTION.finditer(page)}


def _cells(row: str) -> list[str]:
    cells = [re.sub(r"</?p>|</td>|\n", "", cell).strip() for cell in row.split("<td>")]
    cells = [re.sub(r' (?:class|data-tex)="[^"]*"', "", cell) for cell in cells]
    return [*cells[:2], cells[2] if len(cells) == 4 else ""]


def _write(app: Sphinx, error: Exception | None) -> None:
    page = Path(app.outdir) / f"{NOTATION}.html"
    if error is not None or app.builder.format != "html" or not page.is_file():
        return
    folder = Path(app.outdir) / "_static" / "symbols"
    folder.mkdir(parents=True, exist_ok=True)
    found = tables(page.read_text(encoding="utf-8"))
    rooms = {name: found[name] for name in found if name in _chapters(app)}
    everywhere = found[EVERYWHERE]
    files = {name: [*lines, *everywhere] for name, lines in rooms.items()}
    # Pages that are about several chapters: each line with the chapter that it is of, "" where it holds everywhere.
    of_rooms = [[*line, name] for name, lines in rooms.items() for line in lines]
    files[WHOLE] = [*([*line, ""] for line in everywhere), *of_rooms]
    for name, lines in files.items():
        text = json.dumps(lines, ensure_ascii=False, separators=(",", ":"))
        (folder / f"{name}.js").write_text(f"window.lrSymbols={text};\n", encoding="utf-8")


def _ask(app: Sphinx, page: str, template: str, context: dict[str, Any], tree: Any) -> None:
    """Give a page that has formulas the script, and one button that lists what its symbols mean."""
    if tree is None or "<math" not in context.get("body", "") or "header_buttons" not in context:
        return
    name = page.rpartition("/")[2]
    attributes: dict[str, Any] = {"data-symbols": name if name in _chapters(app) else WHOLE}
    app.add_js_file(SCRIPT, loading_method="defer", **attributes)
    context["header_buttons"].insert(
        0,
        {
            "type": "javascript",
            "javascript": "lrSymbolList()",
            "tooltip": "What the symbols on this page mean",
            "icon": "fas fa-superscript",
            "label": "symbols-button",
        },
    )


def _chapters(app: Sphinx) -> set[str]:
    """The pages that have a table of their own."""
    source = Path(app.srcdir) / f"{NOTATION}.md"
    sections = re.findall(r"^## (\w+)$", source.read_text(encoding="utf-8"), re.MULTILINE)
    return {name.lower() for name in sections if source.with_name(f"{name.lower()}.md").is_file()}


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("html-page-context", _ask, priority=910)
    app.connect("build-finished", _write, priority=600)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
