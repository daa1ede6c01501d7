"""Nothing is cut: every formula, table and figure of every page, on a phone, at a desk and in print."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest
from visits import DESKTOP, PHONE, TABLET, WIDE, Visit

import execute
from leaning import tables

REFERENCE = sorted(path.stem for path in (execute.ROOT / "book" / "reference").glob("*.md"))
PAGES = [
    *(f"{entry}.html" for entry, _ in execute.toc_entries()),
    *(f"book/reference/{room}.html" for room in REFERENCE),
]
PAPER = {"width": 673, "height": 990}  # A4 less the margins of the PDF

CUT = """(print) => {
  const article = document.querySelector("article");
  const edge = print ? innerWidth : article.getBoundingClientRect().right;
  const name = (e) => `${e.localName} ${e.textContent.trim().replace(/\\s+/g, " ").slice(0, 60)}`;
  const shown = (e) => e.checkVisibility() && e.getBoundingClientRect().width > 0;
  /** The nearest box around an element that scrolls sideways, or cuts. */
  const box = (e) => {
    for (; e && e !== article; e = e.parentElement) {
      if (!(e instanceof SVGElement) && getComputedStyle(e).overflowX !== "visible") return e;
    }
    return null;
  };
  /** Why a reader does not get to see all of it; nothing where he does, if by scrolling. */
  const lost = (e) => {
    const own = e.getBoundingClientRect(), outer = box(e.parentElement);
    if (own.left < -1) return "left of the page";
    if (!outer) return own.right > edge + 1 ? `${Math.round(own.right - edge)} px beyond its column` : "";
    const around = outer.getBoundingClientRect(), way = getComputedStyle(outer);
    if (around.width < 2) return ""; // for screen readers alone
    const over = own.right > around.right + 1;
    const reach = !print && ["auto", "scroll"].includes(way.overflowX);
    if (over && !reach) return `cut by ${Math.round(own.right - around.right)} px`;
    if (over && outer.scrollWidth <= outer.clientWidth) return "out of reach";
    const higher = own.top < around.top - 1 || own.bottom > around.bottom + 1;
    if (higher && ["hidden", "clip"].includes(way.overflowY)) return "cut above or below";
    return lost(outer);
  };
  const parts = "math, .lr-formula, table, td, th, figure, figure img, figcaption, .lr-panel";
  const found = [...article.querySelectorAll(parts)].filter(shown).map((e) => [lost(e), name(e)]);
  for (const e of article.querySelectorAll(".lr-formula")) {
    if (shown(e) && e.scrollHeight > e.clientHeight + 1) found.push(["its top or foot is cut", name(e)]);
    if (e.tabIndex >= 0 && e.scrollWidth <= e.clientWidth) found.push(["a tab stop that does not scroll", name(e)]);
  }
  const stops = article.querySelectorAll(".lr-formula[tabindex]").length, all = article.querySelectorAll("math").length;
  if (stops > 0.03 * all) found.push([`${stops} of ${all} formulas are tab stops`, ""]);
  return found.filter(([why]) => why);
}"""
UNFOLD = """() => {
  document.querySelectorAll("article details:not(.hide)").forEach((fold) => (fold.open = true));
  document.querySelectorAll("article .toggle-hidden").forEach((fold) => fold.classList.remove("toggle-hidden"));
}"""


@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_cut(browser, address, name):
    with Visit(browser, address, name, PHONE) as visit:
        page, cut = visit.page, partial(visit.page.evaluate, CUT)
        page.evaluate("document.fonts.ready")
        page.evaluate(UNFOLD)
        for viewport in (PHONE, TABLET, DESKTOP, WIDE):
            page.set_viewport_size(viewport)
            page.wait_for_timeout(150)  # formulas and boxes answer to the width
            assert cut(False) == [], viewport
        page.set_viewport_size(PAPER)
        page.emulate_media(media="print")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        page.wait_for_timeout(150)
        assert cut(True) == [], "print"


TABLE = "<table><tr><th>a b</th><th>{}</th></tr><tr><td>{}</td><td>c</td></tr></table>"


def test_a_table_says_how_many_letters_wide_it_is_at_least():
    assert tables.width(TABLE.format("one two", "<p>three</p><p>four</p>")) == 5 + 3 + 2
    formula = "<math><mi>x</mi>\n<mo>=</mo></math><wbr><math><mn>10</mn></math>"
    assert tables.width(TABLE.format(formula, "&amp;")) == 1 + 2 + 2


@pytest.mark.parametrize(("letters", "said"), [(60, False), (90, True)])
def test_a_table_that_is_too_wide_for_paper_says_so(letters, said):
    page = tables.lean(TABLE.format("w" * letters, ""))
    assert (f'<table style="--lr-letters:{letters + 3}">' in page) == said


def test_the_reference_is_among_the_pages(site):
    built = {path.relative_to(site).as_posix() for path in Path(site).glob("book/**/*.html")}
    assert built <= set(PAGES), "pages that no test measures"
