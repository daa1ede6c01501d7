"""The head of a page: one style sheet, scripts that wait until the page is read, and no icon script."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from leaning import sheets

STYLE = re.compile(r'<link(?=[^>]*rel="stylesheet")[^>]*href="([^"]*?)_static/([^"?]+)[^"]*"[^>]*/?>\s*')
SCRIPT = re.compile(r'<script src="([^"]*)"></script>')
ICON_SCRIPT = re.compile(
    r'\s*(?:<!-- So that users can add custom icons -->\s*)?<script defer src="[^"]*fontawesome\.js[^"]*"></script>'
)
IMPORT = re.compile(r"@import (?:url\()?[\"']([^\"']+)[\"']\)?;")
ADDRESS = re.compile(r"url\(([\"']?)(?!data:|#|https?:|/)([^\"')]+)\1\)")
SEARCH = re.compile(r'\s*<script src="[^"]*(?:searchtools|language_data|searchindex)\.js[^"]*"></script>')
TABS = re.compile(r"\s*<script data-sd-tabs[^>]*></script>")  # Sphinx-Design's, for tabs, which no page has
AHEAD = re.compile(r'\s*<link rel="preload" as="script"[^>]*/>')  # they are deferred: what paints comes first
OPTIONS = re.compile(r'<script src="[^"]*documentation_options\.js[^"]*"></script>')
BRANCH = re.compile(r'(<a class="[^"]*reference internal[^"]*" href="[^"]*">([^<"]*)</a><details[^>]*>)<summary>')
# From a folder a browser fetches no font ahead, and says so: there it is not asked to. Before the style sheet, which a
# script would wait for.
FONT = (
    '<script>if (location.protocol !== "file:") document.head.insertAdjacentHTML("beforeend", '
    '\'<link rel="preload" as="font" type="font/woff" crossorigin href="{}_static/fonts/formulas.woff">\')</script>\n'
)


def styles(page: str) -> list[str]:
    """Return the style sheets of a page, as paths below _static."""
    return [name for _, name in STYLE.findall(page)]


def bundled(static: Path, names: list[str], used: set[str], known: set[str]) -> str:
    """Write the style sheets as one file and return its name.

    Of the icons' rules only those in ``used`` stay, and of all others those for classes and ids that are ``known``.
    """
    text = "".join(_sheet(static, name) for name in names)
    text = sheets.without_unused(without_unused_icons(text, used), known)
    name = f"site.{hashlib.sha256(text.encode()).hexdigest()[:12]}.css"
    (static / name).write_text(text, encoding="utf-8")
    return name


def _sheet(static: Path, name: str) -> str:
    """Return a style sheet, with those that it imports, with its addresses as seen from _static."""
    folder = Path(name).parent.as_posix()
    css = (static / name).read_text(encoding="utf-8")
    imports = "".join(_sheet(static, _below(folder, each)) for each in IMPORT.findall(css))
    css = ADDRESS.sub(lambda found: f"url({_below(folder, found[2])})", IMPORT.sub("", css))
    return imports + re.sub(r"/\*# sourceMappingURL.*?\*/", "", css).strip() + "\n"


def _below(folder: str, address: str) -> str:
    parts: list[str] = [] if folder == "." else folder.split("/")
    for part in address.split("/"):
        if part == "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return "/".join(parts)


def without_unused_icons(css: str, used: set[str]) -> str:
    """Drop the rules that name icons which no page shows."""

    def keep(rule: re.Match[str]) -> str:
        return rule[0] if used.intersection(re.findall(r"\.(fa-[a-z0-9-]+)", rule[1])) else ""

    return re.sub(r'((?:\.fa-[a-z0-9-]+:before,?)+)\{content:"[^"]*"\}', keep, css)


def named(page: str) -> str:
    """Return the page whose folds in the sidebar say by name what they fold."""
    return BRANCH.sub(r'\1<summary aria-label="Pages below \2">', page)


def lean(page: str, sheet: str, options: str, is_search: bool) -> str:
    """Return the page with one style sheet, its scripts deferred and those of the search on the search page alone.

    ``options`` is the text of Sphinx's documentation_options.js, which scripts in the page read at once.
    """
    first = STYLE.search(page)
    if first is None:
        return page
    root = first[1]
    link = f'<link rel="stylesheet" href="{root}_static/{sheet}" />\n'
    font = FONT.format(root) if "<math" in page else ""
    page = page[: first.start()] + font + link + STYLE.sub("", page[first.start() :])
    page = AHEAD.sub("", ICON_SCRIPT.sub("", page))
    page = page if "sd-tab-set" in page else TABS.sub("", page)
    page = OPTIONS.sub(lambda _: f"<script>{options}</script>", page)
    if is_search:
        return page
    page = SEARCH.sub("", page)
    return SCRIPT.sub(r'<script defer src="\1"></script>', page)
