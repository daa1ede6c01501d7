"""What a published site has beside its pages: addresses, a map for search engines, previews, a page for the lost."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable
from urllib.parse import urlsplit

PAGES_BRANCH = (
    "gh-pages"  # holds the published site; Colab opens the notebooks of this branch, which know their address
)
ADDRESS = re.compile(r'REPOSITORY = \\"[^"\\]*\\"')  # as it stands in the JSON of a notebook
REVISION = re.compile(r'REVISION = \\"[^"\\]*\\"')


def site_address(repository: str) -> str:
    """Where GitHub Pages serves the site of a repository, with a slash at its end; "" for other hosts."""
    parts = urlsplit(repository)
    if parts.netloc != "github.com":
        return ""
    owner, name = parts.path.strip("/").split("/")
    root = f"https://{owner.lower()}.github.io/"
    return root if name.lower() == f"{owner.lower()}.github.io" else f"{root}{name}/"


def colab_address(repository: str, notebook: str) -> str:
    """What opens a published notebook in Colab; "" where Colab cannot reach the repository."""
    place = repository.removeprefix("https://github.com/")
    if place == repository:
        return ""
    return f"https://colab.research.google.com/github/{place}/blob/{PAGES_BRANCH}/notebooks/{notebook}.ipynb"


def with_address(notebook: str, repository: str, revision: str) -> str:
    """The text of a notebook whose first cell installs the package from this repository at this revision."""
    text = ADDRESS.sub(lambda _: f'REPOSITORY = \\"{repository}\\"', notebook, count=1)
    return REVISION.sub(lambda _: f'REVISION = \\"{revision}\\"', text, count=1)


def description(body: str) -> str:
    """The first paragraph of a page that says something, in plain words: what search engines and previews show."""
    for found in re.finditer(r"<p\b[^>]*>(.*?)</p>", body, re.S):
        text = html.unescape(re.sub(r"<[^>]+>", "", re.sub(r'<span class="math.*?</span>', "…", found[1], flags=re.S)))
        text = " ".join(text.split())
        if len(text) > 60 and "\\(" not in text:
            return text if len(text) <= 200 else text[:197].rsplit(" ", 1)[0] + " …"
    return ""


def preview_tags(title: str, words: str, site: str, page: str) -> str:
    """Description and preview tags; the picture, which needs a full address, only where the site has one."""
    pairs = [("og:type", "article"), ("og:site_name", "Learning Rates That Transfer"), ("og:title", title)]
    pairs += [("og:description", words)] if words else []
    if site:
        pairs += [("og:url", site + page), ("og:image", f"{site}_static/preview.png")]
    tags = [f'<meta property="{name}" content="{html.escape(value)}">' for name, value in pairs]
    tags += [f'<meta name="description" content="{html.escape(words)}">'] if words else []
    return "\n".join([*tags, f'<meta name="twitter:card" content="{"summary_large_image" if site else "summary"}">'])


def sitemap(pages: Iterable[str], site: str) -> str:
    """A map of the pages for search engines."""
    entries = "".join(f"<url><loc>{html.escape(site + page)}</loc></url>" for page in pages)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
        f"{entries}</urlset>\n"
    )


def robots(site: str) -> str:
    """All may read everything."""
    return "User-agent: *\nAllow: /\n" + (f"Sitemap: {site}sitemap.xml\n" if site else "")


def not_found(site: str, chapters: Iterable[tuple[str, str]]) -> str:
    """The page for an address that does not exist. It is served at any depth, so its links start at the site's root."""
    root = urlsplit(site).path or "/"
    links = "".join(f'<li><a href="{root}{page}">{html.escape(title)}</a></li>' for page, title in chapters)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>No such page</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex">'
        "<style>:root{color-scheme:light dark}body{font:1.1rem/1.6 system-ui,sans-serif;max-width:40rem;"
        "margin:4rem auto;padding:0 1rem}</style></head><body><main><h1>There is no such page</h1>"
        f'<p>It may have moved. The book begins at <a href="{root}">Learning Rates That Transfer</a>; '
        f'or <a href="{root}search.html">search it</a>.</p><ul>{links}</ul></main></body></html>\n'
    )
