"""The landing page in Chromium: the question, a figure that moves, and the five chapters, before any scrolling."""

from __future__ import annotations

import pytest
from visits import DESKTOP, PHONE, WIDE, Visit

PAGE = "book/intro.html"
CHAPTERS = ["depth", "width", "residual", "layers", "stages"]


@pytest.mark.parametrize("viewport", [DESKTOP, WIDE], ids=["desktop", "wide"])
def test_question_figure_and_cards_are_on_the_first_screen(browser, address, viewport):
    with Visit(browser, address, PAGE, viewport) as visit:
        visit.page.wait_for_selector("figure.lr-slider[data-ready=true]")
        for selector in (".lr-ask p", "figure.lr-slider", *(f".lr-cards li:nth-child({k})" for k in range(1, 6))):
            box = visit.page.locator(selector).first.bounding_box()
            assert box["y"] >= 0 and box["y"] + box["height"] <= viewport["height"] + 2, selector


def test_question_and_figure_are_on_the_first_screen_of_a_phone(browser, address):
    with Visit(browser, address, PAGE, PHONE) as visit:
        visit.page.wait_for_selector("figure.lr-slider[data-ready=true]")
        for selector in (".lr-ask p", "figure.lr-slider"):
            box = visit.page.locator(selector).first.bounding_box()
            assert box["y"] >= 0 and box["y"] + box["height"] <= PHONE["height"], selector


def test_a_card_has_a_question_a_drawing_an_answer_and_minutes_and_leads_to_its_chapter(browser, address):
    with Visit(browser, address, PAGE) as visit:
        cards = visit.page.locator("a.lr-card")
        assert [card.get_attribute("href") for card in cards.all()] == [f"{name}.html" for name in CHAPTERS]
        for card, name in zip(cards.all(), CHAPTERS, strict=True):
            assert card.locator("strong").inner_text().endswith("?")
            assert card.locator("svg.lr-thumb path, svg.lr-thumb circle").count() >= 2
            assert card.locator("svg.lr-thumb").get_attribute("aria-label")
            assert card.locator("small").inner_text().startswith(name.capitalize() + ", ")
        cards.nth(3).click()
        visit.page.wait_for_url("**/layers.html")


def test_the_depth_slider_moves_here_too(browser, address):
    with Visit(browser, address, PAGE) as visit:
        visit.page.wait_for_selector("figure.lr-slider[data-ready=true]")
        before = visit.page.locator(".lr-summary").inner_text()
        visit.page.locator("#lr-slider-0-1").focus()
        visit.page.keyboard.press("End")
        visit.page.wait_for_timeout(60)
        assert visit.page.locator(".lr-summary").inner_text() != before


def test_three_ways_in_and_the_meaning_of_every_verdict(browser, address):
    with Visit(browser, address, PAGE) as visit:
        assert visit.page.locator(".lr-path").count() == 3
        assert all(path.locator("a").count() for path in visit.page.locator(".lr-path").all())
        assert visit.page.locator(".lr-counts li").count() >= 4
        assert all(item.inner_text() for item in visit.page.locator(".lr-counts li span").all())
