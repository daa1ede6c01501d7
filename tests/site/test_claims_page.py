"""The claims page in Chromium: everything within its width, filters, order and links, and the table without scripts."""

from __future__ import annotations

import json
from urllib.parse import quote_plus

import pytest
from visits import DESKTOP, PHONE, TABLET, WIDE, Visit, serious_faults

PAGE = "book/claims.html"
CUT = """() => [...document.querySelectorAll('table.lr-ledger td')].filter((cell) => {
    const box = cell.getBoundingClientRect(), page = document.documentElement.clientWidth;
    return cell.offsetParent && (box.left < 0 || box.right > page || cell.scrollWidth > cell.clientWidth + 1);
}).map((cell) => cell.innerText.slice(0, 60))"""


@pytest.fixture(scope="module")
def ledger(site):
    return json.loads((site / "claims.json").read_text(encoding="utf-8"))


def shown(page):
    return page.locator("table[data-table=claims] tbody tr[id]:visible").evaluate_all("rows => rows.map(r => r.id)")


@pytest.mark.parametrize("viewport", [PHONE, TABLET, DESKTOP, WIDE], ids=["phone", "tablet", "desktop", "wide"])
def test_no_cell_is_cut_and_the_verdict_stands_beside_the_name(browser, address, viewport):
    with Visit(browser, address, PAGE, viewport) as visit:
        assert visit.page.evaluate(CUT) == []
        for row in ("depth.model", "stages.trainable-beta"):
            name, verdict = (
                visit.page.locator(f"[id='{row}'] .lr-{part}").bounding_box() for part in ("name", "verdict")
            )
            assert abs(name["y"] - verdict["y"]) < 8 and verdict["x"] >= name["x"] + name["width"] - 1
        assert visit.complaints == []


def test_no_cell_is_cut_in_print(browser, address):
    with Visit(browser, address, PAGE, {"width": 760, "height": 1000}) as visit:
        visit.page.emulate_media(media="print")
        assert visit.page.evaluate(CUT) == []
        assert not visit.page.locator(".lr-filters").is_visible()


def test_filters_and_order_change_the_rows_and_the_address(browser, address, ledger):
    with Visit(browser, address, PAGE) as visit:
        assert shown(visit.page) == [row["id"] for row in ledger]
        visit.page.select_option("#lr-filter-chapter", "layers")
        mine = [row for row in ledger if row["chapter"] == "layers"]
        assert shown(visit.page) == [row["id"] for row in mine]
        verdict = mine[0]["verdict"]
        visit.page.select_option("#lr-filter-verdict", verdict)
        expected = [row["id"] for row in mine if row["verdict"] == verdict]
        assert shown(visit.page) == expected
        assert visit.page.locator(".lr-filters output").inner_text().startswith(f"{len(expected)} of {len(ledger)}")
        assert f"?chapter=layers&verdict={quote_plus(verdict)}" in visit.page.url
        visit.page.click(".lr-filters button")
        visit.page.select_option("#lr-filter-whose", "ours")
        assert shown(visit.page) == [row["id"] for row in ledger if any(check["ours"] for check in row["checks"])]
        visit.page.click(".lr-filters button")
        visit.page.select_option("#lr-filter-order", "name")
        assert shown(visit.page) == sorted(row["id"] for row in ledger)
        visit.page.select_option("#lr-filter-order", "book")
        assert shown(visit.page) == [row["id"] for row in ledger]
        assert visit.complaints == []


def test_a_view_and_a_row_can_be_linked(browser, address, ledger):
    with Visit(browser, address, f"{PAGE}?chapter=width") as visit:
        assert shown(visit.page) == [row["id"] for row in ledger if row["chapter"] == "width"]
    with Visit(browser, address, f"{PAGE}#stages.warmup") as visit:
        assert visit.page.locator("[id='stages.warmup']").evaluate("row => row.matches(':target')")
        box = visit.page.locator("[id='stages.warmup']").bounding_box()
        assert 0 <= box["y"] < DESKTOP["height"]
    with Visit(browser, address, PAGE) as visit:
        for file in ("claims.json", "findings.json"):
            link = visit.page.locator(f"article a[href$='{file}']").first.get_attribute("href")
            assert visit.page.request.get(f"{address}/book/{link}").ok
        visit.page.click(".lr-counts a >> nth=0")
        assert len(shown(visit.page)) == int(visit.page.locator(".lr-counts strong").first.inner_text())


def test_without_scripts_all_rows_stand_with_their_verdicts(browser, address, ledger):
    with Visit(browser, address, PAGE, java_script_enabled=False) as visit:
        rows = visit.page.locator("table[data-table=claims] tbody tr[id]:visible")
        assert rows.count() == len(ledger)
        assert (
            visit.page.locator("[id='depth.model'] .lr-verdict").inner_text().split(" ", 1)[1] == ledger[0]["verdict"]
        )


def test_the_checks_of_a_row_unfold_by_keyboard(browser, address, ledger):
    with Visit(browser, address, PAGE) as visit:
        fold = visit.page.locator("[id='depth.model'] details.lr-checks")
        fold.locator("summary").focus()
        visit.page.keyboard.press("Enter")
        assert fold.locator("li:visible").count() == len(ledger[0]["checks"])


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [PHONE, DESKTOP], ids=["phone", "desktop"])
def test_axe_finds_nothing_serious_with_everything_unfolded(browser, address, scheme, viewport):
    with Visit(browser, address, PAGE, viewport, color_scheme=scheme) as visit:
        visit.page.evaluate("document.querySelectorAll('article details').forEach(fold => { fold.open = true; })")
        assert serious_faults(visit.page, "article") == []
