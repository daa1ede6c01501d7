"""Search in the built site: spellings of mu, words that lead somewhere, excerpts in prose, hits that can be read."""

from __future__ import annotations

import pytest
from visits import PHONE, Visit, serious_faults


def results(page):
    """Addresses of the results, best first."""
    page.wait_for_selector("ul.search li a")
    page.wait_for_function("!document.querySelector('#search-progress')?.innerText.includes('...')", polling=100)
    return [link.get_attribute("href") for link in page.locator("ul.search li > a").all()]


def test_mu_is_found_however_it_is_spelt(browser, address):
    found = []
    for query in ("muP", "mup", "%CE%BCP", "%C2%B5P"):
        with Visit(browser, address, f"search.html?q={query}") as visit:
            found.append(results(visit.page))
    pages = [[place.split("#")[0].removeprefix(f"{address}/") for place in places] for places in found]
    assert pages[0] == pages[1] == pages[2] == pages[3] and len(pages[0]) >= 3


@pytest.mark.parametrize(
    ("query", "place"),
    [("Colab", "intro"), ("CompleteP", "residual"), ("weight+decay", "residual"), ("sharpness", "depth")],
)
def test_words_lead_somewhere_and_the_excerpt_has_them(browser, address, query, place):
    with Visit(browser, address, f"search.html?q={query}") as visit:
        assert any(place in result for result in results(visit.page))
        visit.page.wait_for_selector("ul.search li p.context mark")
        marks = visit.page.locator("ul.search li p.context mark").all_inner_texts()
        assert any(word[:6].lower() in mark.lower() for mark in marks for word in query.split("+"))
        assert visit.complaints == []


def test_the_excerpt_is_where_most_of_the_words_are(browser, address):
    with Visit(browser, address, "search.html?q=weight+decay") as visit:
        results(visit.page)
        marks = visit.page.locator("ul.search li", has=visit.page.locator("a[href*='residual.html']")).first.locator(
            "mark"
        )
        marks.first.wait_for()
        assert any("decay" in mark.lower() for mark in marks.all_inner_texts())


def test_excerpts_are_prose(browser, address):
    with Visit(browser, address, "search.html?q=sharpness") as visit:
        visit.page.wait_for_selector("ul.search li p.context")
        visit.page.wait_for_timeout(500)
        for text in visit.page.locator("ul.search li p.context").all_inner_texts():
            assert not any(raw in text for raw in ("import ", "\\\\(", "plt.", "= np.", "def "))
            assert 20 < len(text) < 360


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_hits_can_be_read(browser, address, scheme):
    with Visit(browser, address, "search.html?q=plateau", color_scheme=scheme) as visit:
        visit.page.wait_for_selector("ul.search li p.context mark")
        assert serious_faults(visit.page, "ul.search") == []


@pytest.mark.parametrize("viewport", [None, PHONE], ids=["desktop", "phone"])
def test_a_result_leads_to_its_section(browser, address, viewport):
    with Visit(browser, address, "search.html?q=plateau", *([viewport] if viewport else [])) as visit:
        results(visit.page)
        visit.page.wait_for_selector("ul.search li a[href*='depth.html#']")
        link = visit.page.locator("ul.search li a[href*='depth.html#']").first.get_attribute("href")
        link = link.removeprefix(f"{address}/")
        visit.page.goto(f"{address}/{link}", wait_until="networkidle")
        visit.page.evaluate("window.MathJax?.startup?.promise")
        visit.page.wait_for_timeout(300)
        top = visit.page.locator(f"[id='{link.split('#')[1]}']").bounding_box()["y"]
        assert -60 <= top < 300
