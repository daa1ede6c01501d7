"""Second reading: what a chapter folds, the minutes that it says, and how a reader gets in."""

from __future__ import annotations

import re

import pytest
from bs4 import BeautifulSoup
from visits import DESKTOP, PHONE, Visit, serious_faults

import reading

CHAPTERS = ("depth", "width", "residual", "layers", "stages", "practice", "synthesis")
TWENTY_MINUTES = 20 * reading.WORDS_A_MINUTE
PAGE = "book/depth.html"
FOLD = "article details.lr-further"


@pytest.mark.parametrize(
    ("body", "words", "further"),
    [
        ("<p>Two words, and – three.</p>", 4, 0),
        ('<p>a <span class="math"><math><mi>x</mi><mo>=</mo><mn>1</mn></math></span> b</p>', 3, 0),
        ("<p>in</p><pre>of code</pre><script>var x</script>", 1, 0),
        ('<details class="sd-dropdown proof"><summary>Proof</summary><p>left out</p></details><p>in</p>', 1, 0),
        (
            '<details class="lr-further"><summary>A short sentence.</summary><p>five words are in here</p>'
            '<details class="proof"><summary>Proof</summary>out</details></details><p>in</p>',
            4,
            5,
        ),
        ('<section id="exercises"><p>left out</p></section><section id="quiz-two"><p>out</p></section><p>in</p>', 1, 0),
        (
            '<div class="cell"><div class="cell_input">code</div><div class="cell_output"><p>printed</p>'
            '<div class="lr-claim"><p>one claim</p></div><figure><img src="x"><figcaption>a caption here</figcaption>'
            "</figure></div></div>",
            5,
            0,
        ),
        ('<h2>Head<a class="headerlink" href="#x">#</a></h2><br><p>one', 2, 0),
    ],
)
def test_words_are_those_that_are_read(body, words, further):
    counted = reading.of(body)
    assert (counted.words, counted.further_words) == (words, further)


def test_the_sentence_gives_minutes_of_both():
    assert reading.Reading(4000, 0, 0).sentence == "About 20 minutes for the main line (4,000 words)."
    assert reading.Reading(3000, 200, 1).sentence.endswith("; one section of second reading, folded, takes 1 more.")
    assert reading.Reading(3000, 800, 3).sentence.endswith("; 3 sections of second reading, folded, take 4 more.")


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_a_main_line_is_read_in_twenty_minutes(site, chapter):
    page = BeautifulSoup((site / "book" / f"{chapter}.html").read_text(encoding="utf-8"), "html.parser")
    article = page.find("article")
    words = reading.of(str(article)).words
    assert 1500 < words <= TWENTY_MINUTES, f"{chapter}: {words} words"
    said = re.search(r"About (\d+) minutes for the main line", article.get_text())
    assert abs(int(said[1]) - words / reading.WORDS_A_MINUTE) < 1


@pytest.mark.parametrize("chapter", CHAPTERS)
def test_every_fold_has_a_sentence_and_a_heading_above(site, chapter):
    page = BeautifulSoup((site / "book" / f"{chapter}.html").read_text(encoding="utf-8"), "html.parser")
    for fold in page.select("details.lr-further"):
        sentence = fold.find("summary", recursive=False).get_text()
        assert sentence.startswith("Second reading.") and sentence.rstrip().endswith(".")
        assert fold.parent.name == "section" and fold.find_previous_sibling(re.compile("h[23]")) is not None
        assert len(fold.find_all(True)) > 3
        entry = page.select_one(f".page-toc a[href='#{fold.parent['id']}']")
        assert entry is not None and entry.select_one(".lr-second") is not None


def test_a_link_to_what_is_folded_opens_it_and_goes_there(browser, address):
    with Visit(browser, address, PAGE) as visit:
        page = visit.page
        fold = page.locator(FOLD).first
        assert not fold.evaluate("fold => fold.open")
        inside = fold.evaluate("fold => [...fold.querySelectorAll('[id]')].at(-1).id")
        section = fold.evaluate("fold => fold.parentElement.id")
        page.evaluate("place => { location.hash = place; }", inside)
        page.wait_for_function("fold => fold.open", arg=fold.element_handle())
        top = page.evaluate("place => document.getElementById(place).getBoundingClientRect().top", inside)
        assert -10 < top < 720
        fold.evaluate("fold => { fold.open = false; }")
        page.evaluate("place => { location.hash = place; }", section)
        page.wait_for_function("fold => fold.open", arg=fold.element_handle())
        assert visit.complaints == []
    with Visit(browser, address, f"{PAGE}#{inside}") as visit:
        visit.page.wait_for_function(f"document.querySelector('{FOLD}').open")


@pytest.mark.parametrize("layout", [DESKTOP, PHONE])
def test_one_button_unfolds_all_and_is_remembered(browser, address, layout):
    with Visit(browser, address, PAGE, layout) as visit:
        page = visit.page
        button = page.locator(".lr-unfold")
        button.focus()
        page.keyboard.press("Enter")
        every = f"[...document.querySelectorAll('{FOLD}, article details.proof')].every(fold => fold.open)"
        page.wait_for_function(every)
        assert button.get_attribute("aria-expanded") == "true" and button.inner_text() == "Fold it all again"
        assert page.evaluate("[...document.querySelectorAll('details.quiz, details.hide')].every(fold => !fold.open)")
        page.reload()
        page.wait_for_function(every)
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        page.locator(".lr-unfold").click()
        page.wait_for_function(f"[...document.querySelectorAll('{FOLD}')].every(fold => !fold.open)")
        assert visit.complaints == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_fold_is_reached_and_opened_by_key_and_seen(browser, address, scheme):
    with Visit(browser, address, PAGE, color_scheme=scheme) as visit:
        page = visit.page
        summary = page.locator(f"{FOLD} > summary").first
        summary.focus()
        assert summary.evaluate("it => it.matches(':focus-visible') && getComputedStyle(it).outlineStyle") == "solid"
        page.keyboard.press("Enter")
        assert page.locator(FOLD).first.evaluate("fold => fold.open")
        assert serious_faults(page, ".lr-unfold") == [] and serious_faults(page, f"{FOLD} > summary") == []


def test_without_scripts_a_fold_is_a_fold_and_the_button_is_not_there(browser, address):
    with Visit(browser, address, PAGE, java_script_enabled=False) as visit:
        assert not visit.page.locator(".lr-unfold").is_visible()
        assert visit.page.locator(f"{FOLD} > summary").first.is_visible()
