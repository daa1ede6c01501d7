"""The claims page, claims.json and findings.json, read off the executed chapters of the same build."""

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

import ledger_rows
from lrtransfer.page import ledger
from lrtransfer.page.claims import OPEN

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import execute

PAGE = "book/claims"


class LedgerNode(nodes.General, nodes.Element):
    """Where a table goes; filled when every page has been read."""


class ClaimsLedger(SphinxDirective):
    """``{claims-ledger}``: the papers' claims, or a count of verdicts with ``:summary:``."""

    option_spec = {"summary": directives.flag}
    table = "claims"

    def run(self) -> list[nodes.Node]:
        return [LedgerNode(table="summary" if "summary" in self.options else self.table)]


class FindingsLedger(ClaimsLedger):
    """``{findings-ledger}``: what the book found."""

    option_spec = {}
    table = "findings"


@cache
def _executed() -> dict[str, Any]:
    names = [path.stem for path in execute.chapters()]
    return {f"book/{name}.html": execute.executed_notebook(name) for name in names}


@cache
def claims() -> list[dict[str, Any]]:
    """The ledger of the chapters as this build shows them."""
    return ledger.assemble(_executed())


@cache
def findings() -> list[dict[str, Any]]:
    """The findings of the same chapters."""
    return ledger.assemble_findings(_executed())


def _fill(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    for place in list(doctree.findall(LedgerNode)):

        def page_of(name: str) -> str:
            return app.builder.get_relative_uri(docname, name)

        made = {
            "summary": lambda: ledger_rows.summary(claims(), page_of),
            "claims": lambda: ledger_rows.claims_table(claims(), page_of),
            "findings": lambda: ledger_rows.findings_table(findings(), page_of),
        }[place["table"]]()
        place.replace_self(made)


def _link_names(app: Sphinx, pagename: str, template: str, context: dict[str, Any], doctree: Any) -> None:
    """Link the names in the boxes of a chapter to their rows; give the claims page its script and styles."""
    if pagename == PAGE:
        app.add_css_file("ledger.css")
        app.add_js_file("ledger.js", loading_method="defer")
    elif 'class="lr-id"' in context.get("body", ""):
        context["body"] = ledger_rows.linked_names(context["body"], context["pathto"](PAGE))


def _write_json(app: Sphinx, error: Exception | None) -> None:
    if error is None and app.builder.format == "html":
        for name, rows, words in (("claims", claims(), "claim"), ("findings", findings(), "")):
            kept = [{k: v for k, v in row.items() if k != words} for row in rows]
            text = json.dumps(kept, indent=1, ensure_ascii=False)
            (Path(app.outdir) / f"{name}.json").write_text(text + "\n", encoding="utf-8")
        assert all((r["where"] is None) == (r["verdict"] == OPEN) for r in claims())


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_node(LedgerNode)
    app.add_directive("claims-ledger", ClaimsLedger)
    app.add_directive("findings-ledger", FindingsLedger)
    app.connect("doctree-resolved", _fill)
    app.connect("html-page-context", _link_names)
    app.connect("build-finished", _write_json)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
