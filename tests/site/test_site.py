"""The built site as files: nothing missing, nothing dead, the ledger complete, every figure described."""

from __future__ import annotations

import json
import re
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from bs4 import BeautifulSoup

import execute
import picture
from lrtransfer.page.claims import OPEN, statements
from lrtransfer.page.findings import found

ROOT = Path(__file__).resolve().parents[2]
VERDICTS = {"reproduced", "reproduced with a correction", "not resolved", "not reproduced", OPEN}


@pytest.fixture(scope="module")
def pages(site):
    """Every page of the book, parsed, by its path below the site."""
    return {
        str(path.relative_to(site)): BeautifulSoup(path.read_text(encoding="utf-8"), "html.parser")
        for path in sorted(site.glob("book/*.html"))
    }


def test_every_page_of_the_contents_is_built(site, pages):
    assert set(pages) == {f"{name}.html" for name, _ in execute.toc_entries()}
    assert (site / "index.html").is_file() and (site / ".nojekyll").is_file()


def test_claims_json_has_every_id_with_a_verdict(site):
    ledger = json.loads((site / "claims.json").read_text(encoding="utf-8"))
    assert [entry["id"] for entry in ledger] == list(statements())
    keys = {"id", "chapter", "seed_label", "verdict", "measured", "expected", "tolerance", "where"}
    assert all(keys <= set(entry) and entry["verdict"] in VERDICTS for entry in ledger)


def test_no_chapter_leaves_a_claim_open(site):
    ledger = json.loads((site / "claims.json").read_text(encoding="utf-8"))
    assert not [entry["id"] for entry in ledger if entry["verdict"] == OPEN]


def test_the_ledger_page_shows_what_claims_json_says(site, pages):
    ledger = {e["id"]: e["verdict"] for e in json.loads((site / "claims.json").read_text(encoding="utf-8"))}
    shown = {}
    for row in pages["book/claims.html"].select("table[data-table=claims] tbody tr[id]"):
        assert row.select_one("td:nth-of-type(2)").get_text(strip=True).split(" ", 1)[1] == row["data-verdict"]
        shown[row["id"]] = row["data-verdict"]
    assert shown == ledger


def test_the_findings_page_shows_what_findings_json_says(site, pages):
    ledger = json.loads((site / "findings.json").read_text(encoding="utf-8"))
    assert [entry["id"] for entry in ledger] == list(found())
    rows = pages["book/claims.html"].select("table[data-table=findings] tbody tr[id]")
    assert {row["id"]: row["data-verdict"] for row in rows} == {entry["id"]: entry["outcome"] for entry in ledger}


def test_no_page_leaves_a_finding_open(site):
    ledger = json.loads((site / "findings.json").read_text(encoding="utf-8"))
    assert not [entry["id"] for entry in ledger if entry["outcome"] == OPEN]


def test_a_claim_in_a_chapter_is_a_verdict_a_typeset_sentence_and_a_fold(pages):
    boxes = [(name, box) for name, page in pages.items() for box in page.select(".lr-claim")]
    assert len(boxes) >= len(statements())
    for name, box in boxes:
        identity = box.select_one("a.lr-id")
        assert identity["href"] == f"claims.html#{identity.get_text()}", name
        identity.extract()
        fold = box.select_one("details.lr-checks").extract()
        assert fold.select("li") and "open" not in fold.attrs
        words = box.get_text(" ", strip=True)
        assert not re.search(r"<=|>=|\^|\bsqrt\b|\d+e[-+]?\d", words.split("\\(")[0]), words
        assert not re.search(r"<=|>=|\de-\d", fold.get_text()), fold.get_text()


def test_every_link_leads_somewhere(site, pages):
    anchors = {name: {tag["id"] for tag in page.find_all(id=True)} for name, page in pages.items()}
    dead = []
    for name, page in pages.items():
        for link in page.find_all("a", href=True):
            parts = urlsplit(link["href"])
            if parts.scheme or parts.netloc:
                continue
            target = (site / name).parent / unquote(parts.path) if parts.path else site / name
            target = target.resolve()
            place = str(target.relative_to(site.resolve())) if target.is_relative_to(site.resolve()) else ""
            if not target.exists() or (parts.fragment and place in anchors and parts.fragment not in anchors[place]):
                dead.append(f"{name}: {link['href']}")
    assert dead == []


def test_every_image_has_alternative_text_and_every_figure_a_caption(pages):
    bare = [
        (name, tag.get("src"))
        for name, page in pages.items()
        for tag in page.select("article img")
        if not tag.get("alt")
    ]
    assert bare == []
    uncaptioned = [
        name
        for name, page in pages.items()
        for figure in page.select("article figure")
        if not figure.select("figcaption")
    ]
    assert uncaptioned == []


def test_nothing_is_loaded_from_another_host(pages):
    outside = [
        (name, tag.get("src") or tag.get("href"))
        for name, page in pages.items()
        for tag in page.select("script[src], link[href], img[src], iframe[src]")
        if urlsplit(tag.get("src") or tag.get("href")).netloc and "canonical" not in (tag.get("rel") or [])
    ]
    assert outside == []


def test_no_markup_is_left_raw(pages):
    raw = re.compile(r":::|```|\{(?:numref|eq|ref|cite|doc|prf)[:}]|\bNaN\b|\bnan\b")
    for name, page in pages.items():
        for code in page.select("article pre, article code, article script"):
            code.decompose()
        found = raw.search(page.select_one("article").get_text())
        assert found is None, f"{name}: {found}"


def test_folded_solutions_are_there_and_executed(pages):
    page = pages["book/depth.html"]
    solutions = page.select("div.solution")
    assert len(solutions) >= 5
    assert all(solution.select("div.cell_output") for solution in solutions)


def test_the_readme_picture_is_the_chapter_s_figure(site):
    """The same words in the same places of the drawing; the last digits of its curves are the processor's."""
    words = re.compile(r"<!-- (.*?) -->")
    svg, _ = picture.find_figure(execute.executed_notebook("depth"), "fig-depth-transfer-chain")
    shipped = (ROOT / "book" / "_static" / "transfer.svg").read_text(encoding="utf-8")
    assert words.findall(shipped) == words.findall(svg), "run `make picture`"
