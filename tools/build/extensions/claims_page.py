"""The claims page and claims.json, read off the executed chapters of the same build."""

from __future__ import annotations

import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from lrtransfer.page.claims import MARKS, OPEN
from lrtransfer.page.ledger import assemble

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import execute


class LedgerNode(nodes.General, nodes.Element):
    """Where the ledger goes; filled when every page has been read."""


class ClaimsLedger(SphinxDirective):
    """``{claims-ledger}``: one table for each chapter, or a count of verdicts with ``:summary:``."""

    option_spec = {"summary": directives.flag}

    def run(self) -> list[nodes.Node]:
        return [LedgerNode(summary="summary" in self.options)]


@cache
def _ledger() -> list[dict[str, Any]]:
    """The ledger of the chapters as this build shows them."""
    names = [path.stem for path in execute.chapters()]
    return assemble({f"book/{name}.html": execute.executed_notebook(name) for name in names})


def _number(value: float | None) -> str:
    return "" if value is None else f"{float(value):.5g}"  # infinity travels as a word


def _row(cells: list[nodes.Node], tag: type[nodes.Element] = nodes.paragraph) -> nodes.row:
    row = nodes.row()
    for cell in cells:
        entry = nodes.entry()
        entry += tag("", "", cell)
        row += entry
    return row


def _table(rows: list[dict[str, Any]], home: str, builder: Any) -> nodes.table:
    headings = ["Claim", "In the paper", "What is stated", "Measured", "Expected", "Verdict"]
    table = nodes.table(classes=["lr-ledger"])
    group = nodes.tgroup(cols=len(headings))
    group += [nodes.colspec(colwidth=w) for w in (14, 12, 40, 10, 10, 14)]
    head = nodes.thead()
    head += _row([nodes.Text(h) for h in headings])
    body = nodes.tbody()
    for r in rows:
        name: nodes.Node = nodes.literal(text=r["id"])
        if r["where"]:
            page, anchor = r["where"].split("#")
            name = nodes.reference("", "", name, refuri=f"{builder.get_relative_uri(home, page[:-5])}#{anchor}")
        bound = {"<=": "≤ ", ">=": "≥ "}.get(r["relation"], "")
        slack = f" ± {_number(r['tolerance'])}" if r["tolerance"] else ""
        verdict = nodes.inline(
            "", f"{MARKS[r['verdict']]} {r['verdict']}", classes=["lr-" + r["verdict"].replace(" ", "-")]
        )
        expected = f"{bound}{_number(r['expected'])}{slack}"
        texts = (r["seed_label"], r["claim"], _number(r["measured"]), expected)
        body += _row([name, *(nodes.Text(t) for t in texts), verdict])
    group += [head, body]
    table += group
    return table


def _fill(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    for place in list(doctree.findall(LedgerNode)):
        rows = _ledger()
        counts = {v: sum(r["verdict"] == v for r in rows) for v in MARKS}
        text = "; ".join(f"{n} {verdict}" for verdict, n in counts.items()) + f"; {len(rows)} in all."
        content: list[nodes.Node] = [nodes.paragraph(text=text)]
        if not place["summary"]:
            for chapter in dict.fromkeys(r["chapter"] for r in rows):
                section = nodes.rubric(text=chapter.capitalize())
                mine = [r for r in rows if r["chapter"] == chapter]
                content += [section, _table(mine, docname, app.builder)]
        place.replace_self(content)


def _write_json(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        ledger = [{k: v for k, v in r.items() if k != "claim"} for r in _ledger()]
        target = Path(app.outdir) / "claims.json"
        target.write_text(json.dumps(ledger, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        assert all((r["where"] is None) == (r["verdict"] == OPEN) for r in ledger)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_node(LedgerNode)
    app.add_directive("claims-ledger", ClaimsLedger)
    app.connect("doctree-resolved", _fill)
    app.connect("build-finished", _write_json)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
