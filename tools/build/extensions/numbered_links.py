"""Links by number: Sphinx loads the page that such a link leads to from disk for every link; once is enough."""

from __future__ import annotations

from functools import cache
from typing import Any

from sphinx.application import Sphinx
from sphinx.domains.std import StandardDomain


class NumberedLinks(StandardDomain):
    """Sphinx's own domain, which looks at a page that it reads for a number and does not change it."""

    def _resolve_numref_xref(self, env: Any, *arguments: Any) -> Any:
        whole = type(env).get_doctree
        if not hasattr(self, "_page"):
            self._page = cache(lambda name: whole(env, name))
        env.get_doctree = self._page
        try:
            return super()._resolve_numref_xref(env, *arguments)
        finally:
            del env.get_doctree


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_domain(NumberedLinks, override=True)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
