"""Links that show what they lead to, on hover and on focus."""

from __future__ import annotations

from visits import Visit, serious_faults

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
