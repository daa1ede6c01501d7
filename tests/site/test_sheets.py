"""The style sheet holds what some page asks for, and nothing that a page asks for is missing from it."""

from __future__ import annotations

import pytest
from visits import Visit

from leaning import sheets

KNOWN = {"a", "b", "top"}
RULE = "{x:y}"


@pytest.mark.parametrize(
    ("css", "kept"),
    [
        (".a{x:y}.c{x:y}", ".a{x:y}"),
        (".a .c,.b>p,#top{x:y}", ".b>p,#top{x:y}"),
        ("p:not(.c){x:y}", "p:not(.c){x:y}"),
        (":is(.a,.c) p,[data-x='.c']{x:y}", ":is(.a,.c) p,[data-x='.c']{x:y}"),
        ("@media print{.c{x:y}}@media print{.c{x:y}.a{x:y}}", "@media print{.a{x:y}}"),
        ("@font-face{src:url(data:font/woff;base64,aa)}", "@font-face{src:url(data:font/woff;base64,aa)}"),
        ('.a{content:"}";x:url("data:image/svg+xml,{;}")}.c{}', '.a{content:"}";x:url("data:image/svg+xml,{;}")}'),
        ('@charset "utf-8";/* .a{ */.a{x:y}', '@charset "utf-8";.a{x:y}'),
        (".lr-new.a{x:y}.bs-tooltip-top{x:y}", ".lr-new.a{x:y}.bs-tooltip-top{x:y}"),
        (r".c\:d{x:y}", ""),
    ],
)
def test_rules_for_unknown_classes_go_and_no_others(css, kept):
    assert sheets.without_unused(css, KNOWN) == kept


def test_names_come_from_pages_and_scripts():
    found = sheets.names(['<p class="a b"><i id="top">'], ['e.classList.add("c-d")'])
    assert {"a", "b", "top", "c-d"} <= found


# What the theme's own sheets ask for and the book's does not have, where it fits an element of the page.
MISSING = r"""async (names) => {
  const selectors = (rules) => [...rules].flatMap((rule) => {
    if (rule.selectorText) return [rule.selectorText.replace(/\s+/g, ' ')];
    return rule.cssRules ? selectors(rule.cssRules) : [];
  });
  const parts = (list) => list.flatMap((text) => {
    const out = [''];
    let depth = 0;
    for (const letter of text) {
      depth += '(['.includes(letter) - ')]'.includes(letter);
      if (letter === ',' && !depth) out.push('');
      else out[out.length - 1] += letter;
    }
    return out.map((one) => one.trim());
  });
  const STATES = /::?(before|after|hover|focus[\w-]*|active|disabled|placeholder|-[\w-]+)(\([^)]*\))?/g;
  const fits = (selector) => {
    try {
      return document.querySelector(selector.replace(STATES, '') || '*');
    } catch {
      return false; // of another browser
    }
  };
  const own = new Set(parts([...document.styleSheets].flatMap((sheet) => selectors(sheet.cssRules))));
  let asked = 0;
  const missing = [];
  for (const name of names) {
    const sheet = new CSSStyleSheet();
    await sheet.replace((await (await fetch(name)).text()).replace(/@import[^;]*;/g, ''));
    for (const one of parts(selectors(sheet.cssRules))) {
      asked += 1;
      if (!own.has(one) && !one.startsWith('.fa-') && fits(one)) missing.push(one);
    }
  }
  return [asked, missing];
}"""
OTHERS = ("site.", "sphinx-thebe", "landing", "ledger")  # what the pages load, and what none or one does


@pytest.mark.parametrize("name", ["book/depth.html", "book/intro.html", "book/claims.html", "search.html?q=rate"])
def test_no_rule_that_fits_an_element_was_left_out(browser, address, site, name):
    static = site / "_static"
    files = [path for path in (*static.glob("*.css"), *static.glob("styles/*.css")) if not path.name.startswith(OTHERS)]
    assert len(files) > 8
    with Visit(browser, address, name) as visit:
        visit.page.evaluate("document.querySelectorAll('details').forEach(fold => { fold.open = true; })")
        asked, missing = visit.page.evaluate(MISSING, [f"{address}/{file.relative_to(site)}" for file in files])
        assert asked > 1500 and missing == []


def test_the_sheet_is_small(site):
    assert all(file.stat().st_size < 250_000 for file in site.joinpath("_static").glob("site.*.css"))
