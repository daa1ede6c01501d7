"""A page is read at once: what it weighs, what waits, and what moves."""

import gzip
from pathlib import Path

import pytest
from test_browser import PHONE, Visit

CHAPTERS = ("depth", "width", "residual", "layers", "stages")
WEIGHT = 1_000_000  # bytes before figures, as a server sends them
COMPRESSED = {".html", ".css", ".js", ".svg"}


@pytest.fixture(params=CHAPTERS)
def chapter(request):
    return f"book/{request.param}.html"


def test_a_chapter_weighs_less_than_a_megabyte_before_its_figures(browser, address, site, chapter):
    with Visit(browser, address, chapter) as visit:
        visit.page.wait_for_load_state("networkidle")
        loaded = visit.page.evaluate("[location.href, ...performance.getEntriesByType('resource').map(e => e.name)]")
    sizes = {}
    for url in loaded:
        path = Path(site) / url.removeprefix(address).lstrip("/").split("?")[0].split("#")[0]
        if path.is_file() and "_images" not in path.parts:
            data = path.read_bytes()
            sizes[path.name] = len(gzip.compress(data)) if path.suffix in COMPRESSED else len(data)
    assert len(sizes) > 5
    assert sum(sizes.values()) < WEIGHT, sorted(sizes.items(), key=lambda item: -item[1])[:5]


def test_formulas_need_no_script_and_are_set_in_the_books_font(browser, address, chapter):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{address}/{chapter}")
    for fold in page.locator("details.lr-further > summary").all():
        fold.click()
    heights = page.locator(".lr-formula math mfrac >> visible=true").first.bounding_box()
    assert heights and heights["height"] > 20  # a fraction stands on two lines
    context.close()
    with Visit(browser, address, chapter) as visit:
        visit.page.evaluate("document.fonts.ready")
        assert visit.page.evaluate("document.fonts.check('16px \\'Book Formulas\\'')")
        assert visit.page.locator("script[src*=mathjax]").count() == 0


def test_folded_code_is_text_and_gets_its_colours_when_opened(browser, address, chapter):
    with Visit(browser, address, chapter) as visit:
        fold = visit.page.locator("details.hide").first
        assert fold.locator("pre[data-colours]").count() == 1
        before = fold.locator("pre").first.evaluate("e => e.textContent")
        assert fold.locator("pre span").count() == 0
        fold.locator("summary").click()
        visit.page.wait_for_function("document.querySelector('details.hide[open] pre span')")
        assert fold.locator("pre").first.evaluate("e => e.textContent") == before
        assert fold.locator("pre[data-colours]").count() == 0


def test_the_page_does_not_move_while_it_loads(browser, address, chapter):
    watch = """window.moved = 0;
      new PerformanceObserver((list) => list.getEntries().forEach((e) => e.hadRecentInput || (window.moved += e.value)))
        .observe({ type: "layout-shift", buffered: true });"""
    context = browser.new_context(viewport=PHONE)
    context.add_init_script(watch)
    page = context.new_page()
    page.goto(f"{address}/{chapter}", wait_until="networkidle")
    page.wait_for_timeout(300)
    assert page.evaluate("window.moved") < 0.05
    context.close()
