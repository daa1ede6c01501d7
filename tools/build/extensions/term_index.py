"""The index of terms: every place where a page links to the glossary becomes an entry of the index, under the term."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform


class TermIndex(SphinxTransform):
    """Put an index entry before every ``{term}`` of a page."""

    default_priority = 500  # before Sphinx gathers the entries of a page

    def apply(self, **options: Any) -> None:
        for link in list(self.document.findall(addnodes.pending_xref)):
            if link.get("reftype") == "term":
                place = f"term-{self.env.new_serialno('term')}"
                entry = addnodes.index(entries=[("single", link["reftarget"], place, "", None)])
                target = nodes.target("", "", ids=[place])
                at = link.parent.index(link)
                link.parent.insert(at, [entry, target])


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_transform(TermIndex)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
