"""The whole book as one PDF: the built pages one after the other, printed by Chromium with contents and links."""

from __future__ import annotations

import re
from pathlib import Path

import chromium
import execute

HTML = execute.ROOT / "_build" / "html"
PDF = execute.ROOT / "_build" / "learning-rates-that-transfer.pdf"
ARTICLE = re.compile(r'<article class="bd-article">(.*?)</article>', re.DOTALL)
TITLE = re.compile(r"<h1>(.*?)<a class=\"headerlink\"", re.DOTALL)
SECTION = re.compile(
    r'<section\b[^>]*\bid="([^"]+)"[^>]*>\s*(?:<span[^>]*></span>\s*)*<h2>(.*?)<a class="headerlink"', re.DOTALL
)
FOOTER = (
    '<div style="font: 8px sans-serif; width: 100%; text-align: center">'
    '<span class="pageNumber"></span> of <span class="totalPages"></span></div>'
)
STYLE = """
article { max-width: none; break-before: page; }
nav.contents { break-before: page; } nav.contents ul { list-style: none; }
body { font-size: 10.5pt; } .title-page { padding-top: 35vh; text-align: center; }
"""


def entries() -> list[str]:
    """Return the pages in the order of the contents, such as ``book/depth``."""
    return [entry for entry, _ in execute.toc_entries()]


def article(entry: str, pages: list[str]) -> tuple[str, str, str]:
    """Return a page's title, the list of its sections and its article, both with addresses within the one document."""
    page = (HTML / f"{entry}.html").read_text(encoding="utf-8")
    found = ARTICLE.search(page)
    if found is None:
        raise SystemExit(f"{entry}.html has no article: run `make book` first.")
    name = Path(entry).name
    body = re.sub(r'\bid="([^"]+)"', rf'id="{name}--\1"', found[1])
    body = re.sub(r'\bhref="([^"]*)"', lambda link: f'href="{within(link[1], entry, pages)}"', body)
    body = re.sub(r'\b(src)="(?:\.\./)?(_[^"]+)"', r'\1="\2"', body).replace('loading="lazy"', "")
    body = re.sub(r'<img\b[^>]*class="lr-on-dark[^>]*>', "", body)
    title = (TITLE.search(found[1]) or ["", name])[1]
    sections = "".join(
        f'<li><a href="#{name}--{anchor}">{heading}</a></li>' for anchor, heading in SECTION.findall(found[1])
    )
    return title, f"<ul>{sections}</ul>", f'<article id="{name}--top">{body}</article>'


def within(address: str, entry: str, pages: list[str]) -> str:
    """Return an address of the site as one within the document, where its page is part of it; others as they are."""
    page, _, anchor = address.partition("#")
    if re.match(r"[a-z]+:", page):
        return address
    target = Path(entry).name if not page else Path(page).name.removesuffix(".html")
    if page and (not page.endswith(".html") or target not in {Path(each).name for each in pages}):
        return address
    return f"#{target}--{anchor or 'top'}"


def document() -> str:
    """Return the book as one page of HTML, to be read from the site's folder."""
    pages = [entry for entry in entries() if (HTML / f"{entry}.html").is_file()]
    if not pages:
        raise SystemExit("There is no built site: run `make book` first.")
    read = "".join((HTML / f"{entry}.html").read_text(encoding="utf-8") for entry in pages)
    sheets = dict.fromkeys(re.findall(r'rel="stylesheet" href="(?:\.\./)?(_static/[^"]+)"', read))
    links = "".join(f'<link rel="stylesheet" href="{sheet}">' for sheet in sheets)
    parts = [article(entry, pages) for entry in pages]
    contents = "".join(
        f'<li><a href="#{Path(entry).name}--top">{title}</a>{sections}</li>'
        for entry, (title, sections, _) in zip(pages, parts, strict=True)
    )
    return (
        '<!doctype html><html lang="en" data-theme="light"><head><meta charset="utf-8">'
        "<title>Learning Rates That Transfer</title>"
        f"{links}<style>{STYLE}</style></head>"
        '<body><div class="title-page"><h1>Learning Rates That Transfer</h1></div>'
        f'<nav class="contents"><h1>Contents</h1><ul>{contents}</ul></nav>'
        f'<div class="bd-content">{"".join(body for _, _, body in parts)}</div></body></html>'
    )


def main() -> None:
    """Write the PDF beside the site."""
    from playwright.sync_api import sync_playwright

    path = HTML / ".whole-book.html"
    path.write_text(document(), encoding="utf-8")
    try:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium.find_or_install(), args=["--no-sandbox"])
            page = browser.new_page()
            page.goto(path.as_uri(), timeout=120_000)
            page.evaluate("document.querySelectorAll('details:not(.hide)').forEach((fold) => (fold.open = true))")
            page.evaluate("document.fonts.ready")
            margins = {"top": "18mm", "bottom": "18mm", "left": "16mm", "right": "16mm"}
            page.pdf(
                path=PDF,
                format="A4",
                margin=margins,  # type: ignore[arg-type]
                display_header_footer=True,
                header_template="<span></span>",
                footer_template=FOOTER,
                tagged=True,
                outline=True,
            )
            browser.close()
    finally:
        path.unlink()
    print(f"The book: {PDF} ({PDF.stat().st_size / 1e6:.1f} MB)")


if __name__ == "__main__":
    main()
