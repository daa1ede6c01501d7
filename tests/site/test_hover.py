"""Links that show what they lead to, on hover and on focus."""

from __future__ import annotations

import pytest
from visits import PHONE, Visit, serious_faults

CHAPTER = "book/depth.html"


def test_an_equation_shows_itself_on_hover_and_on_focus_and_goes(browser, address):
    with Visit(browser, address, CHAPTER) as visit:
        visit.page.evaluate("window.MathJax?.startup?.promise")
        link = visit.page.locator("article p a[href^='#equation-']").first
        link.scroll_into_view_if_needed()
        link.hover()
        card = visit.page.locator(".lr-hover")
        card.wait_for()
        assert card.locator(".math, mjx-container").count() >= 1
        assert link.get_attribute("aria-describedby") == card.get_attribute("id")
        box = card.bounding_box()
        assert box["x"] >= 0 and box["x"] + box["width"] <= 1280 and box["y"] >= 0
        visit.page.keyboard.press("Escape")
        assert card.count() == 0 and link.get_attribute("aria-describedby") is None
        link.focus()
        card.wait_for()
        assert serious_faults(visit.page, ".lr-hover") == []
        assert card.locator("[id]").count() == 0
        visit.page.evaluate("document.activeElement.blur()")
        card.wait_for(state="detached")


def test_a_claim_shows_its_row_from_the_other_page_and_nothing_from_elsewhere(browser, address):
    with Visit(browser, address, CHAPTER) as visit:
        link = visit.page.locator("a.lr-id").first
        link.scroll_into_view_if_needed()
        link.hover()
        card = visit.page.locator(".lr-hover")
        card.wait_for()
        assert "reproduced" in card.inner_text()
        assert visit.outside == [] and visit.complaints == []


def test_a_statement_shows_itself(browser, address):
    with Visit(browser, address, "book/stages.html") as visit:
        visit.page.evaluate("window.MathJax?.startup?.promise")
        link = visit.page.locator("article p a[href*='#thm-']").first
        link.evaluate("a => { for (let d = a; (d = d.parentElement.closest('details')); ) d.open = true; }")
        link.scroll_into_view_if_needed()
        link.hover()
        visit.page.locator(".lr-hover .proof").wait_for()


def test_a_symbol_shows_its_meaning_and_where_it_is_defined(browser, address):
    with Visit(browser, address, CHAPTER) as visit:
        page = visit.page
        card, symbol = page.locator(".lr-meaning"), page.locator("article p math mi", has_text="τ").first
        symbol.scroll_into_view_if_needed()
        symbol.hover()
        card.wait_for()
        assert "time constant" in card.inner_text() and card.locator("a[href*='equation-eq-depth-rate']").count() == 1
        assert "τ" in page.locator("article math .lr-lit").text_content()
        assert serious_faults(page, ".lr-hover") == []
        weight = page.locator("article .lr-formula msub", has_text="w").first
        weight.scroll_into_view_if_needed()
        weight.locator("mi").first.hover()
        page.wait_for_function("document.querySelector('.lr-meaning')?.textContent.includes('weight of layer')")
        page.mouse.move(2, 2)
        card.wait_for(state="detached")
        assert visit.outside == [] and visit.complaints == []


def test_the_focus_on_a_link_to_an_equation_lists_its_symbols(browser, address):
    with Visit(browser, address, CHAPTER) as visit:
        link = visit.page.locator("article p a[href='#equation-eq-depth-imbalance']").first
        link.evaluate("a => { for (let d = a; (d = d.parentElement.closest('details')); ) d.open = true; }")
        link.focus()
        card = visit.page.locator(".lr-hover .lr-meaning")
        card.wait_for()
        assert all(words in card.inner_text() for words in ("weight of layer", "learning rate"))
        assert link.get_attribute("aria-describedby") == "lr-hover"


def test_a_tap_on_a_symbol_shows_it_and_a_tap_elsewhere_closes_it(browser, address):
    with Visit(browser, address, CHAPTER, PHONE, has_touch=True, is_mobile=True) as visit:
        symbol = visit.page.locator("article p math mi", has_text="τ").first
        symbol.scroll_into_view_if_needed()
        symbol.tap()
        visit.page.locator(".lr-meaning").wait_for()
        visit.page.locator("article h1").first.tap()
        visit.page.locator(".lr-meaning").wait_for(state="detached")


@pytest.mark.parametrize("chapter", ["depth", "width", "residual", "layers", "stages", "synthesis"])
def test_every_letter_of_a_chapters_formulas_has_a_meaning(browser, address, chapter):
    with Visit(browser, address, f"book/{chapter}.html") as visit:
        unknown = visit.page.evaluate(
            """async () => {
              const all = [...document.querySelectorAll("article .math math mi")];
              const letters = all.filter((e) => /^[\\p{L}]$/u.test(e.textContent));
              const known = await Promise.all(letters.map((e) => window.lrSymbolsIn({ querySelectorAll: () => [e] })));
              return [letters.filter((e, k) => !known[k]).map((e) => e.textContent), letters.length];
            }"""
        )
        assert unknown[1] > 300 and len(unknown[0]) < 0.02 * unknown[1], unknown


def test_symbols_have_their_meanings_without_a_server(browser, site):
    page = browser.new_context().new_page()
    page.goto((site / CHAPTER).as_uri())
    page.locator("article p math mi", has_text="τ").first.hover()
    page.locator(".lr-meaning").wait_for()
    page.context.close()
