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


def test_every_page_with_formulas_lists_its_symbols_for_the_keyboard_and_no_formula_is_a_tab_stop(
    browser, address, site
):
    pages = [path for path in sorted(site.glob("book/*.html")) if "<math" in path.read_text(encoding="utf-8")]
    assert len(pages) > 12
    for path in pages:
        with Visit(browser, address, f"book/{path.name}") as visit:
            button = visit.page.get_by_role("button", name="What the symbols on this page mean")
            if path.stem == "depth":
                visit.page.locator("article .lr-formula math").first.scroll_into_view_if_needed()
            button.focus()
            visit.page.keyboard.press("Enter")
            dialog = visit.page.locator("dialog.lr-symbols")
            dialog.wait_for()
            assert dialog.locator(".lr-meaning p").count() >= 1, path.name
            if path.stem == "depth":
                assert dialog.locator("h2").all_inner_texts() == ["In view", "Elsewhere on this page"]
                assert serious_faults(visit.page, "dialog.lr-symbols") == []
            visit.page.keyboard.press("Escape")
            dialog.wait_for(state="detached")
            assert button.evaluate("button => button === document.activeElement")
            assert visit.page.locator("article math[tabindex], article math [tabindex]").count() == 0
            assert visit.complaints == [] and visit.outside == []


def test_a_page_about_several_chapters_says_whose_symbol_it_is(browser, address):
    with Visit(browser, address, "book/claims.html") as visit:
        symbol = visit.page.locator("tr[id^='layers.'] math mi", has_text="α").first
        symbol.scroll_into_view_if_needed()
        symbol.hover()
        meaning = visit.page.locator(".lr-meaning")
        meaning.wait_for()
        assert meaning.locator("p").count() == 1 and "in Layers" in meaning.inner_text()
    with Visit(browser, address, "book/course.html") as visit:
        visit.page.get_by_role("button", name="What the symbols on this page mean").click()
        words = visit.page.locator("dialog.lr-symbols").inner_text()
        assert "in Depth" in words and "in Width" in words


def test_symbols_have_their_meanings_without_a_server(browser, site):
    page = browser.new_context().new_page()
    page.goto((site / CHAPTER).as_uri())
    page.locator("article p math mi", has_text="τ").first.hover()
    page.locator(".lr-meaning").wait_for()
    page.context.close()
