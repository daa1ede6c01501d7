"""Print shows what is folded and prints light; the book as one document; figures that are drawn small open large."""

import re

import pytest
from test_browser import DESKTOP, PHONE, Visit

import pdf

PAGES = ["book/intro", "book/depth", "book/width"]


@pytest.mark.parametrize(
    ("address", "inside"),
    [
        ("#here", "#depth--here"),
        ("width.html", "#width--top"),
        ("width.html#there", "#width--there"),
        ("../book/width.html#there", "#width--there"),
        ("https://arxiv.org/abs/1#x", "https://arxiv.org/abs/1#x"),
        ("notebooks/depth.ipynb", "notebooks/depth.ipynb"),
        ("layers.html", "layers.html"),
    ],
)
def test_addresses_stay_within_the_document_where_their_page_is_part_of_it(address, inside):
    assert pdf.within(address, "book/depth", PAGES) == inside


def test_every_link_of_the_document_leads_somewhere_and_every_figure_is_there(site):
    document = pdf.document()
    names = re.findall(r'\bid="([^"]+)"', document)
    places = set(re.findall(r'\bhref="#([^"]+)"', document))
    assert len(places) > 100
    assert places <= set(names), sorted(places - set(names))[:10]
    pictures = set(re.findall(r'\bsrc="(_images/[^"]+)"', document))
    assert len(pictures) > 20 and all((site / each).is_file() for each in pictures)
    assert document.count("<article") == len(pdf.entries())


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_print_shows_proofs_and_answers_hides_code_and_is_light(browser, address, scheme):
    with Visit(browser, address, "book/depth.html", DESKTOP, color_scheme=scheme) as visit:
        page = visit.page
        page.emulate_media(media="print", color_scheme=scheme)
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.evaluate("document.documentElement.dataset.theme") == "light"
        assert page.locator("details.proof p").first.is_visible()
        assert page.locator("details.quiz p").first.is_visible()
        assert page.locator(".solution p").last.is_visible()
        assert not page.locator("details.hide").first.is_visible()
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        page.emulate_media(media="screen", color_scheme=scheme)
        assert page.evaluate("document.documentElement.dataset.theme") == scheme
        assert not page.locator("details.proof p").first.is_visible()


def test_a_figure_that_is_drawn_small_opens_at_its_own_size_and_closes_by_key(browser, address):
    with Visit(browser, address, "book/depth.html", PHONE) as visit:
        figure = visit.page.locator("img.lr-enlargeable").first
        figure.scroll_into_view_if_needed()
        figure.focus()
        visit.page.keyboard.press("Enter")
        large = visit.page.locator("dialog.lr-enlarged img")
        large.wait_for(state="visible")
        large.evaluate("e => e.decode()")
        assert large.evaluate("e => e.clientWidth >= 0.99 * e.naturalWidth")
        visit.page.keyboard.press("Escape")
        assert visit.page.locator("dialog.lr-enlarged").count() == 0
        assert figure.evaluate("e => e === document.activeElement")
    with Visit(browser, address, "book/depth.html", DESKTOP) as visit:
        visit.page.wait_for_load_state("networkidle")
        wide = visit.page.locator("img.lr-enlargeable").count()
        assert wide < visit.page.locator("article figure img").count()
